"""What lies in the cache, whether a build wants it or not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .store import CACHE, RECORD, kernel_dir, runtime_dir

_KEY = re.compile(r"[0-9a-f]{20}")


@dataclass(frozen=True, slots=True)
class Entry:
    """The folder of one key."""

    name: str
    """The kernel's name; empty for a runtime library."""
    key: str

    @property
    def path(self) -> str:
        """Relative to the build folder."""
        return kernel_dir(self.name, self.key) if self.name else runtime_dir(self.key)

    def record(self) -> dict[str, Any]:
        """What build.json says; empty if it is missing or damaged."""
        try:
            found = json.loads(Path(self.path, RECORD).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def files(self) -> list[str]:
        """The names of what is in the folder; nothing while the key is being built."""
        try:
            return sorted(os.listdir(self.path))
        except FileNotFoundError:
            return []

    def size(self) -> int:
        """Bytes of all files."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                try:
                    total += os.lstat(f"{folder}/{name}").st_size
                except FileNotFoundError:
                    continue  # Somebody else prunes.
        return total


def kernels() -> Iterator[Entry]:
    """All kernels' folders, sorted."""
    for name in _folders(f"{CACHE}/kernels"):
        yield from kernels_of(name)


def kernels_of(name: str) -> Iterator[Entry]:
    """The folders of all kernels of one name, sorted by key."""
    return (Entry(name, key) for key in _folders(f"{CACHE}/kernels/{name}") if _KEY.fullmatch(key))


def runtimes() -> Iterator[Entry]:
    """All runtime libraries' folders, sorted."""
    return (Entry("", key) for key in _folders(f"{CACHE}/runtime") if _KEY.fullmatch(key))


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []
