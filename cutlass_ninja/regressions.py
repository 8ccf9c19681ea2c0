"""Two files of results compared: what has become slower beyond noise, what faster, what no longer works.

Results are matched by what was measured, not by the executable: the same kernel by its configuration and architecture,
problem, parameters, cache mode and GPU model. A new compiler or CUTLASS gives new keys; that is what is compared.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import InputError
from .problems import canonical
from .ranking import SHORT_MS
from .results import OURS, Result, from_json, open_results

LEAST = 0.01
"""The smallest change, as a fraction of the old median, that counts."""

_STDERRS = 3
_COARSE, _SHORT = 0.013, 0.004
"""The least standard errors, as fractions: of what was measured coarsely, of what is short and was measured by one
process. On an H200 the former strayed by up to 4 % from full measurements, the latter by 1 % from run to run."""
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Change:
    """A result that has changed."""

    old: Result
    new: Result

    @property
    def fraction(self) -> float:
        """The new median by the old one, less 1: above 0 it has become slower."""
        return (self.new.median_ms or math.inf) / (self.old.median_ms or math.inf) - 1

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        return {
            "kernel": self.old.kernel,
            "old_key": self.old.key,
            "new_key": self.new.key,
            "problem": dict(self.old.problem),
            "parameters": dict(self.old.parameters),
            "gpu": self.old.place.gpu,
            "old_median_ms": self.old.median_ms,
            "new_median_ms": self.new.median_ms,
            "change": self.fraction if self.new.verified else None,
            "noise": noise(self.old, self.new),
            "status": self.new.status,
            "reason": self.new.reason,
        }


@dataclass
class Comparison:
    """What has become of the results of the old file."""

    slower: list[Change] = field(default_factory=list)
    broken: list[Change] = field(default_factory=list)
    """Right before, and now wrong or failed."""
    faster: list[Change] = field(default_factory=list)
    same: int = 0
    missing: int = 0
    """Right before, and not measured in the new file."""
    moved: int = 0
    """Measured on another chip of the same model than before."""

    @property
    def regressed(self) -> bool:
        """Whether anything is slower or broken."""
        return bool(self.slower or self.broken)

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        lists = {name: getattr(self, name) for name in ("slower", "broken", "faster")}
        return {
            "regressed": self.regressed,
            **{name: [change.to_json() for change in changes] for name, changes in lists.items()},
            "same": self.same,
            "missing": self.missing,
            "moved": self.moved,
        }


def compare(old: Iterable[Result], new: Iterable[Result], least: float = LEAST) -> Comparison:
    """Compare our kernels' results in two files. Of several for the same thing in one file, the latest counts."""
    after = _by_subject(new)
    comparison = Comparison()
    for subject, before in _by_subject(old).items():
        if not before.verified:
            continue
        now = after.get(subject)
        if now is None or now.status == "skipped":
            comparison.missing += 1
            continue
        comparison.moved += now.place.gpu_uuid != before.place.gpu_uuid
        change = Change(before, now)
        if not now.verified:
            comparison.broken.append(change)
        elif change.fraction > max(least, noise(before, now)):
            comparison.slower.append(change)
        elif -change.fraction > max(least, noise(before, now)):
            comparison.faster.append(change)
        else:
            comparison.same += 1
    for changes in (comparison.slower, comparison.broken, comparison.faster):
        changes.sort(key=lambda change: -abs(change.fraction))
    return comparison


def noise(old: Result, new: Result) -> float:
    """The change, as a fraction of the old median, that the recorded spread explains.

    It is the larger of three standard errors of the difference of the means, and of the half widths from the 5th to
    the 95th percentile of both, added as errors are. The samples of one process do not show what changes from run to
    run, so that brief measurements and short kernels are taken to be known less well.
    """
    if not (old.verified and new.verified):
        return 0.0
    errors = _STDERRS * math.hypot(_stderr_ms(old), _stderr_ms(new))
    return max(errors, math.hypot(_half_width(old), _half_width(new))) / (old.median_ms or math.inf)


def read(path: str) -> list[Result]:
    """The results of a database, or of what `results --export json` printed. Raises InputError, MachineError."""
    try:
        with open(path, "rb") as file:
            is_database = file.read(len(_SQLITE)) == _SQLITE
        if is_database:
            with open_results(path, write=False) as opened:
                return opened.all()
        rows = json.loads(Path(path).read_bytes())
        if not isinstance(rows, list):
            raise TypeError
        return from_json(rows)
    except OSError as error:
        raise InputError(f"error: {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError, sqlite3.Error):
        raise InputError(
            f"error: {path} is neither a file of results nor what `cutlass-ninja results --export json` prints"
        ) from None


def _by_subject(results: Iterable[Result]) -> Mapping[str, Result]:
    found: dict[str, Result] = {}
    for result in sorted(results, key=lambda result: result.measured_at):
        if result.provider == OURS:
            found[_subject(result)] = result
    return found


def _subject(result: Result) -> str:
    config = json.dumps(dict(result.config), sort_keys=True)
    # What a label says beside CUTLASS's name depends on what else is in the build.
    name = result.kernel.partition("-")[0]
    about = [result.operation, name, result.arch, result.cache, result.place.gpu]
    return json.dumps([*about, config, canonical(result.problem), canonical(result.parameters)])


def _stderr_ms(result: Result) -> float:
    median_ms = result.median_ms or 0.0
    least = _COARSE if result.precision == "coarse" else _SHORT if median_ms < SHORT_MS and not result.rounds else 0.0
    return max(result.stderr_ms, least * median_ms)


def _half_width(result: Result) -> float:
    record = result.record
    return float((record.get("runtime_p95_ms") or 0) - (record.get("runtime_p5_ms") or 0)) / 2
