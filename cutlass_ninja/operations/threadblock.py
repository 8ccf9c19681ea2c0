"""Rules of CUTLASS 2.x kernels: tiles of a thread block split among warps, for any operation kind.

Sources: the static_asserts of cutlass/gemm/threadblock/default_mma_core_{simt,sm75,sm80}.h and of
cutlass/transform/pitch_linear_thread_map.h, and the CUDA C++ Programming Guide for the limits of a thread block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..arch import Arch
from ..elements import ELEMENTS
from .operation import Config, Violation

_WARP_SIZE = 32
_MAX_THREADS = 1024
_MAX_ACCESS_BITS = 128


@dataclass(frozen=True, slots=True)
class Instruction:
    """One multiply-add instruction that 2.x kernels are made of."""

    opcode_class: str
    shape: tuple[int, int, int]
    elements: tuple[str, ...]
    """Element types of A and B (both the same)."""
    accumulators: tuple[str, ...]
    compute_capability: int
    """The first architecture that has it: the kernel's ArchTag."""


INSTRUCTIONS = (
    Instruction("simt", (1, 1, 1), ("f32",), ("f32",), 50),
    Instruction("tensorop", (16, 8, 8), ("f16",), ("f16", "f32"), 75),
    Instruction("tensorop", (16, 8, 16), ("f16",), ("f16", "f32"), 80),
    Instruction("tensorop", (16, 8, 16), ("bf16",), ("f32",), 80),
)


def instruction_of(config: Config) -> Instruction | None:
    """The instruction that computes this configuration, or None where there is none."""
    for instruction in INSTRUCTIONS:
        if (
            instruction.opcode_class == config["opcode_class"]
            and instruction.shape == tuple(config["instruction_shape"])
            and config["element_a"] in instruction.elements
            and config["element_accumulator"] in instruction.accumulators
        ):
            return instruction
    return None


def arch_tag(config: Config) -> int:
    """The compute capability of the kernel's ArchTag: its instruction's, or 80 where cp.async is used."""
    instruction = instruction_of(config)
    assert instruction is not None, "violations() refuses a configuration without an instruction"
    return max(instruction.compute_capability, 80 if config["stages"] > 2 else 0)


def warp_shape(config: Config) -> list[int]:
    """The tile of one warp, as [M, N, K]."""
    return [tile // warps for tile, warps in zip(config["threadblock_shape"], config["warp_count"])]


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
    wanted = f"{config['element_a']} with {config['element_accumulator']} accumulation"
    shapes = [
        list(instruction.shape)
        for instruction in INSTRUCTIONS
        if config["element_a"] in instruction.elements and config["element_accumulator"] in instruction.accumulators
    ]
    if not shapes:
        return Violation("element_accumulator", f"no instruction multiplies {wanted}")
    allowed = " or ".join(map(str, shapes))
    shape = config["instruction_shape"]
    return Violation(
        "instruction_shape", f"no {config['opcode_class']} instruction {shape} for {wanted}; use {allowed}"
    )


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
    rows = 8 if warp[0] > warp[1] else 4
    columns = _WARP_SIZE // rows
    if warp[0] % rows or warp[1] % columns:
        yield Violation(
            "tile_description.warp_count",
            f"a SIMT warp's {rows}x{columns} threads do not divide its tile {warp[0]}x{warp[1]}",
        )
    if config["warp_count"][2] != 1:
        yield Violation("tile_description.warp_count", "a SIMT kernel's warps cannot split K: warp_count[2] must be 1")


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
        elif config["stages"] > 2 and bits < 32:
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
