"""Families -> kernels: the product of their choices, what is invalid refused, equal ones once."""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .arch import ARCHS, NATIVE, Arch
from .errors import InputError, ManifestError
from .kernel import Kernel
from .manifest import Family, Manifest
from .operations import OPERATIONS, Violation
from .places import Mark, nearest
from .schema import Value

_SHOWN_ERRORS = 50


@dataclass(frozen=True)
class Expansion:
    """What the manifests of one call come to."""

    kernels: Mapping[str, Kernel]
    """Sorted by label. A label is the kernel's name, with what tells it apart where kernels share that name."""
    skipped: Sequence[str] = field(default=())
    """A line for each family with `skip_invalid` that lost members: how many, and why."""


def expand(
    manifests: Iterable[Manifest],
    native: Callable[[], Sequence[Arch]],
    archs: Sequence[str] = (),
    only: Sequence[str] = (),
) -> Expansion:
    """All kernels of the manifests.

    `native` is asked for this machine's architectures when one is wanted; `archs` replaces the manifests' own; `only`
    keeps the labels or names that match one of these globs. Raises ManifestError with a line for each invalid member,
    InputError when `only` matches nothing.
    """
    resolve = _Resolver(native, archs)
    errors: dict[tuple[str, int, int, str], str] = {}
    skipped: list[str] = []
    kernels: dict[Any, Kernel] = {}
    for manifest in manifests:
        for family in manifest.families:
            reasons: Counter[str] = Counter()
            for kernel, problems in _members(family, resolve(family.arch)):
                if kernel is not None:
                    kernels.setdefault(_identity(kernel), kernel)
                elif family.skip_invalid:
                    reasons[problems[0][1]] += 1
                else:
                    for mark, message in problems:
                        errors.setdefault((mark.file, mark.line, mark.column, message), f"{mark}: error: {message}")
            if reasons:
                skipped.append(_skipped_line(family, reasons))
    if errors:
        raise ManifestError(_error_lines(errors))
    return Expansion(_select(_label(kernels.values()), only), skipped)


class _Resolver:
    """Names of architectures -> what they mean; asks for the native ones at most once."""

    def __init__(self, native: Callable[[], Sequence[Arch]], archs: Sequence[str]) -> None:
        self._native = native
        self._archs = archs
        self._found: Sequence[Arch] | None = None

    def __call__(self, given: Iterable[Value]) -> list[Arch]:
        names = list(self._archs) or [value.data for value in given]
        return list(dict.fromkeys(arch for name in names for arch in self._meant(name)))

    def _meant(self, name: str) -> Sequence[Arch]:
        if name != NATIVE:
            return (ARCHS[name],)
        if self._found is None:
            self._found = self._native()
        return self._found


def _members(family: Family, archs: Sequence[Arch]) -> Iterator[tuple[Kernel | None, list[tuple[Mark, str]]]]:
    """Each member for each architecture: the kernel, or why there is none."""
    operation = OPERATIONS[family.operation]
    for member in family.members():
        config = operation.configure(member)
        for arch in archs:
            violations = operation.violations(config, arch)
            if violations:
                yield None, [(_place(member, violation, family.mark), violation.message) for violation in violations]
            else:
                yield Kernel(family.operation, operation.name(config), arch.name, config, family.settings), []


def _place(member: Mapping[str, Value], violation: Violation, default: Mark) -> Mark:
    """Where the value to blame stands. A field that was not given took its value from the one it is named after
    (`alignment_a` from `alignment`), or else from the family.
    """
    name, _, inner = violation.field.partition(".")
    value = member.get(name) or member.get(name.rpartition("_")[0])
    if value is None:
        return default
    if inner and inner in value.data:
        mark: Mark = value.data[inner].mark
        return mark
    return value.mark


def _identity(kernel: Kernel) -> Any:
    return (kernel.operation, kernel.name, kernel.arch, kernel.settings, repr(sorted(kernel.config.items())))


def _label(kernels: Iterable[Kernel]) -> dict[str, Kernel]:
    """A name of its own for each kernel, independent of their order."""
    by_name: defaultdict[str, list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        by_name[kernel.name].append(kernel)
    labelled = {}
    for name, namesakes in by_name.items():
        if len(namesakes) == 1:
            labelled[name] = namesakes[0]
        else:
            traits = [_traits(kernel) for kernel in namesakes]
            differing = [trait for trait in traits[0] if len({one.get(trait) for one in traits}) > 1]
            labels = ["-".join([name, *(own[trait] for trait in differing if own[trait])]) for own in traits]
            if len(set(labels)) < len(labels):  # They differ in what a label does not show.
                labels = [f"{label}-{_digest(kernel)}" for label, kernel in zip(labels, namesakes)]
            labelled.update(zip(labels, namesakes))
    return dict(sorted(labelled.items()))


def _digest(kernel: Kernel) -> str:
    return hashlib.sha256(repr(_identity(kernel)).encode()).hexdigest()[:8]


def _traits(kernel: Kernel) -> dict[str, str]:
    """What may tell a kernel from its namesakes, as parts of a label."""
    traits = {"arch": kernel.arch}
    for name, value in kernel.config.items():
        shown = "x".join(map(str, value)) if isinstance(value, list) else value
        traits[name] = f"{name}_{shown}"
    folders = [os.path.basename(folder) for folder in kernel.settings.include_dirs]
    for name, values in (("nvcc_flags", kernel.settings.nvcc_flags), ("include_dirs", folders)):
        traits[name] = "".join(char if char.isalnum() else "_" for char in "-".join(values)).strip("_")
    return traits


def _select(kernels: dict[str, Kernel], only: Sequence[str]) -> dict[str, Kernel]:
    if not only:
        return kernels
    kept = {
        label: kernel
        for label, kernel in kernels.items()
        if any(fnmatch.fnmatchcase(name, glob) for glob in only for name in (label, kernel.name))
    }
    if not kept:
        near = nearest(only[0], kernels)
        hint = f"; did you mean {near}?" if near else ""
        raise InputError(f"error: --only {' --only '.join(only)} matches none of the {len(kernels)} kernels{hint}")
    return kept


def _skipped_line(family: Family, reasons: Counter[str]) -> str:
    total = reasons.total()
    shown = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3))
    more = f"; {len(reasons) - 3} more reasons" if len(reasons) > 3 else ""
    return f"{family.mark}: skipped {total} of {family.size()} members: {shown}{more}"


def _error_lines(errors: Mapping[tuple[str, int, int, str], str]) -> str:
    lines = [errors[place] for place in sorted(errors)]
    if len(lines) > _SHOWN_ERRORS:
        more = len(lines) - _SHOWN_ERRORS
        lines = [*itertools.islice(lines, _SHOWN_ERRORS), f"error: {more} more errors like these"]
    return "\n".join(lines)
