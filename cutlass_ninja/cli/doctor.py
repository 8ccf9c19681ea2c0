"""`cutlass-ninja doctor`: what this machine has and lacks."""

from __future__ import annotations

from collections.abc import Sequence

from .. import doctor
from ..errors import MachineError
from .arguments import add_tools, parser


def run(arguments: Sequence[str]) -> int:
    """The command `doctor`. Raises CutlassNinjaError."""
    parsed = parser("doctor", "What was found on this machine, what is missing, and how to get it.")
    add_tools(parsed)
    options = parsed.parse_args(arguments)
    findings = doctor.examine(options.nvcc, options.cutlass)
    for finding in findings:
        print(finding)
    return MachineError.exit_code if any(finding.blocks for finding in findings) else 0
