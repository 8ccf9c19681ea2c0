"""`cutlass-ninja check`: validates manifests."""

from __future__ import annotations

from collections.abc import Sequence

from .. import generate
from ..generate import Request
from .arguments import add_archs, add_manifests, counted, parser, say_skipped


def run(arguments: Sequence[str]) -> int:
    """The command `check`. Raises CutlassNinjaError."""
    parsed = parser("check", "Validate manifests; compile and write nothing.")
    add_manifests(parsed)
    add_archs(parsed)
    options = parsed.parse_args(arguments)
    selection = generate.select(Request(options.manifests, tuple(options.archs)))
    say_skipped(selection.skipped)
    print(f"{counted(len(selection.kernels), 'kernel')}, {counted(selection.problems, 'problem')}")
    return 0
