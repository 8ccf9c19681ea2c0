"""Content keys: what a kernel is made of, digested.

Two kernels have one key exactly if compiling them gives the same executable: the same sources, flags, compilers,
headers and runtime. Neither time stamps nor absolute paths enter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import commands, sources
from .batch_sources import STUBS
from .halves import why_not_this_kind, why_single
from .includes import QUOTED, Header, Include, IncludeWalker
from .kernel import Kernel, Settings
from .nvcc_flags import forced_includes
from .parallel import in_parts
from .sources import Form
from .toolchain import Toolchain

_FORMAT = 2  # raised when the meaning of what is digested changes
_KEY_DIGITS = 20
_WORTH_A_PROCESS = 2000
"""How many kernels' keys take much longer than to start a process for them."""


@dataclass(frozen=True)
class _Context:
    """What kernels of one architecture, with the same settings and #includes, have in common."""

    ingredients: Mapping[str, Any]
    headers: tuple[Header, ...]

    @cached_property
    def files(self) -> tuple[str, ...]:
        return tuple(header.path for header in self.headers)

    @cached_property
    def digest(self) -> bytes:
        headers = [(header.name, header.digest) for header in self.headers]
        return hashlib.sha256(json.dumps([self.ingredients, headers], sort_keys=True).encode()).digest()


@dataclass(frozen=True)
class Identity:
    """A key and what it was made from."""

    key: str
    _context: _Context
    _kernel: Kernel | None = None

    @property
    def ingredients(self) -> Mapping[str, Any]:
        """What the key digests, in JSON types; kept in build.json, so that `explain` can compare."""
        return {
            **self._context.ingredients,
            "sources": sources.digests(self._kernel) if self._kernel else {},
            "headers": {header.name: header.digest[:_KEY_DIGITS] for header in self._context.headers},
        }

    @property
    def files(self) -> tuple[str, ...]:
        """Absolute paths of the headers in the include closure."""
        return self._context.files


class Keyer:
    """Gives keys for one toolchain. Reads each header once in its life; a new Keyer reads anew."""

    def __init__(self, toolchain: Toolchain) -> None:
        self._toolchain = toolchain
        self._walker = IncludeWalker()
        self._environment = commands.keyed_environment()
        self._contexts: dict[tuple[str, Settings, str, tuple[Include, ...], str], _Context] = {}
        self._runtimes: dict[str, Identity] = {}

    def kernel(self, kernel: Kernel) -> Identity:
        """The identity of a kernel's profiler."""
        context, text = self._made_of(kernel)
        return Identity(_key(context, text), context, kernel)

    def keys(self, kernels: Sequence[Kernel], cores: int) -> list[str]:
        """The keys of many kernels."""
        for kernel in kernels:
            self._context(kernel, sources.form_of(kernel))  # Reads the headers, once for all processes.
        parts = max(1, min(cores, len(kernels) // _WORTH_A_PROCESS))
        return in_parts(lambda part: [_key(*self._made_of(kernel)) for kernel in part], kernels, parts)

    def runtime(self, arch: str) -> Identity:
        """The identity of the runtime library for one architecture."""
        if arch not in self._runtimes:
            ingredients = self._ingredients(commands.runtime_flags(arch))
            del ingredients["toolchain"]["cutlass"]
            paths = sources.runtime_sources()
            headers = (Header(str(path), name, _digest(path.read_text("utf-8"))) for name, path in paths.items())
            context = _Context(ingredients, tuple(headers))
            self._runtimes[arch] = Identity(context.digest.hex()[:_KEY_DIGITS], context)
        return self._runtimes[arch]

    def digests(self) -> dict[str, str]:
        """All headers that the kernels asked for include: digests of their content by absolute path."""
        return {header.path: header.digest for context in self._contexts.values() for header in context.headers}

    def folders(self) -> set[str]:
        """Absolute paths of the folders in which a new header could change a key."""
        return self._walker.folders()

    def _made_of(self, kernel: Kernel) -> tuple[_Context, str]:
        """What a kernel's key digests: what it has in common with others, and a text of its own."""
        form = sources.form_of(kernel)
        own = f"{form.digest}{sources.values_text(kernel, form)}\n{sources.identity_header(kernel, '')}"
        return self._context(kernel, form), own

    def _context(self, kernel: Kernel, form: Form) -> _Context:
        own = sources.own_includes(kernel, form)
        known = (kernel.arch, kernel.settings, form.digest, own, why_not_this_kind(self._toolchain, kernel))
        if known not in self._contexts:
            ingredients: dict[str, Any] = {
                **self._ingredients(commands.kernel_flags(self._toolchain, kernel)),
                "link_flags": commands.link_flags(),
                "runtime": self.runtime(kernel.arch).key,
            }
            includes = (
                form.includes + own + tuple((name, QUOTED) for name in forced_includes(kernel.settings.nvcc_flags))
            )
            if not why_single(self._toolchain, kernel):
                ingredients["host_flags"] = commands.host_flags(self._toolchain, kernel)
                ingredients["ptxas_flags"] = commands.ptxas_flags(kernel)
                includes += ((STUBS, QUOTED),)
            folders = commands.include_folders(self._toolchain, kernel)
            self._contexts[known] = _Context(ingredients, self._walker.closure(includes, folders))
        return self._contexts[known]

    def _ingredients(self, flags: list[str]) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "toolchain": dict(self._toolchain.identity),
            "environment": self._environment,
            "flags": flags,
        }


def _key(context: _Context, text: str) -> str:
    return hashlib.sha256(context.digest + text.encode()).hexdigest()[:_KEY_DIGITS]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
