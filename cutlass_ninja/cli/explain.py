"""`cutlass-ninja explain`: why a kernel has the key that it has."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .. import explain, generate
from .arguments import (
    add_archs,
    add_compile,
    add_folder,
    add_manifests,
    add_tools,
    build_folder,
    current_request,
    parser,
    print_json,
    request,
    say_skipped,
)

_DESCRIPTION = """\
What a kernel's key is made of, and what changed since the kernel was last built: a line for each header, flag, tool,
value of the manifest, template and part of the harness that differs. All is looked at anew; nothing is written."""


def run(arguments: Sequence[str]) -> int:
    """The command `explain`. Raises CutlassNinjaError."""
    parsed = parser("explain", _DESCRIPTION)
    parsed.add_argument("kernel", metavar="KERNEL", help="its label, or its CUTLASS name, which several may share")
    add_manifests(parsed, optional="those of the build folder's build.ninja")
    add_folder(parsed)
    add_archs(parsed)
    add_tools(parsed)
    add_compile(parsed)
    parsed.add_argument("--json", action="store_true", help="print an array of objects, one for each kernel")
    options = parsed.parse_args(arguments)
    folder = build_folder(options.folder, create=False)
    if options.manifests:
        asked = request(options)
    else:
        os.chdir(folder)
        asked = current_request(options)
    selection = generate.select(asked)
    kernels = explain.find(options.kernel, selection.kernels)
    tools = generate.find_toolchain(asked, selection)
    os.chdir(folder)
    explanations = explain.explain(kernels, tools)
    if options.json:
        print_json([explanation.to_json() for explanation in explanations])
        return 0
    say_skipped(selection.skipped)
    for explanation in explanations:
        print("\n".join(explanation.lines()))
    return 0
