"""What build.ninja runs: this folder, with `kernel KEY...`, `runtime KEY`, `generate ARG...`, `profile` or `clean`.

It is run by its path and not with -m, which would put the build folder first in the module search path: a file
`types.py` that happens to lie there would be taken for Python's own.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE_PARENT = os.path.dirname(os.path.dirname(_HERE))

if sys.path and os.path.abspath(sys.path[0]) == _HERE:
    del sys.path[0]
if _PACKAGE_PARENT not in sys.path:
    sys.path.append(_PACKAGE_PARENT)


def main(arguments: list[str]) -> int:
    """Runs one edge; gives its exit code."""
    if arguments[:1] == ["generate"]:
        from cutlass_ninja import cli

        return cli.main(arguments[1:], by_ninja=True)
    if arguments == ["profile"]:
        from cutlass_ninja import cli

        return cli.main(arguments)
    if arguments == ["clean"]:
        from cutlass_ninja import scratch

        scratch.sweep()
        return 0
    from cutlass_ninja import compile

    return compile.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
