"""The main job with real compilers: manifests -> build.ninja -> profilers, as a user meets it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, BuildFolder, Ran, find_ninja
from kernels import AMPERE, HOPPER, with_values

from cutlass_ninja import arch
from cutlass_ninja.errors import MachineError
from cutlass_ninja.toolchain import Toolchain

AMPERE_NAME = "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x3_tn_align8"
PLANTED = 'error: static assertion failed: "planted"'

Build = Callable[[str], BuildFolder]


@pytest.fixture(scope="session")
def ampere(build: Build) -> BuildFolder:
    return build(AMPERE)


@pytest.fixture(scope="session", params=["ampere", "hopper"])
def built(request: pytest.FixtureRequest, build: Build) -> BuildFolder:
    return build({"ampere": AMPERE, "hopper": HOPPER}[request.param])


SPLIT = with_values(AMPERE, layout="[tn]\n    split_k_mode: parallel\n    activation: gelu")
FUSED = with_values(AMPERE, layout="[tnt]\n    bias: per_column\n    activation: leaky_relu")
STREAM_K = with_values(AMPERE, layout="[tnt]\n    activation: relu\n    swizzling_functor: StreamK")


def test_epilogues_and_splits_of_k_compile_and_say_what_they_are(build: Build) -> None:
    folder = build(SPLIT + "".join(text.partition("kernels:\n")[2] for text in (FUSED, STREAM_K)))
    abouts = [
        json.loads(subprocess.run([profiler, "--describe"], check=True, capture_output=True).stdout)
        for profiler in folder.profilers()
    ]
    fields = ("bias", "activation", "split_k_mode", "swizzling_functor")
    assert sorted(tuple(about[field] for field in fields) for about in abouts) == [
        ("none", "gelu", "parallel", "Identity8"),
        ("none", "relu", "serial", "StreamK"),
        ("per_column", "leaky_relu", "serial", "Identity8"),
    ]


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory, tools: Toolchain) -> BuildFolder:
    """An empty folder with a CUTLASS of its own, a home and a folder for temporary files."""
    folder = BuildFolder(tmp_path_factory.mktemp("elsewhere"))
    for name in ("build", "home", "tmp"):
        (folder.path / name).mkdir()
    (folder.path / "my cutlass").mkdir()
    (folder.path / "my cutlass" / "include").symlink_to(tools.cutlass[0])
    folder.write("kernels.yaml", AMPERE + "cutlass: my cutlass\n")
    return folder


@pytest.fixture(scope="session")
def interrupted(elsewhere: BuildFolder) -> Ran:
    """What ninja says when Ctrl-C comes in the middle of a kernel's compile, in the folder `elsewhere`."""
    environment = private(elsewhere)
    home = BuildFolder(elsewhere.path / "build")
    generated = home.generate("../kernels.yaml", env=environment)
    assert generated.code == 0, generated.err
    everything = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    ninja = subprocess.Popen(
        [find_ninja()], cwd=home.path, env=everything, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list(home.path.glob(f"scratch/{AMPERE_NAME}-*/tmp/*.ii")):
        assert ninja.poll() is None, ninja.communicate()
        time.sleep(0.05)
    os.killpg(ninja.pid, signal.SIGINT)
    out, _ = ninja.communicate(timeout=30)
    return Ran(ninja.returncode, out, "")


@pytest.fixture(scope="session")
def again(elsewhere: BuildFolder, interrupted: Ran) -> BuildFolder:
    """The folder in `elsewhere` after the build that was interrupted has been taken up again."""
    home = BuildFolder(elsewhere.path / "build")
    compiled = home.ninja(env=private(elsewhere))
    assert compiled.code == 0, compiled.out
    return home


def private(elsewhere: BuildFolder) -> dict[str, str]:
    return {"HOME": str(elsewhere.path / "home"), "TMPDIR": str(elsewhere.path / "tmp")}


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(os.listdir(folder))


def record(folder: BuildFolder) -> dict[str, object]:
    (path,) = folder.path.glob("cache/kernels/*/*/build.json")
    content: dict[str, object] = json.loads(path.read_text())
    return content


def test_the_second_ninja_has_nothing_to_do(built: BuildFolder) -> None:
    assert built.ninja().out == "ninja: no work to do.\n"


def test_only_these_files_are_left(built: BuildFolder) -> None:
    assert names(built.path) == ["build.ninja", "cache", "compile_commands.json", "manifest.yaml"]
    (profiler,) = built.profilers()
    assert sorted(os.listdir(profiler.parent)) == [
        "build.json", "build.log", "device.cu", "host.cpp", "identity.h", "kernel.h", "profiler", "profiler.cu",
    ]  # fmt: skip


def test_the_key_is_the_same_everywhere(built: BuildFolder) -> None:
    (profiler,) = built.profilers()
    key, name = profiler.parent.name, profiler.parent.parent.name
    link = built.path / "cache" / "bin" / name
    assert link.is_symlink() and link.samefile(profiler)
    described = built.run(str(link), "--describe")
    assert (described.code, described.err) == (0, "")
    description = json.loads(described.out)
    assert (description["name"], description["key"]) == (name, key)
    assert (record(built)["name"], record(built)["key"]) == (name, key)
    listed = built.generate("list", "--json", "manifest.yaml")
    (row,) = json.loads(listed.out)
    assert (row["name"], row["key"], row["state"]) == (name, key, "cached")
    assert row["path"] == str(profiler.relative_to(built.path))


def test_build_json_tells_what_the_compile_gave(built: BuildFolder) -> None:
    content = record(built)
    assert (content["status"], content["operation"]) == ("built", "gemm")
    assert content["compile_time_s"] > 0  # type: ignore[operator]
    assert content["peak_memory_bytes"] > 100e6  # type: ignore[operator]
    (function,) = content["ptxas"]["functions"]  # type: ignore[index]
    assert function["function"] == f"cutlass_ninja_{content['key']}"
    assert function["arch"] == content["arch"]
    assert 16 < function["registers"] <= 255
    assert function["spill_stores_bytes"] == function["spill_loads_bytes"] == 0
    assert content["ptxas"]["warnings"] == []  # type: ignore[index]
    assert content["describe"]["shared_memory_bytes"] > 0  # type: ignore[index]


def test_kernel_h_is_the_cutlass_type_alone(built: BuildFolder) -> None:
    (profiler,) = built.profilers()
    text = (profiler.parent / "kernel.h").read_text()
    assert re.search(r"^using GemmKernel = ", text, re.MULTILINE)
    assert not re.search(r'\bmain\b|extern "C"|cutlass_ninja|CUTLASS_NINJA|__global__', text)
    assert set(re.findall(r'#include ["<]([^/]+)/', text)) == {"cutlass"}


def test_without_a_gpu_the_profiler_says_so(built: BuildFolder) -> None:
    try:
        arch.native()
    except MachineError:
        (profiler,) = built.profilers()
        ran = built.run(str(profiler), "--m=64")
        assert (ran.code, ran.out) == (3, "")
        assert ran.err.startswith("error: no CUDA device") and ran.err.count("\n") == 1
    else:
        pytest.skip("this machine has a GPU")


def test_clean_leaves_the_cache(ampere: BuildFolder) -> None:
    left_over = ampere.path / "scratch" / "of-a-kill"
    left_over.mkdir(parents=True)
    assert ampere.ninja("clean").code == 0
    assert not left_over.parent.exists()
    assert ampere.ninja("-t", "clean").code == 0
    assert ampere.ninja().out == "ninja: no work to do.\n"


def test_a_kernel_is_built_by_its_name(ampere: BuildFolder) -> None:
    assert ampere.ninja(AMPERE_NAME).out == "ninja: no work to do.\n"
    unknown = ampere.ninja(AMPERE_NAME + "x")
    assert unknown.code == 1 and "unknown target" in unknown.out + unknown.err


def test_ctrl_c_leaves_nothing_half_made(elsewhere: BuildFolder, interrupted: Ran) -> None:
    assert interrupted.code != 0
    assert "Traceback" not in interrupted.out
    # `again` may have run before this test: what ninja took up again was there only because nothing was half made.
    assert not (elsewhere.path / "build" / "scratch").exists()
    assert os.listdir(elsewhere.path / "tmp") == []


def test_ninja_goes_on_after_ctrl_c(again: BuildFolder) -> None:
    assert [path.parent.parent.name for path in again.profilers()] == [AMPERE_NAME]
    assert again.ninja().out == "ninja: no work to do.\n"


def test_nothing_is_written_outside_the_build_folder(elsewhere: BuildFolder, again: BuildFolder) -> None:
    assert names(again.path) == ["build.ninja", "cache", "compile_commands.json"]
    assert os.listdir(elsewhere.path / "home") == os.listdir(elsewhere.path / "tmp") == []
    assert sorted(os.listdir(elsewhere.path)) == ["build", "home", "kernels.yaml", "my cutlass", "tmp"]


def test_a_build_elsewhere_gives_the_same_bytes(ampere: BuildFolder, again: BuildFolder) -> None:
    (one,), (other,) = ampere.profilers(), again.profilers()
    assert one.relative_to(ampere.path) == other.relative_to(again.path)
    assert one.read_bytes() == other.read_bytes()
    (one,), (other,) = (folder.path.glob("cache/runtime/*/*.a") for folder in (ampere, again))
    assert one.relative_to(ampere.path) == other.relative_to(again.path)
    assert one.read_bytes() == other.read_bytes()


def test_executables_name_no_place_of_this_machine(built: BuildFolder, tools: Toolchain) -> None:
    (profiler,) = built.profilers()
    content = profiler.read_bytes()
    places = [str(built.path), str(ROOT), *tools.cutlass, *tools.cuda_include, tools.nvcc, os.path.expanduser("~")]
    assert [place for place in places if len(place) > 1 and place.encode() + b"/" in content] == []


def test_a_failed_compile_is_told_in_a_few_lines(folder: BuildFolder, ampere: BuildFolder) -> None:
    shutil.copytree(ampere.path / "cache" / "runtime", folder.path / "cache" / "runtime")
    folder.write("shadow/cutlass/cutlass.h", '#include_next <cutlass/cutlass.h>\nstatic_assert(false, "planted");\n')
    folder.write("bad.yaml", with_values(AMPERE, alignment="4") + "include_dirs: shadow\n")
    folder.write("good.yaml", AMPERE)
    assert folder.generate("bad.yaml", "good.yaml").code == 0
    bad = AMPERE_NAME.replace("align8", "align4")

    failed = folder.ninja(bad)
    assert failed.code == 1
    said = failed.out.splitlines()
    assert said[0] == f"[1/1] CUTLASS {bad}"
    assert said[1].startswith("FAILED: ")
    assert said[3] == f"{bad}: {PLANTED} (include0/cutlass/cutlass.h:2)"
    log = said[4].removeprefix("  log: ")
    assert "planted" in (folder.path / log).read_text()
    assert said[5:] == ["ninja: build stopped: subcommand failed."]
    assert not (folder.path / "scratch").exists()
    assert folder.profilers() == []

    going_on = folder.ninja("-k", "0")
    assert going_on.code == 1
    assert f"{bad}: {PLANTED}" in going_on.out
    assert "cutlass-ninja --retry-failed bad.yaml good.yaml" in going_on.out
    assert [path.parent.parent.name for path in folder.profilers()] == [AMPERE_NAME]

    listed = json.loads(folder.generate("list", "--json", "bad.yaml", "good.yaml").out)
    assert [(row["name"], row["state"]) for row in listed] == [(bad, "failed"), (AMPERE_NAME, "cached")]
    assert listed[0]["reason"].startswith(PLANTED.removeprefix("error: "))

    shutil.rmtree(folder.path / "shadow" / "cutlass")
    assert folder.ninja("-n").code == 0
    assert json.loads(folder.generate("list", "--json", "bad.yaml").out)[0]["state"] == "to build"


def test_two_manifests_that_come_to_the_same_kernel_are_one(folder: BuildFolder, ampere: BuildFolder) -> None:
    """A folder in which no header is found changes no key, but the label."""
    shutil.copytree(ampere.path / "cache", folder.path / "cache", symlinks=True)
    (folder.path / "empty").mkdir()
    folder.write("one.yaml", AMPERE)
    folder.write("two.yaml", AMPERE + "include_dirs: empty\n")
    assert folder.generate("one.yaml", "two.yaml").code == 0
    assert folder.ninja().out == "ninja: no work to do.\n"
    labels = [row["label"] for row in json.loads(folder.generate("list", "--json", "one.yaml", "two.yaml").out)]
    assert len(set(labels)) == 2
    assert {(folder.path / "cache" / "bin" / label).resolve() for label in labels} == set(folder.profilers())


def test_clangd_understands_the_sources(built: BuildFolder, tmp_path: Path) -> None:
    clangd = shutil.which("clangd")
    if clangd is None:
        pytest.skip("clangd is not installed")
    (entry,) = json.loads((built.path / "compile_commands.json").read_text())
    (profiler,) = built.profilers()
    assert (entry["directory"], entry["file"]) == (str(built.path), f"{profiler}.cu")
    assert errors_of(clangd, entry, tmp_path) == []
    wrong = tmp_path / "profiler.cu"
    shutil.copytree(profiler.parent, tmp_path, dirs_exist_ok=True)
    wrong.write_text(wrong.read_text() + "GemmKernel::Planted planted;\n")
    entry = {**entry, "file": str(wrong), "arguments": [*entry["arguments"][:-1], str(wrong)]}
    (error,) = errors_of(clangd, entry, tmp_path)
    assert "no type named 'Planted' in 'cutlass::gemm::kernel::GemmUniversal<" in error


def errors_of(clangd: str, entry: dict[str, object], folder: Path) -> list[str]:
    """The errors that clangd finds in a file compiled by an entry of compile_commands.json."""
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    command = [clangd, f"--check={entry['file']}", f"--compile-commands-dir={folder}", "--check-lines=1-1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "All checks completed" in done.stderr, done.stderr
    return [line for line in done.stderr.splitlines() if re.match(r"E\[", line)]
