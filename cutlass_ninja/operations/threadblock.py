"""Rules of CUTLASS 2.x kernels: tiles of a thread block split among warps, for any operation kind.

Sources: the static_asserts of cutlass/gemm/threadblock/default_mma_core_{simt,sm75,sm80}.h and of
cutlass/transform/pitch_linear_thread_map.h, and the CUDA C++ Programming Guide for the limits of a thread block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ..arch import Arch
from ..elements import ELEMENTS
from .operation import Config, Violation

_WARP_SIZE = 32
_MAX_THREADS = 1024
_MAX_ACCESS_BITS = 128
_MIN_CP_ASYNC_BITS = 32
_EPILOGUE_ROWS = 8
_EPILOGUE_ACCESS_BITS = 256 * 8  # What a warp writes to one row of D, at best.


@dataclass(frozen=True, slots=True)
class Instruction:
    """One multiply-add instruction that 2.x kernels are made of."""

    opcode_class: str
    shape: tuple[int, int, int]
    elements: tuple[str, ...]
    """Element types of A and B in memory."""
    accumulators: tuple[str, ...]
    compute_capability: int
    """The first architecture that has it: the kernel's ArchTag."""
    math_operation: str = "multiply_add"
    """What is done with the operands (cutlass_library.MathOperation)."""
    math: str | None = None
    """The type that the operands are rounded to before they are multiplied; None: they are multiplied as they are."""
    mixed: bool = False
    """Whether A and B may differ."""


_FAST = {"multiply_add": "tf32", "multiply_add_fast_f16": "f16", "multiply_add_fast_bf16": "bf16"}
"""Math operations on f32 operands, and what tensor cores round these to."""

INSTRUCTIONS = (
    Instruction("simt", (1, 1, 1), ("f32",), ("f32",), 50),
    Instruction("simt", (1, 1, 1), ("f64",), ("f64",), 50),
    Instruction("simt", (1, 1, 1), ("f16",), ("f16",), 60),
    Instruction("tensorop", (16, 8, 8), ("f16",), ("f16", "f32"), 75),
    Instruction("tensorop", (8, 8, 16), ("s8", "u8"), ("s32",), 75, "multiply_add_saturate", mixed=True),
    Instruction("tensorop", (16, 8, 16), ("f16",), ("f16", "f32"), 80),
    Instruction("tensorop", (16, 8, 16), ("bf16",), ("f32",), 80),
    Instruction("tensorop", (16, 8, 8), ("tf32",), ("f32",), 80, math="tf32"),
    *(Instruction("tensorop", (16, 8, 8), ("f32",), ("f32",), 80, name, math) for name, math in _FAST.items()),
    # 3xTF32: each operand as the sum of two tf32 numbers, which keeps f32's precision.
    Instruction("tensorop", (16, 8, 8), ("f32",), ("f32",), 80, "multiply_add_fast_f32"),
    Instruction("tensorop", (8, 8, 4), ("f64",), ("f64",), 80),
    Instruction("tensorop", (16, 8, 32), ("s8", "u8"), ("s32",), 80, "multiply_add_saturate", mixed=True),
)

MATH_OPERATIONS = {
    "multiply_add": "cutlass::arch::OpMultiplyAdd",
    "multiply_add_saturate": "cutlass::arch::OpMultiplyAddSaturate",
    "multiply_add_fast_f16": "cutlass::arch::OpMultiplyAddFastF16",
    "multiply_add_fast_bf16": "cutlass::arch::OpMultiplyAddFastBF16",
    "multiply_add_fast_f32": "cutlass::arch::OpMultiplyAddFastF32",
}
"""Their C++ tags, by the names of cutlass_library.MathOperation."""


def default_math_operation(element_a: str) -> str:
    """The math operation of a configuration that names none: CUTLASS multiplies integers with saturation only."""
    return "multiply_add_saturate" if ELEMENTS[element_a].integer else "multiply_add"


def instruction_of(config: Config) -> Instruction | None:
    """The instruction that computes this configuration, or None where there is none."""
    elements = config["element_a"], config["element_b"], config["element_accumulator"]
    return _instruction_for(
        config["opcode_class"], tuple(config["instruction_shape"]), _math_operation(config), *elements
    )


@cache
def _instruction_for(
    opcode_class: str, shape: tuple[int, ...], math_operation: str, a: str, b: str, accumulator: str
) -> Instruction | None:
    for instruction in INSTRUCTIONS:
        if (
            (instruction.opcode_class, instruction.shape) == (opcode_class, shape)
            and instruction.math_operation == math_operation
            and _multiplies(instruction, a, b)
            and accumulator in instruction.accumulators
        ):
            return instruction
    return None


def _multiplies(instruction: Instruction, a: str, b: str) -> bool:
    """Whether an instruction takes operands of these types."""
    return a in instruction.elements and b in instruction.elements and (a == b or instruction.mixed)


def _math_operation(config: Config) -> str:
    operation: str = config.get("math_operation", default_math_operation(config["element_a"]))
    return operation


def arch_tag(config: Config) -> int:
    """The compute capability of the kernel's ArchTag: its instruction's, or 80 where cp.async is used."""
    return max(_instruction(config).compute_capability, 80 if config["stages"] > 2 else 0)


def math_element(config: Config) -> str:
    """The type that A and B are rounded to before they are multiplied; `void`: they are multiplied as they are."""
    return _instruction(config).math or "void"


def _instruction(config: Config) -> Instruction:
    instruction = instruction_of(config)
    assert instruction is not None, "violations() refuses a configuration without an instruction"
    return instruction


def warp_shape(config: Config) -> list[int]:
    """The tile of one warp, as [M, N, K]."""
    return [tile // warps for tile, warps in zip(config["threadblock_shape"], config["warp_count"])]


def simt_threads(config: Config) -> tuple[int, int]:
    """How the threads of a SIMT kernel's warp are arranged, as (M, N): WarpNumThreadsM and -N of DefaultMmaCore."""
    warp = warp_shape(config)
    rows = 8 if config["stages"] == 2 and warp[0] > warp[1] else 4
    return rows, _WARP_SIZE // rows


def violations(config: Config, arch: Arch) -> Iterator[Violation]:
    """Why the main loop of this configuration cannot be, for an architecture."""
    instruction = instruction_of(config)
    if instruction is None:
        yield _no_instruction(config)
        return
    stages = config["stages"]
    if stages < 2:
        yield Violation("tile_description.stages", f"stages is {stages}; a 2.x kernel needs at least 2")
        return
    yield from _arch_violations(config, arch, instruction)
    tile_errors = list(_tile_violations(config, instruction))
    yield from tile_errors
    if not tile_errors:
        yield from _alignment_violations(config)
        yield from _shared_memory_violations(config, arch)


def _no_instruction(config: Config) -> Violation:
    a, b = config["element_a"], config["element_b"]
    wanted = f"{a if a == b else f'{a} x {b}'} with {config['element_accumulator']} accumulation"
    suited = [
        instruction
        for instruction in INSTRUCTIONS
        if _multiplies(instruction, a, b) and config["element_accumulator"] in instruction.accumulators
    ]
    if not suited:
        if a != b and not any(i.mixed and a in i.elements and b in i.elements for i in INSTRUCTIONS):
            return Violation("element_b", f"A is {a} and B {b}; both must be the same, or each s8 or u8")
        return Violation("element_accumulator", f"no instruction multiplies {wanted}")
    opcode_class, shape, operation = config["opcode_class"], config["instruction_shape"], _math_operation(config)
    shaped = [i for i in suited if (i.opcode_class, list(i.shape)) == (opcode_class, shape)]
    if shaped:
        allowed = " or ".join(dict.fromkeys(instruction.math_operation for instruction in shaped))
        return Violation(
            "math_operation", f"{opcode_class} instruction {shape} on {wanted} has no {operation}; use {allowed}"
        )
    if (found := next((i for i in suited if list(i.shape) == shape), None)) is not None:
        return Violation(
            "opcode_class",
            f"opcode_class is {opcode_class}, but instruction {shape} on {wanted} is a {found.opcode_class} one: "
            "leave it out",
        )
    allowed = " or ".join(dict.fromkeys(str(list(instruction.shape)) for instruction in suited))
    return Violation("instruction_shape", f"no {opcode_class} instruction {shape} for {wanted}; use {allowed}")


def _arch_violations(config: Config, arch: Arch, instruction: Instruction) -> Iterator[Violation]:
    if arch.compute_capability < instruction.compute_capability:
        yield Violation(
            "instruction_shape",
            f"{config['opcode_class']} instruction {list(instruction.shape)} on {config['element_a']} "
            f"needs sm_{instruction.compute_capability} or later, not {arch.name}",
        )
    elif config["stages"] > 2 and arch.compute_capability < 80:
        yield Violation(
            "tile_description.stages",
            f"stages is {config['stages']}; more than 2 need cp.async, which starts with sm_80: {arch.name} has it not",
        )
    elif config["stages"] == 2 and (instruction.opcode_class, instruction.shape) == ("tensorop", (8, 8, 4)):
        # Source: default_mma_core_sm70.h, whose specializations for instructions of this shape take any type.
        yield Violation(
            "tile_description.stages",
            "stages is 2; CUTLASS has two main loops of two stages for instruction [8, 8, 4], Volta's and that of f64, "
            "and does not compile: use at least 3",
        )
    elif config["stages"] == 2 and _rounds_in_warps(instruction):
        yield Violation(
            "tile_description.stages",
            f"stages is 2; of f32 CUTLASS's main loop of two stages multiplies in f16, or does not compile, and "
            f"math_operation is {instruction.math_operation}: use at least 3, or multiply_add_fast_f16",
        )


def _rounds_in_warps(instruction: Instruction) -> bool:
    """Whether f32 is taken apart or rounded after it was read from shared memory, as multistage main loops alone do.

    Sources: DefaultMma for float of two stages in cutlass/gemm/threadblock/default_mma.h, which takes
    OpMultiplyAddFastF16 for any operator; implicit_gemm_pipelined.h, which never calls Operator::transform.
    """
    return instruction.opcode_class == "tensorop" and instruction.elements == ("f32",) and instruction.math != "f16"


def _tile_violations(config: Config, instruction: Instruction) -> Iterator[Violation]:
    tile, warps = config["threadblock_shape"], config["warp_count"]
    threads = _threads(warps)
    if threads > _MAX_THREADS:
        yield Violation(
            "tile_description.warp_count",
            f"warp_count {warps} is {threads} threads; a thread block has at most {_MAX_THREADS}",
        )
    split = [axis for axis, extent, count in zip("MNK", tile, warps) if extent % count]
    if split:
        yield Violation(
            "tile_description.warp_count",
            f"threadblock_shape {tile} is not divisible by warp_count {warps} in {' and '.join(split)}",
        )
        return
    warp = warp_shape(config)
    rest = [axis for axis, extent, unit in zip("MNK", warp, instruction.shape) if extent % unit]
    if rest:
        yield Violation(
            "tile_description.threadblock_shape",
            f"warp tile {warp} is not divisible by instruction_shape {list(instruction.shape)} in {' and '.join(rest)}",
        )
        return
    if instruction.opcode_class == "simt":
        yield from _simt_warp_violations(config, warp)
    else:
        groups = warp[2] // instruction.shape[2]
        if groups < 2 or groups % 2:
            yield Violation(
                "tile_description.threadblock_shape",
                f"warp tile K {warp[2]} is {groups} x instruction K {instruction.shape[2]}; "
                "it must be an even number of them, at least 2",
            )
    yield from _thread_map_violations(config, threads)


def _simt_warp_violations(config: Config, warp: Sequence[int]) -> Iterator[Violation]:
    rows, columns = simt_threads(config)
    if warp[0] % rows or warp[1] % columns:
        yield Violation(
            "tile_description.warp_count",
            f"a SIMT warp's {rows}x{columns} threads do not divide its tile {warp[0]}x{warp[1]}",
        )
    if config["warp_count"][2] != 1:
        yield Violation("tile_description.warp_count", "a SIMT kernel's warps cannot split K: warp_count[2] must be 1")
    width = ELEMENTS[config["element_a"]].bits
    if config["stages"] > 2 and width < _MIN_CP_ASYNC_BITS:
        yield Violation(
            "tile_description.stages",
            f"stages is {config['stages']}; a SIMT kernel loads single elements, here of {width // 8} bytes, but more "
            "than 2 stages are loaded by cp.async, which moves 4, 8 or 16: use stages: 2",
        )


def output_violations(config: Config) -> Iterator[Violation]:
    """Why the epilogue of this configuration cannot write D with `alignment_c`.

    Sources: OutputTileOptimalThreadMap and RowArrangement in cutlass/epilogue/threadblock/output_tile_thread_map.h,
    the static_asserts of DefaultIteratorsTensorOp in default_epilogue_tensor_op.h.
    """
    element, alignment = ELEMENTS[config["element_c"]], config["alignment_c"]
    bits, widest = element.bits, _MAX_ACCESS_BITS // element.bits
    if config["opcode_class"] == "simt":
        if alignment != 1:
            yield Violation("alignment_c", f"alignment_c is {alignment}; a SIMT kernel's is 1")
        yield from _simt_output_violations(config)
        return
    if alignment & (alignment - 1) or alignment > widest:
        yield Violation(
            "alignment_c", f"alignment_c is {alignment}; of {element.name} a power of two up to {widest} is legal"
        )
        return
    if bits == 8 and alignment < 4:
        yield Violation("alignment_c", f"alignment_c is {alignment}; the epilogue writes {element.name} by 4, 8 or 16")
        return
    columns, warps = config["threadblock_shape"][1], config["warp_count"]
    warps_of_rows = warps[1] * warps[2]
    width = columns // alignment  # in accesses
    if warps_of_rows >= _EPILOGUE_ROWS:
        fits = warps_of_rows == _EPILOGUE_ROWS and columns % (alignment * _WARP_SIZE) == 0
    else:
        rows = _EPILOGUE_ROWS // warps_of_rows
        target_width = _EPILOGUE_ACCESS_BITS // (alignment * bits)
        if _WARP_SIZE // min(target_width, _WARP_SIZE) > rows:
            access_width, access_rows = _WARP_SIZE // rows, rows
        else:
            access_width = min(width, _WARP_SIZE, target_width)
            access_rows = min(_EPILOGUE_ROWS, _WARP_SIZE // max(access_width, 1))
        fits = (
            _EPILOGUE_ROWS % warps_of_rows == 0
            and columns % alignment == 0
            and access_rows * access_width == _WARP_SIZE
            and rows % access_rows == 0
            and width >= access_width
            and width % access_width == 0
        )
    if not fits:
        yield Violation(
            "alignment_c",
            f"the epilogue cannot share rows of {columns} {element.name} among the {warps_of_rows} warps along "
            f"N and K in accesses of alignment_c {alignment}; use a smaller alignment_c",
        )


def _simt_output_violations(config: Config) -> Iterator[Violation]:
    """Warps share the rows of D, 32 elements of one row at once: DefaultThreadMapSimt."""
    columns, warps = config["threadblock_shape"][1], config["warp_count"][1]
    if columns % _WARP_SIZE:
        yield Violation(
            "tile_description.threadblock_shape",
            f"tile N is {columns}; the epilogue of a SIMT kernel writes {_WARP_SIZE} elements of a row at once: use a "
            "multiple of it",
        )
    elif (rows := simt_threads(config)[0]) % warps:
        yield Violation(
            "tile_description.warp_count",
            f"the {warps} warps along N of warp_count {config['warp_count']} cannot share evenly the {rows} rows that "
            "the epilogue of a SIMT kernel writes at once",
        )


def _thread_map_violations(config: Config, threads: int) -> Iterator[Violation]:
    tile = config["threadblock_shape"]
    for operand, extent in (("a", tile[0]), ("b", tile[1])):
        bits = ELEMENTS[config[f"element_{operand}"]].bits
        width = 1 if config["opcode_class"] == "simt" else _MAX_ACCESS_BITS // bits
        accesses = extent * tile[2] // width
        if accesses < threads or accesses % threads:
            yield Violation(
                "tile_description.warp_count",
                f"the {threads} threads of warp_count {config['warp_count']} cannot share evenly the "
                f"{accesses} loads of {width * bits // 8} bytes of {operand.upper()}'s {extent}x{tile[2]} tile",
            )


def _alignment_violations(config: Config) -> Iterator[Violation]:
    for operand in "ab":
        element = ELEMENTS[config[f"element_{operand}"]]
        alignment, widest = config[f"alignment_{operand}"], _MAX_ACCESS_BITS // element.bits
        bits = alignment * element.bits
        field = f"alignment_{operand}"
        if config["opcode_class"] == "simt":
            if alignment != 1:
                yield Violation(field, f"{field} is {alignment}; a SIMT kernel's is 1")
        elif alignment & (alignment - 1) or bits > _MAX_ACCESS_BITS:
            yield Violation(
                field,
                f"{field} is {alignment}; of {element.name} a power of two up to {widest} is legal",
            )
        elif config["stages"] > 2 and bits < _MIN_CP_ASYNC_BITS:
            yield Violation(
                field,
                f"{field} {alignment} of {element.name} is {bits // 8} bytes, but a multistage kernel loads by "
                "cp.async, which moves 4, 8 or 16: use stages: 2",
            )


def _shared_memory_violations(config: Config, arch: Arch) -> Iterator[Violation]:
    tile, stages = config["threadblock_shape"], config["stages"]
    bits = ELEMENTS[config["element_a"]].bits * tile[0] + ELEMENTS[config["element_b"]].bits * tile[1]
    needed = stages * bits * tile[2] // 8
    if needed > arch.shared_memory_bytes:
        yield Violation(
            "tile_description.stages",
            f"{stages} stages of a {'x'.join(map(str, tile))} tile need {needed / 1024:g} KB of shared memory; "
            f"{arch.name} has {arch.shared_memory_bytes // 1024} KB",
        )


def _threads(warps: Sequence[int]) -> int:
    return _WARP_SIZE * warps[0] * warps[1] * warps[2]
