"""Results as a sweep leaves them, made up: kernels with some law in their times, and a few that go wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from test_results import CONFIG, H200, record, result

from cutlass_ninja.results import Result, open_results

TILES = [(m, n, k) for m, n, k in product((64, 128, 256), (64, 128, 256), (32, 64)) if m * n <= 256 * 128]
SHAPES = [(m, n, k) for m, (n, k) in product((1, 16, 128, 1024, 4096), ((4096, 4096), (11008, 4096), (8192, 8192)))]
PEAK, BANDWIDTH = 700.0, 4.0
"""What the made-up GPU does: TFLOP/s, TB/s."""


def sweep(kernels: int, problems: int) -> list[Result]:
    """So many kernels on so many problems, beside cuBLASLt; the same each time."""
    chance = random.Random(1)
    made = [_kernel(number, chance) for number in range(kernels)]
    return [one for problem in list(_problems())[:problems] for one in _contest(made, problem, chance)]


def store(path: str, results: list[Result]) -> None:
    with open_results(path, write=True) as opened:
        opened.put_all(results)


def _problems() -> Iterator[dict[str, Any]]:
    for beta, batch in product((0.0, 1.0), (1, 4)):
        for m, n, k in SHAPES:
            yield {"m": m, "n": n, "k": k, "batch_count": batch, "alpha": 1.0, "beta": beta, "split_k_slices": 1}


def _kernel(number: int, chance: random.Random) -> Result:
    tile, stages, schedule = TILES[number % len(TILES)], 2 + number // len(TILES) % 5, number // (5 * len(TILES))
    config = {
        **CONFIG, "gemm_kind": "universal", "threadblock_shape": list(tile), "stages": stages,
        "cluster_shape": [1 + schedule % 2, 1, 1], "kernel_schedule": f"Schedule{schedule}",
    }  # fmt: skip
    m, n, k = tile
    function = {"registers": 96 + m * n // 256, "spill_stores_bytes": 16 * (number % 40 == 0), "spill_loads_bytes": 0}
    environment = {
        "toolchain": {"nvcc": "13.0.88", "cutlass": "4.2.0", "host_compiler": "gcc 12.2.0"},
        "compile_time_s": round(chance.lognormvariate(1.2, 0.5) * (1 + m * n / 16384), 2),
        "ptxas": {"functions": [function], "warnings": []},
    }
    name = f"cutlass3x_sm90_tensorop_gemm_f16_f16_f32_f16_f16_{m}x{n}x{k}_{1 + schedule % 2}x1x1_{stages}_tnn_align8_schedule{schedule}"
    return result(name, key=f"{number:020x}", config=config, environment=environment)


def _contest(kernels: list[Result], problem: dict[str, Any], chance: random.Random) -> Iterator[Result]:
    m, n, k, batch = (problem[name] for name in ("m", "n", "k", "batch_count"))
    flop, size = 2 * m * n * k * batch, 2 * batch * (m * k + n * k + m * n * (1 + (problem["beta"] != 0)))
    least = max(flop / PEAK * 1e-9, size / BANDWIDTH * 1e-9) + 2e-3

    def timed(ms: float, precision: str) -> dict[str, Any]:
        noise = 0.02 if precision == "coarse" else 0.004
        return record(
            ms, noise / 10, flop=flop, bytes=size, tflop_per_s=flop / ms * 1e-9, gbyte_per_s=size / ms * 1e-6,
            runtime_p5_ms=ms * (1 - noise * chance.uniform(0.5, 1)), runtime_p95_ms=ms * (1 + noise * chance.uniform(1, 3)),
            conditions={
                "sm_clock_mhz": round(chance.uniform(1400, 1980)), "memory_clock_mhz": 3201,
                "temperature_c": round(chance.uniform(38, 62)), "power_w": round(chance.uniform(300, 700)),
                "throttle_reasons": ["sw_power_cap"] if m >= 4096 else [],
            },
        )  # fmt: skip

    wastes = [_waste(kernel, m, chance) for kernel in kernels]
    for number, (kernel, waste) in enumerate(zip(kernels, wastes)):
        ms = least * waste
        precision = "coarse" if waste > 1.1 * min(wastes) else "full"
        whole = replace(kernel, problem=problem, precision=precision, record=timed(ms, precision))
        if number % 97 == 13:
            reason = (
                "killed by SIGSEGV: misaligned address" if m == 1 else f"not run: crashed before, at {kernel.kernel}"
            )
            yield replace(whole, status="crashed" if m == 1 else "skipped", reason=reason, record={})
        elif number % 113 == 7:
            checks = [{"data": "normal", "metric": "relative_frobenius", "error": 0.31, "tolerance": 1e-3}]
            wrong = {**whole.record, "verification": "failed", "verification_checks": checks}
            yield replace(whole, status="incorrect", record=wrong)
        elif number % 50 == 3 and problem["beta"]:
            yield replace(whole, status="not_supported", reason="leading dimension is not aligned", record={})
        else:
            yield whole
    baseline = result(
        "cublaslt", key="c" * 20, provider="cuBLASLt", problem=problem, parameters={"algorithm": 0}, place=H200,
        record=timed(least * 1.16, "full"), environment={"library": "libcublasLt.so.13", "version": "13.0.2"},
    )  # fmt: skip
    yield baseline


def _waste(kernel: Result, m: int, chance: random.Random) -> float:
    """How much longer a kernel takes than it would at best."""
    tile_m, tile_n, _ = kernel.config["threadblock_shape"]
    waste = 1 + 0.2 * abs(kernel.config["stages"] - 4) / 4 + 30 / (tile_m + tile_n) + 0.1 * chance.random()
    return round(waste + (0.2 * tile_m / 64 if m < tile_m else 0), 2)
