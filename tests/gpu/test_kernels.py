"""CUTLASS kernels on a real GPU: right ones verify, wrong ones are told from them, impossible problems are refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import BuildFolder
from kernels import AMPERE, HOPPER, with_values

from cutlass_ninja import arch, commands
from cutlass_ninja.plan import Plan
from cutlass_ninja.toolchain import Toolchain

pytestmark = pytest.mark.gpu

Build = Callable[[str], BuildFolder]

PROBLEMS = [
    ["--m=256", "--n=256", "--k=256"],
    ["--m=4096", "--n=64", "--k=128"],
    ["--m=264", "--n=136", "--k=72"],
    ["--m=264", "--n=136", "--k=72", "--alpha=1.5", "--beta=-0.5"],
    ["--m=264", "--n=136", "--k=72", "--batch_count=3", "--beta=1"],
    ["--m=8", "--n=8", "--k=8"],
]


def run(profiler: Path, *flags: str) -> tuple[int, list[dict[str, Any]]]:
    command = [str(profiler), "--warmup-iterations=1", "--profiling-iterations=3", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def built(text: str, build: Build) -> Path:
    (profiler,) = build(with_values(text, arch="native")).profilers()
    return profiler


@pytest.fixture(params=["ampere", "hopper"])
def manifest(request: pytest.FixtureRequest) -> str:
    if request.param == "hopper" and "sm_90a" not in [one.name for one in arch.native()]:
        pytest.skip("this GPU is no Hopper")
    return {"ampere": AMPERE, "hopper": HOPPER}[request.param]


def test_kernels_verify(manifest: str, build: Build) -> None:
    profiler = built(manifest, build)
    for problem in PROBLEMS:
        code, (result,) = run(profiler, *problem)
        assert (code, result["status"], result["verification"]) == (0, "success", "passed"), result
        assert result["runtime_median_ms"] > 0 and result["tflop_per_s"] > 0


def test_several_problems_give_a_line_each(build: Build) -> None:
    code, results = run(built(AMPERE, build), "--m=64,128", "--n=64", "--k=64:128:64")
    assert code == 0
    assert [(one["m"], one["k"]) for one in results] == [(64, 64), (64, 128), (128, 64), (128, 128)]


@pytest.mark.parametrize("problem", [["--m=264", "--n=136", "--k=71"], ["--m=263", "--n=136", "--k=72"]])
def test_sizes_off_the_alignment_are_refused(problem: list[str], manifest: str, build: Build) -> None:
    code, (result,) = run(built(manifest, build), *problem)
    assert (code, result["status"]) == (2, "not_supported")
    assert "alignment" in result["reason"]


def test_a_kernel_without_c_refuses_beta(build: Build) -> None:
    if "sm_90a" not in [one.name for one in arch.native()]:
        pytest.skip("this GPU is no Hopper")
    profiler = built(with_values(HOPPER, element_c="void\n    element_d: f16"), build)
    assert run(profiler, "--m=64", "--n=64", "--k=64")[1][0]["status"] == "success"
    code, (result,) = run(profiler, "--m=64", "--n=64", "--k=64", "--beta=1")
    assert (code, result["status"]) == (2, "not_supported")
    assert "beta" in result["reason"]


def test_stream_k_verifies_again_and_again(build: Build) -> None:
    """Each launch needs barriers that are zero: a kernel that leaves them as they are is wrong from the second on."""
    if "sm_90a" not in [one.name for one in arch.native()]:
        pytest.skip("this GPU is no Hopper")
    text = with_values(
        HOPPER,
        kernel_schedule="TmaWarpSpecializedCooperative\n    tile_scheduler: StreamK",
        tile_description="{threadblock_shape: [128, 128, 64]}",
    )
    code, (result,) = run(built(text, build), "--m=1024", "--n=1024", "--k=4096", "--profiling-iterations=50")
    assert (code, result["status"]) == (0, "success"), result
    assert result["workspace_bytes"] > 0


RESIDUAL = "tnt\n    epilogue_functor: linear_combination_residual_block"
INT8 = with_values(
    AMPERE,
    element_a="s8",
    element_c="s8",
    element_accumulator="s32",
    alignment="16\n    alignment_c: 8",
    instruction_shape="[16, 8, 32]",
    tile_description="{threadblock_shape: [64, 64, 64], warp_count: [2, 2, 1], stages: 3}",
)


@pytest.mark.parametrize(
    "text",
    [
        with_values(AMPERE, layout="tnt\n    bias: per_column\n    activation: gelu"),
        with_values(AMPERE, layout="tn\n    bias: per_row\n    activation: leaky_relu"),
        with_values(AMPERE, layout="tn\n    split_k_mode: parallel\n    activation: silu"),
        with_values(AMPERE, layout="tn\n    swizzling_functor: StreamK"),
    ],
    ids=["bias", "leaky relu", "parallel split", "stream-k"],
)
def test_slices_of_k_verify_again_and_again(text: str, build: Build) -> None:
    problem = ["--m=264", "--n=136", "--k=2056", "--alpha=0.5", "--beta=2", "--profiling-iterations=20"]
    code, results = run(built(text, build), *problem, "--split_k_slices=1,2,5")
    assert (code, [one["status"] for one in results]) == (0, ["success"] * 3), results


def test_residual_blocks_verify_but_are_not_split(build: Build) -> None:
    activated = RESIDUAL + "\n    bias: per_column\n    activation: relu\n    binary_op: multiplies"
    profiler = built(with_values(AMPERE, layout=activated), build)
    code, results = run(profiler, "--m=264", "--n=136", "--k=72", "--beta=0,1,-2", "--batch_count=1,2")
    assert (code, {one["status"] for one in results}) == (0, {"success"}), results
    code, (result,) = run(profiler, "--m=64", "--split_k_slices=2")
    assert (code, result["status"]) == (2, "not_supported")
    assert result["reason"] == "split_k_slices is more than 1; a residual block cannot be applied in parts"


def test_saturated_integers_are_exact_but_not_split_in_d(build: Build) -> None:
    profiler = built(INT8, build)
    code, (result,) = run(profiler, "--m=272", "--n=144", "--k=528", "--alpha=0.0625", "--beta=-0.5")
    assert (code, result["status"]) == (0, "success"), result
    assert {(check["metric"], check["tolerance"]) for check in result["verification_checks"]} == {("max_error", 0)}
    code, (result,) = run(profiler, "--m=64", "--split_k_slices=2")
    assert (code, result["status"]) == (2, "not_supported")
    assert "a serial split would round D after each slice" in result["reason"]


def test_slices_in_a_batch_are_refused(build: Build) -> None:
    code, (result,) = run(built(AMPERE, build), "--m=64", "--batch_count=2", "--split_k_slices=2")
    assert (code, result["status"]) == (2, "not_supported")
    assert result["reason"].startswith("split_k_slices is more than 1 in a batch")


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("kernel.h", "cutlass::layout::RowMajor, 8", "cutlass::layout::ColumnMajor, 8"),
        ("host.cpp", "Compute(g.beta)", "Compute(0)"),
        ("host.cpp", "size(g.n, g.m, g.k)", "size(g.n, g.m, g.k - 8)"),
    ],
    ids=["swapped layout", "beta ignored", "k too small"],
)
def test_a_planted_wrong_kernel_is_incorrect(
    file: str, right: str, wrong: str, build: Build, tools: Toolchain, tmp_path: Path
) -> None:
    folder = build(with_values(AMPERE, arch="native"))
    profiler = recompile(folder, tools, tmp_path, file, right, wrong)
    code, (result,) = run(profiler, "--m=256", "--n=256", "--k=256", "--beta=1")
    assert (code, result["status"], result["verification"]) == (1, "incorrect", "failed")
    assert result["runtime_median_ms"] is None


def recompile(folder: BuildFolder, tools: Toolchain, place: Path, file: str, right: str, wrong: str) -> Path:
    """The folder's only kernel, compiled again from its published sources with one change."""
    (profiler,) = folder.profilers()
    plan = Plan.read(folder.path / "cache" / "plan.json")
    kernel = plan.kernels[0].kernel
    for source in profiler.parent.glob("*.*"):
        shutil.copy(source, place)
    text = (place / file).read_text()
    assert right in text
    (place / file).write_text(text.replace(right, wrong, 1))
    for name, target in commands.links(tools, kernel).items():
        os.symlink(target, place / name)
    library = str(folder.path / "cache" / "runtime" / plan.kernels[0].runtime / commands.RUNTIME_LIBRARY)
    for command in commands.kernel_commands(tools, kernel, library):
        subprocess.run(command, cwd=place, check=True, capture_output=True)
    return place / "profiler"
