"""cutlass-ninja: YAML kernel manifests -> CUTLASS sources -> build.ninja -> profilers in a cache keyed by content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .lookup import best

__version__ = "0.1.0"

__all__ = ["__version__", "best"]


def __getattr__(name: str) -> Any:
    """Load what is asked for, and not before: build edges have no use for it."""
    if name == "best":
        from .lookup import best

        return best
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
