"""cache/bin: the current profilers by their labels."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from . import scratch
from .files import writing
from .plan import KernelTarget
from .store import CACHE, PROFILER, State, Status

BIN = CACHE + "/bin"
"""The folder of the links, relative to the build folder."""


def link(target: KernelTarget) -> None:
    """Make cache/bin/<label> the link to a kernel's profiler. Raises BuildError."""
    try:
        current = os.readlink(f"{BIN}/{target.label}")
    except OSError:
        current = ""
    if current != _text(target):
        with writing(BIN), _lock():
            _set(target)


def link_current(targets: Iterable[KernelTarget], states: Mapping[str, State]) -> None:
    """Make cache/bin hold a link for each target that is cached and none for those that are not.

    Links that lead nowhere are removed; those of other builds stay. Writes only what differs. Raises BuildError.
    """
    by_label = {target.label: target for target in targets}
    wanted = {label: target for label, target in by_label.items() if states[target.key].status is Status.CACHED}
    try:
        with os.scandir(BIN) as entries:
            found = {entry.name: os.readlink(entry) for entry in entries if entry.is_symlink()}
    except FileNotFoundError:
        found = {}
    wrong = [target for label, target in wanted.items() if found.get(label) != _text(target)]
    # One that leads to the right key is another's who has just built it.
    stale = [
        name
        for name in found
        if name not in wanted and (_is_dead(name) or (name in by_label and found[name] != _text(by_label[name])))
    ]
    if not wrong and not stale:
        return
    with writing(BIN), _lock():
        for name in stale:
            with suppress(FileNotFoundError):
                os.unlink(f"{BIN}/{name}")
        for target in wrong:
            _set(target)


def _text(target: KernelTarget) -> str:
    return f"../kernels/{target.kernel.name}/{target.key}/{PROFILER}"


def _is_dead(name: str) -> bool:
    """Whether a link leads nowhere, or is what a kill left of one."""
    return name.startswith(".") or not os.path.exists(f"{BIN}/{name}")


@contextmanager
def _lock() -> Iterator[None]:
    os.makedirs(BIN, exist_ok=True)
    descriptor = os.open(BIN, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while not scratch.lock(descriptor):
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _set(target: KernelTarget) -> None:
    temporary = f"{BIN}/.new"
    with suppress(FileNotFoundError):
        os.unlink(temporary)
    os.symlink(_text(target), temporary)
    os.replace(temporary, f"{BIN}/{target.label}")
