"""What an operation kind offers to the rest of the program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..arch import Arch
from ..schema import Field, Value

Config = Mapping[str, Any]
"""A kernel's values, JSON types only, by names of cutlass_library."""


ANY = "*"
"""In a signature the value of a field that makes no difference to the problem."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One reason why CUTLASS or the hardware cannot have a kernel."""

    field: str
    """The manifest's field to blame, with a dot before a field of a record: `tile_description.stages`."""
    message: str
    """What is wrong, with the figures, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What compiling takes, measured with nvcc 13 on one core and rounded up."""

    memory_bytes: int
    """Peak memory of the first kernel of a batch, and of one that is compiled by itself."""
    further_memory_bytes: int
    """What each further kernel of a batch adds."""
    cpu_s: float
    """Of the first kernel of a batch."""
    further_cpu_s: float


@dataclass(frozen=True)
class Operation:
    """One operation kind."""

    kind: str
    """Its name in manifests."""
    fields: tuple[Field, ...]
    """What a family of it may say."""
    problem_fields: tuple[Field, ...]
    """What a problem of it consists of: the profiler's flags."""
    configure: Callable[[Mapping[str, Value]], Config]
    """One member of a family -> the kernel's values, defaults filled in."""
    violations: Callable[[Config, Arch], Sequence[Violation]]
    """Why the kernel cannot be built for this architecture, or could not run there; empty for a valid one."""
    name: Callable[[Config], str]
    """The kernel's name by CUTLASS's convention."""
    templates: Callable[[Config], str]
    """The folder under templates/ that holds this kernel's kernel.h, device.cu and host.cpp."""
    template_values: Callable[[Config, Arch], Mapping[str, Any]]
    """What those templates need beside the configuration, and never under the name of one of its fields."""
    cost: Callable[[Config], Cost]
    """What compiling kernels like this one takes."""
    alike: tuple[str, ...]
    """Fields of the configuration, those first in which kernels must agree to have the most in common when they are
    compiled together."""
    why_single: Callable[[Config, str], str] = lambda config, cutlass: ""
    """Why plain g++ cannot compile the kernel's host half with this version of CUTLASS; empty if it can."""
    unremarkable: Mapping[str, Any] = field(default_factory=dict)
    """Values that go without saying where a label tells kernels apart, by their names in the configuration."""
    exchanged: Callable[[Mapping[str, Any], Mapping[str, Any]], tuple[Mapping[str, Any], Mapping[str, Any]] | None] = (
        lambda signature, problem: None
    )
    """A signature and a problem -> those of the other form of what is computed; None if there is none. Twice is back
    where it began; what becomes of the problem does not depend on the signature."""
    indifferent: Callable[[Mapping[str, Any]], Collection[str]] = lambda problem: ()
    """The fields of signatures that make no difference to a problem."""
    problem_violations: Callable[[Mapping[str, Any]], Sequence[Violation]] = lambda problem: ()
    """Why nothing can compute a problem, whose fields are right each by itself."""
    takes: Callable[[Mapping[str, Any], Mapping[str, Any]], bool] = lambda config, problem: True
    """Whether kernels of this configuration can be asked a problem at all, as far as that is known without a GPU."""
