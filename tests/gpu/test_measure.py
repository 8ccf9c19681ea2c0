"""How far a profiler's figures can be trusted, on a real GPU that does nothing else meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import BuildFolder
from kernels import AMPERE, HOPPER, with_values

from cutlass_ninja import arch, commands
from cutlass_ninja.plan import Plan
from cutlass_ninja.toolchain import Toolchain

pytestmark = [pytest.mark.gpu, pytest.mark.timing]

Build = Callable[[str], BuildFolder]

AMPERE_TILE = "{threadblock_shape: [128, 128, 32], warp_count: [2, 2, 1], stages: 4}"
HOPPER_TILE = "{threadblock_shape: [128, 128, 64]}"


@pytest.fixture(scope="session", params=["ampere", "hopper"])
def built(request: pytest.FixtureRequest, build: Build) -> BuildFolder:
    """A build of one kernel that is worth timing."""
    if request.param == "ampere":
        return build(with_values(AMPERE, arch="native", tile_description=AMPERE_TILE))
    if "sm_90a" not in [one.name for one in arch.native()]:
        pytest.skip("this GPU is no Hopper")
    return build(with_values(HOPPER, tile_description=HOPPER_TILE))


@pytest.fixture(scope="session")
def loop(built: BuildFolder, tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same kernel, timed by hand_loop.cu."""
    return hand_loop(built, tools, tmp_path_factory.mktemp("loop"))


def measure(folder: BuildFolder, *flags: str) -> dict[str, Any]:
    (profiler,) = folder.profilers()
    result: dict[str, Any] = json.loads(output(profiler, *flags))
    return result


def output(program: Path, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("size", [4096, 1024])
def test_the_median_is_that_of_a_loop_written_by_hand(size: int, built: BuildFolder, loop: Path) -> None:
    by_hand, ours = [], []
    for _ in range(3):
        by_hand.append(float(output(loop, *[str(size)] * 3)))
        ours.append(measure(built, *(f"--{name}={size}" for name in "mnk"))["runtime_median_ms"])
    print(f"{size}: by hand {by_hand}, ours {ours}")
    assert statistics.median(ours) == pytest.approx(statistics.median(by_hand), rel=0.02)


def test_repeated_runs_agree(built: BuildFolder) -> None:
    results = [measure(built, "--m=4096", "--n=4096", "--k=4096") for _ in range(5)]
    medians = [result["runtime_median_ms"] for result in results]
    print(f"medians {medians}")
    assert min(medians) > 0.05
    assert max(medians) <= 1.01 * min(medians)


def test_the_mean_is_known_as_well_as_was_asked(built: BuildFolder) -> None:
    result = measure(built, "--m=2048", "--n=2048", "--k=2048")
    assert result["stopped_by"] == "relative_stderr" and result["relative_stderr"] <= 0.005
    assert result["samples"] >= 16
    deviation = result["runtime_stddev_ms"] / result["samples"] ** 0.5
    assert result["relative_stderr"] == pytest.approx(deviation / result["runtime_mean_ms"], rel=1e-3)


def test_short_kernels_are_timed_many_at_a_time(built: BuildFolder) -> None:
    result = measure(built, "--m=128", "--n=128", "--k=128")
    assert result["launches_per_sample"] > 10
    assert result["launches_per_sample"] * result["runtime_median_ms"] == pytest.approx(0.5, rel=0.5)
    assert result["profiling_iterations"] == result["samples"] * result["launches_per_sample"]


def test_a_cold_cache_is_slower_where_memory_is_what_counts(built: BuildFolder) -> None:
    problem = ["--m=16", "--n=4096", "--k=1024"]
    cold, warm = (measure(built, *problem, f"--cache={mode}") for mode in ("cold", "warm"))
    assert cold["copies"] * cold["bytes"] > 2 * cold["device"]["l2_bytes"]
    assert warm["copies"] == 1
    assert warm["runtime_median_ms"] < 0.98 * cold["runtime_median_ms"]


def test_large_operands_need_no_copies(built: BuildFolder) -> None:
    assert measure(built, "--m=8192", "--n=8192", "--k=8192", "--verification-enabled=false")["copies"] <= 2


def test_the_clock_is_that_of_the_samples(built: BuildFolder) -> None:
    conditions = measure(built, "--m=4096", "--n=4096", "--k=4096")["conditions"]
    least, mean = conditions["sm_clock_min_mhz"], conditions["sm_clock_mhz"]
    assert 200 < least <= mean < 4000
    assert least >= 0.98 * mean or conditions["reduced_clock"]


def test_a_load_without_rests_is_no_faster(built: BuildFolder) -> None:
    problem = ["--m=8192", "--n=8192", "--k=8192", "--verification-enabled=false"]
    bursts = measure(built, *problem)
    sustained = measure(built, *problem, "--rest-duration=0", "--warmup-duration=300", "--burst-duration=20")
    print(f"in bursts {bursts['runtime_median_ms']}, sustained {sustained['runtime_median_ms']}")
    assert sustained["runtime_median_ms"] >= 0.99 * bursts["runtime_median_ms"]
    assert sustained["conditions"]["sm_clock_mhz"] <= 1.01 * bursts["conditions"]["sm_clock_mhz"]


def test_the_state_of_the_gpu_is_recorded(built: BuildFolder) -> None:
    result = measure(built, "--m=4096", "--n=4096", "--k=4096")
    conditions = result["conditions"]
    if conditions["unavailable"]:
        assert conditions["readings"] == 0
        pytest.skip(conditions["unavailable"])
    assert conditions["readings"] >= 1
    assert 10 < conditions["temperature_c"] < 110
    assert result["driver_version"].count(".") >= 1


def hand_loop(folder: BuildFolder, tools: Toolchain, place: Path) -> Path:
    """The folder's only kernel, linked with hand_loop.cu instead of the profiler's main."""
    (profiler,) = folder.profilers()
    kernel = Plan.read(folder.path / "cache" / "plan.json").kernels[0].kernel
    for source in profiler.parent.glob("*.*"):
        shutil.copy(source, place)
    shutil.copy(Path(__file__).parent / "hand_loop.cu", place / "profiler.cu")
    for name, target in commands.links(tools, kernel).items():
        os.symlink(target, place / name)
    library = next((folder.path / "cache" / "runtime").glob(f"*/{commands.RUNTIME_LIBRARY}"))
    for command in commands.kernel_commands(tools, kernel, str(library)):
        subprocess.run(command, cwd=place, check=True, capture_output=True)
    return place / "profiler"
