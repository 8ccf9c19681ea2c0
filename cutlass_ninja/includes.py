"""Which headers a source includes: the closure of its #includes, by content.

Conditional includes are all followed, so the closure is a superset of what one compile reads. Headers outside the given
folders (the toolkit's, the system's) are not followed: the toolchain's identity stands for them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# It begins with a literal, which is searched for ten times faster than the beginnings of lines are.
_INCLUDE = re.compile(rb'include(_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)')

Include = tuple[str, str]
"""A name between #include's delimiters, and how it is looked for: QUOTED, ANGLED or NEXT."""

QUOTED, ANGLED, NEXT = "quoted", "angled", "next"
"""Beside the includer, then in the include folders; in the include folders; in those after the includer's own."""

_Place = tuple[str, str]
"""The folder of an includer, and the include folder below which that lies."""


@dataclass(frozen=True, slots=True)
class Header:
    """One header of a closure."""

    path: str
    """Absolute."""
    name: str
    """Relative to the include folder that it was found in."""
    digest: str


@dataclass(frozen=True, slots=True)
class _File:
    digest: str
    includes: tuple[Include, ...]


def includes_of(text: bytes) -> tuple[Include, ...]:
    """The #includes of a source, in order, each once."""
    includes: dict[Include, None] = {}
    for found in _INCLUDE.finditer(text):
        line_start = text.rfind(b"\n", 0, found.start()) + 1
        if text[line_start : found.start()].translate(None, b" \t") == b"#":
            after, quoted, angled = found.groups()
            kind = NEXT if after else QUOTED if quoted else ANGLED
            includes[(quoted or angled).decode("utf-8", "replace"), kind] = None
    return tuple(includes)


class IncludeWalker:
    """Walks #includes and reads each header once in its life; a new walker reads anew."""

    def __init__(self) -> None:
        self._files: dict[str, _File | None] = {}

    def closure(self, includes: Iterable[Include], folders: tuple[str, ...]) -> tuple[Header, ...]:
        """All headers reached from these #includes through the include folders, sorted by name."""
        headers: dict[str, Header] = {}
        waiting: list[tuple[Include, _Place | None]] = [(include, None) for include in includes]
        seen = set(waiting)
        while waiting:
            include, beside = waiting.pop()
            for path, folder in self._locate(include, beside, folders):
                if path in headers:
                    continue
                file = self._read(path)
                assert file is not None
                headers[path] = Header(path, os.path.relpath(path, folder), file.digest)
                place = (os.path.dirname(path), folder)
                for further in file.includes:
                    step = (further, place)
                    if step not in seen:
                        seen.add(step)
                        waiting.append(step)
        return tuple(sorted(headers.values(), key=lambda header: (header.name, header.path)))

    def folders(self) -> set[str]:
        """The folders in which a new file could change what an #include means: where one was found or looked for."""
        nearest: dict[str, str] = {}

        def existing(folder: str) -> str:
            if folder not in nearest:
                nearest[folder] = folder if os.path.isdir(folder) else existing(os.path.dirname(folder))
            return nearest[folder]

        return {existing(os.path.dirname(path)) for path in self._files}

    def _locate(self, include: Include, beside: _Place | None, folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """The path of what is included, and the include folder below which it lies; all that NEXT may mean."""
        name, kind = include
        if kind == QUOTED and beside is not None:
            path = os.path.normpath(os.path.join(beside[0], name))
            if self._read(path) is not None:
                yield path, beside[1]
                return
        for folder in folders:
            path = os.path.normpath(os.path.join(folder, name))
            if self._read(path) is not None:
                yield path, folder
                if kind != NEXT:
                    return

    def _read(self, path: str) -> _File | None:
        """The file, or None where there is none. Remembered either way."""
        if path not in self._files:
            try:
                with open(path, "rb") as stream:
                    text = stream.read()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                self._files[path] = None
            else:
                self._files[path] = _File(hashlib.sha256(text).hexdigest(), includes_of(text))
        return self._files[path]
