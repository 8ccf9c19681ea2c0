"""The store: cache/ and everything in it. The only module that writes there.

A kernel or a runtime library lies in a folder whose name is its key. The folder appears by one rename, with all that
belongs to it, and nothing is written into it afterwards. What failed to compile is remembered in the same way: a folder
without the product, whose build.json says why.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from . import scratch
from .files import is_at, make_folders, write_atomically, writing
from .plan import KernelTarget, RuntimeTarget

CACHE = scratch.CACHE
PLAN = Path(CACHE, "plan.json")
"""Where the plan of the build lies."""
INDEX = CACHE + "/index.json"
"""The products whose content has been verified, by key: a product that has not been touched since is not read again."""

PROFILER = "profiler"
LIBRARY = "libcutlass_ninja.a"
RECORD = "build.json"
LOG = "build.log"
_HIDDEN = ".hidden"

Target = KernelTarget | RuntimeTarget


class Status(Enum):
    """What the store holds for a key; the value is how users read it."""

    CACHED = "cached"
    MISSING = "to build"
    FAILED = "failed"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class State:
    """A status, with the reason for a failure or what the damage is."""

    status: Status
    reason: str = ""


_CACHED = State(Status.CACHED)
_MISSING = State(Status.MISSING)


def is_writable() -> bool:
    """Whether the cache can be written to, as one that was mounted read-only cannot, or can be made."""
    return os.access(CACHE, os.W_OK) or not os.path.exists(CACHE)


def kernel_dir(name: str, key: str) -> str:
    """The folder of a kernel, relative to the build folder."""
    return f"{CACHE}/kernels/{name}/{key}"


def runtime_dir(key: str) -> str:
    """The folder of a runtime library, relative to the build folder."""
    return f"{CACHE}/runtime/{key}"


def folder(target: Target) -> str:
    """The folder of a kernel or a runtime library, relative to the build folder."""
    if isinstance(target, KernelTarget):
        return kernel_dir(target.kernel.name, target.key)
    return runtime_dir(target.key)


def product(target: Target) -> str:
    """The name of what a target's folder holds when it has been built: the profiler or the library."""
    return PROFILER if isinstance(target, KernelTarget) else LIBRARY


def recorded_as(target: Target) -> str:
    """The field of build.json that holds the digest of a target's product."""
    return "executable" if isinstance(target, KernelTarget) else "library"


def digest(path: str) -> dict[str, Any]:
    """A product as build.json records it: its sha256, its size in bytes, and the stat by which it is recognised."""
    with open(path, "rb") as file:
        # hashlib.file_digest came with Python 3.11.
        sha256 = hashlib.sha256()
        while block := file.read(1 << 20):
            sha256.update(block)
        found = os.fstat(file.fileno())
    return {"sha256": sha256.hexdigest(), "bytes": found.st_size, "stat": _mark(found)}


def examine(target: Target) -> State:
    """What the store holds for one target, looked at closely."""
    path = folder(target)
    found: os.stat_result | None
    try:
        found = os.stat(f"{path}/{product(target)}")
    except (FileNotFoundError, NotADirectoryError):
        found = _recalled(target)
    try:
        record = json.loads(Path(path, RECORD).read_bytes())
    except FileNotFoundError:
        return _MISSING if found is None else State(Status.DAMAGED, f"{RECORD} is missing")
    except (OSError, ValueError):
        return State(Status.DAMAGED, f"{RECORD} cannot be read")
    if not isinstance(record, dict) or record.get("key") != target.key:
        return State(Status.DAMAGED, f"{RECORD} is not of this key")
    if record.get("status") == "failed" and found is None:
        return State(Status.FAILED, str(record.get("reason", "")))
    damage = _damage(target, found, record.get(recorded_as(target)) if record.get("status") == "built" else None)
    return State(Status.DAMAGED, damage) if damage else _CACHED


def survey(targets: Iterable[Target]) -> dict[str, State]:
    """What the store holds for each target, by key. Fast for what has not been touched since it was last verified."""
    index = _read_index()
    before = dict(index)
    states: dict[str, State] = {}
    names = _names_of_kernels()
    for target in targets:
        if isinstance(target, KernelTarget) and target.kernel.name not in names:
            states[target.key] = _MISSING
            index.pop(target.key, None)
            continue
        path = folder(target)
        try:
            mark = _mark(os.stat(f"{path}/{product(target)}")) + _mark(os.stat(f"{path}/{RECORD}"))
        except OSError:
            mark = None
            if not os.path.lexists(path):
                states[target.key] = _MISSING
                index.pop(target.key, None)
                continue
        if mark is not None and index.get(target.key) == mark:
            states[target.key] = _CACHED
            continue
        state = states[target.key] = examine(target)
        if state is _CACHED and mark is not None:
            index[target.key] = mark
        else:
            index.pop(target.key, None)
    if index != before:
        _write_index(index)
    return states


def repair(targets: Iterable[Target], states: Mapping[str, State]) -> list[str]:
    """Remove what is damaged, so that ninja, which looks no further than that a file exists, builds it again.

    Gives the keys of what was removed. Raises BuildError if the cache cannot be written to.
    """
    damaged = [target for target in targets if states[target.key].status is Status.DAMAGED]
    return [target.key for target in damaged if discard(folder(target))]


def forget_failures(targets: Sequence[Target]) -> list[str]:
    """Remove the records of failed compiles, so that they are tried again. Gives their keys."""
    states = survey(targets)
    failed = [target for target in targets if states[target.key].status is Status.FAILED]
    return [target.key for target in failed if discard(folder(target))]


def discard(path: str) -> bool:
    """Remove the folder of one key. False if it is not there, or somebody is building it right now."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        if not (scratch.lock(descriptor) and is_at(descriptor, path)):
            return False
        _remove(path)
        return True
    finally:
        os.close(descriptor)


def tidy(keys: Collection[str]) -> None:
    """Remove what kills left in the cache, and from the index all but these keys. Raises BuildError."""
    scratch.sweep_stages()
    for path in [*Path(CACHE).glob("kernels/*/*"), *Path(CACHE).glob("runtime/*")]:
        with suppress(OSError):
            if not os.listdir(path):
                discard(str(path))
    for path in Path(CACHE).glob("kernels/*"):
        with suppress(OSError):
            os.rmdir(path)
    index = _read_index()
    kept = {key: mark for key, mark in index.items() if key in keys}
    if kept != index:
        _write_index(kept)


@contextmanager
def claim(target: Target, pause: Callable[[], None]) -> Iterator[State]:
    """Be the only one who builds a target: gives its state, CACHED or FAILED, or MISSING for the one who must build it.

    Waits for whoever is building it, calling `pause` again and again, which may raise. What is damaged is removed. The
    lock is held on the target's folder itself, so that it leaves nothing behind. Raises BuildError.
    """
    path = folder(target)
    while True:
        descriptor = _open(path)
        try:
            while not scratch.lock(descriptor):
                pause()
                time.sleep(0.05)
            if not is_at(descriptor, path):
                continue  # Whoever built it has published: a new folder has taken the place of this one.
            state = examine(target)
            if state.status in (Status.MISSING, Status.DAMAGED) and os.listdir(path):
                _remove(path)
                continue
            try:
                yield state
            finally:
                _remove_if_empty(path)
            return
        finally:
            os.close(descriptor)


def publish(staged: str, target: Target) -> None:
    """Make a finished folder, which must be complete, that of a target claimed as MISSING, by one rename.

    Raises BuildError; then nothing is published.
    """
    path = folder(target)
    with writing(CACHE):
        try:
            os.rename(staged, path)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with scratch.stage() as held:
                copy = held.path + "/out"
                os.mkdir(copy)
                for name in os.listdir(staged):
                    shutil.copy2(f"{staged}/{name}", f"{copy}/{name}")
                os.rename(copy, path)


def hide(target: Target) -> None:
    """Keep a product that is there from ninja, which removes the outputs of what it interrupts. Whoever examines the
    target next puts it back.
    """
    path = f"{folder(target)}/{product(target)}"
    with suppress(OSError):
        os.rename(path, path + _HIDDEN)


def _recalled(target: Target) -> os.stat_result | None:
    """A product that was hidden, in its place again; None if there is none."""
    path = f"{folder(target)}/{product(target)}"
    try:
        os.rename(path + _HIDDEN, path)
        return os.stat(path)
    except OSError:
        return None


def _damage(target: Target, found: os.stat_result | None, recorded: Any) -> str:
    """What is wrong with a product, compared with what its build.json recorded; empty if nothing is."""
    name = product(target)
    if not isinstance(recorded, dict):
        return f"{RECORD} does not describe a built {name}"
    if found is None:
        return f"{name} is missing"
    if found.st_size != recorded.get("bytes"):
        return f"{name} has {found.st_size} bytes, not {recorded.get('bytes')}"
    if name == PROFILER and not found.st_mode & 0o100:
        return f"{name} is not executable"
    if _mark(found) == recorded.get("stat"):
        return ""
    try:
        same = digest(f"{folder(target)}/{name}")["sha256"] == recorded.get("sha256")
    except OSError:
        return f"{name} cannot be read"
    return "" if same else f"{name} is not what was built: its sha256 differs"


def _mark(found: os.stat_result) -> list[int]:
    """What changes when a file is written to, replaced, or made executable."""
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _names_of_kernels() -> frozenset[str]:
    """The names of kernels that the cache holds anything of."""
    try:
        return frozenset(os.listdir(f"{CACHE}/kernels"))
    except OSError:
        return frozenset()


def _read_index() -> dict[str, list[int]]:
    try:
        index = json.loads(Path(INDEX).read_bytes())
    except (OSError, ValueError):
        return {}
    return index if isinstance(index, dict) else {}


def _write_index(index: Mapping[str, list[int]]) -> None:
    # Only a shortcut: a cache that cannot be written to serves without it.
    with suppress(OSError):
        write_atomically(Path(INDEX), json.dumps(index, separators=(",", ":")) + "\n")


def _open(path: str) -> int:
    """A descriptor of a key's folder, which is made if it is not there. Raises BuildError."""
    with writing(CACHE):
        for _ in range(100):
            # Whoever gave up building something of the same name may just be removing these folders.
            with suppress(FileNotFoundError):
                make_folders(path)
                return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _remove(path: str) -> None:
    """Make a folder disappear in one step, then remove it; its lock is held."""
    with scratch.stage() as held, writing(CACHE):
        os.rename(path, held.path + "/old")
    _remove_if_empty(os.path.dirname(path))


def _remove_if_empty(path: str) -> None:
    """Remove a key's folder if nothing was published in it, and its name's folder with the last key."""
    with suppress(OSError):
        os.rmdir(path)
        os.rmdir(os.path.dirname(path))
