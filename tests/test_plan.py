"""The plan of a build, written and read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutlass_ninja.errors import BuildError
from cutlass_ninja.kernel import Kernel, Settings
from cutlass_ninja.plan import KernelTarget, Plan, RuntimeTarget
from cutlass_ninja.toolchain import Toolchain

NONE = Settings()
TOOLS = Toolchain("/nvcc", "/g++", ("/cutlass",), "/libcudart_static.a", {"nvcc": '13.0 "[x]"'}, ("/cuda",))


def target(label: str, key: str, settings: Settings = NONE) -> KernelTarget:
    return KernelTarget(label, key, "runtime", 5, Kernel("toy", "toy", "sm_80", {"tile": [1, 2], "d": None}, settings))


def plan(*targets: KernelTarget) -> Plan:
    return Plan(TOOLS, (RuntimeTarget("runtime", "sm_80"),), targets, ("m.yaml", '"kernels":['), ("m.yaml", "ä b"))


TARGETS = (target("a", "1"), target("b", "12"), target("c", "1", Settings(("/ä",), ("-Dx",))))


@pytest.mark.parametrize("targets", [(), TARGETS])
def test_a_plan_is_read_as_it_was_written(targets: tuple[KernelTarget, ...], tmp_path: Path) -> None:
    made = plan(*targets)
    assert made.write(tmp_path / "plan.json")
    assert not made.write(tmp_path / "plan.json")
    read = Plan.read(tmp_path / "plan.json")
    assert (read.toolchain, read.runtimes, tuple(read.kernels)) == (made.toolchain, made.runtimes, targets)
    assert (read.command, read.inputs) == (made.command, made.inputs)
    assert len(json.loads((tmp_path / "plan.json").read_text())["kernels"]) == len(read.kernels) == len(targets)


def test_targets_are_found_by_key_in_a_plan_that_was_made_and_in_one_that_was_read(tmp_path: Path) -> None:
    made = plan(*TARGETS)
    made.write(tmp_path / "plan.json")
    for one in (made, Plan.read(tmp_path / "plan.json")):
        assert [found.label for found in one.select(["12", "1"])] == ["b", "a", "c"]
        with pytest.raises(BuildError, match="error: key 2 is not in"):
            one.select(["1", "2"])


def test_half_a_plan_is_none(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan(*TARGETS).write(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BuildError, match="is missing or of another version"):
        Plan.read(path)
