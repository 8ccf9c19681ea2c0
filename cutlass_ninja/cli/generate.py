"""`cutlass-ninja MANIFEST...`: writes build.ninja."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from .. import clock, generate, store
from ..arch import ARCHS, NATIVE
from ..generate import Generated
from ..store import Status
from .arguments import add_generator, build_folder, counted, parser, print_json, request, say, say_skipped
from .commands import COMMANDS
from .listing import rows

_DESCRIPTION = (
    "Expand kernel manifests into CUTLASS sources and a build.ninja that compiles a profiler for each kernel."
)


def run(arguments: Sequence[str], by_ninja: bool) -> int:
    """The command without a name, called by the user or by ninja. Raises CutlassNinjaError."""
    parsed = parser("", _DESCRIPTION, _epilog())
    add_generator(parsed)
    options = parsed.parse_args(arguments)
    asked = request(options)
    folder = build_folder(options.folder, create=True)
    started = clock.precisely()
    previous = None if options.retry_failed else generate.previous(asked, folder)
    if previous:
        plan, skipped = previous.plan, previous.skipped
        os.chdir(folder)
    else:
        selection = generate.select(asked)
        tools = generate.find_toolchain(asked, selection)
        template = generate.read_template(asked)
        plan, skipped = generate.plan(asked, selection, tools, folder), selection.skipped
        os.chdir(folder)
        if options.retry_failed:  # Before it is planned what is compiled together.
            store.forget_failures([*plan.kernels, *plan.runtimes])
        generate.write(asked, selection, plan, template, started)
    generated = generate.settle(asked, plan, started, by_ninja)
    say(plan.toolchain.summary())
    say_skipped(skipped)
    _report(generated)
    if options.json:
        print_json(rows({target.label: target.kernel for target in plan.kernels}, plan, generated.states))
    return 0


def _epilog() -> str:
    calls = {name: f"{name} {command.arguments}".rstrip() for name, command in COMMANDS.items()}
    width = max(map(len, calls.values()))
    lines = [f"  {calls[name]:<{width}}   {command.summary}" for name, command in COMMANDS.items()]
    return f"""other commands, each with --help of its own:
{chr(10).join(lines)}

architectures: {NATIVE}, {", ".join(ARCHS)}
exit codes: 0 fine; 1 the work failed; 2 wrong input or call; 3 the machine lacks something"""


def _report(generated: Generated) -> None:
    if generated.repaired:
        say(f"{len(generated.repaired)} damaged files removed from the cache, to be built again")
    counts = Counter(generated.states[target.key].status for target in generated.plan.kernels)
    to_build = counts[Status.MISSING] + counts[Status.DAMAGED]
    failed = (
        f", {counts[Status.FAILED]} failed before (--retry-failed compiles them again)" if counts[Status.FAILED] else ""
    )
    say(
        f"{counted(len(generated.plan.kernels), 'kernel')}: {counts[Status.CACHED]} cached, {to_build} to build{failed}"
    )
