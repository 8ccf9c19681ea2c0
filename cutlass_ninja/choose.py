"""The fastest verified kernel for each problem, out of what was measured."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from . import signature
from .manifest import Problem
from .peaks import peak_tflop_per_s
from .problems import canonical
from .ranking import decisive, group, of_each_kernel, ranked, ties
from .results import OURS, Result

_NEAREST = 3
"""From how many measured problems one that was not is predicted."""


@dataclass(frozen=True)
class Choice:
    """What is known of one problem for kernels of one signature, on one GPU."""

    operation: str
    problem: Mapping[str, Any]
    winner: Result | None
    """None if no kernel was found to be right, or nothing was measured."""
    tied: tuple[Result, ...] = ()
    """Those that may be as fast as the winner."""
    compared: int = 0
    """How many kernels were verified, the winner among them."""
    wrong: int = 0
    """How many were not right, or did not finish."""
    baseline: Result | None = None
    predicted_from: tuple[Mapping[str, Any], ...] = ()
    """The measured problems nearest to this one, if it was not measured itself."""
    predicted_tflop_per_s: float | None = None

    @property
    def factor(self) -> float | None:
        """The baseline's time over the winner's: above 1 the winner is faster. None without either, or predicted."""
        if self.predicted_from or not (self.winner and self.baseline):
            return None
        return (self.baseline.median_ms or 0) / (self.winner.median_ms or math.inf)

    @property
    def tflop_per_s(self) -> float | None:
        """The winner's rate."""
        if self.predicted_from:
            return self.predicted_tflop_per_s
        return self.winner.tflop_per_s if self.winner else None

    @property
    def percent_of_peak(self) -> float | None:
        """The winner's rate in percent of what the GPU can do in its types; None where that is not known."""
        if self.winner is None or self.tflop_per_s is None:
            return None
        peak = peak_tflop_per_s(self.winner.place.gpu, self.winner.config)
        return None if peak is None else 100 * self.tflop_per_s / peak

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        winner, baseline = self.winner, self.baseline
        measured = winner if not self.predicted_from else None
        return {
            "problem": dict(self.problem),
            "operation": self.operation,
            "signature": signature.shown(winner.config) if winner else None,
            "kernel": winner.kernel if winner else None,
            "key": winner.key if winner else None,
            "parameters": dict(winner.parameters) if winner else None,
            "predicted": bool(self.predicted_from),
            "predicted_from": [dict(problem) for problem in self.predicted_from],
            "median_ms": measured.median_ms if measured else None,
            "p5_ms": measured.record.get("runtime_p5_ms") if measured else None,
            "p95_ms": measured.record.get("runtime_p95_ms") if measured else None,
            "relative_stderr": measured.record.get("relative_stderr") if measured else None,
            "precision": measured.precision if measured else None,
            "tflop_per_s": self.tflop_per_s,
            "percent_of_peak": self.percent_of_peak,
            "baseline": baseline and baseline.provider,
            "baseline_kernel": baseline and baseline.kernel,
            "baseline_parameters": dict(baseline.parameters) if baseline else None,
            "baseline_median_ms": baseline and baseline.median_ms,
            "factor": self.factor,
            "ties": [
                {"kernel": one.kernel, "key": one.key, "parameters": dict(one.parameters), "median_ms": one.median_ms}
                for one in self.tied
            ],
            "compared": self.compared,
            "wrong": self.wrong,
            "gpu": winner.place.gpu if winner else None,
            "gpu_uuid": winner.place.gpu_uuid if winner else None,
            "driver": winner.place.driver if winner else None,
            "cuda": winner.place.cuda if winner else None,
            "cache": winner.cache if winner else None,
        }


@dataclass(frozen=True, slots=True)
class Query:
    """Which results count."""

    keys: Collection[str] | None = None
    """Those of our kernels that may win; None: all."""
    cache: str = "cold"
    gpu: str = "*"
    """A pattern of GPU models."""


def best(
    results: Iterable[Result], problems: Sequence[Problem], query: Query, *, predict: bool = False
) -> list[Choice]:
    """A choice for each problem, signature and GPU model; without `problems`, for all that were measured.

    Where a model was measured on several machines or under several drivers, the latest counts. A problem that was not
    measured gets a choice without a winner; with `predict`, for each signature the kernel that did best on the nearest
    measured problems.
    """
    groups = contests(results, query)
    measured = {(chosen[0].operation, canonical(chosen[0].problem)) for chosen in groups}
    if not problems:
        return [choice(chosen) for chosen in groups]
    choices = []
    for problem in problems:
        asked = (problem.operation, canonical(problem.values))
        if asked in measured:
            choices += [choice(chosen) for chosen in groups if (chosen[0].operation, chosen[0].identity[1]) == asked]
        else:
            predicted = _predict(problem, groups) if predict else []
            choices += predicted or [Choice(problem.operation, problem.values, None)]
    return choices


def contests(results: Iterable[Result], query: Query) -> list[list[Result]]:
    """The results of one problem, signature and GPU model that compete with one another, baselines among them.

    Where a model was measured on several machines or under several drivers, the latest counts.
    """
    return _latest(_groups(results, query))


def _groups(results: Iterable[Result], query: Query) -> list[list[Result]]:
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        ours = result.provider == OURS
        if ours and query.keys is not None and result.key not in query.keys:
            continue
        if result.cache == query.cache and fnmatchcase(result.place.gpu, query.gpu):
            groups.setdefault(group(result), []).append(result)
    return [one for one in groups.values() if any(result.provider == OURS for result in one)]


def _latest(groups: Iterable[list[Result]]) -> list[list[Result]]:
    """Of the groups that differ only in the chip, the driver or CUDA, the one that was measured last."""
    latest: dict[tuple[str, ...], list[Result]] = {}
    for chosen in groups:
        first = chosen[0]
        alike = (first.operation, first.signature, first.identity[1], first.place.gpu)
        if alike not in latest or _moment(latest[alike]) < _moment(chosen):
            latest[alike] = chosen
    return list(latest.values())


def _moment(results: Iterable[Result]) -> str:
    return max(result.measured_at for result in results)


def choice(results: Sequence[Result]) -> Choice:
    """What is known of a contest."""
    ours = [result for result in results if result.provider == OURS]
    baselines = ranked(decisive(result for result in results if result.provider != OURS))
    right = {result.key for result in ranked(ours)}
    wrong = {result.key for result in ours if result.status not in ("success", "not_supported")}
    winners = of_each_kernel(decisive(ours))
    return Choice(
        operation=results[0].operation,
        problem=results[0].problem,
        winner=winners[0] if winners else None,
        tied=tuple(ties(winners)) if winners else (),
        compared=len(right),
        wrong=len(wrong),
        baseline=baselines[0] if baselines else None,
    )


def _predict(problem: Problem, groups: Iterable[Sequence[Result]]) -> list[Choice]:
    """A choice for each signature and GPU: the kernel with the best rate, by distance, on the nearest problems."""
    alike: dict[tuple[str, ...], list[Sequence[Result]]] = {}
    for results in groups:
        first = results[0]
        if first.operation == problem.operation and _distance(problem.values, first.problem) < math.inf:
            alike.setdefault((first.signature, *group(first)[3:]), []).append(results)
    predicted = (_nearest(problem, near) for near in alike.values())
    return [choice for choice in predicted if choice]


def _nearest(problem: Problem, groups: Iterable[Sequence[Result]]) -> Choice | None:
    near = sorted(groups, key=lambda results: _distance(problem.values, results[0].problem))[:_NEAREST]
    weights = [1 / (_distance(problem.values, results[0].problem) + 1e-9) for results in near]
    rates: dict[tuple[str, str], float] = {}
    examples: dict[tuple[str, str], Result] = {}
    for weight, results in zip(weights, near):
        for result in ranked(decisive(one for one in results if one.provider == OURS)):
            known = (result.key, canonical(result.parameters))
            rates[known] = rates.get(known, 0) + weight * (result.tflop_per_s or 0)
            examples.setdefault(known, result)
    if not rates:
        return None
    chosen = max(rates, key=lambda known: rates[known])
    return Choice(
        operation=problem.operation,
        problem=problem.values,
        winner=examples[chosen],
        compared=len({key for key, _ in rates}),
        predicted_from=tuple(results[0].problem for results in near),
        predicted_tflop_per_s=rates[chosen] / sum(weights),
    )


def _distance(wanted: Mapping[str, Any], measured: Mapping[str, Any]) -> float:
    """How far apart two problems are: sizes by their ratios. Infinite where C is read in one of them alone."""
    if (wanted.get("beta", 0) == 0) != (measured.get("beta", 0) == 0) or wanted.keys() != measured.keys():
        return math.inf
    names = [name for name, value in wanted.items() if isinstance(value, str)]
    if any(wanted[name] != measured[name] for name in names):
        return math.inf
    sizes = [name for name in wanted if name not in ("alpha", "beta", *names)]
    return math.dist([math.log(wanted[name] + 1) for name in sizes], [math.log(measured[name] + 1) for name in sizes])
