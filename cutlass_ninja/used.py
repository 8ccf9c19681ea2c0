"""cache/used.json: when builds last used what lies in the cache.

It is kept beside what it speaks of, so that it comes along when the cache is saved and restored, as time stamps do not.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from .files import write_atomically
from .store import CACHE

_FILE = Path(CACHE, "used.json")
_COARSENESS_S = 3600


def read() -> dict[str, int]:
    """The last use of each key, as a moment."""
    try:
        found = json.loads(_FILE.read_bytes())
    except (OSError, ValueError):
        return {}
    return {key: at for key, at in found.items() if isinstance(at, int)} if isinstance(found, dict) else {}


def note(keys: Iterable[str], now: int) -> None:
    """Remember that these keys are used now; writes nothing if that was noted less than an hour ago."""
    found = read()
    fresh = {key: now for key in keys if not 0 <= now - found.get(key, -_COARSENESS_S) < _COARSENESS_S}
    if fresh:
        _write({**found, **fresh})


def keep_only(keys: Collection[str]) -> None:
    """Forget all other keys."""
    found = read()
    kept = {key: at for key, at in found.items() if key in keys}
    if kept != found:
        _write(kept)


def _write(moments: Mapping[str, int]) -> None:
    # A cache that cannot be written to serves without it; then its age counts from when it was built.
    with suppress(OSError):
        write_atomically(_FILE, json.dumps(moments, separators=(",", ":")) + "\n")
