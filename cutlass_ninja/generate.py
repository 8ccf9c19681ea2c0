"""The generator: manifests -> plan -> build.ninja, compile_commands.json. It compiles nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import (
    arch,
    batches,
    buildfile,
    clock,
    expand,
    links,
    manifest,
    memory,
    scratch,
    store,
    toolchain,
    unchanged,
    used,
)
from .arch import ARCHS, NATIVE
from .errors import BuildError, InputError
from .files import write_if_changed, writing
from .kernel import BATCHED, Kernel
from .keys import Keyer
from .operations import OPERATIONS
from .plan import KernelTarget, Plan, RuntimeTarget
from .store import State, Status
from .toolchain import Toolchain
from .unchanged import Previous

_PACKAGE = Path(__file__).parent
BUILD_FILE = Path("build.ninja")
COMPILE_COMMANDS = Path("compile_commands.json")
_NINJA_LOG = f"{store.CACHE}/.ninja_log"
_OUTPUTS = (str(BUILD_FILE), str(COMPILE_COMMANDS), str(store.PLAN))


@dataclass(frozen=True)
class Request:
    """What the command line asks for. Paths are as the user gave them, relative to where the command was started."""

    manifests: Sequence[str]
    archs: Sequence[str] = ()
    only: Sequence[str] = ()
    nvcc: str | None = None
    cutlass: str | None = None
    template: str | None = None
    keep_scratch: bool = False
    compile: str = BATCHED
    memory_bytes: int | None = None
    """What the machine is taken to have."""


@dataclass(frozen=True)
class Selection:
    """The kernels of a request and what the manifests say beside them."""

    kernels: Mapping[str, Kernel]
    """By label, sorted."""
    skipped: Sequence[str]
    cutlass: str | None
    problems: int
    problem_lists: Sequence[str]
    """The files that problems beside the manifests' own come from."""
    native: bool
    """Whether the architectures are this machine's, whatever they are at the time."""


@dataclass(frozen=True)
class Generated:
    """What the generator found and wrote, in the build folder."""

    plan: Plan
    states: Mapping[str, State]
    """By key."""
    repaired: Sequence[str] = field(default=())
    """Keys of damaged profilers that were removed, to be built again."""


def select(request: Request) -> Selection:
    """Manifests -> kernels. Raises ManifestError, InputError, MachineError (arch: native without a GPU)."""
    manifests = manifest.load_all(request.manifests, OPERATIONS, tuple(ARCHS))
    expansion = expand.expand(manifests, arch.native, request.archs, request.only, request.compile)
    named = {value.data: value for one in manifests if (value := one.cutlass) is not None}
    if len(named) > 1 and not request.cutlass:
        first, second, *_ = named.values()
        raise InputError(
            f"{second.mark}: error: cutlass is {second.data}, but {first.mark} says {first.data}; "
            "one build has one CUTLASS: name it with --cutlass"
        )
    problems = sum(len(one.problems) for one in manifests)
    native = NATIVE in request.archs or any(
        arch.data == NATIVE for one in manifests for family in one.families for arch in family.arch
    )
    lists = tuple(dict.fromkeys(path for one in manifests for path in one.problem_lists))
    return Selection(expansion.kernels, expansion.skipped, next(iter(named), None), problems, lists, native)


def find_toolchain(request: Request, selection: Selection) -> Toolchain:
    """The toolchain for these kernels. Raises MachineError."""
    found = toolchain.find(request.nvcc, request.cutlass, selection.cutlass)
    toolchain.check_archs(found, [ARCHS[name] for name in {kernel.arch for kernel in selection.kernels.values()}])
    return found


def plan(request: Request, selection: Selection, tools: Toolchain, build_folder: str) -> Plan:
    """Kernels -> keys -> the plan of a build in `build_folder`."""
    keyer = Keyer(tools)
    keys = keyer.keys(list(selection.kernels.values()), memory.cores())
    runtimes = {name: keyer.runtime(name).key for name in sorted({one.arch for one in selection.kernels.values()})}
    targets = tuple(
        KernelTarget(
            label,
            key,
            runtimes[kernel.arch],
            OPERATIONS[kernel.operation].cost(kernel.config).memory_bytes,
            kernel,
        )
        for key, (label, kernel) in zip(keys, selection.kernels.items())
    )
    inputs = [*_inputs(request, tools, keyer), *selection.problem_lists]
    return Plan(
        tools,
        tuple(RuntimeTarget(key, name) for name, key in runtimes.items()),
        targets,
        _command(request, build_folder),
        tuple(dict.fromkeys(_from(path, build_folder) for path in inputs if not _same(path, build_folder))),
        keyer.digests(),
    )


def previous(request: Request, build_folder: str) -> Previous | None:
    """What the same request came to before in this build folder, if nothing at all has changed since."""
    command = _command(request, build_folder)
    return unchanged.find(command, request.nvcc, request.cutlass, build_folder, _OUTPUTS)


def write(request: Request, selection: Selection, plan: Plan, template: str, started: int) -> None:
    """Writes what the plan says into the current folder, which is the build folder; files only if they change.

    `started` is when the first input was read, as clock.precisely() gave it. Raises BuildError, InputError.
    """
    _check_folder(os.getcwd())
    states = store.survey(plan.kernels)
    memory_bytes = memory.memory_bytes() if request.memory_bytes is None else request.memory_bytes
    text = buildfile.render(
        template,
        plan,
        batches.plan_batches(plan, states, memory_bytes, memory.cores()),
        name=template_path(request),
        builddir=store.CACHE if store.is_writable() else None,
        keep_scratch=request.keep_scratch,
        memory_bytes=memory_bytes,
    )
    commands = buildfile.compile_commands(plan)
    with writing(store.CACHE):
        Path(store.CACHE).mkdir(exist_ok=True)
    _unless_complete(plan, lambda: plan.write(store.PLAN))
    write_if_changed(COMPILE_COMMANDS, commands)
    write_if_changed(BUILD_FILE, text)
    if selection.native or _has_changed(plan.inputs, started):
        unchanged.forget()
    else:
        unchanged.remember(plan, selection.cutlass, selection.skipped, _OUTPUTS, states)


def settle(request: Request, plan: Plan, started: int, by_ninja: bool) -> Generated:
    """Brings the current folder's cache in line with the plan: damaged profilers are removed, cache/bin is renewed.

    Unless it is ninja that waits for this, ninja's log is removed: it may have come with the cache from elsewhere, and
    what it says of another build.ninja would make ninja generate once more. Raises BuildError.
    """
    if not by_ninja:
        with suppress(OSError):
            os.unlink(_NINJA_LOG)
    if not request.keep_scratch:
        scratch.sweep()
    targets: list[store.Target] = [*plan.kernels, *plan.runtimes]
    states = store.survey(targets)
    repaired = store.repair(targets, states)
    used.note([target.key for target in targets], clock.now())
    _unless_complete(plan, lambda: links.link_current(plan.kernels, states))
    buildfile.settle(BUILD_FILE, plan.inputs, started)
    return Generated(plan, states, repaired)


def _unless_complete(plan: Plan, action: Callable[[], object]) -> None:
    """Do what a cache that holds everything, and that may be read-only, can do without. Raises BuildError."""
    try:
        action()
    except BuildError:
        states = store.survey([*plan.kernels, *plan.runtimes])
        if any(state.status is not Status.CACHED for state in states.values()):
            raise


def _has_changed(paths: Iterable[str], since: int) -> bool:
    """Whether any of these files and folders was written to."""
    for path in paths:
        with suppress(OSError):
            if os.stat(path).st_ctime_ns >= since:
                return True
    return False


def _check_folder(path: str) -> None:
    """Refuse a build folder whose path nvcc, which hands it to a shell in double quotes, cannot work in."""
    if found := re.search(r"`|\$[({]", path):
        raise InputError(f"error: the build folder {path!r} has {found[0]!r} in its path, which nvcc cannot work in")


def template_path(request: Request) -> str:
    """The template of build.ninja: `--template`, the checkout's, or the one that was installed with the package."""
    if request.template:
        return request.template
    checkout = _PACKAGE.parent / "build.ninja.in"
    return str(checkout if checkout.is_file() else _PACKAGE / "build.ninja.in")


def read_template(request: Request) -> str:
    """The text of the template. Raises InputError."""
    path = template_path(request)
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise InputError(f"{path}: error: {reason}; --template names a build.ninja.in") from error


def _inputs(request: Request, tools: Toolchain, keyer: Keyer) -> list[str]:
    """What wakes the generator: everything that it read, and the folders in which a new file would have been read.

    Not the package's folders of Python files: Python leaves its compiled ones there, the first time that it is run.
    """
    package = [path for path in _PACKAGE.rglob("*") if "__pycache__" not in path.parts and not any(path.glob("*.py"))]
    return [
        *request.manifests,
        template_path(request),
        *sorted({tools.nvcc, tools.host_compiler, tools.cudart}),
        *sorted(map(str, package)),
        *sorted(keyer.digests()),
        *sorted(keyer.folders()),
    ]


def _command(request: Request, build_folder: str) -> tuple[str, ...]:
    """The command line that asks for the same, from the build folder."""
    command = [_from(path, build_folder) for path in request.manifests]
    for name in request.archs:
        command += ["--arch", name]
    for glob in request.only:
        command += ["--only", glob]
    for option, path in (("--nvcc", request.nvcc), ("--cutlass", request.cutlass), ("--template", request.template)):
        if path is not None:
            command += [option, _from(path, build_folder) if os.path.exists(path) else path]
    if request.keep_scratch:
        command.append("--keep-scratch")
    if request.compile != BATCHED:
        command += ["--compile", request.compile]
    if request.memory_bytes is not None:
        command += ["--memory", str(request.memory_bytes)]
    return tuple(command)


def _from(path: str, folder: str) -> str:
    """A path as it is reached from `folder`: absolute if it was given so."""
    return path if os.path.isabs(path) else os.path.relpath(path, folder)


def _same(path: str, folder: str) -> bool:
    return os.path.isdir(path) and os.path.samefile(path, folder)
