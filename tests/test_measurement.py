"""The rules of measuring, as far as they need no GPU: how many launches and copies, when to stop, what to discard."""

from __future__ import annotations

import shutil
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpu.plain_profiler import RUNTIME

Call = Callable[..., list[str]]

MB = 10**6
UNITS = ("sampling.cpp", "conditions.cpp", "statistics.cpp")


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Call:
    """Calls tests/data/measurement/rules.cpp; gives the words that it prints."""
    program = tmp_path_factory.mktemp("measurement") / "rules"
    source = Path(__file__).parent / "data" / "measurement" / "rules.cpp"
    units = [str(RUNTIME / "src" / unit) for unit in UNITS]
    compiler = shutil.which("g++")
    assert compiler, "the tests need g++, as cutlass-ninja does"
    include = f"-I{RUNTIME / 'src'}"
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Werror", include, source, *units, "-o", program], check=True)

    def call(*arguments: object) -> list[str]:
        return subprocess.run(
            [program, *map(str, arguments)], check=True, capture_output=True, text=True
        ).stdout.split()

    return call


@pytest.mark.parametrize(
    ("bytes", "l2_bytes", "mode", "copies"),
    [
        (402 * MB, 50 * MB, "cold", 1),
        (101 * MB, 50 * MB, "cold", 1),
        (100 * MB, 50 * MB, "cold", 2),
        (6 * MB, 50 * MB, "cold", 17),
        (6 * MB, 50 * MB, "warm", 1),
        (96, 50 * MB, "cold", 4096),
        (0, 50 * MB, "cold", 4096),
    ],
)
def test_copies_are_more_than_twice_the_l2(bytes: int, l2_bytes: int, mode: str, copies: int, rules: Call) -> None:
    assert rules("copies", bytes, l2_bytes, mode) == [str(copies)]
    if 1 < copies < 4096:
        assert (copies - 1) * bytes <= 2 * l2_bytes < copies * bytes


def sample(
    rules: Call,
    launch_ms: float,
    noise: float = 0.0,
    *,
    iterations: int = 0,
    throttled: int = 0,
    slow: int = 0,
    mhz: float = 1320,
    interrupted: int = 0,
    **plan: float,
) -> dict[str, Any]:
    words = rules(
        "sample", iterations, plan.get("min_iterations", 50), plan.get("relative_stderr", 0.005),
        plan.get("duration_ms", 1000), launch_ms, noise, throttled, slow, mhz, interrupted,
    )  # fmt: skip
    names = ("samples", "launches", "discarded", "bursts", "largest", "reduced_clock")
    return dict(zip(names, map(int, words))) | {"stderr": float(words[6]), "stop": words[7]}


def test_short_kernels_are_timed_many_at_a_time(rules: Call) -> None:
    assert sample(rules, 0.01)["launches"] == 50
    assert sample(rules, 0.4)["launches"] == 2
    assert sample(rules, 0.5)["launches"] == sample(rules, 700)["launches"] == 1
    assert sample(rules, 0.0001)["launches"] == 256


@pytest.mark.parametrize("launch_ms", [0.002, 0.05, 0.5, 3, 15])
def test_a_steady_kernel_is_sampled_for_a_while(launch_ms: float, rules: Call) -> None:
    done = sample(rules, launch_ms, duration_ms=10000)
    launches = done["samples"] * done["launches"]
    assert done["stop"] == "relative_stderr"
    assert done["samples"] >= 16 and launches >= 50 and launches * launch_ms >= 12 * (1 - 1e-9)


def test_a_noisy_kernel_is_sampled_until_its_mean_is_known(rules: Call) -> None:
    done = sample(rules, 0.5, 0.2, duration_ms=10000)
    # The relative standard error of n samples at +-20 % is 0.2 / sqrt(n - 1).
    assert done["stop"] == "relative_stderr" and done["stderr"] <= 0.005
    assert done["samples"] == pytest.approx((0.2 / 0.005) ** 2 + 1, abs=20)
    assert sample(rules, 0.5, 0.2, relative_stderr=0.02)["samples"] == pytest.approx(101, abs=20)


def test_the_time_limit_counts_the_rests(rules: Call) -> None:
    done = sample(rules, 1, 0.9, duration_ms=200)
    # Bursts of 4 samples, 14 ms with the rest.
    assert done["stop"] == "duration" and (done["bursts"], done["samples"]) == (15, 60)
    assert sample(rules, 3000, 0.0)["samples"] == 1


def test_a_burst_is_short_and_no_more_than_a_stream_can_queue(rules: Call) -> None:
    for launch_ms in (0.0001, 0.002, 0.05, 1, 40):
        done = sample(rules, launch_ms)
        assert done["largest"] * done["launches"] <= 256
        assert done["largest"] == 1 or done["largest"] * done["launches"] * launch_ms <= 4 * (1 + 1e-9)


def test_rests_grow_with_the_burst_and_while_the_gpu_is_slowed(rules: Call) -> None:
    assert rules("rests", 4, 0, 1, 1, 1, 1, 0, 1) == ["10", "20", "40", "80", "80", "10", "20"]
    assert rules("rests", 1, 0) == ["2.5"]
    assert rules("rests", 40, 0, 1) == ["100", "200"]


def test_samples_below_the_top_clock_are_set_aside_whenever_it_is_seen(rules: Call) -> None:
    done = sample(rules, 1, slow=3)
    assert (done["discarded"], done["reduced_clock"], done["stop"]) == (12, 0, "relative_stderr")
    assert done["stderr"] == pytest.approx(0, abs=1e-9) and done["samples"] >= 50
    assert sample(rules, 1, slow=3, iterations=20)["discarded"] == 0
    # 1920.6 MHz are 97 % of the top clock.
    assert sample(rules, 1, slow=3, mhz=1920)["discarded"] == 12
    assert sample(rules, 1, slow=3, mhz=1921)["discarded"] == 0


@pytest.mark.parametrize("slow", [0, 3])
def test_a_sample_that_was_interrupted_tells_nothing_of_the_clock(slow: int, rules: Call) -> None:
    done = sample(rules, 0.5, 0.001, slow=slow, interrupted=1, relative_stderr=0.2)
    assert (done["discarded"], done["reduced_clock"]) == (max(8 * slow - 1, 0), 0)
    # Nor if it is the first of several.
    assert sample(rules, 2, interrupted=1, duration_ms=10, relative_stderr=1)["samples"] == 2


def test_what_never_reaches_the_top_clock_again_is_measured_all_the_same(rules: Call) -> None:
    done = sample(rules, 1, slow=-1, relative_stderr=0.05)
    assert (done["samples"], done["discarded"], done["reduced_clock"]) == (68, 0, 1)
    # Where the time is over before, what was measured at the top clock counts, unless it is next to nothing.
    done = sample(rules, 1, slow=-1, duration_ms=100)
    assert (done["samples"], done["discarded"], done["reduced_clock"]) == (4, 24, 0)
    done = sample(rules, 3, slow=-1, duration_ms=100)
    assert (done["discarded"], done["reduced_clock"], done["stop"]) == (0, 1, "duration")
    # A clock that is always the same is the top clock.
    assert sample(rules, 1, slow=10**6)["reduced_clock"] == 0


def test_throttled_samples_count_towards_the_time_alone(rules: Call) -> None:
    done = sample(rules, 1, throttled=2)
    assert (done["discarded"], done["stop"]) == (8, "relative_stderr")
    assert done["samples"] >= 50
    done = sample(rules, 1, throttled=10**6, duration_ms=100)
    assert (done["samples"], done["discarded"], done["stop"]) == (0, 32, "duration")
    assert sample(rules, 1, throttled=10**6, iterations=30)["discarded"] == 30


def test_statistics_are_those_of_the_standard_library(rules: Call) -> None:
    samples = [1.5, 1.25, 9.75, 1.375, 1.4375, 1.3125, 1.75]
    count, median, mean, low, high, p5, p95, stddev = map(float, rules("summarize", *samples))
    assert (count, median, low, high) == (7, statistics.median(samples), min(samples), max(samples))
    assert mean == pytest.approx(statistics.mean(samples))
    assert stddev == pytest.approx(statistics.stdev(samples))
    cuts = statistics.quantiles(samples, n=20, method="inclusive")
    assert (p5, p95) == (pytest.approx(cuts[0]), pytest.approx(cuts[-1]))
    assert rules("summarize", 2)[-1] == "0"


@pytest.mark.parametrize(
    ("mask", "discards", "names"),
    [
        (0x0, "0", []),
        (0x3, "0", []),
        (0x4, "0", ["sw_power_cap"]),
        (0x24, "1", ["sw_power_cap", "sw_thermal_slowdown"]),
        (0x48, "1", ["hw_slowdown", "hw_thermal_slowdown"]),
        (0x80, "1", ["hw_power_brake_slowdown"]),
    ],
)
def test_what_throttling_discards(mask: int, discards: str, names: list[str], rules: Call) -> None:
    assert rules("throttle", hex(mask)) == [discards, *names]
