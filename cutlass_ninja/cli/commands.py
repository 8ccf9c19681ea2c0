"""The commands beside the one without a name, which generates."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One command, with what the help of `cutlass-ninja` says of it."""

    module: str
    arguments: str
    summary: str

    def run(self, arguments: Sequence[str]) -> int:
        """Its exit code. Its module is imported for this only: the generator has no use for those of the others."""
        code: int = importlib.import_module(f".{self.module}", __package__).run(arguments)
        return code


COMMANDS: Mapping[str, Command] = {
    "check": Command("check", "MANIFEST...", "validate only"),
    "list": Command("listing", "MANIFEST...", "kernels with key and state"),
    "explain": Command("explain", "KERNEL", "what its key is made of, and what changed since it was last built"),
    "profile": Command("profile", "[MANIFEST...]", "run on the GPUs, verify, store results"),
    "best": Command("best", "[MANIFEST...]", "the fastest verified kernel for each problem"),
    "results": Command("table", "", "all that was measured, as a table, CSV or JSON"),
    "report": Command("report", "", "a page to look at what was measured; tables, CSV"),
    "diff": Command("diff", "OLD NEW", "two files of results; what has become slower"),
    "prune": Command("prune", "[MANIFEST...]", "shrink the cache by age, size or manifest"),
    "cache-key": Command("cache_key", "MANIFEST...", "what a CI cache should be keyed on"),
    "doctor": Command("doctor", "", "what was found, what is missing, how to get it"),
}
