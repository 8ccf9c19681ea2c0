"""Rules of CUTLASS 3.x kernels for Hopper, as CollectiveBuilder makes them.

Sources: cutlass/gemm/collective/builders/sm90_gmma_builder.inl (instructions, alignment, automatic stages), its
sm90_common.inl (how threads share loads by cp.async),
cutlass/epilogue/collective/builders/sm90_builder.inl (the epilogue's shared memory), the static_asserts of
cutlass/gemm/kernel/sm90_gemm_*.hpp, and the PTX ISA for wgmma's shapes and the limits of a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..arch import Arch
from ..elements import ELEMENTS
from . import epilogue as epilogues
from .operation import Config, Violation

_MMA_M = 64
_MMA_N = (8, 16, 32, 64, 96, 128, 192, 256)
"""The widths of wgmma that cute/arch/mma_sm90.hpp chooses among unless CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED."""
_TMA_BYTES = 16
_CP_ASYNC_BYTES = 4
_WARP_GROUP = 128  # Threads.
_MAX_CLUSTER = 16
_PORTABLE_CLUSTER = 8
_BARRIER_BYTES = 16  # sizeof(PipelineTmaAsync<1>::SharedStorage)
_SMEM_ALIGNMENT = 128

_RESULTS = ("f16", "bf16", "f32", "void")
_ACCUMULATORS = {"f16": ("f16", "f32"), "bf16": ("f32",)}


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a kernel's warps share the work (cutlass_library.KernelScheduleType)."""

    suffix: str
    """What it adds to the kernel's name (cutlass_library.KernelScheduleSuffixes)."""
    tma: bool
    """Whether TMA loads A and B; otherwise cp.async does."""
    cooperative: bool
    epilogue: str
    """The epilogue schedule that suits it."""
    stream_k: bool


KERNEL_SCHEDULES = {
    "TmaWarpSpecialized": Schedule("_warpspecialized", True, False, "TmaWarpSpecialized", False),
    "TmaWarpSpecializedPingpong": Schedule("_warpspecialized_pingpong", True, False, "TmaWarpSpecialized", False),
    "TmaWarpSpecializedCooperative": Schedule(
        "_warpspecialized_cooperative", True, True, "TmaWarpSpecializedCooperative", True
    ),
    "CpAsyncWarpSpecialized": Schedule("_cpasync_warpspecialized", False, False, "NoSmemWarpSpecialized", False),
    "CpAsyncWarpSpecializedPingpong": Schedule(
        "_cpasync_warpspecialized_pingpong", False, False, "NoSmemWarpSpecialized", False
    ),
    "CpAsyncWarpSpecializedCooperative": Schedule(
        "_cpasync_warpspecialized_cooperative", False, True, "NoSmemWarpSpecialized", True
    ),
}

EPILOGUE_SCHEDULES = {
    "TmaWarpSpecialized": "_epi_tma",
    "TmaWarpSpecializedCooperative": "_epi_tma",
    "NoSmemWarpSpecialized": "_epi_nosmem",
}
"""Epilogue schedules and what they add to the kernel's name (cutlass_library.EpilogueScheduleSuffixes)."""

TILE_SCHEDULERS = {"Default": "", "Persistent": "", "StreamK": "_stream_k"}
"""Tile schedulers and what they add to the kernel's name (cutlass_library.TileSchedulerSuffixes)."""


SAME_TILE_SCHEDULER = {"Persistent": "Default"}
"""Tile schedulers that give the very type that another one gives."""


def violations(config: Config, arch: Arch) -> Iterator[Violation]:
    """Why a configuration cannot be built by CollectiveBuilder for an architecture, or could not run there."""
    if arch.name != "sm_90a":
        yield Violation(
            "gemm_kind",
            f"a universal3x kernel uses wgmma and TMA, which only sm_90a has, not {arch.name}"
            + (": plain sm_90 compiles and fails at run time" if arch.name == "sm_90" else ""),
        )
    if config["opcode_class"] != "tensorop":
        yield Violation("opcode_class", f"opcode_class is {config['opcode_class']}; a universal3x kernel's is tensorop")
    element, accumulator = config["element_a"], config["element_accumulator"]
    if config["element_b"] != element:
        yield Violation("element_b", f"A is {element} and B {config['element_b']}; both must be the same")
    if element not in _ACCUMULATORS:
        yield Violation("element_a", f"A is {element}; a universal3x kernel's is {' or '.join(_ACCUMULATORS)}")
        return
    if accumulator not in _ACCUMULATORS[element]:
        allowed = " or ".join(_ACCUMULATORS[element])
        yield Violation("element_accumulator", f"wgmma accumulates {element} in {allowed}, not in {accumulator}")
        return
    for operand in "cd":
        if (found := config[f"element_{operand}"]) not in _RESULTS:
            yield Violation(
                f"element_{operand}", f"{operand.upper()} is {found}; a universal3x kernel's is {' or '.join(_RESULTS)}"
            )
            return
    yield from _schedule_violations(config)
    yield from epilogues.violations_3x(config)
    tile_errors = list(_tile_violations(config))
    yield from tile_errors
    yield from _cluster_violations(config)
    alignment_errors = list(_alignment_violations(config))
    yield from alignment_errors
    if not tile_errors and not alignment_errors and not KERNEL_SCHEDULES[config["kernel_schedule"]].tma:
        yield from _cp_async_violations(config)
    if not tile_errors:
        yield from _shared_memory_violations(config, arch)


def epilogue_bytes(config: Config) -> int:
    """Shared memory of the epilogue with an automatic epilogue tile: its stages of C and of D, and a row of bias."""
    if config["epilogue_schedule"] == "NoSmemWarpSpecialized":
        return 0
    m, n, _ = _tile(config)
    rows = min(128 if config["epilogue_schedule"].endswith("Cooperative") else 64, m)
    columns = math.gcd(min(32, n), n)
    tiles = (m // rows) * (n // columns)
    bits_c, bits_d = ELEMENTS[config["element_c"]].bits, ELEMENTS[config["element_d"]].bits
    vector = n * bits_d // 8 if config["bias"] == "per_column" else 0
    stages_d = min(tiles, 2)
    reuse = bits_c == bits_d
    stages_c = max(min(tiles, 4), stages_d + 1) if reuse else min(tiles, 4)
    bytes_c, bytes_d = (rows * columns * bits // 8 for bits in (bits_c, bits_d))
    if reuse:
        return stages_c * bytes_c + vector
    return stages_c * bytes_c + stages_d * bytes_d + vector


def auto_stages(config: Config, shared_memory_bytes: int) -> int:
    """How many main loop stages StageCountAutoCarveout finds room for."""
    epilogue = -(-epilogue_bytes(config) // _SMEM_ALIGNMENT) * _SMEM_ALIGNMENT
    return (shared_memory_bytes - epilogue) // (_stage_bytes(config) + _BARRIER_BYTES)


def _tile(config: Config) -> tuple[int, int, int]:
    m, n, k = config["threadblock_shape"]
    return m, n, k


def _stage_bytes(config: Config) -> int:
    m, n, k = _tile(config)
    return (ELEMENTS[config["element_a"]].bits * m + ELEMENTS[config["element_b"]].bits * n) * k // 8


def _schedule_violations(config: Config) -> Iterator[Violation]:
    name, epilogue = config["kernel_schedule"], config["epilogue_schedule"]
    schedule = KERNEL_SCHEDULES[name]
    if epilogue not in (schedule.epilogue, "NoSmemWarpSpecialized"):
        yield Violation(
            "epilogue_schedule",
            f"epilogue_schedule {epilogue} does not suit kernel_schedule {name}; use "
            + " or ".join(dict.fromkeys((schedule.epilogue, "NoSmemWarpSpecialized"))),
        )
    if config["tile_scheduler"] == "StreamK" and not schedule.stream_k:
        yield Violation("tile_scheduler", f"kernel_schedule {name} has no StreamK; only the cooperative ones have")


def _tile_violations(config: Config) -> Iterator[Violation]:
    field = "tile_description.threadblock_shape"
    m, n, k = config["threadblock_shape"]
    if config["stages"] < 0 or config["stages"] == 1:
        yield Violation("tile_description.stages", f"stages is {config['stages']}; use 0 (automatic) or at least 2")
    if m % _MMA_M:
        yield Violation(field, f"tile M is {m}; wgmma needs a multiple of {_MMA_M}")
    elif KERNEL_SCHEDULES[config["kernel_schedule"]].cooperative and m % 128:
        yield Violation(field, f"tile M is {m}; a cooperative kernel's two warp groups need a multiple of 128")
    if n % 8 or not 16 <= n <= 256:
        yield Violation(field, f"tile N is {n}; wgmma needs a multiple of 8 from 16 to 256")
    elif n % 16 and config["layout_b"] == "n" and KERNEL_SCHEDULES[config["kernel_schedule"]].tma:
        yield Violation(
            field,
            f"tile N is {n}; TMA's tiles of a column-major B need a multiple of 16, or CuTe's Stride Divisibility "
            "Condition fails",
        )
    step = 256 // ELEMENTS[config["element_a"]].bits
    if k % step:
        yield Violation(field, f"tile K is {k}; wgmma on {config['element_a']} needs a multiple of {step}")
    shape = config["instruction_shape"]
    if shape and (shape[0] != _MMA_M or n % shape[1] or shape[2] != step):
        yield Violation(
            "instruction_shape", f"instruction_shape is {shape}; wgmma's is [64, a divisor of tile N, {step}] here"
        )


def _cluster_violations(config: Config) -> Iterator[Violation]:
    field = "tile_description.cluster_shape"
    cluster = config["cluster_shape"]
    blocks = math.prod(cluster)
    if blocks > _MAX_CLUSTER:
        yield Violation(
            field, f"cluster {'x'.join(map(str, cluster))} is {blocks} thread blocks; at most {_MAX_CLUSTER}"
        )
    if cluster[2] != 1:
        yield Violation(field, f"cluster K is {cluster[2]}; a GEMM's clusters extend along M and N only: use 1")
    if any(extent & (extent - 1) for extent in cluster):
        yield Violation(field, f"cluster {'x'.join(map(str, cluster))}: each extent must be a power of two")
    if blocks > 1 and not KERNEL_SCHEDULES[config["kernel_schedule"]].tma:
        yield Violation(
            field, f"kernel_schedule {config['kernel_schedule']} loads by cp.async: its cluster is [1, 1, 1]"
        )


def _cp_async_violations(config: Config) -> Iterator[Violation]:
    """The threads that load stand along an operand's contiguous dimension as far as it goes, the rest beside them."""
    threads = _WARP_GROUP * (2 if config["kernel_schedule"] == "CpAsyncWarpSpecialized" else 1)
    m, n, k = _tile(config)
    for operand, axis, extent, along_k in (("a", "M", m, "t"), ("b", "N", n, "n")):
        contiguous = config[f"layout_{operand}"] == along_k
        line, lines = (k, extent) if contiguous else (extent, k)
        major = min(line // config[f"alignment_{operand}"], threads)
        if threads % major or lines % (threads // major):
            yield Violation(
                "tile_description.threadblock_shape",
                f"{threads} threads cannot share evenly the loads of {operand.upper()}'s {extent}x{k} tile, "
                f"{config[f'alignment_{operand}']} elements each, contiguous along {'K' if contiguous else axis}",
            )
            return


def _alignment_violations(config: Config) -> Iterator[Violation]:
    tma = KERNEL_SCHEDULES[config["kernel_schedule"]].tma
    for operand in "ab":
        yield from _operand_alignment(
            config, operand, _TMA_BYTES if tma else _CP_ASYNC_BYTES, "TMA" if tma else "cp.async"
        )
    if config["epilogue_schedule"] != "NoSmemWarpSpecialized":
        for operand in "cd":
            if config[f"element_{operand}"] != "void":
                yield from _operand_alignment(config, operand, _TMA_BYTES, "a TMA epilogue")


def _operand_alignment(config: Config, operand: str, needed: int, by: str) -> Iterator[Violation]:
    element, alignment = ELEMENTS[config[f"element_{operand}"]], config[f"alignment_{operand}"]
    field, width = f"alignment_{operand}", alignment * element.bits // 8
    if alignment & (alignment - 1) or width > 16:
        yield Violation(
            field, f"{field} is {alignment}; of {element.name} a power of two up to {128 // element.bits} is legal"
        )
    elif width < needed:
        yield Violation(
            field,
            f"{field} {alignment} of {element.name} is {width} bytes; {by} needs at least {needed}"
            + ("" if operand in "cd" else ": use a CpAsync schedule" if by == "TMA" else ""),
        )


def _shared_memory_violations(config: Config, arch: Arch) -> Iterator[Violation]:
    field, capacity = "tile_description.stages", arch.shared_memory_bytes
    stages, possible = config["stages"], auto_stages(config, capacity)
    tile = "x".join(map(str, config["threadblock_shape"]))
    if stages == 0 and possible < 2:
        yield Violation(
            field,
            f"a {tile} tile leaves room for {max(possible, 0)} automatic stages in {arch.name}'s "
            f"{capacity // 1024} KB of shared memory; at least 2 are needed: use a smaller tile",
        )
    elif stages > possible:
        yield Violation(
            field,
            f"{stages} stages of a {tile} tile and {epilogue_bytes(config) / 1024:g} KB of epilogue exceed "
            f"{arch.name}'s {capacity // 1024} KB of shared memory; at most {max(possible, 0)} fit",
        )


def is_portable(config: Config) -> bool:
    """Whether every GPU of the architecture can launch this cluster, without the non-portable attribute."""
    return math.prod(config["cluster_shape"]) <= _PORTABLE_CLUSTER


def needs_extended_mma(config: Config) -> bool:
    """Whether CUTLASS takes several narrow wgmma for a row of the tile unless it is told of all that there are."""
    return config["threadblock_shape"][1] not in _MMA_N
