"""Convolutions on a real GPU: right ones verify, wrong ones are told from them, impossible problems are refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import BuildFolder
from gpu.conv2d_problems import conv2d_problems
from gpu.test_kernels import recompile
from kernels import CONV2D, with_values

from cutlass_ninja.toolchain import Toolchain

pytestmark = pytest.mark.gpu

Build = Callable[[str], BuildFolder]

SMALL = ["--n=2", "--h=9", "--w=8", "--c=16", "--k=24", "--r=3", "--s=3", "--pad_h=1", "--pad_w=1"]


def run(profiler: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    command = [str(profiler), "--warmup-iterations=1", "--profiling-iterations=3", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    (line,) = done.stdout.splitlines()
    return done.returncode, json.loads(line)


def built(build: Build, **values: str) -> Path:
    (profiler,) = build(with_values(CONV2D, arch="native", **values)).profilers()
    return profiler


@pytest.mark.parametrize(
    "values",
    [
        {"conv_kind": "fprop"},
        {"conv_kind": "dgrad"},
        {"conv_kind": "dgrad\n    stride_support: unity"},
        {"conv_kind": "wgrad"},
        {"conv_kind": "fprop\n    iterator_algorithm: few_channels", "alignment": "4"},
        {"conv_kind": "fprop\n    iterator_algorithm: analytic\n    group_mode: multiple_group"},
    ],
    ids=["fprop", "strided dgrad", "unity dgrad", "wgrad", "few channels", "groups"],
)
def test_kernels_verify(values: dict[str, str], build: Build) -> None:
    profiler = built(build, **values)
    about = json.loads(subprocess.run([str(profiler), "--describe"], capture_output=True, text=True).stdout)
    for name, problem in conv2d_problems(about).items():
        code, result = run(profiler, *(f"--{flag}={value}" for flag, value in problem.items()))
        assert (code, result["status"], result["verification"]) == (0, "success", "passed"), (name, result)
        assert result["runtime_median_ms"] > 0


def test_counts_are_cutlass_profilers(build: Build) -> None:
    _, result = run(built(build, conv_kind="fprop"), *SMALL)
    m, n, k = 2 * 9 * 8, 24, 3 * 3 * 16
    assert result["flop"] == 2 * m * n * k + 2 * m * n
    assert result["bytes"] == 2 * (m * k + n * k + m * n)
    assert (result["n"], result["pad_h"], result["groups"], result["conv_mode"]) == (2, 1, 1, "cross")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--c=12"], "A's channels or pointer do not meet its alignment"),
        (["--r=40", "--pad_h=20"], "r or s exceeds 32, the optimized iterator's mask of filter positions"),
        (["--r=12"], "the dilated filter is larger than the padded activations"),
        (["--groups=3"], "c and k must be multiples of groups"),
        (["--groups=2"], "groups is not 1, but the kernel is for one group (group_mode none)"),
        (["--n=100000", "--h=100", "--w=100"], "a tensor has 2^31 bytes or more, beyond the kernel's 32-bit offsets"),
    ],
)
def test_impossible_problems_are_refused(flags: list[str], reason: str, build: Build) -> None:
    code, result = run(built(build, conv_kind="fprop"), *SMALL, *flags)
    assert (code, result["status"], result["reason"]) == (2, "not_supported", reason)


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("host.cpp", "x.pad_h, x.pad_w,", "x.pad_w + 1, x.pad_w,"),
        ("host.cpp", "Compute(g.beta)", "Compute(0)"),
        ("host.cpp", "x.dilation_h, x.dilation_w, mode", "x.dilation_h, x.dilation_w + 1, mode"),
    ],
    ids=["padding", "beta ignored", "dilation"],
)
def test_a_planted_wrong_kernel_is_incorrect(
    file: str, right: str, wrong: str, build: Build, tools: Toolchain, tmp_path: Path
) -> None:
    folder = build(with_values(CONV2D, arch="native", conv_kind="fprop"))
    profiler = recompile(folder, tools, tmp_path, file, right, wrong)
    code, result = run(profiler, *SMALL, "--beta=1")
    assert (code, result["status"], result["verification"]) == (1, "incorrect", "failed")
    assert ", p " in result["reason"]
