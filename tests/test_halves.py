"""For which kernels halves are compiled apart, and what nvcc's flags mean to the programs that do it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutlass_ninja.halves import HalvesFlags, flags_of, why_single
from cutlass_ninja.kernel import SINGLE, Kernel, Settings
from cutlass_ninja.toolchain import Toolchain

TOOLS = Toolchain(
    "nvcc",
    "g++",
    (),
    "libcudart_static.a",
    {"cudart": "13000", "host_compiler": "(Debian) 12.2.0", "cutlass": "4.2.0"},
    ptxas="ptxas",
)


@pytest.mark.parametrize(
    ("flags", "host", "ptxas"),
    [
        ([], [], []),
        (["-DX"], ["-DX"], []),
        (["-DX=1=2"], ["-DX=1=2"], []),
        (["-D", "X=1"], ["-DX=1"], []),
        (["--define-macro=X=1"], ["-DX=1"], []),
        (["-UX", "--undefine-macro", "Y"], ["-UX", "-UY"], []),
        (["-include", "a.h", "--pre-include=b.h,c.h"], ["-includea.h", "-includeb.h", "-includec.h"], []),
        (["-std=c++20"], ["-std=c++20"], []),
        (["--std", "c++20"], ["-std=c++20"], []),
        (["-maxrregcount=64"], [], ["-maxrregcount=64"]),
        (["--maxrregcount", "64"], [], ["-maxrregcount=64"]),
        (["-Xptxas", "-O2,-dlcm=cg"], [], ["-O2", "-dlcm=cg"]),
        (["--ptxas-options=-O2"], [], ["-O2"]),
        (["-Xcompiler=-O3,-march=native"], ["-march=native"], []),
        (["-use_fast_math", "-O2", "-w", "--ftz=true", "-diag-suppress=177"], [], []),
        (["-fmad=false", "--fmad", "true"], [], ["--fmad=false", "--fmad=true"]),
    ],
)
def test_flags_that_mean_something_to_the_halves(flags: list[str], host: list[str], ptxas: list[str]) -> None:
    assert flags_of(tuple(flags)) == HalvesFlags(tuple(host), tuple(ptxas))


@pytest.mark.parametrize(
    ("flags", "unknown"),
    [
        (["-lineinfo"], "-lineinfo"),
        (["-G"], "-G"),
        (["-DX", "--device-debug", "-g"], "--device-debug"),
        (["-dlto"], "-dlto"),
        (["-rdc=true"], "-rdc=true"),
        (["-D"], "-D"),
        (["-Xptxas"], "-Xptxas"),
        (["-Xcompiler=-Wall,-g"], "-g"),
        (["-Xcompiler", "-flto=auto"], "-flto=auto"),
        (["-Xcompiler", "-masm=intel"], "-masm=intel"),
        (["-Xcompiler", "-m32"], "-m32"),
        (["-Xcompiler", "-fno-function-sections"], "-fno-function-sections"),
        (["-Xcompiler", "-finline-functions"], "-finline-functions"),
    ],
)
def test_flags_that_do_not(flags: list[str], unknown: str) -> None:
    assert flags_of(tuple(flags)).unknown == unknown


def kernel(*flags: str, way: str = "batched") -> Kernel:
    return Kernel("gemm", "k", "sm_80", {"gemm_kind": "universal"}, Settings((), flags, way))


def with_identity(**values: str) -> Toolchain:
    return replace(TOOLS, identity={**TOOLS.identity, **values})


@pytest.mark.parametrize(
    ("tools", "made", "environ", "reason"),
    [
        (TOOLS, kernel("-DX"), {"NVCC_APPEND_FLAGS": ""}, ""),
        (with_identity(cudart="12080"), kernel(), {}, ""),
        (TOOLS, kernel(way=SINGLE), {}, "--compile single"),
        (with_identity(cudart="12060"), kernel(), {}, "CUDA's runtime is older than 12.8, which loads cubins"),
        (with_identity(host_compiler="Ubuntu clang version 18.1.3"), kernel(), {}, "the host compiler is not g++"),
        (replace(TOOLS, ptxas=""), kernel(), {}, "there is no ptxas beside nvcc"),
        (TOOLS, kernel(), {"NVCC_APPEND_FLAGS": "-lineinfo"}, "NVCC_APPEND_FLAGS is set"),
        (TOOLS, kernel(), {"NVCC_PREPEND_FLAGS": "-O3"}, "NVCC_PREPEND_FLAGS is set"),
        (TOOLS, kernel("-DX", "-lineinfo"), {}, "nvcc_flags has -lineinfo"),
        (with_identity(cutlass="3.5.1"), kernel(), {}, ""),
        (
            with_identity(cutlass="3.5.1"),
            replace(kernel(), config={"gemm_kind": "universal3x"}),
            {},
            "CUTLASS 3.5's fusions for Hopper have a trailing comma, which g++ does not take",
        ),
    ],
)
def test_why_a_kernel_is_compiled_by_one_call_of_nvcc(
    tools: Toolchain, made: Kernel, environ: dict[str, str], reason: str
) -> None:
    assert why_single(tools, made, environ) == reason
