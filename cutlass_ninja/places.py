"""Places in a manifest, and the errors found at them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from .errors import ManifestError


def printable(text: str) -> str:
    """The text with what is not printable, line breaks among it, as escapes: it stays one line."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def quote(text: str) -> str:
    """The text in quotes for a message: on one line, and cut when it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Of the names the one that `name` was probably meant to be."""
    if len(name) > 60:
        return None
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.55)
    return by_lower[close[0]] if close else None


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{printable(self.file)}:{self.line}:{self.column}"


class Errors:
    """The errors found in one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: dict[tuple[int, int, str], str] = {}

    def add(self, mark: Mark, message: str) -> None:
        """Note an error. What an alias repeats is noted once."""
        line = f"{mark}: error: {printable(message)}"
        self._found.setdefault((mark.line, mark.column, message), line)

    def fail(self, mark: Mark, message: str) -> NoReturn:
        """Note an error after which the file cannot be read on, and raise all."""
        self.add(mark, message)
        raise self._exception()

    def check(self, others: Iterable[str] = ()) -> None:
        """Raise ManifestError with a line for each error, in the order of their places, if there is any; `others` are
        lines of other files, to come after them.
        """
        lines = [*(str(self._exception()).splitlines() if self._found else ()), *others]
        if lines:
            raise ManifestError("\n".join(lines))

    def _exception(self) -> ManifestError:
        in_order = sorted(self._found.items(), key=lambda found: found[0][:2])
        return ManifestError("\n".join(line for _, line in in_order))
