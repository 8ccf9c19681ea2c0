"""The operation kinds. A kind is one module here, its templates, and its problem in the runtime.

`OPERATIONS` is all that the rest of the program knows of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import conv2d, gemm
from .operation import Cost, Operation, Violation

OPERATIONS: Mapping[str, Operation] = {operation.kind: operation for operation in (gemm.OPERATION, conv2d.OPERATION)}

__all__ = ["OPERATIONS", "Cost", "Operation", "Violation"]
