"""Convolutions that CUTLASS or the hardware cannot have are refused, at their place, before anything is compiled.

`data/failing/conv2d_*.yaml` are manifests with one error each, beside the very line that it must give. With
UPDATE_EXPECTED=1 in the environment the tests write those lines anew, to be reviewed as a diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import BuildFolder

FAILING = Path(__file__).parent / "data" / "failing"

NVCC = """\
#!/bin/sh
touch started
"""


@pytest.mark.parametrize("name", sorted(path.stem for path in FAILING.glob("conv2d_*.yaml")))
def test_refused_configuration(name: str, folder: BuildFolder) -> None:
    folder.write("manifest.yaml", (FAILING / f"{name}.yaml").read_text())
    folder.write("nvcc", NVCC)
    (folder.path / "nvcc").chmod(0o755)
    refused = folder.generate("manifest.yaml", "--nvcc", "./nvcc")
    expected = FAILING / f"{name}.txt"
    if os.environ.get("UPDATE_EXPECTED"):
        expected.write_text(refused.err)
    assert (refused.code, refused.out, refused.err) == (2, "", expected.read_text())
    assert refused.err.count("\n") == 1
    assert sorted(path.name for path in folder.path.iterdir()) == ["manifest.yaml", "nvcc"]
