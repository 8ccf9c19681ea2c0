"""`python -m cutlass_ninja`: the same as `cutlass-ninja`."""

from .cli import script

script()
