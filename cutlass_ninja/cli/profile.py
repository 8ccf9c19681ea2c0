"""`cutlass-ninja profile`: measures the kernels of a build."""

from __future__ import annotations

import argparse
import math
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from types import FrameType

from .. import baseline, choose, clock, contenders, entries, generate, gpu_lock, problems, results, signature, store
from ..contests import CACHES, Query
from ..errors import BuildError, InputError, MachineError
from ..manifest import Problem
from ..places import quote
from ..plan import KernelTarget
from ..process import Interrupted
from ..progress import Progress
from ..store import Status
from ..sweep import Options, Summary, Sweep
from .arguments import (
    add_archs,
    add_compile,
    add_folder,
    add_manifests,
    add_only,
    add_tools,
    build_folder,
    counted,
    current_plan,
    current_request,
    parser,
    print_json,
    request,
    say,
)
from .choices import table

_DESCRIPTION = """\
Run the built profilers over the manifests' problems on the GPUs of this machine, and keep what they measure in
cache/results.sqlite. What has been measured there on the same GPU, with the same driver, is not measured again: after
Ctrl-C, the same command goes on where it stopped. Two runs on one GPU take turns.

First every kernel is verified and timed briefly. What is within 20 % of the best for its problem is tried with other
run-time parameters; what is within 10 % is measured until the standard error is small; and what is within 3 % is
measured again in turns, together with cuBLASLt, before one is called the best. Where a kernel can stand in for others
with A and B exchanged, as the transposed problem lies in the same memory, it is measured so, too. A kernel that
crashes, hangs or gives nonsense costs its own remaining problems and nothing else."""

_EPILOG = (
    "exit codes: 0 fine; 1 a result was wrong or a kernel failed; 2 wrong input or call; 3 no GPU; 130 interrupted"
)


def run(arguments: Sequence[str]) -> int:
    """The command `profile`. Raises CutlassNinjaError, KeyboardInterrupt."""
    options = _parse(arguments)
    folder = build_folder(options.folder, create=False)
    targets, wanted = _selected(options, folder)
    os.chdir(folder)
    states = store.survey(targets)
    built = contenders.of_targets(targets, states)
    _say_unbuilt([target for target in targets if states[target.key].status is not Status.CACHED])
    if not built:
        raise BuildError("error: none of the kernels has been built; run ninja first")
    _check_layouts(built, wanted, options.layouts)
    gpus = contenders.gpus(built, options.devices)
    rivals: list[contenders.Contender] = []
    if options.baseline:
        found = baseline.find(current_plan(), built, options.cublaslt)
        rivals = found.contenders
        say(found.message)
    progress = Progress()
    with results.open_results(options.results, write=True) as opened:
        sweep = Sweep([*built, *rivals], wanted, gpus, opened, _sweep_options(options), progress)
        try:
            with _interruptible(), gpu_lock.hold(gpus, say):
                summary = sweep.run()
        except Interrupted as interrupted:
            goes_on = (
                "without --force it is not measured again" if options.force else "the same command goes on from here"
            )
            say(f"interrupted: what was measured is kept; {goes_on}")
            return interrupted.exit_code
    chosen = [
        choice
        for choice in choose.best(sweep.results(), wanted, Query(cache=options.cache))
        if choice.seen is None or not options.layouts or any(map(choice.seen.is_of_layout, options.layouts))
    ]
    if options.json:
        print_json({"summary": summary.to_json(), "best": [choice.to_json() for choice in chosen]})
    else:
        print("\n".join(table(chosen)))
    for line in _lines(summary, options.exhaustive):
        say(line)
    return 1 if summary.undone else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parsed = parser("profile", _DESCRIPTION, _EPILOG)
    add_manifests(parsed, optional="those of the build folder's build.ninja")
    add_folder(parsed)
    add_archs(parsed)
    add_only(parsed)
    add_tools(parsed)
    add_compile(parsed)
    parsed.add_argument(
        "--problem",
        action="append",
        default=[],
        metavar="m=M,n=N,...",
        help="this problem, beside those of a MANIFEST that is given; [1,2] for a value: several",
    )
    parsed.add_argument(
        "--layouts",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="tnn,...",
        help="compare kernels for problems of these layouts alone (default: all that kernels have)",
    )
    parsed.add_argument(
        "--devices", type=_ordinals, metavar="N,...", help="the GPUs by CUDA's ordinals (default: all that are visible)"
    )
    parsed.add_argument("--results", default=results.RESULTS, metavar="FILE", help=f"default: {results.RESULTS}")
    parsed.add_argument("--cache", choices=CACHES, default="cold", help="whether operands lie in the L2")
    parsed.add_argument("--relative-stderr", type=_amount, metavar="PERCENT", help="of the mean, to be reached (0.5)")
    parsed.add_argument("--profiling-duration", type=_amount, metavar="MS", help="the most for one measurement (1000)")
    parsed.add_argument("--timeout", type=_amount, default=120, metavar="S", help="for one problem of one kernel (120)")
    parsed.add_argument("--exhaustive", action="store_true", help="measure everything to full precision")
    parsed.add_argument("--force", action="store_true", help="measure again what has been measured, and replace it")
    parsed.add_argument("--retry-failed", action="store_true", help="measure again what was wrong or failed")
    parsed.add_argument(
        "--cublaslt", metavar="FILE", help="the library libcublasLt.so.*, if it is not to be looked for"
    )
    parsed.add_argument("--no-baseline", dest="baseline", action="store_false", help="do not run cuBLASLt beside")
    parsed.add_argument("--json", action="store_true", help="print an object: what was done, and the best kernels")
    options = parsed.parse_args(arguments)
    if options.results != results.RESULTS:
        options.results = os.path.abspath(options.results)
    if options.cublaslt:
        options.cublaslt = os.path.abspath(options.cublaslt)
    return options


def _ordinals(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected ordinals, as 0 or 0,2") from None


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number above 0")
    return value


def _selected(options: argparse.Namespace, folder: str) -> tuple[list[KernelTarget], list[Problem]]:
    """The kernels and the problems that are asked for. Raises InputError, MachineError."""
    if options.manifests:
        targets = _targets_of_manifests(options, folder)
        found = problems.of_manifests(options.manifests)
    else:
        here = os.getcwd()
        os.chdir(folder)
        targets = [
            target
            for target in current_plan().kernels
            if not options.only
            or any(fnmatchcase(name, glob) for glob in options.only for name in (target.label, target.kernel.name))
        ]
        # Beside a copied cache there may be no manifest.
        found = [] if options.problem else problems.of_manifests(current_request(options).manifests)
        os.chdir(here)
    kinds = sorted({target.kernel.operation for target in targets})
    found = [problem for problem in found if problem.operation in kinds]
    wanted = [*found, *problems.given(options.problem, kinds)]
    if not targets:
        raise InputError(f"error: --only {' '.join(options.only)} matches none of the build's kernels")
    if not wanted:
        raise InputError(
            "error: there is no problem to measure; add `problems` to the manifest, or name one by --problem"
        )
    return targets, wanted


def _targets_of_manifests(options: argparse.Namespace, folder: str) -> list[KernelTarget]:
    """The manifests' kernels with their keys: computed, or, where there is no compiler, from the build's plan."""
    asked = request(options)
    selection = generate.select(asked)
    try:
        tools = generate.find_toolchain(asked, selection)
    except MachineError as error:
        here = os.getcwd()
        os.chdir(folder)
        kernels = list(selection.kernels.values())
        known = [target for target in current_plan().kernels if target.kernel in kernels]
        os.chdir(here)
        if not known:
            raise error
        return known
    return list(generate.plan(asked, selection, tools, folder).kernels)


def _check_layouts(built: Sequence[contenders.Contender], wanted: Sequence[Problem], layouts: Sequence[str]) -> None:
    for layout in layouts:
        if next(entries.native(built, wanted, [layout]), None) is None:
            known = sorted({signature.layout(contender.config) for contender in built})
            raise InputError(f"error: --layouts: no kernel has {quote(layout)}; there are {', '.join(known)}")


def _say_unbuilt(targets: Sequence[KernelTarget]) -> None:
    if targets:
        say(f"{counted(len(targets), 'kernel')} left out, which ninja has not built: {targets[0].label}...")


def _sweep_options(options: argparse.Namespace) -> Options:
    flags = {"relative-stderr": options.relative_stderr, "profiling-duration": options.profiling_duration}
    return Options(
        cache=options.cache,
        flags=tuple(f"--{name}={value:g}" for name, value in flags.items() if value is not None),
        timeout_s=options.timeout,
        force=options.force,
        retry_failed=options.retry_failed,
        layouts=options.layouts,
        exhaustive=options.exhaustive,
    )


@contextmanager
def _interruptible() -> Iterator[None]:
    """Have the first of the signals that end a process raise Interrupted.

    Those after it, as from an impatient user, do nothing: they would leave profilers behind that are just being ended.
    """
    interrupted = False

    def interrupt(signum: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise Interrupted(signum)

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {one: signal.signal(one, interrupt) for one in signals if signal.getsignal(one) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for one, handler in previous.items():
            signal.signal(one, handler)


def _lines(summary: Summary, exhaustive: bool) -> Iterator[str]:
    spent = sum(summary.seconds.values())
    yield f"{summary.measured} measured in {clock.duration(spent)}, {summary.reused} known before"
    if summary.exchanged:
        yield f"{summary.exchanged} of them with A and B exchanged, which computes the same from the same memory"
    if summary.dropped and not exhaustive:
        line = f"{summary.dropped} dropped after the coarse pass, which saved about {clock.duration(summary.saved_s)}"
        if summary.coarse_error is not None:
            line += f"; coarse medians strayed by {100 * summary.coarse_error:.1f} % at most"
        yield line + " (--exhaustive measures all fully)"
    if summary.ties_cut > 0:
        yield f"up to {summary.ties_cut} more kernels of a problem were within 3 % of its best than take part in finals"
    if summary.undone:
        yield f"{counted(summary.undone, 'result')} wrong or failed (--retry-failed measures them again)"
