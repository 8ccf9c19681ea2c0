"""A manifest: YAML text to families of kernels and problems, every value with its place."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from . import document
from .document import ListNode, MappingNode, Node, ScalarNode
from .errors import ManifestError
from .kernel import Settings
from .nvcc_flags import check_flags
from .operations.operation import Violation
from .places import Errors, Mark
from .schema import Boolean, Choice, Field, FieldType, Product, Text, Value, read_product

MAX_KERNELS = 100_000
"""How many kernels the manifests of one call may make, before any is dropped as invalid."""
MAX_PROBLEMS = 100_000
"""How many problems one manifest may list."""


class Operation(Protocol):
    """What a manifest needs to know of an operation kind."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of a family, beside `operation`, `arch` and `skip_invalid`."""

    @property
    def problem_fields(self) -> tuple[Field, ...]:
        """The fields of a problem, beside `operation`: integers, numbers and choices."""

    @property
    def problem_violations(self) -> Callable[[Mapping[str, Any]], Sequence[Violation]]:
        """Why nothing can compute a problem, whose fields are right each by itself."""


@dataclass(frozen=True)
class Family:
    """Kernels of one kind: the product of its fields' choices, for each of its architectures."""

    operation: str
    product: Product
    arch: tuple[Value, ...]
    """Its own, or else the manifest's: `native` or names as `sm_80`."""
    skip_invalid: bool
    settings: Settings
    mark: Mark

    @property
    def fields(self) -> Mapping[str, tuple[Value, ...]]:
        """Each given or defaulted field's choices, in the order in which the operation declares them."""
        return self.product.choices

    def size(self) -> int:
        """The number of kernels: members times architectures."""
        return self.product.size() * len(self.arch)

    def members(self) -> Iterator[dict[str, Value]]:
        """Every member of the product, the last declared field varying fastest. Each is for every `arch`."""
        return self.product.members()


@dataclass(frozen=True)
class Problem:
    """A problem to measure the kernels of one kind on."""

    operation: str
    values: Mapping[str, int | float | str]


@dataclass(frozen=True)
class Manifest:
    """What one file says."""

    path: str
    """As the caller gave it."""
    arch: tuple[Value, ...]
    families: tuple[Family, ...]
    problems: tuple[Problem, ...]
    """Its own, and those of the lists that it names."""
    problem_lists: tuple[str, ...]
    """The paths of those lists, as one reaches them by way of the manifest's own."""
    cutlass: Value | None
    """The absolute path of a CUTLASS checkout or of its include folder. Not looked at, whether it is."""
    settings: Settings


def load(path: str, operations: Mapping[str, Operation], archs: Collection[str]) -> Manifest:
    """Read one manifest, given the operation kinds and the architectures' names.

    Raises ManifestError with a line for every error found.
    """
    return load_all([path], operations, archs)[0]


def load_all(paths: Iterable[str], operations: Mapping[str, Operation], archs: Collection[str]) -> list[Manifest]:
    """Read manifests in their order; a file that is named twice is read once.

    Raises ManifestError with a line for every error found in any of them.
    """
    by_file: dict[str, str] = {}
    for path in paths:
        by_file.setdefault(os.path.realpath(path), path)
    manifests = []
    failures = []
    kernels = 0
    for path in by_file.values():
        try:
            manifest = _Reader(path, operations, archs, kernels).read()
        except ManifestError as error:
            failures.append(str(error))
        else:
            manifests.append(manifest)
            kernels += sum(family.size() for family in manifest.families)
    if failures:
        raise ManifestError("\n".join(failures))
    return manifests


@dataclass(frozen=True)
class _Mappings(FieldType):
    """A list of mappings, kept as nodes: what each may hold depends on what stands in it."""

    noun: str

    @property
    def expected(self) -> str:
        return f"a mapping for each {self.noun}"

    def parse(self, node: Node, name: str, errors: Errors) -> MappingNode | None:
        if isinstance(node, MappingNode):
            return node
        errors.add(node.mark, f"{name}: expected {self.expected}, found {node}")
        return None

    def read_choices(self, node: Node, name: str, errors: Errors) -> tuple[Value, ...]:
        if isinstance(node, MappingNode) or (isinstance(node, ScalarNode) and not node.is_null):
            errors.add(node.mark, f"{name}: expected a list with {self.expected}, found {node}")
            return ()
        return super().read_choices(node, name, errors)


_PATH = Text(r"[^\0-\x1f]+", "a path")
_FLAG = Text(r"[^\0-\x1f]+", "a flag")
_SKIP_INVALID = Field("skip_invalid", Boolean(), "drop invalid members", default=False, listable=False)
_CUTLASS = Field("cutlass", _PATH, "a CUTLASS checkout or its include folder", listable=False)
_INCLUDE_DIRS = Field("include_dirs", _PATH, "folders searched before CUTLASS's own headers")
_NVCC_FLAGS = Field("nvcc_flags", _FLAG, "flags added to every device compile")
_KERNELS = Field("kernels", _Mappings("family"), "families of kernels", required=True)
_PROBLEMS = Field("problems", _Mappings("problem"), "what to measure them on")
_PROBLEMS_FROM = Field("problems_from", _PATH, "files with lists of such problems")


class _Reader:
    """Reads one file. `kernels` counts what the families before make, those of earlier manifests included."""

    def __init__(self, path: str, operations: Mapping[str, Operation], archs: Collection[str], kernels: int) -> None:
        self.path = path
        self.operations = operations
        self.kernels = kernels
        self.errors = Errors(path)
        self.arch = Field("arch", Choice(("native", *archs), "architecture"), "what to compile for")
        names = Choice(tuple(operations), "operation")
        self.operation = Field("operation", names, "the kind", required=True, listable=False)

    def read(self) -> Manifest:
        root = self._root()
        arch_below = _families_give_arch(root)
        arch_field = replace(self.arch, required=not arch_below)
        top_fields = (arch_field, _KERNELS, _PROBLEMS, _PROBLEMS_FROM, _CUTLASS, _INCLUDE_DIRS, _NVCC_FLAGS)
        top = read_product(root, top_fields, "the manifest", self.errors).choices
        if arch_below and "arch" not in root.entries:
            self.arch = replace(self.arch, required=True)
        arch = top.get("arch", ())
        flags = top.get("nvcc_flags", ())
        check_flags(flags, self.errors)
        settings = Settings(self._folders(top.get("include_dirs", ())), tuple(flag.data for flag in flags))
        nodes = [value.data for value in top.get("kernels", ())]
        families = tuple(family for node in nodes for family in self._family(node, arch, settings))
        kinds = tuple(dict.fromkeys(family.operation for family in families))
        if len(families) < len(nodes):
            kinds = ()  # One of them has an unknown kind, which a problem may be meant for.
        problems = [p for value in top.get("problems", ()) for p in self._problems(value.data, kinds)]
        lists = tuple(dict.fromkeys(self._problem_lists(top.get("problems_from", ()))))
        failures = []
        for path in lists:
            try:
                problems += self._problem_list(path)
            except ManifestError as error:
                failures.append(str(error))
        self.errors.check(failures)
        cutlass = next((Value(self._absolute(v.data), v.mark) for v in top.get("cutlass", ())), None)
        return Manifest(self.path, arch, families, tuple(problems), lists, cutlass, settings)

    def _root(self) -> MappingNode:
        root = document.compose(document.read(self.path), self.errors)
        if root is None or (isinstance(root, ScalarNode) and root.is_null):
            self.errors.fail(Mark(self.path, 1, 1), "is empty: a manifest needs 'arch' and 'kernels'")
        if not isinstance(root, MappingNode):
            message = f"a manifest is a mapping with 'arch' and 'kernels', found {root}"
            self.errors.fail(root.mark, message)
        own = {key: entry for key, entry in root.entries.items() if not key.startswith("x-")}
        return MappingNode(root.mark, own)

    def _absolute(self, path: str) -> str:
        folder = os.path.dirname(os.path.abspath(self.path))
        return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))

    def _folders(self, values: Iterable[Value]) -> tuple[str, ...]:
        folders = []
        for value in values:
            folders.append(self._absolute(value.data))
            if not os.path.isdir(folders[-1]):
                self.errors.add(value.mark, f"include_dirs: no folder '{folders[-1]}'")
        return tuple(folders)

    def _problem_lists(self, values: Iterable[Value]) -> Iterator[str]:
        """The paths of the lists that a manifest names."""
        for value in values:
            path = os.path.join(os.path.dirname(self.path), os.path.expanduser(value.data))
            if os.path.isfile(path):
                yield path
            else:
                self.errors.add(value.mark, f"problems_from: no file '{path}'")

    def _problem_list(self, path: str) -> list[Problem]:
        """The problems of a file that holds nothing else, all of one kind. Raises ManifestError."""
        reader = _Reader(path, self.operations, (), 0)
        root = document.compose(document.read(path), reader.errors)
        if not isinstance(root, MappingNode):
            place = Mark(path, 1, 1) if root is None else root.mark
            shown = "" if root is None else f", found {root}"
            reader.errors.fail(place, f"a list of problems is a mapping with 'operation' and 'problems'{shown}")
        own = MappingNode(root.mark, {key: entry for key, entry in root.entries.items() if not key.startswith("x-")})
        problems = replace(_PROBLEMS, required=True)
        top = read_product(own, (reader.operation, problems), "a list of problems", reader.errors).choices
        kinds = tuple(value.data for value in top.get("operation", ()))
        found = [p for value in top.get("problems", ()) for p in reader._problems(value.data, kinds)]
        reader.errors.check()
        return found

    def _kind(self, node: MappingNode) -> str | None:
        entry = node.entries.get("operation")
        if entry and isinstance(entry.node, ScalarNode) and entry.node.text in self.operations:
            return entry.node.text
        return None

    def _family(self, node: MappingNode, arch: tuple[Value, ...], settings: Settings) -> Iterator[Family]:
        head = (self.operation, self.arch, _SKIP_INVALID)
        kind = self._kind(node)
        if kind is None:
            read_product(node, head, "a family", self.errors, self._names("fields"))
            return
        fields = self.operations[kind].fields
        choices = read_product(node, (*head, *fields), f"a {kind} family", self.errors).choices
        product = Product(node.mark, {f.name: choices[f.name] for f in fields if f.name in choices})
        skip_invalid = any(value.data for value in choices["skip_invalid"])
        family = Family(kind, product, choices.get("arch", arch), skip_invalid, settings, node.mark)
        self._count(family)
        yield family

    def _count(self, family: Family) -> None:
        size = family.size()
        if self.kernels + size <= MAX_KERNELS:
            self.kernels += size
            return
        sizes = {**family.product.sizes(), "arch": len(family.arch)}
        before = f" and {self.kernels:,} come before it" if size <= MAX_KERNELS else ""
        message = f"this family makes {size:,} kernels{_factors(sizes)}{before}"
        self.errors.add(family.mark, f"{message}; one call may make {MAX_KERNELS:,}")

    def _problems(self, node: MappingNode, kinds: tuple[str, ...]) -> Iterator[Problem]:
        operation = replace(self.operation, required=False)
        kind = self._kind(node)
        if "operation" not in node.entries and len(kinds) == 1:
            kind = kinds[0]
        if kind is None:
            read_product(node, (operation,), "a problem", self.errors, self._names("problem_fields"))
            if "operation" not in node.entries and kinds:
                self.errors.add(node.mark, f"a problem lacks 'operation' (one of {', '.join(kinds)})")
            return
        fields = self.operations[kind].problem_fields
        choices = read_product(node, (operation, *fields), f"a {kind} problem", self.errors).choices
        product = Product(node.mark, {f.name: choices[f.name] for f in fields if f.name in choices})
        if product.size() > MAX_PROBLEMS:
            message = f"this makes {product.size():,} problems{_factors(product.sizes())}"
            self.errors.add(node.mark, f"{message}; one manifest may list {MAX_PROBLEMS:,}")
            return
        yield from problems_of(kind, self.operations[kind], product, self.errors)

    def _names(self, which: str) -> list[str]:
        fields = (f for operation in self.operations.values() for f in getattr(operation, which))
        return list(dict.fromkeys(f.name for f in fields))


def problems_of(kind: str, operation: Operation, product: Product, errors: Errors) -> Iterator[Problem]:
    """The problems that a product of an operation's fields makes. Where there is no such problem, an error is noted."""
    complete = {field.name for field in operation.problem_fields if field.required or field.default is not None}
    if not complete <= product.choices.keys():
        return  # The others are wrong by themselves.
    for member in product.members():
        values = {name: value.data for name, value in member.items()}
        violations = operation.problem_violations(values)
        for violation in violations:
            errors.add(member[violation.field].mark, violation.message)
        if not violations:
            yield Problem(kind, values)


def _families_give_arch(root: MappingNode) -> bool:
    entry = root.entries.get("kernels")
    items = entry.node.items if entry and isinstance(entry.node, ListNode) else ()
    return any(isinstance(item, MappingNode) and "arch" in item.entries for item in items)


def _factors(sizes: Mapping[str, int]) -> str:
    """The largest factors of a product, for a message."""
    factors = sorted(((size, name) for name, size in sizes.items() if size > 1), reverse=True)
    shown = " x ".join(f"{name} {size:,}" for size, name in factors[:4])
    more = " x ..." if len(factors) > 4 else ""
    return f" ({shown}{more})" if shown else ""
