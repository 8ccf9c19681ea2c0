"""GEMM: D = alpha * A * B + beta * C, for a batch of problems.

Two kinds of kernels, by cutlass_library.GemmKind: `universal` (CUTLASS 2.x, cutlass::gemm::kernel::GemmUniversal from
threadblock-level parts) and `universal3x` (CUTLASS 3.x through CollectiveBuilder).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ..arch import Arch
from ..elements import ELEMENTS
from ..memo import Memo
from ..schema import Choice, Field, Integer, Number, Record, Shape, Text, Value
from . import epilogue, exchange, operand_tiles, sm90, threadblock
from .operation import Config, Cost, Operation, Violation

_OPERANDS = ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8")
_RESULTS = (*_OPERANDS, "s32")
_ACCUMULATORS = ("f16", "f32", "f64", "s32")
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
    "Horizontal": "cutlass::gemm::threadblock::GemmHorizontalThreadblockSwizzle",
    "StreamK": "cutlass::gemm::threadblock::ThreadblockSwizzleStreamK",
}
"""By the names of cutlass_library.SwizzlingFunctor."""
_STORED = (
    ("a", "layout_a", ("m", "k")),
    ("b", "layout_b", ("k", "n")),
    ("c", "layout_c", ("m", "n")),
    ("d", "layout_c", ("m", "n")),
)
"""Each matrix with the field of its layout, and its leading dimension if it is column-major or row-major."""
_SPLIT_K_MODES = ("serial", "parallel")

_OF_KIND = {
    "math_operation": "universal",
    "split_k_mode": "universal",
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
    Field("element_c", Choice((*_RESULTS, "void"), "element type"), "C's; void: no source", required=True),
    Field("element_d", Choice(_RESULTS, "element type"), "D's element type; default: element_c"),
    Field("element_accumulator", Choice(_ACCUMULATORS, "accumulator type"), "the accumulators' type", required=True),
    Field(
        "element_epilogue",
        Choice(_ACCUMULATORS, "epilogue type"),
        "alpha's and beta's; default: the accumulator's, f32 for 8-bit D",
    ),
    Field(
        "layout",
        Text("[nt][nt][nt]?", "letters for A, B and optionally C: n (column-major) or t (row-major), as 'tn' or 'tnt'"),
        "layouts of A, B and C; C's default is n, as in CUTLASS's generator",
        required=True,
    ),
    Field("alignment", Integer(1, 16), "elements that A, B and C are aligned to; default: 16 bytes, 1 for SIMT"),
    Field("alignment_a", Integer(1, 16), "A's; default: alignment"),
    Field("alignment_b", Integer(1, 16), "B's; default: alignment"),
    Field("alignment_c", Integer(1, 16), "C's; default: alignment, at most 16 bytes"),
    Field("alignment_d", Integer(1, 16), "D's, universal3x only; default: alignment_c, or alignment"),
    Field("instruction_shape", Shape(3), "M, N and K of the instruction; needed by universal kernels"),
    Field(
        "math_operation",
        Choice(tuple(threadblock.MATH_OPERATIONS), "math operation"),
        "what the instruction does; default: multiply_add, of integers multiply_add_saturate",
    ),
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
    *epilogue.FIELDS,
    Field("split_k_mode", Choice(_SPLIT_K_MODES, "split-K mode"), "universal only; default: serial"),
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
    Field("split_k_slices", Integer(1, _MAX_BATCH), "slices of K that are summed on their own", default=1),
)


def configure(member: Mapping[str, Value]) -> Config:
    """One member of a family -> the kernel's values, defaults filled in."""
    values = {name: value.data for name, value in member.items()}
    tile = {name: value.data for name, value in values["tile_description"].items()}
    element_a, element_c = values["element_a"], values["element_c"]
    element_d = values.get("element_d", element_c)
    accumulator = values["element_accumulator"]
    layout = values["layout"]
    instruction = values.get("instruction_shape")
    opcode_class = values.get("opcode_class", "simt" if instruction == [1, 1, 1] else "tensorop")
    alignment = values.get("alignment", 1 if opcode_class == "simt" else _widest(element_a))
    config: dict[str, Any] = {
        "gemm_kind": values["gemm_kind"],
        "opcode_class": opcode_class,
        "element_a": element_a,
        "element_b": values.get("element_b", element_a),
        "element_c": element_c,
        "element_d": element_d,
        "element_accumulator": accumulator,
        "element_epilogue": values.get("element_epilogue", epilogue.default_element_epilogue(accumulator, element_d)),
        "layout_a": layout[0],
        "layout_b": layout[1],
        "layout_c": layout[2:] or "n",
        "alignment_a": values.get("alignment_a", alignment),
        "alignment_b": values.get("alignment_b", alignment),
        "alignment_c": values.get("alignment_c", min(alignment, _widest(element_c))),
        "instruction_shape": instruction,
        "threadblock_shape": tile["threadblock_shape"],
        "stages": tile.get("stages", 0 if values["gemm_kind"] == "universal3x" else None),
        **epilogue.configure(values, element_d),
    }
    given = [*values, *(f"tile_description.{name}" for name in tile)]
    kind = config["gemm_kind"]
    foreign = {
        name: f"{name} is for {_OF_KIND[name]} kernels, not for {kind} ones; leave it out"
        for name in given
        if _OF_KIND.get(name, kind) != kind
    }
    foreign |= epilogue.foreign(values, config)
    if foreign:
        config["foreign"] = foreign
    if kind == "universal":
        config |= {
            "math_operation": values.get("math_operation", threadblock.default_math_operation(element_a)),
            "warp_count": tile.get("warp_count"),
            "swizzling_functor": values.get("swizzling_functor", "Identity8"),
            "split_k_mode": values.get("split_k_mode", "serial"),
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
        **epilogue.template_values(config),
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
            "math_tag": threadblock.MATH_OPERATIONS[config["math_operation"]],
            "math_element": threadblock.math_element(config),
            "stream_k": config["swizzling_functor"] == "StreamK",
            "alignment_partial": _partial_alignment(config),
            "warp_shape": threadblock.warp_shape(config),
            "swizzle": _SWIZZLES[config["swizzling_functor"]],
        }
    else:
        values |= {
            "math_element": "void",
            "stream_k": config["tile_scheduler"] == "StreamK",
            "portable_cluster": sm90.is_portable(config),
            "extended_mma": sm90.needs_extended_mma(config),
        }
    return values


def takes(config: Config, problem: Mapping[str, Any]) -> bool:
    """Whether the leading dimensions of a problem's packed operands are aligned as a kernel needs them."""
    for which, layout, extents in _STORED:
        leading = problem[extents[config[layout] == "t"]]
        if leading % config.get(f"alignment_{which}", 1):
            return False
    return True


def _partial_alignment(config: Config) -> int:
    """The alignment of the sums that a parallel split of K leaves in the workspace, packed as D is."""
    return min(int(config["alignment_c"]), _widest(config["element_accumulator"]))


def _templates(config: Config) -> str:
    return f"gemm/{config['gemm_kind']}"


_COSTS = {
    "universal": Cost(650_000_000, 10_000_000, 5.0, 1.7),
    "universal3x": Cost(3_600_000_000, 250_000_000, 26.0, 3.3),
}
"""By gemm_kind."""


def _cost(config: Config) -> Cost:
    return _COSTS[config["gemm_kind"]]


def _why_single(config: Config, cutlass: str) -> str:
    if config["gemm_kind"] == "universal3x" and cutlass.startswith("3.5."):
        return "CUTLASS 3.5's fusions for Hopper have a trailing comma, which g++ does not take"
    return ""


def _widest(element: str) -> int:
    """The most elements that one access of 16 bytes moves; those of void are never moved."""
    return _ACCESS_BITS // max(ELEMENTS[element].bits, 8)


def _foreign(config: Config) -> Iterator[Violation]:
    for field, message in config.get("foreign", {}).items():
        yield Violation(field, message)


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
    if config["element_d"] == "void":
        if config["gemm_kind"] == "universal3x":
            yield Violation("element_c", "C is void, so element_d must say what D is")
        return
    allowed = _EPILOGUES[config["element_accumulator"]]
    if config["element_epilogue"] not in allowed:
        yield Violation(
            "element_epilogue", f"{config['element_accumulator']} accumulators need an {' or '.join(allowed)} epilogue"
        )


_EPILOGUES = {"f16": ("f16", "f32"), "f32": ("f32",), "f64": ("f64",), "s32": ("s32", "f32")}
"""The types in which sums of a type can be scaled without losing what they hold, but that f32 rounds large s32."""


def _violations_2x(config: Config, arch: Arch) -> Iterator[Violation]:
    element_c, element_a, accumulator = config["element_c"], config["element_a"], config["element_accumulator"]
    results = _INTEGER_RESULTS if accumulator == "s32" else tuple(dict.fromkeys((element_a, accumulator)))
    if element_c == "void":
        yield Violation("element_c", "void (no source) is for universal3x kernels only")
        return
    if threadblock.instruction_of(config) is None:  # What the epilogue may be is of no interest then.
        yield from _main_loop_rules(arch)(config)
        return
    if config["element_d"] != element_c:
        yield Violation("element_d", f"D is {config['element_d']} and C {element_c}; a universal kernel has one type")
    elif element_c not in results:
        yield Violation(
            "element_c",
            f"C is {element_c}; a universal kernel that sums {element_a} in {accumulator} writes "
            + " or ".join(results),
        )
    else:
        yield from _OUTPUT_RULES(config)
        yield from _EPILOGUE_RULES(config)
    yield from _split_violations(config)
    yield from _main_loop_rules(arch)(config) or _LAYOUT_RULES(config)


# Rules that read few fields each: most kernels of a sweep agree in them.
_OUTPUT_RULES = Memo(lambda config: tuple(threadblock.output_violations(config)))
_EPILOGUE_RULES = Memo(lambda config: tuple(epilogue.violations_2x(config)))
_LAYOUT_RULES = Memo(lambda config: (*operand_tiles.violations(config), *operand_tiles.predicate_violations(config)))


@cache
def _main_loop_rules(arch: Arch) -> Memo[tuple[Violation, ...]]:
    return Memo(lambda config: tuple(threadblock.violations(config, arch)))


_INTEGER_RESULTS = ("s32", "s8", "u8")


def _split_violations(config: Config) -> Iterator[Violation]:
    swizzle, parallel = config["swizzling_functor"], config["split_k_mode"] == "parallel"
    if swizzle == "Horizontal":
        yield Violation(
            "swizzling_functor",
            "swizzling_functor is Horizontal, whose get_tile_offset GemmUniversal cannot call; use Identity1",
        )
    if parallel and swizzle == "StreamK":
        yield Violation(
            "split_k_mode", "split_k_mode is parallel, but StreamK sums the slices of K itself; leave it out"
        )
    if parallel:
        partial = {"element_c": config["element_accumulator"], "alignment_c": _partial_alignment(config)}
        yield from threadblock.output_violations({**config, **partial})
    if swizzle == "StreamK" and epilogue.has_broadcast(config):
        # Source: reduce() of the single-source EpilogueWithBroadcast in cutlass/epilogue/threadblock/, which never
        # advances destination_iterator by reduce_fragment_idx. For SIMT there is no such epilogue at all.
        yield Violation(
            "swizzling_functor",
            "swizzling_functor is StreamK; of a tile that thread blocks share, CUTLASS's EpilogueWithBroadcast, of "
            "a bias or residual block, writes all parts to the place of the first: use an Identity swizzle",
        )
    if parallel and epilogue.has_broadcast(config):
        yield Violation(
            "split_k_mode",
            "split_k_mode is parallel, and ReduceSplitK, which writes D then, has no bias and no residual block; "
            "use serial",
        )


_RULES = {"universal": _violations_2x, "universal3x": sm90.violations}


def _name_2x(config: Config) -> str:
    accumulator, element_a, element_b = config["element_accumulator"], config["element_a"], config["element_b"]
    core = ELEMENTS[accumulator].letter
    if config["opcode_class"] != "simt":
        core += "".join(map(str, config["instruction_shape"]))
        math = threadblock.math_element(config)
        if math not in ("void", element_a, accumulator):
            core += math
    core += "gemm"
    if config["element_c"] != accumulator:
        core = f"{config['element_c']}_{core}"
    if element_a != element_b:
        core += f"_{element_a}_{element_b}"
    elif element_a != accumulator:
        core += f"_{element_a}"
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
    cost=_cost,
    why_single=_why_single,
    alike=(
        "gemm_kind",
        "opcode_class",
        "element_a",
        "element_b",
        "element_accumulator",
        "instruction_shape",
        "threadblock_shape",
        "warp_count",
        "kernel_schedule",
        "element_c",
        "element_d",
        "epilogue_functor",
        "epilogue_schedule",
        "tile_scheduler",
        "layout_a",
        "layout_b",
        "layout_c",
        "alignment_a",
        "stages",
        "cluster_shape",
    ),
    unremarkable={**epilogue.UNREMARKABLE, "swizzling_functor": "Identity8", "split_k_mode": "serial"},
    exchanged=exchange.exchanged,
    indifferent=exchange.indifferent,
    takes=takes,
)
