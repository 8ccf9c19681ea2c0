"""Families -> kernels: the product of their choices, what is invalid refused, equal ones once."""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import attrgetter
from typing import Any

from .arch import ARCHS, NATIVE, Arch
from .errors import InputError, ManifestError
from .kernel import BATCHED, ConfigWriter, Kernel
from .manifest import Family, Manifest
from .memo import Memo
from .operations import OPERATIONS
from .operations.operation import Operation, Violation
from .places import Mark, nearest
from .schema import Value

_SHOWN_ERRORS = 50
_ABSENT = object()
_LONGEST_LABEL = 240  # A file's name has 255 bytes at most.


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
    compile: str = BATCHED,
) -> Expansion:
    """All kernels of the manifests.

    `native` is asked for this machine's architectures when one is wanted; `archs` replaces the manifests' own; `only`
    keeps the labels or names that match one of these globs; `compile` is how they are to be compiled, one of
    kernel.WAYS. Raises ManifestError with a line for each invalid member, InputError when `only` matches nothing.
    """
    resolve = _Resolver(native, archs)
    rules = {kind: _Rules(operation) for kind, operation in OPERATIONS.items()}
    errors: dict[tuple[str, int, int, str], str] = {}
    skipped: list[str] = []
    kernels: dict[Any, Kernel] = {}
    for manifest in manifests:
        for family in manifest.families:
            reasons: Counter[str] = Counter()
            family = replace(family, settings=replace(family.settings, compile=compile))
            for kernel, problems in _members(family, resolve(family.arch), rules[family.operation]):
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


class _Rules:
    """An operation's rules, each applied once to all configurations that it cannot tell apart."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._violations: dict[Arch, Memo[Sequence[Violation]]] = {}
        self.configure = operation.configure
        self.name = operation.name

    def violations(self, arch: Arch) -> Memo[Sequence[Violation]]:
        """Why a configuration cannot be built for the architecture."""
        if arch not in self._violations:
            self._violations[arch] = Memo(lambda config: self._operation.violations(config, arch))
        return self._violations[arch]


def _members(
    family: Family, archs: Sequence[Arch], rules: _Rules
) -> Iterator[tuple[Kernel | None, list[tuple[Mark, str]]]]:
    """Each member for each architecture: the kernel, or why there is none."""
    rules_of = [(arch.name, rules.violations(arch)) for arch in archs]
    writer = ConfigWriter()
    for member in family.members():
        config = rules.configure(member)
        for arch, violations_of in rules_of:
            if violations := violations_of(config):
                yield None, list(_located(member, violations, family.mark))
            else:
                kernel = Kernel(family.operation, rules.name(config), arch, config, family.settings)
                yield kernel.with_json(writer.text(config)), []


def _located(member: Mapping[str, Value], violations: Iterable[Violation], default: Mark) -> Iterator[tuple[Mark, str]]:
    """Where the value to blame stands, and why. A field that was not given took its value from the one it is named
    after (`alignment_a` from `alignment`), or else from the family. One value that several fields took is blamed once.
    """
    blamed = set()
    for violation in sorted(violations, key=attrgetter("field")):
        name, _, inner = violation.field.partition(".")
        source = name if name in member else name.rpartition("_")[0]
        value = member.get(source)
        if value is None:
            yield default, violation.message
        elif inner and inner in value.data:
            yield value.data[inner].mark, violation.message
        elif source == name or source not in blamed:
            yield value.mark, violation.message
            blamed.add(source)


def _identity(kernel: Kernel) -> Any:
    """What equal kernels have in common."""
    return (kernel.operation, kernel.arch, kernel.settings, kernel.config_json)


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
            differing = [trait for trait in _traits(namesakes) if len(set(trait)) > 1]
            labels = ["-".join(filter(None, parts)) for parts in zip(repeat(name), *differing)]
            if len(set(labels)) < len(labels):  # They differ in what a label does not show.
                labels = [f"{label}-{_digest(kernel)}" for label, kernel in zip(labels, namesakes)]
            labels = [_shortened(label, kernel) for label, kernel in zip(labels, namesakes)]
            labelled.update(zip(labels, namesakes))
    return dict(sorted(labelled.items()))


def _shortened(label: str, kernel: Kernel) -> str:
    """A label that is a file's name."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 9]}-{_digest(kernel)}"


def _digest(kernel: Kernel) -> str:
    distinct = (kernel.operation, kernel.name, kernel.arch, kernel.settings, sorted(kernel.config.items()))
    return hashlib.sha256(repr(distinct).encode()).hexdigest()[:8]


def _traits(namesakes: Sequence[Kernel]) -> Iterator[list[str]]:
    """What may tell kernels of one name apart, as parts of their labels: for each trait the parts of all kernels."""
    yield [kernel.arch for kernel in namesakes]
    configs = [kernel.config for kernel in namesakes]
    unremarkable = OPERATIONS[namesakes[0].operation].unremarkable
    for name in dict.fromkeys(itertools.chain.from_iterable(configs)):
        values = [config.get(name, _ABSENT) for config in configs]
        if _differ(values):
            silent = (_ABSENT, unremarkable.get(name, _ABSENT))
            yield ["" if value in silent else f"{name}_{_shown(value)}" for value in values]
    settings = [kernel.settings for kernel in namesakes]
    if _differ(settings):
        yield [_in_words(one.nvcc_flags) for one in settings]
        yield [_in_words(map(os.path.basename, one.include_dirs)) for one in settings]


def _differ(values: Sequence[Any]) -> bool:
    return values.count(values[0]) < len(values)


def _shown(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def _in_words(values: Iterable[str]) -> str:
    return "".join(char if char.isalnum() else "_" for char in "-".join(values)).strip("_")


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
