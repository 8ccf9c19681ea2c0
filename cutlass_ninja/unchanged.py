"""Whether the generator would do again what it did last time: by the content of all that it read and wrote.

It is the same answer as generating anew gives, found without expanding manifests and rendering sources.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import commands, memory, scratch, store, toolchain
from .errors import MachineError
from .files import write_atomically
from .plan import Plan
from .store import State, Status
from .toolchain import Toolchain

RECORD = f"{store.CACHE}/generated.json"
_OURS = {store.CACHE, scratch.FOLDER, "build.ninja", "compile_commands.json", ".ninja_log", ".ninja_lock"}


@dataclass(frozen=True)
class Previous:
    """What a run of the generator came to that is still right."""

    plan: Plan
    skipped: Sequence[str]
    """The lines that it printed of families that lost members."""


def find(
    command: Sequence[str], nvcc: str | None, cutlass: str | None, folder: str, outputs: Iterable[str]
) -> Previous | None:
    """The previous run in the build folder with the same command line, if nothing has changed since; else None.

    `command` is as the plan has it; `nvcc` and `cutlass` as the user gave them.
    """
    try:
        record = json.loads(Path(folder, RECORD).read_bytes())
        if record["command"] != list(command) or record["outputs"] != _contents(outputs, folder, {}):
            return None
        tools = toolchain.find(nvcc, cutlass, record["cutlass"])
        plan = Plan.read(Path(folder, store.PLAN))
    except (OSError, ValueError, KeyError, TypeError, MachineError):
        return None
    if tools != plan.toolchain or record["inputs"] != _inputs(plan, folder):
        return None
    missing = _missing(plan, folder)
    if not missing <= set(record["missing"]) or not _failed(missing, plan, folder) <= set(record["failed"]):
        return None
    return Previous(plan, tuple(record["skipped"]))


def remember(
    plan: Plan, cutlass: str | None, skipped: Sequence[str], outputs: Iterable[str], states: Mapping[str, State]
) -> None:
    """Record a run in the current folder. `cutlass` is what the manifests say; `states` are those of the kernels, by
    key: what was not in the cache is compiled in batches, without what has failed.
    """
    record = {
        "command": plan.command,
        "cutlass": cutlass,
        "skipped": skipped,
        "missing": [key for key, state in states.items() if state.status is not Status.CACHED],
        "failed": [key for key, state in states.items() if state.status is Status.FAILED],
        "inputs": _inputs(plan, "."),
        "outputs": _contents(outputs, ".", {}),
    }
    text = json.dumps(record) + "\n"
    # Only a shortcut: a cache that cannot be written to serves without it.
    with suppress(OSError):
        if not Path(RECORD).is_file() or Path(RECORD).read_text(encoding="utf-8") != text:
            write_atomically(Path(RECORD), text)


def forget() -> None:
    """Remove the record of a run in the current folder, whose result holds for that moment only."""
    with suppress(OSError):
        os.unlink(RECORD)


def _missing(plan: Plan, folder: str) -> set[str]:
    """The keys of the kernels that are not in the cache."""
    profilers = {target.key: f"{folder}/{store.folder(target)}/{store.PROFILER}" for target in plan.kernels}
    return {key for key, profiler in profilers.items() if not os.path.exists(profiler)}


def _failed(missing: Collection[str], plan: Plan, folder: str) -> set[str]:
    """Which of the missing kernels have failed to compile: ninja must not run their batch for the sake of another."""
    records = {target.key: f"{folder}/{store.folder(target)}/{store.RECORD}" for target in plan.kernels}
    return {key for key in missing if os.path.exists(records[key])}


def _inputs(plan: Plan, folder: str) -> str:
    """A digest of all that a run depends on beside its command line: files, folders' names, tools, machine."""
    binaries = _binaries(plan.toolchain)
    files = _contents((path for path in plan.inputs if path not in binaries), folder, plan.digests)
    rest: dict[str, Any] = {
        "folder": os.path.realpath(folder),
        "names": sorted(set(os.listdir(folder)) - _OURS),
        "environment": commands.keyed_environment(),
        "toolchain": asdict(plan.toolchain),
        "machine": [memory.memory_bytes(), memory.cores()],
        "writable": os.access(os.path.join(folder, store.CACHE), os.W_OK),
        "python": [sys.executable, platform.python_version(), os.path.dirname(__file__)],
    }
    return hashlib.sha256(json.dumps([files, rest], sort_keys=True).encode()).hexdigest()


def _binaries(tools: Toolchain) -> set[str]:
    """Large files that the toolchain's identity stands for."""
    return {tools.nvcc, tools.host_compiler, tools.cudart}


def _contents(paths: Iterable[str], folder: str, known: Mapping[str, str]) -> Mapping[str, str]:
    """A digest of each file's content, which may be known already, or of the names in each folder."""
    return {path: known.get(path) or _content(os.path.join(folder, path)) for path in paths}


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except IsADirectoryError:
        return hashlib.sha256("\0".join(sorted(os.listdir(path))).encode("utf-8", "surrogateescape")).hexdigest()
    except OSError:
        return ""
