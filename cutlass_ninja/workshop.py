"""Running the commands of jobs in a scratch folder: one target by itself, or the kernels of a batch together.

A batch's kernels share a front end, which compiles all their device halves to PTX in one run and all their host halves
to assembly in another. Each kernel's part is cut out of both, then assembled and linked by itself.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import batch_sources, commands, diagnostics, scratch, store
from .errors import BuildError, CrashError
from .files import writing
from .gas import Gas
from .jobs import Job
from .plan import KernelTarget
from .process import Commands, Finished
from .ptx import Ptx
from .publish import Outcome

_IMAGE = f"""
\t.section\t.rodata.cutlass_ninja_image,"a"
\t.balign\t64
\t.globl\tcutlass_ninja_image
cutlass_ninja_image:
\t.incbin\t"{commands.CUBIN}"
"""


def compile_jobs(
    jobs: Sequence[Job], held: scratch.Held, runner: Commands
) -> Iterator[tuple[Job, Outcome | CrashError]]:
    """Runs the commands of jobs, which are one, or a batch with one front end. Gives each job as soon as it is done.

    A job on which a compiler crashed has no outcome: that is not to be remembered, and takes no other job with it.
    Raises BuildError for what else is the machine's fault, MachineError, Interrupted.
    """
    workshop = _Workshop(held, runner)
    if not jobs[0].front_end:
        (job,) = jobs
        workshop.lay_out(job, held.path)
        yield job, workshop.outcome_or_crash(job, held.path, _Front())
        return
    workshop.lay_out_batch(jobs)
    waiting = [list(jobs)]
    while waiting:
        group = waiting.pop(0)
        try:
            front = workshop.front_end(group)
        except CrashError as crash:
            if len(group) == 1:
                yield group[0], crash
            else:
                waiting[:0] = _halved(group)
            continue
        if front.reason and len(group) > 1:
            waiting[:0] = _divided(group, front.output)
        else:
            yield from workshop.back_end(group, front)


@dataclass(frozen=True)
class _Front:
    """What the front end of a batch came to."""

    log: bytes = b""
    output: str = ""
    reason: str = ""
    host: Gas | None = None
    """What the host halves came to, unless it failed before."""
    kernels: Sequence[str] = ()
    """The labels of the batch."""
    wall_time_s: float = 0
    finished: Sequence[Finished] = ()

    @property
    def cpu_time_s(self) -> float:
        """Of the whole batch."""
        return sum(each.cpu_time_s for each in self.finished)

    @property
    def peak_memory_bytes(self) -> int:
        """Of its largest process."""
        return max((each.peak_memory_bytes for each in self.finished), default=0)


def _divided(group: Sequence[Job], output: str) -> list[list[Job]]:
    """A batch that does not compile, without those that the compilers name, which go alone; else its two halves."""
    named = set(batch_sources.keys_in(output, [job.target.key for job in group]))
    if 0 < len(named) < len(group):
        guilty = [[job] for job in group if job.target.key in named]
        return [[job for job in group if job.target.key not in named], *guilty]
    return _halved(group)


def _halved(group: Sequence[Job]) -> list[list[Job]]:
    return [list(group[: len(group) // 2]), list(group[len(group) // 2 :])]


class _Workshop:
    """A scratch folder and what runs in it."""

    def __init__(self, held: scratch.Held, runner: Commands) -> None:
        self._held = held
        self._runner = runner
        self._environment = commands.environment()

    def lay_out(self, job: Job, folder: str) -> None:
        """Put all that a job's commands need into its folder."""
        with writing(scratch.FOLDER):
            os.makedirs(f"{self._held.path}/tmp", exist_ok=True)
            for name, text in job.texts.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            if folder == self._held.path:
                self._link(job.links)

    def lay_out_batch(self, jobs: Sequence[Job]) -> None:
        """Put all that a batch's commands need into the scratch folder, and a folder for each of its kernels."""
        for job in jobs:
            self.lay_out(job, self._folder(job))
        with writing(scratch.FOLDER):
            self._link(jobs[0].links)

    def _link(self, links: Mapping[str, str]) -> None:
        for name, place in links.items():
            os.symlink(place, f"{self._held.path}/{name}")

    def _folder(self, job: Job) -> str:
        return f"{self._held.path}/{job.target.key}"

    def front_end(self, group: Sequence[Job]) -> _Front:
        """Compile the units of a batch."""
        texts = {job.target.key: job.texts for job in group}
        folder = self._held.path
        log = f"{folder}/batch.log"
        with writing(scratch.FOLDER):
            Path(folder, batch_sources.DEVICE_UNIT).write_text(batch_sources.device_unit(texts), encoding="utf-8")
            Path(folder, batch_sources.HOST_UNIT).write_text(batch_sources.host_unit(texts), encoding="utf-8")
            Path(log).write_bytes(b"")
        started = time.monotonic()
        finished, reason = self._run(group[0].front_end, folder, log)
        host = None
        if not reason:
            host = Gas(Path(folder, commands.HOST_ASSEMBLY).read_text(encoding="utf-8"))
            reason = host.refused
        if reason and len(finished) == len(group[0].front_end):
            reason = f"host half: {reason}; --compile single leaves it to nvcc"
        labels = [job.target.label for job in group if isinstance(job.target, KernelTarget)]
        output = "".join(each.output for each in finished)
        wall = time.monotonic() - started
        return _Front(Path(log).read_bytes(), output, reason, host, labels, wall, finished)

    def back_end(self, group: Sequence[Job], front: _Front) -> Iterator[tuple[Job, Outcome | CrashError]]:
        """Assemble and link each kernel of a batch that came through the front end, or the one that did not."""
        host = None if front.reason else front.host
        if host:
            device = Ptx(Path(self._held.path, commands.PTX).read_text(encoding="utf-8"))
        for job in group:
            folder = self._folder(job)
            with writing(scratch.FOLDER):
                Path(folder, store.LOG).write_bytes(front.log)
                if host:
                    cut = device.part(batch_sources.entry_of(job.target.key))
                    program = host.part(batch_sources.main_of(job.target.key)) + _IMAGE
                    Path(folder, commands.KERNEL_PTX).write_text(cut, encoding="utf-8")
                    Path(folder, commands.PROFILER_ASSEMBLY).write_text(program, encoding="utf-8")
            yield job, self.outcome_or_crash(job, folder, front)

    def outcome_or_crash(self, job: Job, folder: str, front: _Front) -> Outcome | CrashError:
        """As `_outcome`, or the crash of one of the job's commands."""
        try:
            return self._outcome(job, folder, front)
        except CrashError as crash:
            return crash

    def _outcome(self, job: Job, folder: str, front: _Front) -> Outcome:
        """Run a job's own commands, unless the front end has failed already, and see what the profiler says."""
        started = time.monotonic()
        log = f"{folder}/{store.LOG}"
        finished, reason = ([], front.reason) if front.reason else self._run(job.commands, folder, log)
        share = max(len(front.kernels), 1)
        costs = [*front.finished, *finished]
        figures: dict[str, Any] = {
            "compile_time_s": round(front.wall_time_s / share + time.monotonic() - started, 3),
            "cpu_time_s": round(front.cpu_time_s / share + sum(each.cpu_time_s for each in finished), 3),
            "peak_memory_bytes": max(each.peak_memory_bytes for each in costs),
            "ptxas": diagnostics.ptxas("".join(each.output for each in finished)),
        }
        if front.kernels:
            figures["batch"] = {
                "kernels": list(front.kernels),
                "compile_time_s": round(front.wall_time_s, 3),
                "cpu_time_s": round(front.cpu_time_s, 3),
                "peak_memory_bytes": front.peak_memory_bytes,
            }
        if not reason and isinstance(job.target, KernelTarget):
            command = [f"./{store.PROFILER}", "--describe"]
            described, reason = self._run([command], folder, log, errors_apart=True)
            figures["describe"] = _description(described[0].output)
            if not reason and figures["describe"].get("key") != job.target.key:
                reason = f"{store.PROFILER} --describe does not print a JSON object with the kernel's key"
        return Outcome(folder, batch_sources.without_folders(reason), figures)

    def _run(
        self, job_commands: Sequence[Sequence[str]], folder: str, log_path: str, errors_apart: bool = False
    ) -> tuple[list[Finished], str]:
        """Run commands until one fails. Gives what they did, and why the last one failed, or an empty reason."""
        finished: list[Finished] = []
        # Relative: nvcc hands it to a shell, in double quotes.
        temporary = os.path.relpath(f"{self._held.path}/tmp", folder)
        with ExitStack() as stack:
            with writing(scratch.FOLDER):
                log = stack.enter_context(open(log_path, "ab", buffering=0))
            for command in job_commands:
                finished.append(
                    self._runner.run(
                        command,
                        folder=folder,
                        environment={**self._environment, "TMPDIR": temporary},
                        log=log,
                        hold=self._held.descriptor,
                        errors_apart=errors_apart,
                    )
                )
                if reason := _failure_of(finished[-1], command):
                    return finished, reason
        return finished, ""


def _failure_of(finished: Finished, command: Sequence[str]) -> str:
    """Why a command failed; empty if it did not.

    Raises BuildError if the machine was at fault, CrashError if a smaller compile may succeed on it.
    """
    if finished.returncode == 0:
        return ""
    name = os.path.basename(command[0])
    if trouble := diagnostics.machine_trouble(finished.returncode, finished.output):
        error = CrashError if diagnostics.crashed(finished.returncode, finished.output) else BuildError
        raise error(f"error: {name}: {trouble} (not recorded: ninja tries again)")
    return diagnostics.reason(finished.output) or f"{name} ended with exit status {finished.returncode}"


def _description(output: str) -> dict[str, Any]:
    try:
        description = json.loads(output)
    except ValueError:
        return {}
    return description if isinstance(description, dict) else {}
