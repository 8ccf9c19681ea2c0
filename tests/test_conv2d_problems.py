"""Convolutions that there cannot be are refused wherever a problem can be named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_results import put, result

import cutlass_ninja
from cutlass_ninja import problems
from cutlass_ninja.errors import InputError, ManifestError

LAYER: dict[str, Any] = {"n": 1, "h": 7, "w": 7, "c": 64, "k": 64, "r": 3, "s": 3, "pad_h": 0, "pad_w": 0}

REFUSED = [
    ({"r": 8}, "r", "the filter, dilated, is 8 high; the padded image is only 7"),
    ({"s": 5, "dilation_w": 2, "w": 6, "pad_w": 1}, "s", "the filter, dilated, is 9 wide; the padded image is only 8"),
    ({"groups": 3}, "groups", "groups is 3; c, 64, and k, 64, must be multiples"),
]


def written(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items())


@pytest.mark.parametrize(("values", "field", "message"), REFUSED)
def test_in_a_list(values: dict[str, Any], field: str, message: str, tmp_path: Path) -> None:
    line = written({**LAYER, **values})
    (tmp_path / "list.yaml").write_text(f"operation: conv2d\nproblems:\n  - {{{written(LAYER)}}}\n  - {{{line}}}\n")
    manifest = tmp_path / "m.yaml"
    manifest.write_text("arch: sm_80\nkernels: []\nproblems_from: list.yaml\n")
    with pytest.raises(ManifestError) as raised:
        problems.of_manifests([str(manifest)])
    told = str(raised.value).splitlines()
    column = len("  - {") + line.index(f"{field}: {values[field]}") + len(f"{field}: ") + 1
    assert f"{tmp_path}/list.yaml:4:{column}: error: {message}" in told


@pytest.mark.parametrize(("values", "field", "message"), REFUSED)
def test_on_the_command_line_and_in_python(values: dict[str, Any], field: str, message: str, tmp_path: Path) -> None:
    whole = {**LAYER, **values}
    text = ",".join(f"{name}={value}" for name, value in whole.items())
    with pytest.raises(InputError) as raised:
        problems.given([text], ["conv2d"])
    assert str(raised.value) == f"error: --problem {text}: {message}"
    put(str(tmp_path / "cache/results.sqlite"), result())
    with pytest.raises(InputError) as raised:
        cutlass_ninja.best(whole, folder=str(tmp_path), operation="conv2d")
    assert str(raised.value) == f"error: a conv2d problem's {field}: {message}"


def test_what_just_fits() -> None:
    text = "n=1,h=7,w=6,c=64,k=32,r=7,s=4,pad_h=0,pad_w=2,dilation_w=3,groups=32"
    assert len(problems.given([text], ["conv2d"])) == 1
