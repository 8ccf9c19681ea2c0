"""Scratch folders: one to each compile, private, gone when the compile is over.

A folder is alive as long as somebody holds the flock on it: the build edge that made it, or a compiler that the edge
started and that outlived it (children inherit the lock). Whatever nobody holds is left over from a kill, and is swept.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from .files import is_at, make_folders, writing

FOLDER = "scratch"
"""Where compiles happen, relative to the build folder."""
CACHE = "cache"
"""Where finished work goes; a folder to be moved in or out is held there under a name with STAGE before it."""
STAGE = ".stage-"


@dataclass(frozen=True, slots=True)
class Held:
    """A folder of one's own: its absolute path, and the descriptor that keeps it from being swept."""

    path: str
    descriptor: int


@contextmanager
def hold(label: str, *, keep: bool = False) -> Iterator[Held]:
    """A fresh folder in scratch/ named after `label`, removed at the end unless `keep`. Raises BuildError."""
    with _hold(FOLDER, label[:100] + "-", keep) as held:
        yield held


@contextmanager
def stage() -> Iterator[Held]:
    """A fresh folder inside the cache, on its filesystem, removed at the end. Raises BuildError."""
    with _hold(CACHE, STAGE, False) as held:
        yield held


def sweep() -> None:
    """Remove everything dead in scratch/ and among the cache's staging folders, and scratch/ itself when empty."""
    _sweep(FOLDER, "")
    sweep_stages()
    _remove_if_empty(FOLDER)


def sweep_stages() -> None:
    """Remove everything dead among the cache's staging folders."""
    _sweep(CACHE, STAGE)


@contextmanager
def _hold(parent: str, prefix: str, keep: bool) -> Iterator[Held]:
    with writing(parent):
        held = _create(parent, prefix)
    try:
        yield held
    finally:
        if not keep:
            shutil.rmtree(held.path, ignore_errors=True)
        os.close(held.descriptor)
        if parent == FOLDER:
            _remove_if_empty(parent)


def _create(parent: str, prefix: str) -> Held:
    while True:
        # Between any two of these steps a sweep may take the parent or the new folder away: then start over.
        with suppress(FileNotFoundError):
            make_folders(parent)
            path = os.path.abspath(tempfile.mkdtemp(prefix=prefix, dir=parent))
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            if lock(descriptor) and is_at(descriptor, path):
                return Held(path, descriptor)
            os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Take the flock on an open file or folder unless somebody else holds it; says whether it was taken."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sweep(parent: str, prefix: str) -> None:
    try:
        names = [name for name in os.listdir(parent) if name.startswith(prefix)]
    except OSError:
        return
    for name in names:
        path = os.path.join(parent, name)
        with suppress(OSError):
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if lock(descriptor):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _remove_if_empty(path: str) -> None:
    with suppress(OSError):
        os.rmdir(path)
