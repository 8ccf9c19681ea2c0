"""The flags of nvcc that a manifest gives: those that it may not, since the build sets them, and what they include."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .places import Errors, quote
from .schema import Value

_OUTPUT = "the build decides where files go"
_PHASE = "the build decides what nvcc makes"
_ARCH = "use 'arch'"
_INCLUDES = "use 'include_dirs'"
_DEPENDENCIES = "the build finds the headers itself"
_KEEP = "use --keep-scratch on the command line"
_COMPILER = "the build finds the host compiler itself"
_HIDDEN = "list the flags themselves: they are part of a kernel's key"

OWNED = {
    "-o": _OUTPUT,
    "--output-file": _OUTPUT,
    "-odir": _OUTPUT,
    "--output-directory": _OUTPUT,
    "-objtemp": _OUTPUT,
    "--objdir-as-tempdir": _OUTPUT,
    "-c": _PHASE,
    "--compile": _PHASE,
    "-dc": _PHASE,
    "--device-c": _PHASE,
    "-dw": _PHASE,
    "--device-w": _PHASE,
    "-dlink": _PHASE,
    "--device-link": _PHASE,
    "-link": _PHASE,
    "--link": _PHASE,
    "-lib": _PHASE,
    "--lib": _PHASE,
    "-cuda": _PHASE,
    "--cuda": _PHASE,
    "-ptx": _PHASE,
    "--ptx": _PHASE,
    "-cubin": _PHASE,
    "--cubin": _PHASE,
    "-fatbin": _PHASE,
    "--fatbin": _PHASE,
    "-E": _PHASE,
    "--preprocess": _PHASE,
    "-run": _PHASE,
    "--run": _PHASE,
    "-dryrun": _PHASE,
    "--dryrun": _PHASE,
    "-gencode": _ARCH,
    "--generate-code": _ARCH,
    "-arch": _ARCH,
    "--gpu-architecture": _ARCH,
    "-code": _ARCH,
    "--gpu-code": _ARCH,
    "--include-path": _INCLUDES,
    "-isystem": _INCLUDES,
    "--system-include": _INCLUDES,
    "--dependency-output": _DEPENDENCIES,
    "-keep": _KEEP,
    "--keep": _KEEP,
    "-keep-dir": _KEEP,
    "--keep-dir": _KEEP,
    "-ccbin": _COMPILER,
    "--compiler-bindir": _COMPILER,
    "-optf": _HIDDEN,
    "--options-file": _HIDDEN,
}
"""Flag, without its value -> what to do instead."""
OWNED_PREFIXES = {
    "-I": _INCLUDES,
    "-M": _DEPENDENCIES,
    "--generate-dependenc": _DEPENDENCIES,
    "--generate-nonsystem-dependenc": _DEPENDENCIES,
}
"""The same for flags that their value, or more letters, may follow without a sign between."""

_PASS_ON = ("-Xcompiler", "--compiler-options")
_UNSEEN = re.compile(r"-I|-include|-imacros|-isystem|-iquote|-idirafter|@")
"""Flags of the host compiler that include what no key would cover."""

_TWO_WORDS = re.compile(r"-[^\s=]*\s.*")


def check_flags(flags: Iterable[Value], errors: Errors) -> None:
    """Note an error for each flag that the build owns and for what is no single flag or value of one."""
    before = ""
    for flag in flags:
        message = _problem(flag.data, before)
        if message:
            errors.add(flag.mark, f"nvcc_flags: {message}")
        before = flag.data


def forced_includes(flags: Sequence[str]) -> list[str]:
    """The headers that these flags have included before the source, by their names below the include folders."""
    found = []
    for flag, following in zip(flags, [*flags[1:], ""]):
        name, given, value = flag.partition("=")
        if name in ("-include", "--pre-include"):
            found += (value if given else following).split(",")
    return found


def _problem(flag: str, before: str) -> str | None:
    name = re.split(r"[=\s]", flag, maxsplit=1)[0]
    passed_on = flag if before in _PASS_ON else flag.partition("=")[2] if name in _PASS_ON else ""
    if any(_UNSEEN.match(word) for word in passed_on.split(",")):
        return f"{quote(flag)} cannot be given here: {_INCLUDES}, or -include without {_PASS_ON[0]}"
    prefix = next((prefix for prefix in OWNED_PREFIXES if flag.startswith(prefix)), "")
    remedy = OWNED.get(name) or OWNED_PREFIXES.get(prefix)
    if remedy:
        return f"{quote(flag)} cannot be given here: {remedy}"
    if _TWO_WORDS.fullmatch(flag):
        return f"{quote(flag)} is several words: make each an item of the list"
    if not flag.startswith("-") and not before.startswith("-"):
        return f"{quote(flag)} is no flag, nor does it follow one"
    return None
