"""How far the work is: one line that changes on a terminal, now and then a plain line elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

_BAR = 24
_REDRAW_S = 0.1
_PLAIN_S = 15.0


class Progress:
    """Counts the steps of one stage of the work after the other. May be used by several threads."""

    def __init__(self, stream: TextIO = sys.stderr, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._terminal = stream.isatty()
        self._lock = threading.Lock()
        self._stage = ""
        self._total = self._done = 0
        self._started = self._shown = clock()

    def begin(self, stage: str, total: int) -> None:
        """A stage of so many steps."""
        with self._lock:
            self._stage, self._total, self._done = stage, total, 0
            self._started = self._shown = self._clock()
            self._draw("")

    def step(self, what: str, steps: int = 1) -> None:
        """So many steps are done, the last of them `what`."""
        with self._lock:
            self._done += steps
            pause = _REDRAW_S if self._terminal else _PLAIN_S
            if self._done >= self._total or self._clock() - self._shown >= pause:
                self._shown = self._clock()
                self._draw(what)

    def say(self, message: str) -> None:
        """A line that stays."""
        with self._lock:
            self._clear()
            self._stream.write(message + "\n")
            self._draw("") if self._terminal and self._done < self._total else None
            self._stream.flush()

    def end(self) -> None:
        """The stage is over, whether all its steps were done or not."""
        with self._lock:
            self._clear()
            self._total = self._done = 0
            self._stream.flush()

    def _draw(self, what: str) -> None:
        if not self._total:
            return
        counts = f"{self._done}/{self._total}"
        left = f"{_clock_text(self._left())} left" if 0 < self._done < self._total else ""
        if not self._terminal:
            self._stream.write(", ".join(filter(None, (f"{self._stage}: {counts}", left))) + "\n")
        else:
            filled = _BAR * self._done // self._total
            line = f"{self._stage:<7} [{'#' * filled}{'.' * (_BAR - filled)}] {counts}  {left:<12}  {what}"
            self._stream.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
        self._stream.flush()

    def _clear(self) -> None:
        if self._terminal:
            self._stream.write("\r\x1b[K")

    def _left(self) -> float:
        return (self._clock() - self._started) / self._done * (self._total - self._done)


def _clock_text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
