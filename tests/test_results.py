"""The file of results: what is kept, by what it is known, and what is never overwritten."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from cutlass_ninja import export_table, results
from cutlass_ninja.errors import CutlassNinjaError, InputError, MachineError
from cutlass_ninja.manifest import Problem
from cutlass_ninja.results import Place, Result, open_results, with_rounds

H200 = Place("NVIDIA H200", "GPU-1", "580.65.06", "13.0")
CONFIG = {
    "opcode_class": "tensorop", "element_a": "f16", "element_b": "f16", "element_c": "f16", "element_d": "f16",
    "element_accumulator": "f32", "layout_a": "t", "layout_b": "n", "layout_c": "n",
}  # fmt: skip


def record(ms: float, relative_stderr: float = 0.001, **values: Any) -> dict[str, Any]:
    """What a profiler says of a kernel that takes so long."""
    times = {f"runtime_{name}_ms": ms for name in ("median", "mean", "min", "max", "p5", "p95")}
    return {
        "flop": 2_000_000_000,
        "bytes": 1_000_000,
        "samples": 20,
        "discarded_samples": 1,
        "profiling_iterations": 40,
        "launches_per_sample": 2,
        "warmup_iterations": 10,
        "stopped_by": "relative_stderr",
        "relative_stderr": relative_stderr,
        "tflop_per_s": 2 / ms,
        "gbyte_per_s": 1 / ms,
        "runtime_stddev_ms": 0.01 * ms,
        "verification": "passed",
        "verification_checks": [
            {"data": "integer", "metric": "max_error_over_bound", "error": 0.0, "tolerance": 1},
            {"data": "normal", "metric": "relative_frobenius", "error": 2e-4, "tolerance": 1e-3},
        ],
        "conditions": {"sm_clock_mhz": 1700.0, "power_w": 690.0, "throttle_reasons": ["sw_power_cap"]},
        **times,
        **values,
    }


def result(kernel: str = "a", ms: float | None = 1.0, m: int = 64, **values: Any) -> Result:
    """A result that was verified and took `ms`; None: one that failed."""
    whole = Result(
        provider="cutlass-ninja",
        kernel=kernel,
        key=f"key-{kernel}",
        operation="gemm",
        arch="sm_90a",
        config={**CONFIG, "threadblock_shape": [64, 64, 64]},
        problem={"m": m, "n": 64, "k": 64, "batch_count": 1, "alpha": 1.0, "beta": 0.0},
        parameters={},
        cache="cold",
        place=H200,
        precision="full",
        status="success" if ms is not None else "crashed",
        reason="" if ms is not None else "killed by SIGSEGV",
        record=record(ms) if ms is not None else {},
        measured_at="2026-01-01T00:00:00Z",
    )
    return replace(whole, **values)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cache" / "results.sqlite")


def kept(path: str) -> list[Result]:
    with open_results(path, write=False) as opened:
        return opened.all()


def put(path: str, *new: Result) -> None:
    with open_results(path, write=True) as opened:
        opened.put_all(new)


def test_what_is_put_is_read_again(path: str) -> None:
    one, failed = result("a"), result("b", None)
    put(path, one, failed)
    assert kept(path) == [one, failed]


def test_the_same_again_replaces_and_anything_else_is_added(path: str) -> None:
    put(path, result())
    put(path, result(ms=2.0, precision="final", measured_at="2026-02-01T00:00:00Z"))
    assert [one.median_ms for one in kept(path)] == [2.0]
    others = [
        result(m=128), result(key="another key"), result(parameters={"order": 1}), result(cache="warm"),
        *(result(place=replace(H200, **{name: "other"})) for name in ("gpu", "gpu_uuid", "driver", "cuda")),
    ]  # fmt: skip
    put(path, *others)
    assert len(kept(path)) == 1 + len(others)


def test_a_problem_is_the_same_whatever_its_order_and_its_numbers_type(path: str) -> None:
    put(path, result())
    put(path, result(problem={"beta": 0, "alpha": 1, "batch_count": 1, "k": 64.0, "n": 64, "m": 64}))
    assert len(kept(path)) == 1


def test_figures_are_columns_for_other_programs(path: str) -> None:
    put(path, result())
    connection = sqlite3.connect(path)
    columns = "median_ms, p95_ms, samples, verification_error, verification_tolerance, sm_clock_mhz, throttle_reasons"
    (row,) = connection.execute(f"SELECT {columns} FROM results").fetchall()
    connection.close()
    assert row == (1.0, 1.0, 20, 2e-4, 1e-3, 1700.0, '["sw_power_cap"]')


def test_several_processes_write_at_once(path: str) -> None:
    script = """
import sys
sys.path.insert(0, sys.argv[2])
from test_results import put, result
for m in range(50):
    put(sys.argv[1], result(sys.argv[3], m=m + 1))
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, path, str(ROOT / "tests")]
    writers = [subprocess.Popen([*command, name], env=env, stderr=subprocess.PIPE, text=True) for name in "abcd"]
    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [("", 0)] * 4
    assert len(kept(path)) == 200


def test_a_transaction_is_whole_or_not_at_all(path: str) -> None:
    put(path, result("before"))
    with open_results(path, write=True) as opened, pytest.raises(TypeError):
        opened.put_all([result("a"), result("b", record={"samples": object()})])
    assert [one.kernel for one in kept(path)] == ["before"]


def refused(path: str, error: type[CutlassNinjaError], *, write: bool = True) -> str:
    """The message with which a file is refused; it must stay as it is."""
    before = Path(path).read_bytes() if os.path.exists(path) else None
    with pytest.raises(error) as raised:
        open_results(path, write=write)
    assert (Path(path).read_bytes() if os.path.exists(path) else None) == before
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_results_for_a_problem_are_those_of_both_its_forms(path: str) -> None:
    exchanged = result("exchanged", problem=result(m=16).problem | {"m": 64, "n": 16})
    put(path, result("other", m=128), exchanged, result("native", m=16), result("further", m=64))
    asked = Problem("gemm", result(m=16).problem)
    for index in ("kept", "lost"):
        with open_results(path, write=False) as opened:
            assert sorted(found.kernel for found in opened.of([asked])) == ["exchanged", "native"], index
            assert opened.of([]) == [] and opened.operations() == ["gemm"]
        connection = sqlite3.connect(path)
        connection.execute("DROP INDEX IF EXISTS results_by_problem")
        connection.close()


@pytest.mark.parametrize("write", [True, False])
def test_a_file_of_a_newer_version_is_left_alone(write: bool, path: str) -> None:
    put(path, result())
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {results.FORMAT + 1}")
    connection.close()
    assert refused(path, InputError, write=write) == (
        f"error: {path} was written by a newer cutlass-ninja (format {results.FORMAT + 1}, this one knows "
        f"{results.FORMAT}); update cutlass-ninja, or name another file with --results"
    )


def test_an_older_file_is_brought_up_to_date(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(path, result())
    later = (*results._MIGRATIONS, "ALTER TABLE results ADD COLUMN remark TEXT NOT NULL DEFAULT 'none'")
    monkeypatch.setattr(results, "_MIGRATIONS", later)
    monkeypatch.setattr(results, "FORMAT", len(later))
    assert refused(path, InputError, write=False) == (
        f"error: {path} is of an older version; cutlass-ninja profile brings it up to date"
    )
    put(path, result("b"))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT kernel, remark FROM results").fetchall() == [("a", "none"), ("b", "none")]
    assert connection.execute("PRAGMA user_version").fetchone() == (len(later),)
    connection.close()


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("content", [b"\n", b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_left_alone(content: bytes, write: bool, path: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(content)
    message = refused(path, InputError, write=write)
    assert message.startswith(f"error: {path} is damaged or no file of results (")
    assert message.endswith("); move it away, or name another with --results")


def test_another_programs_database_is_left_alone(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text TEXT)")
    connection.close()
    assert refused(path, InputError) == (
        f"error: {path} is a database of another program; name another file with --results"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(path: str) -> None:
    put(path, result())
    folder = os.path.dirname(path)
    os.chmod(folder, 0o555)
    try:
        assert refused(path, MachineError) == (
            f"error: cannot write to {folder}: it is read-only; make it writable, or name another file with --results"
        )
        assert len(kept(path)) == 1
    finally:
        os.chmod(folder, 0o755)


def test_a_disk_that_is_full(path: str) -> None:
    with open_results(path, write=True) as opened:
        # As on a full disk, SQLite then rolls back by itself.
        opened._connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(MachineError) as raised:
            for m in range(1, 1000):
                opened.put(result(m=m))
        assert str(raised.value) == (
            f"error: {path}: database or disk is full; name another file with --results, or try again"
        )
        found = opened.all()
    assert 0 < len(found) < 1000 and kept(path) == found


def test_a_write_that_was_killed_is_taken_back(path: str) -> None:
    put(path, *(result(m=m) for m in range(1, 50)))
    before = kept(path)
    script = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 2")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE results SET reason = hex(randomblob(3000))")
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script, path]).returncode == -9
    assert os.path.exists(path + "-journal")
    assert kept(path) == before
    assert not os.path.exists(path + "-journal")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    message = refused(str(tmp_path / "cache" / "results.sqlite"), MachineError)
    assert message == (
        f"error: cannot write to {tmp_path}/cache/: File exists; make it writable, or name another file with --results"
    )


@pytest.mark.parametrize("empty", [False, True])
def test_nothing_measured_yet(empty: bool, path: str) -> None:
    if empty:
        os.makedirs(os.path.dirname(path))
        Path(path).touch()
    assert refused(path, InputError, write=False) == (
        f"error: {path}: nothing has been measured yet; run cutlass-ninja profile, or name a file"
    )


def test_rounds_make_a_result_of_their_own() -> None:
    lines = [record(ms) for ms in (1.0, 1.1, 1.2, 1.3)]
    final = with_rounds(result(), lines, "2026-03-01T00:00:00Z")
    assert (final.precision, final.rounds, final.median_ms) == ("final", (1.0, 1.1, 1.2, 1.3), pytest.approx(1.15))
    assert final.record["samples"] == 80 and final.record["runtime_max_ms"] == 1.3
    assert final.record["conditions"]["reduced_clock"] is False
    lines[1]["conditions"]["reduced_clock"] = True
    assert with_rounds(result(), lines, "").record["conditions"]["reduced_clock"] is True
    assert final.tflop_per_s == pytest.approx(2 / 1.15)
    # The standard deviation of the rounds is 0.1291, of their mean half of it.
    assert final.stderr_ms == pytest.approx(0.1291 / 2, rel=1e-3)
    assert final.verified


def test_csv_has_cutlass_profilers_columns_and_ours() -> None:
    rows = [result(), result("b", None), result("a", m=128), result("cublaslt", 2.0, provider="cuBLASLt")]
    text = export_table.as_csv(rows)
    head = text.partition("\n")[0]
    assert head.startswith(
        "Problem,Provider,OperationKind,Operation,Disposition,Status,m,n,k,batch_count,alpha,beta,"
        "Bytes,Flops,Flops/Byte,Runtime,GB/s,GFLOPs,kernel_key,"
    )
    first, failed, other, baseline = csv.DictReader(io.StringIO(text))
    assert [row["Problem"] for row in (first, failed, other, baseline)] == ["1", "1", "2", "1"]
    assert (first["Provider"], baseline["Provider"]) == ("CUTLASS", "cuBLASLt")
    assert (first["Disposition"], first["Status"], first["Runtime"]) == ("passed", "success", "1.0")
    assert float(first["GFLOPs"]) == pytest.approx(2000)
    assert float(first["GB/s"]) == pytest.approx(1_000_000 / 2**30 * 1e3)
    assert (failed["Disposition"], failed["Status"], failed["Runtime"]) == ("failed", "internal", "")
    assert failed["reason"] == "killed by SIGSEGV"


def test_json_is_read_again() -> None:
    rows = [result(), result("b", None), with_rounds(result("c"), [record(1.0), record(2.0)], "2026-03-01T00:00:00Z")]
    assert results.from_json(json.loads(export_table.as_json(rows))) == rows
