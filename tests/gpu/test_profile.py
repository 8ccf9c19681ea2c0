"""A sweep on a real GPU, in which one kernel hangs, one crashes, one is wrong and one is slow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, BuildFolder
from kernels import AMPERE, with_values
from plain_profiler import build_profilers

from cutlass_ninja.contenders import Contender, gpus
from cutlass_ninja.manifest import Problem
from cutlass_ninja.progress import Progress
from cutlass_ninja.results import Result, open_results
from cutlass_ninja.sweep import Options, Summary, Sweep

pytestmark = pytest.mark.gpu

CONFIG = {
    "opcode_class": "simt", "element_a": "f16", "element_b": "f16", "element_c": "f16", "element_d": "f16",
    "element_accumulator": "f32", "layout_a": "t", "layout_b": "n", "layout_c": "n",
}  # fmt: skip

FAULTS = {
    "good": "none",
    "wrong": "dropped_k",
    "sticky": "illegal_address",
    "hanging": "hang",
    "crashing": "crash",
    "slow": "slow",
}
SIZES = (128, 256, 512)


@pytest.fixture(scope="session")
def contenders(tmp_path_factory: pytest.TempPathFactory) -> list[Contender]:
    """A right kernel and planted ones."""
    keys = {name: f"{place:020x}" for place, name in enumerate(FAULTS)}
    macros = {name: [f"PLAIN_FAULT={fault}", f'PLAIN_KEY="{keys[name]}"'] for name, fault in FAULTS.items()}
    profilers = build_profilers(tmp_path_factory.mktemp("planted"), "-arch=native", macros)
    return [
        Contender(name, keys[name], "gemm", "native", CONFIG, (str(profiler),), {"order": [0, 1, 2]})
        for name, profiler in profilers.items()
    ]


def sweep(contenders: list[Contender], path: Path, **options: Any) -> tuple[Summary, list[Result]]:
    problems = [
        Problem("gemm", {"m": size, "n": size, "k": 64, "batch_count": 1, "alpha": 1.0, "beta": 0.0}) for size in SIZES
    ]
    with open_results(str(path), write=True) as results:
        swept = Sweep(contenders, problems, gpus(contenders, None)[:1], results, Options(**options), Progress())
        return swept.run(), swept.results()


def test_planted_faults_cost_themselves_alone(contenders: list[Contender], tmp_path: Path) -> None:
    summary, results = sweep(contenders, tmp_path / "results.sqlite", timeout_s=20)
    statuses: dict[str, set[str]] = {}
    for result in results:
        statuses.setdefault(result.kernel, set()).add(result.status)
    assert statuses == {
        "good": {"success"},
        "slow": {"success"},
        "wrong": {"incorrect"},
        "sticky": {"failed"},
        "hanging": {"timed_out", "skipped"},
        "crashing": {"crashed", "skipped"},
    }
    good = {(result.problem["m"], result.parameters["order"]): result for result in results if result.kernel == "good"}
    assert {size for size, _ in good} == set(SIZES) and all(result.verified for result in good.values())
    slow = [result for result in results if result.kernel == "slow"]
    assert {result.precision for result in slow} == {"coarse"}
    assert summary.undone == 4 * len(SIZES)
    again, _ = sweep(contenders, tmp_path / "results.sqlite", timeout_s=20)
    assert again.measured == 0


@pytest.mark.timing
def test_coarse_and_exhaustive_sweeps_agree(contenders: list[Contender], tmp_path: Path) -> None:
    right = [one for one in contenders if one.kernel in ("good", "slow")]
    _, quick = sweep(right, tmp_path / "quick.sqlite")
    _, slow = sweep(right, tmp_path / "slow.sqlite", exhaustive=True)
    for size in SIZES:
        best = [
            min(result.median_ms or 1e9 for result in results if result.verified and result.problem["m"] == size)
            for results in (quick, slow)
        ]
        assert best[0] == pytest.approx(best[1], rel=0.02)


def test_ctrl_c_keeps_what_was_measured(build: Callable[[str], BuildFolder]) -> None:
    text = with_values(AMPERE, arch="native") + "problems:\n  - {m: [256, 512, 1024, 2048], n: 1024, k: 1024}\n"
    folder = build(text)
    command = [sys.executable, "-m", "cutlass_ninja", "profile", "--no-baseline"]
    process = subprocess.Popen(command, cwd=folder.path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    database = folder.path / "cache" / "results.sqlite"
    while not database.exists() or not kept(folder):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    before = len(kept(folder))
    ran = folder.generate("profile", "--no-baseline", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["summary"]["reused"] == before
    assert {row["problem"]["m"] for row in kept(folder)} == {256, 512, 1024, 2048}


def kept(folder: BuildFolder) -> list[dict[str, Any]]:
    ran = folder.generate("results", "--export=json")
    rows: list[dict[str, Any]] = json.loads(ran.out) if ran.code == 0 else []
    return rows


def test_a_build_is_profiled_and_the_best_named(build: Callable[[str], BuildFolder]) -> None:
    text = with_values(AMPERE, arch="native") + "problems:\n  - {m: 512, n: 512, k: 512}\n"
    folder = build(text)
    ran = folder.ninja("profile")
    assert ran.code == 0, ran.out + ran.err
    (choice,) = json.loads(folder.generate("best", "--json").out)
    assert choice["median_ms"] > 0 and choice["tflop_per_s"] > 0
    # The baseline takes part if its library is there; that it is not is said.
    assert (choice["factor"] is not None) == ("baseline: cuBLASLt" in ran.out + ran.err)
    assert "m=512 n=512 k=512" in folder.generate("best").out


def test_kernels_of_exchanged_layouts_compete(build: Callable[[str], BuildFolder]) -> None:
    """A tnt kernel computes the tnn problem with A and B exchanged, and the other way round."""
    flat, tall = {"m": 16, "n": 512, "k": 512}, {"m": 512, "n": 16, "k": 512}
    text = with_values(AMPERE, arch="native", layout="[tnn, tnt]")
    folder = build(text + "problems:\n  - {m: 16, n: 512, k: 512}\n")
    ran = folder.generate("profile", "--no-baseline", "--json")
    assert ran.code == 0, ran.err
    layouts = {row["kernel_key"]: "tn" + row["config"]["layout_c"] for row in kept(folder)}
    measured = [(layouts[row["kernel_key"]], row["problem"]["m"], row["verification"]) for row in kept(folder)]
    assert sorted(set(measured)) == [(layout, m, "passed") for layout in ("tnn", "tnt") for m in (16, 512)]
    choices = json.loads(folder.generate("best", "--json").out)
    assert choices == json.loads(ran.out)["best"]
    assert [choice["signature"].split()[-1] for choice in choices] == ["tnn", "tnt"]
    for choice in choices:
        asked = [(choice["key"], choice["exchanged"], choice["kernel_problem"])]
        asked += [(one["key"], one["exchanged"], one["kernel_problem"]) for one in choice["ties"]]
        assert choice["compared"] == 2 and flat.items() <= choice["problem"].items()
        for key, exchanged, problem in asked:
            assert exchanged == (layouts[key] != choice["signature"].split()[-1])
            assert (tall if exchanged else flat).items() <= problem.items()
