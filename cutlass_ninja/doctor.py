"""What this machine has for building and profiling, and how to get what it lacks."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

from . import arch, memory, toolchain
from .errors import MachineError


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for."""

    what: str
    text: str
    blocks: bool = False
    """Whether nothing can be built without it."""

    def __str__(self) -> str:
        return f"{self.what:<14} {self.text}"


def examine(nvcc: str | None = None, cutlass: str | None = None) -> list[Finding]:
    """Looks for everything that building and profiling need."""
    return [
        Finding("python", f"{sys.version.split()[0]} ({sys.executable})"),
        _ninja(),
        *_tools(nvcc, cutlass),
        Finding("memory", f"{memory.memory_bytes() / 1e9:.1f} GB, {memory.cores()} cores"),
        _gpu(),
    ]


def _ninja() -> Finding:
    found = shutil.which("ninja")
    if found:
        return Finding("ninja", found)
    beside = os.path.join(os.path.dirname(sys.executable), "ninja")
    if os.path.isfile(beside):
        return Finding("ninja", f"not on PATH, but {beside} is there: activate its virtual environment", blocks=True)
    return Finding("ninja", "missing; get it: pip install ninja", blocks=True)


def _tools(nvcc: str | None, cutlass: str | None) -> list[Finding]:
    try:
        found = toolchain.find(nvcc, cutlass)
    except MachineError as error:
        return [Finding("missing", line.removeprefix("error: "), blocks=True) for line in str(error).splitlines()]
    return [
        Finding("nvcc", f"{found.identity['nvcc']} ({found.nvcc})"),
        Finding("cudart", f"{found.identity['cudart']} ({found.cudart})"),
        Finding("host compiler", f"{found.identity['host_compiler']} ({found.host_compiler})"),
        Finding("CUTLASS", f"{found.identity['cutlass']} ({found.cutlass[0]})"),
    ]


def _gpu() -> Finding:
    try:
        return Finding("GPU", ", ".join(one.name for one in arch.native()))
    except MachineError:
        return Finding("GPU", "none that is known: kernels can be built here, and profiled where there is one")
