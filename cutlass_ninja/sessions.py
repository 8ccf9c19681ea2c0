"""The processes of several kernels: one after the other, or all of them waiting for their turns."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable
from itertools import islice

from .contenders import Contender
from .session import LostError, Session

Start = Callable[[Contender], Session]
"""Starts a kernel's process. Raises LostError."""


def one_after_the_other(
    start: Start, contenders: Iterable[Contender], ahead: int
) -> Generator[Session | LostError, None, None]:
    """Each contender's process, or why there is none; `ahead` of the next ones have been started then.

    A process takes some tenths of a second until it can measure. Whoever takes a process closes it; the others are
    closed with the iterator.
    """
    todo = iter(contenders)
    started: deque[Session | LostError] = deque()
    try:
        while True:
            for contender in islice(todo, ahead + 1 - len(started)):
                try:
                    started.append(start(contender))
                except LostError as lost:
                    started.append(lost)
            if not started:
                return
            yield started.popleft()
    finally:
        for session in started:
            if isinstance(session, Session):
                session.close()


class Waiting:
    """Processes that are used in turns; of more than `most` the one that has waited longest ends."""

    def __init__(self, start: Start, most: int) -> None:
        self._start = start
        self._most = most
        self._open: OrderedDict[str, Session] = OrderedDict()

    def of(self, contender: Contender) -> Session:
        """The contender's process. Raises LostError."""
        session = self._open.pop(contender.key, None) or self._start(contender)
        self._open[contender.key] = session
        if len(self._open) > self._most:
            self._open.popitem(last=False)[1].close()
        return session

    def forget(self, contender: Contender) -> None:
        """End the contender's process."""
        if session := self._open.pop(contender.key, None):
            session.close()

    def close(self) -> None:
        """End all."""
        while self._open:
            self._open.popitem()[1].close()
