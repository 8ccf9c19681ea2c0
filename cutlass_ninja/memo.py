"""Functions of a configuration, remembered by the values that they read.

A family is a product of lists, so most of its members agree in all that, say, a rule about tiles looks at. What a
function depends on is found out by watching it; nobody has to declare it, and nothing can be forgotten.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Config = Mapping[str, Any]


def fingerprint(values: Any) -> bytes:
    """Bytes that are equal exactly for equal JSON values of equal types: 1, 1.0 and true differ.

    They mean nothing outside of this process.
    """
    # Later versions of the format tell a repeated object from equal ones.
    return marshal.dumps(values, 2)


class Memo(Generic[T]):
    """A pure function of a configuration, called once for all configurations that agree in the values that it reads.

    A result is shared among them, so it must not be changed. For configurations with the same names, what a call reads
    first is always the same, and what it reads next depends on nothing but what it has read; so two configurations with
    equal values in all fields that one call has read have the same result.
    """

    def __init__(self, function: Callable[[Config], T]) -> None:
        self._function = function
        self._tables: dict[tuple[str, ...], _Table[T]] = {}

    def __call__(self, config: Config) -> T:
        """What the function gives."""
        names = tuple(config)
        table = self._tables.get(names)
        if table is not None:
            try:
                return table.results[fingerprint(table.select(config))]
            except KeyError:
                pass
        reader = _Reader(config)
        result = self._function(reader)
        if table is None or not reader.read <= table.fields:
            table = self._tables[names] = _Table(reader.read | (table.fields if table else set()))
        table.results[fingerprint(table.select(config))] = result
        return result


@dataclass
class _Table(Generic[T]):
    """Results by the values of all fields that any call has read so far."""

    fields: set[str]
    results: dict[bytes, T] = field(default_factory=dict)
    select: Callable[[Config], Any] = field(init=False)

    def __post_init__(self) -> None:
        self.select = itemgetter(*self.fields) if self.fields else lambda config: None


class _Reader(Mapping[str, Any]):
    """A configuration that notes which of its fields are read."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        value = self._config[name]
        self.read.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._config)

    def __len__(self) -> int:
        return len(self._config)
