"""Cutting one kernel out of the PTX of a batch (PTX ISA, "State Spaces, Types, and Variables", "Directives")."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .pieces import Piece, Pieces

_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_ITEM = re.compile(r"\s*\.(?:visible|weak|extern|common|entry|func|global|const|shared)\b")
_DECLARED = re.compile(
    r"\.entry\s+([\w$]+)"
    r"|\.func\s+(?:\([^)]*\)\s*)?([\w$]+)"
    r"|\.(?:global|const|shared)\b[^=;{]*?([A-Za-z_$][\w$]*)\s*(?:\[[^]]*\]\s*)*(?:[=;]|$)"
)
_LOCAL_VARIABLE = re.compile(r"\.(?:global|const)\b")
_HEADER = (".version", ".target", ".address_size")


class Ptx:
    """A PTX module: a header, and items, each of them a function or a variable."""

    def __init__(self, text: str) -> None:
        self._header = "".join(f"{line}\n" for line in text.splitlines() if line.startswith(_HEADER))
        self._pieces = Pieces(map(_piece, _items(text)))

    def part(self, entry: str) -> str:
        """The module with one entry only, what is named after it (`entry` and _), and what they use.

        What is named after it can be found by that name when the module is loaded, whatever it was before. Other
        variables that are local to the module are numbered anew: their names tell what else was compiled. Raises
        BuildError without such an entry.
        """
        roots = [entry, *(name for name in self._pieces.names if name.startswith(f"{entry}_"))]
        renamed: dict[str, str] = {}
        texts = []
        for piece in self._pieces.reached(roots):
            text = piece.text
            if _LOCAL_VARIABLE.match(text):
                (name,) = piece.names
                if name in roots:
                    text = f".visible {text}"
                else:
                    renamed[name] = f"local_{len(renamed)}"
            texts.append(text)
        text = "".join(texts)
        return f"{self._header}\n" + (_NAME.sub(lambda name: renamed.get(name[0], name[0]), text) if renamed else text)


def _items(text: str) -> Iterator[list[str]]:
    """The lines of each item, without comments."""
    lines: list[str] = []
    depth = 0
    for line in text.splitlines():
        code = line.partition("//")[0].rstrip()
        if not code or not (lines or _ITEM.match(code)):
            continue
        lines.append(code)
        depth += code.count("{") - code.count("}")
        if depth == 0 and code.endswith((";", "}")):
            yield lines
            lines = []


def _piece(lines: list[str]) -> Piece:
    text = "".join(f"{line}\n" for line in lines)
    declared = _DECLARED.search(text)
    name = next(filter(None, declared.groups()), "") if declared else ""
    return Piece(text, (name,), tuple(used for used in dict.fromkeys(_NAME.findall(text)) if used != name))
