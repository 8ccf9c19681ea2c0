"""`cutlass-ninja prune`: shrinks the cache."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from .. import generate, prune, units
from ..clock import now
from ..errors import InputError
from ..plan import Plan
from ..store import PLAN
from .arguments import (
    add_archs,
    add_compile,
    add_folder,
    add_manifests,
    add_only,
    add_tools,
    build_folder,
    current_plan,
    parser,
    print_json,
    request,
    say_skipped,
)

_DESCRIPTION = """\
Remove profilers from the cache: those that were not used for long, the least recently used beyond a size, those that no
manifest names, or any of these. A profiler is used when a build that it belongs to is generated; what belongs to the
folder's build, or to the given manifests, counts as used now. A harness library goes with the last profiler that was
linked with it, unless the build needs it. What is just being built stays, and so does everything that is not a profiler
or a harness library. At least one of --max-age, --max-size and --unused must be given."""

_T = TypeVar("_T")


def run(arguments: Sequence[str]) -> int:
    """The command `prune`. Raises CutlassNinjaError."""
    parsed = parser("prune", _DESCRIPTION)
    add_manifests(parsed, optional="the build folder's build")
    add_folder(parsed)
    add_archs(parsed)
    add_only(parsed)
    add_tools(parsed)
    add_compile(parsed)
    parsed.add_argument(
        "--max-age",
        type=_argument(units.seconds),
        metavar="AGE",
        help="remove what was not used for this long: days, or 12h, 30d, 8w",
    )
    parsed.add_argument(
        "--max-size",
        type=_argument(units.size),
        metavar="SIZE",
        help="remove the least recently used until the rest fits: bytes, or 500M, 10G (powers of 1000), 10Gi (of 1024)",
    )
    parsed.add_argument("--unused", action="store_true", help="remove what belongs to none of the manifests")
    parsed.add_argument("--dry-run", action="store_true", help="only say what would go")
    parsed.add_argument("--json", action="store_true", help="print an object")
    options = parsed.parse_args(arguments)
    if options.max_age is None and options.max_size is None and not options.unused:
        raise InputError("error: what is to go? name at least one of --max-age, --max-size and --unused")
    folder = build_folder(options.folder, create=False)
    given = [_plan(options, folder)] if options.manifests else []
    os.chdir(folder)
    here = [current_plan()] if (options.unused and not given) or os.path.exists(PLAN) else []
    wanted = {target.key for plan in given or here for target in plan.kernels} if options.unused else None
    limits = prune.Limits(options.max_age, options.max_size, wanted)
    pruned = prune.prune(limits, [*given, *here], now(), dry_run=options.dry_run)
    if options.json:
        print_json(pruned.to_json())
        return 0
    for line in pruned.lines():
        print(line)
    return 0


def _plan(options: argparse.Namespace, folder: str) -> Plan:
    asked = request(options)
    selection = generate.select(asked)
    say_skipped(selection.skipped)
    return generate.plan(asked, selection, generate.find_toolchain(asked, selection), folder)


def _argument(parse: Callable[[str], _T]) -> Callable[[str], _T]:
    """The type of an argument, whose ValueError argparse would swallow."""

    def parsed(text: str) -> _T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed
