"""Pieces of an assembly and what reaches what: how the part of one kernel is cut out of a batch's.

A part holds what its roots reach and nothing else, in an order that depends on nothing else: assembled, it gives the
same bytes whatever was compiled with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .errors import BuildError


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines that stand or fall together."""

    text: str
    names: tuple[str, ...]
    """What it defines."""
    uses: tuple[str, ...]
    """What it mentions, in the order of the text; names that nothing defines do no harm."""


class Pieces:
    """The pieces of one file of assembly."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._defining: dict[str, list[Piece]] = {}
        for piece in pieces:
            for name in piece.names:
                self._defining.setdefault(name, []).append(piece)

    @property
    def names(self) -> Iterable[str]:
        """All that is defined, in the order of the file."""
        return self._defining

    def reached(self, roots: Iterable[str]) -> list[Piece]:
        """What the roots reach, each piece before those that use it, where that is possible.

        Raises BuildError for a root that is not there.
        """
        order: dict[int, Piece] = {}
        begun: set[int] = set()
        for root in roots:
            if root not in self._defining:
                raise BuildError(f"error: the compiled batch has no {root}")
            # Depth first: a piece waits below what it uses until that is done.
            waiting = [(piece, False) for piece in reversed(self._defining[root])]
            while waiting:
                piece, done = waiting.pop()
                if done:
                    order[id(piece)] = piece
                elif id(piece) not in begun:
                    begun.add(id(piece))
                    waiting.append((piece, True))
                    used = [each for name in piece.uses for each in self._defining.get(name, ())]
                    waiting += [(each, False) for each in reversed(used)]
        return list(order.values())
