"""Which kernel is asked which problem in a sweep: all as they stand, and in the other form where that competes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .contenders import Contender
from .forms import Form, exchanged_problem, of_kernel
from .manifest import Problem
from .problems import canonical, once
from .results import OURS

Entry = tuple[Contender, Problem]
"""A kernel, and what it is asked."""


def native(
    contenders: Sequence[Contender], problems: Sequence[Problem], layouts: Sequence[str] = ()
) -> Iterator[Entry]:
    """Every contender with every problem of its operation as it stands; of certain layouts alone, if some are named."""
    for contender in contenders:
        for problem in problems:
            if problem.operation == contender.operation and (
                not layouts or any(map(_form(contender, problem).is_of_layout, layouts))
            ):
                yield contender, problem


def exchanged(contenders: Sequence[Contender], problems: Sequence[Problem], own: Iterable[Entry]) -> Iterator[Entry]:
    """Our kernels with the problems' other forms, where some kernel among the `own` entries computes the same.

    Nothing is among them that is among `own`. Baselines are measured as they are meant.
    """
    asked = [entry for entry in own if entry[0].provider == OURS]
    wanted = {_form(contender, problem).computation for contender, problem in asked}
    known = {(contender.key, _identity(problem)) for contender, problem in asked}
    ours = [contender for contender in contenders if contender.provider == OURS]
    others = list(once(other for problem in problems if (other := exchanged_problem(problem))))
    for contender, problem in native(ours, others):
        if (contender.key, _identity(problem)) not in known and _form(contender, problem).computation in wanted:
            yield contender, problem


def shape(problem: Problem) -> tuple[str, str]:
    """What a problem and its other form share."""
    other = exchanged_problem(problem)
    return min(_identity(problem), _identity(other)) if other else _identity(problem)


def _form(contender: Contender, problem: Problem) -> Form:
    return of_kernel(problem.operation, contender.config, problem.values)


def _identity(problem: Problem) -> tuple[str, str]:
    return (problem.operation, canonical(problem.values))
