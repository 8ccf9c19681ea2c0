"""Why a kernel has the key that it has: what the key is made of, and what changed since the kernel was last built."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import differences, inventory, store
from .differences import Change
from .errors import InputError
from .inventory import Entry
from .kernel import Kernel
from .keys import Identity, Keyer
from .operations import OPERATIONS
from .places import nearest
from .plan import KernelTarget
from .store import State, Status
from .toolchain import Toolchain

_SHOWN_CHANGES = 30
"""How many changes of one kind are printed."""
_UNKNOWN = "at an unknown time"


@dataclass(frozen=True)
class Explanation:
    """A kernel as it is now, beside the one of the same name that was built last."""

    target: KernelTarget
    state: State
    ingredients: Mapping[str, Any]
    record: Mapping[str, Any]
    """The build.json of this key; empty if there is none."""
    before: Mapping[str, Any]
    """The build.json of the key that was built last; empty if there is none, or it is this one."""
    changes: Sequence[Change]

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        kernel = self.target.kernel
        return {
            "label": self.target.label,
            "name": kernel.name,
            "operation": kernel.operation,
            "arch": kernel.arch,
            "key": self.target.key,
            "state": self.state.status.value,
            "reason": self.state.reason,
            "log": self._log(),
            "built_at": self.record.get("built_at"),
            "compile_time_s": self.record.get("compile_time_s"),
            "before": {"key": self.before["key"], "built_at": self.before.get("built_at")} if self.before else None,
            "changes": [change.to_json() for change in self.changes],
            "config": dict(kernel.config),
            "ingredients": dict(self.ingredients),
        }

    def lines(self) -> list[str]:
        """What is printed."""
        return [self.target.label, *(f"  {line}" for line in [*self._state(), *self._changes(), *self._made_of()])]

    def _state(self) -> list[str]:
        key = f"key {self.target.key}"
        match self.state.status:
            case Status.CACHED:
                return [f"cached: {key}, {_when(self.record)}"]
            case Status.FAILED:
                tried = self.record.get("built_at", _UNKNOWN)
                return [f"failed: {self.state.reason}", f"log: {self._log()}", f"{key}, tried {tried}"]
            case Status.DAMAGED:
                return [f"damaged: {self.state.reason}", f"{key}, is built again"]
            case _:
                return [f"to build: {key}" + ("" if self.before else "; never built here")]

    def _changes(self) -> list[str]:
        if not self.before:
            return []
        lines = [f"changed since key {self.before['key']}, {_when(self.before)}:"]
        for kind in dict.fromkeys(change.kind for change in self.changes):
            changes = [change for change in self.changes if change.kind == kind]
            lines += [f"  {change}" for change in changes[:_SHOWN_CHANGES]]
            if more := len(changes[_SHOWN_CHANGES:]):
                lines.append(f"  {more} more changes of this kind, which --json names: {kind}")
        if not self.changes:
            lines.append("  nothing that was recorded: another version of cutlass-ninja made the key")
        return lines

    def _made_of(self) -> list[str]:
        made = self.ingredients
        headers = hashlib.sha256(json.dumps(made["headers"], sort_keys=True).encode()).hexdigest()
        environment = [f"{name}={value}" for name, value in made["environment"].items()]
        return [
            "made of:",
            f"  toolchain    {', '.join(differences.tools(made['toolchain']))}",
            f"  flags        {' '.join(made['flags'])}",
            f"  link flags   {' '.join(made['link_flags'])}",
            *([f"  environment  {' '.join(environment)}"] if environment else []),
            f"  sources      {', '.join(made['sources'])}",
            f"  headers      {len(made['headers'])}, digest {headers[:20]}",
            f"  runtime      {made['runtime']}",
        ]

    def _log(self) -> str | None:
        return f"{store.folder(self.target)}/{store.LOG}" if self.record else None


def find(name: str, kernels: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """Of the kernels by label the one that is called so, or all that have this CUTLASS name. Raises InputError."""
    if name in kernels:
        return {name: kernels[name]}
    found = {label: kernel for label, kernel in kernels.items() if kernel.name == name}
    if not found:
        near = nearest(name, kernels)
        hint = f"; did you mean {near}?" if near else ""
        raise InputError(f"error: none of the {len(kernels)} kernels is called {name}{hint}")
    return found


def explain(kernels: Mapping[str, Kernel], tools: Toolchain) -> list[Explanation]:
    """An explanation for each of the kernels by label. The build folder is the current one; all is read anew."""
    keyer = Keyer(tools)
    return [_explain(label, kernel, keyer) for label, kernel in kernels.items()]


def _explain(label: str, kernel: Kernel, keyer: Keyer) -> Explanation:
    identity, runtime = keyer.kernel(kernel), keyer.runtime(kernel.arch)
    memory_bytes = OPERATIONS[kernel.operation].cost(kernel.config).memory_bytes
    target = KernelTarget(label, identity.key, runtime.key, memory_bytes, kernel)
    state = store.examine(target)
    record = Entry(kernel.name, identity.key).record() if state.status in (Status.CACHED, Status.FAILED) else {}
    before = _last_built(target) if state.status in (Status.MISSING, Status.FAILED) else {}
    changes = _changes(before, kernel, identity, runtime) if before else []
    return Explanation(target, state, identity.ingredients, record, before, changes)


def _last_built(target: KernelTarget) -> Mapping[str, Any]:
    """The build.json of the most like among the kernels of the same name that were built, then the latest."""
    kernel = target.kernel
    others = (entry.record() for entry in inventory.kernels_of(kernel.name) if entry.key != target.key)

    def likeness(record: Mapping[str, Any]) -> tuple[bool, bool, bool, str]:
        kind = record.get("operation") == kernel.operation and record.get("arch") == kernel.arch
        return (
            kind,
            record.get("config") == kernel.config,
            record.get("label") == target.label,
            str(record.get("built_at", "")),
        )

    built = (record for record in others if record.get("status") == "built" and isinstance(record.get("inputs"), dict))
    return max(built, key=likeness, default={})


def _changes(before: Mapping[str, Any], kernel: Kernel, identity: Identity, runtime: Identity) -> list[Change]:
    old, new = before["inputs"], identity.ingredients
    changes = differences.of_kernels(old, new, before.get("config", {}), kernel.config)
    if old.get("runtime") != runtime.key:
        changes += _runtime_changes(str(old.get("runtime")), runtime, changes)
    return changes


def _runtime_changes(old: str, runtime: Identity, known: Sequence[Change]) -> list[Change]:
    """What of the runtime library changed beside what changed for the kernel, too."""
    inputs = Entry("", old).record().get("inputs")
    if not isinstance(inputs, dict):
        return [Change("runtime", "", old, runtime.key)]
    found = differences.of_runtimes(inputs, runtime.ingredients)
    return [change for change in found if change not in known]


def _when(record: Mapping[str, Any]) -> str:
    return f"built {record.get('built_at', _UNKNOWN)} in {record.get('compile_time_s', '?')} s"
