"""GEMM: D = alpha * A * B + beta * C, for a batch of problems.

Two kinds of kernels, by cutlass_library.GemmKind: `universal` (CUTLASS 2.x, cutlass::gemm::kernel::GemmUniversal from
threadblock-level parts) and `universal3x` (CUTLASS 3.x through CollectiveBuilder).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..arch import Arch
from ..elements import ELEMENTS
from ..schema import Choice, Field, Integer, Number, Record, Shape, Text, Value
from . import sm90, threadblock
from .operation import Config, Operation, Violation

_OPERANDS = ("f16", "bf16", "f32")
_MAX_EXTENT = 2**31 - 1
_MAX_BATCH = 2**16 - 1
_ACCESS_BITS = 128
_LAYOUTS = {"n": "cutlass::layout::ColumnMajor", "t": "cutlass::layout::RowMajor"}
_TRANSPOSED = {"n": "t", "t": "n"}
_SWIZZLES = {
    "Identity1": "cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<1>",
    "Identity2": "cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<2>",
    "Identity4": "cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<4>",
    "Identity8": "cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>",
}
_FUNCTORS = {"linear_combination": "LinearCombination"}

_OF_KIND = {
    "swizzling_functor": "universal",
    "tile_description.warp_count": "universal",
    "tile_description.cluster_shape": "universal3x",
    "alignment_d": "universal3x",
    "kernel_schedule": "universal3x",
    "epilogue_schedule": "universal3x",
    "tile_scheduler": "universal3x",
}
"""Fields that mean something to one kind of kernel alone."""

FIELDS = (
    Field("gemm_kind", Choice(("universal", "universal3x"), "GEMM kind"), "CUTLASS 2.x or 3.x", default="universal"),
    Field("opcode_class", Choice(("tensorop", "simt"), "opcode class"), "default: by instruction_shape"),
    Field("element_a", Choice(_OPERANDS, "element type"), "A's element type", required=True),
    Field("element_b", Choice(_OPERANDS, "element type"), "B's element type; default: element_a"),
    Field("element_c", Choice((*_OPERANDS, "void"), "element type"), "C's; void: no source", required=True),
    Field("element_d", Choice(_OPERANDS, "element type"), "D's element type; default: element_c"),
    Field("element_accumulator", Choice(("f16", "f32"), "accumulator type"), "the accumulators' type", required=True),
    Field(
        "element_epilogue", Choice(("f16", "f32"), "epilogue type"), "alpha's and beta's; default: the accumulator's"
    ),
    Field(
        "layout",
        Text("[nt][nt][nt]?", "letters for A, B and optionally C: n (column-major) or t (row-major), as 'tn' or 'tnt'"),
        "layouts of A, B and C; C's default is n, as in CUTLASS's generator",
        required=True,
    ),
    Field("alignment", Integer(1, 16), "elements that A, B and C are aligned to; default: 16 bytes"),
    Field("alignment_a", Integer(1, 16), "A's; default: alignment"),
    Field("alignment_b", Integer(1, 16), "B's; default: alignment"),
    Field("alignment_c", Integer(1, 16), "C's; default: alignment, at most 16 bytes"),
    Field("alignment_d", Integer(1, 16), "D's, universal3x only; default: alignment_c, or alignment"),
    Field("instruction_shape", Shape(3), "M, N and K of the instruction; needed by universal kernels"),
    Field(
        "tile_description",
        Record(
            (
                Field("threadblock_shape", Shape(3), "M, N and K of a thread block's tile", required=True),
                Field("warp_count", Shape(3), "warps along M, N and K; needed by universal kernels"),
                Field("stages", Integer(0, 64), "main loop stages; 0: automatic (universal3x)"),
                Field("cluster_shape", Shape(3), "thread blocks of a cluster; default: [1, 1, 1]"),
            )
        ),
        "how the problem is cut",
        required=True,
    ),
    Field("epilogue_functor", Choice(tuple(_FUNCTORS), "epilogue functor"), "epilogue", default="linear_combination"),
    Field("swizzling_functor", Choice(tuple(_SWIZZLES), "swizzling functor"), "universal only; default: Identity8"),
    Field("kernel_schedule", Choice(tuple(sm90.KERNEL_SCHEDULES), "kernel schedule"), "needed by universal3x kernels"),
    Field(
        "epilogue_schedule", Choice(tuple(sm90.EPILOGUE_SCHEDULES), "epilogue schedule"), "default: by kernel_schedule"
    ),
    Field(
        "tile_scheduler", Choice(tuple(sm90.TILE_SCHEDULERS), "tile scheduler"), "universal3x only; default: Default"
    ),
)

PROBLEM_FIELDS = (
    Field("m", Integer(1, _MAX_EXTENT), "rows of A and D", required=True),
    Field("n", Integer(1, _MAX_EXTENT), "columns of B and D", required=True),
    Field("k", Integer(1, _MAX_EXTENT), "columns of A, rows of B", required=True),
    Field("batch_count", Integer(1, _MAX_BATCH), "problems of the batch", default=1),
    Field("alpha", Number(), "factor of A * B", default=1),
    Field("beta", Number(), "factor of C", default=0),
)


def configure(member: Mapping[str, Value]) -> Config:
    """One member of a family -> the kernel's values, defaults filled in."""
    values = {name: value.data for name, value in member.items()}
    tile = {name: value.data for name, value in values["tile_description"].items()}
    element_a, element_c = values["element_a"], values["element_c"]
    element_d = values.get("element_d", element_c)
    accumulator = values["element_accumulator"]
    layout = values["layout"]
    alignment = values.get("alignment", _widest(element_a))
    instruction = values.get("instruction_shape")
    config: dict[str, Any] = {
        "gemm_kind": values["gemm_kind"],
        "opcode_class": values.get("opcode_class", "simt" if instruction == [1, 1, 1] else "tensorop"),
        "element_a": element_a,
        "element_b": values.get("element_b", element_a),
        "element_c": element_c,
        "element_d": element_d,
        "element_accumulator": accumulator,
        "element_epilogue": values.get("element_epilogue", accumulator),
        "layout_a": layout[0],
        "layout_b": layout[1],
        "layout_c": layout[2:] or "n",
        "alignment_a": values.get("alignment_a", alignment),
        "alignment_b": values.get("alignment_b", alignment),
        "alignment_c": values.get("alignment_c", min(alignment, _widest(element_c))),
        "instruction_shape": instruction,
        "threadblock_shape": tile["threadblock_shape"],
        "stages": tile.get("stages", 0 if values["gemm_kind"] == "universal3x" else None),
        "epilogue_functor": values["epilogue_functor"],
    }
    given = [*values, *(f"tile_description.{name}" for name in tile)]
    if foreign := [name for name in given if _OF_KIND.get(name, config["gemm_kind"]) != config["gemm_kind"]]:
        config["foreign"] = foreign
    if config["gemm_kind"] == "universal":
        config |= {
            "warp_count": tile.get("warp_count"),
            "swizzling_functor": values.get("swizzling_functor", "Identity8"),
        }
    else:
        schedule, scheduler = values.get("kernel_schedule"), values.get("tile_scheduler", "Default")
        config |= {
            "alignment_d": values.get("alignment_d", min(values.get("alignment_c", alignment), _widest(element_d))),
            "cluster_shape": tile.get("cluster_shape", [1, 1, 1]),
            "kernel_schedule": schedule,
            "epilogue_schedule": values.get(
                "epilogue_schedule", sm90.KERNEL_SCHEDULES[schedule].epilogue if schedule else None
            ),
            "tile_scheduler": sm90.SAME_TILE_SCHEDULER.get(scheduler, scheduler),
        }
    return config


def violations(config: Config, arch: Arch) -> Sequence[Violation]:
    """Why CUTLASS or the architecture cannot have this kernel; empty for a valid one."""
    unusable = [*_foreign(config), *_missing(config)]
    return unusable or [*_operand_violations(config), *_RULES[config["gemm_kind"]](config, arch)]


def name(config: Config) -> str:
    """The kernel's name, as cutlass_library's GemmOperation.procedural_name gives it."""
    return _name_2x(config) if config["gemm_kind"] == "universal" else _name_3x(config)


def template_values(config: Config, arch: Arch) -> Mapping[str, Any]:
    """What templates/gemm needs beside the configuration itself."""
    types = {f"type_{operand}": ELEMENTS[config[f"element_{operand}"]].cpp for operand in ("a", "b", "c", "d")}
    values: dict[str, Any] = {
        **config,
        **types,
        "type_accumulator": ELEMENTS[config["element_accumulator"]].cpp,
        "type_epilogue": ELEMENTS[config["element_epilogue"]].cpp,
        "functor": _FUNCTORS[config["epilogue_functor"]],
        "layout_tag": _LAYOUTS,
        "shared_memory_bytes": arch.shared_memory_bytes,
        "arch": arch.name,
    }
    if config["gemm_kind"] == "universal":
        # CUTLASS 2.x writes row-major D only: a column-major D is computed as its transpose, B^T * A^T.
        transposed = config["layout_c"] == "n"
        operands = ("b", "a") if transposed else ("a", "b")
        values |= {
            "transposed": transposed,
            "operands": [
                {
                    "type": types[f"type_{operand}"],
                    "layout": _LAYOUTS[
                        _TRANSPOSED[config[f"layout_{operand}"]] if transposed else config[f"layout_{operand}"]
                    ],
                    "alignment": config[f"alignment_{operand}"],
                }
                for operand in operands
            ],
            "arch_tag": threadblock.arch_tag(config),
            "warp_shape": threadblock.warp_shape(config),
            "swizzle": _SWIZZLES[config["swizzling_functor"]],
        }
    else:
        values["portable_cluster"] = sm90.is_portable(config)
    return values


def _templates(config: Config) -> str:
    return f"gemm/{config['gemm_kind']}"


def _compile_memory_bytes(config: Config) -> int:
    return 1_000_000_000 if config["gemm_kind"] == "universal" else 3_400_000_000


def _widest(element: str) -> int:
    """The most elements that one access of 16 bytes moves; those of void are never moved."""
    return _ACCESS_BITS // max(ELEMENTS[element].bits, 8)


def _foreign(config: Config) -> Iterator[Violation]:
    for field in config.get("foreign", ()):
        yield Violation(
            field, f"{field} is for {_OF_KIND[field]} kernels, not for {config['gemm_kind']} ones; leave it out"
        )


def _missing(config: Config) -> Iterator[Violation]:
    needed = {
        "universal": {
            "instruction_shape": "instruction_shape",
            "warp_count": "tile_description.warp_count",
            "stages": "tile_description.stages",
        },
        "universal3x": {"kernel_schedule": "kernel_schedule"},
    }[config["gemm_kind"]]
    for value, field in needed.items():
        if config[value] is None:
            yield Violation(field.partition(".")[0], f"a {config['gemm_kind']} kernel needs {field}")


def _operand_violations(config: Config) -> Iterator[Violation]:
    if config["element_a"] != config["element_b"]:
        yield Violation("element_b", f"A is {config['element_a']} and B {config['element_b']}; both must be the same")
    if config["element_d"] == "void":
        yield Violation("element_c", "C is void, so element_d must say what D is")
    if config["element_epilogue"] != config["element_accumulator"] and config["element_accumulator"] == "f32":
        yield Violation("element_epilogue", "f32 accumulators need an f32 epilogue")


def _violations_2x(config: Config, arch: Arch) -> Iterator[Violation]:
    if config["element_c"] == "void":
        yield Violation("element_c", "void (no source) is for universal3x kernels only")
    elif config["element_d"] != config["element_c"]:
        yield Violation(
            "element_d", f"D is {config['element_d']} and C {config['element_c']}; a universal kernel has one type"
        )
    elif config["element_c"] not in (config["element_a"], config["element_accumulator"]):
        yield Violation(
            "element_c",
            f"C is {config['element_c']}; a universal kernel writes its operands' type ({config['element_a']}) "
            f"or its accumulators' ({config['element_accumulator']})",
        )
    else:
        yield from _alignment_c_violations(config)
    yield from threadblock.violations(config, arch)


def _alignment_c_violations(config: Config) -> Iterator[Violation]:
    alignment, widest = config["alignment_c"], _widest(config["element_c"])
    if config["opcode_class"] == "simt":
        if alignment != 1:
            yield Violation("alignment_c", f"alignment_c is {alignment}; a SIMT kernel's is 1")
    elif alignment & (alignment - 1) or alignment > widest:
        yield Violation(
            "alignment_c",
            f"alignment_c is {alignment}; of {config['element_c']} a power of two up to {widest} is legal",
        )


_RULES = {"universal": _violations_2x, "universal3x": sm90.violations}


def _name_2x(config: Config) -> str:
    accumulator = config["element_accumulator"]
    core = ELEMENTS[accumulator].letter
    if config["opcode_class"] != "simt":
        core += "".join(map(str, config["instruction_shape"]))
    core += "gemm"
    if config["element_c"] != accumulator:
        core = f"{config['element_c']}_{core}"
    if config["element_a"] != accumulator:
        core += f"_{config['element_a']}"
    m, n, k = config["threadblock_shape"]
    return (
        f"cutlass_{config['opcode_class']}_{core}_{m}x{n}_{k}x{config['stages']}"
        f"_{config['layout_a']}{config['layout_b']}_align{max(config['alignment_a'], config['alignment_b'])}"
    )


def _name_3x(config: Config) -> str:
    elements = "_".join(config[f"element_{which}"] for which in ("a", "b", "accumulator", "c", "d"))
    tile, cluster = ("x".join(map(str, config[shape])) for shape in ("threadblock_shape", "cluster_shape"))
    return (
        f"cutlass3x_sm90_{config['opcode_class']}_gemm_{elements}_{tile}_{cluster}_{config['stages']}"
        f"_{config['layout_a']}{config['layout_b']}{config['layout_c']}"
        f"_align{max(config['alignment_a'], config['alignment_b'])}"
        f"{sm90.TILE_SCHEDULERS[config['tile_scheduler']]}"
        f"{sm90.KERNEL_SCHEDULES[config['kernel_schedule']].suffix}"
        f"{sm90.EPILOGUE_SCHEDULES[config['epilogue_schedule']]}"
    )


OPERATION = Operation(
    kind="gemm",
    fields=FIELDS,
    problem_fields=PROBLEM_FIELDS,
    configure=configure,
    violations=violations,
    name=name,
    templates=_templates,
    template_values=template_values,
    compile_memory_bytes=_compile_memory_bytes,
)
