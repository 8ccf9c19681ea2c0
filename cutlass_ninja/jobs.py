"""What the build edge does for a target: the same for a kernel and for a runtime library."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import commands, sources, store
from .errors import BuildError
from .halves import why_single
from .kernel import BATCHED, SINGLE
from .keys import Identity, Keyer
from .plan import KernelTarget, Plan, RuntimeTarget


@dataclass(frozen=True)
class Job:
    """One target with all that it takes to build it."""

    target: store.Target
    description: Mapping[str, Any]
    """What build.json says of the target, beside its key."""
    texts: Mapping[str, str]
    """The files to compile, by relative path."""
    links: Mapping[str, str]
    commands: Sequence[Sequence[str]]
    """Run one after the other in the target's folder."""
    front_end: Sequence[Sequence[str]]
    """What is run before them for a whole batch, in the folder above; equal for all that may be in one. Empty for a
    target that is compiled by itself."""
    identify: Callable[[Keyer], Identity]
    """Gives the target's key, from what the keyer reads."""
    keyer: Callable[[], Keyer]
    """Reads everything that targets are made of anew."""
    published: tuple[str, ...]
    """The sources that are published with the product."""
    generate: str
    """The command that writes the plan anew."""
    retry: str
    """The command that makes ninja try again what failed."""
    made_beside: tuple[str, ...] = ()
    """What the commands make and is published beside the product."""


def label(target: store.Target) -> str:
    """What messages call a target."""
    return target.label if isinstance(target, KernelTarget) else f"runtime for {target.arch}"


def job_of(plan: Plan, target: store.Target) -> Job:
    """The job of a target of the plan. Raises BuildError if a kernel's runtime library has not been built."""
    return _kernel_job(plan, target) if isinstance(target, KernelTarget) else _runtime_job(plan, target)


def _kernel_job(plan: Plan, target: KernelTarget) -> Job:
    kernel = target.kernel
    runtime = next(runtime for runtime in plan.runtimes if runtime.key == target.runtime)
    if store.examine(runtime).status is not store.Status.CACHED:
        raise BuildError("error: its runtime library is not there; run ninja, which builds it first")
    library = os.path.abspath(f"{store.folder(runtime)}/{store.LIBRARY}")
    texts = sources.kernel_sources(kernel, target.key)
    single = why_single(plan.toolchain, kernel)
    compiled = commands.kernel_commands if single else commands.back_end_commands
    return Job(
        target=target,
        description={
            "name": kernel.name,
            "label": target.label,
            "operation": kernel.operation,
            "arch": kernel.arch,
            "config": dict(kernel.config),
            "runtime": target.runtime,
            "compile": SINGLE if single else BATCHED,
            "compile_reason": single,
        },
        texts=texts,
        links={**commands.links(plan.toolchain, kernel), store.LIBRARY: library},
        commands=compiled(plan.toolchain, kernel, store.LIBRARY),
        front_end=() if single else commands.front_end_commands(plan.toolchain, kernel),
        identify=lambda keyer: keyer.kernel(kernel),
        keyer=lambda: Keyer(plan.toolchain.refreshed()),
        published=tuple(texts),
        generate=_generate(plan),
        retry=_generate(plan, "--retry-failed"),
    )


def _runtime_job(plan: Plan, target: RuntimeTarget) -> Job:
    return Job(
        target=target,
        description={"arch": target.arch},
        texts={name: path.read_text(encoding="utf-8") for name, path in sources.runtime_sources().items()},
        links=commands.runtime_links(plan.toolchain),
        commands=commands.runtime_commands(plan.toolchain, target.arch),
        front_end=(),
        identify=lambda keyer: keyer.runtime(target.arch),
        keyer=lambda: Keyer(plan.toolchain.refreshed()),
        published=(),
        made_beside=(commands.BASELINE,),
        generate=_generate(plan),
        retry=_generate(plan, "--retry-failed"),
    )


def _generate(plan: Plan, *options: str) -> str:
    return shlex.join(["cutlass-ninja", *options, *plan.command])
