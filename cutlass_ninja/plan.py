"""The plan of a build: what the generator decided, as the build edges read it.

`cutlass-ninja` writes it beside the cache, so that an edge of build.ninja needs to name no more than keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from .errors import BuildError
from .files import write_if_changed
from .kernel import Kernel, Settings
from .toolchain import Toolchain

_FORMAT = 3
_ROWS = b'"kernels":['
_END = b"\n]}\n"
_to_json = json.JSONEncoder().encode


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
    kernels: Sequence[KernelTarget]
    command: tuple[str, ...]
    """Arguments after `cutlass-ninja` that write this plan again, relative to the build folder."""
    inputs: tuple[str, ...]
    """Files and folders whose change wakes the generator."""
    digests: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Those of the inputs whose content went into keys, by path, as the generator read it. Not written down."""

    def select(self, keys: Iterable[str]) -> list[KernelTarget]:
        """The targets of these keys, in the keys' order: several where kernels turned out to be the same.

        Raises BuildError for a key that the plan lacks.
        """
        found = []
        for key in keys:
            targets = self.kernels.of(key) if isinstance(self.kernels, _Rows) else _of(self.kernels, key)
            if not targets:
                raise BuildError(f"error: key {key} is not in the build's plan; run cutlass-ninja again")
            found += targets
        return found

    def write(self, path: Path) -> bool:
        """Leaves the plan at `path`, where `read` finds it; says whether that changed the file. Raises BuildError.

        It is JSON, with each kernel on a line of its own that begins with its key, so that one is found without parsing
        the others.
        """
        settings = list(dict.fromkeys(target.kernel.settings for target in self.kernels))
        places = {one: place for place, one in enumerate(settings)}
        head = {
            "format": _FORMAT,
            "toolchain": {**vars(self.toolchain), "identity": dict(self.toolchain.identity)},
            "runtimes": [[target.key, target.arch] for target in self.runtimes],
            "settings": [[one.include_dirs, one.nvcc_flags, one.compile] for one in settings],
            "command": self.command,
            "inputs": self.inputs,
        }
        rows = ",".join([_row(target, places[target.kernel.settings]) for target in self.kernels])
        return write_if_changed(path, f"{_to_json(head)[:-1]},{_ROWS.decode()}{rows}{_END.decode()}")

    @classmethod
    def read(cls, path: Path) -> Plan:
        """The plan that `write` left. Raises BuildError if there is none, or it is of another version."""
        try:
            head, _, rows = path.read_bytes().partition(_ROWS)
            content = json.loads(head + _ROWS + _END)
            if content["format"] != _FORMAT or not rows.endswith(_END):
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            raise BuildError(f"error: {path} is missing or of another version; run cutlass-ninja again") from None
        tools = content["toolchain"]
        settings = [Settings(tuple(dirs), tuple(flags), way) for dirs, flags, way in content["settings"]]
        return cls(
            toolchain=Toolchain(
                **{**tools, "cutlass": tuple(tools["cutlass"]), "cuda_include": tuple(tools["cuda_include"])}
            ),
            runtimes=tuple(RuntimeTarget(*row) for row in content["runtimes"]),
            kernels=_Rows(rows.removesuffix(_END), settings),
            command=tuple(content["command"]),
            inputs=tuple(content["inputs"]),
        )


class _Rows(Sequence[KernelTarget]):
    """The kernels of a plan that was read, parsed when they are wanted."""

    def __init__(self, text: bytes, settings: Sequence[Settings]) -> None:
        self._text = text
        self._settings = settings

    @cached_property
    def _targets(self) -> Sequence[KernelTarget]:
        return [_target(row, self._settings) for row in json.loads(b"[" + self._text + b"]")]

    def __len__(self) -> int:
        return len(self._targets)

    @overload
    def __getitem__(self, index: int) -> KernelTarget: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[KernelTarget]: ...

    def __getitem__(self, index: int | slice) -> KernelTarget | Sequence[KernelTarget]:
        return self._targets[index]

    def __iter__(self) -> Iterator[KernelTarget]:
        return iter(self._targets)

    def of(self, key: str) -> list[KernelTarget]:
        """The targets of one key."""
        lines = re.findall(rb'\n(\["%b",.*\])' % re.escape(key.encode()), self._text)
        return [_target(json.loads(line), self._settings) for line in lines]


def _of(targets: Iterable[KernelTarget], key: str) -> list[KernelTarget]:
    return [target for target in targets if target.key == key]


def _row(target: KernelTarget, settings: int) -> str:
    kernel = target.kernel
    texts = (target.key, target.label, target.runtime, kernel.operation, kernel.name, kernel.arch)
    return f"\n[{','.join(map(_to_json, texts))},{target.memory_bytes},{settings},{kernel.config_json}]"


def _target(row: list[Any], settings: Sequence[Settings]) -> KernelTarget:
    key, label, runtime, operation, name, arch, memory_bytes, place, config = row
    return KernelTarget(label, key, runtime, memory_bytes, Kernel(operation, name, arch, config, settings[place]))
