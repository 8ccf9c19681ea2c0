"""One sweep at a time on each GPU: two would measure each other.

The lock is an flock on a file in the machine's folder for temporary files, one for each GPU, which all users share: the
kernel drops it with the process, however that ends.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from .contenders import Gpu
from .scratch import lock

_POLL_S = 0.1


@contextmanager
def hold(gpus: Sequence[Gpu], say: Callable[[str], None]) -> Iterator[None]:
    """Have these GPUs to oneself among the sweeps of this machine.

    Waits, and says so, for as long as another sweep has one of them. What cannot be locked is not waited for: `say` is
    told why.
    """
    with ExitStack() as held:
        # Always in the same order, so that no two sweeps wait for each other.
        for gpu in sorted(gpus, key=lambda gpu: gpu.place.gpu_uuid):
            try:
                descriptor = _open(path(gpu))
                held.callback(os.close, descriptor)
                _wait(descriptor, gpu, say)
            except OSError as error:
                say(f"nothing keeps other sweeps off GPU {gpu.ordinal}: {path(gpu)}: {error.strerror}")
        yield


def path(gpu: Gpu) -> str:
    """The file that is locked for a GPU."""
    return os.path.join(tempfile.gettempdir(), f"cutlass-ninja-{gpu.place.gpu_uuid}.lock")


def _wait(descriptor: int, gpu: Gpu, say: Callable[[str], None]) -> None:
    if lock(descriptor):
        return
    say(f"waiting: another cutlass-ninja measures on GPU {gpu.ordinal} ({gpu.place.gpu})")
    while not lock(descriptor):
        time.sleep(_POLL_S)


def _open(path: str) -> int:
    """Open the file, which may be another user's, or create it for all users."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        try:
            # Without O_CREAT, which Linux forbids for others' files in /tmp (fs.protected_regular).
            return os.open(path, flags)
        except FileNotFoundError:
            try:
                descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
            except FileExistsError:
                continue
            os.fchmod(descriptor, 0o444)  # Whatever the umask is.
            return descriptor
