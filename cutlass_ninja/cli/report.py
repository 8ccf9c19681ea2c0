"""`cutlass-ninja report`: what was measured, to look at."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import lookup, problems, results, units
from ..contests import CACHES, Query
from ..errors import BuildError, InputError
from ..files import write_atomically
from ..operations import OPERATIONS
from ..report import contents, page, rows, text, troubles
from ..report.contents import Contents
from .arguments import add_folder, add_manifests, build_folder, counted, parser, say

_DESCRIPTION = """\
One HTML file that needs no network and no other file: for each problem the ranking of the kernels with error bars and
the baseline, a heat map of tiles and stages, compile time against speed, and a roofline; the winners, what failed or
was wrong, and the environment. --text prints the same figures as tables, --csv the rankings for other programs."""

_EPILOG = "exit codes: 0 fine; 1 the file cannot be written; 2 wrong input or call"

_PAGE = "report.html"
_STDOUT = "-"


def run(arguments: Sequence[str]) -> int:
    """The command `report`. Raises CutlassNinjaError."""
    options = _parse(arguments)
    asked = problems.of_manifests(options.manifests)
    os.chdir(build_folder(options.folder, create=False))
    with results.open_results(options.results, write=False) as opened:
        measured = opened.all()
    asked += problems.given(options.problem, sorted({result.operation for result in measured}) or list(OPERATIONS))
    keys = None if options.all else lookup.keys(".")
    queries = [Query(keys, cache, options.gpu) for cache in options.cache or CACHES]
    found = contents.of_results(measured, queries, problems.once(asked), troubles.uncompiled())
    if not found.contests:
        raise InputError(_nothing(options, len(measured)))
    _write(options.output, _rendered(found, options))
    if options.output != _STDOUT:
        size = units.shown(os.path.getsize(options.output))
        what = f"{counted(len(found.kernels), 'kernel')} on {counted(len(found.contests), 'problem')}"
        say(f"{options.shown_output}: {what}, {size}")
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parsed = parser("report", _DESCRIPTION, _EPILOG)
    add_manifests(parsed, optional="everything that was measured")
    add_folder(parsed)
    parsed.add_argument(
        "--problem", action="append", default=[], metavar="m=M,n=N,...", help="this problem; [1,2] for a value: several"
    )
    parsed.add_argument("--results", default=results.RESULTS, metavar="FILE", help=f"default: {results.RESULTS}")
    parsed.add_argument("--cache", choices=CACHES, action="append", help="measured so (default: both)")
    parsed.add_argument("--gpu", default="*", metavar="GLOB", help="on GPUs of this name only")
    parsed.add_argument("--all", action="store_true", help="with kernels that the build no longer has")
    form = parsed.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="print tables")
    form.add_argument("--csv", action="store_true", help="print a line for each problem and kernel")
    parsed.add_argument(
        "--top", type=_count, default=10, metavar="N", help="kernels of a ranking in --text (10; 0: all)"
    )
    parsed.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        help=f"write this ({_STDOUT}: stdout; default: {_PAGE} in the build folder, stdout for --text and --csv)",
    )
    options = parsed.parse_args(arguments)
    if options.results != results.RESULTS:
        options.results = os.path.abspath(options.results)
    if options.output is None:
        options.output = _STDOUT if options.text or options.csv else os.path.join(options.folder, _PAGE)
    options.shown_output = os.path.normpath(options.output)
    if options.output != _STDOUT:
        options.output = os.path.abspath(options.output)
    return options


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number, 0 or more")
    return int(text)


def _rendered(found: Contents, options: argparse.Namespace) -> str:
    if options.text:
        return "\n".join(text.lines(found, options.top)) + "\n"
    return rows.as_csv(found) if options.csv else page.render(found)


def _write(output: str, rendered: str) -> None:
    if output == _STDOUT:
        sys.stdout.write(rendered)
        return
    try:
        write_atomically(Path(output), rendered)
    except OSError as error:
        raise BuildError(f"error: -o {output}: {error.strerror}; name another file") from error


def _nothing(options: argparse.Namespace, measured: int) -> str:
    if not measured:
        return f"error: {options.results}: nothing has been measured yet; run cutlass-ninja profile"
    hint = "" if options.all else "; --all takes in kernels that the build no longer has"
    return f"error: none of the {counted(measured, 'result')} in {options.results} is of the kernels asked for{hint}"
