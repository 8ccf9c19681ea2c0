"""Making the cache smaller: what goes, and why."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import clock, inventory, links, store, used
from .inventory import Entry
from .plan import Plan
from .units import shown

_ORPHANED = "no kernel that stays was linked with it"


@dataclass(frozen=True, slots=True)
class Limits:
    """What may stay; None does not limit."""

    max_age_s: int | None = None
    max_bytes: int | None = None
    wanted: Collection[str] | None = None
    """The keys of the kernels outside of which nothing is to stay."""


@dataclass(frozen=True, slots=True)
class Item:
    """A folder in the cache, with what decides whether it stays."""

    entry: Entry
    size: int
    used_at: int
    runtime: str = ""
    """The key of the runtime library that a kernel was linked with."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        return {
            "kind": "kernel" if self.entry.name else "runtime",
            "name": self.entry.name or None,
            "key": self.entry.key,
            "path": self.entry.path,
            "bytes": self.size,
            "used_at": clock.text(self.used_at),
        }


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes, and why."""

    item: Item
    reason: str


@dataclass(frozen=True)
class Pruned:
    """What went and what stayed."""

    dry_run: bool
    removed: list[Removal] = field(default_factory=list)
    stayed: list[Item] = field(default_factory=list)
    busy: list[Item] = field(default_factory=list)
    """Of what stayed: what should have gone, but is being built or linked."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "dry_run": self.dry_run,
            "removed": [{**removal.item.to_json(), "reason": removal.reason} for removal in self.removed],
            "removed_bytes": _bytes(removal.item for removal in self.removed),
            "stayed": len(self.stayed),
            "stayed_bytes": _bytes(self.stayed),
            "busy": [item.entry.path for item in self.busy],
        }

    def lines(self) -> list[str]:
        """What is printed: the total, after a line for each folder if this is only what would be done."""
        lines = []
        if self.dry_run:
            for removal in self.removed:
                lines.append(f"{shown(removal.item.size):>9}  {removal.item.entry.path}  {removal.reason}")
        lines += [f"{item.entry.path} stays: it is in use" for item in self.busy]
        removed = _total(removal.item for removal in self.removed)
        verbs = ("would be removed", "would stay") if self.dry_run else ("removed", "stay")
        return [*lines, f"{removed} {verbs[0]}, {_total(self.stayed)} {verbs[1]}"]


def prune(limits: Limits, builds: Iterable[Plan], now: int, *, dry_run: bool) -> Pruned:
    """Remove what is beyond the limits from the cache of the current folder, or only say what that would be.

    What belongs to one of the builds counts as used now, and their runtime libraries stay. Raises BuildError.
    """
    builds = list(builds)
    current = {target.key for build in builds for target in build.kernels}
    needed = {target.key for build in builds for target in build.runtimes}
    items = take_stock(current | needed, now)
    removals = choose(items, limits, needed, now)
    chosen = {removal.item for removal in removals}
    pruned = Pruned(dry_run, stayed=[item for item in items if item not in chosen])
    held: set[str] = set()
    for removal in removals:
        item = removal.item
        if dry_run or (item.entry.key not in held and _discard(item.entry)):
            pruned.removed.append(removal)
        else:
            pruned.stayed.append(item)
            pruned.busy.append(item)
            held.add(item.runtime)
    if not dry_run:
        keys = {item.entry.key for item in pruned.stayed} | current | needed
        store.tidy(keys)
        links.link_current((), {})
        used.keep_only(keys)
    return pruned


def take_stock(current: Collection[str], now: int) -> list[Item]:
    """All kernels and runtime libraries in the cache; the current keys are used now."""
    moments = used.read()
    items = []
    for entry in [*inventory.kernels(), *inventory.runtimes()]:
        if not entry.files():
            continue  # Just being built, or left over from what was.
        record = entry.record()
        known = max(moments.get(entry.key, 0), clock.moment(record.get("built_at")) or 0)
        used_at = now if entry.key in current else min(known, now)
        items.append(Item(entry, entry.size(), used_at, str(record.get("runtime", ""))))
    return items


def choose(items: Sequence[Item], limits: Limits, needed: Collection[str], now: int) -> list[Removal]:
    """What goes: kernels beyond the limits, and runtime libraries that neither they nor the builds `needed` hold.

    If the size is limited, kernels go in the order of their last use until what stays fits. A runtime library comes
    after all kernels that were linked with it.
    """
    reasons = {item: _reason(item, limits, now) for item in items if item.entry.name}
    runtimes = {item.entry.key: item for item in items if not item.entry.name}
    removals = [Removal(item, reason) for item, reason in reasons.items() if reason]
    kept = [item for item, reason in reasons.items() if not reason]
    linked = Counter(item.runtime for item in kept)
    orphans = [item for key, item in runtimes.items() if not linked[key] and key not in needed]
    removals += [Removal(item, _ORPHANED) for item in orphans]
    if limits.max_bytes is None:
        return removals
    excess = _bytes(kept) + _bytes(runtimes.values()) - _bytes(orphans) - limits.max_bytes
    for item in sorted(kept, key=lambda item: (item.used_at, item.entry.path)):
        if excess <= 0:
            break
        removals.append(Removal(item, f"least recently used, {clock.text(item.used_at)}"))
        excess -= item.size
        linked[item.runtime] -= 1
        runtime = runtimes.get(item.runtime)
        if runtime and not linked[item.runtime] and item.runtime not in needed:
            removals.append(Removal(runtime, _ORPHANED))
            excess -= runtime.size
    return removals


def _discard(entry: Entry) -> bool:
    """Remove a folder; False if somebody is building it right now. Raises BuildError."""
    return store.discard(entry.path) or not os.path.exists(entry.path)


def _reason(item: Item, limits: Limits, now: int) -> str:
    """Why a kernel goes whatever the size is; empty if it stays."""
    if limits.wanted is not None and item.entry.key not in limits.wanted:
        return "not in the build"
    if limits.max_age_s is not None and now - item.used_at > limits.max_age_s:
        return f"last used {clock.text(item.used_at)}"
    return ""


def _bytes(items: Iterable[Item]) -> int:
    return sum(item.size for item in items)


def _total(items: Iterable[Item]) -> str:
    """How many of what, and how large, in words."""
    items = list(items)
    kernels = sum(1 for item in items if item.entry.name)
    counts = [_count(kernels, "kernel", "kernels")]
    if runtimes := len(items) - kernels:
        counts.append(_count(runtimes, "runtime library", "runtime libraries"))
    return f"{' and '.join(counts)} ({shown(_bytes(items))})"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
