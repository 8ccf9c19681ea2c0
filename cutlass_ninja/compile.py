"""The build edge: compiles what build.ninja asks for and publishes it, complete, or says in one line why not.

    python cutlass_ninja/edge kernel KEY...
    python cutlass_ninja/edge runtime KEY

Runs in the build folder and finds everything else in the plan that the generator left there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from . import clock, commands, diagnostics, links, scratch, store
from .errors import BuildError, CutlassNinjaError
from .files import writing
from .jobs import Job, job_of, label
from .keys import Identity
from .plan import KernelTarget, Plan
from .process import Commands, Finished, Interrupted, running

FORMAT = 1
"""The number of build.json's format."""
ATTEMPTS = 3
"""How often a compile is repeated when a header was touched in the middle of it without having changed."""
KEEP = "CUTLASS_NINJA_KEEP_SCRATCH"
"""The environment variable that has the same meaning as --keep-scratch."""


@dataclass(frozen=True)
class Outcome:
    """What the commands of a job came to: an empty reason means that they built it."""

    reason: str
    figures: Mapping[str, Any]


def build(job: Job, runner: Commands, keep: bool) -> None:
    """Have the job's target in the store, whoever builds it. Raises BuildError, MachineError, Interrupted."""
    with store.claim(job.target, runner.check) as state:
        if state.status is store.Status.FAILED:
            hint = f"  recorded; {job.retry} compiles it again"
            raise BuildError("\n".join([*_failure(job, state.reason), hint]))
        if state.status is store.Status.MISSING:
            _build_claimed(job, runner, keep)


def main(arguments: Sequence[str] | None = None) -> int:
    """The build edge. Returns an exit code: 0 built, 1 not, 3 a tool is missing, 128 and more after a signal."""
    parser = argparse.ArgumentParser(prog="cutlass_ninja/edge", description="The build edge.")
    parser.add_argument("kind", choices=("kernel", "runtime"))
    parser.add_argument("keys", metavar="KEY", nargs="+")
    parser.add_argument("--keep-scratch", action="store_true", default=bool(os.environ.get(KEEP)))
    options = parser.parse_args(arguments)
    code = 0
    try:
        with running() as runner:
            plan = Plan.read(store.PLAN)
            if not options.keep_scratch:
                scratch.sweep()
            for target in _targets(plan, options.kind, options.keys):
                try:
                    _build_target(plan, target, runner, options.keep_scratch)
                except CutlassNinjaError as error:
                    print(f"{label(target)}: {error}", file=sys.stderr)
                    code = max(code, error.exit_code)
                except OSError as error:
                    print(f"{label(target)}: error: {error.filename}: {error.strerror}", file=sys.stderr)
                    code = max(code, 1)
    except CutlassNinjaError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except Interrupted as interrupted:
        return interrupted.exit_code
    return code


def _targets(plan: Plan, kind: str, keys: Sequence[str]) -> Sequence[store.Target]:
    if kind == "kernel":
        return plan.select(keys)
    runtimes = [target for target in plan.runtimes if target.key in keys]
    if len(runtimes) < len(set(keys)):
        raise BuildError(f"error: runtime {' '.join(keys)} is not in the build's plan; run cutlass-ninja again")
    return runtimes


def _build_target(plan: Plan, target: store.Target, runner: Commands, keep: bool) -> None:
    if store.examine(target).status is not store.Status.CACHED:
        build(job_of(plan, target), runner, keep)
    if isinstance(target, KernelTarget):
        links.link(target)


def _build_claimed(job: Job, runner: Commands, keep: bool) -> None:
    """Compile until nothing moved in the meantime, then publish.

    What is compiled is known for certain only if the key holds before and after, and no file was written to between
    the two: the key is read, then the stat of its files, then comes the compile, then the key again, then the stat.
    """
    identity = job.identify()
    if identity.key != job.target.key:
        raise BuildError(
            "error: headers, tools or environment have changed since build.ninja was written: "
            f"run {job.generate}, then ninja"
        )
    for _ in range(ATTEMPTS):
        before = _stats(identity.files)
        with scratch.hold(label(job.target), keep=keep) as held:
            outcome = _compile(job, held, runner)
            again = job.identify()
            moved = [path for path, found in _stats(identity.files).items() if before[path] != found]
            if again.key == job.target.key and not moved:
                _publish(job, outcome, identity, held.path, keep)
                return
        runner.check()
        if again.key != job.target.key:
            break
    what = moved[0] if moved else "a header or a compiler"
    raise BuildError(f"error: {what} changed while it was being compiled; run ninja again")


def _compile(job: Job, held: scratch.Held, runner: Commands) -> Outcome:
    """Run the commands in a scratch folder. Raises BuildError for what is not to be remembered."""
    with writing(scratch.FOLDER):
        log = _populate(job, held.path)
    finished: list[Finished] = []
    reason = ""
    started = time.monotonic()
    with log:
        environment = {**commands.environment(), "TMPDIR": "tmp"}
        run = partial(runner.run, folder=held.path, environment=environment, log=log, hold=held.descriptor)
        for command in job.commands:
            finished.append(run(command))
            reason = _failure_of(job, finished[-1], command)
            if reason:
                break
        figures: dict[str, Any] = {
            "compile_time_s": round(time.monotonic() - started, 3),
            "cpu_time_s": round(sum(each.cpu_time_s for each in finished), 3),
            "peak_memory_bytes": max(each.peak_memory_bytes for each in finished),
            "ptxas": diagnostics.ptxas("".join(each.output for each in finished)),
        }
        if not reason and isinstance(job.target, KernelTarget):
            command = [f"./{store.PROFILER}", "--describe"]
            described = run(command, errors_apart=True)
            figures["describe"] = _description(described.output)
            reason = _failure_of(job, described, command)
            if not reason and figures["describe"].get("key") != job.target.key:
                reason = f"{store.PROFILER} --describe does not print a JSON object with the kernel's key"
    return Outcome(reason, figures)


def _populate(job: Job, folder: str) -> BinaryIO:
    """Put all that the commands need into a scratch folder, and open the log."""
    os.mkdir(f"{folder}/tmp")
    for name, text in job.texts.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    for name, place in job.links.items():
        os.symlink(place, f"{folder}/{name}")
    return open(f"{folder}/{store.LOG}", "ab", buffering=0)


def _failure_of(job: Job, finished: Finished, command: Sequence[str]) -> str:
    """Why a command failed; empty if it did not. Raises BuildError if the machine was at fault."""
    if finished.returncode == 0:
        return ""
    if trouble := diagnostics.machine_trouble(finished.returncode, finished.output):
        raise BuildError(f"error: {os.path.basename(command[0])}: {trouble} (not recorded: ninja tries again)")
    name = os.path.basename(command[0])
    return diagnostics.reason(finished.output) or f"{name} ended with exit status {finished.returncode}"


def _publish(job: Job, outcome: Outcome, identity: Identity, folder: str, keep: bool) -> None:
    """Put what is to stay into one folder and move it to its place. Raises BuildError, also for a recorded failure."""
    product = store.product(job.target)
    names = [store.LOG, *job.published] + ([] if outcome.reason else [product])
    record = {
        "format": FORMAT,
        "status": "failed" if outcome.reason else "built",
        **({"reason": outcome.reason} if outcome.reason else {}),
        "key": job.target.key,
        "built_at": clock.text(clock.now()),
        **job.description,
        "inputs": dict(identity.ingredients),
        "commands": [list(command) for command in job.commands],
        **outcome.figures,
        "sources": list(job.published),
        "log": store.LOG,
    }
    staged = f"{folder}/out"
    transfer = shutil.copy2 if keep else os.rename
    with writing(scratch.FOLDER):
        os.mkdir(staged)
        for name in names:
            transfer(f"{folder}/{name}", f"{staged}/{name}")
        if not outcome.reason:
            record[store.recorded_as(job.target)] = store.digest(f"{staged}/{product}")
        Path(staged, store.RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    store.publish(staged, job.target)
    if outcome.reason:
        raise BuildError("\n".join(_failure(job, outcome.reason)))


def _failure(job: Job, reason: str) -> list[str]:
    return [f"error: {reason}", f"  log: {store.folder(job.target)}/{store.LOG}"]


def _description(output: str) -> dict[str, Any]:
    try:
        description = json.loads(output)
    except ValueError:
        return {}
    return description if isinstance(description, dict) else {}


def _stats(paths: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """What changes when any of these files is written to or replaced."""
    stats: dict[str, tuple[int, ...]] = {}
    for path in paths:
        try:
            found = os.stat(path)
            stats[path] = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        except OSError:
            stats[path] = ()
    return stats
