"""How deep the pools are."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutlass_ninja import memory
from cutlass_ninja.memory import Pools, pools

GIB = 1 << 30
HEAVY, LIGHT = 3_200_000_000, 800_000_000


@pytest.mark.parametrize(
    ("needs", "gib", "cores", "heavy", "light"),
    [
        ([LIGHT] * 10, 24, 2, 0, 4),
        ([HEAVY] * 10, 24, 2, 4, 0),
        ([HEAVY] * 10, 8, 16, 2, 0),
        ([HEAVY] * 10, 2, 16, 1, 0),
        ([HEAVY, LIGHT], 2, 16, 1, 1),
        ([HEAVY] * 100 + [LIGHT] * 400, 64, 32, 8, 34),
        ([HEAVY] + [LIGHT] * 1000, 64, 8, 10, 10),
        ([], 64, 8, 0, 0),
    ],
)
def test_pools(needs: list[int], gib: int, cores: int, heavy: int, light: int) -> None:
    found = pools(needs, gib * GIB, cores)
    assert (found.heavy, found.light) == (heavy, light)


def test_both_pools_full_leave_a_fifth_of_memory() -> None:
    for gib in range(8, 300, 7):
        for count in (1, 10, 1000):
            found = pools([HEAVY] * count + [LIGHT] * 50, gib * GIB, 128)
            assert found.heavy * HEAVY + found.light * LIGHT <= gib * GIB * 0.8
            assert found.heavy >= 1 and found.light >= 1


def test_a_pool_is_sized_by_the_largest_compile_in_it() -> None:
    assert pools([LIGHT, LIGHT // 2, HEAVY], 24 * GIB, 2) == Pools(4, 4, HEAVY, LIGHT)


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": "MemTotal:       16777216 kB\nMemFree:  1 kB\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "gib"),
    [
        ({}, 16),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, 16),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": f"{4 * GIB}\n"}, 4),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": f"{5 * GIB}\n"}, 5),
        (
            {
                "proc/self/cgroup": "4:memory:/job\n1:cpu:/\n0::/\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{6 * GIB}\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            6,
        ),
    ],
)
def test_memory_is_the_machines_or_the_control_groups(files: dict[str, str], gib: int, tmp_path: Path) -> None:
    assert memory.memory_bytes(machine(tmp_path, files)) == gib * GIB


def test_this_machine_has_memory_and_cores() -> None:
    assert memory.memory_bytes() > GIB // 4
    assert memory.cores() >= 1
