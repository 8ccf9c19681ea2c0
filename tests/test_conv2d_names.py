"""Convolutions are named by CUTLASS's own rule: compared with all that the installed cutlass_library generates."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutlass_ninja import generate
from cutlass_ninja.arch import ARCHS
from cutlass_ninja.generate import Request
from cutlass_ninja.operations import OPERATIONS
from cutlass_ninja.schema import Mark, Value

CONFIGS = Path(__file__).parent.parent / "configs"
SEEDS = Path(__file__).parent / "data" / "seed_kernels.txt"
CONV2D = OPERATIONS["conv2d"]

GENERATORS = {"sm_75": ("GenerateSM50_Simt", "GenerateSM75"), "sm_80": ("GenerateSM80",)}
"""The functions of cutlass_library.generator that make an architecture's kernels."""

Predicate = Callable[[Any], bool]

THEIRS_ALONE: dict[str, Predicate] = {
    "interleaved layouts are not offered": lambda op: op.A.layout.name != "TensorNHWC",
    "complex numbers are not offered": lambda op: op.A.element.name == "cf32",
    "4-bit integers are not offered": lambda op: op.A.element.name in ("s4", "u4") and op.A.layout.name == "TensorNHWC",
}
"""What cutlass_library has and manifests cannot say, by reason."""

REFUSED: dict[str, Predicate] = {
    "strided dgrad of two stages is wrong of operands aligned to less than 16 bytes": lambda op: (
        op.conv_kind.name == "Dgrad"
        and op.stride_support.name == "Strided"
        and op.tile_description.stages == 2
        and op.A.element.name == "f16"
        and op.A.alignment < 8
    ),
}
"""What cutlass_library has, CUTLASS computes wrongly, and we refuse, by reason."""

OURS_ALONE: dict[str, Callable[[dict[str, Any]], bool]] = {
    "operands aligned to 2 bytes, which cp.async cannot load, on two stages, as TVM has them": lambda config: (
        config["alignment_a"] == 1 and config["opcode_class"] == "tensorop" and config["stages"] == 2
    ),
    "8-bit operands aligned to less than 16 bytes, as TVM has them": lambda config: (
        config["element_a"] == "s8" and config["alignment_a"] < 16
    ),
    "8-bit tiles of more or fewer stages, as TVM has them": lambda config: config["element_a"] == "s8",
    "few channels on Ampere, as AITemplate has them": lambda config: config["iterator_algorithm"] == "few_channels",
}
"""What the shipped configurations have and cutlass_library has not, by reason."""


class Collected:
    """What the generator takes for its manifest: keeps every operation."""

    kernel_filter = "*"  # Else only each kind's largest tile is generated.

    def __init__(self) -> None:
        self.operations: list[Any] = []

    def append(self, operation: Any) -> None:
        self.operations.append(operation)


@pytest.fixture(scope="module", params=list(GENERATORS))
def theirs(request: pytest.FixtureRequest) -> tuple[str, list[Any]]:
    """An architecture, and cutlass_library's conv2d operations for it."""
    generator = pytest.importorskip("cutlass_library.generator", reason="nvidia-cutlass is not installed")
    conv2d = importlib.import_module("cutlass_library.library").OperationKind.Conv2d
    collected = Collected()
    for function in GENERATORS[request.param]:
        getattr(generator, function)(collected, "13.0")
    return request.param, [one for one in collected.operations if one.operation_kind == conv2d]


def as_member(operation: Any) -> dict[str, Value]:
    """What a manifest says for a configuration of cutlass_library's."""
    tile, math = operation.tile_description, operation.tile_description.math_instruction
    widths = importlib.import_module("cutlass_library.library").DataTypeSize
    functors = {"LinearCombination": "linear_combination", "LinearCombinationClamp": "linear_combination_clamp"}
    said = {
        "conv_kind": operation.conv_kind.name.lower(),
        "iterator_algorithm": snake(operation.iterator_algorithm.name),
        "stride_support": operation.stride_support.name.lower(),
        "group_mode": snake(operation.group_mode.name).replace("none_group", "none"),
        "opcode_class": math.opcode_class.name.lower(),
        "element_a": operation.A.element.name,
        "element_b": operation.B.element.name,
        "element_c": operation.C.element.name,
        "element_accumulator": math.element_accumulator.name,
        "element_epilogue": operation.element_epilogue.name,
        "alignment": operation.A.alignment,
        "alignment_c": min(operation.C.alignment, 128 // widths[operation.C.element]),  # As EmitConv2dInstance does.
        "instruction_shape": list(math.instruction_shape),
        "math_operation": math.math_operation.name,
        "tile_description": {
            "threadblock_shape": marked(list(tile.threadblock_shape)),
            "warp_count": marked(list(tile.warp_count)),
            "stages": marked(tile.stages),
        },
        "epilogue_functor": functors[operation.epilogue_functor.name],
        "swizzling_functor": operation.swizzling_functor.name,
    }
    defaults = {field.name: field.default for field in CONV2D.fields if field.default is not None}
    return {name: marked(value) for name, value in {**defaults, **said}.items()}


def marked(data: Any) -> Value:
    return Value(data, Mark("cutlass_library", 1, 1))


def snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")


def inexpressible(operation: Any) -> bool:
    return any(predicate(operation) for predicate in THEIRS_ALONE.values())


def test_every_name_that_cutlass_library_generates(theirs: tuple[str, list[Any]]) -> None:
    arch, operations = theirs
    expressible = [one for one in operations if not inexpressible(one)]
    assert len(expressible) > 1000
    differing, refused, unexpected = {}, {}, []
    for operation in expressible:
        config = CONV2D.configure(as_member(operation))
        name = operation.procedural_name()
        if violations := CONV2D.violations(config, ARCHS[arch]):
            if not any(predicate(operation) for predicate in REFUSED.values()):
                refused[name] = [violation.message for violation in violations]
        elif any(predicate(operation) for predicate in REFUSED.values()):
            unexpected.append(name)
        elif CONV2D.name(config) != name:
            differing[name] = CONV2D.name(config)
    assert not differing
    assert not refused
    assert not unexpected


def test_every_difference_is_still_one(theirs: tuple[str, list[Any]]) -> None:
    for reason, predicate in THEIRS_ALONE.items():
        assert any(map(predicate, theirs[1])), reason


def test_shipped_kernels_are_cutlass_librarys(theirs: tuple[str, list[Any]]) -> None:
    arch, operations = theirs
    known = {one.procedural_name() for one in operations}
    kernels = generate.select(Request([str(CONFIGS / f"conv2d_{arch.replace('_', '')}.yaml")])).kernels.values()
    assert kernels
    unknown = [kernel for kernel in kernels if kernel.name not in known]
    unexplained = [one.name for one in unknown if not any(given(dict(one.config)) for given in OURS_ALONE.values())]
    assert not unexplained


def test_shipped_configurations_list_every_seed() -> None:
    seeds = {name for name in SEEDS.read_text().split() if "fprop" in name}
    configs = [str(path) for path in CONFIGS.glob("conv2d_*.yaml")]
    names = {kernel.name for kernel in generate.select(Request(configs)).kernels.values()}
    assert seeds and not seeds - names
