"""A build of toy kernels for the tests of the build edge: plain CUDA programs, compiled by the real nvcc.

A toy's config holds its source (`@KEY@` in it stands for the key) and, where a test needs other commands than nvcc, the
commands. Its key digests these and toy.h in the build folder. Run as a program it is the build edge of such a build:
`python toy_edge.py kernel KEY`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cutlass_ninja import compile as edge
from cutlass_ninja import jobs, store, toolchain
from cutlass_ninja.errors import BuildError, MachineError
from cutlass_ninja.kernel import SINGLE, Kernel, Settings
from cutlass_ninja.plan import KernelTarget, Plan, RuntimeTarget
from cutlass_ninja.toolchain import Toolchain

SOURCE = """\
#include <cstdio>
#include "toy.h"
__global__ void kernel(float* x) { x[threadIdx.x] += TOY; }
int main() { std::puts("{\\"name\\": \\"toy\\", \\"key\\": \\"@KEY@\\"}"); }
"""


def find_nvcc() -> list[str]:
    """This machine's nvcc and where it finds the CUDA runtime; empty without one."""
    try:
        tools = toolchain.find()
    except MachineError:
        return []
    return [tools.nvcc, f"-L{os.path.dirname(tools.cudart)}"]


NVCC = find_nvcc()

RUNTIME = "int cutlass_ninja_runtime() { return 0; }\n"


@dataclass(frozen=True)
class Identity:
    """As keys.Identity, for toys."""

    key: str
    ingredients: Mapping[str, Any]
    files: tuple[str, ...]


class Keyer:
    """As keys.Keyer, for toys."""

    def __init__(self, toolchain: Toolchain) -> None:
        pass

    def kernel(self, kernel: Kernel) -> Identity:
        header = Path("toy.h").resolve()
        digest = hashlib.sha256(header.read_bytes() + repr((kernel.name, kernel.config)).encode())
        return Identity(digest.hexdigest()[:20], {"headers": {"toy.h": digest.hexdigest()}}, (str(header),))

    def runtime(self, arch: str) -> Identity:
        return Identity(hashlib.sha256((RUNTIME + arch).encode()).hexdigest()[:20], {}, ())


class Commands:
    """As the module commands, for toys."""

    @staticmethod
    def links(toolchain: Toolchain, kernel: Kernel) -> dict[str, str]:
        return {"include0": os.getcwd()}

    @staticmethod
    def kernel_commands(toolchain: Toolchain, kernel: Kernel, runtime_library: str) -> list[list[str]]:
        nvcc = [*NVCC, "-gencode=arch=compute_80,code=sm_80", "-Xptxas=-v", "-Iinclude0", "profiler.cu"]
        default = [[*nvcc, "-o", "profiler", runtime_library]]
        commands: list[list[str]] = kernel.config.get("commands", default)
        return commands

    BASELINE = "cublaslt"

    @staticmethod
    def runtime_links(toolchain: Toolchain) -> dict[str, str]:
        return {}

    @staticmethod
    def runtime_commands(toolchain: Toolchain, arch: str) -> list[list[str]]:
        archive = ["ar", "rcsD", store.LIBRARY, "runtime.o"]
        return [["g++", "-c", "src/runtime.cpp"], archive, ["cp", "runtime.o", "cublaslt"]]


class Sources:
    """As the module sources, for toys."""

    @staticmethod
    def kernel_sources(kernel: Kernel, key: str) -> dict[str, str]:
        return {"profiler.cu": str(kernel.config["source"]).replace("@KEY@", key), "kernel.h": "// a toy\n"}

    @staticmethod
    def runtime_sources() -> dict[str, Path]:
        return {"src/runtime.cpp": Path("runtime.cpp")}


def kernel(name: str = "toy", source: str = SOURCE, commands: Sequence[Sequence[str]] | None = None) -> Kernel:
    """A toy; one with commands of its own is as quick as these."""
    config: dict[str, Any] = {"source": source}
    if commands is not None:
        config["commands"] = [list(command) for command in commands]
    return Kernel("toy", name, "sm_80", config, Settings(compile=SINGLE))


def script(text: str) -> list[list[str]]:
    """Commands that run a shell script in the place of nvcc."""
    return [["sh", "-c", text]]


DESCRIBES = """\
(echo '#!/bin/sh'; echo "echo '{\\"key\\": \\"$(cat profiler.cu)\\"}'") > profiler; chmod +x profiler"""
"""A shell script that makes a profiler out of a source that is nothing but @KEY@."""


def plan(kernels: Sequence[Kernel]) -> Plan:
    """The plan for these toys in the current folder, written to its place; it has a runtime library."""
    Path("toy.h").touch()
    if not Path("toy.h").read_text():
        Path("toy.h").write_text("#define TOY 1\n")
    Path("runtime.cpp").write_text(RUNTIME)
    tools = Toolchain("nvcc", "g++", (), "", {})
    runtime = RuntimeTarget(Keyer(tools).runtime("sm_80").key, "sm_80")
    targets = tuple(
        KernelTarget(each.name, Keyer(tools).kernel(each).key, runtime.key, 1 << 29, each) for each in kernels
    )
    made = Plan(tools, (runtime,), targets, ("toys.yaml",), ("toy.h",))
    Path(store.CACHE).mkdir(exist_ok=True)
    made.write(store.PLAN)
    return made


def relabelled(made: Plan, label: str) -> Plan:
    """The same plan with its first kernel under another label."""
    first, *rest = made.kernels
    return replace(made, kernels=(replace(first, label=label), *rest))


def patch() -> None:
    """Make the build edge of this process one for toys."""
    Toolchain.refreshed = lambda self: self  # type: ignore[method-assign]
    for module, name, toy in (
        (jobs, "Keyer", Keyer),
        (jobs, "commands", Commands),
        (jobs, "sources", Sources),
    ):
        setattr(module, name, toy)


def build_runtime(made: Plan) -> None:
    """Build the runtime library of a plan."""
    if edge.main(["runtime", made.runtimes[0].key]):
        raise BuildError("the toys' runtime library does not build")


if __name__ == "__main__":
    patch()
    sys.exit(edge.main(sys.argv[1:]))
