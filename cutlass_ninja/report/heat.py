"""The heat map of a contest, as a grid of numbers."""

from __future__ import annotations

from dataclasses import dataclass

from .compact import fields
from .contents import Contest


@dataclass(frozen=True)
class Heat:
    """The best rate for each tile and each number of stages."""

    tiles: tuple[str, ...]
    stages: tuple[str, ...]
    tflop_per_s: dict[tuple[str, str], float]
    """By tile and stages, for those that some kernel has."""


def of_contest(contest: Contest) -> Heat:
    """The best verified kernel of each tile and stages; the tiles and stages in the order of their numbers."""
    best: dict[tuple[str, str], float] = {}
    for result in contest.order:
        config = fields(result.config)
        place = (config.get("threadblock_shape", "?"), config.get("stages", "?"))
        best[place] = max(best.get(place, 0.0), result.tflop_per_s or 0.0)
    tiles = sorted({tile for tile, _ in best}, key=_numbers)
    stages = sorted({stages for _, stages in best}, key=_numbers)
    return Heat(tuple(tiles), tuple(stages), best)


def _numbers(text: str) -> tuple[list[int], str]:
    return ([int(part) for part in text.split("x") if part.isdigit()], text)
