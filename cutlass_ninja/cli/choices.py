"""Choices as a table, which `profile` and `best` print."""

from __future__ import annotations

from collections.abc import Sequence

from .. import problems
from ..choose import Choice

_HEAD = ("problem", "kernel", "median", "TFLOP/s", "% peak", "factor", "remarks")


def table(choices: Sequence[Choice]) -> list[str]:
    """A line for each choice below a head."""
    rows = [_HEAD, *(_row(choice) for choice in choices)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _row(choice: Choice) -> tuple[str, ...]:
    winner = choice.winner
    if winner is None:
        wrong = f"{choice.wrong} wrong or failed" if choice.wrong else "not measured"
        return (problems.text(choice.operation, choice.problem), "-", "-", "-", "-", "-", wrong)
    parameters = "".join(f" {name}={value}" for name, value in winner.parameters.items())
    return (
        f"{problems.text(choice.operation, choice.problem)} {choice.types}",
        winner.kernel + parameters,
        "-" if choice.predicted_from else _time(winner.median_ms or 0),
        _number(choice.tflop_per_s),
        _number(choice.percent_of_peak),
        "-" if choice.factor is None else f"{choice.factor:.3f}",
        ", ".join(_remarks(choice)),
    )


def _remarks(choice: Choice) -> list[str]:
    remarks = []
    if choice.exchanged:
        remarks.append(f"exchanged: {problems.text(choice.operation, choice.kernel_problem or {})}")
    if choice.predicted_from:
        near = len(choice.predicted_from)
        remarks.append(f"predicted from {near} nearest {'problem' if near == 1 else 'problems'}, not measured")
    if choice.tied:
        remarks.append(f"ties with {len(choice.tied)} more")
    if choice.wrong:
        remarks.append(f"{choice.wrong} wrong or failed")
    return remarks


def _time(ms: float) -> str:
    return f"{ms * 1e3:.2f} us" if ms < 0.1 else f"{ms:.4f} ms"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
