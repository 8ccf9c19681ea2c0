"""Writes support.md: what there is for each operation kind, architecture and type, and how far it is known to be right.

    python docs/support.py

Whether something is offered, and else why not, is what the operations' own rules say of examples made up here; that it
was verified is what the records in docs/recorded say; that it was compiled, that the wide sets of tests/data have it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import record

from cutlass_ninja import generate
from cutlass_ninja.arch import ARCHS
from cutlass_ninja.elements import ELEMENTS
from cutlass_ninja.generate import Request
from cutlass_ninja.operations import OPERATIONS, epilogue, sm90, threadblock
from cutlass_ninja.places import Mark
from cutlass_ninja.schema import Choice, Value

HERE = Path(__file__).parent
PAGE = HERE / "support.md"
RECORDS = HERE / "recorded"
WIDE = HERE.parent / "tests" / "data"
COMPILED = "compiled"
UNKNOWN = "offered, never compiled"

HEAD = f"""\
# What is supported

Made by `python docs/support.py` from the operations' own rules and recorded runs; not to be edited.

- *verified on ...*: kernels were run there on all problems of tests/gpu/verify_kernels.py (regular, ragged, batched,
  degenerate, with beta, split along K), and all results were right.
- *{COMPILED}*: tests/data/wide_*.yaml, all of which `pytest -m wide` compiles, have such kernels.
- *not offered, because [n]*: a manifest that asks for it gets an error, for reason n below the table.
"""
TYPES = """\
## Types

Those of A and B, of the sums, and of C and D. A table for each architecture whose instructions the kernels are made of:
later ones run them too.
"""

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """One column: a kind of kernels."""

    title: str
    operation: str
    values: Mapping[str, str] = field(default_factory=dict)
    """What its configurations have in common."""

    def has(self, facets: Mapping[str, Any]) -> bool:
        """Whether a kernel is of this kind."""
        return facets["operation"] == self.operation and agrees(facets, self.values)


CONVOLUTIONS = (
    Kind("fprop", "conv2d", {"conv_kind": "fprop", "stride_support": "strided"}),
    Kind("dgrad, any stride", "conv2d", {"conv_kind": "dgrad", "stride_support": "strided"}),
    Kind("dgrad, stride 1", "conv2d", {"conv_kind": "dgrad", "stride_support": "unity"}),
    Kind("wgrad", "conv2d", {"conv_kind": "wgrad", "stride_support": "strided"}),
)
KINDS = (Kind("GEMM", "gemm"), *CONVOLUTIONS)
GEMMS = (
    Kind("GEMM of CUTLASS 2.x", "gemm", {"gemm_kind": "universal"}),
    Kind("GEMM of CUTLASS 3.x", "gemm", {"gemm_kind": "universal3x"}),
)
STAGES = {"sm_75": 2, "sm_80": 3}
"""What the examples of CUTLASS 2.x are made with, by the architecture whose instructions are meant."""
HOPPER = "sm_90a"
TILES = (
    *({"threadblock_shape": [64, 64, k], "warp_count": [2, 2, 1]} for k in (16, 32, 64)),
    {"threadblock_shape": [128, 64, 8], "warp_count": [2, 2, 1]},
)
FEATURES = (
    "element_c",
    "epilogue_functor",
    "bias",
    "activation",
    "binary_op",
    "unary_op",
    "iterator_algorithm",
    "group_mode",
    "split_k_mode",
    "swizzling_functor",
    "kernel_schedule",
    "epilogue_schedule",
    "tile_scheduler",
)
"""Fields that say what a kernel does beside multiplying types; of element_c only `void`, no source, is one."""
OPTIONAL = ("binary_op", "unary_op")
"""Of these, those that only some configurations of a kind have."""
TOGETHER = {
    "epilogue_functor": {"binary_op": ["plus"], "unary_op": ["identity"]},
    "binary_op": {"epilogue_functor": [epilogue.RESIDUAL], "unary_op": ["identity"]},
    "unary_op": {"epilogue_functor": [epilogue.RESIDUAL], "binary_op": ["plus"]},
    "kernel_schedule": {"epilogue_schedule": list(sm90.EPILOGUE_SCHEDULES)},
    "epilogue_schedule": {"kernel_schedule": list(sm90.KERNEL_SCHEDULES)},
}
"""What an example changes along with a feature, which is only to be had with some of these."""


class Cells:
    """What is said of each cell of a table; reasons are numbered and listed below it."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._reasons: dict[str, int] = {}

    def cell(self, wanted: Kind, values: Mapping[str, Any], reason: str | None) -> str:
        """How far kernels of a kind with some values are known to be right, or why they are not offered."""
        if reason is None:
            return self._evidence.status(wanted, values)
        return f"not offered, because [{self._reasons.setdefault(reason, len(self._reasons) + 1)}]"

    def reasons(self) -> Iterator[str]:
        """The lines below the table."""
        return (f"{number}. {reason}" for reason, number in self._reasons.items())


class Evidence:
    """What was verified on a GPU and what is compiled."""

    def __init__(self, records: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]) -> None:
        self._records = records
        self._compiled = [
            {name: value for name, value in record.facets(one.operation, one.config).items() if value is not None}
            for one in wide_set()
        ]

    def status(self, wanted: Kind, values: Mapping[str, Any]) -> str:
        """The strongest thing that can be said of kernels of a kind with some values."""
        for head, rows in self._records:
            if any(wanted.has(row) and agrees(row, values) and row["verified"] == row["problems"] for row in rows):
                return f"verified on {head['gpu'].removeprefix('NVIDIA ')}"
        return COMPILED if any(wanted.has(row) and agrees(row, values) for row in self._compiled) else UNKNOWN


def main() -> int:
    """Writes the page."""
    PAGE.write_text(page())
    return 0


def page() -> str:
    """The page's text."""
    records = [record.read(path) for path in sorted(RECORDS.glob("*.json"))]
    evidence = Evidence(records)
    parts = [HEAD, "Recorded runs:\n\n" + "\n".join(map(run_line, records)) + "\n", TYPES]
    rows = types()
    for arch in (*STAGES, HOPPER):
        parts.append(f"### Instructions of {arch}\n\n{type_table(arch, rows, Cells(evidence))}")
    parts.append("## Epilogues, iterators, schedules\n\nWith one of the types at least, on one architecture.\n")
    parts += [feature_table(kinds, Cells(evidence)) for kinds in (GEMMS, CONVOLUTIONS)]
    return "\n".join(parts)


def run_line(recorded: tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]) -> str:
    """What one record comes to."""
    head, rows = recorded
    problems, verified, kernels = (sum(row[name] for row in rows) for name in ("problems", "verified", "kernels"))
    worst = max(row["worst_error_of_tolerance"] for row in rows)
    return (
        f"- {head['date']}, {head['gpu']}, driver {head['driver']}, CUDA {head['cuda_runtime']}, CUTLASS "
        f"{head['cutlass']}: {kernels} kernels, {verified} of {problems} results right, the worst error of these "
        f"{worst:g} of its tolerance. Kernels that were wrong count as not verified."
    )


def type_table(arch: str, rows: Sequence[Config], cells: Cells) -> str:
    """One architecture's table: types by kinds."""
    table = [
        [
            type_title(row),
            *(cells.cell(kind, {"instructions": arch, **row}, refusal(kind, arch, row)) for kind in KINDS),
        ]
        for row in rows
    ]
    return markdown(["A x B, sums, D", *(kind.title for kind in KINDS)], table, cells)


def type_title(row: Config) -> str:
    """A row's title."""
    operation = row["math_operation"].removeprefix("multiply_add").removeprefix("_saturate").removeprefix("_")
    notes = [note for note in (operation, "SIMT" if row["opcode_class"] == "simt" else "") if note]
    return f"{row['element_a']} x {row['element_b']}, {row['element_accumulator']}, {row['element_c']}" + (
        f" ({', '.join(notes)})" if notes else ""
    )


def types() -> list[dict[str, Any]]:
    """All combinations of types that are offered for any kind and architecture."""
    results = [name for name in ELEMENTS if name != "void"]
    found: dict[str, dict[str, Any]] = {}
    for one in threadblock.INSTRUCTIONS:
        pairs = itertools.product(one.elements, repeat=2) if one.mixed else ((name, name) for name in one.elements)
        for (a, b), accumulator, c in itertools.product(pairs, one.accumulators, results):
            row = {
                "opcode_class": one.opcode_class,
                "element_a": a,
                "element_b": b,
                "element_accumulator": accumulator,
                "element_c": c,
                "element_d": c,
                "math_operation": one.math_operation,
            }
            if any(refusal(kind, arch, row) is None for kind in KINDS for arch in (*STAGES, HOPPER)):
                found[type_title(row)] = row
    return [found[title] for title in sorted(found)]


def refusal(kind: Kind, arch: str, row: Config) -> str | None:
    """Why kernels of these types with an architecture's instructions are not offered; None: they are."""
    reasons: list[list[str]] = []
    for member in examples(kind, arch, row):
        outside = [reason for name, value in member.items() if (reason := outside_choice(kind.operation, name, value))]
        if outside:
            reasons.append(outside)
            continue
        config = configured(kind.operation, member)
        found = [one.message for one in OPERATIONS[kind.operation].violations(config, ARCHS[arch])]
        if not found and record.instructions(config) == arch:
            return None
        reasons += [found] if found else []
    if not reasons:
        return (
            f"{kind.operation} has no kernels with instructions of {arch}: those of an earlier architecture run there"
        )
    return min(reasons, key=len)[0]


def examples(kind: Kind, arch: str, row: Config) -> Iterator[dict[str, Any]]:
    """Members of families of these types that mean an architecture's instructions; none where there are none."""
    said = {**row, **kind.values}
    del said["element_d"]
    if arch == HOPPER:
        if kind.operation == "gemm":
            if row["math_operation"] == threadblock.default_math_operation(row["element_a"]):
                del said["math_operation"]  # Of 3.x there is no other one.
            yield {
                **said,
                "gemm_kind": "universal3x",
                "kernel_schedule": "TmaWarpSpecializedCooperative",
                "layout": "tn",
                "tile_description": {"threadblock_shape": [128, 128, 64]},
            }
        return
    shapes = {
        one.shape
        for one in threadblock.INSTRUCTIONS
        if row["element_a"] in one.elements and one.opcode_class == row["opcode_class"]
    }
    layouts: list[dict[str, str]] = [{"layout": "tn"}, {"layout": "nt"}] if kind.operation == "gemm" else [{}]
    alignments = [{"alignment": 1}] if row["opcode_class"] == "simt" else [{}, {"alignment_c": 4}]
    for shape, tile, layout, alignment in itertools.product(sorted(shapes), TILES, layouts, alignments):
        yield {
            **said,
            **layout,
            **alignment,
            "instruction_shape": list(shape),
            "tile_description": {**tile, "stages": STAGES[arch]},
        }


def outside_choice(operation: str, name: str, value: Any) -> str | None:
    """Why a manifest cannot say this."""
    given = next(one.type for one in OPERATIONS[operation].fields if one.name == name)
    if isinstance(given, Choice) and value not in given.names:
        return f"{name} of {operation} is one of {', '.join(given.names)}"
    return None


def configured(operation: str, member: Mapping[str, Any]) -> Config:
    """The configuration of a member that a manifest might have."""
    defaults = {one.name: one.default for one in OPERATIONS[operation].fields if one.default is not None}
    return OPERATIONS[operation].configure({name: value_of(value) for name, value in {**defaults, **member}.items()})


def value_of(data: Any) -> Value:
    """A value as manifests have it."""
    if isinstance(data, dict):
        data = {name: value_of(value) for name, value in data.items()}
    return Value(data, Mark("support.py", 1, 1))


def feature_table(kinds: Sequence[Kind], cells: Cells) -> str:
    """What beside types a configuration may say, by kinds."""
    operation = kinds[0].operation
    table = []
    for given in OPERATIONS[operation].fields:
        if given.name not in FEATURES or not isinstance(given.type, Choice):
            continue
        for value in dict.fromkeys(sm90.SAME_TILE_SCHEDULER.get(name, name) for name in given.type.names):
            if given.name == "element_c" and value != "void":
                continue
            row = {given.name: value}
            table.append(
                [f"{given.name}: {value}", *(cells.cell(kind, row, feature_refusal(kind, row)) for kind in kinds)]
            )
    return markdown([operation, *(kind.title for kind in kinds)], table, cells)


def feature_refusal(kind: Kind, row: Mapping[str, str]) -> str | None:
    """Why no kernel of a kind has a feature; None: some have."""
    ((name, value),) = row.items()
    reasons = []
    for kernel in wide_set():
        if not kind.has({"operation": kernel.operation, **kernel.config}):
            continue
        if name not in kernel.config and name not in OPTIONAL:
            return f"{kind.title} has no {name}"
        along = TOGETHER.get(name, {})
        for values in itertools.product(*along.values()):
            config = {**kernel.config, **dict(zip(along, values)), name: value}
            found = OPERATIONS[kind.operation].violations(config, ARCHS[kernel.arch])
            if not found:
                return None
            reasons.append([one.message for one in found])
    return min(reasons, key=len)[0]


@cache
def wide_set() -> tuple[Any, ...]:
    """The kernels of the wide sets."""
    manifests = [str(path) for path in sorted(WIDE.glob("wide_*.yaml"))]
    return tuple(generate.select(Request(manifests)).kernels.values())


def agrees(facets: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a kernel has these values; of what it does not have at all, anything goes for math_operation alone."""
    return all(facets.get(name, value if name == "math_operation" else None) == value for name, value in values.items())


def markdown(head: Sequence[str], table: Iterable[Sequence[str]], cells: Cells) -> str:
    """A table with its reasons."""
    rows = [head, ["---"] * len(head), *table]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", *cells.reasons(), ""])


if __name__ == "__main__":
    sys.exit(main())
