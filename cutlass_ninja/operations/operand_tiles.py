"""How a 2.x kernel's operands pass through shared memory: threads fill a tile of A or B, warps read their part of it.

Both depend on the dimension along which the operand is contiguous. Where CUTLASS divides without asserting that nothing
remains, such a kernel compiles, and leaves out a part of the tile.

Sources: cutlass/gemm/threadblock/default_mma_core_{simt,sm75,sm80}.h, cutlass/transform/pitch_linear_thread_map.h,
cutlass/layout/tensor_op_multiplicand_sm75.h, cutlass/gemm/warp/mma_{simt,tensor_op}_tile_iterator{,_sm80}.h.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from ..elements import ELEMENTS
from . import threadblock
from .operation import Config, Violation

_WARP_SIZE = 32
_ACCESS_BITS = 128
_LINE_BITS = 128 * 8  # Of shared memory: 32 banks of 4 bytes.
_LDSM_ROWS = 8  # Of each matrix that ldmatrix loads.
_LDSM_MATRICES = 4  # At most.
_MAX_PREDICATES = 64  # Of a thread: 4 words of 16.


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand's tile, as the kernel has it."""

    name: str
    """A or B."""
    axis: str
    """M or N of the tile: its dimension that is not K."""
    bits: int
    """Of an element."""
    extent: int
    """Along the axis."""
    warps: int
    """Along the axis."""
    depth: int
    """Along K."""
    along_k: bool
    """Whether K is the contiguous dimension."""

    @property
    def warp_extent(self) -> int:
        return self.extent // self.warps

    @property
    def contiguous(self) -> int:
        return self.depth if self.along_k else self.extent

    @property
    def strided(self) -> int:
        return self.extent if self.along_k else self.depth

    def __str__(self) -> str:
        return f"{self.name}'s {self.extent}x{self.depth} tile, contiguous along {'K' if self.along_k else self.axis}"


def violations(config: Config) -> Iterator[Violation]:
    """Why a configuration that is valid otherwise cannot have its `layout_a` and `layout_b`: n or t.

    `layout_c` n makes the kernel compute D's transpose: B's tile has M rows then, and A's has N. Without it D is
    row-major.
    """
    layout = config["layout_a"] + config["layout_b"]
    simt = config["opcode_class"] == "simt"
    if not simt and ELEMENTS[config["element_a"]].bits == 8 and layout != "tn":
        yield Violation(
            "layout",
            f"layout is {layout}; tensor cores take 8-bit operands along K only: A row-major and B column-major, tn",
        )
        return
    rules = _simt_violations if simt else _tensor_op_violations
    operands = sorted(_operands(config), key=attrgetter("name"))
    found = (violation for operand in operands for violation in rules(config, operand))
    yield from itertools.islice(found, 1)  # What follows from the first is no news.


def predicate_violations(config: Config) -> Iterator[Violation]:
    """Why the threads of a GEMM have no predicate for each of their accesses to a tile.

    Source: PredicatedTileAccessIterator in cutlass/transform/threadblock/predicated_tile_access_iterator.h.
    """
    for operand in _operands(config):
        field = f"alignment_{operand.name.lower()}"
        accesses = operand.extent * operand.depth // _threads(config) // config[field]
        if accesses > _MAX_PREDICATES:
            yield Violation(
                field,
                f"{field} is {config[field]}, which makes {accesses} loads of a tile of {operand.name} for each "
                f"thread; at most {_MAX_PREDICATES} are legal: use a greater alignment, more warps or a smaller tile",
            )


def _operands(config: Config) -> Iterator[_Operand]:
    order = "ba" if config.get("layout_c") == "n" else "ab"
    tile, warps = config["threadblock_shape"], config["warp_count"]
    for axis, name, extent, count in zip("MN", order, tile, warps):
        bits = 16 if _stored_as_f16(config) else ELEMENTS[config[f"element_{name}"]].bits
        along_k = config[f"layout_{name}"] == {"a": "t", "b": "n"}[name]
        yield _Operand(name.upper(), axis, bits, extent, count, tile[2], along_k)


def _stored_as_f16(config: Config) -> bool:
    """Whether f32 becomes f16 on its way to shared memory: the float cores of default_mma_core_sm75.h."""
    return (config["math_operation"], config["stages"]) == ("multiply_add_fast_f16", 2)


def _simt_violations(config: Config, operand: _Operand) -> Iterator[Violation]:
    threads, line = _threads(config), operand.contiguous
    if threads % line and (line % threads or operand.along_k):
        yield Violation(
            "tile_description.threadblock_shape",
            f"the {threads} threads of warp_count {config['warp_count']} cannot share evenly lines of {line} elements "
            f"of {operand}; CUTLASS's PitchLinearStripminedThreadMap needs the one to divide the other",
        )
    shared = dict(zip("MN", threadblock.simt_threads(config)))[operand.axis]
    extent = operand.warp_extent // shared  # A thread's.
    lane = min(_ACCESS_BITS // operand.bits, extent)
    if extent % lane:
        yield Violation(
            "tile_description.threadblock_shape",
            f"a thread's part of a SIMT warp's tile is {extent} along {operand.axis}; it must be a multiple of {lane} "
            "or less",
        )
    elif operand.along_k:
        padding = _simt_padding(config, operand)
        if padding % lane:
            yield Violation(
                "tile_description.threadblock_shape",
                f"tile K is {operand.depth}; a SIMT kernel pads {operand.name}, contiguous along K, by {padding} "
                f"elements, which a thread's {lane} do not divide: use a smaller K",
            )


def _simt_padding(config: Config, operand: _Operand) -> int:
    """Elements that are left free after each column of an operand that is transposed on its way to shared memory.

    Sources: simt_transpose_padding of default_mma_core_simt.h, for 2 stages; kPadding of default_mma_core_sm80.h.
    """
    if config["stages"] > 2:
        return operand.depth // _WARP_SIZE
    words = _WARP_SIZE // operand.depth
    return words // (operand.bits // 32) if operand.bits >= 32 else words * (32 // operand.bits)


def _tensor_op_violations(config: Config, operand: _Operand) -> Iterator[Violation]:
    if operand.bits == 64:
        yield from _f64_violations(config, operand)
        return
    elements = _LINE_BITS // operand.bits
    if operand.along_k and elements % operand.depth:
        # Rows of the tile fill whole lines: kFactor of TensorOpMultiplicandCrosswise.
        element = ELEMENTS[config[f"element_{operand.name.lower()}"]].name
        yield Violation(
            "tile_description.threadblock_shape",
            f"tile K is {operand.depth}; {operand.name} is contiguous along K, and {operand.depth} {element} do not "
            f"divide the {elements} of a line of shared memory",
        )
        return
    accesses = operand.contiguous // (_ACCESS_BITS // operand.bits)
    side_by_side = accesses if operand.along_k else min(accesses, 8)
    yield from _warp_raked_violations(config, operand, accesses, side_by_side)
    yield from (_crosswise_violations if operand.along_k else _congruous_violations)(config, operand)


def _warp_raked_violations(config: Config, operand: _Operand, accesses: int, side_by_side: int) -> Iterator[Violation]:
    """PitchLinearWarpRakedThreadMap: a warp's threads stand `side_by_side` along a line, the rest of them below."""
    below = _WARP_SIZE // side_by_side
    if side_by_side * below != _WARP_SIZE or accesses % side_by_side or operand.strided % below:
        yield Violation(
            "tile_description.threadblock_shape",
            f"a warp loads {side_by_side} accesses side by side of {below} lines at once, into which {operand}, of "
            f"{accesses} x {operand.strided} accesses, cannot be divided",
        )
        return
    warps = _threads(config) // _WARP_SIZE
    across, down = accesses // side_by_side, operand.strided // below
    if operand.bits == 64 and not operand.along_k and warps > down:  # PitchLinearWarpStripedThreadMap.
        warps_down = warps // down
        warps_across = across // warps_down
    else:
        warps_down = min(warps, down)
        warps_across = warps // warps_down
    if warps_across * warps_down != warps or across % warps_across or down % warps_down:
        yield Violation(
            "tile_description.warp_count",
            f"the {warps} warps of warp_count {config['warp_count']} cannot share evenly the {across} x {down} loads, "
            f"of {side_by_side} x {below} accesses each, of {operand}",
        )


def _crosswise_violations(config: Config, operand: _Operand) -> Iterator[Violation]:
    """Ldmatrix loads 1, 2 or 4 matrices of 8 rows: TensorOpMultiplicandCrosswise and its iterator."""
    rows, rest = divmod(operand.warp_extent, _LDSM_ROWS)
    along_k = config["instruction_shape"][2] // (_ACCESS_BITS // operand.bits)
    matrices = min(_LDSM_MATRICES // along_k, rows)
    if rest or matrices == 3 or rows % matrices:
        yield _unreadable(operand, f"ldmatrix loads {_LDSM_MATRICES // along_k * _LDSM_ROWS} rows at once")
        return
    factor = _LINE_BITS // operand.bits // operand.depth
    pattern = max(8 // factor, 4) * factor  # Rows after which the permutation of the accesses repeats.
    if operand.warps > 1 and operand.warp_extent % pattern:
        yield _unreadable(operand, f"with tile K {operand.depth} warps must be {pattern} rows apart")


def _congruous_violations(config: Config, operand: _Operand) -> Iterator[Violation]:
    """TensorOpMultiplicandCongruous and its iterators, which know how to permute accesses for some distances only."""
    line = _LINE_BITS // operand.bits
    narrow = (16, 32) if operand.bits == 16 and not _stored_as_f16(config) else ()
    if operand.extent % line and operand.extent not in narrow:
        allowed = f"16, 32 or a multiple of {line}" if narrow else f"a multiple of {line}"
        yield Violation(
            "tile_description.threadblock_shape",
            f"tile {operand.axis} is {operand.extent}; {operand.name} is contiguous along {operand.axis}, and of "
            f"{operand.bits}-bit elements CUTLASS reads tiles of {allowed}",
        )
        return
    if operand.bits == 16:
        at_once = _LDSM_MATRICES * _LDSM_ROWS * _LDSM_ROWS // config["instruction_shape"][2]
        if operand.warp_extent % at_once:
            yield _unreadable(operand, f"ldmatrix loads {at_once} columns at once")
            return
    if operand.warps > 1 and operand.warp_extent != line // 2 and operand.warp_extent % line:
        yield _unreadable(operand, f"warps must be {line // 2} or a multiple of {line} columns apart")


def _f64_violations(config: Config, operand: _Operand) -> Iterator[Violation]:
    """The 64-bit layouts of default_mma_core_sm80.h: loads of 8 bytes, of 16 x 2 threads."""
    if operand.warp_extent % 16:
        yield _unreadable(operand, "f64 is read by 16")
    elif _threads(config) == _WARP_SIZE:
        yield Violation("tile_description.warp_count", "CUTLASS's f64 tensor core kernels need at least two warps")
    elif operand.contiguous % 16:
        yield Violation(
            "tile_description.threadblock_shape",
            f"tile K is {operand.depth}; {operand.name} is contiguous along K, and f64 is loaded by 16 along it",
        )
    else:
        yield from _warp_raked_violations(config, operand, operand.contiguous, 16)


def _unreadable(operand: _Operand, why: str) -> Violation:
    return Violation(
        "tile_description.threadblock_shape",
        f"warp tile {operand.axis} is {operand.warp_extent}; a warp cannot read its part of {operand}: {why}",
    )


def _threads(config: Config) -> int:
    m, n, k = config["warp_count"]
    return int(_WARP_SIZE * m * n * k)
