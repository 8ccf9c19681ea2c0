"""What differs between two lists of ingredients of keys, as build.json keeps them: a change for each thing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .kernel import BATCHED, SINGLE

_TOOLS = {"nvcc": "nvcc", "cudart": "cudart", "cub": "CUB", "host_compiler": "host compiler", "cutlass": "CUTLASS"}
"""The toolchain's names -> how messages call them."""

_DESCRIPTION = "description"
"""Among the digests of a kernel's sources that of its config, whose values are compared themselves."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs."""

    kind: str
    """header, flag, source, config, nvcc, ..."""
    name: str
    """Which one of its kind; empty where there is only one, or where its value says it all, as for a flag."""
    old: str | None
    """The value before; None if it was not there."""
    new: str | None
    digests: bool = False
    """Whether the values are digests, which tell people nothing."""

    def __str__(self) -> str:
        what = f"{self.kind} {self.name}".rstrip()
        if self.kind == "environment":
            return f"{what} {_set(self.old)} -> {_set(self.new)}"
        if self.old is not None and self.new is not None:
            return f"{what} changed" if self.digests else f"{what} {self.old} -> {self.new}"
        verb, value = ("removed", self.old) if self.new is None else ("added", self.new)
        return " ".join(filter(None, (self.kind, verb, self.name, "" if self.digests else value)))

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        fields = asdict(self)
        del fields["digests"]
        return {**fields, "text": str(self)}


def of_kernels(
    old: Mapping[str, Any], new: Mapping[str, Any], old_config: Mapping[str, Any], new_config: Mapping[str, Any]
) -> list[Change]:
    """What differs between the ingredients of two kernels' keys, beside their runtime libraries."""
    config = list(_values("config", old_config, new_config))
    known_sources = {_DESCRIPTION} if config else set()
    common = _common(old, new)
    return [
        *common,
        *_halves(old, new, common),
        *_flags("link flag", old.get("link_flags", ()), new["link_flags"]),
        *config,
        *_digests("source", old.get("sources", {}), new["sources"], known_sources),
        *_digests("header", old.get("headers", {}), new["headers"]),
    ]


def of_runtimes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """What differs between the ingredients of two runtime libraries' keys: first the files, each a `runtime`."""
    files = [{**inputs.get("sources", {}), **inputs.get("headers", {})} for inputs in (old, new)]
    return [*_digests("runtime", *files), *_common(old, new)]


def tools(toolchain: Mapping[str, str]) -> list[str]:
    """The tools of a key, by name and version."""
    return [f"{_TOOLS.get(name, name)} {_release(version)}" for name, version in toolchain.items()]


def words(flags: Iterable[str]) -> list[str]:
    """Flags, each with the value that follows it."""
    found: list[str] = []
    for flag in flags:
        if found and not flag.startswith("-"):
            found[-1] += " " + flag
        else:
            found.append(flag)
    return found


def _common(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """The ingredients that kernels and runtime libraries both have."""
    return [
        *_values("key format", {"": old.get("format")}, {"": new["format"]}),
        *_tools(old.get("toolchain", {}), new["toolchain"]),
        *_values("environment", old.get("environment", {}), new["environment"]),
        *_flags("flag", old.get("flags", ()), new["flags"]),
    ]


def _halves(old: Mapping[str, Any], new: Mapping[str, Any], known: Iterable[Change]) -> Iterator[Change]:
    """The way in which a kernel is compiled, and flags of its halves alone: others are `known` already."""
    yield from _values("compile", {"": _way(old)}, {"": _way(new)})
    if _way(old) != _way(new):
        return
    values = {(change.old, change.new) for change in known}
    for kind, name in (("host flag", "host_flags"), ("ptxas flag", "ptxas_flags")):
        changes = _flags(kind, old.get(name, ()), new.get(name, ()))
        yield from (change for change in changes if (change.old, change.new) not in values)


def _way(ingredients: Mapping[str, Any]) -> str:
    return BATCHED if "host_flags" in ingredients else SINGLE


def _tools(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if before and after and _release(before) != _release(after):
            before, after = _release(before), _release(after)
        yield Change(_TOOLS.get(name, name), "", before, after)


def _release(version: str) -> str:
    """A tool's version without the build that follows nvcc's."""
    return version.partition(" ")[0] if version[:1].isdigit() else version


def _flags(kind: str, old: Sequence[str], new: Sequence[str]) -> list[Change]:
    before, after = words(old), words(new)
    if sorted(before) == sorted(after):
        return [Change(kind, "", " ".join(before), " ".join(after))] if before != after else []
    changes = []
    added = list((Counter(after) - Counter(before)).elements())
    for flag in (Counter(before) - Counter(after)).elements():
        successor = next((other for other in added if _subject(other) == _subject(flag)), None)
        if successor is not None:
            added.remove(successor)
        changes.append(Change(kind, "", flag, successor))
    return changes + [Change(kind, "", None, flag) for flag in added]


def _subject(flag: str) -> str:
    """What a flag sets: what stands before its value."""
    if flag.startswith("-O"):
        return "-O"
    if flag.startswith("-D"):
        return flag.partition("=")[0]
    return flag.replace(" ", "=").partition("=")[0]


def _values(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield Change(kind, name, _shown(before), _shown(after))


def _digests(
    kind: str, old: Mapping[str, str], new: Mapping[str, str], without: Iterable[str] = ()
) -> Iterator[Change]:
    for name in sorted({*old, *new} - set(without)):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield Change(kind, name, before, after, digests=True)


def _shown(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return "x".join(map(str, value))
    return json.dumps(value)


def _set(value: str | None) -> str:
    return "unset" if value is None else repr(value)
