"""The command line: parses arguments, calls the rest, prints. Messages go to stderr, results to stdout.

Each command is a module with a `run`, which takes the arguments after the command's name and gives the exit code.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..errors import CutlassNinjaError, InputError
from ..places import nearest
from . import generate
from .commands import COMMANDS


def main(arguments: Sequence[str] | None = None, by_ninja: bool = False) -> int:
    """The command `cutlass-ninja`; `by_ninja` if it is the edge of build.ninja that writes this file again.

    Returns its exit code: 0 fine, 1 the work failed, 2 wrong input or call, 3 the machine lacks something.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if arguments and arguments[0] in COMMANDS:
            return COMMANDS[arguments[0]].run(arguments[1:])
        _refuse_unknown_command(arguments)
        return generate.run(arguments, by_ninja)
    except CutlassNinjaError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _forget_output()
        return 141
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _forget_output()
        print(f"error: {error.strerror}; make room, or write elsewhere", file=sys.stderr)
        return 1


def script() -> NoReturn:
    """The program `cutlass-ninja`: `main`, and the end of the process at once.

    Python would first take all kernels apart, object by object, which is a good part of the time that it takes to make
    them.
    """
    code = main()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):  # None: it was closed before the start.
            stream.flush()
    except BrokenPipeError:
        code = 141
    except OSError:
        sys.exit(code)  # Python tells what cannot be written.
    os._exit(code)


def _forget_output() -> None:
    """Have what was not written yet go nowhere, so that nothing fails to write it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse_unknown_command(arguments: Sequence[str]) -> None:
    """A word that is neither a command nor a file is more likely a misspelt command than a missing manifest."""
    word = arguments[0] if arguments else ""
    near = nearest(word, COMMANDS)
    if near and re.fullmatch(r"[a-z_-]+", word) and not os.path.exists(word):
        raise InputError(f"error: {word!r} is neither a command nor a manifest; did you mean {near!r}?")
