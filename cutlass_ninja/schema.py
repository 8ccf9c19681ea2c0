"""What a mapping may hold: fields, their types, and the reading of nodes into typed values with their places.

A field of one value may give a list of them instead, so a mapping stands for a product: every choice of one
field with every choice of the others. Products are counted without being expanded.
"""

from __future__ import annotations

import itertools
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .document import ListNode, MappingNode, Node, ScalarNode
from .places import Errors, Mark, nearest, quote

__all__ = [
    "Boolean",
    "Choice",
    "Field",
    "FieldType",
    "Integer",
    "Mark",
    "Number",
    "Product",
    "Record",
    "Shape",
    "Text",
    "Value",
    "read_product",
]

_INTEGER = re.compile("-?(0|[1-9][0-9]*)")
_LEADING_ZERO = re.compile("-?0+[0-9]+")
_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Value:
    """One value and its place.

    `data` is an int, float, bool or str; a list of ints for a Shape; for a Record a Product, and in a member
    of an expanded product a dict of Values.
    """

    data: Any
    mark: Mark


@dataclass(frozen=True, slots=True)
class Product:
    """What a mapping gives: its fields in the order in which they are declared, each with its choices."""

    mark: Mark
    choices: Mapping[str, tuple[Value, ...]]

    def sizes(self) -> dict[str, int]:
        """How many values each field contributes, a Record's members counted."""
        return {name: sum(_size(value) for value in values) for name, values in self.choices.items()}

    def size(self) -> int:
        """The number of members."""
        return math.prod(self.sizes().values())

    def members(self) -> Iterator[dict[str, Value]]:
        """Every member: one value for each field, the last field varying fastest."""
        expanded = [[one for value in values for one in _expand(value)] for values in self.choices.values()]
        for member in itertools.product(*expanded):
            yield dict(zip(self.choices, member, strict=True))


def _size(value: Value) -> int:
    return value.data.size() if isinstance(value.data, Product) else 1


def _expand(value: Value) -> Iterator[Value]:
    if isinstance(value.data, Product):
        for member in value.data.members():
            yield Value(member, value.mark)
    else:
        yield value


class FieldType(ABC):
    """What a field holds."""

    noun: str
    """What one value is called."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What one value must be, with its article."""

    @abstractmethod
    def parse(self, node: Node, name: str, errors: Errors) -> Any:
        """The data of one value that was written; None when an error has been noted."""

    def is_choices(self, node: ListNode) -> bool:
        """Whether a list gives several values, rather than being one."""
        return True

    def read(self, node: Node, name: str, errors: Errors) -> tuple[Value, ...]:
        """One value, or none when an error has been noted."""
        if type(node) is Node:
            return ()
        if isinstance(node, ScalarNode) and node.is_null:
            errors.add(node.mark, f"{name} has no value; expected {self.expected}")
            return ()
        data = self.parse(node, name, errors)
        return () if data is None else (Value(data, node.mark),)

    def read_choices(self, node: Node, name: str, errors: Errors) -> tuple[Value, ...]:
        """The value, or each value of a list of them."""
        if not isinstance(node, ListNode):
            return self.read(node, name, errors)
        if not node.items:
            errors.add(node.mark, f"{name} is an empty list: give at least one {self.noun}")
            return ()
        if not self.is_choices(node):
            return self.read(node, name, errors)
        return tuple(value for item in node.items for value in self.read(item, name, errors))


class _ScalarType(FieldType):
    """A type whose value is written as a single text."""

    @abstractmethod
    def convert(self, node: ScalarNode) -> Any:
        """The data. Raises ValueError that says what is wrong."""

    def parse(self, node: Node, name: str, errors: Errors) -> Any:
        """The data, or None with the error noted."""
        try:
            if not isinstance(node, ScalarNode):
                raise ValueError(self.mismatch(node))
            return self.convert(node)
        except ValueError as error:
            errors.add(node.mark, f"{name}: {error}")
            return None

    def mismatch(self, node: Node) -> str:
        """What to say of something else than what is expected."""
        return f"expected {self.expected}, found {node}"


@dataclass(frozen=True)
class Integer(_ScalarType):
    """A decimal integer."""

    minimum: int = 1
    maximum: int = _LARGEST

    noun = "integer"

    @property
    def expected(self) -> str:
        """The range in words."""
        if self.maximum == _LARGEST:
            return f"an integer of at least {self.minimum}"
        return f"an integer from {self.minimum} to {self.maximum}"

    def convert(self, node: ScalarNode) -> int:
        """An int in the range."""
        if not _INTEGER.fullmatch(node.text):
            if _LEADING_ZERO.fullmatch(node.text):
                raise ValueError(f"{node} has a leading zero; expected {self.expected}")
            raise ValueError(self.mismatch(node))
        if node.quoted:
            raise ValueError(f"{node} is a string: remove the quotes")
        number = int(node.text[:21])  # Twenty digits are out of range too, and quick to convert.
        if number > self.maximum:
            raise ValueError(f"{node} is too large; the largest is {self.maximum}")
        if number < self.minimum:
            raise ValueError(self.mismatch(node))
        return number


@dataclass(frozen=True)
class Number(_ScalarType):
    """A finite decimal number, as a float."""

    minimum: float = -math.inf
    maximum: float = math.inf

    noun = "number"

    @property
    def expected(self) -> str:
        """The range in words."""
        lower = f" of at least {self.minimum:g}" if self.minimum > -math.inf else ""
        upper = f" of at most {self.maximum:g}" if self.maximum < math.inf else ""
        return "a number" + " and".join(bound for bound in (lower, upper) if bound)

    def convert(self, node: ScalarNode) -> float:
        """A float in the range."""
        if not _NUMBER.fullmatch(node.text):
            raise ValueError(self.mismatch(node))
        if node.quoted:
            raise ValueError(f"{node} is a string: remove the quotes")
        number = float(node.text)
        if not math.isfinite(number):
            raise ValueError(f"{node} is too large for a number")
        if not self.minimum <= number <= self.maximum:
            raise ValueError(self.mismatch(node))
        return number


@dataclass(frozen=True)
class Boolean(_ScalarType):
    """true or false, and not YAML 1.1's other words for them."""

    noun = "value"

    @property
    def expected(self) -> str:
        """The two words."""
        return "true or false"

    def convert(self, node: ScalarNode) -> bool:
        """A bool."""
        if node.text not in ("true", "True", "TRUE", "false", "False", "FALSE"):
            raise ValueError(self.mismatch(node))
        if node.quoted:
            raise ValueError(f"{node} is a string: remove the quotes")
        return node.text.lower() == "true"


@dataclass(frozen=True)
class Text(_ScalarType):
    """A text of which the whole must match a regular expression; `looks` says in words what it must be."""

    pattern: str
    looks: str

    noun = "value"

    @property
    def expected(self) -> str:
        """The words."""
        return self.looks

    def convert(self, node: ScalarNode) -> str:
        """The text."""
        if not re.fullmatch(self.pattern, node.text):
            raise ValueError(self.mismatch(node))
        return node.text


@dataclass(frozen=True)
class Choice(_ScalarType):
    """One of some names, which are called `noun`."""

    names: Collection[str]
    noun: str

    @property
    def expected(self) -> str:
        """The names."""
        return f"one of {', '.join(self.names)}"

    def convert(self, node: ScalarNode) -> str:
        """One of the names."""
        if node.text not in self.names:
            near = nearest(node.text, self.names)
            hint = f"; did you mean {quote(near)}?" if near else ""
            raise ValueError(f"unknown {self.noun} {quote(node.text)}{hint} ({self.expected})")
        return node.text


@dataclass(frozen=True)
class Shape(FieldType):
    """A list of so many positive integers."""

    length: int

    noun = "shape"

    @property
    def expected(self) -> str:
        """The number of integers."""
        return f"a list of {self.length} positive integers"

    def is_choices(self, node: ListNode) -> bool:
        """Whether it is a list of shapes."""
        return any(isinstance(item, ListNode) for item in node.items)

    def parse(self, node: Node, name: str, errors: Errors) -> list[int] | None:
        """The integers."""
        if not isinstance(node, ListNode):
            errors.add(node.mark, f"{name}: expected {self.expected}, found {node}")
            return None
        if len(node.items) != self.length:
            errors.add(node.mark, f"{name}: expected {self.expected}, found a list of {len(node.items)}")
            return None
        values = [value for item in node.items for value in Integer().read(item, name, errors)]
        return [value.data for value in values] if len(values) == self.length else None


@dataclass(frozen=True)
class Record(FieldType):
    """A mapping with fields of its own: a product in the product."""

    fields: tuple[Field, ...]

    noun = "mapping"

    @property
    def expected(self) -> str:
        """The names of the fields."""
        return f"a mapping with {', '.join(field.name for field in self.fields)}"

    def parse(self, node: Node, name: str, errors: Errors) -> Product | None:
        """The product."""
        if not isinstance(node, MappingNode):
            errors.add(node.mark, f"{name}: expected {self.expected}, found {node}")
            return None
        return read_product(node, self.fields, name, errors)


@dataclass(frozen=True)
class Field:
    """A key of a mapping and what may stand there."""

    name: str
    type: FieldType
    doc: str
    required: bool = False
    default: Any = None
    """The data of a field that is not given. None: the member then lacks the field. Not for a Record."""
    listable: bool = True
    """Whether a list of values may be given."""

    def read(self, node: Node, errors: Errors) -> tuple[Value, ...]:
        """The choices that a node gives; those with an error, which is noted, are left out."""
        if not self.listable and isinstance(node, ListNode) and self.type.is_choices(node):
            errors.add(node.mark, f"{self.name} takes one value, not a list; expected {self.type.expected}")
            return ()
        return self.type.read_choices(node, self.name, errors)


def read_product(
    node: MappingNode, fields: Collection[Field], what: str, errors: Errors, others: Collection[str] = ()
) -> Product:
    """The product that a mapping gives: `what` names the mapping in messages.

    Unknown keys, missing ones and wrong values are noted. `others` are keys that are known but not read.
    """
    names = [field.name for field in fields]
    meant = set()
    for key, entry in node.entries.items():
        if key in names or key in others:
            continue
        near = nearest(key, [*names, *others])
        hint = f"; did you mean {quote(near)}?" if near else f" (one of {', '.join([*names, *others])})"
        errors.add(entry.mark, f"unknown key {quote(key)} in {what}{hint}")
        meant.add(near)
    missing = [f for f in fields if f.required and f.name not in node.entries and f.name not in meant]
    if missing:
        shown = ", ".join(f"{quote(field.name)} ({field.type.expected})" for field in missing)
        errors.add(node.mark, f"{what} lacks {shown}")
    choices: dict[str, tuple[Value, ...]] = {}
    for field in fields:
        if field.name in node.entries:
            choices[field.name] = field.read(node.entries[field.name].node, errors)
        elif field.default is not None:
            choices[field.name] = (Value(field.default, node.mark),)
    return Product(node.mark, choices)
