"""What the profilers measured: cache/results.sqlite, one row for each kernel, problem, parameters and place.

Several processes may write at once: each write is one short transaction, for which the others wait. There is one file
and no other beside it, so that it can be copied at any time when nobody writes.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .errors import InputError, MachineError
from .forms import Form, exchanged_problem, of_kernel
from .manifest import Problem
from .problems import canonical, ordered
from .store import CACHE

RESULTS = CACHE + "/results.sqlite"
"""Where results lie, relative to the build folder."""

OURS = "cutlass-ninja"
"""The provider of this program's kernels; others are baselines."""

PRECISIONS = ("coarse", "full", "final")
"""How well something was measured: to drop what is slow; to the precision asked for; interleaved with its rivals."""

_APPLICATION = 0x434E4A41
_WAIT_S = 60

_MIGRATIONS = (
    """
    CREATE TABLE results (
      provider TEXT NOT NULL,
      kernel TEXT NOT NULL,
      kernel_key TEXT NOT NULL,
      operation TEXT NOT NULL,
      arch TEXT NOT NULL,
      config TEXT NOT NULL,
      problem TEXT NOT NULL,
      parameters TEXT NOT NULL,
      cache TEXT NOT NULL,
      gpu TEXT NOT NULL,
      gpu_uuid TEXT NOT NULL,
      driver TEXT NOT NULL,
      cuda TEXT NOT NULL,
      precision TEXT NOT NULL,
      status TEXT NOT NULL,
      reason TEXT NOT NULL,
      median_ms REAL, mean_ms REAL, min_ms REAL, max_ms REAL, p5_ms REAL, p95_ms REAL, stddev_ms REAL,
      samples INTEGER, discarded_samples INTEGER, relative_stderr REAL,
      flop INTEGER, bytes INTEGER,
      verification TEXT NOT NULL, verification_error REAL, verification_tolerance REAL,
      sm_clock_mhz REAL, memory_clock_mhz REAL, temperature_c REAL, power_w REAL, throttle_reasons TEXT NOT NULL,
      rounds TEXT NOT NULL,
      environment TEXT NOT NULL,
      measured_at TEXT NOT NULL,
      record TEXT NOT NULL,
      PRIMARY KEY (kernel_key, problem, parameters, cache, gpu, gpu_uuid, driver, cuda)
    )
    """,
)
"""The steps from each format of the file to the next; an empty file is of format 0."""
_INDEX = "CREATE INDEX IF NOT EXISTS results_by_problem ON results (problem)"
"""For `Results.of`; of no format, as a file without is merely slower."""
FORMAT = len(_MIGRATIONS)
"""The format of the file that this version writes: PRAGMA user_version."""

_STATISTICS = ("median", "mean", "min", "max", "p5", "p95", "stddev")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was measured."""

    gpu: str
    """The GPU's model, as CUDA names it."""
    gpu_uuid: str
    driver: str
    cuda: str
    """The version of the CUDA runtime that the profiler holds."""


@dataclass(frozen=True)
class Result:
    """What came of one kernel, one problem, one choice of parameters, at one place."""

    provider: str
    kernel: str
    key: str
    operation: str
    arch: str
    config: Mapping[str, Any]
    problem: Mapping[str, Any]
    parameters: Mapping[str, Any]
    cache: str
    place: Place
    precision: str
    status: str
    reason: str
    record: Mapping[str, Any] = field(default_factory=dict)
    """The profiler's line, without what stands elsewhere; empty where it gave none."""
    rounds: tuple[float, ...] = ()
    """The medians in ms of the interleaved rounds of a final."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    measured_at: str = ""

    @cached_property
    def identity(self) -> tuple[str, str, str]:
        """What tells results of one place and cache mode apart."""
        return (self.key, canonical(self.problem), canonical(self.parameters))

    @cached_property
    def form(self) -> Form:
        """What was computed, in the form in which the kernel was asked."""
        return of_kernel(self.operation, self.config, self.problem)

    @property
    def verified(self) -> bool:
        """Whether it was timed and found to be right."""
        return self.status == "success" and self.median_ms is not None and self.record.get("verification") == "passed"

    @property
    def median_ms(self) -> float | None:
        """The time of a launch: the median of its samples, or of the rounds' medians."""
        return self.record.get("runtime_median_ms")

    @property
    def stderr_ms(self) -> float:
        """The standard error of the mean of its samples, or of its rounds."""
        return float(self.record.get("relative_stderr") or 0) * float(self.record.get("runtime_mean_ms") or 0)

    @property
    def tflop_per_s(self) -> float | None:
        """The rate by the median."""
        return self.record.get("tflop_per_s")

    def worst_check(self) -> Mapping[str, Any]:
        """The verification's check that came nearest to its tolerance; empty without any."""
        checks = self.record.get("verification_checks") or [{}]
        worst: Mapping[str, Any] = max(checks, key=lambda one: (one.get("error") or 0) / (one.get("tolerance") or 1))
        return worst


class Results:
    """An open file of results. May be used by several threads."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.Lock()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def put(self, result: Result) -> None:
        """Add a result, or replace the one of the same kernel, problem, parameters and place. Raises MachineError."""
        self.put_all([result])

    def put_all(self, results: Sequence[Result]) -> None:
        """The same for several, all or none of them. Raises MachineError."""
        rows = [_row(result) for result in results]
        if not rows:
            return
        names = ", ".join(rows[0])
        marks = ", ".join(f":{name}" for name in rows[0])
        with self._lock, _translated(self.path), _transaction(self._connection):
            self._connection.executemany(f"INSERT OR REPLACE INTO results ({names}) VALUES ({marks})", rows)

    def all(self) -> list[Result]:
        """Every result, in a fixed order. Raises InputError, MachineError."""
        return self._selected("")

    def of(self, problems: Iterable[Problem]) -> list[Result]:
        """Those for some problems, in whichever form these were asked. Raises InputError, MachineError."""
        forms = [form for problem in problems for form in (problem, exchanged_problem(problem)) if form]
        texts = json.dumps(sorted({canonical(form.values) for form in forms}))
        return self._selected("WHERE problem IN (SELECT value FROM json_each(?))", texts)

    def operations(self) -> list[str]:
        """The operation kinds of which there are results. Raises InputError, MachineError."""
        with self._lock, _translated(self.path):
            rows = self._connection.execute("SELECT DISTINCT operation FROM results ORDER BY operation")
            return [str(row["operation"]) for row in rows]

    def _selected(self, where: str, *values: str) -> list[Result]:
        order = "ORDER BY operation, problem, kernel, kernel_key, parameters, cache, gpu, gpu_uuid, driver, cuda"
        with self._lock, _translated(self.path):
            parsed = cache(json.loads)  # Of 50,000 rows most have a configuration and a problem that others have, too.
            rows = self._connection.execute(f"SELECT * FROM results {where} {order}", values)
            return [_result(row, parsed) for row in rows]


def open_results(path: str = RESULTS, *, write: bool) -> Results:
    """Open a file of results; `write` also makes it, or brings it to this version's format.

    Raises InputError if the file is of a newer version, or is none of ours; MachineError if it cannot be read or
    written to. It is then left as it is.
    """
    size = os.path.getsize(path) if os.path.exists(path) else 0
    if not write and not size:
        raise InputError(f"error: {path}: nothing has been measured yet; run cutlass-ninja profile, or name a file")
    if write:
        _check_writable(path)
    mode = "rwc" if write else "rw" if _is_unfinished(path) else "ro"
    with _translated(path):
        if size == 1:  # Which SQLite takes for an empty file.
            raise sqlite3.DatabaseError("file is not a database")
        uri = f"file:{quote(os.path.abspath(path))}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            connection.row_factory = sqlite3.Row
            _bring_up_to_date(path, connection, write)
        except BaseException:
            connection.close()
            raise
    return Results(path, connection)


def from_json(rows: Sequence[Mapping[str, Any]]) -> list[Result]:
    """The results of what `to_json` gave. Raises KeyError, TypeError for anything else."""
    return [_result({**row, **{name: json.dumps(row[name]) for name in _AS_JSON}}, json.loads) for row in rows]


def to_json(result: Result) -> dict[str, Any]:
    """A result as an object, its columns by name."""
    row = _row(result)
    return {**row, **{name: json.loads(row[name]) for name in _AS_JSON}}


_AS_JSON = ("config", "problem", "parameters", "throttle_reasons", "rounds", "environment", "record")


def _row(result: Result) -> dict[str, Any]:
    record, conditions = result.record, result.record.get("conditions") or {}
    check = result.worst_check()
    return {
        "provider": result.provider,
        "kernel": result.kernel,
        "kernel_key": result.key,
        "operation": result.operation,
        "arch": result.arch,
        "config": json.dumps(dict(result.config)),
        "problem": canonical(result.problem),
        "parameters": canonical(result.parameters),
        "cache": result.cache,
        "gpu": result.place.gpu,
        "gpu_uuid": result.place.gpu_uuid,
        "driver": result.place.driver,
        "cuda": result.place.cuda,
        "precision": result.precision,
        "status": result.status,
        "reason": result.reason,
        **{f"{name}_ms": record.get(f"runtime_{name}_ms") for name in _STATISTICS},
        **{name: record.get(name) for name in ("samples", "discarded_samples", "relative_stderr", "flop", "bytes")},
        "verification": record.get("verification", "skipped"),
        "verification_error": check.get("error"),
        "verification_tolerance": check.get("tolerance"),
        **{name: conditions.get(name) for name in ("sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w")},
        "throttle_reasons": json.dumps(conditions.get("throttle_reasons", [])),
        "rounds": json.dumps(result.rounds),
        "environment": json.dumps(dict(result.environment)),
        "measured_at": result.measured_at,
        "record": json.dumps(dict(record)),
    }


def _result(row: Any, parsed: Callable[[str], Any]) -> Result:
    return Result(
        provider=row["provider"],
        kernel=row["kernel"],
        key=row["kernel_key"],
        operation=row["operation"],
        arch=row["arch"],
        config=parsed(row["config"]),
        problem=ordered(row["operation"], parsed(row["problem"])),
        parameters=parsed(row["parameters"]),
        cache=row["cache"],
        place=Place(row["gpu"], row["gpu_uuid"], row["driver"], row["cuda"]),
        precision=row["precision"],
        status=row["status"],
        reason=row["reason"],
        record=json.loads(row["record"]),
        rounds=tuple(json.loads(row["rounds"])),
        environment=parsed(row["environment"]),
        measured_at=row["measured_at"],
    )


def with_rounds(result: Result, lines: Sequence[Mapping[str, Any]], measured_at: str) -> Result:
    """A result whose figures are those of interleaved rounds, given as the profiler's lines.

    The time is the median of the rounds' medians, the standard error that of their mean; the conditions are the last
    round's.
    """
    rounds = tuple(float(line["runtime_median_ms"]) for line in lines)
    mean = sum(rounds) / len(rounds)
    variance = sum((one - mean) ** 2 for one in rounds) / max(len(rounds) - 1, 1)
    ordered = sorted(rounds)
    median = (ordered[(len(rounds) - 1) // 2] + ordered[len(rounds) // 2]) / 2
    conditions = [line["conditions"] or {} for line in lines]
    record = {
        **result.record,
        **{name: lines[-1][name] for name in ("launches_per_sample", "warmup_iterations", "stopped_by")},
        "conditions": {**conditions[-1], "reduced_clock": any(one.get("reduced_clock") for one in conditions)},
        **{
            name: sum(line[name] for line in lines) for name in ("samples", "discarded_samples", "profiling_iterations")
        },
        "runtime_median_ms": median,
        "runtime_mean_ms": mean,
        "runtime_stddev_ms": variance**0.5,
        "relative_stderr": (variance / len(rounds)) ** 0.5 / mean,
        "runtime_min_ms": min(line["runtime_min_ms"] for line in lines),
        "runtime_max_ms": max(line["runtime_max_ms"] for line in lines),
        "runtime_p5_ms": min(line["runtime_p5_ms"] for line in lines),
        "runtime_p95_ms": max(line["runtime_p95_ms"] for line in lines),
        "tflop_per_s": result.record["flop"] / median * 1e-9,
        "gbyte_per_s": result.record["bytes"] / median * 1e-6,
    }
    return replace(result, precision="final", record=record, rounds=rounds, measured_at=measured_at)


def _bring_up_to_date(path: str, connection: sqlite3.Connection, write: bool) -> None:
    if not write:
        _check_format(path, connection)
        if _format(connection) < FORMAT:
            raise InputError(f"error: {path} is of an older version; cutlass-ninja profile brings it up to date")
        return
    with _transaction(connection):
        _check_format(path, connection)
        found = _format(connection)
        for step in _MIGRATIONS[found:]:
            connection.execute(step)
        connection.execute(_INDEX)
        if found < FORMAT:
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")


def _check_format(path: str, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != _APPLICATION and (application or tables):
        raise InputError(f"error: {path} is a database of another program; name another file with --results")
    if (found := _format(connection)) > FORMAT:
        raise InputError(
            f"error: {path} was written by a newer cutlass-ninja (format {found}, this one knows {FORMAT}); "
            "update cutlass-ninja, or name another file with --results"
        )


def _format(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_unfinished(path: str) -> bool:
    """Whether a write may have been killed, so that whoever reads next has to take it back, and can."""
    places = (os.path.dirname(path) or ".", path)
    return os.path.exists(path + "-journal") and all(os.access(place, os.W_OK) for place in places)


def _check_writable(path: str) -> None:
    """SQLite needs to write to the folder, too, and says less clearly that it cannot."""
    folder = os.path.dirname(path) or "."
    remedy = "make it writable, or name another file with --results"
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(f"error: cannot write to {folder}/: {error.strerror}; {remedy}") from error
    for place in (folder, path):
        if os.path.exists(place) and not os.access(place, os.W_OK):
            raise MachineError(f"error: cannot write to {place}: it is read-only; {remedy}")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # Where the disk is full, SQLite has rolled back by itself.
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Turn SQLite's errors into ours, of one line."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise MachineError(f"error: {path}: {error}; name another file with --results, or try again") from error
    except (sqlite3.DatabaseError, ValueError) as error:
        raise InputError(
            f"error: {path} is damaged or no file of results ({error}); move it away, or name another with --results"
        ) from error
