"""Cutting one program out of the assembly that g++ -S writes for a batch (GNU as, "Assembler Directives").

The file must have been compiled with -ffunction-sections and -fdata-sections.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .pieces import Piece, Pieces

_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_LABEL = re.compile(r"([A-Za-z_.$][\w.$]*):")
_SECTION = re.compile(r"\s*\.(?:section\s+([^\s,]+)|text\s*$|data\s*$|bss\s*$)")
_CONSTANTS = re.compile(r'\s*\.section\s+\S*?\.((?:str\d+\.\d+)|cst\d+),"a(MS?)G?",@progbits,(\d+)')
_ALIGNMENT = re.compile(r"\s*\.(?:p2|b)?align\b")
_FUNCTION = re.compile(r"\s*\.type\s+([\w.$]+), [@%]function")
_ATTRIBUTE = re.compile(r"\s*\.(?:globl|weak|hidden|local|internal|protected)\s+([\w.$]+)\s*$")
_WHOLE = re.compile(r"\s*\.(?:comm|set)\s+([\w.$]+)")
_DROPPED = re.compile(r"\s*\.(?:file|ident)\b|\s*$")
_INITIALIZERS = re.compile(r"\s*\.section\s+\.init_array\b")
_INITIALIZER = re.compile(r"_GLOBAL__sub_I_[\w.$]+")
_INITIALIZES = re.compile(rf"{_INITIALIZER.pattern}|_Z\d+__static_initialization_and_destruction_\w+|\.L.*")
_LOCAL_LABEL = re.compile(r"\.L[A-Z]*\d+\b")
_STREAMS = "_ZStL8__ioinit"  # what makes std::cerr usable, defined by <iostream> wherever it is included
_END = '\t.section\t.note.GNU-stack,"",@progbits\n'


class Gas:
    """The assembly of a batch."""

    def __init__(self, text: str) -> None:
        self._attributes: dict[str, str] = {}
        pieces = [_piece(lines) for lines in _groups(text.splitlines(), self._attributes)]
        self._initializers = [piece for piece in pieces if _INITIALIZERS.match(piece.text)]
        self._pieces = Pieces(pieces)
        named = dict.fromkeys(name for piece in self._initializers for name in piece.uses)
        self._initializing = [name for name in named if _INITIALIZER.fullmatch(name)]

    @property
    def refused(self) -> str:
        """Why no program can be cut out: anything but <iostream> is to be initialized before it starts, and a batch has
        one initializer for all of its programs. Else empty.
        """
        reached = (name for piece in self._pieces.reached(self._initializing) for name in piece.names)
        unknown = (name for name in reached if name != _STREAMS and not _INITIALIZES.fullmatch(name))
        return next((f"{name} is initialized before main" for name in unknown), "")

    def part(self, main: str) -> str:
        """The program whose main function is called `main` in the batch.

        Of a batch that is not refused. Raises BuildError without such a function.
        """
        pieces = [*self._pieces.reached([*self._initializing, main]), *self._initializers]
        text = "".join(self._attributes.get(name, "") for piece in pieces for name in piece.names)
        text += "".join(piece.text for piece in pieces) + _END
        return _renamed(f"\t.globl\t{main}\n{text}", main)


def _renamed(text: str, main: str) -> str:
    """The text without names that tell what else was compiled, but for what is in strings."""
    labels: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        if found["string"]:
            return found["string"]
        if found["label"]:
            return labels.setdefault(found["label"], f".L{len(labels)}")
        return "main" if found["main"] else "initialize_streams"

    strings, label, initializer = _STRING.pattern, _LOCAL_LABEL.pattern, _INITIALIZER.pattern
    pattern = rf"(?P<string>{strings})|(?P<label>{label})|(?P<main>\b{re.escape(main)}\b)|{initializer}"
    return re.sub(pattern, name, text)


def _piece(lines: list[str]) -> Piece:
    names = tuple(match[1] for pattern in (_LABEL, _WHOLE) for match in map(pattern.match, lines) if match)
    code = "\n".join(_STRING.sub("", line) for line in lines)
    uses = tuple(name for name in dict.fromkeys(_NAME.findall(code)) if name not in names)
    return Piece("".join(f"{line}\n" for line in lines), names, uses)


def _groups(lines: Iterable[str], attributes: dict[str, str]) -> Iterator[list[str]]:
    """The lines of each piece: a section's, a whole function's, or those of one constant among many.

    Attributes are taken out and put into `attributes`, by the symbols' names.
    """
    constants: dict[str, str] = {}  # the directive of each section of constants, as it is when nothing else is there
    group: list[str] = []
    section = ""
    end = ""  # the line that ends the function that the group holds the beginning of
    for line in lines:
        if attribute := _ATTRIBUTE.match(line):
            attributes[attribute[1]] = attributes.get(attribute[1], "") + f"{line}\n"
        elif _WHOLE.match(line):
            yield [line]
        elif _DROPPED.match(line):
            continue
        elif not end and (opened := _SECTION.match(line)):
            yield group
            if found := _CONSTANTS.match(line):
                constants[opened[1]] = f'\t.section\t.rodata.{found[1]},"a{found[2]}",@progbits,{found[3]}'
            section = constants.get(opened[1], "")
            group = [section or line]
        else:
            if section and (_ALIGNMENT.match(line) or _LABEL.match(line)) and _is_whole(group):
                yield group
                group = [section]
            group.append(line)
            if function := _FUNCTION.match(line):
                end = f".size\t{function[1]},"
            elif end and line.lstrip().startswith(end):
                end = ""
    yield group


def _is_whole(group: list[str]) -> bool:
    """Whether a constant has its label and its value."""
    return bool(group) and not _LABEL.match(group[-1]) and any(map(_LABEL.match, group))
