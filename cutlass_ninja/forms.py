"""The forms of what is computed, and the one identity that all of them share.

A kernel may compute something for which it was not meant, if it is asked otherwise: a GEMM with A and B exchanged. What
was measured says how a kernel was really asked; what competes with what is decided here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from . import signature
from .manifest import Problem
from .operations import OPERATIONS
from .operations.operation import ANY
from .problems import canonical, ordered

_REMEMBERED = 1 << 14
"""How many forms are remembered: some for each problem, of each signature."""


@dataclass(frozen=True, slots=True, order=True)
class Form:
    """A problem, and what is computed of it. Equal forms are equal texts."""

    operation: str
    signature: str
    """As JSON, with `*` for what makes no difference to the problem."""
    problem: str
    """As canonical JSON."""

    @property
    def types(self) -> str:
        """The signature in a few words."""
        return signature.shown(json.loads(self.signature))

    @property
    def layout(self) -> str:
        """The signature's layouts in a word, such as `tn*`."""
        return signature.layout(json.loads(self.signature))

    def is_of_layout(self, layout: str) -> bool:
        """Whether these are its layouts, as far as they matter."""
        own = self.layout
        return len(own) == len(layout) and all(one in (ANY, other) for one, other in zip(own, layout))

    @property
    def values(self) -> dict[str, Any]:
        """The problem's values by name, in their order."""
        return ordered(self.operation, json.loads(self.problem))

    @property
    def exchanged(self) -> Form | None:
        """The other form of the same; None for operations that have none."""
        return _exchanged(self)

    @property
    def computation(self) -> Form:
        """Of all forms of the same the one that stands for them."""
        other = self.exchanged
        return self if other is None else min(self, other)


def of_kernel(operation: str, config: Mapping[str, Any], problem: Mapping[str, Any]) -> Form:
    """What a kernel computes for a problem as it stands."""
    stated = json.dumps(signature.signature(config, problem), sort_keys=True)
    return _form(operation, stated, canonical(problem))


def exchanged_problem(problem: Problem) -> Problem | None:
    """What a kernel is asked that is to compute the exchanged form of a problem; None for operations without one."""
    kind = OPERATIONS.get(problem.operation)
    other = kind.exchanged({}, problem.values) if kind else None
    return other and Problem(problem.operation, ordered(problem.operation, other[1]))


@lru_cache(_REMEMBERED)
def _form(operation: str, stated: str, problem: str) -> Form:
    kind = OPERATIONS.get(operation)
    known = json.loads(stated)
    matters_not = {name: ANY for name in kind.indifferent(json.loads(problem)) if name in known} if kind else {}
    return Form(operation, json.dumps(known | matters_not, sort_keys=True), problem)


@lru_cache(_REMEMBERED)
def _exchanged(form: Form) -> Form | None:
    kind = OPERATIONS.get(form.operation)
    other = kind.exchanged(json.loads(form.signature), json.loads(form.problem)) if kind else None
    return other and Form(form.operation, json.dumps(dict(other[0]), sort_keys=True), canonical(other[1]))
