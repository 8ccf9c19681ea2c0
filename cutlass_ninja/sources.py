"""Kernels -> C++: what is compiled, and what lies beside each executable afterwards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta

from .arch import ARCHS
from .includes import Include, includes_of
from .kernel import Kernel
from .operations import OPERATIONS

_PACKAGE = Path(__file__).parent
_RUNTIME = _PACKAGE / "runtime"
_TEMPLATES = _PACKAGE / "templates"

IDENTITY = "identity.h"
"""The file that tells the others which kernel they are."""
ENTRY_POINT = "profiler.cu"
"""The file that is compiled; it includes the others."""


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a kernel."""

    text: str
    digest: str
    includes: tuple[Include, ...]


class Sources:
    """Renders kernels' sources; remembers what it has rendered, since most files differ between few kernels."""

    def __init__(self) -> None:
        self._rendered: dict[tuple[str, ...], Source] = {}

    def render(self, kernel: Kernel) -> dict[str, Source]:
        """The sources of a kernel that do not depend on its key, by file name."""
        operation = OPERATIONS[kernel.operation]
        values = {
            "name": kernel.name,
            "operation": kernel.operation,
            **operation.template_values(kernel.config, ARCHS[kernel.arch]),
        }
        folder = operation.templates(kernel.config)
        files = {name: f"{folder}/{name}" for name in ("kernel.h", "device.cu", "host.cpp")}
        return {name: self._file(path, values) for name, path in (files | {ENTRY_POINT: ENTRY_POINT}).items()}

    def _file(self, template: str, values: Mapping[str, Any]) -> Source:
        known = (template, *[repr(values.get(variable)) for variable in _variables(template)])
        if known not in self._rendered:
            text = _environment().get_template(template).render(values)
            digest = hashlib.sha256(text.encode()).hexdigest()
            self._rendered[known] = Source(text, digest, includes_of(text.encode()))
        return self._rendered[known]


@cache
def _variables(template: str) -> tuple[str, ...]:
    """What of a kernel's values a template uses, with the templates that it includes."""
    variables: set[str] = set()
    waiting: list[str | None] = [template]
    while waiting:
        if name := waiting.pop():
            tree = _environment().parse((_TEMPLATES / name).read_text(encoding="utf-8"))
            variables |= meta.find_undeclared_variables(tree)
            waiting += meta.find_referenced_templates(tree)
    return tuple(sorted(variables))


def kernel_sources(kernel: Kernel, key: str) -> dict[str, str]:
    """All sources of a kernel, by file name: kernel.h (the CUTLASS type alone), device.cu, host.cpp, profiler.cu, which
    includes the others, and identity.h, which tells them their key.
    """
    texts = {name: source.text for name, source in Sources().render(kernel).items()}
    return texts | {IDENTITY: _identity(kernel, key)}


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
