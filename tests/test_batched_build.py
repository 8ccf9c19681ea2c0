"""Kernels compiled in batches: the same executables as alone, failures apart, interruptions, the single way beside."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import BuildFolder, Ran, find_ninja
from kernels import AMPERE, HOPPER
from plain import MANIFEST, NAMES, Project, copy_package

from cutlass_ninja.toolchain import Toolchain

SIX = MANIFEST.partition("  - arch: sm_90a")[0].replace("[3, 4]", "[3, 4, 5, 6, 7, 8]")
"""Six kernels of one batch."""
SIX_NAMES = {"ampere3", "ampere4", "ampere5", "ampere6", "ampere7", "ampere8"}
ONE = "*32x3*"
COUNT = 'echo "$KERNELS" >> $PROJECT/count'

UNIVERSAL = "cutlass/include/cutlass/gemm/kernel/gemm_universal.h"
DEFAULT = "cutlass/include/cutlass/gemm/kernel/default_gemm.h"


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """cutlass-ninja with the plain runtime."""
    return copy_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(autouse=True)
def one_core() -> Iterator[None]:
    """Batches are as large as on a machine of one core."""
    available = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(available)})
    yield
    os.sched_setaffinity(0, available)


@pytest.fixture(scope="session")
def with_library(package: Path, tmp_path_factory: pytest.TempPathFactory, tools: Toolchain) -> Project:
    """A project of six kernels, nothing built but their runtime library; not to be changed."""
    project = Project.create(tmp_path_factory.mktemp("six") / "project", package, SIX)
    project.generated()
    built = project.run(find_ninja(), *libraries(project))
    assert built.code == 0, built.out
    return project


@pytest.fixture
def six(with_library: Project, tmp_path: Path) -> Project:
    """The same in a folder of its own."""
    project = with_library.copied(tmp_path / "project")
    project.generated()
    return project


def libraries(project: Project) -> list[str]:
    return re.findall(r"^build (cache/runtime/\S+): runtime$", (project.path / "build.ninja").read_text(), re.MULTILINE)


def edge(project: Project, keys: Iterable[str]) -> Ran:
    """Runs the build edge for these keys."""
    return project.run(sys.executable, str(project.package / "cutlass_ninja/edge"), "kernel", *keys)


def contents(project: Project) -> dict[str, bytes]:
    """The profilers by their keys."""
    return {path.parent.name: path.read_bytes() for path in project.profilers()}


def record(project: Project, kernel: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.profiler(kernel).with_name("build.json").read_text())
    return found


def rows(project: Project, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(project.generate("list", "--json", *project.arguments, *options).out)
    return found


def edges(project: Project) -> list[int]:
    """How many kernels each edge of build.ninja compiles."""
    text = (project.path / "build.ninja").read_text()
    return sorted(len(keys.split()) for keys in re.findall(r": kernel \|\|.*\n  keys = (.*)", text))


# The bytes.

INTRICATE = """\
  static __device__ __noinline__ float scaled(float x) { return x * Mma::stages + threadIdx.x; }
  static __device__ void invoke(Params const& params, SharedStorage& storage) {
    auto* d = static_cast<float*>(params.arguments.d);
    storage.stages[threadIdx.x] = params.arguments.batch_count;
    assert(params.arguments.batch_count < 1000 + Mma::stages);
    if (d[0] < 0) printf("%d stages of %s\\n", Mma::stages, "something");
    d[threadIdx.x] = scaled(d[1]) + powers[threadIdx.x % 4] + __sinf(storage.stages[1]);
  }
"""
"""A kernel with functions, local variables, strings and shared memory of its own."""


def with_intricate_kernels(project: Project) -> None:
    def change(text: str) -> str:
        head, _, rest = text.partition("  static __device__ void invoke")
        table = "namespace {\n__device__ float const powers[4] = {1, 2, 4, 8};\n}\n"
        head = head.replace(
            "namespace cutlass::gemm", f"#include <cassert>\n#include <cstdio>\n{table}namespace cutlass::gemm"
        )
        return f"{head}{INTRICATE}{rest[rest.index('#endif') :]}"

    project.edit(UNIVERSAL, change)


def test_a_kernel_has_the_same_bytes_alone_and_in_any_batch(package: Path, tmp_path: Path, tools: Toolchain) -> None:
    """In folders of other names, in any order."""
    made = []
    for place, groups in (("alone", [1, 1]), ("some/where/threes", [3, 3]), ("all", [6])):
        project = Project.create(tmp_path / place, package, SIX)
        with_intricate_kernels(project)
        project.generated()
        assert project.run(find_ninja(), *libraries(project)).code == 0
        keys = sorted(project.keys().values())
        random.Random(place).shuffle(keys)
        for size in groups:
            ran = edge(project, [keys.pop() for _ in range(size)])
            assert ran.code == 0, ran.err
        made.append(contents(project))
    alone, threes, whole = made
    assert (len(alone), len(threes), len(whole)) == (2, 6, 6)
    assert threes == whole
    assert alone.items() <= whole.items()
    assert len(set(whole.values())) == 6


REAL = AMPERE.replace("stages: 3", "stages: [3, 4, 5]")


def real_contents(text: str, folder: Path, package: Path, groups: list[int]) -> dict[str, bytes]:
    """The profilers of a manifest's kernels with the real CUTLASS, compiled in groups of these sizes."""
    project = Project(folder, package)
    folder.mkdir()
    project.write("m.yaml", text)
    project.generated()
    assert project.run(find_ninja(), *libraries(project)).code == 0
    keys = [row["key"] for row in rows(project)]
    for size in groups:
        ran = edge(project, [keys.pop() for _ in range(size)])
        assert ran.code == 0, ran.err
    return contents(project)


def test_a_kernel_of_cutlass_has_the_same_bytes_alone_and_in_a_batch(
    package: Path, tmp_path: Path, tools: Toolchain
) -> None:
    alone = real_contents(REAL, tmp_path / "alone", package, [1])
    batch = real_contents(REAL, tmp_path / "batch", package, [3])
    assert len(alone) == 1 and len(batch) == 3
    assert alone.items() <= batch.items()


@pytest.mark.wide
def test_a_kernel_of_hopper_has_the_same_bytes_alone_and_in_a_batch(
    package: Path, tmp_path: Path, tools: Toolchain
) -> None:
    text = HOPPER.replace("[64, 64, 64]", "[[64, 64, 64], [64, 80, 64], [128, 128, 64]]")
    alone = real_contents(text, tmp_path / "alone", package, [1])
    batch = real_contents(text, tmp_path / "batch", package, [3])
    assert len(alone) == 1 and len(batch) == 3
    assert alone.items() <= batch.items()


@pytest.mark.wide
def test_a_row_of_an_unusual_tile_is_one_wgmma(build: Callable[..., BuildFolder]) -> None:
    folder = build(HOPPER.replace("[64, 64, 64]", "[64, 80, 64]"), "--keep-scratch")
    (ptx,) = folder.path.glob("scratch/**/batch.ptx")
    assert set(re.findall(r"wgmma\.mma_async\.\S*\.(m\d+n\d+k\d+)", ptx.read_text())) == {"m64n80k16"}


# What is recorded.


def test_each_kernel_tells_of_its_batch(six: Project) -> None:
    built = six.built()
    assert built.kernels == SIX_NAMES
    assert "6 of 6 kernels done\n" in built.ran.out
    for kernel in SIX_NAMES:
        found = record(six, kernel)
        assert (found["compile"], found["compile_reason"]) == ("batched", "")
        batch = found["batch"]
        assert {NAMES[label] for label in batch["kernels"]} == SIX_NAMES
        assert batch["compile_time_s"] > 0 and batch["peak_memory_bytes"] > 10 << 20
        assert batch["cpu_time_s"] / 6 < found["cpu_time_s"] < batch["cpu_time_s"]
        assert found["ptxas"]["functions"][0]["function"] == f"cutlass_ninja_{found['key']}"
        log = six.profiler(kernel).with_name("build.log").read_text()
        assert "-ptx batch.cu" in log and "-S batch.cpp" in log and "kernel.ptx -o kernel.cubin" in log
        assert [command[0].rpartition("/")[2] for command in found["commands"]] == ["nvcc", "g++", "ptxas", "g++"]


def test_a_kernel_is_built_by_its_name(six: Project) -> None:
    name = next(name for name, known in NAMES.items() if known == "ampere5")
    built = six.run(find_ninja(), name)
    assert built.code == 0, built.out
    assert six.states()["ampere5"] == "cached"
    assert six.built().ran.code == 0 and set(six.states().values()) == {"cached"}


def test_what_is_missing_from_the_cache_is_in_batches(six: Project) -> None:
    """And what is there by itself, so that whatever vanishes is compiled with nothing else."""
    assert edges(six) == [6]
    six.built()
    (six.path / "build.ninja").unlink()
    six.generated()
    assert edges(six) == [1] * 6
    for kernel in ("ampere4", "ampere5", "ampere8"):
        shutil.rmtree(six.profiler(kernel).parent)
    six.generated()
    assert edges(six) == [1, 1, 1, 3]
    assert six.rebuilt() == {"ampere4", "ampere5", "ampere8"}


# Failures.


def failing(project: Project, header: str, condition: str) -> None:
    """Has the kernel of five stages not compile."""
    anchor = {
        DEFAULT: "struct DefaultGemm {\n",
        UNIVERSAL: "  static __device__ void invoke(Params const& params, SharedStorage&) {\n",
    }
    project.edit(header, lambda text: text.replace(anchor[header], anchor[header] + condition))


@pytest.mark.parametrize(
    ("header", "condition", "reason"),
    [
        (DEFAULT, '  static_assert(Stages != 5, "not five");\n', 'static assertion failed: "not five"'),
        (
            DEFAULT,
            '#ifndef __CUDACC__\n  static_assert(Stages != 5, "not on the host");\n#endif\n',
            'host half: static assertion failed: "not on the host"',
        ),
        (UNIVERSAL, '    if constexpr (Mma::stages == 5) asm("nonsense.b32;");\n', "nonsense"),
    ],
    ids=["device half", "host half", "ptxas"],
)
def test_a_kernel_that_does_not_compile_does_not_take_its_batch_with_it(
    header: str, condition: str, reason: str, six: Project
) -> None:
    failing(six, header, condition)
    six.wrap_nvcc(before=COUNT)
    six.generated()
    assert edges(six) == [6]
    failed = six.built(fails=True)
    assert failed.kernels == SIX_NAMES - {"ampere5"}
    assert "5 of 6 kernels done\n" in failed.ran.out
    (line,) = (line for line in failed.ran.out.splitlines() if "error: " in line)
    assert line.startswith("cutlass_tensorop_f16_s16816gemm_f16_64x64_32x5_tn_align8: error: ") and reason in line
    assert "scratch" not in line and not re.search("[0-9a-f]{20}", line)
    assert six.leftovers() == []
    states = six.states()
    assert reason in states.pop("ampere5") and set(states.values()) == {"cached"}

    calls = six.count()
    again = six.built(fails=True)
    assert "recorded; cutlass-ninja --retry-failed m.yaml compiles it again" in again.ran.out
    assert (again.kernels, six.count()) == (set(), calls)
    assert edges(six) == [6]

    six.generated("--retry-failed")
    six.built(fails=True)
    assert six.count() == calls + 1


def test_a_kernel_whose_host_half_cannot_be_cut_does_not_take_its_batch_with_it(six: Project) -> None:
    """It has something to initialize before main, for which its batch has one function for all."""
    early = """\
  struct Early { Early() {} ~Early() {} };
  template <int N> struct Holder { inline static Early early; };
  static Status can_implement(Arguments const&) {
    if constexpr (Mma::stages == 5) (void)&Holder<5>::early;
"""
    anchor = "  static Status can_implement(Arguments const&) {"
    six.edit(UNIVERSAL, lambda text: text.replace(anchor, early))
    six.generated()
    failed = six.built(fails=True)
    assert failed.kernels == SIX_NAMES - {"ampere5"}
    assert "early" in six.states()["ampere5"]
    assert "is initialized before main; --compile single leaves it to nvcc" in six.states()["ampere5"]


def test_a_kernel_is_built_by_its_name_though_its_batch_has_failed(six: Project) -> None:
    failing(six, DEFAULT, '  static_assert(Stages != 5, "not five");\n')
    six.generated()
    six.built(fails=True)
    six.generated()
    assert edges(six) == [1] * 6
    by_kernel = {kernel: name for name, kernel in NAMES.items()}
    good = six.run(find_ninja(), by_kernel["ampere4"])
    assert (good.code, good.out) == (0, "ninja: no work to do.\n")
    assert six.run(find_ninja(), by_kernel["ampere5"]).code == 1


def test_several_that_do_not_compile_are_told_each_with_its_reason(six: Project) -> None:
    failing(six, DEFAULT, '  static_assert(Stages % 2 == 0, "an even number, please");\n')
    six.generated()
    failed = six.built(fails=True)
    assert failed.kernels == {"ampere4", "ampere6", "ampere8"}
    lines = [line for line in failed.ran.out.splitlines() if "error: " in line]
    assert [re.search(r"32x(\d)", line)[1] for line in lines] == ["3", "5", "7"]  # type: ignore[index]
    assert all("an even number, please" in line for line in lines)


def test_a_batch_of_which_nothing_compiles(six: Project) -> None:
    six.edit(DEFAULT, lambda text: text + "#error nothing\n")
    six.generated()
    failed = six.built(fails=True)
    assert failed.kernels == set() and failed.ran.out.count("nothing (") == 6
    assert {state.partition(":")[0] for state in six.states().values()} == {"failed"}
    six.generated()
    assert edges(six) == [1] * 6
    six.generated("--retry-failed")
    assert edges(six) == [6]


@pytest.mark.parametrize("program", ["nvcc", "ptxas"])
def test_a_compiler_that_crashes_on_one_kernel_leaves_it_out(program: str, six: Project, tools: Toolchain) -> None:
    """And as it may be for lack of memory, it is tried again the next time."""
    key = six.keys()["ampere4"]
    six.wrap_nvcc(before=f'case "$KERNELS" in *{key}*) kill -SEGV $$ ;; esac' if program == "nvcc" else ":")
    six.generated()
    if program == "ptxas":
        six.write("bin/ptxas", f'#!/bin/sh\ngrep -q {key} kernel.ptx && kill -SEGV $$\nexec {tools.ptxas} "$@"\n')
        (six.path / "bin/ptxas").chmod(0o755)
        six.edit("cache/plan.json", lambda text: text.replace(tools.ptxas, str(six.path / "bin/ptxas")))
    failed = six.built(fails=True)
    assert failed.kernels == SIX_NAMES - {"ampere4"}
    (line,) = (line for line in failed.ran.out.splitlines() if "error: " in line)
    assert "32x4_tn_align8: error: " in line and "killed by signal 11 (not recorded: ninja tries again)" in line
    assert six.leftovers() == []
    six.wrap_nvcc()
    six.generated()
    assert six.states().pop("ampere4") == "to build"
    assert six.rebuilt() == {"ampere4"}


# Interruptions.


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_what_an_interrupted_batch_has_published_stays(signum: signal.Signals, six: Project) -> None:
    """Though ninja removes the outputs of what it interrupts. A killed edge leaves no more than scratch behind."""
    six.wrap_nvcc(before=COUNT)
    six.generated()
    ninja = six.start(find_ninja())
    while not (published := {path: path.stat().st_ino for path in six.profilers()}):
        assert ninja.poll() is None, ninja.communicate()
        time.sleep(0.002)
    for pid in session(ninja.pid) if signum == signal.SIGKILL else [ninja.pid]:
        os.kill(pid, signum)
    ninja.communicate()
    if signum != signal.SIGKILL:
        assert six.leftovers() == []

    built = six.built()
    assert 0 < six.count() - 6 <= 6 - len(published)
    assert {path: path.stat().st_ino for path in published} == published
    six.generated()
    assert len(contents(six)) == 6
    assert six.leftovers() == [] and six.built().nothing_to_do
    assert "6 of 6 kernels done\n" in built.ran.out


def session(leader: int) -> list[int]:
    """The processes of a session."""
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and session_of(int(pid)) == leader]


def session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def test_what_was_published_before_an_interruption_is_cached_at_once(six: Project) -> None:
    six.generated()
    ninja = six.start(find_ninja())
    while not six.profilers():
        assert ninja.poll() is None, ninja.communicate()
        time.sleep(0.002)
    os.kill(ninja.pid, signal.SIGINT)
    ninja.communicate()
    assert {*six.states().values()} == {"cached", "to build"}
    assert 0 < len(six.profilers()) < 6


def test_an_interrupted_front_end_publishes_nothing(six: Project) -> None:
    six.wrap_nvcc(before="touch $PROJECT/begun; sleep 60")
    six.generated()
    ninja = six.start(find_ninja())
    while not (six.path / "begun").exists():
        assert ninja.poll() is None, ninja.communicate()
        time.sleep(0.01)
    os.killpg(ninja.pid, signal.SIGINT)
    ninja.communicate(timeout=20)
    assert six.profilers() == [] and six.leftovers() == []
    assert set(six.states().values()) == {"to build"}


def test_a_header_edited_after_some_kernels_of_a_batch_were_published(six: Project) -> None:
    """They are what the header was; the others are built with what it is now."""
    six.generated()
    keys = set(six.keys().values())
    ninja = six.start(find_ninja())
    while not six.profilers():
        assert ninja.poll() is None, ninja.communicate()
        time.sleep(0.002)
    six.edit(DEFAULT)
    out, _ = ninja.communicate()
    assert "changed while it was being compiled; run ninja again" in out or len(six.profilers()) == 6
    assert set(contents(six)) <= keys
    assert six.rebuilt_by_ninja() == SIX_NAMES
    assert set(six.keys().values()) & keys == set()


# The single way.


def test_both_ways_live_side_by_side(six: Project) -> None:
    two = replace(six, arguments=("m.yaml", "--only", "*32x[34]*"))
    batched = two.keys()
    assert two.rebuilt() == {"ampere3", "ampere4"}
    single = two.keys("--compile", "single")
    assert not set(batched.values()) & set(single.values())
    assert two.rebuilt("--compile", "single") == {"ampere3", "ampere4"}
    assert contents(two).keys() == {*batched.values(), *single.values()}
    assert two.rebuilt() == set()
    assert two.rebuilt("--compile", "single") == set()
    assert edges(two) == [1, 1]
    for row in rows(two, "--compile", "single"):
        found = json.loads(Path(two.path, row["path"]).with_name("build.json").read_text())
        for told in (row, found):
            assert (told["compile"], told["compile_reason"]) == ("single", "--compile single")
        assert "batch" not in found


def test_ninja_goes_on_in_the_way_that_was_asked_for(six: Project) -> None:
    one = replace(six, arguments=("m.yaml", "--only", ONE))
    assert one.rebuilt("--compile", "single") == {"ampere3"}
    one.edit(DEFAULT)
    assert one.rebuilt_by_ninja() == {"ampere3"}
    (path,) = (path for path in one.profilers() if path.parent.name == one.keys("--compile", "single")["ampere3"])
    assert json.loads(path.with_name("build.json").read_text())["compile"] == "single"


@pytest.mark.parametrize(
    ("manifest", "environment", "reason"),
    [
        ("nvcc_flags: [-lineinfo]\n", {}, "nvcc_flags has -lineinfo"),
        ("nvcc_flags: [-Xcompiler=-g]\n", {}, "nvcc_flags has -g"),
        ("", {"NVCC_APPEND_FLAGS": "-DX=1"}, "NVCC_APPEND_FLAGS is set"),
    ],
)
def test_what_cannot_be_compiled_in_halves_says_why(
    manifest: str, environment: dict[str, str], reason: str, six: Project
) -> None:
    six.edit("m.yaml", lambda text: manifest + text)
    six.environment.update(environment)
    one = replace(six, arguments=("m.yaml", "--only", ONE))
    assert one.rebuilt() == {"ampere3"}
    (row,) = rows(one)
    assert (row["compile"], row["compile_reason"]) == ("single", reason)
    found = record(one, "ampere3")
    assert (found["compile"], found["compile_reason"]) == ("single", reason)


def test_flags_reach_both_halves(six: Project) -> None:
    six.edit("m.yaml", lambda text: "nvcc_flags: [-DMOST=4, -maxrregcount, 32, -Xcompiler, -DON_HOST]\n" + text)
    six.edit(
        UNIVERSAL,
        lambda text: (
            text
            + "#if MOST != 4\n#error MOST\n#endif\n#if !defined __CUDACC__ && !defined ON_HOST\n#error ON_HOST\n#endif\n"
        ),
    )
    one = replace(six, arguments=("m.yaml", "--only", ONE))
    assert one.rebuilt() == {"ampere3"}
    found = record(one, "ampere3")
    assert found["compile"] == "batched"
    assert "-maxrregcount=32" in found["commands"][2]


def test_a_header_that_a_flag_includes_may_have_device_code(six: Project) -> None:
    six.write("inc/forced.h", "#define FORCED\n__device__ inline int thread() { return threadIdx.x; }\n")
    six.edit("m.yaml", lambda text: "nvcc_flags: [-include, forced.h]\n" + text)
    six.edit(UNIVERSAL, lambda text: text + "#ifndef FORCED\n#error FORCED\n#endif\n")
    one = replace(six, arguments=("m.yaml", "--only", ONE))
    assert one.rebuilt() == {"ampere3"}
    assert record(one, "ampere3")["compile"] == "batched"
