"""ResNet-50's problem list is the network: each layer takes what another gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import CONFIGS
from kernels import CONV2D

from cutlass_ninja.arch import ARCHS
from cutlass_ninja.manifest import Problem, load
from cutlass_ninja.operations import OPERATIONS


@pytest.fixture
def layers(tmp_path: Path) -> list[Problem]:
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(f"{CONV2D}problems_from: {CONFIGS}/problems/resnet50.yaml\n")
    return list(load(str(manifest), OPERATIONS, tuple(ARCHS)).problems)


def output_height(values: dict[str, int]) -> int:
    return (values["h"] + 2 * values["pad_h"] - values["r"]) // values["stride_h"] + 1


def test_layers_fit_together(layers: list[Problem]) -> None:
    shapes = [dict(layer.values) for layer in layers]
    assert all(shape["h"] == shape["w"] and shape["pad_h"] == shape["pad_w"] for shape in shapes)
    given = {(output_height(shape), shape["k"]) for shape in shapes} | {(56, 64)}  # The pooling after the first layer.
    taken = {(shape["h"], shape["c"]) for shape in shapes if shape["h"] != 224}
    assert taken <= given
    assert given - taken == {(112, 64), (7, 2048)} - taken


def test_batch_1_multiplies_as_often_as_is_known_of_the_network(layers: list[Problem]) -> None:
    """4.1e9 multiplications in all; each layer of the list counted as often as the network has it."""
    blocks = {256: 3, 512: 4, 1024: 6, 2048: 3}
    total = 0
    for layer in layers:
        x = dict(layer.values)
        if x["n"] != 1 or x["c"] in (4, 8):
            continue
        total += repeats(x, blocks) * output_height(x) ** 2 * x["k"] * x["c"] * x["r"] ** 2
    assert 4.05e9 < total < 4.15e9


def repeats(x: dict[str, int], blocks: dict[int, int]) -> int:
    """How often the network has a layer."""
    if x["h"] == 224 or x["stride_h"] == 2:
        return 1
    width = 4 * min(x["c"], x["k"])  # Of the stage whose narrow layers these are.
    if x["r"] == 3:
        return blocks[width] - (width != 256)  # The first of a later stage has stride 2.
    if x["k"] > x["c"]:
        return blocks[width] + (width == 256)  # And the first stage's shortcut has the shape of its last layers.
    if x["c"] == width:
        return blocks[width] - 1  # The first takes the stage before.
    return 1
