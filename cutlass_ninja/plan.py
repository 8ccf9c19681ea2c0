"""The plan of a build: what the generator decided, as the build edges read it.

`cutlass-ninja` writes it beside the cache, so that an edge of build.ninja needs to name no more than keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import BuildError
from .files import write_if_changed
from .kernel import Kernel, Settings
from .toolchain import Toolchain

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class KernelTarget:
    """One kernel that the build wants."""

    label: str
    """Unique in the build: its phony target and its name in cache/bin. The kernel's name, with what tells it
    apart where several kernels share that name."""
    key: str
    """The kernel's content key."""
    runtime: str
    """The key of the runtime library that it links."""
    memory_bytes: int
    """Estimated peak memory of its compile."""
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class RuntimeTarget:
    """The runtime library for one architecture."""

    key: str
    arch: str


@dataclass(frozen=True)
class Plan:
    """Everything that build.ninja and its edges need."""

    toolchain: Toolchain
    runtimes: tuple[RuntimeTarget, ...]
    kernels: tuple[KernelTarget, ...]
    command: tuple[str, ...]
    """Arguments after `cutlass-ninja` that write this plan again, relative to the build folder."""
    inputs: tuple[str, ...]
    """Files and folders whose change wakes the generator."""

    def select(self, keys: Iterable[str]) -> list[KernelTarget]:
        """The targets of these keys, in the keys' order: several where kernels turned out to be the same.

        Raises BuildError for a key that the plan lacks.
        """
        by_key: dict[str, list[KernelTarget]] = {}
        for target in self.kernels:
            by_key.setdefault(target.key, []).append(target)
        keys = list(keys)
        for key in keys:
            if key not in by_key:
                raise BuildError(f"error: key {key} is not in the build's plan; run cutlass-ninja again")
        return [target for key in keys for target in by_key[key]]

    def write(self, path: Path) -> bool:
        """Leaves the plan at `path`, where `read` finds it; says whether that changed the file. Raises BuildError."""
        settings = list(dict.fromkeys(target.kernel.settings for target in self.kernels))
        places = {one: place for place, one in enumerate(settings)}
        content = {
            "format": _FORMAT,
            "toolchain": {**vars(self.toolchain), "identity": dict(self.toolchain.identity)},
            "runtimes": [[target.key, target.arch] for target in self.runtimes],
            "settings": [[one.include_dirs, one.nvcc_flags] for one in settings],
            "kernels": [_row(target, places[target.kernel.settings]) for target in self.kernels],
            "command": self.command,
            "inputs": self.inputs,
        }
        return write_if_changed(path, json.dumps(content, separators=(",", ":")) + "\n")

    @classmethod
    def read(cls, path: Path) -> Plan:
        """The plan that `write` left. Raises BuildError if there is none, or it is of another version."""
        try:
            content = json.loads(path.read_bytes())
            if content["format"] != _FORMAT:
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            raise BuildError(f"error: {path} is missing or of another version; run cutlass-ninja again") from None
        tools = content["toolchain"]
        settings = [Settings(tuple(dirs), tuple(flags)) for dirs, flags in content["settings"]]
        return cls(
            toolchain=Toolchain(
                **{**tools, "cutlass": tuple(tools["cutlass"]), "cuda_include": tuple(tools["cuda_include"])}
            ),
            runtimes=tuple(RuntimeTarget(*row) for row in content["runtimes"]),
            kernels=tuple(_target(row, settings) for row in content["kernels"]),
            command=tuple(content["command"]),
            inputs=tuple(content["inputs"]),
        )


def _row(target: KernelTarget, settings: int) -> list[Any]:
    kernel = target.kernel
    about = [target.label, target.key, target.runtime, target.memory_bytes]
    return [*about, kernel.operation, kernel.name, kernel.arch, kernel.config, settings]


def _target(row: list[Any], settings: list[Settings]) -> KernelTarget:
    label, key, runtime, memory_bytes, operation, name, arch, config, place = row
    return KernelTarget(label, key, runtime, memory_bytes, Kernel(operation, name, arch, config, settings[place]))
