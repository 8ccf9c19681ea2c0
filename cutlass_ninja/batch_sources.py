"""The sources of a batch: one translation unit for the device halves of its kernels, one for their host halves.

Each kernel's files are put into a namespace of its own, with their #includes moved before all of them, and before
these the macros by which a kernel wants CUTLASS's headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from .sources import IDENTITY

DEVICE_UNIT = "batch.cu"
HOST_UNIT = "batch.cpp"

STUBS = "cutlass_ninja/host_stubs.h"
"""The header that comes first in a host unit."""

_INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<[^>]+>)')
_ONCE = re.compile(r"\s*#\s*pragma\s+once\b")
_DEFINITION = re.compile(r"#define (\w+)")
_SWITCH = re.compile(r"^#define \w+$", re.MULTILINE)
_MAIN = "cutlass_ninja_main"

Texts = Mapping[str, str]
"""A kernel's files by their names."""


def device_unit(kernels: Mapping[str, Texts]) -> str:
    """The device halves of kernels, given by their keys."""
    return _unit(kernels, "device.cu", (), ())


def host_unit(kernels: Mapping[str, Texts]) -> str:
    """The host halves of kernels, given by their keys, and what is `main` of each one's profiler: see `main_of`."""
    return _unit(kernels, "profiler.cu", ("device.cu",), (f'#include "{STUBS}"',))


def main_of(key: str) -> str:
    """The name, as g++ mangles it, of the function in a host unit that is `main` of the profiler with this key."""
    space = _namespace(key)
    return f"_ZN{len(space)}{space}{len(_MAIN)}{_MAIN}EiPPc"


def entry_of(key: str) -> str:
    """The name of a kernel's entry point; what else its device half defines has a name that begins with it and _."""
    return f"cutlass_ninja_{key}"


def keys_in(messages: str, keys: Sequence[str]) -> list[str]:
    """The kernels whose files compilers' messages mention."""
    return [key for key in keys if f"{key}/" in messages or _namespace(key) in messages]


def without_folders(message: str) -> str:
    """A compiler's message with the names that files have for a kernel that is compiled alone."""
    return re.sub(r"\b[0-9a-f]{20}/", "", message)


def _namespace(key: str) -> str:
    return f"kernel_{key}"


def _switches(texts: Texts) -> list[str]:
    """The macros that a kernel's header defines before its #includes."""
    return _SWITCH.findall(texts["kernel.h"].partition("#include")[0])


def _unit(kernels: Mapping[str, Texts], entry: str, omitted: Sequence[str], first: Sequence[str]) -> str:
    switches = dict.fromkeys(switch for texts in kernels.values() for switch in _switches(texts))
    includes = dict.fromkeys(first)
    bodies = []
    for key, texts in kernels.items():
        lines = list(_lines(texts, key, entry, {*omitted}, includes))
        macros = [f"#undef {name}" for name in (*_DEFINITION.findall(texts[IDENTITY]), "main")]
        body = [f"namespace {_namespace(key)} {{", f"#define main {_MAIN}", *lines, "}", *macros]
        bodies.append("\n".join(body))
    return "\n".join([*switches, *includes]) + "\n" + "\n".join(bodies) + "\n"


def _lines(texts: Texts, key: str, name: str, done: set[str], includes: dict[str, None]) -> Iterator[str]:
    """The lines of a file, with the kernel's other files in the places of their #includes."""
    done.add(name)
    yield f'#line 1 "{key}/{name}"'
    for number, line in enumerate(texts[name].splitlines(), 1):
        included = _INCLUDE.match(line)
        if included and included[1] in texts:
            if included[1] not in done:
                yield from _lines(texts, key, included[1], done, includes)
                yield f'#line {number + 1} "{key}/{name}"'
                continue
        elif included:
            includes[line.strip()] = None
        if included or _ONCE.match(line):
            line = ""
        yield line
