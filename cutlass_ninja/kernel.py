"""A kernel: one configuration of one operation, built for one architecture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

BATCHED = "batched"
SINGLE = "single"
WAYS = (BATCHED, SINGLE)
"""How kernels are compiled: related ones together, their device and host halves apart; or each by one call of nvcc."""

_NOTHING = object()
_to_json = json.JSONEncoder(check_circular=False).encode


@dataclass(frozen=True, slots=True)
class Settings:
    """How kernels are to be compiled, beside what they are."""

    include_dirs: tuple[str, ...] = ()
    """Absolute folders searched before CUTLASS's own headers."""
    nvcc_flags: tuple[str, ...] = ()
    """Flags added to every device compile."""
    compile: str = BATCHED
    """One of WAYS, as the user wants it: BATCHED where that can be done, or SINGLE."""


@dataclass(frozen=True)
class Kernel:
    """One kernel. Equal kernels have equal values; `name` is a label and may be shared by kernels that differ."""

    operation: str
    """The operation kind: the name of its module in `operations`."""
    name: str
    """The name by CUTLASS's convention."""
    arch: str
    """What it is compiled for, as `sm_80` or `sm_90a`: nvcc's gencode, not the kernel's ArchTag."""
    config: Mapping[str, Any]
    """The operation's own values (JSON types only), as its module made them."""
    settings: Settings = Settings()

    @cached_property
    def config_json(self) -> str:
        """The config as JSON, which keys, sources and the plan share."""
        return _to_json(dict(self.config))

    def with_json(self, text: str) -> Kernel:
        """The same kernel, told what `config_json` is."""
        vars(self)["config_json"] = text
        return self


class ConfigWriter:
    """Configurations as JSON, one after another: only values are encoded that the one before did not have.

    Members of a family share all values but a few, and share them as the very same objects.
    """

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._values: list[Any] = []
        self._texts: list[str] = []

    def text(self, config: Mapping[str, Any]) -> str:
        """One configuration as JSON."""
        names, values = tuple(config), list(config.values())
        if names != self._names:
            self._names, self._values, self._texts = names, [_NOTHING] * len(names), [""] * len(names)
        self._texts = [
            text if value is before else f"{_to_json(name)}: {_to_json(value)}"
            for name, value, before, text in zip(names, values, self._values, self._texts)
        ]
        self._values = values
        return f"{{{', '.join(self._texts)}}}"
