"""The baseline: NVIDIA's cuBLASLt on the same problems, as one contender more for each signature.

Its library is not needed to build anything. It is looked for where CUDA toolkits, the wheels of PyPI and PyTorch have
it; the executable beside the runtime library loads it and is measured like any profiler. Which of the algorithms that
cuBLASLt's heuristic proposes is the fastest is searched as kernels' run-time parameters are: number 0 is what cuBLASLt
takes by itself.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import signature, store
from .commands import BASELINE
from .contenders import Contender
from .errors import InputError
from .plan import Plan

PROVIDER = "cuBLASLt"

_ALGORITHMS = tuple(range(8))
_NAMES = ("libcublasLt.so.13", "libcublasLt.so.12")
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH")
_TIMEOUT_S = 60
_DIGITS = 20
_ELEMENTS = ("f16", "bf16", "f32", "f64", "s8", "s32")
"""The element types that it has."""


@dataclass(frozen=True)
class Found:
    """The baseline's contenders, and what to tell the user of it."""

    message: str
    contenders: list[Contender] = field(default_factory=list)


def find(plan: Plan, kernels: Sequence[Contender], named: str | None = None) -> Found:
    """The baseline for the kernels' signatures; none, and why, where it is not to be had.

    `named` is the library to take. Raises InputError if it cannot be loaded.
    """
    executables = {
        runtime.arch: path
        for runtime in plan.runtimes
        if os.access(path := f"{store.runtime_dir(runtime.key)}/{BASELINE}", os.X_OK)
    }
    wanted = {kernel.arch for kernel in kernels}
    executables = {arch: path for arch, path in executables.items() if arch in wanted}
    if not executables:
        return Found("no baseline: it has not been built; run ninja")
    any_executable = next(iter(executables.values()))
    failures = []
    for library in dict.fromkeys([named] if named else libraries()):
        version, failure = _version(any_executable, library)
        if version:
            made = list(_contenders(executables, kernels, library, version))
            return Found(f"baseline: cuBLASLt {version} ({library})", made)
        if named:
            raise InputError(f"error: --cublaslt {named}: {failure}")
        failures.append(f"{library}: {failure}")
    reason = f"; {failures[0]}" if failures else ""
    return Found(f"no baseline: {_NAMES[0]} was not found{reason} (pip install nvidia-cublas)")


def libraries(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Where cuBLASLt lies, or may lie: toolkits, wheels, PyTorch, and the system's own places."""
    toolkits = [environ[name] for name in _TOOLKITS if environ.get(name)]
    wheels = [f"{path}/{below}" for path in sys.path for below in ("nvidia/*/lib", "torch/lib") if path]
    folders = [*(f"{path}/lib64" for path in toolkits), *wheels, "/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64"]
    for name in _NAMES:
        for folder in folders:
            yield from sorted(glob.glob(f"{folder}/{name}"), reverse=True)
    yield from _NAMES  # As the loader finds them: LD_LIBRARY_PATH, ldconfig.


def _version(executable: str, library: str) -> tuple[str, str]:
    """The library's version; where it cannot be loaded, none, and why."""
    command = [executable, f"--library={library}", "--library-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    if done.returncode:
        return "", done.stderr.strip().removeprefix("error: ")
    number = int(done.stdout)  # major * 10000 + minor * 100 + patch
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}", ""


def _contenders(
    executables: Mapping[str, str], kernels: Sequence[Contender], library: str, version: str
) -> Iterator[Contender]:
    """One for each signature and architecture among the kernels."""
    seen = set()
    for kernel in kernels:
        config = _config(kernel)
        if config is None or kernel.arch not in executables:
            continue
        told = json.dumps([kernel.arch, signature.signature(config, {"beta": 1})], sort_keys=True)
        if told in seen:
            continue
        seen.add(told)
        executable = executables[kernel.arch]
        runtime = os.path.basename(os.path.dirname(executable))
        key = hashlib.sha256(json.dumps([runtime, version, told]).encode()).hexdigest()[:_DIGITS]
        yield Contender(
            kernel="cublaslt",
            key=key,
            operation=kernel.operation,
            arch=kernel.arch,
            config=config,
            command=(executable, f"--library={library}", f"--key={key}", *_options(config)),
            parameters={"algorithm": _ALGORITHMS},
            provider=PROVIDER,
            environment={"library": library, "version": version},
        )


def _config(kernel: Contender) -> dict[str, Any] | None:
    """What of a kernel's configuration the baseline shares; None where it cannot compute the same."""
    config = kernel.config
    if kernel.operation != "gemm" or not signature.is_plain(config):
        return None
    shared = {
        name: value
        for name, value in config.items()
        if name in signature.signature(config, {"beta": 1}) or name == "opcode_class"
    }
    if shared["element_c"] == "void":
        shared["element_c"] = shared["element_d"]
    types = [shared[f"element_{which}"] for which in ("a", "b", "c", "d", "accumulator")]
    return shared if all(one in _ELEMENTS for one in types) else None


def _options(config: Mapping[str, Any]) -> Iterator[str]:
    for which in ("a", "b", "c", "d", "accumulator"):
        yield f"--{which}={config[f'element_{which}']}"
    yield "--layout=" + "".join(config[f"layout_{which}"] for which in "abc")
    if config["element_a"] == "f32" and config.get("opcode_class") == "tensorop":
        yield "--math=tf32"
