"""The plan of a build -> the text of build.ninja and of compile_commands.json."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from . import commands, memory, sources, store
from .batches import Batch
from .errors import InputError
from .files import write_if_changed
from .kernel import Settings
from .plan import KernelTarget, Plan

__all__ = ["compile_commands", "escape_path", "escape_value", "render", "settle", "write_if_changed"]

_FOLDER = "@FOLDER@"
_to_json = json.JSONEncoder().encode
_EDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "edge")

_ODD = re.compile(r"[$ :|\x00-\x1f\ud800-\udfff]")
_UNWRITABLE = re.compile(r"[|\x00-\x1f\ud800-\udfff]")  # The last are what Python reads bytes as that are no UTF-8.
_SPECIAL = re.compile(r"[$ :]")
_NO_VALUE = re.compile("[\n\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Pool:
    name: str
    depth: int
    gb: str


@dataclass(frozen=True, slots=True)
class _Runtime:
    output: str
    key: str
    arch: str


class _Batch(NamedTuple):
    outputs: str
    runtime: str
    keys: str
    label: str
    pool: str


def escape_path(path: str) -> str:
    """A path as ninja reads it. Raises InputError for one that ninja cannot express."""
    if not _ODD.search(path):
        return path
    if _UNWRITABLE.search(path):
        raise InputError(f"error: the path {path!r} contains a character that ninja cannot express; rename it")
    return _SPECIAL.sub(r"$\g<0>", path)


def escape_value(text: str) -> str:
    """A variable's value as ninja reads it. Raises InputError for one of more than one line, or that is no UTF-8."""
    if found := _NO_VALUE.search(text):
        if found[0] == "\n":
            raise InputError(f"error: {text!r} contains a newline, which ninja cannot express")
        raise InputError(f"error: {text!r} is not UTF-8; rename it")
    return text.replace("$", "$$")


def render(
    template: str,
    plan: Plan,
    batches: Sequence[Batch],
    *,
    name: str = "build.ninja.in",
    builddir: str | None = store.CACHE,
    python: str = sys.executable,
    keep_scratch: bool = False,
    memory_bytes: int | None = None,
    cores: int | None = None,
) -> str:
    """The text of build.ninja by `template`, which is that of build.ninja.in; errors call it `name`.

    `builddir` is where ninja keeps its log; None: in the build folder itself. Each batch of kernels is compiled by one
    edge. The memory and the cores are those of this machine unless they are given. Raises InputError for a wrong
    template or path.
    """
    import jinja2  # Where nothing has changed, it is not needed, and importing it takes a while.

    by_key: dict[str, KernelTarget] = {}
    for target in plan.kernels:
        by_key.setdefault(target.key, target)
    folders = {name: escape_path(name) for name in {target.kernel.name for target in by_key.values()}}
    outputs = {
        key: f"{store.kernel_dir(folders[target.kernel.name], key)}/{store.PROFILER}" for key, target in by_key.items()
    }
    libraries = {one.key: escape_path(f"{store.folder(one)}/{store.LIBRARY}") for one in plan.runtimes}
    total = memory.memory_bytes() if memory_bytes is None else memory_bytes
    sizes = memory.pools([batch.memory_bytes for batch in batches], total, memory.cores() if cores is None else cores)
    pools = [
        _Pool("heavy", sizes.heavy, _gb(sizes.heavy_bytes)),
        _Pool("light", sizes.light, _gb(sizes.light_bytes)),
    ]
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)
    try:
        return environment.from_string(template).render(
            builddir=builddir,
            python=escape_value(shlex.quote(python)),
            edge=escape_value(shlex.quote(_EDGE)),
            command=escape_value(shlex.join(plan.command)),
            flags=" --keep-scratch" if keep_scratch else "",
            memory_gb=_gb(total),
            share_percent=round(memory.SHARE * 100),
            pools=[pool for pool in pools if pool.depth],
            runtimes=[_Runtime(libraries[one.key], one.key, escape_value(one.arch)) for one in plan.runtimes],
            batches=[_batch(batch, outputs, libraries) for batch in batches],
            names=_names(plan.kernels, outputs),
            outputs=" ".join(outputs.values()),
            inputs=[escape_path(path) for path in plan.inputs],
        )
    except jinja2.TemplateSyntaxError as error:
        raise InputError(f"{name}:{error.lineno}: error: {error.message}") from error
    except jinja2.TemplateError as error:
        raise InputError(f"{name}: error: {error.message}") from error


def settle(path: Path, inputs: Iterable[str], started: int) -> None:
    """Make a build.ninja that is up to date as new as its inputs, after it was written or found unchanged.

    What has changed since `started`, when reading the inputs began (in ns since 1970), may have been read before or
    after the change: it stays newer than build.ninja.

    Ninja's log remembers that the generator ran, but only if ninja ran it, only as long as the log is there, and (since
    1.12) only for inputs that are not from the future: in each other case ninja would run the generator once more, or
    every time.
    """
    newest = 0
    for name in inputs:
        with suppress(OSError):
            found = os.stat(name)
            if found.st_ctime_ns < started:
                newest = max(newest, found.st_mtime_ns)
    with suppress(OSError):  # A folder that is not ours to write to: then the generator runs more often than it must.
        current = path.stat().st_mtime_ns
        wanted = max(newest, min(current, started))
        if current != wanted:
            os.utime(path, ns=(wanted, wanted))


def compile_commands(plan: Plan) -> str:
    """The text of compile_commands.json: how clangd is to read each kernel's published source.

    Written for the current folder, which is the build folder.
    """
    directory = os.getcwd()
    texts: dict[tuple[str, Settings], list[str]] = {}  # An entry around the folder, which is all that differs.
    entries = []
    for target in plan.kernels:
        kernel = target.kernel
        if (kernel.arch, kernel.settings) not in texts:
            arguments = commands.clangd_arguments(plan.toolchain, kernel, _FOLDER)
            entry = {"directory": directory, "file": f"{_FOLDER}/{sources.ENTRY_POINT}", "arguments": arguments}
            texts[kernel.arch, kernel.settings] = _to_json(entry).split(_FOLDER)
        entries.append(_to_json(f"{directory}/{store.folder(target)}")[1:-1].join(texts[kernel.arch, kernel.settings]))
    return "[\n" + ",\n".join(entries) + "\n]\n"


def _batch(batch: Batch, outputs: Mapping[str, str], libraries: Mapping[str, str]) -> _Batch:
    targets = batch.targets
    keys = [target.key for target in targets]
    more = f" and {len(targets) - 1} more" if len(targets) > 1 else ""
    return _Batch(
        " ".join([outputs[key] for key in keys]),
        " ".join({libraries[target.runtime]: None for target in targets}),
        " ".join(keys),
        escape_value(targets[0].label + more),
        "heavy" if batch.memory_bytes > memory.HEAVY_BYTES else "light",
    )


def _names(targets: Iterable[KernelTarget], outputs: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each label with its profiler, and each CUTLASS name that is no label with all of its profilers."""
    found = {}
    by_name: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for target in targets:
        output = found[target.label] = outputs[target.key]
        by_name[target.kernel.name][output] = None
    for name in sorted(by_name.keys() - found.keys()):
        found[name] = " ".join(by_name[name])
    return [(escape_path(name), output) for name, output in found.items()]


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f}"
