"""Sizes and durations as people write them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:([KMGT])(i?))?B?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([hdw]?)", re.IGNORECASE)

_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SECONDS = {"h": 3600, "": 86400, "d": 86400, "w": 7 * 86400}


def size(text: str) -> int:
    """500M, 10G or 1.5Gi -> bytes. Raises ValueError that says what is allowed."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is no size; write bytes, or 500M or 10G (powers of 1000), or 10Gi (of 1024)")
    number, letter, binary = found.groups(default="")
    return int(float(number) * (1024 if binary else 1000) ** _POWERS[letter.upper()])


def seconds(text: str) -> int:
    """30 (days), 12h, 30d or 8w -> seconds. Raises ValueError that says what is allowed."""
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is no age; write days, or 12h, 30d or 8w")
    number, unit = found.groups()
    return int(float(number) * _SECONDS[unit.lower()])


def shown(size: int) -> str:
    """Bytes as 0 bytes, 812 kB, 1.6 MB."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
