"""A profiler's process, which is asked one problem after the other.

Whatever the process does, dying, hanging or printing nonsense, it becomes a status and a reason.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from .places import printable, quote

STATUSES = ("success", "incorrect", "not_supported", "failed")
"""What a profiler says of a problem."""

_POLL_S = 0.1
_MAX_LINE = 1 << 20
_MAX_ERRORS = 1 << 16
_NO_MACHINE = 3


class LostError(Exception):
    """The process is no more, or is not to be trusted: nothing further can be asked of it."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class StoppedError(Exception):
    """The user wants to stop."""


class Session:
    """One process of a profiler. It lives until `close`, or until LostError was raised."""

    def __init__(self, command: Sequence[str], key: str, stopped: Callable[[], bool]) -> None:
        self._key = key
        self._stopped = stopped
        self._buffer = bytearray()
        # Its messages: a file without a name, so that it never waits for somebody to read them.
        self._errors = os.memfd_create("profiler")
        try:
            self._process = subprocess.Popen(
                [*command, "--problems-file=-"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._errors)
            raise LostError("failed", f"the profiler cannot be run: {error.strerror}") from None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def ask(self, problem: Mapping[str, Any], flags: Sequence[str], timeout_s: float) -> dict[str, Any]:
        """The profiler's line for one problem, measured as `flags` say. Raises LostError, StoppedError."""
        words = [*(f"--{name}={value}" for name, value in problem.items()), *flags]
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # It has died, as reading will tell.
            self._process.stdin.write((" ".join(words) + "\n").encode())
        line = self._read_line(time.monotonic() + timeout_s, timeout_s)
        try:
            answer = json.loads(line)
            trusted = (
                isinstance(answer, dict)
                and answer["status"] in STATUSES
                and answer["key"] == self._key
                and all(answer[name] == value for name, value in problem.items())
            )
        except (ValueError, KeyError, RecursionError):
            trusted = False
        if not trusted:
            self._kill()
            raise LostError("failed", f"printed what is no result: {quote(line.decode(errors='replace').strip())}")
        return dict(answer)

    def close(self) -> None:
        """End the process."""
        self._kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        os.close(self._errors)

    def _read_line(self, deadline: float, timeout_s: float) -> bytes:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if self._stopped():
                    self._kill()
                    raise StoppedError
                left = deadline - time.monotonic()
                if left <= 0 or len(self._buffer) > _MAX_LINE:
                    self._kill()
                    if left <= 0:
                        raise LostError("timed_out", f"no result after {timeout_s:g} s")
                    raise LostError("failed", f"printed {len(self._buffer)} bytes without a line break")
                if selector.select(min(left, _POLL_S)):
                    chunk = os.read(self._process.stdout.fileno(), 65536)
                    if not chunk:
                        raise self._death()
                    self._buffer += chunk
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    def _death(self) -> LostError:
        """Why the process has closed its output."""
        try:
            code = self._process.wait(timeout=10)
            self._kill_group()  # It may have left children.
        except subprocess.TimeoutExpired:
            self._kill()
            return LostError("failed", "closed its output without a result")
        message = self._last_message()
        if code < 0:
            return LostError("crashed", f"killed by {_signal_name(-code)}" + (f": {message}" if message else ""))
        if code == _NO_MACHINE:
            return LostError("not_supported", message)
        return LostError("failed", f"ended with exit status {code}" + (f": {message}" if message else ""))

    def _last_message(self) -> str:
        os.lseek(self._errors, 0, os.SEEK_SET)
        lines = os.read(self._errors, _MAX_ERRORS).decode(errors="replace").strip().splitlines()
        return printable(lines[-1].removeprefix("error: "))[:500] if lines else ""

    def _kill(self) -> None:
        if self._process.returncode is None:
            self._kill_group()
            self._process.wait()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
