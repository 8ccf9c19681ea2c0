"""The fastest verified kernel for each problem, out of what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .contests import Contests, Query, Rivals
from .forms import Form, exchanged_problem, of_kernel
from .manifest import Problem
from .operations import OPERATIONS
from .peaks import peak_tflop_per_s
from .problems import canonical
from .ranking import decisive, of_each_kernel, ranked, ties
from .results import OURS, Place, Result

_NEAREST = 3
"""From how many measured problems one that was not is predicted."""


@dataclass(frozen=True)
class Choice:
    """What is known of one problem for kernels of one signature, on one GPU."""

    operation: str
    problem: Mapping[str, Any]
    winner: Result | None
    """None if no kernel was found to be right, or nothing was measured."""
    seen: Form | None = None
    """The problem with the signature that is meant; None if nothing was measured."""
    exchanged: bool = False
    """Whether the winner computes it in the other form, with A and B exchanged: what it is to be asked is not the
    problem but `kernel_problem`."""
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

    @property
    def types(self) -> str | None:
        """The signature in a few words."""
        return self.seen.types if self.seen else None

    @property
    def kernel_problem(self) -> Mapping[str, Any] | None:
        """What the winner is to be asked."""
        return self._asked(self.exchanged) if self.winner else None

    def _asked(self, exchanged: bool) -> Mapping[str, Any]:
        other = exchanged_problem(Problem(self.operation, self.problem)) if exchanged else None
        return other.values if other else self.problem

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        winner, baseline = self.winner, self.baseline
        measured = winner if not self.predicted_from else None
        return {
            "problem": dict(self.problem),
            "operation": self.operation,
            "signature": self.types,
            "kernel": winner.kernel if winner else None,
            "key": winner.key if winner else None,
            "parameters": dict(winner.parameters) if winner else None,
            "exchanged": self.exchanged if winner else None,
            "kernel_problem": dict(self.kernel_problem) if self.kernel_problem else None,
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
            "ties": [self._tie(one) for one in self.tied],
            "compared": self.compared,
            "wrong": self.wrong,
            "gpu": winner.place.gpu if winner else None,
            "gpu_uuid": winner.place.gpu_uuid if winner else None,
            "driver": winner.place.driver if winner else None,
            "cuda": winner.place.cuda if winner else None,
            "cache": winner.cache if winner else None,
        }

    def _tie(self, result: Result) -> dict[str, Any]:
        return {
            "kernel": result.kernel,
            "key": result.key,
            "parameters": dict(result.parameters),
            "exchanged": result.form != self.seen,
            "kernel_problem": dict(result.problem),
            "median_ms": result.median_ms,
        }


def best(
    results: Iterable[Result], problems: Sequence[Problem], query: Query, *, predict: bool = False
) -> list[Choice]:
    """A choice for each problem, signature and GPU model; without `problems`, for all that were measured.

    What was measured in the other form of a problem is an answer, too. Where a model was measured on several machines
    or under several drivers, the latest counts. A problem that was not measured gets a choice without a winner; with
    `predict`, for each signature the kernel that did best on the nearest measured problems.
    """
    contests = Contests(results, query)
    if not problems:
        return [choice(rivals) for rivals in contests.all()]
    choices = []
    for problem in problems:
        found = [choice(rivals) for rivals in contests.of(problem)]
        if not found and predict:
            found = _predict(problem, contests)
        choices += found or [Choice(problem.operation, problem.values, None)]
    return choices


def choice(rivals: Rivals) -> Choice:
    """What is known of a problem that was measured."""
    ours = [result for result in rivals.results if result.provider == OURS]
    baselines = ranked(decisive(result for result in rivals.results if result.provider != OURS))
    right = {result.key for result in ranked(ours)}
    wrong = {result.key for result in ours if result.status not in ("success", "not_supported")}
    winners = of_each_kernel(decisive(ours))
    return Choice(
        operation=rivals.seen.operation,
        problem=rivals.seen.values,
        winner=winners[0] if winners else None,
        seen=rivals.seen,
        exchanged=bool(winners) and rivals.exchanged(winners[0]),
        tied=tuple(ties(winners)) if winners else (),
        compared=len(right),
        wrong=len(wrong),
        baseline=baselines[0] if baselines else None,
    )


def _predict(problem: Problem, contests: Contests) -> list[Choice]:
    """A choice for each signature and GPU: the kernel with the best rate, by distance, on the nearest problems."""
    nearby: dict[tuple[Form, Place], _Nearby] = {}
    meant: set[Form] = set()
    ways: dict[str, list[tuple[Form, bool]]] = {}
    distances: dict[str, float] = {}
    for result in contests.ours():
        if result.operation != problem.operation:
            continue
        if result.key not in ways:
            ways[result.key] = _ways(problem, result.config)
            meant.add(ways[result.key][0][0])
        for (own, can), seen in zip(ways[result.key], filter(None, (result.form, result.form.exchanged))):
            if not can:
                continue
            if seen.problem not in distances:
                distances[seen.problem] = _distance(problem.values, seen.values)
            if distances[seen.problem] < math.inf:
                near = nearby.setdefault((own, result.place), _Nearby())
                near.setdefault((distances[seen.problem], seen.problem), []).append((result, seen != result.form))
    predicted = (_nearest(own, near) for (own, _), near in nearby.items() if own in meant)
    return [choice for choice in predicted if choice]


_Nearby = dict[tuple[float, str], list[tuple[Result, bool]]]
"""Measured problems as seen from one that was not, by their distance: the results, and whether of the other form."""


def _ways(problem: Problem, config: Mapping[str, Any]) -> list[tuple[Form, bool]]:
    """What a kernel computes of a problem: asked as it stands; and asked in the other form, if there is one.

    Each with whether it can be asked so.
    """
    takes = OPERATIONS[problem.operation].takes
    ways = [(of_kernel(problem.operation, config, problem.values), takes(config, problem.values))]
    other = exchanged_problem(problem)
    if other and (seen := of_kernel(other.operation, config, other.values).exchanged):
        ways.append((seen, takes(config, other.values)))
    return ways


def _nearest(seen: Form, nearby: _Nearby) -> Choice | None:
    near = sorted(nearby)[:_NEAREST]
    weights = [1 / (distance + 1e-9) for distance, _ in near]
    rates: dict[tuple[str, str, bool], float] = {}
    examples: dict[tuple[str, str, bool], Result] = {}
    for weight, measured in zip(weights, near):
        exchanged = {result.identity: other for result, other in nearby[measured]}
        for result in ranked(decisive(result for result, _ in nearby[measured])):
            known = (result.key, canonical(result.parameters), exchanged[result.identity])
            rates[known] = rates.get(known, 0) + weight * (result.tflop_per_s or 0)
            examples.setdefault(known, result)
    if not rates:
        return None
    chosen = max(rates, key=lambda known: rates[known])
    return Choice(
        operation=seen.operation,
        problem=seen.values,
        winner=examples[chosen],
        seen=seen,
        exchanged=chosen[2],
        compared=len({key for key, *_ in rates}),
        predicted_from=tuple(Form(seen.operation, seen.signature, measured).values for _, measured in near),
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
