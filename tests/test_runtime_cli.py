"""A profiler's command line, as far as it needs no GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gpu.plain_profiler import build_profiler, build_runtime, call, has_gpu

ARCH = "-gencode=arch=compute_80,code=sm_80"

SIZES = "expected integers from 1 to 2147483647: one, a comma list or start:end:step with start <= end"
NUMBERS = "expected finite numbers: one or a comma list"
COUNT = "expected an integer from 0 to 2147483647"
TOO_MANY = "more than 1000000 problems; shorten the lists or widen the steps of the ranges"

WRONG_CALLS = [
    (["--m=abc"], f"--m=abc: {SIZES}"),
    (["--m", "abc"], f"--m=abc: {SIZES}"),
    (["--n=0"], f"--n=0: {SIZES}"),
    (["--k=-5"], f"--k=-5: {SIZES}"),
    (["--m=3000000000"], f"--m=3000000000: {SIZES}"),
    (["--m=99999999999999999999"], f"--m=99999999999999999999: {SIZES}"),
    (["--m=1.5"], f"--m=1.5: {SIZES}"),
    (["--m="], f"--m=: {SIZES}"),
    (["--m=1,,2"], f"--m=1,,2: {SIZES}"),
    (["--m=10:5:1"], f"--m=10:5:1: {SIZES}"),
    (["--m=1:9:0"], f"--m=1:9:0: {SIZES}"),
    (["--m=1:2:3:4"], f"--m=1:2:3:4: {SIZES}"),
    (["--m"], f"--m: missing value; {SIZES}"),
    (["--m", "--n=3"], f"--m: missing value; {SIZES}"),
    (["--alpha=nan"], f"--alpha=nan: {NUMBERS}"),
    (["--alpha=1e999"], f"--alpha=1e999: {NUMBERS}"),
    (["--beta=1:2"], f"--beta=1:2: {NUMBERS}"),
    (["--beta=x"], f"--beta=x: {NUMBERS}"),
    (["--warmup_iterations=-1"], f"--warmup-iterations=-1: {COUNT}"),
    (["--profiling-iterations=many"], f"--profiling-iterations=many: {COUNT}"),
    (["--profiling-duration=-1"], "--profiling-duration=-1: expected milliseconds, 0 or more"),
    (["--warmup-duration=-1"], "--warmup-duration=-1: expected milliseconds, 0 or more"),
    (["--relative-stderr=-1"], "--relative-stderr=-1: expected a percentage, 0 or more"),
    (["--min-iterations=few"], f"--min-iterations=few: {COUNT}"),
    (["--cache=hot"], "--cache=hot: expected cold or warm"),
    (["--order=3"], "--order=3: expected one of 0, 1, 2, or a comma list of them"),
    (["--order=0:2"], "--order=0:2: expected one of 0, 1, 2, or a comma list of them"),
    (["--problems-file="], "--problems-file=: expected a file or -"),
    (["--list-devices=all"], "--list-devices=all: --list-devices takes no value"),
    (["--seed=-1"], "--seed=-1: expected an integer from 0 to 18446744073709551615"),
    (["--seed"], "--seed: missing value; expected an integer from 0 to 18446744073709551615"),
    (["--device=gpu"], f"--device=gpu: {COUNT}"),
    (["--verification-enabled=maybe"], "--verification-enabled=maybe: expected true, false, on, off, 1 or 0"),
    (["--mm=3"], "--mm: unknown flag; did you mean --m?"),
    (["--batchcount=3"], "--batchcount: unknown flag; did you mean --batch_count?"),
    (["--warmup_iteration=3"], "--warmup_iteration: unknown flag; did you mean --warmup-iterations?"),
    (["--providers=cutlass"], "--providers: unknown flag; see --help"),
    (["4096"], "4096: not a flag; flags begin with --, see --help"),
    (["--help=yes"], "--help=yes: --help takes no value"),
    (["--m=1:100000", "--n=1:100"], TOO_MANY),
    (["--m=1:2000000000"], TOO_MANY),
    (["--burst-duration=0"], "--burst-duration=0: expected milliseconds, more than 0"),
    (["--m=two\nlines"], f"--m=two lines: {SIZES}"),
]


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_runtime(tmp_path_factory.mktemp("runtime"), ARCH)


@pytest.fixture(scope="session")
def profiler(runtime: Path) -> Path:
    return build_profiler(runtime.parent, runtime, ARCH, "plain_gemm", [])


@pytest.mark.parametrize(("arguments", "message"), WRONG_CALLS)
def test_wrong_calls(profiler: Path, arguments: list[str], message: str) -> None:
    done = call(profiler, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {message}\n")


def test_help(profiler: Path) -> None:
    done = call(profiler, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    flags = [line.split()[0].partition("=")[0] for line in done.stdout.splitlines() if line.startswith("  --")]
    assert flags == [
        "--m", "--n", "--k", "--batch_count", "--alpha", "--beta", "--split_k_slices", "--order",
        "--warmup-iterations", "--warmup-duration", "--profiling-iterations", "--relative-stderr", "--min-iterations",
        "--profiling-duration", "--burst-duration", "--rest-duration", "--cache", "--verification-enabled", "--seed",
        "--device", "--problems-file", "--help", "--describe", "--list-devices",
    ]  # fmt: skip


def test_describe(profiler: Path) -> None:
    done = call(profiler, "--describe")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    description = json.loads(done.stdout)
    assert description.pop("params_bytes") > 0
    assert description == {
        "name": "plain_gemm",
        "key": "0123456789abcdef",
        "operation": "gemm",
        "abi_version": 3,
        "shared_memory_bytes": 0,
        "threads": 128,
        "cluster": [1, 1, 1],
        "parameters": {"order": [0, 1, 2]},
    }


@pytest.mark.skipif(has_gpu(), reason="this machine has a GPU")
@pytest.mark.parametrize(
    "arguments",
    [[], ["--m", "16", "--alpha", "-1", "--verification_enabled=off"], ["--problems-file=-"], ["--list-devices"]],
)
def test_no_gpu(profiler: Path, arguments: list[str]) -> None:
    done = call(profiler, *arguments)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: no CUDA device: ")
    assert done.stderr.endswith(
        "; run on a machine with an NVIDIA GPU and a driver new enough "
        "(in a container: pass the GPUs on, as by --gpus all)\n"
    )
    assert done.stderr.count("\n") == 1


def test_another_abi_version(runtime: Path) -> None:
    profiler = build_profiler(runtime.parent, runtime, ARCH, "old_abi", ["PLAIN_ABI_VERSION=0"])
    done = call(profiler, "--describe")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: the kernel was compiled for version 0 of the kernel interface and linked with a runtime "
        "of version 3; build both again\n"
    )
