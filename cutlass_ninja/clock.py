"""The time of day, as the cache remembers it: in whole seconds since 1970, UTC."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any

_CLOCK_REALTIME_COARSE = 5  # from linux/time.h; the module time has no name for it
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def now() -> int:
    """The present moment."""
    return int(time.time())


def precisely() -> int:
    """The present moment by the clock of file time stamps, in ns: what is written from now on gets none before it.

    That clock ticks every few milliseconds, and so lags behind.
    """
    return time.clock_gettime_ns(_CLOCK_REALTIME_COARSE)


def text(moment: int) -> str:
    """A moment by ISO 8601: 2026-01-31T12:00:00Z."""
    return datetime.fromtimestamp(moment, timezone.utc).strftime(_FORMAT)


def moment(text: Any) -> int | None:
    """The moment that `text` gave; None for anything else."""
    try:
        return int(datetime.strptime(text, _FORMAT).replace(tzinfo=timezone.utc).timestamp())
    except (TypeError, ValueError):
        return None


def duration(seconds: float) -> str:
    """A time span in words: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
