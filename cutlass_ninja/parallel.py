"""One function for very many items, shared among the cores by forked processes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Function = Callable[[Sequence[T]], list[str]]
"""Gives a line of text for each item."""


def in_parts(function: Function[T], items: Sequence[T], parts: int) -> list[str]:
    """What the function gives for all items: for the first part of them here, for each other one in another process.

    What a process does not bring to an end is done here, so that an error is raised here. What the function leaves in
    memory for the other parts is lost.
    """
    size = -(-len(items) // parts) or 1
    first, *others = [items[start : start + size] for start in range(0, len(items), size)] or [items]
    started = [(part, *_start(function, part)) for part in others]
    lines = function(first)
    for part, process, descriptor in started:
        with open(descriptor, encoding="utf-8", newline="\n") as pipe:
            found = pipe.read().split("\n")
        _, status = os.waitpid(process, 0)
        lines += found if status == 0 and len(found) == len(part) else function(part)
    return lines


def _start(function: Function[T], items: Sequence[T]) -> tuple[int, int]:
    """A process that writes the lines into a pipe: its id, and the pipe's descriptor."""
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        return process, reader
    status = 1
    try:
        gc.disable()  # It would look at all objects, and memory is shared only as long as nobody touches it.
        os.close(reader)
        with open(writer, "w", encoding="utf-8", newline="\n") as pipe:
            pipe.write("\n".join(function(items)))
        status = 0
    finally:
        os._exit(status)
