"""The runtime's convolutions, as far as they need neither a GPU nor nvcc: compiled by the host compiler alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

from cutlass_ninja.toolchain import Toolchain

RUNTIME = ROOT / "cutlass_ninja/runtime"

# n h w c k r s pad_h pad_w stride_h stride_w dilation_h dilation_w groups conv_mode -> p, q
PROBLEMS = {
    "regular": ("2 6 5 4 3 3 3 1 1 1 1 1 1 1 0", (6, 5)),
    "turned filter": ("2 6 5 4 3 3 2 1 1 1 1 1 1 1 1", (6, 6)),
    "stride 2": ("2 7 8 3 4 3 3 1 1 2 2 1 1 1 0", (4, 4)),
    "stride 2, turned filter": ("1 8 7 3 4 3 3 1 0 2 3 1 1 1 1", (4, 2)),
    "dilation 2": ("1 9 8 3 4 3 3 2 2 1 1 2 2 1 0", (9, 8)),
    "dilation and stride": ("1 11 10 2 3 3 2 1 2 2 3 3 2 1 0", (4, 4)),
    "1x1 filter, stride 2, no padding": ("2 6 7 4 5 1 1 0 0 2 2 1 1 1 0", (3, 4)),
    "padding of more than half the filter": ("1 5 5 3 4 3 3 3 2 1 1 1 1 1 0", (9, 7)),
    "padding larger than the filter": ("1 3 3 2 2 1 2 3 4 2 1 1 1 1 1", (5, 10)),
    "stride larger than the filter": ("1 9 9 2 3 2 1 0 0 3 4 1 1 1 0", (3, 3)),
    "filter as large as the image": ("2 4 3 3 2 4 3 0 0 1 1 1 1 1 0", (1, 1)),
    "one channel": ("1 5 6 1 1 3 3 1 1 1 1 1 1 1 0", (5, 6)),
    "groups": ("2 6 5 6 4 3 3 1 1 1 2 1 1 2 0", (6, 3)),
    "depthwise": ("1 6 6 4 4 3 3 1 1 1 1 1 1 4 1", (6, 6)),
    "a channel multiplier": ("1 5 5 3 6 3 3 1 1 2 1 1 2 3 0", (3, 3)),
}

OPTIMIZED, FIXED, FEW = "iterator_algorithm=1", "iterator_algorithm=2", "iterator_algorithm=3"
DGRAD, WGRAD, UNITY = "conv_kind=1", "conv_kind=2", "stride_support=1"
SINGLE, MULTIPLE = "group_mode=1", "group_mode=2"
S8, F32 = "element_c=6", "element_c=4"

CHANNELS = "{}'s channels or pointer do not meet its alignment"
STRIDE = "a stride is not 1, but the kernel is for unity stride"
MASK = "r or s exceeds 32, the optimized iterator's mask of filter positions"
LARGE = "a tensor has 2^31 bytes or more, beyond the kernel's 32-bit offsets"
TURNED = "a padding modulo its stride exceeds the filter, where CUTLASS's strided dgrad is wrong for conv_mode conv"
SPLIT = "split_k_slices is not 1, but "
CHECKS = [
    ("", "supported"),
    ("r=32 s=32", "supported"),
    ("r=33", MASK),
    ("s=33 " + DGRAD, MASK),
    ("r=33 iterator_algorithm=0", "supported"),
    ("r=33 " + WGRAD, "supported"),
    ("c=4", CHANNELS.format("A")),
    ("c=4 alignment_a=4", CHANNELS.format("B")),
    ("k=12", CHANNELS.format("D")),
    ("k=12 alignment_c=4", "supported"),
    ("k=12 " + DGRAD, CHANNELS.format("A")),
    ("c=12 " + DGRAD, CHANNELS.format("B")),
    ("c=12 alignment_b=4 " + DGRAD, CHANNELS.format("D")),
    ("c=12 " + WGRAD, CHANNELS.format("B")),
    ("offset_a=8", CHANNELS.format("A")),
    ("offset_c=8", "C's pointer does not meet its alignment"),
    ("c=3 " + FIXED, "c is not alignment_a, the channels that the fixed_channels iterator is compiled for"),
    ("c=16 " + FIXED, "c is not alignment_a, the channels that the fixed_channels iterator is compiled for"),
    ("c=8 " + FIXED, "supported"),
    ("c=16 " + FEW, "supported"),
    ("c=4 " + FEW, CHANNELS.format("A")),
    ("stride_w=2 " + UNITY, STRIDE),
    ("stride_h=2 " + UNITY + " " + DGRAD, STRIDE),
    ("stride_h=2 " + DGRAD, "supported"),
    ("dilation_h=2 " + DGRAD, "a dilation is not 1, but a strided dgrad kernel has none"),
    ("dilation_h=2 " + DGRAD + " " + UNITY, "supported"),
    (
        "stride_h=2 split_k_slices=2 " + DGRAD,
        SPLIT + "a strided dgrad kernel cannot split K where a stride is not 1",
    ),
    ("pad_h=2 stride_h=3 r=1 conv_mode=1 " + DGRAD, TURNED),
    ("pad_h=2 stride_h=3 r=1 " + DGRAD, "supported"),
    ("pad_h=1 stride_h=3 r=1 conv_mode=1 " + DGRAD, "supported"),
    ("split_k_slices=2 " + DGRAD, "supported"),
    ("split_k_slices=2 " + WGRAD, "supported"),
    ("split_k_slices=2 " + SINGLE, SPLIT + "a group convolution does not split K"),
    ("split_k_slices=2 c=8 " + FIXED, SPLIT + "the few_channels and fixed_channels iterators do not split K"),
    ("split_k_slices=2 " + FEW, SPLIT + "the few_channels and fixed_channels iterators do not split K"),
    (
        "split_k_slices=2 " + S8,
        "split_k_slices is not 1; a serial split would round D after each slice: use split_k_mode parallel",
    ),
    (
        "split_k_slices=2 alignment_c=4 element_c=8",
        "split_k_slices is not 1; a serial split would round D after each slice: use split_k_mode parallel",
    ),
    ("split_k_slices=2 alignment_c=4 element_c=8 element_epilogue=8", "supported"),
    ("split_k_slices=2 split_k_rounds=0 " + S8, "supported"),
    ("split_k_slices=2 binary_op=1", "split_k_slices is not 1; a residual block cannot be applied in parts"),
    ("offset_bias=8", "supported"),
    ("offset_bias=8 bias=2", "the bias's pointer does not meet D's alignment"),
    ("offset_bias=16 bias=2", "supported"),
    ("groups=2", "groups is not 1, but the kernel is for one group (group_mode none)"),
    ("groups=3 " + SINGLE, "c or k is no multiple of groups"),
    ("groups=2 k=128 " + SINGLE, "supported"),
    ("groups=2 " + SINGLE, "k / groups is no multiple of the tile's N, as group_mode single_group needs"),
    ("groups=2 " + MULTIPLE, "supported"),
    ("groups=2 k=80 " + MULTIPLE, "k / groups does not divide the tile's N, as group_mode multiple_group needs"),
    ("groups=16 " + MULTIPLE, CHANNELS.format("A")),
    ("n=65535", "supported"),
    ("n=65536", LARGE),
    ("n=32768 p=32 " + DGRAD, LARGE),
    ("n=32767", "supported"),
    ("n=32768 " + F32, LARGE),
]


def compiled(tools: Toolchain, folder: Path, name: str) -> Path:
    """A program of tests/cpp, compiled as a host half is."""
    program = folder / name
    includes = [f"-I{folder}" for folder in tools.cuda_include]
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{RUNTIME}/include", f"-I{RUNTIME}/src", *includes]
    source = Path(__file__).parent / "cpp" / f"{name}.cpp"
    done = subprocess.run(
        [tools.host_compiler, *flags, str(source), "-o", str(program)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="module")
def sums(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tools, tmp_path_factory.mktemp("sums"), "conv2d_sums")


@pytest.fixture(scope="module")
def checks(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tools, tmp_path_factory.mktemp("checks"), "conv2d_checks")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_reference_sums_every_product_once(sums: Path, problem: str) -> None:
    values, (p, q) = PROBLEMS[problem]
    done = subprocess.run([str(sums), *values.split()], capture_output=True, text=True)
    counts, _, differences = done.stdout.partition(": ")
    assert differences == "fprop 0 dgrad 0 wgrad 0\n", done.stderr
    assert counts.startswith(f"p {p} q {q} products ")
    assert not counts.endswith(" 0")


@pytest.mark.parametrize(("values", "answer"), CHECKS)
def test_what_a_kernel_cannot_run_is_refused_with_the_reason(checks: Path, values: str, answer: str) -> None:
    assert subprocess.run([str(checks), *values.split()], capture_output=True, text=True).stdout == f"{answer}\n"
