"""How long the generator takes, beside CUTLASS's own, and how long ninja takes to find that nothing is to be done.

    python benchmarks/generate.py [--runs 3] [--sizes 100 900 10800]

For each number of kernels: `cutlass-ninja` in an empty folder (cold) and again (unchanged), medians of whole
processes, whose Python files are compiled beforehand as pip does it; CUTLASS's `cutlass_library.generator` making all
GEMM kernels that it lists for sm_80 (from the installed nvidia-cutlass), scaled to the number; and `ninja` on the
finished build beside ninja on a minimal file of as many edges: a kernel and its name are two. The profilers of the
no-op runs are empty files: ninja looks no further than that they exist.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

MANIFEST = """\
arch: sm_80
kernels:
  - operation: gemm
    element_a: [f16, bf16]
    element_c: f32
    element_accumulator: f32
    layout: [nnn, ntn, tnn, ttn, nnt]
    alignment: [8, 4]
    alignment_c: {alignment_c}
    instruction_shape: [16, 8, 16]
    swizzling_functor: {swizzling_functor}
    tile_description:
      - threadblock_shape: [[64, 64, 32], [64, 128, 32], [128, 64, 32], [64, 64, 64], [128, 128, 32]]
        warp_count: {warp_count}
        stages: {stages}
"""
SIZES = {
    "100": {"alignment_c": [4], "warp_count": [[2, 2, 1]], "stages": [3], "swizzling_functor": ["Identity8"]},
    "900": {
        "alignment_c": [4, 2, 1],
        "warp_count": [[2, 2, 1], [1, 2, 1], [2, 1, 1]],
        "stages": [3],
        "swizzling_functor": ["Identity8"],
    },
    "10800": {
        "alignment_c": [4, 2, 1],
        "warp_count": [[2, 2, 1], [1, 2, 1], [2, 1, 1]],
        "stages": [3, 4, 5],
        "swizzling_functor": ["Identity1", "Identity2", "Identity4", "Identity8"],
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as bytecode:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        table(options)


def table(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        peer_count, peer_time = peer(Path(temporary), options.runs)
    peer_each = peer_time / peer_count
    print(f"cutlass_library.generator: {peer_count} kernels in {peer_time:.2f} s, {peer_each * 1e6:.0f} us each")
    print(" kernels   cold s  us each  peer/cold  unchanged s  ninja s  /minimal")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as temporary:
            row(Path(temporary), MANIFEST.format(**SIZES[size]), options.runs, peer_each)


def row(folder: Path, text: str, runs: int, peer_each: float) -> None:
    manifest = folder / "manifest.yaml"
    manifest.write_text(text)
    generate = [sys.executable, "-m", "cutlass_ninja", "-C", str(folder / "build"), str(manifest)]

    def anew() -> None:
        shutil.rmtree(folder / "build", ignore_errors=True)

    cold = seconds(generate, runs, anew)
    unchanged = seconds(generate, runs)
    kernels = json.loads(subprocess.run([*generate, "--json"], check=True, capture_output=True).stdout)
    outputs = {kernel["label"]: kernel["path"] for kernel in kernels}
    touch(folder / "build" / path for path in [*outputs.values(), *runtime_libraries(folder / "build")])
    ninja = ["ninja", "-C", str(folder / "build")]
    assert b"no work to do" in subprocess.run(ninja, check=True, capture_output=True).stdout
    minimal = ["ninja", "-C", str(minimal_build(folder / "minimal", outputs))]
    ratios, times = [], []
    for _ in range(max(runs, 5)):
        times.append(seconds(ninja, 1))
        ratios.append(times[-1] / seconds(minimal, 1))
    print(
        f"{len(kernels):>8} {cold:>8.2f} {cold / len(kernels) * 1e6:>8.0f} {peer_each * len(kernels) / cold:>9.1f}x "
        f"{unchanged:>12.2f} {statistics.median(times):>8.3f} {statistics.median(ratios):>8.2f}x",
        flush=True,
    )


def runtime_libraries(build: Path) -> list[str]:
    plan = json.loads((build / "cache" / "plan.json").read_text())
    return [f"cache/runtime/{key}/libcutlass_ninja.a" for key, _ in plan["runtimes"]]


def minimal_build(folder: Path, outputs: Mapping[str, str]) -> Path:
    """A file of the same outputs with the same names, as somebody would write it by hand."""
    folder.mkdir()
    edges = "".join(f"build {path}: make\nbuild {label}: phony {path}\n" for label, path in outputs.items())
    (folder / "build.ninja").write_text(f"rule make\n  command = false\n  generator = 1\n{edges}")
    touch(folder / path for path in outputs.values())
    return folder


def touch(files: Iterable[Path]) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def peer(folder: Path, runs: int) -> tuple[int, float]:
    """CUTLASS's generator: how many kernels it makes of all its GEMMs for sm_80, and how long that takes."""
    command = [sys.executable, "-m", "cutlass_library.generator", "--operations", "gemm", "--architectures", "80"]
    command += ["--kernels", "*", "--build-dir", str(folder), "--curr-build-dir", str(folder), "--cuda-version", "13.0"]
    command += ["--selected-kernel-list", str(folder / "selected.txt"), "--log-level", "ERROR"]
    taken = seconds(command, runs, lambda: shutil.rmtree(folder / "generated", ignore_errors=True))
    return len((folder / "selected.txt").read_text().split()), taken


def seconds(command: Sequence[str], runs: int, before: Callable[[], None] = lambda: None) -> float:
    """The median wall time of a whole process, without the first run, which compiles Python files."""
    times = []
    for _ in range(runs + 1):
        before()
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True)
        times.append(time.perf_counter() - started)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
    return statistics.median(times[1:])


if __name__ == "__main__":
    main()
