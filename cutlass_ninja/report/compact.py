"""Contents -> the JSON that the page draws from.

A sweep of 1,000 kernels and 50 problems has 50,000 rows: they are kept by columns, what repeats is kept once and named
by its number, and times have five digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..results import Result
from . import troubles
from .contents import Contents, Contest, Kernel

_TILE = ("threadblock_shape", "stages")
"""The fields of a configuration that are always shown; others if kernels differ in them."""


class _Numbered:
    """Values, each kept once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, value: str) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def values(self) -> list[str]:
        return list(self._numbers)


def as_json(contents: Contents) -> str:
    """The page's data, as text that may stand within an HTML script element."""
    numbers = {key: number for number, key in enumerate(contents.kernels)}
    texts = _Numbered()
    data = {
        "contests": [_contest(contest, numbers, texts) for contest in contents.contests],
        "kernels": _kernels(list(contents.kernels.values())),
        "texts": texts.values(),
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def parameters(result: Result) -> str:
    """A result's run-time parameters in a few words."""
    return " ".join(f"{name}={value}" for name, value in result.parameters.items())


def fields(config: Mapping[str, Any]) -> dict[str, str]:
    """A configuration's values as people write them: `128x64x32`; 0 stages are as many as fit."""
    return {name: "auto" if name == "stages" and value == 0 else _shown(value) for name, value in config.items()}


def _contest(contest: Contest, numbers: Mapping[str, int], texts: _Numbered) -> dict[str, Any]:
    order = contest.order
    baseline = contest.choice.baseline
    return {
        "title": contest.title,
        "types": contest.types,
        "gpu": contest.place.gpu,
        "cache": contest.cache,
        "flop": contest.flop,
        "bytes": contest.bytes,
        "peak": contest.peak_tflop_per_s,
        "bandwidth": contest.bandwidth_tb_per_s,
        "kernel": [numbers[result.key] for result in order],
        "parameters": [texts.number(parameters(result)) for result in order],
        "median": [_us(result, "median") for result in order],
        "p5": [_us(result, "p5") for result in order],
        "p95": [_us(result, "p95") for result in order],
        "stderr": [_digits(100 * (result.record.get("relative_stderr") or 0), 3) for result in order],
        "exchanged": [place for place, result in enumerate(order) if contest.exchanged(result)],
        "coarse": [place for place, result in enumerate(order) if result.precision == "coarse"],
        "tied": [place for place, result in enumerate(order) if result.key in contest.tied],
        "baseline": baseline and {
            "name": baseline.provider,
            "parameters": parameters(baseline),
            "median": _us(baseline, "median"),
            "p5": _us(baseline, "p5"),
            "p95": _us(baseline, "p95"),
        },
        "undone": [
            [numbers[result.key], texts.number(_status(contest, result)), texts.number(troubles.reason(result))]
            for result in contest.undone
        ],
    }  # fmt: skip


def _status(contest: Contest, result: Result) -> str:
    return troubles.status(result) + (" (exchanged)" if contest.exchanged(result) else "")


def _kernels(kernels: Sequence[Kernel]) -> dict[str, Any]:
    configs = [fields(kernel.config) for kernel in kernels]
    names = list(dict.fromkeys(name for config in configs for name in config))
    told = [name for name in names if name in _TILE or len({config.get(name) for config in configs}) > 1]
    values = {name: _Numbered() for name in told}
    return {
        "name": [kernel.name for kernel in kernels],
        "key": [kernel.key for kernel in kernels],
        "compile": [kernel.compile_time_s for kernel in kernels],
        "registers": [kernel.registers for kernel in kernels],
        "spills": [kernel.spill_bytes for kernel in kernels],
        "fields": {
            name: {
                "number": [values[name].number(config.get(name, "none")) for config in configs],
                "values": values[name].values(),
            }
            for name in told
        },
    }


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "x".join(map(str, value))
    return "none" if value is None else str(value)


def _us(result: Result, statistic: str) -> float | None:
    ms = result.record.get(f"runtime_{statistic}_ms")
    return None if ms is None else _digits(1e3 * ms, 5)


def _digits(value: float, digits: int) -> float | int:
    """A number of so many significant digits, as short as JSON has it."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded
