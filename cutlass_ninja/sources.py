"""Kernels -> C++: what is compiled, and what lies beside each executable afterwards."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import jinja2

from .arch import ARCHS
from .kernel import Kernel
from .operations import OPERATIONS

_PACKAGE = Path(__file__).parent
_RUNTIME = _PACKAGE / "runtime"

ENTRY_POINT = "profiler.cu"
"""The file that is compiled; it includes the others."""


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PACKAGE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=False,
        keep_trailing_newline=True,
        autoescape=False,
    )


def rendered(kernel: Kernel) -> dict[str, str]:
    """The sources of a kernel that do not depend on its key, by file name."""
    operation = OPERATIONS[kernel.operation]
    folder = operation.templates(kernel.config)
    values = {
        "name": kernel.name,
        "operation": kernel.operation,
        **operation.template_values(kernel.config, ARCHS[kernel.arch]),
    }
    files = {name: f"{folder}/{name}" for name in ("kernel.h", "device.cu", "host.cpp")}
    files[ENTRY_POINT] = ENTRY_POINT
    environment = _environment()
    return {name: environment.get_template(template).render(values) for name, template in files.items()}


def kernel_sources(kernel: Kernel, key: str) -> dict[str, str]:
    """All sources of a kernel, by file name: kernel.h (the CUTLASS type alone), device.cu, host.cpp, profiler.cu, which
    includes the others, and identity.h, which tells them their key.
    """
    return rendered(kernel) | {"identity.h": _identity(kernel, key)}


def runtime_folder() -> str:
    """Where the runtime's sources are installed; its headers are below `include`."""
    return str(_RUNTIME)


def runtime_sources() -> dict[str, Path]:
    """The runtime's files by their path below its folder; those that end in .cu or .cpp are compiled."""
    files = (path for path in sorted(_RUNTIME.rglob("*")) if path.suffix in {".h", ".cuh", ".cu", ".cpp"})
    return {path.relative_to(_RUNTIME).as_posix(): path for path in files}


def description(kernel: Kernel, key: str) -> dict[str, object]:
    """What `--describe` says of the kernel."""
    return {
        "name": kernel.name,
        "key": key,
        "operation": kernel.operation,
        "arch": kernel.arch,
        **kernel.config,
    }


def _identity(kernel: Kernel, key: str) -> str:
    text = json.dumps(description(kernel, key))
    return (
        "// Which kernel this is.\n"
        "#pragma once\n\n"
        f"#define CUTLASS_NINJA_NAME {json.dumps(kernel.name)}\n"
        f"#define CUTLASS_NINJA_KEY {json.dumps(key)}\n"
        f"#define CUTLASS_NINJA_ENTRY cutlass_ninja_{key}\n"
        f"#define CUTLASS_NINJA_DESCRIPTION {json.dumps(text)}\n"
    )
