"""What is known of kernels and problems on one GPU, and what is worth measuring next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from .contenders import Contender
from .entries import Entry
from .manifest import Problem
from .problems import canonical, text
from .ranking import decisive, group, within
from .results import OURS, Result

SEARCHED = 0.20
PROMISING = 0.10
CHOICES = 2
FINALISTS = 0.03
MAX_FINALISTS = 12
"""The most kernels of one problem that take part in its finals, baselines aside."""

Identity = tuple[str, str, str]
"""That of a result on a GPU: the key, the problem and the run-time parameters."""


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to measure."""

    contender: Contender
    problem: Problem
    parameters: Mapping[str, int]

    @property
    def identity(self) -> Identity:
        """That of its result."""
        return (self.contender.key, canonical(self.problem.values), canonical(self.parameters))

    def __str__(self) -> str:
        return f"{self.contender.kernel} {text(self.problem.operation, self.problem.values, self.parameters)}"


class Standings:
    """The results on one GPU. `entries` are all that is asked of the kernels, here or on other GPUs."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._contenders = {contender.key: contender for contender, _ in entries}
        self._problems = {(problem.operation, canonical(problem.values)): problem for _, problem in entries}
        self.share: Sequence[Entry] = ()
        """What is asked of the kernels here."""
        self.found: dict[Identity, Result] = {}
        """What counts as known."""
        self.old: set[Identity] = set()
        """What was measured by earlier runs, whether or not it counts."""
        self.ties_cut = 0
        """How many kernels were too many to take part in one problem's finals."""
        self._recalled: dict[tuple[str, str], list[Mapping[str, int]]] = {}

    def recall(self, result: Result) -> None:
        """Take over what an earlier run measured."""
        self.found[result.identity] = result
        self._recalled.setdefault(result.identity[:2], []).append(result.parameters)

    def first(self) -> list[Task]:
        """What is missing of the share with the default parameters.

        What is measured again is so with all parameters that it was measured with.
        """
        defaults = [Task(contender, problem, _defaults(contender, problem)) for contender, problem in self.share]
        again = [task for task in _combinations(self.share) if task.identity in self.old]
        return self._missing([*defaults, *again])

    def everything(self) -> list[Task]:
        """What is missing of the share with all combinations of parameters, or is known coarsely only."""
        return self._missing(_combinations(self.share), full=True)

    def variants(self, step: int) -> list[Task]:
        """For what is near the best: the best parameters so far, with each other choice of the parameter `step`.

        What an earlier run has searched so is not searched again, though other parameters may seem the best since.
        A kernel that was asked in both forms has parameters of its own in each.
        """
        return self._missing(self._variants(step))

    def promising(self) -> list[Task]:
        """What deserves full precision and does not have it."""
        chosen = []
        for rivals in self._groups():
            choices = Counter(result.key for result in rivals if result.precision != "coarse")
            for result in within(rivals, PROMISING, noise=True):
                if result.precision == "coarse" and choices[result.key] < CHOICES:
                    choices[result.key] += 1
                    chosen.append(self.task(result))
        return chosen

    def finals(self) -> list[list[Result]]:
        """Groups of finalists that have not been measured together, baselines among them."""
        finals = []
        by_group: dict[Hashable, list[Result]] = {}
        for rivals in self._groups():
            best: dict[str, Result] = {}
            for result in within(decisive(rivals), FINALISTS):
                best.setdefault(result.key, result)
            finalists = list(best.values())
            self.ties_cut = max(self.ties_cut, len(finalists) - MAX_FINALISTS)
            by_group.setdefault(group(rivals[0]), []).extend(finalists[:MAX_FINALISTS])
        for finalists in by_group.values():
            ours = any(result.provider == OURS for result in finalists)
            if ours and len(finalists) > 1 and any(result.precision != "final" for result in finalists):
                finals.append(finalists)
        return finals

    def task(self, result: Result) -> Task:
        """What gave a result."""
        return Task(self._contenders[result.key], self._problem(result), dict(result.parameters))

    def _missing(self, tasks: Iterable[Task], *, full: bool = False) -> list[Task]:
        def done(identity: Identity) -> bool:
            known = self.found.get(identity)
            return known is not None and not (full and known.verified and known.precision == "coarse")

        return [task for identity, task in {task.identity: task for task in tasks}.items() if not done(identity)]

    def _variants(self, step: int) -> Iterator[Task]:
        for rivals in self._groups():
            best: dict[tuple[str, str], Result] = {}
            for result in within(rivals, SEARCHED, noise=True):
                best.setdefault(result.identity[:2], result)
            for result in best.values():
                contender, problem = self._contenders[result.key], self._problem(result)
                for name, choices in list(contender.choices(problem.values).items())[step : step + 1]:
                    for choice in () if self._searched(result, name, choices) else choices:
                        yield Task(contender, problem, {**result.parameters, name: choice})

    def _searched(self, result: Result, name: str, choices: Sequence[int]) -> bool:
        """Whether an earlier run tried all choices of one parameter, the others being the same."""
        tried: dict[str, set[int]] = {}
        for parameters in self._recalled.get(result.identity[:2], ()):
            others = canonical({other: value for other, value in parameters.items() if other != name})
            tried.setdefault(others, set()).update(value for other, value in parameters.items() if other == name)
        return any(one.issuperset(choices) for one in tried.values())

    def _groups(self) -> list[list[Result]]:
        """The results that compete: of one group and one provider."""
        groups: dict[Hashable, list[Result]] = {}
        for result in list(self.found.values()):
            if result.verified:
                groups.setdefault((group(result), result.provider), []).append(result)
        return list(groups.values())

    def _problem(self, result: Result) -> Problem:
        return self._problems[result.operation, result.identity[1]]


def _combinations(share: Sequence[Entry]) -> Iterator[Task]:
    for contender, problem in share:
        choices = contender.choices(problem.values)
        for values in product(*choices.values()):
            yield Task(contender, problem, dict(zip(choices, values)))


def _defaults(contender: Contender, problem: Problem) -> dict[str, int]:
    """The parameters that are used unless others are chosen."""
    return {name: choices[0] for name, choices in contender.choices(problem.values).items()}
