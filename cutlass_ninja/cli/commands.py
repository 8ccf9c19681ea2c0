"""The commands beside the one without a name, which generates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from . import cache_key, check, doctor, explain, listing, prune


@dataclass(frozen=True, slots=True)
class Command:
    """One command, with what the help of `cutlass-ninja` says of it."""

    arguments: str
    summary: str
    run: Callable[[Sequence[str]], int]


COMMANDS: Mapping[str, Command] = {
    "check": Command("MANIFEST...", "validate only", check.run),
    "list": Command("MANIFEST...", "kernels with key and state", listing.run),
    "explain": Command("KERNEL", "what its key is made of, and what changed since it was last built", explain.run),
    "prune": Command("[MANIFEST...]", "shrink the cache by age, size or manifest", prune.run),
    "cache-key": Command("MANIFEST...", "what a CI cache should be keyed on", cache_key.run),
    "doctor": Command("", "what was found, what is missing, how to get it", doctor.run),
}
