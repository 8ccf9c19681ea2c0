"""Which results can be compared with one another, and what their order is worth.

Results compare within a group: the same computation in whichever form, at one place, with one cache mode.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence

from .problems import canonical
from .results import Result

TIE_FLOOR = 0.005
"""Kernels this near to each other tie in any case: where the operands come to lie in memory alone makes so much."""

SHORT_MS = 0.05
"""What takes less differs by up to 1 % from one process to the next, though within one it seems to be known better."""

_T_95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}
"""Student's t for 95 %, two-sided, by degrees of freedom; 2 for more."""


def group(result: Result) -> Hashable:
    """What two results must share to be compared."""
    return (result.form.computation, result.cache, result.place)


def ranked(results: Iterable[Result]) -> list[Result]:
    """Those that were found to be right, the fastest first; equal times in the order of names."""
    verified = [result for result in results if result.verified]
    return sorted(verified, key=lambda result: (_median(result), result.kernel, canonical(result.parameters)))


def of_each_kernel(results: Iterable[Result]) -> list[Result]:
    """The fastest verified result of each kernel, in order: with other parameters it is the same code."""
    fastest: dict[str, Result] = {}
    for result in ranked(results):
        fastest.setdefault(result.key, result)
    return list(fastest.values())


def decisive(results: Iterable[Result]) -> list[Result]:
    """Without those that were measured coarsely, if there are others.

    What was measured briefly, with shorter rests, is known less well and would win by chance.
    """
    found = list(results)
    return [result for result in found if result.verified and result.precision != "coarse"] or found


def within(results: Iterable[Result], fraction: float, *, noise: bool = False) -> list[Result]:
    """The verified results that are slower than the fastest by no more than a fraction; the fastest first.

    With `noise`, each gets the benefit of twice its standard error, and the fastest its doubt.
    """
    order = ranked(results)
    if not order:
        return []
    limit = (_median(order[0]) + (2 * order[0].stderr_ms if noise else 0)) * (1 + fraction)
    return [result for result in order if _median(result) - (2 * result.stderr_ms if noise else 0) <= limit]


def tied(best: Result, other: Result) -> bool:
    """Whether `other` may be as fast as `best`: their difference is within TIE_FLOOR, or within what chance makes.

    Of two finals, rounds are compared pair by pair, which takes out what changes from round to round: the mean
    difference is chance if it is below Student's t (95 %) times its standard error. Else twice the standard errors of
    the means, combined, count.
    """
    floor = TIE_FLOOR * _median(best)
    if len(best.rounds) == len(other.rounds) >= 2:
        differences = [theirs - own for own, theirs in zip(best.rounds, other.rounds)]
        mean = sum(differences) / len(differences)
        deviation = math.sqrt(sum((one - mean) ** 2 for one in differences) / (len(differences) - 1))
        chance = _T_95.get(len(differences) - 1, 2.0) * deviation / math.sqrt(len(differences))
        return mean <= max(floor, chance)
    return _median(other) - _median(best) <= max(floor, 2 * math.hypot(best.stderr_ms, other.stderr_ms))


def ties(order: Sequence[Result]) -> list[Result]:
    """Those of ranked results that tie with the first."""
    return [result for result in order[1:] if tied(order[0], result)]


def _median(result: Result) -> float:
    return result.median_ms or math.inf
