"""The forms of a GEMM: D = A B is D^T = B^T A^T, and a packed matrix is, transposed, the same memory.

So a kernel that is given B for A and A for B, with m for n, computes the same as one of other layouts: it reads the
same bytes and writes the same bytes. And a matrix of one row or column lies in memory alike in either layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .operation import ANY

_FIELDS = {"element_a": "element_b", "element_b": "element_a", "layout_a": "layout_b", "layout_b": "layout_a"}
_EXTENTS = {"m": "n", "n": "m"}
_LAYOUTS = {"n": "t", "t": "n", ANY: ANY}
_BIASES = {"per_row": "per_column", "per_column": "per_row"}
_VECTORS = {
    "m": ("layout_a", "layout_c", "layout_d"),
    "n": ("layout_b", "layout_c", "layout_d"),
    "k": ("layout_a", "layout_b"),
}
"""The layouts of the matrices that are vectors where an extent is 1."""


def exchanged(signature: Mapping[str, Any], problem: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same with A and B exchanged: every matrix transposed, m for n, rows for columns."""
    return (
        {_FIELDS.get(name, name): _turned(name, value) for name, value in signature.items()},
        {_EXTENTS.get(name, name): value for name, value in problem.items()},
    )


def indifferent(problem: Mapping[str, Any]) -> set[str]:
    """The layouts that make no difference to a problem."""
    return {layout for extent, layouts in _VECTORS.items() if problem[extent] == 1 for layout in layouts}


def _turned(name: str, value: Any) -> Any:
    if name.startswith("layout_"):
        return _LAYOUTS[value]
    return _BIASES.get(value, value) if name == "bias" else value
