"""Contents -> tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..results import Result
from . import heat
from .compact import parameters
from .contents import Contents, Contest
from .surroundings import Fact

Row = Sequence[str]

_RANKING = (
    "", "kernel", "median", "p5..p95", "TFLOP/s", "% peak", "factor", "compile", "registers", "spills", "remarks",
)  # fmt: skip
_WINNERS = ("problem", "kernel", "median", "TFLOP/s", "% peak", "FLOP/B", "roof", "% roof", "factor")


def lines(contents: Contents, top: int) -> Iterator[str]:
    """The report's figures; of each ranking the `top` fastest, 0: all."""
    yield "The fastest kernels"
    yield ""
    yield from table([_WINNERS, *map(_winner, contents.contests)])
    if contents.factor is not None:
        yield f"geometric mean of the factors against the baseline: {contents.factor:.3f}"
    for contest in contents.contests:
        yield from _contest(contest, contents, top)
    yield from _headed("Failed and incorrect kernels")
    yield from _troubles(contents)
    yield from _headed("Environment")
    yield from _surroundings(contents)


def table(rows: Sequence[Row]) -> list[str]:
    """Rows with aligned columns, numbers at the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    right = [all(_is_number(cell) for cell in column[1:]) for column in zip(*rows)]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row, widths, right)
        ).rstrip()
        for row in rows
    ]


def heading(contest: Contest) -> str:
    """What is compared, on what."""
    cache = "" if contest.cache == "cold" else f", {contest.cache} L2"
    return f"{contest.title}  {contest.types}  ({contest.place.gpu}{cache})"


def _contest(contest: Contest, contents: Contents, top: int) -> Iterator[str]:
    yield from _headed(heading(contest))
    shown = contest.order[: top or None]
    rows = [_ranked(rank, result, contest, contents) for rank, result in enumerate(shown, 1)]
    if contest.choice.baseline:
        rows.append(_ranked(None, contest.choice.baseline, contest, contents))
    if rows:
        yield from table([_RANKING, *rows])
    if left := len(contest.order) - len(shown):
        yield f"and {left} more (--top 0 shows all)"
    if contest.undone:
        yield f"{len(contest.undone)} without a verified result"
    if contest.order:
        yield ""
        yield from _heat(contest)


def _ranked(rank: int | None, result: Result, contest: Contest, contents: Contents) -> Row:
    kernel = contents.kernels.get(result.key)
    baseline = contest.choice.baseline
    rate, peak = result.tflop_per_s or 0, contest.peak_tflop_per_s
    factor = (baseline.median_ms or 0) / (result.median_ms or 1) if baseline and rank else None
    remarks = [
        *(["baseline"] if rank is None else []),
        *(["exchanged"] if contest.exchanged(result) else []),
        *(["tie"] if result.key in contest.tied else []),
        *(["measured briefly"] if result.precision == "coarse" else []),
    ]
    return (
        str(rank or ""),
        " ".join(filter(None, [kernel.name if kernel else result.provider, parameters(result)])),
        _us(result.median_ms),
        f"{_us(result.record.get('runtime_p5_ms'))}..{_us(result.record.get('runtime_p95_ms'))}",
        f"{rate:.1f}",
        _number(100 * rate / peak if peak else None, 1),
        _number(factor, 3),
        _with_unit(kernel.compile_time_s if kernel else None, "s"),
        _number(kernel.registers if kernel else None, 0),
        _with_unit(kernel.spill_bytes if kernel else None, "B"),
        ", ".join(remarks),
    )


def _winner(contest: Contest) -> Row:
    choice, roof = contest.choice, contest.roof_tflop_per_s
    winner = choice.winner
    words = [winner.kernel, parameters(winner), "(exchanged)" * choice.exchanged] if winner else ["none is right"]
    return (
        heading(contest),
        " ".join(filter(None, words)),
        _us(winner.median_ms if winner else None),
        _number(choice.tflop_per_s, 1),
        _number(choice.percent_of_peak, 1),
        _number(contest.intensity, 1),
        _number(roof, 1),
        _number(100 * choice.tflop_per_s / roof if choice.tflop_per_s and roof else None, 1),
        _number(choice.factor, 3),
    )


def _heat(contest: Contest) -> Iterator[str]:
    found = heat.of_contest(contest)
    yield "TFLOP/s by tile and stages"
    rows = [
        (tile, *(_number(found.tflop_per_s.get((tile, stages)), 1) for stages in found.stages)) for tile in found.tiles
    ]
    yield from table([("tile", *found.stages), *rows])


def _troubles(contents: Contents) -> Iterable[str]:
    if not contents.troubles:
        return ["none"]
    rows = [
        (trouble.status, str(trouble.count), trouble.kernel, trouble.problem, trouble.reason)
        for trouble in contents.troubles
    ]
    return table([("status", "times", "kernel", "first problem", "reason"), *rows])


def _surroundings(contents: Contents) -> Iterator[str]:
    found = contents.surroundings
    for place, conditions in found.gpus:
        yield f"{place.gpu} ({place.gpu_uuid}), driver {place.driver}, CUDA {place.cuda}"
        yield from _facts(conditions, "  ")
    yield from _facts([*found.software, *found.counts])


def _facts(facts: Iterable[Fact], indent: str = "") -> Iterator[str]:
    return (f"{indent}{name}: {text}" for name, text in facts)


def _headed(title: str) -> Iterator[str]:
    yield ""
    yield ""
    yield title
    yield ""


def _us(ms: float | None) -> str:
    return "-" if ms is None else f"{1e3 * ms:.2f} us"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:g} {unit}"


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or cell in ("", "-")
