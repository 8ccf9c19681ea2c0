"""Two-dimensional convolution of CUTLASS 2.x (implicit GEMM): D = epilogue(alpha * conv(A, B), beta * C).

A kernel is of one cutlass_library.ConvKind: `fprop` computes outputs from activations and filters, `dgrad` the gradient
of the activations, `wgrad` that of the filters. All tensors are NHWC.

Sources: the specializations in cutlass/conv/kernel/default_conv2d_*.h, the static_asserts of the iterators in
cutlass/conv/threadblock/, cutlass_library's CreateConv2dOperator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..arch import Arch
from ..elements import ELEMENTS
from ..schema import Choice, Field, Integer, Number, Record, Shape, Value
from . import epilogue, operand_tiles, threadblock
from .operation import Config, Cost, Operation, Violation

_OPERANDS = ("f16", "bf16", "tf32", "f32", "s8", "u8")
_MAX_EXTENT = 2**31 - 1
_ACCESS_BITS = 128
_MAX_ALIGNMENT_C = 8

_KERNELS = {"fprop": "Fprop", "dgrad": "Dgrad", "wgrad": "Wgrad"}
_LAYOUTS = {
    "fprop": {"layout_a": "t", "layout_b": "n"},
    "dgrad": {"layout_a": "t", "layout_b": "t"},
    "wgrad": {"layout_a": "n", "layout_b": "t"},
}
"""A and B as the implicit GEMM's main loop sees them: n (column-major) or t (row-major)."""
_ITERATORS = {
    "analytic": "kAnalytic",
    "optimized": "kOptimized",
    "few_channels": "kFewChannels",
    "fixed_channels": "kFixedChannels",
}
_CHANNEL_ITERATORS = ("few_channels", "fixed_channels")
_STRIDES = {"strided": "kStrided", "unity": "kUnity"}
_GROUP_MODES = {"none": "kNone", "single_group": "kSingleGroup", "multiple_group": "kMultipleGroup"}


@dataclass(frozen=True, slots=True)
class _Swizzle:
    cpp: str
    strided_dgrad: bool = False
    """Whether it is for strided dgrad, which needs a grid of its own, or for everything else."""


_SWIZZLES = {
    **{
        f"Identity{tiles}": _Swizzle(f"cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<{tiles}>")
        for tiles in (1, 2, 4, 8)
    },
    "StridedDgradIdentity1": _Swizzle(
        "cutlass::conv::threadblock::StridedDgradIdentityThreadblockSwizzle<1>", strided_dgrad=True
    ),
}


_EPILOGUES = {"f16": ("f16", "f32"), "f32": ("f32",), "s32": ("s32", "f32")}
"""What alpha and beta may be, by the accumulators' type. A D of 8 bits needs f32."""

FIELDS = (
    Field("conv_kind", Choice(tuple(_KERNELS), "convolution kind"), "which of the three products", required=True),
    Field(
        "iterator_algorithm",
        Choice(tuple(_ITERATORS), "iterator algorithm"),
        "how elements are found",
        default="optimized",
    ),
    Field("stride_support", Choice(tuple(_STRIDES), "stride support"), "the strides it is for", default="strided"),
    Field("group_mode", Choice((*_GROUP_MODES, "depthwise"), "group mode"), "how groups are divided", default="none"),
    Field("opcode_class", Choice(("tensorop", "simt"), "opcode class"), "default: by instruction_shape"),
    Field("element_a", Choice(_OPERANDS, "element type"), "A's element type", required=True),
    Field("element_b", Choice(_OPERANDS, "element type"), "B's element type; default: element_a"),
    Field("element_c", Choice((*_OPERANDS, "s32"), "element type"), "C's and D's", required=True),
    Field(
        "element_accumulator",
        Choice(("f16", "f32", "s32"), "accumulator type"),
        "the accumulators' type",
        required=True,
    ),
    Field(
        "element_epilogue",
        Choice(("f16", "f32", "s32"), "epilogue type"),
        "alpha's and beta's; default: the accumulator's, f32 where D is 8 bits",
    ),
    Field("layout", Choice(("nhwc",), "layout"), "of all tensors", default="nhwc"),
    Field("alignment", Integer(1, 16), "elements that A, B and C are aligned to; default: 16 bytes, 1 for SIMT"),
    Field("alignment_a", Integer(1, 16), "A's; default: alignment"),
    Field("alignment_b", Integer(1, 16), "B's; default: alignment"),
    Field("alignment_c", Integer(1, 16), "C's and D's; default: alignment, at most 8 elements and 16 bytes"),
    Field("instruction_shape", Shape(3), "M, N and K of the instruction", required=True),
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
                Field("warp_count", Shape(3), "warps along M, N and K", required=True),
                Field("stages", Integer(0, 64), "main loop stages", required=True),
            )
        ),
        "how the implicit GEMM is cut",
        required=True,
    ),
    *epilogue.FIELDS,
    Field(
        "split_k_mode", Choice(("serial", "parallel"), "split-K mode"), "how parts of K are summed", default="serial"
    ),
    Field(
        "swizzling_functor",
        Choice((*_SWIZZLES, "StridedDgradHorizontal"), "swizzling functor"),
        "default: Identity4; for strided dgrad StridedDgradIdentity1",
    ),
)

PROBLEM_FIELDS = (
    Field("n", Integer(1, _MAX_EXTENT), "images", required=True),
    Field("h", Integer(1, _MAX_EXTENT), "height of an image", required=True),
    Field("w", Integer(1, _MAX_EXTENT), "width of an image", required=True),
    Field("c", Integer(1, _MAX_EXTENT), "channels of an image", required=True),
    Field("k", Integer(1, _MAX_EXTENT), "filters, channels of an output", required=True),
    Field("r", Integer(1, _MAX_EXTENT), "height of a filter", required=True),
    Field("s", Integer(1, _MAX_EXTENT), "width of a filter", required=True),
    Field("pad_h", Integer(0, _MAX_EXTENT), "zeros above and below an image", required=True),
    Field("pad_w", Integer(0, _MAX_EXTENT), "zeros left and right of an image", required=True),
    Field("stride_h", Integer(1, _MAX_EXTENT), "vertical step of the filter", default=1),
    Field("stride_w", Integer(1, _MAX_EXTENT), "horizontal step of the filter", default=1),
    Field("dilation_h", Integer(1, _MAX_EXTENT), "vertical distance within a filter", default=1),
    Field("dilation_w", Integer(1, _MAX_EXTENT), "horizontal distance within a filter", default=1),
    Field("groups", Integer(1, _MAX_EXTENT), "parts of the channels that are convolved apart", default=1),
    Field("conv_mode", Choice(("cross", "conv"), "mode"), "conv turns the filter by 180 degrees", default="cross"),
    Field("split_k_slices", Integer(1, _MAX_EXTENT), "parts in which each sum is computed", default=1),
    Field("alpha", Number(), "factor of the convolution", default=1),
    Field("beta", Number(), "factor of C", default=0),
)


def configure(member: Mapping[str, Value]) -> Config:
    """One member of a family -> the kernel's values, defaults filled in."""
    values = {name: value.data for name, value in member.items()}
    tile = {name: value.data for name, value in values["tile_description"].items()}
    element_a, element_c = values["element_a"], values["element_c"]
    accumulator, instruction = values["element_accumulator"], values["instruction_shape"]
    opcode_class = values.get("opcode_class", "simt" if instruction == [1, 1, 1] else "tensorop")
    alignment = values.get("alignment", 1 if opcode_class == "simt" else _widest(element_a))
    strided_dgrad = values["conv_kind"] == "dgrad" and values["stride_support"] == "strided"
    config: dict[str, Any] = {
        "conv_kind": values["conv_kind"],
        "iterator_algorithm": values["iterator_algorithm"],
        "stride_support": values["stride_support"],
        "group_mode": values["group_mode"],
        "opcode_class": opcode_class,
        "element_a": element_a,
        "element_b": values.get("element_b", element_a),
        "element_c": element_c,
        "element_d": element_c,
        "element_accumulator": accumulator,
        "element_epilogue": values.get("element_epilogue", epilogue.default_element_epilogue(accumulator, element_c)),
        "layout": values["layout"],
        "alignment_a": values.get("alignment_a", alignment),
        "alignment_b": values.get("alignment_b", alignment),
        "alignment_c": values.get("alignment_c", min(alignment, _widest(element_c), _MAX_ALIGNMENT_C)),
        "instruction_shape": instruction,
        "math_operation": values.get("math_operation", threadblock.default_math_operation(element_a)),
        "threadblock_shape": tile["threadblock_shape"],
        "warp_count": tile["warp_count"],
        "stages": tile["stages"],
        "swizzling_functor": values.get("swizzling_functor", "StridedDgradIdentity1" if strided_dgrad else "Identity4"),
        **epilogue.configure(values, element_c),
        "split_k_mode": values["split_k_mode"],
    }
    if foreign := epilogue.foreign(values, config):
        config["foreign"] = foreign
    return config


def violations(config: Config, arch: Arch) -> Sequence[Violation]:
    """Why CUTLASS or the architecture cannot have this kernel; empty for a valid one."""
    foreign = [Violation(field, message) for field, message in config.get("foreign", {}).items()]
    unusable = [*foreign, *_kind_violations(config), *_element_violations(config)]
    if unusable:
        return unusable
    main_loop = list(threadblock.violations(config, arch))
    if threadblock.instruction_of(config) is None:
        return main_loop  # What the epilogue may be is of no interest then.
    return [
        *threadblock.output_violations(config),
        *_epilogue_violations(config),
        *_split_violations(config),
        *_strided_dgrad_violations(config),
        *(main_loop or operand_tiles.violations({**config, **_LAYOUTS[config["conv_kind"]]})),
    ]


def name(config: Config) -> str:
    """The kernel's name, as cutlass_library's Conv2dOperation.procedural_name gives it."""
    accumulator = config["element_accumulator"]
    core = ELEMENTS[accumulator].letter
    if config["opcode_class"] != "simt":
        core += "".join(map(str, config["instruction_shape"]))
        if (math := threadblock.math_element(config)) not in ("void", config["element_a"]):
            core += math
    core += f"{config['conv_kind']}_{config['iterator_algorithm']}"
    if config["element_a"] != accumulator:
        core += f"_{config['element_a']}"
        if config["element_c"] != accumulator:
            core = f"{config['element_c']}_{core}"
    m, n, k = config["threadblock_shape"]
    unity = "unity_stride_" if config["conv_kind"] == "dgrad" and config["stride_support"] == "unity" else ""
    group = "" if config["group_mode"] == "none" else f"{config['group_mode']}_"
    return (
        f"cutlass_{config['opcode_class']}_{core}_{m}x{n}_{k}x{config['stages']}"
        f"_{config['layout']}_{unity}{group}align{config['alignment_a']}"
    )


def problem_violations(problem: Mapping[str, Any]) -> Sequence[Violation]:
    """Why there is no such convolution."""
    found = []
    for axis, filter_axis, high in (("h", "r", "high"), ("w", "s", "wide")):
        span = (problem[filter_axis] - 1) * problem[f"dilation_{axis}"] + 1
        room = problem[axis] + 2 * problem[f"pad_{axis}"]
        if span > room:
            found.append(
                Violation(filter_axis, f"the filter, dilated, is {span} {high}; the padded image is only {room}")
            )
    if problem["c"] % problem["groups"] or problem["k"] % problem["groups"]:
        found.append(
            Violation(
                "groups", f"groups is {problem['groups']}; c, {problem['c']}, and k, {problem['k']}, must be multiples"
            )
        )
    return found


def template_values(config: Config, arch: Arch) -> Mapping[str, Any]:
    """What templates/conv2d needs beside the configuration itself."""
    kind, grouped = config["conv_kind"], config["group_mode"] != "none"
    broadcast = epilogue.has_broadcast(config)
    header = f"default_conv2d_{'group_' if grouped else ''}{kind}{'_with_broadcast' if broadcast else ''}.h"
    return {
        **config,
        **{f"type_{operand}": ELEMENTS[config[f"element_{operand}"]].cpp for operand in ("a", "b", "c")},
        "type_accumulator": ELEMENTS[config["element_accumulator"]].cpp,
        "type_epilogue": ELEMENTS[config["element_epilogue"]].cpp,
        **epilogue.template_values(config),
        "default_header": header,
        "default_kernel": (
            f"DefaultConv2d{'Group' if grouped else ''}{_KERNELS[kind]}{'WithBroadcast' if broadcast else ''}"
        ),
        "arch_tag": threadblock.arch_tag(config),
        "warp_shape": threadblock.warp_shape(config),
        "math_tag": threadblock.MATH_OPERATIONS[config["math_operation"]],
        "math_element": threadblock.math_element(config),
        "alignment_partial": _partial_alignment(config),
        "swizzle": _SWIZZLES[config["swizzling_functor"]].cpp,
        "group_mode_tag": _GROUP_MODES[config["group_mode"]],
        "iterator_algorithm_tag": _ITERATORS[config["iterator_algorithm"]],
        "stride_support_tag": _STRIDES[config["stride_support"]],
        "shared_memory_bytes": arch.shared_memory_bytes,
        "arch": arch.name,
    }


def _cost(config: Config) -> Cost:
    return Cost(650_000_000, 10_000_000, 6.0, 2.5)


def _widest(element: str) -> int:
    """The most elements that one access of 16 bytes moves."""
    return _ACCESS_BITS // ELEMENTS[element].bits


def _kind_violations(config: Config) -> Iterator[Violation]:
    """What the kind of convolution has no kernel for."""
    kind, iterator, group_mode = config["conv_kind"], config["iterator_algorithm"], config["group_mode"]
    simt = config["opcode_class"] == "simt"
    if iterator in _CHANNEL_ITERATORS:
        if kind != "fprop":
            yield Violation("iterator_algorithm", f"{iterator} is for fprop, not for {kind}")
        elif simt:
            yield Violation("iterator_algorithm", f"{iterator} is for tensor cores, not for SIMT kernels")
        elif group_mode != "none":
            yield Violation("iterator_algorithm", f"a group convolution has no {iterator}; use analytic or optimized")
        elif config["alignment_a"] != config["alignment_b"]:
            yield Violation(
                "alignment_b",
                f"alignment_a is {config['alignment_a']} and alignment_b {config['alignment_b']}; {iterator} loads the "
                "channels of A and B alike",
            )
    if group_mode == "depthwise":
        yield Violation(
            "group_mode",
            "depthwise is not offered: CUTLASS compiles such a kernel for one filter size, by another main loop; use "
            "multiple_group",
        )
    elif group_mode != "none":
        if kind != "fprop":
            yield Violation("group_mode", f"CUTLASS has group convolutions for fprop, not for {kind}")
        elif simt:
            yield Violation("group_mode", "CUTLASS has group convolutions for tensor cores, not for SIMT kernels")
        elif (iterator, group_mode) == ("optimized", "multiple_group"):
            yield Violation("group_mode", "group_mode multiple_group needs iterator_algorithm analytic")
    strided_dgrad = kind == "dgrad" and config["stride_support"] == "strided"
    swizzle = config["swizzling_functor"]
    if swizzle == "StridedDgradHorizontal":
        yield Violation(
            "swizzling_functor",
            "swizzling_functor is StridedDgradHorizontal, whose get_tile_offset ImplicitGemmConvolutionStridedDgrad "
            "cannot call; use StridedDgradIdentity1",
        )
    elif _SWIZZLES[swizzle].strided_dgrad != strided_dgrad:
        suited = " or ".join(name for name, one in _SWIZZLES.items() if one.strided_dgrad == strided_dgrad)
        what = "a strided dgrad kernel" if strided_dgrad else "a kernel other than strided dgrad"
        yield Violation("swizzling_functor", f"swizzling_functor is {swizzle}; {what} needs {suited}")


def _element_violations(config: Config) -> Iterator[Violation]:
    a, b, c, accumulator = (config[f"element_{which}"] for which in ("a", "b", "c", "accumulator"))
    if a != b:
        yield Violation("element_b", f"A is {a} and B {b}; both must be the same")
        return
    if config["opcode_class"] == "simt" and a != "f32":
        yield Violation("element_a", f"A is {a}; SIMT convolutions are for f32")
    if c not in (a, accumulator):
        yield Violation(
            "element_c",
            f"C is {c}; a conv2d kernel writes its operands' type ({a}) or its accumulators' ({accumulator})",
        )
    if ELEMENTS[a].integer and config["conv_kind"] != "fprop":
        yield Violation(
            "element_a",
            f"tensor cores take {a} along the summed index only, as fprop has it; {config['conv_kind']} has it not",
        )
    scale = config["element_epilogue"]
    allowed = ("f32",) if ELEMENTS[c].bits == 8 else _EPILOGUES[accumulator]
    if scale not in allowed:
        yield Violation(
            "element_epilogue",
            f"element_epilogue is {scale}; with {accumulator} accumulators and C in {c} use {' or '.join(allowed)}",
        )


def _epilogue_violations(config: Config) -> Iterator[Violation]:
    if config["bias"] == "per_row":
        yield Violation("bias", "bias is per_row; a convolution's has one value for each channel of D: use per_column")
        return
    yield from epilogue.violations_2x({**config, "layout_c": "t"})  # D is row-major, seen as a matrix.
    if not epilogue.has_broadcast(config):
        return
    field = "bias" if config["bias"] != "none" else "epilogue_functor"
    what = f"{field} is {config[field]}; CUTLASS has that epilogue for fprop"
    if config["conv_kind"] != "fprop":
        yield Violation(field, f"{what}, not for {config['conv_kind']}")
    elif config["group_mode"] != "none":
        yield Violation(field, f"{what}, not for group convolutions")
    elif config["iterator_algorithm"] in _CHANNEL_ITERATORS:
        yield Violation(field, f"{what} with the analytic and optimized iterators, not {config['iterator_algorithm']}")


def _split_violations(config: Config) -> Iterator[Violation]:
    """What CUTLASS cannot split K of, in parallel: a serial split is the problem's choice."""
    if config["split_k_mode"] != "parallel":
        return
    obstacles = {
        "a group convolution": config["group_mode"] != "none",
        f"iterator_algorithm {config['iterator_algorithm']}": config["iterator_algorithm"] in _CHANNEL_ITERATORS,
        "strided dgrad": config["conv_kind"] == "dgrad" and config["stride_support"] == "strided",
    }
    for obstacle in (name for name, given in obstacles.items() if given):
        yield Violation("split_k_mode", f"split_k_mode is parallel, but {obstacle} does not split K; leave it out")
    if epilogue.has_broadcast(config):
        yield Violation(
            "split_k_mode",
            "split_k_mode is parallel, and ReduceSplitK, which writes D then, has no bias and no residual block; "
            "use serial",
        )
    partial = {"element_c": config["element_accumulator"], "alignment_c": _partial_alignment(config)}
    yield from threadblock.output_violations({**config, **partial})


def _strided_dgrad_violations(config: Config) -> Iterator[Violation]:
    """Strided dgrad of two stages loads one access where a thread of a tensor core kernel has 16 bytes to load.

    Source: TileIteratorStridedDgrad::load_with_pointer_offset in cutlass/conv/threadblock/conv2d_tile_iterator.h, which
    has no loop over kAccessesPerVector, as TileIterator has it. SIMT kernels load single elements.
    """
    strided_dgrad = config["conv_kind"] == "dgrad" and config["stride_support"] == "strided"
    if not strided_dgrad or config["stages"] != 2 or config["opcode_class"] == "simt":
        return
    for operand in "ab":
        alignment, widest = config[f"alignment_{operand}"], _widest(config[f"element_{operand}"])
        if alignment < widest:
            yield Violation(
                f"alignment_{operand}",
                f"alignment_{operand} is {alignment}; CUTLASS's TileIteratorStridedDgrad, by which strided dgrad of 2 "
                f"stages loads, leaves out all but the first of a thread's accesses: use {widest}, or stride_support "
                "unity",
            )


def _partial_alignment(config: Config) -> int:
    """The alignment of the sums that a parallel split of K leaves in the workspace, packed as D is."""
    return min(int(config["alignment_c"]), _widest(config["element_accumulator"]))


OPERATION = Operation(
    kind="conv2d",
    fields=FIELDS,
    problem_fields=PROBLEM_FIELDS,
    problem_violations=problem_violations,
    configure=configure,
    violations=violations,
    name=name,
    templates=lambda config: "conv2d",
    template_values=template_values,
    cost=_cost,
    alike=(
        "conv_kind",
        "opcode_class",
        "element_a",
        "element_b",
        "element_accumulator",
        "instruction_shape",
        "threadblock_shape",
        "warp_count",
        "iterator_algorithm",
        "element_c",
        "stride_support",
        "group_mode",
        "alignment_a",
        "stages",
    ),
    unremarkable={**epilogue.UNREMARKABLE, "split_k_mode": "serial"},
)
