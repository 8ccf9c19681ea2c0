"""The two halves of a kernel on a real GPU: both ways of compiling give right results, and halves that differ are told."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BuildFolder
from kernels import AMPERE, with_values

pytestmark = pytest.mark.gpu

Build = Callable[..., BuildFolder]

SKEW = """\
#include "cutlass_ninja/module.h"
#ifdef SKEW
// The host half believes in another kernel than the device half is.
#define load_kernel(entry, halves, ...) load_kernel(entry, halves, {8, 16, 32})
#endif
"""


@pytest.mark.parametrize("way", ["batched", "single"])
def test_both_ways_give_a_kernel_that_verifies(way: str, build: Build) -> None:
    (profiler,) = build(with_values(AMPERE, arch="native"), "--compile", way).profilers()
    assert json.loads((profiler.parent / "build.json").read_text())["compile"] == way
    done = subprocess.run([profiler, "--m=264", "--n=136", "--k=72", "--beta=1"], capture_output=True, text=True)
    assert (done.returncode, json.loads(done.stdout)["verification"]) == (0, "passed")


def test_halves_that_disagree_are_an_error_before_any_launch(build: Build, tmp_path: Path) -> None:
    (tmp_path / "skew.h").write_text(SKEW)
    flags = f"include_dirs: ['{tmp_path}']\nnvcc_flags: [-include, skew.h, -Xcompiler, -DSKEW]\n"
    (profiler,) = build(flags + with_values(AMPERE, arch="native")).profilers()
    done = subprocess.run([profiler, "--m=64"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(
        r"the kernel's halves disagree: its parameter has \d{3} bytes in the device half and 8 in the host half, "
        r"shared memory \d{5} and 16, a block 128 and 32 threads",
        done.stderr,
    )
