"""What can go wrong, by the exit code that it gives."""

from __future__ import annotations


class CutlassNinjaError(Exception):
    """Any failure that is reported to the user in its own words, without a traceback."""

    exit_code = 1


class BuildError(CutlassNinjaError):
    """The work failed: a kernel did not compile, or a file could not be written."""

    exit_code = 1


class CrashError(BuildError):
    """A compiler crashed or ran out of memory, which one kernel of a batch, or their number, may be the cause of."""


class InputError(CutlassNinjaError):
    """The call or a path on the command line is wrong."""

    exit_code = 2


class ManifestError(InputError):
    """A manifest is wrong: one line `file:line:column: error: ...` for each thing found in it."""


class MachineError(CutlassNinjaError):
    """The machine lacks something: no nvcc, no CUTLASS, no GPU. Names the remedy."""

    exit_code = 3
