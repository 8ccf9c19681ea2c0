"""Running a compile's commands: output to a log, cost measured, nothing left running when the build is interrupted."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, BinaryIO

from .errors import MachineError
from .files import writing

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """The process was told to end. `exit_code` is 128 and the signal's number, as a shell has it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.exit_code = 128 + signum


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command did and what it cost."""

    returncode: int
    """Negative: the signal that ended it."""
    output: str
    """Its standard output, with standard error unless that went to the log alone."""
    cpu_time_s: float
    """User and system time of the command and of all its children."""
    peak_memory_bytes: int
    """Peak resident memory of the largest single process among the command and its children, not their sum."""


class Commands:
    """Runs commands one after the other, each in a session of its own, until this process is told to end.

    A signal never interrupts Python code at an arbitrary point: it kills the running command's whole session, and
    `check`, called between steps, raises Interrupted.
    """

    def __init__(self) -> None:
        self._signum = 0
        self._session = 0

    def check(self) -> None:
        """Raise Interrupted if this process was told to end."""
        if self._signum:
            raise Interrupted(self._signum)

    def run(
        self,
        command: Sequence[str],
        *,
        folder: str,
        environment: Mapping[str, str],
        log: BinaryIO,
        hold: int,
        errors_apart: bool = False,
    ) -> Finished:
        """Run one command in `folder`, with its command line and its output appended to `log`.

        The descriptor `hold` is inherited by the command and its children. With `errors_apart` standard error goes to
        the log only. Raises MachineError if the command cannot be started, BuildError if the log cannot be written,
        Interrupted.
        """
        self.check()
        with writing("scratch"):
            log.write(f"$ {shlex.join(command)}\n".encode())
            log.flush()
        process = self._start(command, folder, environment, hold, log if errors_apart else subprocess.STDOUT)
        output = bytearray()
        assert process.stdout is not None
        with process.stdout as pipe:
            try:
                # To the end of the pipe, not of the process: then its children have ended, too.
                while chunk := pipe.read(65536):
                    output += chunk
                    with writing("scratch"):
                        log.write(chunk)
            except BaseException:
                self._kill()
                while pipe.read(65536):
                    pass
                raise
            finally:
                _, status, usage = os.wait4(process.pid, 0)
                self._session = 0
                process.returncode = os.waitstatus_to_exitcode(status)
        self.check()
        if process.returncode:
            with writing("scratch"):
                log.write(f"# exit status {process.returncode}\n".encode())
        return Finished(
            process.returncode,
            output.decode(errors="replace"),
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024,
        )

    def _start(
        self, command: Sequence[str], folder: str, environment: Mapping[str, str], hold: int, errors: Any
    ) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                pass_fds=(hold,),
                start_new_session=True,
            )
        except OSError as error:
            raise MachineError(f"error: {command[0]} cannot be run: {error.strerror}") from error
        self._session = process.pid
        if self._signum:  # It came while the command was being started.
            self._kill()
        return process

    def interrupt(self, signum: int, frame: FrameType | None = None) -> None:
        """End the running command and start no other: the handler of the signals that end a process."""
        self._signum = signum
        self._kill()

    def _kill(self) -> None:
        if self._session:
            with suppress(ProcessLookupError):
                os.killpg(self._session, signal.SIGKILL)


@contextmanager
def running() -> Iterator[Commands]:
    """The commands of this process, which Ctrl-C and the other signals that end a process reach in the meantime."""
    commands = Commands()
    previous = {signum: signal.getsignal(signum) for signum in _SIGNALS}
    handled = [signum for signum, handler in previous.items() if handler is not signal.SIG_IGN]  # as under nohup
    for signum in handled:
        signal.signal(signum, commands.interrupt)
    try:
        yield commands
    finally:
        for signum in handled:
            signal.signal(signum, previous[signum])
