"""The table of what is supported: made from the rules and the recorded runs, and what is on the page is what they say."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"

DEVICE = {
    "device": {"name": "NVIDIA H200", "uuid": "GPU-0acadc55"},
    "driver_version": "580.1",
    "cuda_driver_version": "13.0",
    "cuda_runtime_version": "13.1",
}
GEMM = {
    "key": "1b50c1",
    "operation": "gemm",
    "gemm_kind": "universal",
    "opcode_class": "tensorop",
    "element_a": "f64",
    "element_b": "f64",
    "element_accumulator": "f64",
    "element_c": "f64",
    "element_d": "f64",
    "instruction_shape": [8, 8, 4],
    "math_operation": "multiply_add",
    "stages": 3,
}


@pytest.fixture
def support(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("support")


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("record")


def result(status: str, errors: list[float], **about: Any) -> dict[str, Any]:
    checks = [{"data": "normal", "error": error, "tolerance": 2.0} for error in errors]
    return {**DEVICE, "status": status, "verification_checks": checks, "label": "x", "about": {**GEMM, **about}}


def test_page_is_what_the_script_makes(support: ModuleType) -> None:
    assert support.page() == support.PAGE.read_text(), "run: python docs/support.py"


def test_every_cell_is_verified_compiled_or_refused_with_a_reason_below(support: ModuleType) -> None:
    tables = re.findall(r"\| --- .*?\n((?:\|.*\n)+)\n((?:\d+\. .*\n)*)", support.PAGE.read_text())
    assert len(tables) == 5
    for table, reasons in tables:
        numbers = {int(line.partition(".")[0]) for line in reasons.splitlines()}
        cells = [cell for line in table.splitlines() for cell in line.strip("| ").split(" | ")[1:]]
        said = {cell for cell in cells if not cell.startswith("not offered")}
        assert said <= {"verified on H200", "compiled"}
        assert {int(number) for number in re.findall(r"because \[(\d+)\]", table)} == numbers


def test_only_kernels_that_were_right_throughout_count_as_verified(
    support: ModuleType, record: ModuleType, tmp_path: Path
) -> None:
    wide = support.Kind("GEMM", "gemm")
    wanted = {"instructions": "sm_80", "element_a": "f64", "epilogue_functor": "invented"}
    for second, expected in (("success", "verified on H200"), ("incorrect", "offered, never compiled")):
        results = [result(one, [0.5], epilogue_functor="invented") for one in ("success", second)]
        path = tmp_path / "gpu.json"
        path.write_text(record.text({"date": "2026-11-30", "cutlass": "4.2.0", **record.record(results)}))
        assert support.Evidence([record.read(path)]).status(wide, wanted) == expected


def test_record_counts_results_of_kernels_alike_and_keeps_their_worst_error(record: ModuleType, tmp_path: Path) -> None:
    results = [result("success", [0.5, 1.0]), result("success", [0.2], key="2"), result("incorrect", [9.0], key="2")]
    path = tmp_path / "gpu.json"
    path.write_text(record.text({"date": "2026-11-30", **record.record(results)}))
    head, (row,) = record.read(path)
    assert (head["date"], head["gpu"], head["driver"]) == ("2026-11-30", "NVIDIA H200", "580.1")
    assert {name: row[name] for name in record.FIGURES} == {
        "kernels": 2,
        "problems": 3,
        "verified": 2,
        "worst_error_of_tolerance": 0.5,
    }
    assert (row["instructions"], row["element_a"]) == ("sm_80", "f64")
    assert "GPU-0acadc55" not in path.read_text()


def test_results_of_two_machines_are_no_record(record: ModuleType) -> None:
    other = {**result("success", [0.5]), "driver_version": "590.1"}
    with pytest.raises(ValueError, match="a record is of one machine, these results are of 2"):
        record.record([result("success", [0.5]), other])


def test_recorded_runs_name_no_folders(support: ModuleType) -> None:
    for path in support.RECORDS.glob("*.json"):
        recorded = json.loads(path.read_text())
        assert not [value for row in recorded["kernels"] for value in row if "/" in str(value)]
