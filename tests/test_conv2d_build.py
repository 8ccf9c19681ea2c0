"""Convolutions compiled by the real nvcc: what lies in the cache, and what their profilers say without a GPU."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BuildFolder
from kernels import CONV2D, with_values

Build = Callable[[str], BuildFolder]

NAME = "cutlass_tensorop_f16_s16816{}_optimized_f16_64x64_32x3_nhwc_align8"


@pytest.fixture(scope="module")
def profilers(build: Build) -> dict[str, Path]:
    """A forward kernel and the strided gradient of its activations, which differs the most from it, by their kinds."""
    folder = build(with_values(CONV2D, conv_kind="[fprop, dgrad]"))
    return {kind: folder.path / "cache/bin" / NAME.format(kind) for kind in ("fprop", "dgrad")}


def output(profiler: Path, *flags: str) -> str:
    return subprocess.run([str(profiler), *flags], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("kind", "swizzle"), [("fprop", "Identity4"), ("dgrad", "StridedDgradIdentity1")], ids=["fprop", "dgrad"]
)
def test_describe(profilers: dict[str, Path], kind: str, swizzle: str) -> None:
    about = json.loads(output(profilers[kind], "--describe"))
    assert about["operation"] == "conv2d"
    assert about["name"] == NAME.format(kind)
    assert about["conv_kind"] == kind
    assert (about["iterator_algorithm"], about["stride_support"]) == ("optimized", "strided")
    assert about["swizzling_functor"] == swizzle
    assert (about["threads"], about["shared_memory_bytes"]) == (128, 3 * 2 * 64 * 32 * 2)


def test_help_lists_the_problem_in_cutlass_profilers_names(profilers: dict[str, Path]) -> None:
    lines = [line.split() for line in output(profilers["fprop"], "--help").splitlines() if line.startswith("  --")]
    flags = {line[0].partition("=")[0].removeprefix("--"): line[-1].strip("[]") for line in lines}
    problem = list(flags)[: list(flags).index("warmup-iterations")]
    assert problem == [
        "n", "h", "w", "c", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w", "dilation_h", "dilation_w",
        "groups", "conv_mode", "split_k_slices", "alpha", "beta",
    ]  # fmt: skip
    defaults = {
        "n": "1",
        "h": "16",
        "c": "64",
        "k": "64",
        "r": "3",
        "pad_h": "1",
        "stride_w": "1",
        "conv_mode": "cross",
    }
    assert {name: flags[name] for name in defaults} == defaults


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--pad_h=-1", "integers from 0 to 2147483647: one, a comma list or start:end:step with start <= end"),
        ("--pad_h=0:2:0", "integers from 0 to 2147483647: one, a comma list or start:end:step with start <= end"),
        ("--stride_h=0", "integers from 1 to 2147483647: one, a comma list or start:end:step with start <= end"),
        ("--conv_mode=turned", "names out of cross, conv: one or a comma list"),
    ],
)
def test_wrong_problem(profilers: dict[str, Path], flag: str, expected: str) -> None:
    done = subprocess.run([str(profilers["fprop"]), flag], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {flag}: expected {expected}\n")


def test_kernel_header_holds_types_alone(profilers: dict[str, Path]) -> None:
    text = (profilers["dgrad"].resolve().parent / "kernel.h").read_text()
    statements = [line for line in text.splitlines() if line and not line.startswith((" ", "//"))]
    assert [line.split()[0] for line in statements] == ["#pragma", "#include", "#include", "using", "using"]
    assert "cutlass::conv::kernel::DefaultConv2dDgrad<" in text
    assert "StridedDgradIdentityThreadblockSwizzle<1>" in text
