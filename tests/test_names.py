"""Names are CUTLASS's own: those that the installed cutlass_library gives for the same configuration."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from kernels import AMPERE, HOPPER, expanded, with_values

from cutlass_ninja import generate
from cutlass_ninja.generate import Request
from cutlass_ninja.kernel import Kernel

CONFIGS = Path(__file__).parent.parent / "configs"
SEEDS = Path(__file__).parent / "data" / "seed_kernels.txt"


def kernels_of(config: str) -> dict[str, Kernel]:
    return dict(generate.select(Request([str(CONFIGS / config)])).kernels)


def test_sm75_config_has_every_seed_gemm() -> None:
    seeds = {name for name in SEEDS.read_text().split() if "h1688gemm" in name}
    names = {kernel.name for kernel in kernels_of("gemm_sm75.yaml").values()}
    assert seeds and not seeds - names


def test_examples_of_each_convention(tmp_path: Path) -> None:
    assert list(expanded(AMPERE, tmp_path)) == ["cutlass_tensorop_f16_s16816gemm_f16_64x64_32x3_tn_align8"]
    assert list(expanded(HOPPER, tmp_path)) == [
        "cutlass3x_sm90_tensorop_gemm_f16_f16_f32_f16_f16_64x64x64_1x1x1_0_tnn_align8_warpspecialized_epi_tma"
    ]


@pytest.mark.parametrize("config", ["gemm.yaml", "gemm_sm75.yaml", "gemm_sm80.yaml", "gemm_sm90.yaml"])
def test_shipped_kernels_are_named_as_by_cutlass_library(config: str) -> None:
    # The module alone: the package wants numpy and more for what is not used here.
    library = pytest.importorskip("cutlass_library.library", reason="nvidia-cutlass is not installed")
    operation = importlib.import_module("cutlass_library.gemm_operation").GemmOperation
    kernels = kernels_of(config)
    assert kernels
    differing = {
        label: theirs
        for label, kernel in kernels.items()
        if kernel.name != (theirs := operation(**as_cutlass_library(library, kernel)).procedural_name())
    }
    assert not differing


def as_cutlass_library(library: Any, kernel: Kernel) -> dict[str, Any]:
    """The arguments of cutlass_library's GemmOperation for a kernel of ours."""
    config = kernel.config
    three = config["gemm_kind"] == "universal3x"
    layout = {"n": library.LayoutType.ColumnMajor, "t": library.LayoutType.RowMajor}
    element = {name: library.DataType[name] for name in ("f16", "bf16", "f32", "void")}
    opcode = library.OpcodeClass.Simt if config["opcode_class"] == "simt" else library.OpcodeClass.TensorOp
    instruction = library.MathInstruction(
        config["instruction_shape"] or [64, config["threadblock_shape"][1], 16],
        element[config["element_a"]],
        element[config["element_b"]],
        element[config["element_accumulator"]],
        opcode,
        library.MathOperation.multiply_add,
    )
    tile = library.TileDescription(
        config["threadblock_shape"],
        config["stages"],
        config.get("warp_count", [4, 1, 1]),
        instruction,
        90 if three else 80,
        90 if three else 1024,
        config.get("cluster_shape", [1, 1, 1]),
    )

    def tensor(operand: str, which: str) -> Any:
        alignment = config.get(f"alignment_{operand}", config["alignment_c"])
        return library.TensorDescription(
            element[config[f"element_{operand}"]], layout[config[f"layout_{which}"]], alignment
        )

    arguments = {
        "gemm_kind": library.GemmKind.Universal3x if three else library.GemmKind.Universal,
        "arch": tile.minimum_compute_capability,
        "tile_description": tile,
        "A": tensor("a", "a"),
        "B": tensor("b", "b"),
        "C": tensor("c", "c"),
        "element_epilogue": element[config["element_epilogue"]],
    }
    if three:
        arguments |= {
            "D": tensor("d", "c"),
            "kernel_schedule": library.KernelScheduleType[config["kernel_schedule"]],
            "epilogue_schedule": library.EpilogueScheduleType[config["epilogue_schedule"]],
            "tile_scheduler": library.TileSchedulerType[config["tile_scheduler"]],
        }
    return arguments


def test_namesakes_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    text = with_values(AMPERE, arch="[sm_80, sm_86]", layout="[tnn, tnt]")
    name = "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x3_tn_align8"
    assert list(expanded(text, tmp_path)) == [
        f"{name}-sm_80-layout_c_n",
        f"{name}-sm_80-layout_c_t",
        f"{name}-sm_86-layout_c_n",
        f"{name}-sm_86-layout_c_t",
    ]


def test_warp_counts_and_c_alignments_are_told_apart(tmp_path: Path) -> None:
    tile = "{threadblock_shape: [128, 128, 32], warp_count: [[2, 2, 1], [4, 2, 1]], stages: 3}"
    labels = list(
        expanded(with_values(AMPERE, tile_description=tile, alignment="8\n    alignment_c: [4, 8]"), tmp_path)
    )
    assert [label.partition("-")[2] for label in labels] == [
        "alignment_c_4-warp_count_2x2x1",
        "alignment_c_4-warp_count_4x2x1",
        "alignment_c_8-warp_count_2x2x1",
        "alignment_c_8-warp_count_4x2x1",
    ]


def test_equal_kernels_are_one(tmp_path: Path) -> None:
    family = AMPERE.partition("kernels:\n")[2]
    assert len(expanded(AMPERE + family + family.replace("layout: tn", "layout: tnn"), tmp_path)) == 1
