"""`cutlass-ninja diff`: two files of results."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .. import problems, regressions
from ..regressions import LEAST, Change
from .arguments import parser, print_json, say

_DESCRIPTION = """\
What has become slower between two files of results, each a results.sqlite or what `cutlass-ninja results --export json`
printed. Kernels are matched by their configuration, so that another CUTLASS or compiler can be compared; baselines are
not compared.

A kernel is slower if its median grew by more than --least, by more than three standard errors of the difference of
the means, and by more than the half widths from the 5th to the 95th percentile of both, added as errors are. What was
dropped after a coarse pass is taken to be known to 4 % only, and what takes less than 50 us and was measured by one
process to 1 %: so much they differ from run to run."""

_EPILOG = "exit codes: 0 nothing is slower; 1 something is slower, or no longer right; 2 a file cannot be read"


def run(arguments: Sequence[str]) -> int:
    """The command `diff`. Raises CutlassNinjaError."""
    parsed = parser("diff", _DESCRIPTION, _EPILOG)
    parsed.add_argument("old", metavar="OLD")
    parsed.add_argument("new", metavar="NEW")
    parsed.add_argument(
        "--least",
        type=_percent,
        default=LEAST,
        metavar="PERCENT",
        help=f"the smallest change that counts ({100 * LEAST:g})",
    )
    parsed.add_argument("--json", action="store_true", help="print an object")
    options = parsed.parse_args(arguments)
    compared = regressions.compare(regressions.read(options.old), regressions.read(options.new), options.least)
    if options.json:
        print_json(compared.to_json())
        return 1 if compared.regressed else 0
    for word, changes in (("slower", compared.slower), ("broken", compared.broken), ("faster", compared.faster)):
        for change in changes:
            print(f"{word}  {_line(change)}")
    counts = [f"{len(compared.slower)} slower", f"{len(compared.broken)} broken", f"{len(compared.faster)} faster"]
    say(", ".join([*counts, f"{compared.same} the same", f"{compared.missing} not in {options.new}"]))
    if compared.moved:
        say(f"{compared.moved} were measured on another chip of the same model, which alone may make some percent")
    return 1 if compared.regressed else 0


def _line(change: Change) -> str:
    old, new = change.old, change.new
    what = f"{old.kernel}  {problems.text(old.operation, old.problem, old.parameters)}"
    if not new.verified:
        return f"{new.status}  {what}  {new.reason}".rstrip()
    return f"{100 * change.fraction:+.1f} %  {old.median_ms:.5f} -> {new.median_ms:.5f} ms  {what}"


def _percent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1000:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a percentage, 0 or more")
    return value / 100
