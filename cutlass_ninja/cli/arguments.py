"""What the commands' arguments have in common."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from .. import __version__, units
from ..arch import ARCHS, NATIVE
from ..errors import BuildError, InputError
from ..generate import Request
from ..kernel import BATCHED, WAYS
from ..places import nearest
from ..plan import Plan
from ..store import PLAN

_LEAST_MEMORY = 1_000_000_000


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"error: {message} (see {self.prog} --help)")


def parser(command: str, description: str, epilog: str | None = None) -> argparse.ArgumentParser:
    """The parser of a command. It raises InputError."""
    return _Parser(
        prog=f"cutlass-ninja {command}".strip(),
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_manifests(to: argparse.ArgumentParser, *, optional: str = "") -> None:
    """MANIFEST...; `optional` says what is meant without any, where that is allowed."""
    help = "a YAML manifest; several are one build" + (f" (default: {optional})" if optional else "")
    to.add_argument("manifests", nargs="*" if optional else "+", metavar="MANIFEST", help=help)


def add_folder(to: argparse.ArgumentParser) -> None:
    """-C DIR."""
    to.add_argument("-C", dest="folder", default=".", metavar="DIR", help="the build folder (default: here)")


def add_archs(to: argparse.ArgumentParser) -> None:
    """--arch."""
    to.add_argument(
        "--arch",
        dest="archs",
        action="extend",
        type=_archs,
        default=[],
        metavar="ARCH[,ARCH]",
        help="compile for these instead of the manifests' own",
    )


def add_only(to: argparse.ArgumentParser) -> None:
    """--only."""
    to.add_argument("--only", action="append", default=[], metavar="GLOB", help="keep kernels of this name only")


def add_tools(to: argparse.ArgumentParser) -> None:
    """--cutlass and --nvcc."""
    to.add_argument("--cutlass", metavar="DIR", help="a CUTLASS checkout, or its include folder")
    to.add_argument("--nvcc", metavar="PATH", help="nvcc, or a CUDA toolkit's folder")


def add_compile(to: argparse.ArgumentParser) -> None:
    """--compile."""
    to.add_argument(
        "--compile",
        choices=WAYS,
        help="batched (the default): related kernels together, device and host halves apart; single: each by one nvcc",
    )


def add_generator(to: argparse.ArgumentParser) -> None:
    """All that the generator takes."""
    add_manifests(to)
    add_folder(to)
    add_archs(to)
    add_only(to)
    add_tools(to)
    add_compile(to)
    to.add_argument("--template", metavar="FILE", help="use this instead of build.ninja.in")
    to.add_argument("--keep-scratch", action="store_true", help="leave every compile's scratch folder behind")
    to.add_argument(
        "--memory",
        type=_memory,
        metavar="SIZE",
        help="let compiles run at once as on a machine with so much memory: 64G (default: what this one has)",
    )
    to.add_argument("--retry-failed", action="store_true", help="compile again what failed with the same key")
    to.add_argument("--json", action="store_true", help="print the kernels as JSON, as `list --json` does")
    to.add_argument("--version", action="version", version=f"cutlass-ninja {__version__}")


def request(options: argparse.Namespace) -> Request:
    """What parsed arguments ask for."""
    return Request(
        manifests=tuple(options.manifests),
        archs=tuple(options.archs),
        only=tuple(getattr(options, "only", ())),
        nvcc=options.nvcc,
        cutlass=options.cutlass,
        template=getattr(options, "template", None),
        keep_scratch=getattr(options, "keep_scratch", False),
        compile=getattr(options, "compile", None) or BATCHED,
        memory_bytes=getattr(options, "memory", None),
    )


def _memory(text: str) -> int:
    try:
        size = units.size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < _LEAST_MEMORY:
        raise argparse.ArgumentTypeError(f"{text!r}: expected at least {units.shown(_LEAST_MEMORY)}, which nvcc needs")
    return size


def current_request(options: argparse.Namespace) -> Request:
    """What the build in the current folder was generated from, with these options over it. Raises InputError."""
    parsed = parser("", "")
    add_generator(parsed)
    current = request(parsed.parse_args(current_plan().command))
    asked = request(options)
    return replace(
        current,
        archs=asked.archs or current.archs,
        nvcc=asked.nvcc or current.nvcc,
        cutlass=asked.cutlass or current.cutlass,
        compile=getattr(options, "compile", None) or current.compile,
    )


def current_plan() -> Plan:
    """The plan of the build in the current folder. Raises InputError without one."""
    try:
        return Plan.read(PLAN)
    except BuildError:
        raise InputError(
            f"error: here is no build ({PLAN} is missing or of another version); name manifests, or its folder with -C"
        ) from None


def build_folder(folder: str, *, create: bool) -> str:
    """The build folder, absolute. Raises InputError for one that cannot be."""
    if create:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise InputError(f"error: -C {folder}: {error.strerror}; name a folder") from error
    elif not os.path.isdir(folder):
        raise InputError(f"error: -C {folder}: there is no such folder")
    return os.path.abspath(folder)


def say(line: str) -> None:
    """A message."""
    print(line, file=sys.stderr)


def say_skipped(skipped: Iterable[str]) -> None:
    """A message for each family that lost members."""
    for line in skipped:
        say(line)


def counted(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_json(value: Any) -> None:
    """A result as JSON."""
    print(json.dumps(value, indent=1))


def _archs(text: str) -> Sequence[str]:
    names = text.split(",")
    for name in names:
        if name not in (NATIVE, *ARCHS):
            near = nearest(name, (NATIVE, *ARCHS))
            hint = f"; did you mean {near}?" if near else ""
            raise argparse.ArgumentTypeError(
                f"unknown architecture {name!r}{hint} (one of {NATIVE}, {', '.join(ARCHS)})"
            )
    return names
