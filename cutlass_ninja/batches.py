"""Which kernels are compiled together: those that share most, in as many batches as keep the machine busy."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import memory, store
from .halves import why_single
from .memo import fingerprint
from .operations import OPERATIONS, Cost
from .plan import KernelTarget, Plan
from .store import State, Status

LARGEST = 24
"""No batch is larger: a kernel more saves next to nothing then, and a batch that is interrupted is lost."""

_SAMPLES = 16
"""How many records of each kind are read to learn what memory compiling took."""


@dataclass(frozen=True)
class Batch:
    """Kernels that one edge compiles."""

    targets: Sequence[KernelTarget]
    memory_bytes: int
    """What compiling them takes at its peak, as far as is known."""


def plan_batches(plan: Plan, states: Mapping[str, State], memory_bytes: int, cores: int) -> list[Batch]:
    """All kernels of a plan in batches: what is missing in large ones, everything else by itself.

    `states` are those of the store, by key; memory and cores those of the machine.
    """
    alone: list[KernelTarget] = []
    groups: defaultdict[tuple[object, ...], list[KernelTarget]] = defaultdict(list)
    for target in {target.key: target for target in reversed(plan.kernels)}.values():
        missing = states[target.key].status in (Status.MISSING, Status.DAMAGED)
        if missing and not why_single(plan.toolchain, target.kernel):
            groups[_together(target)].append(target)
        else:
            alone.append(target)
    costs = {group: _cost(targets, plan, states) for group, targets in groups.items()}
    work = sum(len(targets) * costs[group].further_cpu_s for group, targets in groups.items())
    found = [Batch([target], target.memory_bytes) for target in alone]
    budget = int(memory_bytes * memory.SHARE)
    for group, targets in groups.items():
        cost = costs[group]
        share = len(targets) * cost.further_cpu_s / work
        most = min(len(targets), _largest(cost, budget))
        size = best_size(len(targets), most, cost, int(budget * share), max(round(cores * share), 1))
        for batch in _cut(sorted(targets, key=_likeness), size):
            found.append(Batch(batch, _memory_bytes(cost, len(batch))))
    return sorted(found, key=lambda batch: batch.targets[0].label)


def best_size(kernels: int, most: int, cost: Cost, memory_bytes: int, cores: int) -> int:
    """The size, of `most` or less, of batches with which so many kernels are compiled soonest; the larger of two that
    take as long.
    """

    def seconds(size: int) -> float:
        at_once = max(min(cores, memory_bytes // _memory_bytes(cost, size)), 1)
        rounds = math.ceil(math.ceil(kernels / size) / at_once)
        return rounds * (cost.cpu_s + (size - 1) * cost.further_cpu_s)

    return min(range(most, 0, -1), key=seconds)


def _largest(cost: Cost, memory_bytes: int) -> int:
    """The size of the largest batch that fits into memory by itself."""
    further = (memory_bytes - cost.memory_bytes) // max(cost.further_memory_bytes, 1)
    return min(max(1 + further, 1), LARGEST)


def _memory_bytes(cost: Cost, size: int) -> int:
    return cost.memory_bytes + (size - 1) * cost.further_memory_bytes


def _together(target: KernelTarget) -> tuple[object, ...]:
    """What kernels of one batch have in common: with it, their front end's commands and headers are the same."""
    kernel = target.kernel
    return kernel.operation, OPERATIONS[kernel.operation].templates(kernel.config), kernel.arch, kernel.settings


def _likeness(target: KernelTarget) -> tuple[bytes, str]:
    """Sorts kernels so that neighbours have most in common, by what costs most to instantiate first."""
    kernel = target.kernel
    return fingerprint([kernel.config.get(name) for name in OPERATIONS[kernel.operation].alike]), target.label


def _cut(targets: Sequence[KernelTarget], size: int) -> Iterable[Sequence[KernelTarget]]:
    """Parts of this size or a little less, all about the same."""
    count = math.ceil(len(targets) / size)
    for place in range(count):
        yield targets[place * len(targets) // count : (place + 1) * len(targets) // count]


def _cost(targets: Sequence[KernelTarget], plan: Plan, states: Mapping[str, State]) -> Cost:
    """What compiling kernels like these takes: as the operation says, with memory as it was in this cache before."""
    kernel = targets[0].kernel
    cost = OPERATIONS[kernel.operation].cost(kernel.config)
    group = _together(targets[0])
    known = (one for one in plan.kernels if states[one.key].status is Status.CACHED and _together(one) == group)
    ratio = max((_excess(one, cost) for one, _ in zip(known, range(_SAMPLES))), default=1.0)
    return Cost(int(cost.memory_bytes * ratio), int(cost.further_memory_bytes * ratio), cost.cpu_s, cost.further_cpu_s)


def _excess(target: KernelTarget, cost: Cost) -> float:
    """How many times the expected memory the batch took in which a kernel was built; 1 where that is not recorded."""
    try:
        batch = json.loads(Path(store.folder(target), store.RECORD).read_bytes())["batch"]
        return float(batch["peak_memory_bytes"]) / _memory_bytes(cost, len(batch["kernels"]))
    except (OSError, ValueError, KeyError, TypeError):
        return 1.0
