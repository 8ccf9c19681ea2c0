"""A YAML file as nodes that know their place.

The nodes are built from PyYAML's events rather than by its constructor: every node keeps its line and column,
a scalar stays the text that was written (`no`, `1e3` and `08` are for the field's type to judge), and neither
nesting nor aliases can make a small file large.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn

import yaml

from .errors import ManifestError
from .places import Errors, Mark, nearest, printable, quote

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's parser: libyaml's where it was built, which is some ten times faster."""
MAX_DEPTH = 32
"""How deep lists and mappings may lie in each other."""
MAX_NODES = 1_000_000
"""How many values a file may hold, those that its aliases repeat counted again."""

_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class Node:
    """Something in the document; of this very class where it is an alias that stands for nothing."""

    mark: Mark


@dataclass(frozen=True, slots=True)
class ScalarNode(Node):
    """A single value, as the text that was written."""

    text: str
    quoted: bool

    @property
    def is_null(self) -> bool:
        """Whether nothing was written, or one of YAML's words for it."""
        return not self.quoted and self.text in _NULLS

    def __str__(self) -> str:
        if self.is_null:
            return "nothing"
        return quote(self.text) if self.quoted or " " in self.text or len(self.text) > 60 else self.text


@dataclass(frozen=True, slots=True)
class ListNode(Node):
    """A list."""

    items: tuple[Node, ...]

    def __str__(self) -> str:
        return "a list"


class Entry(NamedTuple):
    """A key's place and its value."""

    mark: Mark
    node: Node


@dataclass(frozen=True, slots=True)
class MappingNode(Node):
    """A mapping, merge keys resolved. A merged entry keeps the places where it was written."""

    entries: dict[str, Entry]

    def __str__(self) -> str:
        return "a mapping"


def read(path: str) -> str:
    """The text of a file. Raises ManifestError where there is none: no file, no UTF-8, control characters."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise ManifestError(f"{printable(path)}: error: no such file") from None
    except IsADirectoryError:
        message = "is a directory; name a YAML file in it"
        raise ManifestError(f"{printable(path)}: error: {message}") from None
    except OSError as error:
        raise ManifestError(f"{printable(path)}: error: cannot be read: {error.strerror}") from None
    errors = Errors(path)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:2]:
        errors.fail(Mark(path, 1, 1), "is UTF-16 or binary; save it as UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        mark = _mark_at(path, data[: error.start].decode())
        errors.fail(mark, f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8")
    control = _CONTROL.search(text)
    if control:
        mark = _mark_at(path, text[: control.start()])
        errors.fail(mark, f"control character {control[0]!r} is not allowed in YAML")
    return text


def compose(text: str, errors: Errors, loader: type = LOADER) -> Node | None:
    """The document's root node, None for a text without any.

    Errors that leave the rest readable are noted. Raises ManifestError where it is not: what is no YAML, a
    second document, what is too deep or too large.
    """
    composer = _Composer(errors)
    try:
        for event in yaml.parse(text, Loader=loader):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        if loader is not yaml.SafeLoader:
            # Once more for the message: only the pure Python parser's is the same on every machine.
            return compose(text, errors, yaml.SafeLoader)
        _fail_syntax(text, error, errors)
    return composer.root


def _mark_at(file: str, before: str) -> Mark:
    lines = _LINE_BREAK.split(before)
    return Mark(file, len(lines), len(lines[-1]) + 1)


def _fail_syntax(text: str, error: yaml.MarkedYAMLError, errors: Errors) -> NoReturn:
    place = error.problem_mark or error.context_mark
    if place is None:
        errors.fail(Mark(errors.file, 1, 1), f"is no YAML: {error}")
    line, column = place.line, place.column
    lines = _LINE_BREAK.split(text)
    written = lines[line] if line < len(lines) else ""
    indentation = written[: len(written) - len(written.lstrip())]
    if "\t" in indentation:
        mark = Mark(errors.file, line + 1, indentation.index("\t") + 1)
        errors.fail(mark, "tab used for indentation; YAML allows only spaces")
    message = error.problem or "is no YAML"
    if error.context:
        message += f" ({error.context}"
        if error.context_mark and error.context_mark.line != line:
            message += f" that begins on line {error.context_mark.line + 1}"
        message += ")"
    errors.fail(Mark(errors.file, line + 1, column + 1), message)


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been read. A mapping's items are its keys and values in turn."""

    mark: Mark
    is_list: bool
    anchor: str | None
    nodes_before: int
    items: list[Node]


class _Composer:
    """Turns events into nodes.

    An anchor keeps how many nodes lie under it: a file is found too large before anything is repeated.
    """

    def __init__(self, errors: Errors) -> None:
        self.root: Node | None = None
        self._errors = errors
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int] | None] = {}
        self._nodes = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        """Take the next event."""
        if isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor or "", self._mark(event))
        elif isinstance(event, yaml.ScalarEvent):
            mark = self._begin(event)
            node = ScalarNode(mark, event.value, bool(event.style))
            if event.anchor:
                self._anchors[event.anchor] = node, 1
            self._put(node)
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            before = self._nodes
            mark = self._begin(event)
            if len(self._open) == MAX_DEPTH:
                self._errors.fail(mark, f"lists and mappings are nested deeper than {MAX_DEPTH} levels")
            if event.anchor:
                self._anchors[event.anchor] = None
            is_list = isinstance(event, yaml.SequenceStartEvent)
            self._open.append(_Open(mark, is_list, event.anchor, before, []))
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self._close(self._open.pop())
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._errors.fail(self._mark(event), "a second document; a manifest is one document")

    def _mark(self, event: yaml.Event) -> Mark:
        start = event.start_mark
        assert start is not None, "parsed events have marks"
        return Mark(self._errors.file, start.line + 1, start.column + 1)

    def _begin(self, event: yaml.NodeEvent) -> Mark:
        mark = self._mark(event)
        self._count(1, mark)
        tag = getattr(event, "tag", None)
        if tag:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            self._errors.add(mark, f"tag {quote(shown)} has no meaning here: remove it")
        return mark

    def _count(self, nodes: int, mark: Mark) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            message = f"more than {MAX_NODES:,} values up to here, those that aliases repeat counted again"
            self._errors.fail(mark, message)

    def _put(self, node: Node) -> None:
        if self._open:
            self._open[-1].items.append(node)
        else:
            self.root = node

    def _alias(self, name: str, mark: Mark) -> None:
        anchored = self._anchors.get(name)
        if anchored is not None:
            node, nodes = anchored
            self._count(nodes, mark)
            self._put(node)
            return
        if name in self._anchors:
            message = f"alias {quote('*' + name)} is part of what it stands for"
        else:
            near = nearest(name, self._anchors)
            message = f"alias {quote('*' + name)} has no anchor {quote('&' + name)} before it"
            message += f"; did you mean {quote('*' + near)}?" if near else ""
        self._errors.add(mark, message)
        self._put(Node(mark))

    def _close(self, opened: _Open) -> None:
        node = ListNode(opened.mark, tuple(opened.items)) if opened.is_list else self._mapping(opened)
        if opened.anchor:
            self._anchors[opened.anchor] = node, self._nodes - opened.nodes_before
        self._put(node)

    def _mapping(self, opened: _Open) -> MappingNode:
        entries: dict[str, Entry] = {}
        merged: Entry | None = None
        for key, value in zip(opened.items[::2], opened.items[1::2], strict=True):
            if not isinstance(key, ScalarNode) or key.is_null:
                if type(key) is not Node:
                    self._errors.add(key.mark, f"a key must be text, found {key}")
                continue
            if isinstance(value, ScalarNode) and not value.text and not value.quoted:
                value = replace(value, mark=key.mark)  # The parsers differ on where nothing stands.
            is_merge = key.text == "<<" and not key.quoted
            first = merged if is_merge else entries.get(key.text)
            if first:
                hint = "; merge a list of mappings instead" if is_merge else ""
                message = f"duplicate key {quote(key.text)}, first on line {first.mark.line}{hint}"
                self._errors.add(key.mark, message)
            elif is_merge:
                merged = Entry(key.mark, value)
            else:
                entries[key.text] = Entry(key.mark, value)
        if merged:
            for name, entry in self._merged(merged.node):
                entries.setdefault(name, entry)
        return MappingNode(opened.mark, entries)

    def _merged(self, node: Node) -> Iterator[tuple[str, Entry]]:
        for source in node.items if isinstance(node, ListNode) else (node,):
            if isinstance(source, MappingNode):
                yield from source.entries.items()
            elif type(source) is not Node:
                message = f"<<: expected a mapping or a list of mappings, found {source}"
                self._errors.add(source.mark, message)
