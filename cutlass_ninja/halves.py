"""The two halves of a kernel, compiled apart: for which kernels that can be done, and which flags each half takes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .kernel import SINGLE, Kernel
from .operations import OPERATIONS
from .toolchain import Toolchain

_FIRST_CUDART = 12080  # cudaLibraryLoadData
_HIDDEN_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


@dataclass(frozen=True)
class HalvesFlags:
    """What flags of nvcc mean to the programs that compile the halves."""

    host: tuple[str, ...] = ()
    """For g++."""
    ptxas: tuple[str, ...] = ()
    unknown: str = ""
    """The first flag that is not known to mean anything to one of them; empty if there is none."""


@dataclass(frozen=True, slots=True)
class _Flag:
    """One flag of nvcc, which the device half's front end takes as it is."""

    valued: bool = False
    """Whether a value belongs to it, after = or as the next word."""
    host: str = ""
    """What it is called by g++; the value follows without a space."""
    ptxas: str = ""
    passed_on: str = ""
    """`host` or `ptxas` for a flag whose value is a comma list of flags for that program."""


_FLAGS = {
    "-D": _Flag(valued=True, host="-D"),
    "--define-macro": _Flag(valued=True, host="-D"),
    "-U": _Flag(valued=True, host="-U"),
    "--undefine-macro": _Flag(valued=True, host="-U"),
    "-include": _Flag(valued=True, host="-include"),
    "--pre-include": _Flag(valued=True, host="-include"),
    "-std": _Flag(valued=True, host="-std="),
    "--std": _Flag(valued=True, host="-std="),
    "-maxrregcount": _Flag(valued=True, ptxas="-maxrregcount="),
    "--maxrregcount": _Flag(valued=True, ptxas="-maxrregcount="),
    "-Xptxas": _Flag(valued=True, passed_on="ptxas"),
    "--ptxas-options": _Flag(valued=True, passed_on="ptxas"),
    "-Xcompiler": _Flag(valued=True, passed_on="host"),
    "--compiler-options": _Flag(valued=True, passed_on="host"),
    **dict.fromkeys(("-fmad", "--fmad"), _Flag(valued=True, ptxas="--fmad=")),
    **dict.fromkeys(("-ftz", "--ftz", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt"), _Flag(valued=True)),
    **dict.fromkeys(("-diag-suppress", "--diag-suppress"), _Flag(valued=True)),
    **dict.fromkeys(("-use_fast_math", "--use_fast_math", "-w", "--disable-warnings"), _Flag()),
    **dict.fromkeys(("-expt-relaxed-constexpr", "--expt-relaxed-constexpr"), _Flag()),
    **dict.fromkeys(("-extra-device-vectorization", "--extra-device-vectorization"), _Flag()),
    # The optimization of host code, which here is that of a few lines before each launch.
    **dict.fromkeys(("-O0", "-O1", "-O2", "-O3"), _Flag()),
}
"""Flags of nvcc that are known to compile the same device code in halves, by their names (nvcc's manual)."""

_NOT_APART = re.compile(
    r"-g|-flto|-masm|-m32$|-mx32$|-[SEcx]$|-fno-(?:function|data)-sections$|-f(?:no-)?(?:inline|ipa)"
)
"""Flags of g++ with which the assembly of a batch cannot be cut, or a kernel's part would depend on the batch."""


@lru_cache(maxsize=64)
def flags_of(nvcc_flags: Sequence[str]) -> HalvesFlags:
    """What these flags mean to g++ and to ptxas."""
    found: dict[str, list[str]] = {"host": [], "ptxas": []}
    words = list(nvcc_flags)
    while words:
        word = words.pop(0)
        name, given, value = word.partition("=")
        if name not in _FLAGS and word[:2] in ("-D", "-U"):
            name, given, value = word[:2], "=", word[2:]
        flag = _FLAGS.get(name)
        if flag is None or (flag.valued and not given and not words):
            return HalvesFlags(unknown=word)
        if flag.valued and not given:
            value = words.pop(0)
        if flag.passed_on:
            found[flag.passed_on] += value.split(",")
        for program in ("host", "ptxas"):
            if spelling := getattr(flag, program):
                found[program] += [f"{spelling}{one}" for one in (value.split(",") if "include" in name else [value])]
    if unfit := next(filter(_NOT_APART.match, found["host"]), ""):
        return HalvesFlags(unknown=unfit)
    # Host code that is optimized further would depend on what else is in the batch.
    host = tuple(flag for flag in found["host"] if not flag.startswith("-O"))
    return HalvesFlags(host, tuple(found["ptxas"]))


def why_single(toolchain: Toolchain, kernel: Kernel, environ: Mapping[str, str] = os.environ) -> str:
    """Why a kernel is compiled by one call of nvcc, and not in halves with others; empty if it is not."""
    if kernel.settings.compile == SINGLE:
        return f"--compile {SINGLE}"
    return _why_no_halves(toolchain, environ) or _why_not_these_flags(kernel) or why_not_this_kind(toolchain, kernel)


def _why_no_halves(toolchain: Toolchain, environ: Mapping[str, str]) -> str:
    if int(toolchain.identity["cudart"] or 0) < _FIRST_CUDART:
        return f"CUDA's runtime is older than {_FIRST_CUDART // 1000}.{_FIRST_CUDART % 1000 // 10}, which loads cubins"
    if "clang" in toolchain.identity["host_compiler"]:
        return "the host compiler is not g++"
    if not toolchain.ptxas:
        return "there is no ptxas beside nvcc"
    return next((f"{name} is set" for name in _HIDDEN_FLAGS if environ.get(name)), "")


def _why_not_these_flags(kernel: Kernel) -> str:
    unknown = flags_of(kernel.settings.nvcc_flags).unknown
    return f"nvcc_flags has {unknown}" if unknown else ""


def why_not_this_kind(toolchain: Toolchain, kernel: Kernel) -> str:
    """Why kernels of this kind have no host half that g++ compiles; empty if they have."""
    return OPERATIONS[kernel.operation].why_single(kernel.config, toolchain.identity["cutlass"])
