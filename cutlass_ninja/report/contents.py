"""Results -> what a report shows: contests, kernels, troubles, surroundings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import choose, problems
from ..choose import Choice
from ..contests import Contests, Query, Rivals
from ..manifest import Problem
from ..peaks import PEAKS, peak_tflop_per_s
from ..ranking import decisive, of_each_kernel
from ..results import OURS, Place, Result
from . import surroundings, troubles
from .surroundings import Surroundings
from .troubles import Trouble


@dataclass(frozen=True)
class Contest:
    """One problem for kernels of one signature, on one GPU model, with one cache mode."""

    rivals: Rivals
    choice: Choice
    place: Place
    cache: str
    order: tuple[Result, ...]
    """Each verified kernel with its best parameters: the fastest first, those that were measured but briefly last."""
    undone: tuple[Result, ...]
    """Each kernel that gave no verified result, once: what was wrong, failed, not supported, or not verified."""

    @cached_property
    def title(self) -> str:
        """The problem in a few words."""
        return problems.text(self.choice.operation, self.choice.problem)

    @cached_property
    def types(self) -> str:
        """The signature in a few words."""
        return self.rivals.seen.types

    @property
    def flop(self) -> int:
        """Floating-point operations of the problem; 0 if nothing was measured."""
        return self._counted("flop")

    @property
    def bytes(self) -> int:
        """Bytes that have to be read and written at least; 0 if nothing was measured."""
        return self._counted("bytes")

    @property
    def intensity(self) -> float | None:
        """FLOP per byte."""
        return self.flop / self.bytes if self.flop and self.bytes else None

    @cached_property
    def peak_tflop_per_s(self) -> float | None:
        """What the GPU can do in these types."""
        return peak_tflop_per_s(self.place.gpu, self._any.config)

    @property
    def bandwidth_tb_per_s(self) -> float | None:
        """What the GPU's memory can do."""
        peak = PEAKS.get(self.place.gpu)
        return peak.bandwidth if peak else None

    @property
    def roof_tflop_per_s(self) -> float | None:
        """The least of what arithmetic and memory allow; None where that is not known."""
        if self.peak_tflop_per_s is None or self.bandwidth_tb_per_s is None or self.intensity is None:
            return None
        return min(self.peak_tflop_per_s, self.bandwidth_tb_per_s * self.intensity)

    @cached_property
    def tied(self) -> frozenset[str]:
        """The keys of the kernels that may be as fast as the winner."""
        return frozenset(result.key for result in self.choice.tied)

    def exchanged(self, result: Result) -> bool:
        """Whether a kernel computed the other form, with A and B exchanged."""
        return self.rivals.exchanged(result)

    @property
    def _any(self) -> Result:
        return (self.order or self.undone)[0]

    def _counted(self, name: str) -> int:
        measured = [*self.order, *filter(None, [self.choice.baseline])]
        return int(measured[0].record.get(name) or 0) if measured else 0


@dataclass(frozen=True)
class Kernel:
    """One of our kernels, and what its compile came to. None for what is not known."""

    name: str
    """Unique in the report: with some of the key where several kernels share a name."""
    key: str
    arch: str
    config: Mapping[str, Any]
    compile_time_s: float | None
    registers: int | None
    spill_bytes: int | None
    """Of stores and loads."""


@dataclass(frozen=True)
class Contents:
    """All that a report shows."""

    contests: tuple[Contest, ...]
    kernels: Mapping[str, Kernel]
    """By key, in the order of names."""
    troubles: tuple[Trouble, ...]
    """What is to be looked into, the worst first."""
    surroundings: Surroundings

    @property
    def factor(self) -> float | None:
        """The geometric mean of the factors against the baseline; None without any."""
        factors = [contest.choice.factor for contest in self.contests if contest.choice.factor]
        return math.exp(sum(map(math.log, factors)) / len(factors)) if factors else None


def of_results(
    results: Sequence[Result],
    queries: Iterable[Query],
    only: Sequence[Problem] = (),
    uncompiled: Iterable[Trouble] = (),
) -> Contents:
    """What a report shows of the results that the queries select.

    `only`: these problems; all by default. `uncompiled`: kernels that were never measured.
    """
    found = [rivals for query in queries for rivals in _rivals(Contests(results, query), only)]
    # What is seen in two forms was measured once.
    shown = {(result.identity, result.cache, result.place): result for rivals in found for result in rivals.results}
    return Contents(
        contests=tuple(sorted(map(_contest, found), key=_place_in_list)),
        kernels=_kernels(result for result in shown.values() if result.provider == OURS),
        troubles=(*uncompiled, *troubles.of_results(list(shown.values()))),
        surroundings=surroundings.of_results(list(shown.values())),
    )


def _rivals(contests: Contests, only: Sequence[Problem]) -> list[Rivals]:
    return [rivals for problem in only for rivals in contests.of(problem)] if only else contests.all()


def _contest(rivals: Rivals) -> Contest:
    ours = [result for result in rivals.results if result.provider == OURS]
    order = {result.key: result for result in of_each_kernel(decisive(ours))}
    for result in of_each_kernel(ours):
        order.setdefault(result.key, result)
    undone: dict[str, Result] = {}
    for result in sorted(ours, key=troubles.severity):
        if result.key not in order:
            undone.setdefault(result.key, result)
    return Contest(
        rivals=rivals,
        choice=choose.choice(rivals),
        place=rivals.results[0].place,
        cache=rivals.results[0].cache,
        order=tuple(order.values()),
        undone=tuple(undone.values()),
    )


def _place_in_list(contest: Contest) -> tuple[Any, ...]:
    sizes = [value for value in contest.choice.problem.values() if isinstance(value, (int, float))]
    return (contest.place.gpu, contest.cache, contest.choice.operation, contest.types, sizes, contest.title)


def _kernels(results: Iterable[Result]) -> dict[str, Kernel]:
    examples: dict[str, Result] = {}
    for result in results:
        if result.key not in examples or not examples[result.key].environment:
            examples[result.key] = result
    ordered = sorted(examples.values(), key=lambda result: (result.kernel, result.key))
    shared = {name for name, count in Counter(result.kernel for result in ordered).items() if count > 1}
    return {
        result.key: _kernel(result, f"{result.kernel} ({result.key[:8]})" if result.kernel in shared else result.kernel)
        for result in ordered
    }


def _kernel(result: Result, name: str) -> Kernel:
    functions = (result.environment.get("ptxas") or {}).get("functions") or []
    registers = [function["registers"] for function in functions if "registers" in function]
    spilled = [function.get("spill_stores_bytes", 0) + function.get("spill_loads_bytes", 0) for function in functions]
    return Kernel(
        name=name,
        key=result.key,
        arch=result.arch,
        config=result.config,
        compile_time_s=result.environment.get("compile_time_s"),
        registers=max(registers, default=None),
        spill_bytes=sum(spilled) if spilled else None,
    )
