"""build.ninja: its text, and what ninja makes of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from cutlass_ninja import buildfile, clock, commands
from cutlass_ninja.batches import Batch
from cutlass_ninja.errors import InputError
from cutlass_ninja.kernel import Kernel
from cutlass_ninja.plan import KernelTarget, Plan, RuntimeTarget
from cutlass_ninja.toolchain import Toolchain

TEMPLATE = (Path(__file__).parent.parent / "build.ninja.in").read_text()

NINJAS = sorted(
    {
        os.path.realpath(found)
        for found in (
            shutil.which("ninja", path=sysconfig.get_path("scripts")),
            shutil.which("ninja"),
            shutil.which("ninja", path="/usr/bin"),
        )
        if found
    }
)


def target(label: str, name: str = "", memory_bytes: int = 1 << 29) -> KernelTarget:
    key = label.encode().hex()[:20].ljust(20, "0")
    return KernelTarget(
        label, key, "r" * 20, memory_bytes, Kernel("gemm", name or label, "sm_80", {"gemm_kind": "universal"})
    )


def plan(targets: Sequence[KernelTarget], inputs: Sequence[str] = ("toys.yaml",)) -> Plan:
    runtime = RuntimeTarget("r" * 20, "sm_80")
    toolchain = Toolchain("/cuda/bin/nvcc", "/usr/bin/g++", ("/cutlass/include",), "/cuda/lib/libcudart_static.a", {})
    return Plan(toolchain, (runtime,), tuple(targets), ("toys.yaml",), tuple(inputs))


def alone(made: Plan) -> list[Batch]:
    return [Batch([each], each.memory_bytes) for each in {each.key: each for each in reversed(made.kernels)}.values()]


def render(
    made: Plan, batches: Sequence[Batch] | None = None, python: str = "/usr/bin/python3", keep_scratch: bool = False
) -> str:
    return buildfile.render(
        TEMPLATE,
        made,
        alone(made) if batches is None else batches,
        python=python,
        keep_scratch=keep_scratch,
        memory_bytes=16 << 30,
        cores=4,
    )


def test_a_kernel_is_an_edge_and_a_name() -> None:
    text = render(plan([target("gemm_a"), target("gemm_b", memory_bytes=3 << 30)]))
    assert (
        "build cache/kernels/gemm_a/67656d6d5f6100000000/profiler: kernel || "
        "cache/runtime/rrrrrrrrrrrrrrrrrrrr/libcutlass_ninja.a\n"
        "  keys = 67656d6d5f6100000000\n  label = gemm_a\n"
    ) in text
    assert "  label = gemm_b\n  pool = heavy\n" in text
    assert "build gemm_a: phony cache/kernels/gemm_a/67656d6d5f6100000000/profiler\n" in text
    assert "build all: phony cache/kernels/gemm_a/" in text and "\ndefault all\n" in text
    assert "pool heavy\n  depth = 3\n" in text and "pool light\n  depth = 6\n" in text
    assert "rule kernel\n  command = $cutlass_ninja kernel $keys\n" in text
    assert "  generator = 1\n  pool = light\n" in text


def test_a_name_shared_by_labels_builds_all_of_them() -> None:
    text = render(plan([target("gemm_x", "gemm"), target("gemm_y", "gemm"), target("conv"), target("conv_z", "conv")]))
    both = "cache/kernels/gemm/67656d6d5f7800000000/profiler cache/kernels/gemm/67656d6d5f7900000000/profiler"
    assert f"build gemm: phony {both}\n" in text
    assert text.count("build conv: phony") == 1


def test_a_batch_is_one_edge() -> None:
    targets = [target("a"), target("b"), target("c")]
    text = render(plan(targets), [Batch(targets[:2], 3 << 30), Batch(targets[2:], 1 << 29)])
    assert (
        "build cache/kernels/a/61000000000000000000/profiler cache/kernels/b/62000000000000000000/profiler: kernel"
    ) in text
    assert "  keys = 61000000000000000000 62000000000000000000\n  label = a and 1 more\n  pool = heavy\n" in text


def test_keeping_scratch_is_a_flag_of_the_edges() -> None:
    text = render(plan([target("a")]), keep_scratch=True)
    assert "$cutlass_ninja kernel --keep-scratch $keys\n" in text


@pytest.mark.parametrize("path", ["a\nb", "a|b", "a\tb"])
def test_a_path_that_ninja_cannot_express_is_refused_by_name(path: str) -> None:
    with pytest.raises(InputError, match="cannot express; rename it") as caught:
        render(plan([target("a")], [path]))
    assert repr(path) in str(caught.value)


def test_an_error_in_the_template_is_the_users() -> None:
    with pytest.raises(InputError, match=r"^build.ninja.in:2: error: "):
        buildfile.render("\n{% for %}", plan([]), [])
    with pytest.raises(InputError, match=r"^build.ninja.in: error: 'nonsense' is undefined"):
        buildfile.render("{{ nonsense }}", plan([]), [])


def test_write_if_changed_keeps_the_time_stamp(tmp_path: Path) -> None:
    path = tmp_path / "build.ninja"
    assert buildfile.write_if_changed(path, "ä\n")
    os.utime(path, (1, 1))
    assert not buildfile.write_if_changed(path, "ä\n")
    assert path.stat().st_mtime == 1
    assert buildfile.write_if_changed(path, "b\n")
    assert (path.read_text(), os.listdir(tmp_path)) == ("b\n", ["build.ninja"])


def test_compile_commands_are_those_of_the_published_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = plan([target("a"), target("b")])
    entries = json.loads(buildfile.compile_commands(made))
    folder = f"{tmp_path}/cache/kernels/a/61000000000000000000"
    assert entries[0] == {
        "directory": str(tmp_path),
        "file": f"{folder}/profiler.cu",
        "arguments": commands.clangd_arguments(made.toolchain, made.kernels[0].kernel, folder),
    }
    assert len(entries) == 2


def test_ten_thousand_kernels_render_in_a_moment() -> None:
    made = plan([target(f"kernel_{index}") for index in range(10_000)], [f"/h/{i}.h" for i in range(1000)])
    start = time.process_time()
    render(made)
    assert time.process_time() - start < 1.0  # 0.15 s on an idle machine


PYTHON = """\
#!{python}
# Stands for the Python of build.ninja: notes what it is called for, and makes what the build edges would make.
import glob, os, sys
sys.path[:0] = {path!r}
kind = sys.argv[2]
with open("calls", "a") as calls:
    calls.write(kind + "\\n")
if kind in ("kernel", "runtime"):
    for key in sys.argv[3:]:
        pattern = "cache/runtime/" if kind == "runtime" else "cache/kernels/*/"
        name = "libcutlass_ninja.a" if kind == "runtime" else "profiler"
        with open(glob.glob(pattern + key)[0] + "/" + name, "w"):
            pass
elif kind == "generate":
    import test_buildfile
    test_buildfile.generate()
else:
    from cutlass_ninja import scratch
    scratch.sweep()
"""


def generate() -> None:
    """What cutlass-ninja does in the folders of these tests: labels and inputs come from two files."""
    time.sleep(0.02)  # Starting Python takes longer: what was written before is older than the start.
    started = clock.precisely()
    labels = Path("toys.yaml").read_text().split()
    headers = [line for line in Path("headers").read_text().splitlines() if os.path.exists(line)]
    made = plan([target(label) for label in labels], ["toys.yaml", *headers])
    buildfile.write_if_changed(Path("build.ninja"), render(made, python=os.path.abspath("py thon")))
    buildfile.settle(Path("build.ninja"), made.inputs, started)


class Folder:
    """A build folder with two kernels and two headers, and a ninja that runs in it."""

    def __init__(self, ninja: str) -> None:
        self.ninja = ninja
        path = [str(Path(buildfile.__file__).parent.parent), str(Path(__file__).parent)]
        Path("py thon").write_text(PYTHON.format(python=sys.executable, path=path))
        Path("py thon").chmod(0o755)
        Path("toys.yaml").write_text("a b\n")
        for name in ("x $y:z.h", "ü#.h"):
            Path(name).write_text("")
        self.headers(*map(os.path.abspath, ("x $y:z.h", "ü#.h")))
        generate()

    def headers(self, *paths: str) -> None:
        Path("headers").write_text("".join(path + "\n" for path in paths))

    def run(self, *arguments: str, ninja: str = "") -> tuple[str, list[str]]:
        """What ninja printed last, and which parts of cutlass-ninja it ran."""
        Path("calls").write_text("")
        done = subprocess.run(
            [ninja or self.ninja, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout.splitlines()[-1], Path("calls").read_text().split()

    def is_settled(self) -> bool:
        return self.run() == ("ninja: no work to do.", [])


@pytest.fixture(params=NINJAS)
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    (tmp_path / "a folder").mkdir()
    monkeypatch.chdir(tmp_path / "a folder")
    return Folder(request.param)


def test_the_second_ninja_has_no_work_to_do(folder: Folder) -> None:
    assert folder.run()[1] == ["runtime", "kernel", "kernel"]
    assert folder.is_settled()
    own = {"py thon", "toys.yaml", "headers", "calls", "x $y:z.h", "ü#.h"}
    assert set(os.listdir()) - own == {"build.ninja", "cache"}


def test_a_kernel_is_built_by_its_name(folder: Folder) -> None:
    assert folder.run("b")[1] == ["runtime", "kernel"]
    assert os.listdir("cache/kernels") == ["b"]


def test_a_touched_header_runs_the_generator_once(folder: Folder) -> None:
    folder.run()
    for header in ("x $y:z.h", "ü#.h", "toys.yaml"):
        os.utime(header)
        assert folder.run() == ("ninja: no work to do.", ["generate"])
        assert folder.is_settled()


def test_a_header_from_the_future_runs_the_generator_once(folder: Folder) -> None:
    folder.run()
    future = time.time() + 1e6
    os.utime("ü#.h", (future, future))
    assert folder.run() == ("ninja: no work to do.", ["generate"])
    assert folder.is_settled()


def test_a_changed_manifest_builds_what_is_new(folder: Folder) -> None:
    folder.run()
    Path("toys.yaml").write_text("a b c\n")
    assert folder.run()[1] == ["generate", "kernel"]
    assert folder.is_settled()


def test_a_deleted_header_runs_the_generator_once(folder: Folder) -> None:
    folder.run()
    os.unlink("ü#.h")
    assert folder.run() == ("ninja: no work to do.", ["generate"])
    assert folder.is_settled()


def test_a_generator_run_by_hand_is_not_run_again(folder: Folder) -> None:
    folder.run()
    os.utime("ü#.h")
    generate()
    assert folder.is_settled()


def test_a_lost_log_rebuilds_nothing(folder: Folder) -> None:
    folder.run()
    os.utime("ü#.h")
    folder.run()
    os.unlink("cache/.ninja_log")
    assert folder.is_settled()


def test_another_ninja_rebuilds_nothing(folder: Folder) -> None:
    folder.run()
    for other in NINJAS:
        os.utime("ü#.h")
        folder.run()
        assert folder.run(ninja=other) == ("ninja: no work to do.", [])


def test_time_stamps_rebuild_nothing(folder: Folder) -> None:
    folder.run()
    for root, _, files in os.walk("cache"):
        for name in files:
            os.utime(os.path.join(root, name), (1, 1))
    assert folder.is_settled()


def test_a_missing_profiler_alone_is_built(folder: Folder) -> None:
    folder.run()
    shutil.rmtree("cache/kernels/a")
    assert folder.run()[1] == ["kernel"]


def test_clean_empties_scratch_and_keeps_the_cache(folder: Folder) -> None:
    folder.run()
    os.makedirs("scratch/dead/tmp")
    assert folder.run("clean")[1] == ["clean"]
    assert not os.path.exists("scratch")
    assert folder.run("clean")[1] == ["clean"]
    folder.run("-t", "clean")
    assert folder.is_settled()


def test_a_build_file_that_was_deleted_rebuilds_nothing(folder: Folder) -> None:
    folder.run()
    os.unlink("build.ninja")
    generate()
    assert folder.is_settled()


def test_every_kind_of_plan_is_understood_by_ninja(folder: Folder) -> None:
    for made in (plan([]), plan([target("a", "shared"), target("b", "shared")], [])):
        Path("build.ninja").write_text(render(made))
        folder.run("-n")
