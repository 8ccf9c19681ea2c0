"""Contents -> a line for each contest and kernel, for tables and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from ..results import OURS, Result
from . import troubles
from .compact import parameters
from .contents import Contents, Contest

COLUMNS = (
    "problem", "types", "gpu", "cache", "rank", "provider", "kernel", "key", "parameters", "exchanged", "status",
    "reason", "precision", "median_us", "p5_us", "p95_us", "relative_stderr", "tflop_per_s", "percent_of_peak",
    "factor", "tie", "flop_per_byte", "roof_tflop_per_s", "compile_time_s", "registers", "spill_bytes",
)  # fmt: skip


def as_csv(contents: Contents) -> str:
    """The rankings: verified kernels with their rank, the baseline, and the rest without one."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for contest in contents.contests:
        writer.writerows(_rows(contest, contents))
    return text.getvalue()


def _rows(contest: Contest, contents: Contents) -> Iterator[dict[str, Any]]:
    for rank, result in enumerate(contest.order, 1):
        yield {**_row(contest, contents, result), "rank": rank}
    if contest.choice.baseline:
        yield _row(contest, contents, contest.choice.baseline)
    for result in contest.undone:
        yield {**_row(contest, contents, result), "status": troubles.status(result), "reason": troubles.reason(result)}


def _row(contest: Contest, contents: Contents, result: Result) -> dict[str, Any]:
    kernel = contents.kernels.get(result.key)
    baseline = contest.choice.baseline
    timed = result.median_ms if result.verified else None
    rate = result.tflop_per_s if timed else None
    return {
        "problem": contest.title,
        "types": contest.types,
        "gpu": contest.place.gpu,
        "cache": contest.cache,
        "provider": result.provider,
        "kernel": result.kernel,
        "key": result.key,
        "parameters": parameters(result),
        "exchanged": "yes" if contest.exchanged(result) else "",
        "status": result.status,
        "reason": result.reason,
        "precision": result.precision,
        **{f"{name}_us": _us(result, name) for name in ("median", "p5", "p95") if timed},
        "relative_stderr": result.record.get("relative_stderr"),
        "tflop_per_s": rate,
        "percent_of_peak": 100 * rate / contest.peak_tflop_per_s if rate and contest.peak_tflop_per_s else None,
        "factor": (baseline.median_ms or 0) / timed if baseline and timed and result.provider == OURS else None,
        "tie": "yes" if result.key in contest.tied else "",
        "flop_per_byte": contest.intensity,
        "roof_tflop_per_s": contest.roof_tflop_per_s,
        "compile_time_s": kernel and kernel.compile_time_s,
        "registers": kernel and kernel.registers,
        "spill_bytes": kernel and kernel.spill_bytes,
    }


def _us(result: Result, statistic: str) -> float | None:
    ms = result.record.get(f"runtime_{statistic}_ms")
    return None if ms is None else round(1e3 * ms, 6)
