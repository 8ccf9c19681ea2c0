"""The runtime on a real GPU: right kernels pass, each planted fault is found."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from plain_profiler import build_profilers, call

pytestmark = pytest.mark.gpu

ARCH = "-arch=native"

FLOAT_ALPHA = "--alpha=1,-0.5"
INTEGER_ALPHA = "--alpha=1,-2"

# Right kernels: their macros, and factors that their epilogue's type holds.
GOOD: dict[str, tuple[list[str], str]] = {
    "f16": (["PLAIN_AB=F16"], FLOAT_ALPHA),
    "f16_in_f16": (
        ["PLAIN_AB=F16", "PLAIN_ACCUMULATOR=F16", "PLAIN_EPILOGUE=F16", "PLAIN_LAYOUTS=0,0,1,1"],
        FLOAT_ALPHA,
    ),
    "f16_to_f32": (["PLAIN_AB=F16", "PLAIN_CD=F32", "PLAIN_LAYOUTS=1,1,1,1"], FLOAT_ALPHA),
    "bf16": (["PLAIN_AB=BF16", "PLAIN_LAYOUTS=0,1,0,1"], FLOAT_ALPHA),
    "f32": (["PLAIN_AB=F32", "PLAIN_LAYOUTS=1,1,1,0"], FLOAT_ALPHA),
    "f64": (["PLAIN_AB=F64", "PLAIN_ACCUMULATOR=F64", "PLAIN_EPILOGUE=F64"], FLOAT_ALPHA),
    "s8": (["PLAIN_AB=S8", "PLAIN_ACCUMULATOR=S32"], FLOAT_ALPHA),
    "u8": (["PLAIN_AB=U8", "PLAIN_ACCUMULATOR=S32"], FLOAT_ALPHA),
    "s8_to_s32": (
        ["PLAIN_AB=S8", "PLAIN_CD=S32", "PLAIN_ACCUMULATOR=S32", "PLAIN_EPILOGUE=S32"],
        INTEGER_ALPHA,
    ),
    "s8_from_s32": (["PLAIN_AB=S8", "PLAIN_ACCUMULATOR=S32", "PLAIN_EPILOGUE=S32"], INTEGER_ALPHA),
    "bias": (["PLAIN_BIAS=PER_COLUMN"], FLOAT_ALPHA),
    **{
        activation: ([f"PLAIN_ACTIVATION={activation.upper()}", "PLAIN_BIAS=PER_ROW"], FLOAT_ALPHA)
        for activation in (
            "relu",
            "leaky_relu",
            "gelu",
            "gelu_taylor",
            "silu",
            "sigmoid",
            "hardswish",
            "tanh",
        )
    },
    "residual": (
        ["PLAIN_BIAS=PER_COLUMN", "PLAIN_ACTIVATION=SILU", "PLAIN_BINARY_OP=PLUS", "PLAIN_UNARY_OP=RELU"],
        FLOAT_ALPHA,
    ),
    "product": (["PLAIN_AB=F32", "PLAIN_ACTIVATION=GELU", "PLAIN_BINARY_OP=MULTIPLIES"], FLOAT_ALPHA),
}

# Faults in the result, and what the reason must say.
FAULTS = {
    "swapped_layout": "integer check: ",
    "wrong_alpha": "integer check: ",
    "wrong_beta": "integer check: ",
    "dropped_k": "integer check: ",
    "first_batch": "integer check: ",
    "unwritten": "integer check: 1 of 3840 elements of D are wrong; the worst, batch 1, row 47, column 39 is ",
    "reads_c": "integer check: 3840 of 3840 elements",
    "out_of_bounds": "out-of-bounds write: 2 bytes beside D were changed",
    "later_launches": "after_timing check: the relative Frobenius error ",
}

# Faults of the epilogue: the kernel that they are planted in.
EPILOGUE_FAULTS = {
    "no_bias": ["PLAIN_BIAS=PER_ROW"],
    "swapped_bias": ["PLAIN_BIAS=PER_COLUMN"],
    "no_activation": ["PLAIN_ACTIVATION=HARDSWISH"],
    "early_source": ["PLAIN_ACTIVATION=RELU", "PLAIN_BINARY_OP=PLUS"],
}

OTHERS = {
    **{f"fault_{fault}": [f"PLAIN_FAULT={fault}", *macros] for fault, macros in EPILOGUE_FAULTS.items()},
    "aligned": ["PLAIN_ALIGNMENT=8"],
    **{f"fault_{fault}": [f"PLAIN_FAULT={fault}"] for fault in FAULTS},
    **{f"fault_{fault}": [f"PLAIN_FAULT={fault}"] for fault in ("illegal_address", "launch_error", "refused")},
}


@pytest.fixture(scope="session")
def profilers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every profiler that the tests run, by name."""
    variants = {**{name: macros for name, (macros, _) in GOOD.items()}, **OTHERS}
    return build_profilers(tmp_path_factory.mktemp("plain_gemm"), ARCH, variants)


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", GOOD)
def test_right_kernels_pass(profilers: dict[str, Path], name: str) -> None:
    problems = ["--m=1,70", "--n=33", "--k=1,130", "--batch_count=1,3", GOOD[name][1], "--beta=0,2"]
    done = call(profilers[name], *problems, "--warmup-iterations=1", "--profiling-iterations=3")
    results = lines(done)
    assert [result["reason"] for result in results] == [None] * 32, done.stdout
    assert {result["verification"] for result in results} == {"passed"}
    assert (done.returncode, done.stderr) == (0, "")


def test_large_sums_pass(profilers: dict[str, Path]) -> None:
    for name in ("f16", "f16_in_f16", "bf16", "f32", "u8"):
        done = call(profilers[name], "--m=256", "--n=256", "--k=16384", "--profiling-iterations=2")
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(profilers: dict[str, Path], fault: str) -> None:
    beta = "0" if fault == "reads_c" else "3"
    problem = ["--m=48", "--n=40", "--k=24", "--batch_count=2", "--alpha=2", f"--beta={beta}"]
    done = call(profilers[f"fault_{fault}"], *problem)
    (result,) = lines(done)
    assert (result["status"], result["verification"]) == ("incorrect", "failed")
    assert result["reason"].startswith(FAULTS[fault])
    assert result["runtime_median_ms"] is None and result["tflop_per_s"] is None
    assert done.returncode == 1


@pytest.mark.parametrize("fault", EPILOGUE_FAULTS)
def test_faults_of_the_epilogue_are_found(profilers: dict[str, Path], fault: str) -> None:
    done = call(profilers[f"fault_{fault}"], "--m=48", "--n=48", "--k=24", "--batch_count=2", "--beta=1")
    (result,) = lines(done)
    assert (result["status"], done.returncode) == ("incorrect", 1)
    assert result["reason"].startswith("integer check: ")


def test_integer_results_have_no_tolerance(profilers: dict[str, Path]) -> None:
    done = call(profilers["s8"], "--m=64", "--n=64", "--k=512", "--alpha=0.03125", "--beta=-0.5")
    (result,) = lines(done)
    assert {(c["metric"], c["error"], c["tolerance"]) for c in result["verification_checks"]} == {("max_error", 0, 0)}


def test_a_residual_block_reads_c_whatever_beta_is(profilers: dict[str, Path]) -> None:
    done = call(profilers["residual"], "--m=64", "--n=32", "--k=48")
    (result,) = lines(done)
    assert result["beta"] == 1
    assert result["bytes"] == 2 * (64 * 48 + 48 * 32 + 2 * 64 * 32 + 32)


def test_one_wrong_problem_among_right_ones(profilers: dict[str, Path]) -> None:
    done = call(profilers["fault_reads_c"], "--m=16", "--n=16", "--k=16", "--beta=1,0,2")
    assert [result["status"] for result in lines(done)] == ["success", "incorrect", "success"]
    assert done.returncode == 1


def test_verification_can_be_skipped(profilers: dict[str, Path]) -> None:
    done = call(profilers["fault_dropped_k"], "--m=16", "--verification_enabled", "false")
    (result,) = lines(done)
    assert (result["status"], result["verification"]) == ("success", "skipped")
    assert result["verification_checks"] == []
    assert done.returncode == 0


def test_fields(profilers: dict[str, Path]) -> None:
    done = call(profilers["f16"], "--m=64", "--n=32", "--k=48", "--batch_count=2", "--beta=0.5", "--seed=7")
    (result,) = lines(done)
    assert list(result) == [
        "kernel", "key", "operation", "status", "reason", "m", "n", "k", "batch_count", "alpha", "beta",
        "split_k_slices", "parameters", "device", "cuda_runtime_version", "cuda_driver_version", "driver_version", "seed", "cache", "copies",
        "warmup_iterations", "profiling_iterations", "launches_per_sample", "samples", "discarded_samples",
        "relative_stderr", "stopped_by", "conditions", "runtime_median_ms", "runtime_mean_ms", "runtime_min_ms", "runtime_max_ms",
        "runtime_p5_ms", "runtime_p95_ms", "runtime_stddev_ms", "flop", "bytes", "tflop_per_s", "gbyte_per_s",
        "workspace_bytes", "verification", "verification_checks",
    ]  # fmt: skip
    assert (result["kernel"], result["key"], result["operation"]) == ("plain_gemm", "0123456789abcdef", "gemm")
    assert [result[name] for name in ("m", "n", "k", "batch_count", "alpha", "beta")] == [64, 32, 48, 2, 1, 0.5]
    assert list(result["device"]) == ["ordinal", "name", "uuid", "compute_capability", "multiprocessors", "l2_bytes"]
    assert (result["seed"], result["cache"], result["parameters"]) == (7, "cold", {"order": 0})
    assert result["flop"] == 2 * (64 * 32 * 48 + 64 * 32) * 2
    assert result["bytes"] == 2 * (64 * 48 + 48 * 32 + 2 * 64 * 32) * 2
    median = result["runtime_median_ms"]
    assert 0 < result["runtime_min_ms"] <= result["runtime_p5_ms"] <= median
    assert median <= result["runtime_p95_ms"] <= result["runtime_max_ms"]
    assert result["tflop_per_s"] == pytest.approx(result["flop"] / median * 1e-9)
    assert result["gbyte_per_s"] == pytest.approx(result["bytes"] / median * 1e-6)
    checks = [(check["data"], check["metric"]) for check in result["verification_checks"]]
    assert checks == [
        ("integer", "max_error_over_bound"),
        ("normal", "relative_frobenius"),
        ("after_timing", "relative_frobenius"),
    ]
    assert all(0 <= check["error"] <= check["tolerance"] for check in result["verification_checks"])


def test_problems_are_a_product_with_m_outermost(profilers: dict[str, Path]) -> None:
    done = call(profilers["f16"], "--n=8,16", "--m=4:12:4", "--k=8", "--profiling-iterations=0")
    sizes = [(result["m"], result["n"]) for result in lines(done)]
    assert sizes == [(4, 8), (4, 16), (8, 8), (8, 16), (12, 8), (12, 16)]
    assert {result["runtime_median_ms"] for result in lines(done)} == {None}


def test_duration(profilers: dict[str, Path]) -> None:
    done = call(profilers["f16"], "--m=64", "--profiling-duration=20", "--rest-duration=0", "--relative-stderr=0")
    (result,) = lines(done)
    assert result["stopped_by"] == "duration"
    assert result["runtime_mean_ms"] * result["profiling_iterations"] >= 20 * (1 - 1e-9)


def test_a_parameter_is_a_list_like_any_field(profilers: dict[str, Path]) -> None:
    done = call(profilers["f16"], "--m=64", "--order=0,1,2", "--profiling-iterations=3")
    assert [result["parameters"] for result in lines(done)] == [{"order": 0}, {"order": 1}, {"order": 2}]
    assert {result["verification"] for result in lines(done)} == {"passed"}


def test_a_problems_file_has_flags_for_each_problem(profilers: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "problems"
    file.write_text("--m=16 --alpha=2 --profiling-iterations=2\n\n  --m=32,48 --cache=warm\n")
    done = call(profilers["f16"], f"--problems-file={file}", "--profiling-iterations=4", "--n=24")
    found = [[result[name] for name in ("m", "n", "alpha", "cache", "profiling_iterations")] for result in lines(done)]
    assert found == [[16, 24, 2, "cold", 2], [32, 24, 1, "warm", 4], [48, 24, 1, "warm", 4]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--m=x", "--m=x: expected integers from 1"),
        ("--device=1", "--device: not for a line of a problems file"),
        ("--describe", "--describe: not for a line of a problems file"),
    ],
)
def test_a_wrong_line_is_named(line: str, message: str, profilers: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "problems"
    file.write_text(f"--m=16\n{line}\n")
    done = call(profilers["f16"], f"--problems-file={file}", "--profiling-iterations=1")
    assert [result["status"] for result in lines(done)] == ["success"]
    assert (done.returncode, done.stderr.startswith(f"error: {file}:2: {message}")) == (2, True), done.stderr


def test_a_problems_file_that_is_not_there(profilers: dict[str, Path]) -> None:
    done = call(profilers["f16"], "--problems-file=nowhere")
    assert (done.returncode, done.stderr) == (2, "error: --problems-file=nowhere: cannot be read\n")


def test_devices_are_listed(profilers: dict[str, Path]) -> None:
    done = call(profilers["f16"], "--list-devices")
    first, *_ = json.loads(done.stdout)
    result = lines(call(profilers["f16"], "--m=16", "--profiling-iterations=0"))[0]
    versions = {name: result[name] for name in ("cuda_runtime_version", "cuda_driver_version", "driver_version")}
    assert first == result["device"] | versions


def test_errors_repeat_with_the_seed(profilers: dict[str, Path]) -> None:
    results = [call(profilers["f16"], "--m=64", f"--seed={seed}") for seed in (1, 1, 2)]
    errors = [lines(done)[0]["verification_checks"][1]["error"] for done in results]
    assert errors[0] == errors[1] != errors[2]


def test_unsupported_problems(profilers: dict[str, Path]) -> None:
    done = call(profilers["aligned"], "--m=16", "--k=12,16")
    assert [result["status"] for result in lines(done)] == ["not_supported", "success"]
    assert (done.returncode, done.stderr) == (0, "")

    done = call(profilers["aligned"], "--m=16", "--k=12")
    assert done.returncode == 2
    assert done.stderr == (
        "error: no problem of this call is supported by plain_gemm; the first: k is not a multiple of the alignment\n"
    )


def test_too_large_problems(profilers: dict[str, Path]) -> None:
    done = call(profilers["f16"], "--m=2097152,2147483647", "--n=2097152", "--k=2147483647", "--batch_count=1")
    assert [result["status"] for result in lines(done)] == ["not_supported"] * 2
    done = call(profilers["f16"], "--m=2097152", "--n=2097152", "--k=8")
    assert lines(done)[0]["reason"].startswith("out of device memory: ")
    assert done.returncode == 2


def test_launch_error_is_not_sticky(profilers: dict[str, Path]) -> None:
    done = call(profilers["fault_launch_error"], "--m=16,32")
    for result in lines(done):
        assert result["status"] == "failed"
        assert result["reason"].startswith("cudaErrorInvalid")
    assert done.returncode == 1


def test_sticky_error_spoils_no_further_problem_silently(profilers: dict[str, Path]) -> None:
    done = call(profilers["fault_illegal_address"], "--m=16,32,48")
    first, *rest = lines(done)
    assert first["status"] == "failed" and first["reason"].startswith("cudaErrorIllegalAddress (")
    assert [result["status"] for result in rest] == ["failed"] * 2
    assert {result["reason"] for result in rest} == {"not run: an earlier CUDA error is sticky"}
    assert done.returncode == 1


def test_refused_initialization(profilers: dict[str, Path]) -> None:
    done = call(profilers["fault_refused"], "--m=16")
    assert lines(done)[0]["status"] == "failed"
    assert done.returncode == 1


def test_no_such_device(profilers: dict[str, Path]) -> None:
    done = call(profilers["f16"], "--device=99")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: no CUDA device 99: this machine has ")
