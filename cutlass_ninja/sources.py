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
    """One file of a kernel, told by what it is rendered from, without rendering it."""

    digest: str
    """Of the template's text, with the templates that it includes, and of the kernel's values that these use."""
    includes: tuple[Include, ...]
    """Its #includes, whichever of them the values leave in."""


def sources_of(kernel: Kernel) -> dict[str, Source]:
    """The files of a kernel that do not depend on its key, by name."""
    values = _values(kernel)
    return {name: _source(path, values) for name, path in _templates(kernel).items()}


def kernel_sources(kernel: Kernel, key: str) -> dict[str, str]:
    """The text of all files of a kernel, by name: kernel.h (the CUTLASS type alone), device.cu, host.cpp, profiler.cu,
    which includes the others, and identity.h, which tells them their key.
    """
    values, environment = _values(kernel), _environment()
    texts = {name: environment.get_template(path).render(values) for name, path in _templates(kernel).items()}
    return texts | {IDENTITY: identity_header(kernel, key)}


@dataclass(frozen=True, slots=True)
class _Template:
    digest: str
    variables: tuple[str, ...]
    includes: tuple[Include, ...]


def _values(kernel: Kernel) -> dict[str, Any]:
    about = {"name": kernel.name, "operation": kernel.operation}
    return about | dict(OPERATIONS[kernel.operation].template_values(kernel.config, ARCHS[kernel.arch]))


def _templates(kernel: Kernel) -> dict[str, str]:
    """The templates of a kernel's files, by the files' names."""
    folder = OPERATIONS[kernel.operation].templates(kernel.config)
    names = {name: f"{folder}/{name}" for name in ("kernel.h", "device.cu", "host.cpp")}
    return {**names, ENTRY_POINT: ENTRY_POINT}


def _source(path: str, values: Mapping[str, Any]) -> Source:
    template = _template(path)
    used = repr([values.get(variable) for variable in template.variables])
    return Source(hashlib.sha256((template.digest + used).encode()).hexdigest(), template.includes)


@cache
def _template(path: str) -> _Template:
    digest = hashlib.sha256()
    variables: set[str] = set()
    includes: dict[Include, None] = {}
    waiting: list[str | None] = [path]
    while waiting:
        if name := waiting.pop():
            text = (_TEMPLATES / name).read_text(encoding="utf-8")
            digest.update(text.encode())
            includes |= dict.fromkeys(includes_of(text.encode()))
            tree = _environment().parse(text)
            variables |= meta.find_undeclared_variables(tree)
            waiting += meta.find_referenced_templates(tree)
    return _Template(digest.hexdigest(), tuple(sorted(variables)), tuple(includes))


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


def identity_header(kernel: Kernel, key: str) -> str:
    """The text of identity.h."""
    text = json.dumps(description(kernel, key))
    return (
        "// Which kernel this is.\n"
        "#pragma once\n\n"
        f"#define CUTLASS_NINJA_NAME {json.dumps(kernel.name)}\n"
        f"#define CUTLASS_NINJA_KEY {json.dumps(key)}\n"
        f"#define CUTLASS_NINJA_ENTRY cutlass_ninja_{key}\n"
        f"#define CUTLASS_NINJA_DESCRIPTION {json.dumps(text)}\n"
    )
