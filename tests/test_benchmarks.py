"""What of the benchmarks needs no GPU: their manifests, and what becomes of figures."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT

from cutlass_ninja import generate
from cutlass_ninja.arch import ARCHS
from cutlass_ninja.choose import Choice
from cutlass_ninja.generate import Request
from cutlass_ninja.manifest import load
from cutlass_ninja.operations import OPERATIONS

BENCHMARKS = ROOT / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module(name)


@pytest.fixture
def conv2d(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return benchmark("conv2d", monkeypatch)


@pytest.fixture
def torch_conv2d(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return benchmark("torch_conv2d", monkeypatch)


@pytest.mark.parametrize(("name", "problems"), [("hopper_f16.yaml", 8), ("resnet_f16.yaml", 2)])
def test_manifests_are_valid_for_hopper(name: str, problems: int) -> None:
    path = str(BENCHMARKS / name)
    selection = generate.select(Request([path], archs=["sm_90a"]))
    assert len(selection.kernels) > 10 and not selection.skipped
    assert len(load(path, OPERATIONS, tuple(ARCHS)).problems) == problems


def test_the_convolutions_that_fit_are_built_for_another_gpu() -> None:
    selection = generate.select(Request([str(BENCHMARKS / "resnet_f16.yaml")], archs=["sm_86"]))
    assert (len(selection.kernels), len(selection.skipped)) == (12, 1)


LAYER = {
    "n": 32,
    "h": 56,
    "w": 56,
    "c": 64,
    "k": 64,
    "r": 3,
    "s": 3,
    "pad_h": 1,
    "pad_w": 1,
    "stride_h": 1,
    "stride_w": 1,
}
CHOICE: dict[str, Any] = {
    "problem": {**LAYER, "groups": 1}, "kernel": "conv", "parameters": {"split_k_slices": 1}, "median_ms": 0.02,
    "tflop_per_s": 400.0, "compared": 13, "wrong": 0, "ties": [], "gpu": "NVIDIA H200", "driver": "580.1",
}  # fmt: skip


def test_a_layer_beside_cudnn(conv2d: ModuleType) -> None:
    peer = {"version": 91002, "torch": "2.9", "layers": [{"median_ms": 0.025, "plausible": True}]}
    assert CHOICE.keys() <= Choice("conv2d", {}, None).to_json().keys()
    told = conv2d.compared([CHOICE], peer)
    assert told["cudnn"] == {"version": 91002, "torch": "2.9"}
    (row,) = told["layers"]
    assert row["layer"] == LAYER and row["verified"] and row["factor"] == pytest.approx(1.25)
    assert row["cudnn"] == {"median_ms": 0.025, "plausible": True, "tflop_per_s": pytest.approx(320)}


def test_a_layer_without_a_right_kernel(conv2d: ModuleType) -> None:
    lost = Choice("conv2d", CHOICE["problem"], None, wrong=13).to_json()
    (row,) = conv2d.compared([lost], {"layers": [{"median_ms": 0.025}]})["layers"]
    assert (row["verified"], row["factor"], row["cudnn"]["tflop_per_s"]) == (False, None, None)


@pytest.mark.parametrize("python", ["without_torch", "nowhere", "false"])
def test_where_there_is_no_cudnn_it_is_said(python: str, conv2d: ModuleType, tmp_path: Path) -> None:
    programs = {"without_torch": tmp_path / "python", "nowhere": tmp_path / "nowhere", "false": tmp_path / "false"}
    (tmp_path / "torch.py").write_text("raise ImportError('no PyTorch here')\n")
    for name, command in (("python", f'PYTHONPATH={tmp_path} exec {sys.executable} "$@"'), ("false", "exit 7")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{command}\n")
        (tmp_path / name).chmod(0o755)
    peer = conv2d.cudnn(str(programs[python]), [LAYER])
    assert (
        peer["unavailable"]
        == {
            "without_torch": f"{sys.executable}: no PyTorch here",
            "nowhere": f"{tmp_path}/nowhere: No such file or directory",
            "false": f"{tmp_path}/false {BENCHMARKS}/torch_conv2d.py ended with exit status 7",
        }[python]
    )
    told = json.loads(json.dumps(conv2d.compared([CHOICE], peer)))
    assert told["cudnn"] == peer and told["layers"][0]["cudnn"] is None and told["layers"][0]["factor"] is None


def test_copies_and_launches_of_a_layer(torch_conv2d: ModuleType) -> None:
    """Copies are more than twice the L2, a sample has all of them as often, and a burst 4 ms of samples."""
    size: Any = torch_conv2d.operand_bytes(LAYER)
    assert size == 2 * (2 * 32 * 56 * 56 * 64 + 64 * 3 * 3 * 64)
    assert torch_conv2d.operand_bytes({**LAYER, "stride_h": 2, "stride_w": 2}) == size - 2 * 32 * 64 * (56**2 - 28**2)
    copies = torch_conv2d.copies(size, 60 * 10**6)
    assert copies == 5 and 4 * size <= 120 * 10**6 < 5 * size
    assert [torch_conv2d.launches(ms, copies) for ms in (0.02, 0.021, 1.0)] == [25, 25, 5]
    assert [torch_conv2d.samples(ms) for ms in (0.5, 1.5, 9.0)] == [8, 2, 1]
