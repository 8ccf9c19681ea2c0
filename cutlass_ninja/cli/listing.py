"""`cutlass-ninja list`: the kernels of manifests, with their states."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import generate, store
from ..errors import MachineError
from ..generate import Request, Selection
from ..halves import why_single
from ..kernel import BATCHED, SINGLE, Kernel
from ..plan import Plan
from ..store import State
from .arguments import (
    add_archs,
    add_compile,
    add_folder,
    add_manifests,
    add_only,
    add_tools,
    build_folder,
    parser,
    print_json,
    request,
    say,
    say_skipped,
)


def run(arguments: Sequence[str]) -> int:
    """The command `list`. Raises CutlassNinjaError."""
    parsed = parser("list", "The kernels of manifests with key and state: cached, to build, failed, damaged.")
    add_manifests(parsed)
    add_folder(parsed)
    add_archs(parsed)
    add_only(parsed)
    add_tools(parsed)
    add_compile(parsed)
    parsed.add_argument("--json", action="store_true", help="print an array of objects")
    options = parsed.parse_args(arguments)
    asked = request(options)
    selection = generate.select(asked)
    folder = build_folder(options.folder, create=False)
    plan, states = _look_up(asked, selection, folder)
    found = rows(selection.kernels, plan, states)
    if options.json:
        print_json(found)
        return 0
    say_skipped(selection.skipped)
    for row in found:
        reason = f"  {row['reason']}" if row["reason"] else ""
        print(f"{row['state']:<9} {row['key'] or '-':<20} {row['label']}{reason}")
    return 0


def rows(kernels: Mapping[str, Kernel], plan: Plan | None, states: Mapping[str, State]) -> list[dict[str, Any]]:
    """What `--json` prints: an object for each kernel. Key, state, path and way are unknown without a plan."""
    keys = {target.label: target.key for target in plan.kernels} if plan else {}
    found = []
    for label, kernel in kernels.items():
        key = keys.get(label)
        state = states[key] if key else None
        why = why_single(plan.toolchain, kernel) if plan else ""
        found.append(
            {
                "label": label,
                "name": kernel.name,
                "operation": kernel.operation,
                "arch": kernel.arch,
                "key": key,
                "state": state.status.value if state else "unknown",
                "reason": state.reason if state else "",
                "path": f"{store.kernel_dir(kernel.name, key)}/{store.PROFILER}" if key else None,
                "compile": (SINGLE if why else BATCHED) if plan else None,
                "compile_reason": why,
                "config": dict(kernel.config),
            }
        )
    return found


def _look_up(asked: Request, selection: Selection, folder: str) -> tuple[Plan | None, Mapping[str, State]]:
    """The plan and what the cache holds of it; no plan where the machine cannot compile, which keys depend on."""
    try:
        tools = generate.find_toolchain(asked, selection)
    except MachineError as error:
        say(f"{error}\nkeys and states are not known without it")
        return None, {}
    plan = generate.plan(asked, selection, tools, folder)
    os.chdir(folder)
    return plan, store.survey(plan.kernels)
