"""Builds the runtime library and profilers of `plain_gemm.cu` with nvcc, for the tests of the runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cutlass_ninja import toolchain

GPU_TESTS = Path(__file__).resolve().parent
RUNTIME = GPU_TESTS.parent.parent / "cutlass_ninja" / "runtime"


def _nvcc(*arguments: str | Path) -> None:
    """Runs this machine's nvcc; raises AssertionError with its output if it fails."""
    tools = toolchain.find()
    libraries = f"-L{Path(tools.cudart).parent}"
    command = [tools.nvcc, "-std=c++17", f"-I{RUNTIME / 'include'}", libraries, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def build_runtime(folder: Path, arch: str) -> Path:
    """The runtime as a static library in `folder`, for nvcc's architecture option `arch`."""
    sources = sorted(source for source in RUNTIME.glob("src/*.c*") if source.suffix in (".cu", ".cpp"))
    objects = [folder / f"{source.name}.o" for source in sources]
    with _pool() as pool:
        compiled = pool.map(
            lambda *unit: _nvcc("-O3", "-DNDEBUG", arch, "-c", unit[0], "-o", unit[1]), sources, objects
        )
        list(compiled)
    library = folder / "libcutlass_ninja.a"
    subprocess.run(["ar", "rcs", library, *objects], check=True)
    return library


def build_profiler(folder: Path, library: Path, arch: str, name: str, defines: Sequence[str]) -> Path:
    """A profiler of the plain kernel as the `PLAIN_*` macros in `defines` choose it."""
    profiler = folder / name
    options = ["-D" + define.replace(",", "\\,") for define in defines]  # A bare comma would begin another definition.
    _nvcc(arch, *options, GPU_TESTS / "plain_gemm.cu", library, "-o", profiler)
    return profiler


def build_profilers(folder: Path, arch: str, variants: Mapping[str, Sequence[str]]) -> dict[str, Path]:
    """The runtime and a profiler for each of some `defines`, by their names."""
    library = build_runtime(folder, arch)
    with _pool() as pool:
        built = pool.map(lambda one: build_profiler(folder, library, arch, *one), variants.items())
        return dict(zip(variants, built))


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(8, os.cpu_count() or 1))


def call(profiler: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a profiler, its output captured."""
    return subprocess.run([str(profiler), *arguments], capture_output=True, text=True, timeout=300)


def has_gpu() -> bool:
    """Whether the machine has a working NVIDIA GPU."""
    smi = shutil.which("nvidia-smi")
    return smi is not None and subprocess.run([smi, "-L"], capture_output=True).returncode == 0
