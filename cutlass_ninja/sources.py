"""Kernels -> C++: what is compiled, and what lies beside each executable afterwards."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arch import ARCHS
from .includes import Include, includes_of
from .kernel import Kernel
from .operations import OPERATIONS

if TYPE_CHECKING:
    import jinja2  # Where nothing has changed, it is not needed, and importing it takes a while.

_PACKAGE = Path(__file__).parent
_RUNTIME = _PACKAGE / "runtime"
_TEMPLATES = _PACKAGE / "templates"
_PLACEHOLDER = re.compile(r"\{\{ *(\w+) *\}\}")
_to_json = json.JSONEncoder(check_circular=False).encode

IDENTITY = "identity.h"
"""The file that tells the others which kernel they are."""
ENTRY_POINT = "profiler.cu"
"""The file that is compiled; it includes the others."""


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )


@dataclass(frozen=True, slots=True)
class _Template:
    digest: str
    """Of its text, with the templates that it includes."""
    variables: tuple[str, ...]
    includes: tuple[Include, ...]


@dataclass(frozen=True)
class Form:
    """What the sources of many kernels have in common: the templates that they are rendered from."""

    templates: Mapping[str, _Template]
    """By the name of the file that is rendered."""

    @cached_property
    def digest(self) -> str:
        """Of the templates' texts."""
        return _digest(repr([(name, template.digest) for name, template in self.templates.items()]))

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """What the templates use of a kernel."""
        return tuple(sorted({name for template in self.templates.values() for name in template.variables}))

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        """The #includes of all files, whichever of them the values leave in, without those of one another and those
        whose names depend on the values.
        """
        return tuple(include for include in self._all_includes if not _PLACEHOLDER.search(include[0]))

    @cached_property
    def open_includes(self) -> tuple[Include, ...]:
        """The #includes whose names the values complete."""
        return tuple(include for include in self._all_includes if _PLACEHOLDER.search(include[0]))

    @property
    def _all_includes(self) -> list[Include]:
        found = dict.fromkeys(include for template in self.templates.values() for include in template.includes)
        return [include for include in found if include[0] not in self.templates and include[0] != IDENTITY]


def form_of(kernel: Kernel) -> Form:
    """The form of a kernel's sources. The very same object for the same templates."""
    return _form(OPERATIONS[kernel.operation].templates(kernel.config))


def own_includes(kernel: Kernel, form: Form) -> tuple[Include, ...]:
    """The #includes of a kernel that others of its form do not have in common with it."""
    if not form.open_includes:
        return ()
    values = _values(kernel)
    return tuple((_PLACEHOLDER.sub(lambda found: values[found[1]], name), kind) for name, kind in form.open_includes)


def values_text(kernel: Kernel, form: Form) -> str:
    """Tells kernels of one form apart, together with identity.h: what else their sources are rendered from."""
    values = _template_values(kernel)
    config = kernel.config
    return repr([values.get(name) for name in form.variables if name not in config])


def digests(kernel: Kernel) -> dict[str, str]:
    """A digest by name for each file of a kernel: of what it is rendered from, without rendering it.

    That of `description` stands for identity.h; its key is left out.
    """
    values = _values(kernel)
    found = {}
    for name, template in form_of(kernel).templates.items():
        used = repr([values.get(variable) for variable in template.variables])
        found[name] = _digest(template.digest + used)
    return {**found, "description": _digest(identity_header(kernel, ""))}


def kernel_sources(kernel: Kernel, key: str) -> dict[str, str]:
    """The text of all files of a kernel, by name: kernel.h (the CUTLASS type alone), device.cu, host.cpp, profiler.cu,
    which includes the others, and identity.h, which tells them their key.
    """
    values, environment = _values(kernel), _environment()
    folder = OPERATIONS[kernel.operation].templates(kernel.config)
    texts = {name: environment.get_template(path).render(values) for name, path in _templates(folder).items()}
    return texts | {IDENTITY: identity_header(kernel, key)}


def _values(kernel: Kernel) -> dict[str, Any]:
    """What templates may use: what the operation gives for them, and what identity.h tells of the kernel."""
    about = {"name": kernel.name, "operation": kernel.operation}
    return {**_template_values(kernel), **kernel.config, **about}


def _template_values(kernel: Kernel) -> Mapping[str, Any]:
    return OPERATIONS[kernel.operation].template_values(kernel.config, ARCHS[kernel.arch])


def _templates(folder: str) -> dict[str, str]:
    """The templates of a kernel's files, by the files' names."""
    names = {name: f"{folder}/{name}" for name in ("kernel.h", "device.cu", "host.cpp")}
    return {**names, ENTRY_POINT: ENTRY_POINT}


@cache
def _form(folder: str) -> Form:
    return Form({name: _template(path) for name, path in _templates(folder).items()})


def _template(path: str) -> _Template:
    from jinja2 import meta

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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def stand_ins(kernel: Kernel) -> str:
    """The folder of headers that stand in for CUTLASS's of the same names, for a kernel; may be empty."""
    folder = _TEMPLATES / OPERATIONS[kernel.operation].templates(kernel.config) / "include"
    return str(folder) if _has_stand_ins(folder) else ""


@cache
def _has_stand_ins(folder: Path) -> bool:
    return folder.is_dir()


def runtime_folder() -> str:
    """Where the runtime's sources are installed; its headers are below `include`."""
    return str(_RUNTIME)


def runtime_sources() -> dict[str, Path]:
    """The runtime's files by their path below its folder; those that end in .cu or .cpp are compiled."""
    files = (path for path in sorted(_RUNTIME.rglob("*")) if path.suffix in {".h", ".cuh", ".cu", ".cpp"})
    return {path.relative_to(_RUNTIME).as_posix(): path for path in files}


def identity_header(kernel: Kernel, key: str) -> str:
    """The text of identity.h: name, key and what `--describe` says of the kernel, which is its whole config."""
    name, operation, arch = _to_json(kernel.name), _to_json(kernel.operation), _to_json(kernel.arch)
    about = f'"name": {name}, "key": "{key}", "operation": {operation}, "arch": {arch}'
    description = ", ".join(filter(None, (about, kernel.config_json[1:-1])))
    return (
        "// Which kernel this is.\n"
        "#pragma once\n\n"
        f"#define CUTLASS_NINJA_KERNEL cutlass_ninja_kernel_{key}\n"
        f"#define CUTLASS_NINJA_NAME {name}\n"
        f'#define CUTLASS_NINJA_KEY "{key}"\n'
        f"#define CUTLASS_NINJA_ENTRY cutlass_ninja_{key}\n"
        f"#define CUTLASS_NINJA_HALVES cutlass_ninja_{key}_halves\n"
        f"#define CUTLASS_NINJA_REDUCTION_ENTRY cutlass_ninja_{key}_reduction\n"
        f"#define CUTLASS_NINJA_DESCRIPTION {_to_json('{' + description + '}')}\n"
    )
