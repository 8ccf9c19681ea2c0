"""A project of kernels that compile in a second, for tests of what is built when.

Everything is the product itself, run with the real ninja and the real nvcc, but for two stand-ins below data/: a CUTLASS
of a dozen stub headers, and a runtime that only describes the kernel.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import ROOT, BuildFolder, Ran, find_ninja

from cutlass_ninja import toolchain
from cutlass_ninja.errors import MachineError

DATA = Path(__file__).parent / "data"

MANIFEST = """\
cutlass: cutlass
include_dirs: [inc]
kernels:
  - arch: sm_80
    operation: gemm
    element_a: f16
    element_c: f16
    element_accumulator: f32
    layout: tn
    alignment: 8
    instruction_shape: [16, 8, 16]
    tile_description: {threadblock_shape: [64, 64, 32], warp_count: [2, 2, 1], stages: [3, 4]}
  - arch: sm_90a
    operation: gemm
    gemm_kind: universal3x
    element_a: f16
    element_c: f16
    element_accumulator: f32
    layout: tn
    kernel_schedule: TmaWarpSpecialized
    tile_description: {threadblock_shape: [64, 64, 64]}
problems:
  - {m: 64, n: 64, k: 64}
"""

NAMES = {
    "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x3_tn_align8": "ampere3",
    "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x4_tn_align8": "ampere4",
    "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x5_tn_align8": "ampere5",
    "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x6_tn_align8": "ampere6",
    "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x7_tn_align8": "ampere7",
    "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x8_tn_align8": "ampere8",
    "cutlass3x_sm90_tensorop_gemm_f16_f16_f32_f16_f16_64x64x64_1x1x1_0_tnn_align8_warpspecialized_epi_tma": "hopper",
}
"""The kernels of MANIFEST, and some more, by the names that these tests give them."""

AMPERE = {"ampere3", "ampere4"}
ALL = {*AMPERE, "hopper"}

NINJAS = sorted(
    {
        os.path.realpath(path)
        for path in (find_ninja(), shutil.which("ninja"), "/usr/bin/ninja")
        if path and os.path.exists(path)
    }
)
"""The ninjas of this machine."""

WRAPPER = """\
#!/bin/sh
# Stands before nvcc: runs what a test wants done before and after each compile of kernels, by itself or in a batch.
case "$*" in
  *"-c profiler.cu"*) KERNELS=profiler.cu ;;
  *"-ptx batch.cu"*) KERNELS=$(grep -o "^namespace kernel_[0-9a-f]*" batch.cu) ;;
  *) exec {nvcc} "$@" ;;
esac
{before}
{nvcc} "$@" || exit
{after}
"""


def copy_package(place: Path) -> Path:
    """A copy of cutlass-ninja with the plain runtime: what PYTHONPATH is to name."""
    shutil.copytree(ROOT / "cutlass_ninja", place / "cutlass_ninja", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "build.ninja.in", place)
    for part in ("src", "baseline"):
        shutil.rmtree(place / "cutlass_ninja/runtime" / part)
        shutil.copytree(DATA / "plain_runtime" / part, place / "cutlass_ninja/runtime" / part)
    shutil.copy2(ROOT / "cutlass_ninja/runtime/src/module.cpp", place / "cutlass_ninja/runtime/src")
    return place


@dataclass(frozen=True)
class Built:
    """What a run of ninja did."""

    ran: Ran
    kernels: set[str]
    """Those whose profiler is new or another file than before, by their names in NAMES."""

    @property
    def nothing_to_do(self) -> bool:
        """Whether ninja found nothing to do after a regeneration, if any, and compiled nothing."""
        return self.ran.code == 0 and not self.kernels and self.ran.out.endswith("ninja: no work to do.\n")


@dataclass(frozen=True)
class Project(BuildFolder):
    """A manifest `m.yaml`, `cutlass/`, `inc/`, and the build of them in the same folder."""

    package: Path = ROOT
    environment: dict[str, str] = field(default_factory=dict)
    """What every command is run with on top of this process's environment."""
    arguments: tuple[str, ...] = ("m.yaml",)
    """Of cutlass-ninja."""

    @classmethod
    def create(cls, path: Path, package: Path, manifest: str = MANIFEST) -> Project:
        """A project that has not been built."""
        project = cls(path, package)
        path.mkdir(parents=True, exist_ok=True)
        project.write("m.yaml", manifest)
        shutil.copytree(DATA / "plain_cutlass", path / "cutlass")
        (path / "inc").mkdir()
        return project

    def copied(self, place: Path) -> Project:
        """The same project, cache and all, in another folder."""
        shutil.copytree(self.path, place, symlinks=True)
        return Project(place, self.package, dict(self.environment), self.arguments)

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> Ran:
        """Runs a command in the build folder."""
        return super().run(*command, env=self._environment(env))

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Starts a command in the build folder, in a session of its own."""
        return subprocess.Popen(
            command,
            cwd=self.path,
            env={**os.environ, **self._environment(None)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def generated(self, *options: str, env: Mapping[str, str] | None = None) -> Ran:
        """Runs cutlass-ninja, which must succeed."""
        ran = self.generate(*self.arguments, *options, env=env)
        assert ran.code == 0, ran.err
        return ran

    def built(self, *, ninja: str = "", env: Mapping[str, str] | None = None, fails: bool = False) -> Built:
        """Runs ninja, which must succeed unless it `fails`."""
        before = self._files()
        ran = self.run(ninja or find_ninja(), env=env)
        assert (ran.code != 0) is fails, ran.out + ran.err
        return Built(ran, {NAMES[path.parts[-3]] for path, mark in self._files().items() if before.get(path) != mark})

    def rebuilt(self, *options: str, env: Mapping[str, str] | None = None) -> set[str]:
        """The kernels that cutlass-ninja and then ninja build; after that there must be nothing to do."""
        self.generated(*options, env=env)
        kernels = self.built(env=env).kernels
        assert self.built(env=env).nothing_to_do
        return kernels

    def rebuilt_by_ninja(self) -> set[str]:
        """The kernels that ninja alone builds, in one call; after that there must be nothing to do."""
        kernels = self.built().kernels
        assert self.built().nothing_to_do
        return kernels

    def states(self, *options: str, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """What `cutlass-ninja list` says of each kernel, with the reason if it gives one."""
        rows = self._rows(*options, env=env)
        return {NAMES[row["name"]]: ": ".join(filter(None, (row["state"], row["reason"]))) for row in rows}

    def keys(self, *options: str, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """The key of each kernel."""
        return {NAMES[row["name"]]: row["key"] for row in self._rows(*options, env=env)}

    def profiler(self, kernel: str) -> Path:
        """The current profiler of a kernel, whether it is there or not."""
        (row,) = (row for row in self._rows() if NAMES[row["name"]] == kernel)
        return self.path / str(row["path"])

    def edit(self, name: str, change: Callable[[str], str] = lambda text: text + "// edited\n") -> None:
        """Changes a file in place; by default by a comment."""
        path = self.path / name
        path.write_text(change(path.read_text()))

    def wrap_nvcc(self, before: str = ":", after: str = ":", nvcc: str = "") -> None:
        """Has all later builds run these shell commands before and after each call of nvcc that compiles kernels.

        In them $PROJECT is the build folder, $KERNELS has a line for each kernel that is being compiled, and the current
        folder is the compile's own in scratch/.
        """
        wrapper = self.path / "bin/nvcc"
        wrapper.parent.mkdir(exist_ok=True)
        wrapper.write_text(WRAPPER.format(before=before, after=after, nvcc=nvcc or toolchain.find().nvcc))
        wrapper.chmod(0o755)
        self.environment["PROJECT"] = str(self.path)
        self.environment["PATH"] = f"{wrapper.parent}:{os.environ['PATH']}"

    def count(self) -> int:
        """How many lines the file `count` has, which a wrapper appends to."""
        file = self.path / "count"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def leftovers(self) -> list[str]:
        """What no finished build leaves behind: scratch, staging folders, temporary files, empty or partial keys."""
        found = [str(path) for path in self.path.glob("scratch/*")]
        found += [str(path) for path in self.path.rglob("*.tmp")]
        found += [str(path) for path in self.path.glob("cache/.stage*")]
        found += [str(path) for path in self.path.glob("cache/bin/.*")]
        found += [str(path) for path in self.path.glob("cache/kernels/*/*") if not (path / "build.json").exists()]
        return found

    def _environment(self, env: Mapping[str, str] | None) -> dict[str, str]:
        return {"PYTHONPATH": str(self.package), **self.environment, **(env or {})}

    def _files(self) -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_ino, path.stat().st_ctime_ns) for path in self.profilers()}

    def _rows(self, *options: str, env: Mapping[str, str] | None = None) -> Sequence[dict[str, Any]]:
        ran = self.generate("list", "--json", *self.arguments, *options, env=env)
        assert ran.code == 0, ran.err
        rows: Sequence[dict[str, Any]] = json.loads(ran.out)
        return rows


def nvccs() -> dict[str, str]:
    """The versions of nvcc on this machine, and the variable's CUTLASS_NINJA_TEST_NVCCS, each with its path."""
    named = os.environ.get("CUTLASS_NINJA_TEST_NVCCS", "").split(":")
    places = [*named, shutil.which("nvcc"), toolchain.installed_nvcc(), *glob.glob("/usr/local/cuda*/bin/nvcc")]
    found: dict[str, str] = {}
    for place in filter(None, places):
        try:
            found.setdefault(toolchain.Toolkit.of(place).release, place)
        except MachineError:
            continue
    return found
