"""Which kernel is asked which problem in a sweep: all as they stand, and in the other form where that competes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .contenders import Contender
from .forms import exchanged_problem, of_kernel
from .manifest import Problem
from .problems import canonical, once
from .results import OURS

Entry = tuple[Contender, Problem]
"""A kernel, and what it is asked."""


def native(contenders: Sequence[Contender], problems: Sequence[Problem]) -> Iterator[Entry]:
    """Every contender with every problem of its operation as it stands."""
    for contender in contenders:
        for problem in problems:
            if problem.operation == contender.operation:
                yield contender, problem


def exchanged(contenders: Sequence[Contender], problems: Sequence[Problem]) -> Iterator[Entry]:
    """Our kernels with the problems' other forms, where some kernel computes the same as it stands.

    Nothing is among them that is among `native`. Baselines are measured as they are meant.
    """
    ours = [contender for contender in contenders if contender.provider == OURS]
    wanted = {
        of_kernel(problem.operation, contender.config, problem.values).computation
        for contender, problem in native(ours, problems)
    }
    asked = set(map(_identity, problems))
    others = once(other for problem in problems if (other := exchanged_problem(problem)))
    for contender, problem in native(ours, [other for other in others if _identity(other) not in asked]):
        if of_kernel(problem.operation, contender.config, problem.values).computation in wanted:
            yield contender, problem


def shape(problem: Problem) -> tuple[str, str]:
    """What a problem and its other form share."""
    other = exchanged_problem(problem)
    return min(_identity(problem), _identity(other)) if other else _identity(problem)


def _identity(problem: Problem) -> tuple[str, str]:
    return (problem.operation, canonical(problem.values))
