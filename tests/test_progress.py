"""What is seen of the work's progress, on a terminal and elsewhere."""

from __future__ import annotations

from io import StringIO

import pytest

from cutlass_ninja.progress import Progress


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def test_a_terminal_has_one_line_that_changes() -> None:
    screen, clock = Screen(), Clock()
    progress = Progress(screen, clock)
    progress.begin("coarse", 4)
    for what in ("first", "second"):
        clock.time += 30
        progress.step(what)
    last = screen.getvalue().split("\r\x1b[K")[-1]
    assert last == "coarse  [############............] 2/4  1:00 left     second"
    progress.end()
    assert screen.getvalue().endswith("\r\x1b[K") and "\n" not in screen.getvalue()


def test_a_message_stays_above_the_line() -> None:
    screen = Screen()
    progress = Progress(screen, Clock())
    progress.begin("coarse", 4)
    progress.say("crashed: a")
    assert "\r\x1b[Kcrashed: a\n\r\x1b[Kcoarse  [" in screen.getvalue()


def test_elsewhere_lines_are_plain_and_few() -> None:
    stream, clock = StringIO(), Clock()
    progress = Progress(stream, clock)
    progress.begin("full", 100)
    for _ in range(100):
        clock.time += 1
        progress.step("something")
    progress.end()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "full: 0/100" and lines[-1] == "full: 100/100"
    assert lines[1] == "full: 15/100, 1:25 left"
    assert len(lines) == 8


@pytest.mark.parametrize("stream", [StringIO(), Screen()])
def test_a_stage_of_nothing_says_nothing(stream: StringIO) -> None:
    progress = Progress(stream, Clock())
    progress.begin("full", 0)
    progress.end()
    assert stream.getvalue().replace("\r\x1b[K", "") == ""
