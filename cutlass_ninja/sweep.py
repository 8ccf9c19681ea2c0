"""The sweep: which kernel is measured on which problem, how precisely, and in what order.

1. Coarse: every kernel, with its default parameters, is verified and timed briefly.
2. Parameters: of what is within SEARCHED of the best, one run-time parameter after the other is varied.
3. Full: what is within PROMISING of the best is measured to the precision asked for, of each kernel the CHOICES best
   choices of parameters. The rest stays coarse.
4. Finals: what is within FINALISTS of the best is measured again, in rounds that take turns, with the baseline.

Standings choose what each stage measures; this module measures it.

Kernels are asked for problems as they stand, and in the other form where that competes with what some kernel computes
as it stands: with A and B exchanged, for a GEMM. What computes the same is compared, in whichever form.

A problem is measured on one GPU of each model, so that its kernels are compared on the same chip; several GPUs share
the problems. What the results hold already is not measured again.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from . import clock, entries
from .contenders import Contender, Gpu
from .manifest import Problem
from .problems import canonical, once
from .progress import Progress
from .ranking import SHORT_MS
from .results import Result, Results, with_rounds
from .session import LostError, Session, StoppedError
from .sessions import Waiting, one_after_the_other
from .standings import Identity, Standings, Task

ROUNDS = 5
"""How often each finalist is measured."""
REPEATS = 3
"""How often the later stages are repeated, as they change which kernels are near the best."""

UNDONE = ("failed", "crashed", "timed_out", "incorrect", "skipped")
"""The statuses of what did not work; --retry-failed measures it again."""

_COARSE = (
    "--relative-stderr=2", "--profiling-duration=40", "--rest-duration=4", "--warmup-duration=5",
    "--warmup-iterations=3",
)  # fmt: skip
_COARSE_AT_LEAST = "--min-iterations=8"
_UNVERIFIED = "--verification-enabled=false"
"""For what has been verified already."""
_VERIFICATION = ("verification", "verification_checks")
_FINAL = ("--profiling-duration=200", "--warmup-duration=5", _UNVERIFIED)
_MAX_SESSIONS = 16
"""Processes that are kept waiting during the finals of one GPU, those of one final at least: each holds some memory."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure."""

    cache: str = "cold"
    flags: tuple[str, ...] = ()
    """Further flags of the profilers, for what is measured to full precision."""
    timeout_s: float = 120
    """For one problem, with its verification."""
    force: bool = False
    retry_failed: bool = False
    layouts: tuple[str, ...] = ()
    """Of A, B and C: what is computed for others is of no interest; empty for all that kernels have."""
    exhaustive: bool = False
    """Everything to full precision, with all combinations of parameters."""


@dataclass
class Summary:
    """What a sweep did."""

    measured: int = 0
    """Measurements made, rounds of finals counted once for each finalist."""
    reused: int = 0
    """Results that were there before, and are still good."""
    undone: int = 0
    """Of all results of the sweep's kernels and problems, those that are of no use: wrong, failed, timed out..."""
    dropped: int = 0
    """Results that stayed coarse."""
    exchanged: int = 0
    """Results of kernels that were asked in the other form of a problem."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time spent by stage, all GPUs together."""
    saved_s: float = 0
    """About what measuring everything to full precision would have taken more."""
    coarse_error: float | None = None
    """By how much coarse medians differ from full ones at most, as a fraction, beside what all of them differ by:
    dropping was right as long as it is well below PROMISING."""
    ties_cut: int = 0
    """Kernels within FINALISTS that were too many to take part in finals."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return vars(self)


class Sweep:
    """A sweep of contenders over problems on GPUs. `run` it once."""

    def __init__(
        self,
        contenders: Sequence[Contender],
        problems: Sequence[Problem],
        gpus: Sequence[Gpu],
        results: Results,
        options: Options,
        progress: Progress,
    ) -> None:
        self._contenders = list({contender.key: contender for contender in contenders}.values())
        asked = once(problems)
        native = list(entries.native(self._contenders, asked, options.layouts))
        exchanged = list(entries.exchanged(self._contenders, asked, native))
        # A kernel that is lost to a problem's other form shall have been asked for the problems themselves.
        self._entries = [*native, *exchanged]
        self._exchanged = {(contender.key, canonical(problem.values)) for contender, problem in exchanged}
        distinct = {(one.operation, canonical(one.values)): one for _, one in self._entries}
        self._shapes = {identity: entries.shape(one) for identity, one in distinct.items()}
        self._gpus = gpus
        self._results = results
        self._options = options
        self._progress = progress
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._standings = {gpu: Standings(self._entries) for gpu in gpus}
        self._coarse: dict[tuple[Gpu, Identity], float] = {}
        self._times: dict[str, list[float]] = defaultdict(list)
        self.summary = Summary()

    def run(self) -> Summary:
        """Measure what is missing. Raises MachineError, InputError if results cannot be written."""
        self._recall()
        for gpu, share in self._shares().items():
            self._standings[gpu].share = share
        if self._options.exhaustive:
            self._stage("full", Standings.everything)
        else:
            self._stage("coarse", Standings.first)
            for step in range(max((len(one.parameters) for one in self._contenders), default=0)):
                self._stage("search", partial(Standings.variants, step=step))
        for _ in range(REPEATS):
            self._stage("full", Standings.promising)
        for _ in range(REPEATS):
            self._in_turns()
        self._summarize()
        return self.summary

    def results(self) -> list[Result]:
        """All results of these contenders and problems on these GPUs, old and new."""
        return [result for standings in self._standings.values() for result in standings.found.values()]

    # What is known, and who measures what.

    def _recall(self) -> None:
        """Take over what earlier runs measured."""
        by_place = {gpu.place: gpu for gpu in self._gpus}
        wanted = {(contender.key, canonical(problem.values)) for contender, problem in self._entries}
        for result in self._results.all():
            gpu = by_place.get(result.place)
            if gpu and result.identity[:2] in wanted and result.cache == self._options.cache:
                self._standings[gpu].old.add(result.identity)
                if not self._options.force and not (self._options.retry_failed and result.status in UNDONE):
                    self._standings[gpu].recall(result)
                    self.summary.reused += 1

    def _shares(self) -> dict[Gpu, list[entries.Entry]]:
        """What each GPU measures: of each model one has a problem, in both forms.

        It is the one that has measured most of it already.
        """
        chosen: dict[tuple[str, str], set[Gpu]] = defaultdict(set)
        loads = Counter[Gpu]()
        for model in dict.fromkeys(gpu.place.gpu for gpu in self._gpus):
            peers = [gpu for gpu in self._gpus if gpu.place.gpu == model]
            for shape in dict.fromkeys(self._shapes.values()):
                texts = {values for (_, values), own in self._shapes.items() if own == shape}
                known = {gpu: sum(identity[1] in texts for identity in self._standings[gpu].old) for gpu in peers}
                gpu = max(peers, key=lambda gpu: (known[gpu], -loads[gpu]))
                chosen[shape].add(gpu)
                loads[gpu] += 1
        shapes = [self._shapes[problem.operation, canonical(problem.values)] for _, problem in self._entries]
        return {
            gpu: [entry for entry, shape in zip(self._entries, shapes) if gpu in chosen[shape]] for gpu in self._gpus
        }

    # Measuring.

    def _stage(self, name: str, choose: Callable[[Standings], Sequence[Task]]) -> None:
        """Measure what is chosen, each kernel's tasks by one process; the GPUs at the same time."""
        tasks = {gpu: choose(standings) for gpu, standings in self._standings.items()}
        precision = "full" if name == "full" else "coarse"

        def work(gpu: Gpu) -> None:
            by_kernel: dict[str, list[Task]] = {}
            for task in tasks[gpu]:
                by_kernel.setdefault(task.contender.key, []).append(task)
            kernels = [own[0].contender for own in by_kernel.values()]
            # The start of a process disturbs what is measured meanwhile; not more than a coarse pass allows for.
            ahead = 1 if precision == "coarse" else 0
            with closing(one_after_the_other(lambda one: self._session(gpu, one), kernels, ahead)) as sessions:
                for own, session in zip(by_kernel.values(), sessions):
                    self._measure(gpu, own, precision, session)

        self._everywhere(name, sum(map(len, tasks.values())), work)

    def _everywhere(self, name: str, total: int, work: Callable[[Gpu], None]) -> None:
        """Do the work of a stage, if any, on all GPUs at once, until it is done or the user interrupts it."""
        if not total:
            return
        self._progress.begin(name, total)
        started = time.monotonic()

        def until_stopped(gpu: Gpu) -> None:
            with suppress(StoppedError):
                work(gpu)

        with ThreadPoolExecutor(len(self._gpus)) as pool:
            try:
                for future in [pool.submit(until_stopped, gpu) for gpu in self._gpus]:
                    future.result()
            except BaseException:
                self._stop.set()
                raise
            finally:
                self._progress.end()
                spent = self.summary.seconds.get(name, 0.0) + time.monotonic() - started
                self.summary.seconds[name] = round(spent, 3)

    def _measure(self, gpu: Gpu, tasks: Sequence[Task], precision: str, session: Session | LostError) -> None:
        """Measure one kernel's tasks by its process, and end it; once the process is lost, the rest is skipped."""
        flags = (*_COARSE, _COARSE_AT_LEAST) if precision == "coarse" else self._options.flags
        if isinstance(session, LostError):
            return self._lose(gpu, tasks, precision, session)
        with session:
            for place, task in enumerate(tasks):
                started = time.monotonic()
                known = self._standings[gpu].found.get(task.identity)
                verified = (_UNVERIFIED,) if known and known.verified else ()
                try:
                    line = self._ask(session, task, (*flags, *verified))
                except LostError as lost:
                    return self._lose(gpu, tasks[place:], precision, lost)
                with self._lock:
                    self._times[precision].append(time.monotonic() - started)
                if verified and known and line["status"] == "success":
                    line |= {name: known.record[name] for name in _VERIFICATION}
                result = self._result(gpu, task, precision, line)
                if precision == "coarse" and result.median_ms:
                    self._coarse[gpu, task.identity] = result.median_ms
                self._keep(gpu, [result])
                self._progress.step(str(task))

    def _ask(self, session: Session, task: Task, flags: Sequence[str]) -> dict[str, Any]:
        parameters = [f"--{name}={value}" for name, value in task.parameters.items()]
        every = [*parameters, f"--cache={self._options.cache}", *flags]
        # What is a parameter to this kernel may be a field of the problem to others: split_k_slices.
        fields = {name: value for name, value in task.problem.values.items() if name not in task.parameters}
        return session.ask(fields, every, self._options.timeout_s)

    def _session(self, gpu: Gpu, contender: Contender) -> Session:
        return Session([*contender.command, f"--device={gpu.ordinal}"], contender.key, self._stop.is_set)

    def _lose(self, gpu: Gpu, tasks: Sequence[Task], precision: str, lost: LostError) -> None:
        """Record what a kernel's process died of, and that the rest was not run."""
        first, *rest = tasks
        results = [self._failure(gpu, first, precision, lost.status, lost.reason)]
        unsupported = lost.status == "not_supported"  # The whole GPU, and so every problem.
        status = lost.status if unsupported else "skipped"
        reason = lost.reason if unsupported else f"not run: {lost.status} before, at {first}"
        results += [self._failure(gpu, task, precision, status, reason) for task in rest]
        self._keep(gpu, results)
        self._progress.step(str(first), len(tasks))

    def _in_turns(self) -> None:
        """Measure finalists in rounds, in which they take turns, forwards and backwards."""
        finals = {gpu: standings.finals() for gpu, standings in self._standings.items()}

        def work(gpu: Gpu) -> None:
            sessions = Waiting(lambda contender: self._session(gpu, contender), _MAX_SESSIONS)
            try:
                for finalists in finals[gpu]:
                    self._final(gpu, finalists, sessions)
            finally:
                sessions.close()

        self._everywhere("finals", ROUNDS * sum(len(one) for groups in finals.values() for one in groups), work)

    def _final(self, gpu: Gpu, finalists: Sequence[Result], sessions: Waiting) -> None:
        lines: dict[Identity, list[dict[str, Any]]] = {result.identity: [] for result in finalists}
        flags = (*self._options.flags, *_FINAL)
        for turn in range(ROUNDS):
            for result in finalists if turn % 2 == 0 else reversed(finalists):
                if result.identity not in lines:
                    continue
                task = self._standings[gpu].task(result)
                try:
                    line = self._ask(sessions.of(task.contender), task, flags)
                except LostError as lost:
                    sessions.forget(task.contender)
                    line = {"status": lost.status, "reason": lost.reason}
                steps = 1
                if line["status"] == "success" and line["runtime_median_ms"] is not None:
                    lines[result.identity].append(line)
                    if line["runtime_median_ms"] < SHORT_MS:
                        # So that rounds show by how much it differs from one process to the next.
                        sessions.forget(task.contender)
                else:
                    # What works only sometimes is no winner, and its other rounds are dropped.
                    steps = ROUNDS - turn
                    del lines[result.identity]
                    self._keep(
                        gpu, [self._failure(gpu, task, "final", line["status"], f"in a final: {line['reason']}")]
                    )
                self._progress.step(str(task), steps)
        now = clock.text(clock.now())
        measured = [result for result in finalists if result.identity in lines]
        self._keep(gpu, [with_rounds(result, lines[result.identity], now) for result in measured])

    # Results.

    def _result(self, gpu: Gpu, task: Task, precision: str, line: dict[str, Any]) -> Result:
        known = {"kernel", "key", "operation", "status", "reason", "parameters", "cache", *task.problem.values}
        record = {name: value for name, value in line.items() if name not in known}
        return self._of(gpu, task, precision, line["status"], line["reason"] or "", record)

    def _failure(self, gpu: Gpu, task: Task, precision: str, status: str, reason: str) -> Result:
        if status != "skipped":
            self._progress.say(f"{status}: {task}: {reason}")
        return self._of(gpu, task, precision, status, reason, {})

    def _of(self, gpu: Gpu, task: Task, precision: str, status: str, reason: str, record: Mapping[str, Any]) -> Result:
        contender = task.contender
        return Result(
            provider=contender.provider,
            kernel=contender.kernel,
            key=contender.key,
            operation=contender.operation,
            arch=contender.arch,
            config=contender.config,
            problem=task.problem.values,
            parameters=task.parameters,
            cache=self._options.cache,
            place=gpu.place,
            precision=precision,
            status=status,
            reason=reason,
            record=record,
            environment=contender.environment,
            measured_at=clock.text(clock.now()),
        )

    def _keep(self, gpu: Gpu, results: Sequence[Result]) -> None:
        self._results.put_all(results)
        for result in results:
            if result.record and result.status in ("incorrect", "failed"):
                self._progress.say(f"{result.status}: {self._standings[gpu].task(result)}: {result.reason}")
            with self._lock:
                self._standings[gpu].found[result.identity] = result
                self.summary.measured += 1

    def _summarize(self) -> None:
        standings = self._standings.items()
        results = [(gpu, result) for gpu, own in standings for result in own.found.values()]
        self.summary.ties_cut = max((own.ties_cut for _, own in standings), default=0)
        self.summary.undone = sum(result.status in UNDONE for _, result in results)
        self.summary.dropped = sum(result.verified and result.precision == "coarse" for _, result in results)
        self.summary.exchanged = sum(result.identity[:2] in self._exchanged for _, result in results)
        full, coarse = (self._times[name] for name in ("full", "coarse"))
        if full and coarse:
            each = sum(full) / len(full)
            # Everything would have been measured once, fully, and nothing coarsely.
            self.summary.saved_s = round(max(self.summary.dropped * each - sum(coarse), 0.0), 1)
        ratios = [
            self._coarse[gpu, result.identity] / result.median_ms
            for gpu, result in results
            if result.precision != "coarse" and result.median_ms and (gpu, result.identity) in self._coarse
        ]
        if ratios:
            bias = statistics.median(ratios)
            self.summary.coarse_error = round(max(abs(ratio / bias - 1) for ratio in ratios), 4)
