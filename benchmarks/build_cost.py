"""What compiling a kernel costs: as CUTLASS's library does it, as a file with a main, single and batched.

    python benchmarks/build_cost.py --cutlass-checkout DIR [--gemm80 24] [--gemm90 24] [--conv80 24] [--sample 6]
                                    [-j 1] [--cold N] [--memory SIZE] [--json FILE]

For each kind of the shipped configs' kernels, all in one run, each compiler process with its children:

- library: nvcc compiles the source that CUTLASS's generator writes for the kernel, with the flags of CUTLASS's CMake
  files, to an object of its library. There is no link.
- file: nvcc compiles and links one file that holds the kernel and a main, as TVM's profilers are made.
- single: `ninja` in a build of this kernel alone with `--compile single`.
- batched: `ninja` in an empty cache, build edges and all, divided by the number of kernels.

The first three are medians over --sample of the kernels, evenly spaced; as batched is a mean of all of them, it is
compared with the sample's mean, too. The kernels are whole batches, or as much as
asked for, out of those in which one core would build the whole config: what one kernel costs in a sweep of it. The
runtime library, which is built once for each architecture, is measured by itself. -j runs so many measurements at
once, each on a core of its own; CPU seconds are user and system time, memory is that of the largest process.

--cold N instead: wall time of a cold build of N kernels, half for sm_80, half for sm_90a, on all cores, batched and
single. --cold-single K builds K of them the single way, evenly spaced, and scales that up: an estimate.

nvcc, ninja and g++ must be there; curand's headers are looked for in the toolkit and in the wheel nvidia-curand, or
given by --curand. Of a checkout of CUTLASS, a folder of 32 MB with these suffices:

    git archive v4.2.1 include tools/library/include tools/library/src tools/util/include python/cutlass_library |
        tar x -C DIR
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from peer_sources import Checkout

from cutlass_ninja import generate, memory, toolchain
from cutlass_ninja.batches import plan_batches
from cutlass_ninja.commands import RUNTIME_LIBRARY
from cutlass_ninja.kernel import BATCHED, SINGLE, Kernel
from cutlass_ninja.operations import OPERATIONS
from cutlass_ninja.plan import KernelTarget, Plan
from cutlass_ninja.store import PLAN, State, Status
from cutlass_ninja.toolchain import Toolchain

T = TypeVar("T")

CONFIGS = Path(__file__).resolve().parent.parent / "configs"


@dataclass(frozen=True)
class Kind:
    """One kind of kernels, and what batching is to gain on it."""

    config: str
    keep: Callable[[Mapping[str, Any]], bool]
    batched_target: float
    """How many times cheaper than CUTLASS's library `batched` is to be."""
    single_target: float


KINDS = {
    "gemm80": Kind("gemm_sm80.yaml", lambda config: config["opcode_class"] == "tensorop", 8, 2),
    "gemm90": Kind("gemm_sm90.yaml", lambda config: True, 5, 1.2),
    "conv80": Kind(
        "conv2d_sm80.yaml",
        lambda config: (config["conv_kind"], config["group_mode"]) == ("fprop", "none") and config["stages"] > 2,
        8,
        2,
    ),
}
WAYS = ("library", "file", SINGLE, BATCHED)


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    cpu_s: float
    wall_s: float
    peak_memory_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutlass-checkout", metavar="DIR", type=Path, required=True)
    for name in KINDS:
        parser.add_argument(f"--{name}", metavar="N", type=int, default=24)
    parser.add_argument("--sample", metavar="K", type=int, default=6)
    parser.add_argument("-j", dest="jobs", metavar="J", type=int, default=1)
    parser.add_argument("--cold", metavar="N", type=int, default=0)
    parser.add_argument("--cold-single", metavar="K", type=int, default=0)
    parser.add_argument("--memory", metavar="SIZE", help="as cutlass-ninja's, where memory grows as it is used")
    parser.add_argument("--curand", metavar="DIR", type=Path)
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args()
    checkout = Checkout.at(options.cutlass_checkout)
    os.environ["CUTLASS_PATH"] = str(checkout.folder)
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary), checkout, options.curand, options.memory)
        figures = cold(bench, options) if options.cold else compare(bench, options)
    if options.json:
        about = {"cpu": platform.processor() or platform.machine(), "cores": memory.cores()}
        options.json.write_text(json.dumps({"machine": about, **figures}, indent=1) + "\n")


def compare(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    """All ways of compiling the kinds of which some kernels are wanted, with a table."""
    kinds = {name: bench.drawn(kind, count) for name, kind in KINDS.items() if (count := getattr(options, name))}
    archs = sorted({kernel.arch for kernels in kinds.values() for kernel in kernels})
    runtimes = bench.build_runtimes(archs)
    for arch, cost in runtimes.items():
        print(f"runtime library for {arch}, once: {cost.cpu_s:.1f} CPU s, {cost.wall_s:.1f} s", flush=True)
    figures: dict[str, Any] = {"runtime": {arch: asdict(cost) for arch, cost in runtimes.items()}}
    with Cores(options.jobs) as cores:
        begun = {name: bench.begin(kernels, options.sample, cores) for name, kernels in kinds.items()}
        for name, costs in begun.items():
            kernels = len(kinds[name])
            found = {way: [each.result() for each in futures] for way, futures in costs.items()}
            figures[name] = {"kernels": kernels, "sample": len(found["library"]), **ratios(found, kernels)}
            show(name, figures[name])
    return figures


def ratios(found: Mapping[str, Sequence[Cost]], kernels: int) -> dict[str, Any]:
    """The costs of a kernel by each way, and how many times cheaper one is than another."""
    cost = {way: median(costs) for way, costs in found.items() if way != BATCHED}
    (whole,) = found[BATCHED]
    cost[BATCHED] = Cost(whole.cpu_s / kernels, whole.wall_s / kernels, whole.peak_memory_bytes)
    compared = [("library", BATCHED), ("library", SINGLE), ("file", BATCHED), ("file", SINGLE), (SINGLE, BATCHED)]
    found_ratios = {f"{one}/{other}": cost[one].cpu_s / cost[other].cpu_s for one, other in compared}
    mean = statistics.mean(each.cpu_s for each in found["library"])
    return {
        "ways": {way: asdict(cost[way]) for way in WAYS},
        "ratios": {**found_ratios, f"library's mean/{BATCHED}": mean / cost[BATCHED].cpu_s},
    }


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    columns = zip(*((cost.cpu_s, cost.wall_s, cost.peak_memory_bytes) for cost in costs))
    cpu_s, wall_s, peak = (statistics.median(column) for column in columns)
    return Cost(cpu_s, wall_s, int(peak))


def show(name: str, figures: Mapping[str, Any]) -> None:
    kind, sample = KINDS[name], figures["sample"]
    print(f"\n{name}: {figures['kernels']} kernels; library, file and single: medians of {sample} of them")
    print("            CPU s   wall s  memory GB   a kernel")
    for way, cost in figures["ways"].items():
        of_batch = "  (memory: of the whole batch)" if way == BATCHED else ""
        print(
            f"{way:>9} {cost['cpu_s']:>7.2f}  {cost['wall_s']:>7.2f}  {cost['peak_memory_bytes'] / 1e9:>9.2f}{of_batch}"
        )
    for target, way in ((kind.batched_target, BATCHED), (kind.single_target, SINGLE)):
        ratio = figures["ratios"][f"library/{way}"]
        said = "reached" if ratio >= target else "missed"
        print(f"  {way} is {ratio:.2f}x cheaper than the library; target {target:g}x: {said}")
    print("  " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in figures["ratios"].items()), flush=True)


def cold(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    """Cold builds on all cores, with what they took."""
    half = options.cold // 2
    kernels = [*bench.drawn(KINDS["gemm80"], options.cold - half), *bench.drawn(KINDS["gemm90"], half)]
    bench.build_runtimes(sorted({kernel.arch for kernel in kernels}))
    some = spaced(kernels, options.cold_single or len(kernels))
    figures: dict[str, Any] = {"kernels": len(kernels)}
    for way, built in ((BATCHED, kernels), (SINGLE, some)):
        cost = bench.built(built, way)
        scale = len(kernels) / len(built)
        how = f"estimated from {len(built)} of them" if len(built) < len(kernels) else "measured"
        figures[way] = {"how": how, "wall_s": cost.wall_s * scale, "cpu_s": cost.cpu_s * scale}
        print(
            f"{way}: {len(kernels)} kernels in {cost.wall_s * scale:.1f} s, {cost.cpu_s * scale:.0f} CPU s ({how})",
            flush=True,
        )
    figures["ratio"] = figures[SINGLE]["wall_s"] / figures[BATCHED]["wall_s"]
    print(f"batched is {figures['ratio']:.2f}x faster")
    return figures


class Cores:
    """Runs functions of a core, so many at once, each on another core; far apart, so that none share one."""

    def __init__(self, jobs: int) -> None:
        usable = sorted(os.sched_getaffinity(0))
        self._free: SimpleQueue[int] = SimpleQueue()
        for core in usable[:: max(len(usable) // jobs, 1)][:jobs]:
            self._free.put(core)
        self._pool = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Cores:
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def run(self, function: Callable[[int], Cost]) -> Future[Cost]:
        """The function's result, when there is one."""
        return self._pool.submit(self._on_a_core, function)

    def _on_a_core(self, function: Callable[[int], Cost]) -> Cost:
        core = self._free.get()
        try:
            return function(core)
        finally:
            self._free.put(core)


class Bench:
    """The folder in which everything is built."""

    def __init__(self, folder: Path, checkout: Checkout, curand: Path | None, memory: str | None) -> None:
        self._folder = folder
        self._checkout = checkout
        self._flags = ["--memory", memory] if memory else []
        self._toolchain = toolchain.find()
        self._curand = curand_include(self._toolchain, curand)
        print(self._toolchain.summary(), flush=True)

    def drawn(self, kind: Kind, count: int) -> list[Kernel]:
        """So many kernels of a config, in batches that lie evenly in it."""
        selected = generate.select(generate.Request([str(CONFIGS / kind.config)])).kernels.items()
        targets = [KernelTarget(label, label, "", 0, kernel) for label, kernel in selected if kind.keep(kernel.config)]
        plan = Plan(self._toolchain, (), targets, (), ())
        missing = {target.key: State(Status.MISSING) for target in targets}
        # As on one core, where no batch is made smaller so that others have work.
        batches = plan_batches(plan, missing, memory.memory_bytes(), 1)
        largest = max(len(batch.targets) for batch in batches)
        whole = [batch.targets for batch in batches if len(batch.targets) == largest]
        return [target.kernel for targets in spaced(whole, math.ceil(count / largest)) for target in targets][:count]

    def build_runtimes(self, archs: Sequence[str]) -> dict[str, Cost]:
        """Builds the runtime libraries for architectures, which all builds of this folder then have."""
        with Cores(min(len(archs), memory.cores())) as cores:
            begun = {arch: cores.run(partial(self._runtime, arch)) for arch in archs}
            return {arch: future.result() for arch, future in begun.items()}

    def _runtime(self, arch: str, core: int) -> Cost:
        folder = self._generated({"arch": arch, "kernels": [_SOME_KERNEL]}, BATCHED)
        (key,) = (runtime.key for runtime in Plan.read(folder / PLAN).runtimes)
        cost = run(["ninja", f"cache/runtime/{key}/{RUNTIME_LIBRARY}"], folder, core)
        shutil.copytree(folder / "cache/runtime", self._runtimes, dirs_exist_ok=True)
        return cost

    def begin(self, kernels: Sequence[Kernel], sample: int, cores: Cores) -> dict[str, list[Future[Cost]]]:
        """Starts to measure every way of compiling these kernels; a batch first, which takes longest."""
        some = spaced(kernels, min(sample, len(kernels)))
        batched = cores.run(partial(self.built, kernels, BATCHED))
        return {
            "library": [cores.run(partial(self._library, kernel)) for kernel in some],
            "file": [cores.run(partial(self._file, kernel)) for kernel in some],
            SINGLE: [cores.run(partial(self.built, [kernel], SINGLE)) for kernel in some],
            BATCHED: [batched],
        }

    def built(self, kernels: Sequence[Kernel], way: str, core: int | None = None) -> Cost:
        """Ninja on a cache that has nothing but the runtime libraries; the generator has run before."""
        folder = self._generated({"kernels": [family(kernel) for kernel in kernels]}, way, core)
        shutil.copytree(self._runtimes, folder / "cache/runtime", dirs_exist_ok=True)
        cost = run(["ninja"], folder, core)
        shutil.rmtree(folder)
        return cost

    def _library(self, kernel: Kernel, core: int) -> Cost:
        folder = self._new()
        source = folder / "kernel.cu"
        return self._nvcc(self._checkout.library_command(kernel, source, self._curand), folder, core)

    def _file(self, kernel: Kernel, core: int) -> Cost:
        folder = self._new()
        return self._nvcc(self._checkout.file_command(kernel, folder / "kernel.cu"), folder, core)

    def _nvcc(self, arguments: Sequence[str], folder: Path, core: int) -> Cost:
        return run([self._toolchain.nvcc, "-ccbin", self._toolchain.host_compiler, *arguments], folder, core)

    def _generated(self, manifest: Mapping[str, Any], way: str, core: int | None = None) -> Path:
        folder = self._new()
        (folder / "manifest.yaml").write_text(json.dumps(manifest))  # JSON is YAML.
        run([sys.executable, "-m", "cutlass_ninja", "--compile", way, *self._flags, "manifest.yaml"], folder, core)
        return folder

    @property
    def _runtimes(self) -> Path:
        return self._folder / "runtimes"

    def _new(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._folder))


_SOME_KERNEL = {
    "operation": "gemm",
    "element_a": "f32",
    "element_c": "f32",
    "element_accumulator": "f32",
    "layout": "nn",
    "alignment": 1,
    "instruction_shape": [1, 1, 1],
    "tile_description": {"threadblock_shape": [128, 128, 8], "warp_count": [4, 2, 1], "stages": 2},
}
"""One that is to be had on every architecture."""

_OF_TILES = ("threadblock_shape", "warp_count", "stages", "cluster_shape")


def family(kernel: Kernel) -> dict[str, Any]:
    """The family of a manifest that has this kernel as its only member."""
    config = {name: value for name, value in kernel.config.items() if value is not None}
    values = {field.name: config[field.name] for field in OPERATIONS[kernel.operation].fields if field.name in config}
    values["tile_description"] = {name: config[name] for name in _OF_TILES if name in config}
    if "layout_a" in config:
        values["layout"] = "".join(config[f"layout_{operand}"] for operand in "abc")
    return {"arch": kernel.arch, "operation": kernel.operation, **values}


def spaced(items: Sequence[T], count: int) -> list[T]:
    """So many of these items, evenly spaced."""
    count = min(count, len(items))
    return [items[(2 * place + 1) * len(items) // (2 * count)] for place in range(count)]


def curand_include(tools: Toolchain, named: Path | None) -> Path | None:
    """The folder that holds curand's headers; None if nvcc finds them by itself."""
    header = "curand_kernel.h"
    if named is None and any(Path(folder, header).exists() for folder in tools.cuda_include):
        return None
    wheels = [Path(place, name, "include") for place in sys.path for name in ("nvidia/cu13", "nvidia/curand")]
    for folder in [named] if named else wheels:
        if (folder / header).exists():
            return folder.resolve()
    raise SystemExit(
        f"error: there is no {header} in {named or 'the toolkit'}: pip install nvidia-curand, or --curand DIR"
    )


def run(command: Sequence[str], folder: Path, core: int | None = None) -> Cost:
    """Runs a command, on one core or on all, in a folder; it and its children are measured."""
    pinned = [] if core is None else ["taskset", "--cpu-list", str(core)]
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen([*pinned, *command], cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            said = output.read().decode(errors="replace")[-3000:]
            raise SystemExit(f"error: {' '.join(command)}\n{said}")
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024)


if __name__ == "__main__":
    main()
