"""Content keys: what a kernel is made of, digested.

Two kernels have one key exactly if compiling them gives the same executable: the same sources, flags, compilers,
headers and runtime. Neither time stamps nor absolute paths enter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import commands, sources
from .includes import Header, Include, IncludeWalker, includes_of
from .kernel import Kernel, Settings
from .toolchain import Toolchain

_FORMAT = 1  # raised when the meaning of what is digested changes
_KEY_DIGITS = 20


@dataclass(frozen=True)
class Identity:
    """A key and what it was made from."""

    key: str
    ingredients: Mapping[str, Any]
    """JSON types only; kept in build.json, so that `explain` can compare."""
    files: tuple[str, ...]
    """Absolute paths of the headers in the include closure."""


class Keyer:
    """Gives keys for one toolchain. Reads each header once in its life; a new Keyer reads anew."""

    def __init__(self, toolchain: Toolchain) -> None:
        self._toolchain = toolchain
        self._walker = IncludeWalker()
        self._environment = commands.keyed_environment()
        self._closures: dict[tuple[tuple[Include, ...], Settings], tuple[tuple[Header, ...], str]] = {}
        self._runtimes: dict[str, Identity] = {}

    def kernel(self, kernel: Kernel) -> Identity:
        """The identity of a kernel's profiler."""
        texts = {**sources.rendered(kernel), "description": json.dumps(sources.description(kernel, ""))}
        seeds = _seeds(texts)
        headers, digest = self._closure(seeds, kernel.settings)
        common = self._ingredients(commands.kernel_flags(self._toolchain, kernel))
        runtime = self.runtime(kernel.arch).key
        files = {name: _digest(text) for name, text in texts.items()}
        key = _key([common, commands.link_flags(), runtime, digest, files])
        ingredients = {
            **common,
            "link_flags": commands.link_flags(),
            "runtime": runtime,
            "sources": files,
            "headers": {header.name: header.digest[:_KEY_DIGITS] for header in headers},
        }
        return Identity(key, ingredients, tuple(header.path for header in headers))

    def runtime(self, arch: str) -> Identity:
        """The identity of the runtime library for one architecture."""
        if arch not in self._runtimes:
            common = self._ingredients(commands.runtime_flags(arch))
            del common["toolchain"]["cutlass"]
            paths = sources.runtime_sources()
            files = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
            ingredients = {**common, "sources": files}
            self._runtimes[arch] = Identity(_key([ingredients]), ingredients, tuple(map(str, paths.values())))
        return self._runtimes[arch]

    def _ingredients(self, flags: list[str]) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "toolchain": dict(self._toolchain.identity),
            "environment": self._environment,
            "flags": flags,
        }

    def _closure(self, seeds: tuple[Include, ...], settings: Settings) -> tuple[tuple[Header, ...], str]:
        known = self._closures.get((seeds, settings))
        if known is None:
            headers = self._walker.closure(seeds, commands.include_folders(self._toolchain, settings))
            known = headers, _digest(json.dumps([(header.name, header.digest) for header in headers]))
            self._closures[seeds, settings] = known
        return known


def _seeds(texts: Mapping[str, str]) -> tuple[Include, ...]:
    """The #includes of a kernel's sources, without those of one another."""
    found = (include for text in texts.values() for include in includes_of(text.encode()))
    return tuple(dict.fromkeys(include for include in found if include[0] not in texts and include[0] != "identity.h"))


def _key(parts: list[Any]) -> str:
    return _digest(json.dumps(parts, sort_keys=True))[:_KEY_DIGITS]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
