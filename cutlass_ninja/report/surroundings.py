"""In what surroundings results were measured: GPUs, software, clocks, heat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .. import __version__
from ..results import OURS, Place, Result

Fact = tuple[str, str]
"""A name and a text."""

_TOOLS = {
    "nvcc": "nvcc",
    "cutlass": "CUTLASS",
    "host_compiler": "host compiler",
}
_CONDITIONS = {
    "sm_clock_mhz": ("SM clock", "MHz"),
    "memory_clock_mhz": ("memory clock", "MHz"),
    "temperature_c": ("temperature", "°C"),
    "power_w": ("power", "W"),
}


@dataclass(frozen=True)
class Surroundings:
    """What is told of them, in order."""

    gpus: tuple[tuple[Place, tuple[Fact, ...]], ...]
    """Each GPU with driver and CUDA version, the range of its clocks, temperature and power, and what limited them."""
    software: tuple[Fact, ...]
    counts: tuple[Fact, ...]
    """How much was measured, and when."""


def of_results(results: Sequence[Result]) -> Surroundings:
    """The surroundings of results."""
    by_place: dict[Place, list[Result]] = {}
    for result in results:
        by_place.setdefault(result.place, []).append(result)
    return Surroundings(
        gpus=tuple((place, tuple(_conditions(there))) for place, there in by_place.items()),
        software=tuple(_software(results)),
        counts=tuple(_counts(results)),
    )


def _conditions(results: Iterable[Result]) -> Iterable[Fact]:
    conditions = [found for result in results if (found := result.record.get("conditions"))]
    for field, (name, unit) in _CONDITIONS.items():
        values = [value for one in conditions if (value := one.get(field)) is not None]
        if values:
            yield name, f"{_range(min(values), max(values))} {unit}"
    reasons = Counter(reason for one in conditions for reason in one.get("throttle_reasons") or ())
    if reasons:
        yield "clocks limited by", ", ".join(f"{reason} ({count} results)" for reason, count in reasons.most_common())
    if reduced := sum(bool(one.get("reduced_clock")) for one in conditions):
        yield "at a reduced clock", f"{reduced} of {len(conditions)} results"


def _software(results: Iterable[Result]) -> Iterable[Fact]:
    found: dict[str, dict[str, None]] = {}
    for result in results:
        if result.provider != OURS:
            found.setdefault(result.provider, {})[str(result.environment.get("version", "?"))] = None
        toolchain = result.environment.get("toolchain") or {}
        for field, name in _TOOLS.items():
            if field in toolchain:
                found.setdefault(name, {})[str(toolchain[field])] = None
    yield "cutlass-ninja", __version__
    for name, versions in found.items():
        yield name, ", ".join(versions)


def _counts(results: Sequence[Result]) -> Iterable[Fact]:
    statuses = Counter(result.status for result in results)
    yield "results", f"{len(results)}: " + ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    samples = sum(result.record.get("samples") or 0 for result in results)
    discarded = sum(result.record.get("discarded_samples") or 0 for result in results)
    yield "samples", f"{samples} kept, {discarded} set aside, taken at a lower clock"
    moments = sorted(result.measured_at for result in results if result.measured_at)
    if moments:
        yield "measured", moments[0] if moments[0] == moments[-1] else f"{moments[0]} to {moments[-1]}"


def _range(least: float, most: float) -> str:
    return f"{least:.0f}" if round(least) == round(most) else f"{least:.0f} to {most:.0f}"
