"""What can be measured: the built profilers of a plan, and on which GPUs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import store
from .errors import BuildError, InputError, MachineError
from .plan import KernelTarget
from .results import OURS, Place
from .store import PROFILER, RECORD, State, Status

_TIMEOUT_S = 60


@dataclass(frozen=True)
class Contender:
    """A profiler, with what results say of its kernel."""

    kernel: str
    """Its label: CUTLASS's name, with what tells it apart from others of the build that have the same."""
    key: str
    operation: str
    arch: str
    config: Mapping[str, Any]
    command: tuple[str, ...]
    """The executable, and what selects the kernel where it offers several."""
    parameters: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Its run-time parameters and their choices, the default first."""
    provider: str = OURS
    environment: Mapping[str, Any] = field(default_factory=dict)

    def choices(self, problem: Mapping[str, Any]) -> dict[str, Sequence[int]]:
        """The parameters that may be chosen for a problem: where it asks for a value itself, that alone."""
        return {
            name: choices if problem.get(name, choices[0]) == choices[0] else [problem[name]]
            for name, choices in self.parameters.items()
        }


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU, by the ordinal that CUDA gives it in this environment."""

    ordinal: int
    place: Place


def of_targets(targets: Iterable[KernelTarget], states: Mapping[str, State]) -> list[Contender]:
    """The profilers of those targets that have been built, each once, in their order."""
    built = {target.key: target for target in targets if states[target.key].status is Status.CACHED}
    return [_contender(target) for target in built.values()]


def gpus(contenders: Iterable[Contender], ordinals: Sequence[int] | None) -> list[Gpu]:
    """The machine's GPUs, or those of them that are named by `ordinals`, as the first profiler that works lists them.

    CUDA_VISIBLE_DEVICES limits and orders them, as everywhere. Raises MachineError without one, InputError for an
    ordinal that there is not, BuildError if no profiler works.
    """
    found = _listed_by_any(contenders)
    by_ordinal = {gpu.ordinal: gpu for gpu in found}
    if ordinals is None:
        return found
    for ordinal in ordinals:
        if ordinal not in by_ordinal:
            raise InputError(f"error: --devices {ordinal}: this machine has the devices {_listed(by_ordinal)}")
    return [by_ordinal[ordinal] for ordinal in dict.fromkeys(ordinals)]


def _listed_by_any(contenders: Iterable[Contender]) -> list[Gpu]:
    failures = []
    for contender in contenders:
        try:
            return _listed_by(contender)
        except BuildError as error:  # That profiler's own trouble, which costs its kernel alone.
            failures.append(error)
    raise failures[0]


def _listed_by(contender: Contender) -> list[Gpu]:
    program = contender.command[0]
    try:
        done = subprocess.run([*contender.command, "--list-devices"], capture_output=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"error: {program} cannot be run: {error}") from error
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip()
        message = told or f"error: {program} ended with exit status {done.returncode}"
        raise MachineError(message) if done.returncode == MachineError.exit_code else BuildError(message)
    try:
        return [_gpu(device) for device in json.loads(done.stdout)]
    except (ValueError, KeyError, TypeError) as error:
        raise BuildError(f"error: {program} --list-devices printed no list of devices") from error


def _gpu(device: Mapping[str, Any]) -> Gpu:
    driver = device["driver_version"] or f"CUDA {device['cuda_driver_version']}"
    return Gpu(device["ordinal"], Place(device["name"], device["uuid"], driver, device["cuda_runtime_version"]))


def _listed(ordinals: Iterable[int]) -> str:
    return ", ".join(map(str, ordinals))


def _contender(target: KernelTarget) -> Contender:
    folder = store.folder(target)
    record = json.loads(Path(folder, RECORD).read_bytes())
    return Contender(
        kernel=target.label,
        key=target.key,
        operation=target.kernel.operation,
        arch=target.kernel.arch,
        config=target.kernel.config,
        command=(f"{folder}/{PROFILER}",),
        parameters=(record.get("describe") or {}).get("parameters") or {},
        environment=_environment(record),
    )


def _environment(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel was built with: the versions of the tools, and what the compile cost."""
    found = {
        "toolchain": (record.get("inputs") or {}).get("toolchain") or {},
        "compile_time_s": record.get("compile_time_s"),
        "ptxas": record.get("ptxas"),
    }
    return {name: value for name, value in found.items() if value is not None}
