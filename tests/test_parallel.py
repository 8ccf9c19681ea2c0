"""Work that is shared among processes comes to the same as work that is not."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from cutlass_ninja.parallel import in_parts


def doubled(items: Sequence[int]) -> list[str]:
    return [f"{2 * item} ä" for item in items]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100_000])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_order_is_that_of_the_items(count: int, parts: int) -> None:
    assert in_parts(doubled, range(count), parts) == doubled(range(count))


def test_other_processes_take_part() -> None:
    assert len(set(in_parts(lambda items: [str(os.getpid())] * len(items), range(6), 3))) == 3


def test_what_a_process_does_not_finish_is_done_here() -> None:
    here = os.getpid()

    def only_here(items: Sequence[int]) -> list[str]:
        if os.getpid() != here:
            raise MemoryError
        return doubled(items)

    assert in_parts(only_here, range(5), 2) == doubled(range(5))


def test_an_error_is_raised_here() -> None:
    def refusing(items: Sequence[int]) -> list[str]:
        if 4 in items:
            raise ValueError("four")
        return doubled(items)

    with pytest.raises(ValueError, match="four"):
        in_parts(refusing, range(5), 2)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
