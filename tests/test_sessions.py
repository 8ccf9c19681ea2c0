"""The processes of several kernels: in which order they are started and ended."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from cutlass_ninja.contenders import Contender
from cutlass_ninja.session import LostError, Session
from cutlass_ninja.sessions import Waiting, one_after_the_other

CALM = (sys.executable, "-c", "import sys; sys.stdin.read()")
KERNELS = [Contender(name, name, "gemm", "sm_80", {}, CALM) for name in "abcd"]


class Log:
    """What was started and ended, in order: `+a`, `-a`."""

    def __init__(self, missing: str = "") -> None:
        self.entries: list[str] = []
        self._missing = missing

    def start(self, contender: Contender) -> Session:
        self.entries.append(f"+{contender.key}")
        if contender.key == self._missing:
            raise LostError("failed", "it is missing")
        entries = self.entries

        class Told(Session):
            def close(self) -> None:
                entries.append(f"-{contender.key}")
                super().close()

        return Told(contender.command, contender.key, lambda: False)


def used(log: Log, ahead: int) -> list[str]:
    """What happens if each process is used for a while."""
    for session in one_after_the_other(log.start, KERNELS, ahead):
        if isinstance(session, LostError):
            log.entries.append(str(session))
            continue
        with session:
            log.entries.append("use")
    return log.entries


def test_a_process_is_started_when_it_is_needed() -> None:
    assert used(Log(), 0) == ["+a", "use", "-a", "+b", "use", "-b", "+c", "use", "-c", "+d", "use", "-d"]


def test_the_next_process_may_be_started_before_one_is_used() -> None:
    assert used(Log(), 1) == ["+a", "+b", "use", "-a", "+c", "use", "-b", "+d", "use", "-c", "use", "-d"]


def test_what_cannot_be_started_is_told_in_its_turn() -> None:
    assert used(Log("b"), 1) == ["+a", "+b", "use", "-a", "+c", "it is missing", "+d", "use", "-c", "use", "-d"]


def test_those_that_wait_are_ended_with_the_iterator() -> None:
    log = Log()
    sessions = one_after_the_other(log.start, KERNELS, 2)
    first = next(sessions)
    sessions.close()
    assert log.entries == ["+a", "+b", "+c", "-b", "-c"]
    assert isinstance(first, Session)
    first.close()


@pytest.mark.parametrize(("most", "entries"), [(2, "+a +b"), (1, "+a +b -a +a -b")])
def test_the_process_that_has_waited_longest_ends_first(most: int, entries: str) -> None:
    log = Log()
    waiting = Waiting(log.start, most)
    for kernel in (KERNELS[0], KERNELS[1], KERNELS[0]):
        waiting.of(kernel)
    assert " ".join(log.entries) == entries
    waiting.close()
    assert Counter(entry[1:] for entry in log.entries if entry[0] == "-") == Counter(
        entry[1:] for entry in log.entries if entry[0] == "+"
    )
