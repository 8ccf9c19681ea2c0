"""Compares kernels compiled in batches with the same kernels compiled one by one: are they equally fast?

    python tests/gpu/compare_ways.py --json ways.json configs/gemm_sm80.yaml configs/gemm_sm90.yaml
    python tests/gpu/compare_ways.py --folder ways --step build --arch sm_90a configs/gemm_sm80.yaml ...
    python tests/gpu/compare_ways.py --folder ways --step compare --json ways.json

Builds a sample of each manifest both ways, for this GPU or for --arch, where there is none; and times each kernel in
turns, batched and single, several times over. Prints, for each kernel, the ratio of the medians of all runs; exits with 1 if one is off by more than 2 % or
if the ratios have one side (a sign test at 1 %).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from verify_kernels import NATIVE, arguments, build, sample

TOLERANCE = 0.02
WAYS = ("batched", "single")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifests", nargs="*")
    parser.add_argument("--folder", help="build there instead of in a temporary folder")
    parser.add_argument("--step", choices=("build", "compare"), help="this alone (default: both)")
    parser.add_argument("--arch", default=NATIVE)
    parser.add_argument("--per-manifest", type=int, default=10, help="kernels of each manifest (default: 10)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        if options.step != "compare" and not build_both(options, folder):
            return 1
        if options.step == "build":
            return 0
        labels = sorted(path.name for path in (folder / WAYS[0] / "cache" / "bin").iterdir())
        # Which way comes first changes from kernel to kernel, too: what comes second may find a warmer GPU.
        pairs = [compare(label, folder, options.rounds, place % 2) for place, label in enumerate(labels)]
    if options.json:
        Path(options.json).write_text(json.dumps(pairs, indent=1))
    return report(pairs)


def build_both(options: argparse.Namespace, folder: Path) -> bool:
    """Whether all kernels compile, both ways."""
    names = [name for path in options.manifests for name in sample(path, options.per_manifest, False, options.arch)]

    def build_way(way: str) -> bool:
        return build(arguments(options.manifests, names, way, options.arch), str(folder / way))

    with ThreadPoolExecutor() as pool:
        return all(list(pool.map(build_way, WAYS)))


def compare(label: str, folder: Path, rounds: int, first: int) -> dict[str, Any]:
    """A kernel's medians in ms, both ways, each round in another order; WAYS[first] leads the first one."""
    medians: dict[str, list[float]] = {way: [] for way in WAYS}
    for place in range(rounds):
        for way in WAYS if (place + first) % 2 == 0 else WAYS[::-1]:
            command = [f"{folder}/{way}/cache/bin/{label}", "--m=4096", "--n=4096", "--k=4096"]
            done = subprocess.run(
                [*command, "--verification-enabled=false", "--profiling-duration=300"],
                capture_output=True,
                text=True,
                check=True,
            )
            medians[way].append(json.loads(done.stdout)["runtime_median_ms"])
    ratio = statistics.median(medians["batched"]) / statistics.median(medians["single"])
    return {"label": label, "medians_ms": medians, "ratio": ratio}


def report(pairs: Sequence[dict[str, Any]]) -> int:
    for pair in pairs:
        print(f"{pair['label']:<120} {statistics.median(pair['medians_ms']['batched']):9.4f} ms  {pair['ratio']:.4f}")
    ratios = [pair["ratio"] for pair in pairs]
    slower = sum(ratio > 1 for ratio in ratios)
    unequal = sum(ratio != 1 for ratio in ratios)
    extreme = max(slower, unequal - slower)
    chance = min(1.0, 2 * sum(math.comb(unequal, k) for k in range(extreme, unequal + 1)) / 2**unequal)
    worst = max(ratios, key=lambda ratio: abs(math.log(ratio)))
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(
        f"batched / single: geometric mean {mean:.4f}, worst {worst:.4f}; {slower} of {unequal} slower (p = {chance:.2f})"
    )
    return int(abs(worst - 1) > TOLERANCE or chance < 0.01)


if __name__ == "__main__":
    sys.exit(main())
