"""Which results stand for a problem: those of all kernels that compute the same, in whichever form they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .forms import Form
from .manifest import Problem
from .problems import canonical
from .ranking import group
from .results import OURS, Result

CACHES = ("cold", "warm")
"""The cache modes in which kernels are measured."""


@dataclass(frozen=True, slots=True)
class Query:
    """Which results count."""

    keys: Collection[str] | None = None
    """Those of our kernels that may win; None: all."""
    cache: str = "cold"
    gpu: str = "*"
    """A pattern of GPU models."""


@dataclass(frozen=True)
class Rivals:
    """The results of one computation on one GPU that compete with one another, baselines among them."""

    seen: Form
    """The form in which they are looked at."""
    results: tuple[Result, ...]

    @property
    def gpu(self) -> str:
        """The model of the GPU."""
        return self.results[0].place.gpu

    def exchanged(self, result: Result) -> bool:
        """Whether the kernel of one of them was asked in the other form."""
        return result.form != self.seen


class Contests:
    """What was measured, by what was computed.

    Where a GPU model was measured on several machines or under several drivers, the latest counts.
    """

    def __init__(self, results: Iterable[Result], query: Query) -> None:
        self._groups = _latest(_groups(results, query))
        self._forms = [
            list(dict.fromkeys(result.form for result in one if result.provider == OURS)) for one in self._groups
        ]

    def ours(self) -> Iterator[Result]:
        """All results of our kernels."""
        return (result for one in self._groups for result in one if result.provider == OURS)

    def of(self, problem: Problem) -> list[Rivals]:
        """The rivals for a problem, seen from there.

        If kernels were asked for it as it stands on a GPU model, then for each of their signatures; else for all that
        was computed there in the other form.
        """
        asked = (problem.operation, canonical(problem.values))
        native = self._seen(lambda form: form, asked)
        gpus = {rivals.gpu for rivals in native}
        others = self._seen(lambda form: form.exchanged, asked)
        return native + [rivals for rivals in others if rivals.gpu not in gpus]

    def all(self) -> list[Rivals]:
        """Those for everything that was measured, each seen from the problem that the user asked for.

        Results do not tell which of two that is. But baselines are measured as problems stand, and so is every kernel,
        in the other form only those that it helps: what has a baseline, or else more results, it is.
        """
        results = [result for one in self._groups for result in one]
        baselines = {_problem(result.form) for result in results if result.provider != OURS}
        counts = Counter(_problem(result.form) for result in results)
        first: dict[tuple[str, str], str] = {}
        for result in results:
            asked = _problem(result.form)
            first[asked] = min(first.get(asked, result.measured_at), result.measured_at)
        found = []
        for group_results, forms in zip(self._groups, self._forms):
            problem = min(
                map(_problem, forms),
                key=lambda asked: (asked not in baselines, -counts[asked], first[asked], asked),
            )
            found += [Rivals(form, group_results) for form in forms if _problem(form) == problem]
        return found

    def _seen(self, turned: Callable[[Form], Form | None], asked: tuple[str, str]) -> list[Rivals]:
        return [
            Rivals(seen, results)
            for results, forms in zip(self._groups, self._forms)
            for form in forms
            if (seen := turned(form)) and _problem(seen) == asked
        ]


def _problem(form: Form) -> tuple[str, str]:
    return (form.operation, form.problem)


def _groups(results: Iterable[Result], query: Query) -> list[tuple[Result, ...]]:
    groups: dict[Hashable, list[Result]] = {}
    for result in results:
        ours = result.provider == OURS
        if ours and query.keys is not None and result.key not in query.keys:
            continue
        if result.cache == query.cache and fnmatchcase(result.place.gpu, query.gpu):
            groups.setdefault(group(result), []).append(result)
    return [tuple(one) for one in groups.values() if any(result.provider == OURS for result in one)]


def _latest(groups: Iterable[tuple[Result, ...]]) -> list[tuple[Result, ...]]:
    """Of the groups that differ only in the chip, the driver or CUDA, the one that was measured last."""
    latest: dict[Hashable, tuple[Result, ...]] = {}
    for chosen in groups:
        alike = (chosen[0].form.computation, chosen[0].place.gpu)
        if alike not in latest or _moment(latest[alike]) < _moment(chosen):
            latest[alike] = chosen
    return list(latest.values())


def _moment(results: Sequence[Result]) -> str:
    return max(result.measured_at for result in results)
