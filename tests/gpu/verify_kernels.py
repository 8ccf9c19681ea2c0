"""Builds a sample of the shipped kernels and verifies each on this machine's GPU; prints a table.

    python tests/gpu/verify_kernels.py --per-manifest 40 --json verified.json configs/*.yaml
    python tests/gpu/verify_kernels.py --all tests/data/wide_gemm.yaml

Every kernel is built for this GPU, whatever its manifest's architecture, so that Turing's and Ampere's kernels run on
Hopper too. The sample of a manifest holds each value of each of its fields, and as many pairs of values as fit. Each
profiler of a GEMM runs square, tall, deep, ragged, batched, beta != 0, single-row and split-K problems, as far as its
kind can, and 4096^3 for its speed, beside torch.matmul where PyTorch is installed; that of a convolution runs those of
conv2d_problems.py. Exits with 1 if any result is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conv2d_problems import PEAK, conv2d_problems

from cutlass_ninja import arch, generate
from cutlass_ninja.generate import Request
from cutlass_ninja.kernel import Kernel

NATIVE = "native"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifests", nargs="+")
    parser.add_argument("--per-manifest", type=int, default=20, help="kernels of each manifest (default: 20)")
    parser.add_argument("--all", action="store_true", help="all kernels of each manifest")
    parser.add_argument("--jobs", type=int, default=1, help="profilers at once; more than 1 spoils the speeds")
    parser.add_argument("--compile", default="batched", help="as cutlass-ninja's (default: batched)")
    parser.add_argument("--json", metavar="FILE", help="also write every result there")
    parser.add_argument("-C", dest="folder", help="build here instead of in a temporary folder")
    options = parser.parse_args()
    count = sys.maxsize if options.all else options.per_manifest
    names = [name for path in options.manifests for name in sample(path, count, options.all)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        started = time.monotonic()
        given = arguments(options.manifests, names, options.compile)
        complete = build(given, folder)
        rows = listed(given, folder)
        built = [row["label"] for row in rows if row["state"] == "cached"]
        print(f"{len(built)} of {len(rows)} kernels built in {time.monotonic() - started:.0f} s", flush=True)
        with ThreadPoolExecutor(options.jobs) as pool:
            results = list(itertools.chain.from_iterable(pool.map(lambda label: run(label, folder), built)))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    return report(results) or (0 if complete else 1)


def sample(path: str, count: int, everything: bool, arch_name: str = NATIVE) -> list[str]:
    """The names of the kernels that together show the most pairs of values, each value at least once; or all."""
    kernels = dict(generate.select(arch_request([path], arch_name)).kernels)
    if everything:
        return list(kernels)
    pairs = {name: frozenset(itertools.combinations(facets(kernel), 2)) for name, kernel in kernels.items()}
    chosen: list[str] = []
    seen: set[Any] = set()
    while pairs and len(chosen) < count:
        best = max(sorted(pairs), key=lambda name: len(pairs[name] - seen))
        if not pairs[best] - seen:
            break
        chosen.append(best)
        seen |= pairs.pop(best)
    missing = {facet for kernel in kernels.values() for facet in facets(kernel)} - {
        facet for name in chosen for facet in facets(kernels[name])
    }
    if missing:
        print(f"{path}: --per-manifest {count} leaves out {sorted(map(str, missing))}", file=sys.stderr)
    return chosen


def facets(kernel: Kernel) -> list[tuple[str, str]]:
    return [(field, str(value)) for field, value in kernel.config.items()]


def arch_request(manifests: Sequence[str], arch_name: str) -> Request:
    return Request(manifests, archs=[one.name for one in arch.native()] if arch_name == NATIVE else [arch_name])


def arguments(manifests: Sequence[str], names: Sequence[str], compile: str, arch_name: str = NATIVE) -> list[str]:
    return [
        *manifests,
        "--compile",
        compile,
        "--arch",
        arch_name,
        *itertools.chain.from_iterable(("--only", name) for name in names),
    ]


def build(given: Sequence[str], folder: str) -> bool:
    """Whether all kernels compile."""
    subprocess.run([sys.executable, "-m", "cutlass_ninja", "-C", folder, *given], check=True)
    return subprocess.run(["ninja", "-C", folder, "-k", "0", "--quiet"]).returncode == 0


def listed(given: Sequence[str], folder: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "cutlass_ninja", "list", "--json", "-C", folder, *given]
    rows: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return rows


def run(label: str, folder: str) -> list[dict[str, Any]]:
    """The profiler's results for every problem."""
    profiler = f"{folder}/cache/bin/{label}"
    about = json.loads(subprocess.run([profiler, "--describe"], check=True, capture_output=True, text=True).stdout)
    problems = PROBLEMS[about["operation"]](about)
    lines = [" ".join(f"--{name}={value}" for name, value in values.items()) for values in problems.values()]
    command = [profiler, "--problems-file=-", "--warmup-iterations=3", "--warmup-duration=0"]
    given = "\n".join(
        f"{line} --profiling-iterations={50 if problem == PEAK else 3}" for problem, line in zip(problems, lines)
    )
    done = subprocess.run(command, input=given + "\n", capture_output=True, text=True, timeout=600)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    crashed = {"status": "crashed", "reason": done.stderr.strip()[-300:]}
    return [
        {**result, "label": label, "about": about, "problem": problem}
        for problem, result in itertools.zip_longest(problems, found[: len(problems)], fillvalue=crashed)
    ]


def gemm_problems(about: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Problems that the kernel's alignments allow and whose sizes are no multiples of its tile."""
    unit = max(about[f"alignment_{operand}"] for operand in "abc")
    ragged = {"m": 123 * unit, "n": 67 * unit, "k": 41 * unit}
    beta = 0 if about["element_c"] == "void" else -0.5
    alpha = 1.5
    if about["element_d"] in ("s8", "u8"):
        alpha = 1 / 32  # So that few results saturate.
    elif about["element_epilogue"] == "s32":
        alpha, beta = 3, -2
    chosen = {
        "square": {"m": 1024, "n": 1024, "k": 1024},
        "tall": {"m": 8192, "n": 64, "k": 512},
        "deep": {"m": 256, "n": 384, "k": 8192, "alpha": alpha},
        "ragged": {**ragged, "alpha": alpha},
        "beta": {**ragged, "alpha": alpha, "beta": beta},
        "small k": {"m": 256, "n": 256, "k": unit},
        "single row": {"m": unit if "n" in about["layout_a"] + about["layout_c"] else 1, "n": 512, "k": 512},
    }
    if about.get("split_k_mode") != "parallel":
        chosen["batched"] = {**ragged, "batch_count": 3, "alpha": -alpha, "beta": beta}
    if can_split(about):
        chosen["split"] = {**chosen["deep"], "split_k_slices": 4}
        chosen["split ragged"] = {**chosen["beta"], "split_k_slices": 3}
        chosen["more slices than k"] = {**chosen["small k"], "split_k_slices": 5}
    return {**chosen, PEAK: {"m": 4096, "n": 4096, "k": 4096}}


def can_split(about: Mapping[str, Any]) -> bool:
    """Whether the kernel sums slices of K on their own."""
    if about["gemm_kind"] == "universal3x":
        return bool(about["tile_scheduler"] == "StreamK")
    if about["epilogue_functor"] == "linear_combination_residual_block":
        return False
    serial = about["split_k_mode"] == "serial" and about["swizzling_functor"] != "StreamK"
    return not (serial and about["element_d"] in ("s8", "u8", "s32") and about["element_epilogue"] != "s32")


PROBLEMS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Mapping[str, float | str]]]] = {
    "gemm": gemm_problems,
    "conv2d": conv2d_problems,
}
"""What each operation kind's kernels are run on, by the problems' names."""


def report(results: Sequence[Mapping[str, Any]]) -> int:
    wrong = [result for result in results if result["status"] != "success"]
    print(f"{'kernel':<112} {'verified':>8} {PEAK:>12} {'worst error / tolerance':>24}")
    for label, group in itertools.groupby(results, key=lambda result: result["label"]):
        rows = list(group)
        good = sum(row["status"] == "success" for row in rows)
        speed = next((row.get("tflop_per_s") for row in rows if row["problem"] == PEAK), None)
        ratios = [
            check["error"] / check["tolerance"]
            for row in rows
            for check in row.get("verification_checks", [])
            if check["error"] is not None and check["tolerance"]
        ]
        print(f"{label:<112} {good:>4}/{len(rows):<3} {speed or 0:>7.1f} TF/s {max(ratios, default=0):>24.3f}")
    for result in wrong:
        print(f"WRONG {result['label']} {result['problem']}: {result['status']}: {result.get('reason')}")
    for name, speed in torch_speeds().items():
        print(f"torch.matmul {name} 4096^3: {speed:.1f} TFLOP/s")
    print(f"{len(results) - len(wrong)} of {len(results)} results verified")
    return 1 if wrong else 0


def torch_speeds() -> dict[str, float]:
    try:
        import torch
    except ImportError:
        return {}
    speeds = {}
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f32", torch.float32)):
        a, b = (torch.randn(4096, 4096, device="cuda", dtype=dtype) for _ in range(2))
        times = []
        for _ in range(60):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            torch.matmul(a, b)
            stop.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(stop))
        speeds[name] = 2 * 4096**3 / sorted(times[10:])[25] / 1e9
    return speeds


if __name__ == "__main__":
    sys.exit(main())
