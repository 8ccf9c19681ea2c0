"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import BuildError

_REMEDIES = {
    errno.ENOSPC: "free some space, then run ninja again",
    errno.EDQUOT: "free some space, then run ninja again",
    errno.EROFS: "make it writable, or build in another folder with -C",
    errno.EACCES: "make it writable, or build in another folder with -C",
    errno.EPERM: "make it writable, or build in another folder with -C",
}


@contextmanager
def writing(folder: str) -> Iterator[None]:
    """Turn what the operating system refuses while `folder` is written to into a BuildError of one line."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0)
        message = f"error: cannot write to {folder}/: {error.strerror or error}"
        raise BuildError(message + (f"; {remedy}" if remedy else "")) from error


def make_folders(path: str) -> None:
    """As os.makedirs where others remove empty folders: FileNotFoundError if one did so just now, so try again."""
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError as error:
        if os.path.islink(path) or os.path.isfile(path):
            raise
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error


def write_atomically(path: Path, text: str) -> None:
    """Replace the content of `path` in one step, one writer at a time. Raises OSError, and then leaves what was there.

    What a kill leaves beside it, the next writer takes over.
    """
    temporary = f"{path}.tmp"
    while True:
        with open(temporary, "a", encoding="utf-8", newline="\n") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not is_at(file.fileno(), temporary):
                continue  # Another writer has just moved it to its place.
            try:
                file.truncate(0)
                file.write(text)
                file.flush()
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
            return


def is_at(descriptor: int, path: str) -> bool:
    """Whether the open file or folder is still the one at `path`: others may have moved or removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def write_if_changed(path: Path, text: str) -> bool:
    """Give `path` this content and say whether that changed it; if not, its time stamp stays. Raises BuildError."""
    try:
        if path.read_bytes() == text.encode():
            return False
    except OSError:
        pass  # Not there, or not readable: writing it will tell.
    with writing(str(path.parent)):
        write_atomically(path, text)
    return True
