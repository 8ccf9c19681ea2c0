"""The generator: manifests -> plan -> build.ninja, compile_commands.json. It compiles nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import arch, buildfile, expand, links, manifest, scratch, store, toolchain
from .arch import ARCHS
from .errors import InputError
from .files import write_if_changed
from .kernel import Kernel, Settings
from .keys import Identity, Keyer
from .operations import OPERATIONS
from .plan import KernelTarget, Plan, RuntimeTarget
from .store import State
from .toolchain import Toolchain

_PACKAGE = Path(__file__).parent
BUILD_FILE = Path("build.ninja")
COMPILE_COMMANDS = Path("compile_commands.json")


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


@dataclass(frozen=True)
class Selection:
    """The kernels of a request and what the manifests say beside them."""

    kernels: Mapping[str, Kernel]
    """By label, sorted."""
    skipped: Sequence[str]
    cutlass: str | None
    problems: int


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
    expansion = expand.expand(manifests, arch.native, request.archs, request.only)
    named = {value.data: value for one in manifests if (value := one.cutlass) is not None}
    if len(named) > 1 and not request.cutlass:
        first, second, *_ = named.values()
        raise InputError(
            f"{second.mark}: error: cutlass is {second.data}, but {first.mark} says {first.data}; "
            "one build has one CUTLASS: name it with --cutlass"
        )
    problems = sum(len(one.problems) for one in manifests)
    return Selection(expansion.kernels, expansion.skipped, next(iter(named), None), problems)


def find_toolchain(request: Request, selection: Selection) -> Toolchain:
    """The toolchain for these kernels. Raises MachineError."""
    found = toolchain.find(request.nvcc, request.cutlass, selection.cutlass)
    toolchain.check_archs(found, [ARCHS[name] for name in {kernel.arch for kernel in selection.kernels.values()}])
    return found


def plan(request: Request, selection: Selection, tools: Toolchain, build_folder: str) -> Plan:
    """Kernels -> keys -> the plan of a build in `build_folder`."""
    keyer = Keyer(tools)
    identities = {label: keyer.kernel(kernel) for label, kernel in selection.kernels.items()}
    runtimes = {name: keyer.runtime(name).key for name in sorted({one.arch for one in selection.kernels.values()})}
    targets = tuple(
        KernelTarget(
            label,
            identities[label].key,
            runtimes[kernel.arch],
            OPERATIONS[kernel.operation].compile_memory_bytes(kernel.config),
            kernel,
        )
        for label, kernel in selection.kernels.items()
    )
    inputs = _inputs(request, tools, identities.values(), {kernel.settings for kernel in selection.kernels.values()})
    return Plan(
        tools,
        tuple(RuntimeTarget(key, name) for name, key in runtimes.items()),
        targets,
        _command(request, build_folder),
        tuple(dict.fromkeys(_from(path, build_folder) for path in inputs if not _same(path, build_folder))),
    )


def write(request: Request, plan: Plan, template: str) -> Generated:
    """Writes what the plan says into the current folder, which is the build folder; files only if they change.

    Removes damaged profilers from the cache and brings cache/bin up to date. Raises BuildError, InputError.
    """
    if not request.keep_scratch:
        scratch.sweep()
    targets: list[store.Target] = [*plan.kernels, *plan.runtimes]
    states = store.survey(targets)
    repaired = store.repair(targets, states)
    text = buildfile.render(template, plan, keep_scratch=request.keep_scratch)
    commands = buildfile.compile_commands(plan)
    BUILD_FILE.parent.joinpath(store.CACHE).mkdir(exist_ok=True)
    plan.write(store.PLAN)
    links.link_current(plan.kernels, states)
    write_if_changed(COMPILE_COMMANDS, commands)
    write_if_changed(BUILD_FILE, text)
    buildfile.settle(BUILD_FILE, plan.inputs)
    return Generated(plan, states, repaired)


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


def _inputs(
    request: Request, tools: Toolchain, identities: Iterable[Identity], settings: Iterable[Settings]
) -> list[str]:
    """What wakes the generator: everything that it read, and the folders in which a new header could shadow one."""
    headers = {path for identity in identities for path in identity.files}
    package = [path for path in _PACKAGE.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    folders = {os.path.dirname(path) for path in headers}
    for top in {top for one in settings for top in one.include_dirs}:
        for path, below, _ in os.walk(top):
            folders.add(path)
            below[:] = [
                name for name in below if not name.startswith(".") and name not in (store.CACHE, scratch.FOLDER)
            ]
    return [
        *request.manifests,
        template_path(request),
        *sorted({tools.nvcc, tools.host_compiler, tools.cudart}),
        *sorted(map(str, package)),
        *sorted(headers),
        *sorted(folders),
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
    return tuple(command)


def _from(path: str, folder: str) -> str:
    """A path as it is reached from `folder`: absolute if it was given so."""
    return path if os.path.isabs(path) else os.path.relpath(path, folder)


def _same(path: str, folder: str) -> bool:
    return os.path.isdir(path) and os.path.samefile(path, folder)
