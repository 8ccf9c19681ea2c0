"""`cutlass-ninja results`: everything that was measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .. import export_table, problems, results
from ..results import Result
from .arguments import add_folder, build_folder, parser

_DESCRIPTION = """\
Everything that was measured. --export csv has the columns of cutlass_profiler (Runtime in ms, GB/s of 2^30 bytes), then
ours; --export json has all, and is what `cutlass-ninja diff` takes beside the database itself."""


def run(arguments: Sequence[str]) -> int:
    """The command `results`. Raises CutlassNinjaError."""
    parsed = parser("results", _DESCRIPTION)
    add_folder(parsed)
    parsed.add_argument("--results", default=results.RESULTS, metavar="FILE", help=f"default: {results.RESULTS}")
    parsed.add_argument("--export", choices=("csv", "json"), help="print it for other programs")
    options = parsed.parse_args(arguments)
    path = os.path.abspath(options.results) if options.results != results.RESULTS else options.results
    os.chdir(build_folder(options.folder, create=False))
    with results.open_results(path, write=False) as opened:
        found = opened.all()
    if options.export == "csv":
        sys.stdout.write(export_table.as_csv(found))
    elif options.export == "json":
        sys.stdout.write(export_table.as_json(found))
    else:
        print("\n".join(map(_line, found)))
    return 0


def _line(result: Result) -> str:
    values = problems.text(result.operation, result.problem, result.parameters)
    time = f"{result.median_ms:.5f} ms" if result.median_ms is not None else "-"
    rate = f"{result.tflop_per_s:.1f}" if result.tflop_per_s is not None else "-"
    reason = f"  {result.reason}" if result.reason else ""
    return f"{result.status:<13} {result.precision:<6} {time:>13} {rate:>7}  {result.kernel}  {values}{reason}"
