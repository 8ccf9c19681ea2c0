"""How many compiles fit into memory: the depths of build.ninja's pools."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

HEAVY_BYTES = 2 << 30
"""A compile that needs more than this is heavy: of CuTe templates (3.2 GB), as against CUTLASS 2.x (0.8 GB)."""

SHARE = 0.8
"""The part of memory that compiles may fill."""


@dataclass(frozen=True, slots=True)
class Pools:
    """How many heavy and how many light compiles may run at once; 0 where there is none of the kind."""

    heavy: int
    light: int
    heavy_bytes: int
    """Peak memory of the largest heavy compile; 0 without one."""
    light_bytes: int


def pools(needs: Collection[int], memory_bytes: int, cores: int) -> Pools:
    """Depths with which both pools full stay within SHARE of the memory, but each at least 1 and at most cores + 2.

    `needs` holds the peak memory of each compile in bytes. Where there are heavy and light ones, each kind gets memory
    in proportion to all that its compiles need together, so that both come to their end at about the same time.
    """
    heavy_needs = [need for need in needs if need > HEAVY_BYTES]
    light_needs = [need for need in needs if need <= HEAVY_BYTES]
    heavy_bytes, light_bytes = max(heavy_needs, default=0), max(light_needs, default=0)
    budget = int(memory_bytes * SHARE)
    most = cores + 2
    heavy = light = 0
    if heavy_needs:
        part = budget * sum(heavy_needs) // sum(needs)
        heavy = _between(1, (min(part, budget - light_bytes)) // heavy_bytes, most)
    if light_needs:
        light = _between(1, (budget - heavy * heavy_bytes) // max(light_bytes, 1), most)
    if heavy_needs:
        heavy = _between(heavy, (budget - light * light_bytes) // heavy_bytes, most)
    return Pools(heavy, light, heavy_bytes, light_bytes)


def memory_bytes(root: Path = Path("/")) -> int:
    """The memory of this machine, or what the control group of this process may use if that is less.

    `root` is where /proc and /sys are looked for. What happens to be free does not count: build.ninja must not change
    from one run to the next.
    """
    total = re.search(r"^MemTotal:\s+(\d+) kB", (root / "proc/meminfo").read_text(), re.MULTILINE)
    limits = [int(total[1]) * 1024] if total else []
    limits += _group_limits(root)
    return min(limits, default=4 << 30)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def _group_limits(root: Path) -> list[int]:
    """The memory limits of this process's control group and of those around it, version 2 or 1."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    limits = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / ("sys/fs/cgroup/memory" if controllers else "sys/fs/cgroup")
        file = "memory.limit_in_bytes" if controllers else "memory.max"
        folder = top / group.lstrip("/")
        for place in [folder, *folder.parents]:
            try:
                text = (place / file).read_text().strip()
            except OSError:
                text = ""
            if text.isdigit():
                limits.append(int(text))
            if place == top:
                break
    return limits


def _between(least: int, value: int, most: int) -> int:
    return max(least, min(value, most))
