"""The tiles that are refused because warps cannot read them are those that CUTLASS's iterators read wrongly."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

from cutlass_ninja.operations import operand_tiles
from cutlass_ninja.toolchain import Toolchain

ITERATOR = "cutlass/gemm/warp/mma_tensor_op_tile_iterator.h"
ELEMENTS = {"half_t": "f16", "float": "tf32", "int8_t": "s8"}
INSTRUCTIONS = {"half_t": ((16, 8, 16), (16, 8, 8)), "float": ((16, 8, 8),), "int8_t": ((16, 8, 32), (8, 8, 16))}
DEPTHS = {"half_t": (16, 32), "float": (16, 32), "int8_t": (32, 64)}

Case = tuple[str, bool, bool, int, int, int, tuple[int, int, int]]


def cases() -> Iterator[Case]:
    """Element, whether it is A, whether it is contiguous along K, tile, warps, tile K and instruction."""
    for element, instructions in INSTRUCTIONS.items():
        for instruction, along_k, is_a in itertools.product(instructions, (True, False), (True, False)):
            depths = DEPTHS[element] if along_k else DEPTHS[element][1:]
            for depth, warp, warps in itertools.product(depths, (16, 24, 32, 48, 64, 80, 128), (1, 2)):
                if depth > instruction[2] and warp % instruction[0 if is_a else 1] == 0:
                    yield element, is_a, along_k, warp * warps, warps, depth, instruction


def violations(case: Case) -> list[str]:
    """Why a kernel with such a tile is refused."""
    element, is_a, along_k, tile, warps, depth, instruction = case
    config = {
        "opcode_class": "tensorop",
        "element_a": ELEMENTS[element],
        "element_b": ELEMENTS[element],
        "math_operation": "multiply_add",
        "instruction_shape": instruction,
        "threadblock_shape": [tile, 64, depth] if is_a else [64, tile, depth],
        "warp_count": [warps, 1, 1] if is_a else [1, warps, 1],
        "stages": 3,
        "layout_a": "n" if is_a and not along_k else "t",
        "layout_b": "n" if is_a or along_k else "t",
    }
    return [violation.message for violation in operand_tiles.violations(config)]


def as_cpp(case: Case) -> str:
    element, is_a, along_k, tile, warps, depth, instruction = case
    values = (int(is_a), int(along_k), tile, warps, depth, instruction[0 if is_a else 1], instruction[2])
    return f"CASE({element}, {', '.join(map(str, values))})\n"


def test_tiles_that_warps_cannot_read(tools: Toolchain, tmp_path: Path) -> None:
    (header,) = {path for folder in tools.cutlass for path in Path(folder).glob(ITERATOR)}
    (tmp_path / header.name).write_text(header.read_text().replace("cutlass::arch::ldsm<", "::noted::ldsm<"))
    # What is refused for another reason has no iterator.
    examined = {case: violations(case) for case in cases()}
    refused = {case: messages for case, messages in examined.items() if all("cannot read" in one for one in messages)}
    (tmp_path / "cases.inc").write_text("".join(map(as_cpp, refused)))
    folders = [tmp_path, ROOT / "cutlass_ninja/runtime/include", *tools.cutlass, *tools.cuda_include]
    program = tmp_path / "operand_tiles"
    command = [tools.host_compiler, "-std=c++17", "-DNDEBUG", "-fpermissive", "-w", *(f"-I{one}" for one in folders)]
    source = str(ROOT / "tests/cpp/operand_tiles.cpp")
    done = subprocess.run([*command, source, "-o", str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()
    assert len(answers) == len(refused) > 100 and {"0", "1"} == set(answers)
    assert [case for case, answer in zip(refused, answers) if (answer == "0") != bool(refused[case])] == []
