"""Kernels that CUTLASS or the hardware cannot have: each manifest of data/failing gives the line beside it, and nvcc is
not started. With UPDATE_EXPECTED=1 in the environment the lines are written anew, to be reviewed as a diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import BuildFolder

FAILING = Path(__file__).parent / "data" / "failing"


@pytest.fixture
def nvcc(folder: BuildFolder) -> Path:
    """A compiler that leaves a trace when it is started."""
    program = folder.path / "nvcc"
    program.write_text(f"#!/bin/sh\ntouch '{folder.path}/started'\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("name", sorted(path.stem for path in FAILING.glob("*.yaml")))
def test_failing_kernel(name: str, folder: BuildFolder, nvcc: Path) -> None:
    folder.write(f"{name}.yaml", (FAILING / f"{name}.yaml").read_text())
    done = folder.generate("--nvcc", str(nvcc), f"{name}.yaml")
    expected = FAILING / f"{name}.txt"
    if os.environ.get("UPDATE_EXPECTED"):
        expected.write_text(done.err)
    assert (done.code, done.out, done.err) == (2, "", expected.read_text())
    assert done.err.count("\n") == 1
    assert not (folder.path / "started").exists() and not (folder.path / "build.ninja").exists()
