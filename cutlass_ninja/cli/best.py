"""`cutlass-ninja best`: the fastest kernel for each problem."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from .. import choose, lookup, problems, results
from ..contests import CACHES, Query
from ..errors import InputError
from ..manifest import Problem
from ..operations import OPERATIONS
from .arguments import (
    add_folder,
    add_manifests,
    build_folder,
    current_request,
    parser,
    print_json,
    say,
)
from .choices import table

_DESCRIPTION = """\
The fastest kernel for each problem, out of what `cutlass-ninja profile` measured: only kernels whose results were
verified count. A line for each combination of types and layouts, and for each GPU model.

factor: the time of the baseline (cuBLASLt) over that of the kernel. ties: kernels that may be as fast; the difference
is within chance or 0.5 %. exchanged: the kernel computes the transposed problem, which lies in the same memory: call
it for the problem that is named, with A and B exchanged."""

_EPILOG = "exit codes: 0 fine; 1 a problem has no verified kernel; 2 wrong input or call"


def run(arguments: Sequence[str]) -> int:
    """The command `best`. Raises CutlassNinjaError."""
    options = _parse(arguments)
    asked = problems.of_manifests(options.manifests)
    folder = build_folder(options.folder, create=False)
    os.chdir(folder)
    with results.open_results(options.results, write=False) as opened:
        asked += problems.given(options.problem, opened.operations() or list(OPERATIONS))
        if not asked:
            asked = _problems_of_build()
        measured = lookup.relevant(opened, asked, options.predict)
    query = Query(None if options.all else lookup.keys("."), options.cache, options.gpu)
    choices = choose.best(measured, asked, query, predict=options.predict)
    if options.json:
        print_json([choice.to_json() for choice in choices])
    else:
        print("\n".join(table(choices)))
    without = [choice for choice in choices if choice.winner is None]
    for choice in without:
        hint = "" if options.predict or choice.wrong else "; cutlass-ninja profile measures it, --predict guesses"
        say(f"no verified kernel for {problems.text(choice.operation, choice.problem)}{hint}")
    return 1 if without else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parsed = parser("best", _DESCRIPTION, _EPILOG)
    add_manifests(parsed, optional="the problems of the build folder's build.ninja")
    add_folder(parsed)
    parsed.add_argument(
        "--problem", action="append", default=[], metavar="m=M,n=N,...", help="this problem; [1,2] for a value: several"
    )
    parsed.add_argument("--results", default=results.RESULTS, metavar="FILE", help=f"default: {results.RESULTS}")
    parsed.add_argument("--cache", choices=CACHES, default="cold", help="measured so")
    parsed.add_argument("--gpu", default="*", metavar="GLOB", help="on GPUs of this name only")
    parsed.add_argument("--all", action="store_true", help="kernels count that the build no longer has, too")
    parsed.add_argument("--predict", action="store_true", help="guess from the nearest problems what was not measured")
    parsed.add_argument("--json", action="store_true", help="print an array of objects")
    options = parsed.parse_args(arguments)
    if options.results != results.RESULTS:
        options.results = os.path.abspath(options.results)
    return options


def _problems_of_build() -> list[Problem]:
    """Those of the manifests of the build in the current folder; none, which means all, where there is no build."""
    try:
        parsed = argparse.Namespace(manifests=(), archs=(), nvcc=None, cutlass=None)
        manifests = list(current_request(parsed).manifests)
    except InputError:
        return []
    return problems.of_manifests(manifests) if all(map(os.path.exists, manifests)) else []
