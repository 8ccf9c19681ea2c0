"""The build edge: compiles what build.ninja asks for and publishes it, complete, or says in one line why not.

    python cutlass_ninja/edge kernel KEY...
    python cutlass_ninja/edge runtime KEY

Runs in the build folder and finds everything else in the plan that the generator left there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from . import links, scratch, store
from .errors import BuildError, CrashError, CutlassNinjaError
from .jobs import Job, job_of, label
from .keys import Identity
from .plan import KernelTarget, Plan
from .process import Commands, Interrupted, running
from .publish import failure, publish
from .workshop import compile_jobs

ATTEMPTS = 3
"""How often a compile is repeated when a header was touched in the middle of it without having changed."""
KEEP = "CUTLASS_NINJA_KEEP_SCRATCH"
"""The environment variable that has the same meaning as --keep-scratch."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The build edge. Returns an exit code: 0 built, 1 not, 3 a tool is missing, 128 and more after a signal."""
    parser = argparse.ArgumentParser(prog="cutlass_ninja/edge", description="The build edge.")
    parser.add_argument("kind", choices=("kernel", "runtime"))
    parser.add_argument("keys", metavar="KEY", nargs="+")
    parser.add_argument("--keep-scratch", action="store_true", default=bool(os.environ.get(KEEP)))
    options = parser.parse_args(arguments)
    try:
        with running() as runner:
            plan = Plan.read(store.PLAN)
            if not options.keep_scratch:
                scratch.sweep()
            return build(plan, _targets(plan, options.kind, options.keys), runner, options.keep_scratch)
    except CutlassNinjaError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except Interrupted as interrupted:
        return interrupted.exit_code


def build(plan: Plan, targets: Sequence[store.Target], runner: Commands, keep: bool) -> int:
    """Have targets in the store, whoever builds them, and say why not. Gives the exit code. Raises Interrupted."""
    errors = _Errors()
    jobs: list[Job] = []
    for target in {target.key: target for target in targets}.values():
        with errors.noted([target]):
            if store.examine(target).status is not store.Status.CACHED:
                jobs.append(job_of(plan, target))
    with _kept(jobs, runner):
        for group in _groups(jobs):
            _build_group(group, runner, keep, errors)
        for target in targets:
            if target.key not in errors.found and isinstance(target, KernelTarget):
                with errors.noted([target]):
                    links.link(target)
    if len(targets) > 1:
        print(f"{_done(plan)} of {len(plan.kernels)} kernels done")
    for target in targets:
        if target.key in errors.found:
            print(f"{label(target)}: {errors.found[target.key]}", file=sys.stderr)
    return max((error.exit_code for error in errors.found.values()), default=0)


@contextmanager
def _kept(jobs: Iterable[Job], runner: Commands) -> Iterator[None]:
    """Have what is published stay if this process is told to end. Raises Interrupted."""
    try:
        yield
        runner.check()
    except Interrupted:
        for job in jobs:
            store.hide(job.target)
        raise


def _done(plan: Plan) -> int:
    """How many kernels of the build there are by now."""
    return sum(os.path.exists(f"{store.folder(target)}/{store.PROFILER}") for target in plan.kernels)


class _Errors:
    """Why targets were not built."""

    def __init__(self) -> None:
        self.found: dict[str, CutlassNinjaError] = {}
        """By the targets' keys."""

    @contextmanager
    def noted(self, targets: Iterable[store.Target]) -> Iterator[None]:
        """Note what is raised inside for all of these targets."""
        try:
            yield
        except CutlassNinjaError as error:
            self.found |= {target.key: error for target in targets}
        except OSError as error:
            told = BuildError(f"error: {error.filename}: {error.strerror}")
            self.found |= {target.key: told for target in targets}


def _targets(plan: Plan, kind: str, keys: Sequence[str]) -> Sequence[store.Target]:
    if kind == "kernel":
        return plan.select(keys)
    runtimes = [target for target in plan.runtimes if target.key in keys]
    if len(runtimes) < len(set(keys)):
        raise BuildError(f"error: runtime {' '.join(keys)} is not in the build's plan; run cutlass-ninja again")
    return runtimes


def _groups(jobs: Iterable[Job]) -> list[list[Job]]:
    """What is compiled together: batches with one front end, and what is compiled by itself."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        together = repr(job.front_end) if job.front_end else job.target.key
        groups.setdefault(together, []).append(job)
    return list(groups.values())


def _build_group(jobs: Sequence[Job], runner: Commands, keep: bool, errors: _Errors) -> None:
    """Build what of a group nobody else has built, holding the claims of all of it."""
    missing: list[Job] = []
    with ExitStack() as claims:
        # Two edges with kernels in common wait for each other in one order.
        for job in sorted(jobs, key=lambda job: job.target.key):
            with errors.noted([job.target]):
                state = claims.enter_context(store.claim(job.target, runner.check))
                if state.status is store.Status.FAILED:
                    raise failure(job, state.reason, f"recorded; {job.retry} compiles it again")
                if state.status is store.Status.MISSING:
                    missing.append(job)
        if missing:
            _build_claimed([job for job in jobs if job in missing], runner, keep, errors)


def _build_claimed(jobs: Sequence[Job], runner: Commands, keep: bool, errors: _Errors) -> None:
    """Compile until nothing moved in the meantime, and publish each job's outcome.

    What is compiled is known for certain only if the keys hold before and after, and no file was written to between
    the two: the keys are read, then the stat of their files, then comes the compile, then the keys again, then the
    stat. What a batch's kernels do after their common front end reads no header: for them the stat is enough.
    """
    identities = _identities(jobs)
    waiting: list[Job] = []
    for job in jobs:
        with errors.noted([job.target]):
            if identities[job.target.key].key != job.target.key:
                raise BuildError(
                    "error: headers, tools or environment have changed since build.ninja was written: "
                    f"run {job.generate}, then ninja"
                )
            waiting.append(job)
    with errors.noted(job.target for job in waiting):
        for _ in range(ATTEMPTS):
            if not waiting:
                return
            moved = _attempt(waiting, identities, runner, keep, errors)
            runner.check()
        if waiting:
            raise BuildError(f"error: {moved} changed while it was being compiled; run ninja again")


def _attempt(
    waiting: list[Job], identities: Mapping[str, Identity], runner: Commands, keep: bool, errors: _Errors
) -> str:
    """Compile, and take out of `waiting` what was built or does not compile. Gives the name of a file that moved.

    Raises BuildError if a key has changed.
    """
    before = _stats(path for job in waiting for path in identities[job.target.key].files)
    checked = False
    with scratch.hold(label(waiting[0].target), keep=keep) as held:
        for job, outcome in compile_jobs(list(waiting), held, runner):
            same = checked or all(again.key == key for key, again in _identities(waiting).items())
            moved = [path for path, found in _stats(before).items() if before[path] != found]
            if not same:
                what = moved[0] if moved else "a header or a compiler"
                raise BuildError(f"error: {what} changed while it was being compiled; run ninja again")
            if moved:
                return moved[0]
            checked = True
            waiting.remove(job)
            with errors.noted([job.target]):
                if isinstance(outcome, CrashError):
                    raise outcome
                publish(job, outcome, identities[job.target.key], keep)
    return ""


def _identities(jobs: Sequence[Job]) -> dict[str, Identity]:
    """What each job's target is made of now, by the key that it was planned with."""
    keyer = jobs[0].keyer()
    return {job.target.key: job.identify(keyer) for job in jobs}


def _stats(paths: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """What changes when any of these files is written to or replaced."""
    stats: dict[str, tuple[int, ...]] = {}
    for path in paths:
        try:
            found = os.stat(path)
            stats[path] = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        except OSError:
            stats[path] = ()
    return stats
