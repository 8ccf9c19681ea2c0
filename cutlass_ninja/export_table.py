"""Results as a table for other programs: cutlass_profiler's columns, then ours."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .results import OURS, Result, to_json

_PROVIDERS = {OURS: "CUTLASS"}
_DISPOSITIONS = {"success": "passed", "incorrect": "incorrect", "not_supported": "not_supported", "skipped": "not_run"}
_STATUSES = {"success": "success", "incorrect": "success", "not_supported": "not_supported"}
_GIB = 1 << 30

OURS_COLUMNS = (
    "kernel_key", "arch", "parameters", "cache", "gpu", "gpu_uuid", "driver", "cuda", "precision", "reason",
    "mean_ms", "min_ms", "max_ms", "p5_ms", "p95_ms", "stddev_ms", "samples", "discarded_samples", "relative_stderr",
    "verification", "verification_error", "verification_tolerance",
    "sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w", "throttle_reasons", "rounds", "measured_at",
)  # fmt: skip
"""The columns that cutlass_profiler does not have."""


def as_csv(results: Sequence[Result]) -> str:
    """A line for each result below a head. Arguments that a result's operation does not have are empty."""
    arguments = list(dict.fromkeys(name for result in results for name in result.problem))
    rows = [{**_theirs(number, result, arguments), **_ours(result)} for number, result in _numbered(results)]
    head = [*_theirs_columns(arguments), *OURS_COLUMNS]
    text = io.StringIO()
    writer = csv.DictWriter(text, head, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_json(results: Iterable[Result]) -> str:
    """An array with an object for each result: all columns of the database, from which `diff` reads it again."""
    return json.dumps([to_json(result) for result in results], indent=1) + "\n"


def _numbered(results: Iterable[Result]) -> Iterable[tuple[int, Result]]:
    """Each result with the number of its problem, from 1."""
    numbers: dict[tuple[str, str], int] = {}
    for result in results:
        yield numbers.setdefault((result.operation, result.identity[1]), len(numbers) + 1), result


def _theirs_columns(arguments: Sequence[str]) -> list[str]:
    head = ["Problem", "Provider", "OperationKind", "Operation", "Disposition", "Status"]
    return [*head, *arguments, "Bytes", "Flops", "Flops/Byte", "Runtime", "GB/s", "GFLOPs"]


def _theirs(number: int, result: Result, arguments: Sequence[str]) -> dict[str, Any]:
    """As cutlass_profiler's PerformanceReport prints it: Runtime in ms, and GB/s of 2^30 bytes."""
    flops, size, ms = result.record.get("flop"), result.record.get("bytes"), result.median_ms
    disposition = _DISPOSITIONS.get(result.status, "failed")
    if result.status == "success" and not result.verified:
        disposition = "not_verified"
    return {
        "Problem": number,
        "Provider": _PROVIDERS.get(result.provider, result.provider),
        "OperationKind": result.operation,
        "Operation": result.kernel,
        "Disposition": disposition,
        "Status": _STATUSES.get(result.status, "internal"),
        **{name: result.problem.get(name, "") for name in arguments},
        "Bytes": size,
        "Flops": flops,
        "Flops/Byte": flops // size if flops and size else None,
        "Runtime": ms,
        "GB/s": size / _GIB / ms * 1e3 if size and ms else None,
        "GFLOPs": flops / ms / 1e6 if flops and ms else None,
    }


def _ours(result: Result) -> Mapping[str, Any]:
    row = to_json(result)
    texts = {name: json.dumps(row[name]) for name in ("parameters", "rounds")}
    return {
        **{name: row[name] for name in OURS_COLUMNS},
        **texts,
        "throttle_reasons": " ".join(row["throttle_reasons"]),
    }
