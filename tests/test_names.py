"""Names are CUTLASS's own: those that the installed cutlass_library gives for the same configuration."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from kernels import AMPERE, HOPPER, expanded, with_values

from cutlass_ninja import generate
from cutlass_ninja.generate import Request
from cutlass_ninja.kernel import Kernel

CONFIGS = Path(__file__).parent.parent / "configs"
FAST_MATH = {
    ("f32", "multiply_add"): "tf32",
    ("f32", "multiply_add_fast_f16"): "f16",
    ("f32", "multiply_add_fast_bf16"): "bf16",
}
"""What tensor cores round operands to: the operands of cutlass_library's MathInstruction."""
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


@pytest.mark.parametrize("config", sorted(path.name for path in CONFIGS.glob("gemm*.yaml")))
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
    element = library.DataType.__members__
    operation = library.MathOperation[config.get("math_operation", "multiply_add")]
    rounded = FAST_MATH.get((config["element_a"], operation.name))
    instruction = library.MathInstruction(
        config["instruction_shape"] or [64, config["threadblock_shape"][1], 16],
        element[rounded or config["element_a"]],
        element[rounded or config["element_b"]],
        element[config["element_accumulator"]],
        library.OpcodeClass.Simt if config["opcode_class"] == "simt" else library.OpcodeClass.TensorOp,
        operation,
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


class Recorder:
    """What cutlass_library's generator writes its operations to: its Manifest, without files."""

    kernel_filter = "all"

    def __init__(self) -> None:
        self.operations: list[Any] = []

    def append(self, operation: Any) -> None:
        self.operations.append(operation)


GENERATED = {"sm_75": ("SM50", "SM60", "SM61", "SM70", "SM75"), "sm_80": ("SM80",)}
"""The generator's functions whose kernels are for an architecture."""

LATER = {
    "complex": "cutlass_library's complex types are no element types here yet",
    "narrow": "4-bit and 1-bit types are no element types here yet",
    "mixed_input": "operands of different widths (multiply_add_mixed_input_upcast) are not offered yet",
    "interleaved": "interleaved layouts are not offered yet",
    "volta": "the instruction [8, 8, 4] on f16 is Volta's, for which nvcc 13 does not compile",
    "dp4a": "the SIMT instruction [1, 1, 4] on s8 is Pascal's; tensor cores multiply s8 on every GPU here",
}
"""Why a dense GEMM of the generator is none of ours."""


def reason_for_later(operation: Any) -> str | None:
    """Which of those reasons there is for an operation, if any."""
    math = operation.tile_description.math_instruction
    elements = {operation.A.element.name, operation.B.element.name}
    if elements & {"cf32", "cf64"}:
        return "complex"
    if math.math_operation.name == "multiply_add_mixed_input_upcast":
        return "mixed_input"
    if elements & {"s4", "u4", "b1"}:
        return "narrow"
    if "Interleaved" in operation.A.layout.name:
        return "interleaved"
    instruction = (elements, list(math.instruction_shape))
    return {"({'f16'}, [8, 8, 4])": "volta", "({'s8'}, [1, 1, 4])": "dp4a"}.get(str(instruction))


def as_family(operation: Any) -> str:
    """A generator's operation as a family of a manifest, in YAML's flow style."""
    math, tile = operation.tile_description.math_instruction, operation.tile_description
    layouts = "".join(
        {"ColumnMajor": "n", "RowMajor": "t"}[one.layout.name] for one in (operation.A, operation.B, operation.C)
    )
    functor = {
        "LinearCombination": "linear_combination",
        "LinearCombinationClamp": "linear_combination_clamp",
    }[operation.epilogue_functor.name]
    widest = 128 // importlib.import_module("cutlass_library.library").DataTypeSize[operation.C.element]
    return json.dumps(
        {
            "operation": "gemm",
            "opcode_class": math.opcode_class.name.lower(),
            "element_a": operation.A.element.name,
            "element_b": operation.B.element.name,
            "element_c": operation.C.element.name,
            "element_accumulator": math.element_accumulator.name,
            "element_epilogue": operation.element_epilogue.name,
            "layout": layouts,
            "alignment_a": operation.A.alignment,
            "alignment_b": operation.B.alignment,
            "alignment_c": min(operation.C.alignment, widest),
            "instruction_shape": list(math.instruction_shape),
            "math_operation": math.math_operation.name,
            "tile_description": {
                "threadblock_shape": list(tile.threadblock_shape),
                "warp_count": list(tile.warp_count),
                "stages": tile.stages,
            },
            "epilogue_functor": functor,
            "swizzling_functor": operation.swizzling_functor.name,
        }
    )


def dense_gemms(arch: str) -> list[Any]:
    """The generator's GEMMs of one matrix product for an architecture."""
    pytest.importorskip("cutlass_library.library", reason="nvidia-cutlass is not installed")
    generator = importlib.import_module("cutlass_library.generator")
    recorder = Recorder()
    for function in GENERATED[arch]:
        getattr(generator, f"Generate{function}")(recorder, "13.0")
    gemms = [one for one in recorder.operations if type(one).__name__ == "GemmOperation"]
    return [one for one in gemms if one.gemm_kind.name == "Universal"]


@pytest.mark.parametrize("arch", GENERATED)
def test_every_dense_gemm_of_the_generator_is_valid_and_has_its_name(arch: str, tmp_path: Path) -> None:
    ours = [one for one in dense_gemms(arch) if reason_for_later(one) is None]
    assert len(ours) > 500
    text = f"arch: {arch}\nkernels:\n" + "".join(f"- {as_family(one)}\n" for one in ours)
    assert {kernel.name for kernel in expanded(text, tmp_path).values()} == {one.procedural_name() for one in ours}


def test_each_reason_for_later_is_needed() -> None:
    assert {reason_for_later(one) for arch in GENERATED for one in dense_gemms(arch)} == {None, *LATER}


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


def test_epilogues_are_told_apart_by_what_is_remarkable(tmp_path: Path) -> None:
    text = with_values(
        AMPERE,
        layout="tnt\n    bias: [none, per_column]\n    activation: [identity, gelu]\n    swizzling_functor: [Identity8, Identity4]",
    )
    name = "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x3_tn_align8"
    assert [label.removeprefix(name) for label in expanded(text, tmp_path)] == [
        "",
        "-activation_gelu",
        "-activation_gelu-swizzling_functor_Identity4",
        "-bias_per_column",
        "-bias_per_column-activation_gelu",
        "-bias_per_column-activation_gelu-swizzling_functor_Identity4",
        "-bias_per_column-swizzling_functor_Identity4",
        "-swizzling_functor_Identity4",
    ]


def test_residual_blocks_are_told_from_each_other_and_from_other_epilogues(tmp_path: Path) -> None:
    family = AMPERE.partition("kernels:\n")[2]
    residual = "    epilogue_functor: linear_combination_residual_block\n    binary_op: [plus, multiplies]\n"
    block = "epilogue_functor_linear_combination_residual_block"
    assert [label.partition("align8")[2] for label in expanded(AMPERE + family + residual, tmp_path)] == [
        "",
        f"-{block}",
        f"-{block}-binary_op_multiplies",
    ]


INT8 = with_values(
    AMPERE,
    element_a="s8\n    element_b: [s8, u8]",
    element_c="s32",
    element_accumulator="s32",
    alignment="16",
    instruction_shape="[16, 8, 32]",
    tile_description="{threadblock_shape: [64, 64, 64], warp_count: [2, 2, 1], stages: 3}",
)
TF32 = with_values(
    AMPERE,
    element_a="f32",
    element_c="f32",
    alignment="4",
    instruction_shape="[16, 8, 8]\n    math_operation: [multiply_add, multiply_add_fast_f32]",
    tile_description="{threadblock_shape: [64, 64, 16], warp_count: [2, 2, 1], stages: 3}",
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (INT8, ["i16832gemm_s8_64x64_64x3_tn_align16", "i16832gemm_s8_u8_64x64_64x3_tn_align16"]),
        (TF32, ["s1688gemm_64x64_16x3_tn_align4", "s1688tf32gemm_64x64_16x3_tn_align4"]),
    ],
)
def test_what_tvm_names_alike(text: str, names: list[str], tmp_path: Path) -> None:
    assert list(expanded(text, tmp_path)) == [f"cutlass_tensorop_{name}" for name in names]


def test_equal_kernels_are_one(tmp_path: Path) -> None:
    family = AMPERE.partition("kernels:\n")[2]
    assert len(expanded(AMPERE + family + family.replace("layout: tn", "layout: tnn"), tmp_path)) == 1
