"""`profile`, `best` and `results` as commands, on kernels whose profilers measure nothing and say so quickly."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import BuildFolder, Ran
from plain import NAMES, Project, copy_package
from test_results import CONFIG, put, result

import cutlass_ninja
from cutlass_ninja import baseline, gpu_lock, toolchain
from cutlass_ninja.contenders import Gpu
from cutlass_ninja.errors import InputError
from cutlass_ninja.results import Place
from cutlass_ninja.toolchain import Toolchain

Start = Callable[..., Project]

HOPPER = next(name for name, kernel in NAMES.items() if kernel == "hopper")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The plain project, built."""
    try:
        toolchain.find()
    except Exception as error:  # The fixture `tools` of a session cannot be used by a module.
        pytest.skip(str(error))
    package = copy_package(tmp_path_factory.mktemp("package"))
    project = Project.create(tmp_path_factory.mktemp("built"), package)
    project.generated()
    project.built()
    return project


@pytest.fixture
def project(built: Project, tmp_path: Path) -> Project:
    """A copy of it in which nothing has been measured."""
    return built.copied(tmp_path / "project")


def rows(project: Project) -> list[tuple[str, str, str, str]]:
    connection = sqlite3.connect(project.path / "cache/results.sqlite")
    found = connection.execute("SELECT kernel, problem, status, precision FROM results ORDER BY 1, 2").fetchall()
    connection.close()
    return [(NAMES[kernel], *rest) for kernel, *rest in found]


def profiled(project: Project, *arguments: str) -> Ran:
    ran = project.generate("profile", *arguments)
    assert ran.code == 0, ran.err
    return ran


PROBLEM = '{"alpha":1,"batch_count":1,"beta":0,"k":64,"m":64,"n":64,"split_k_slices":1}'


def test_profile_measures_the_builds_kernels_on_its_problems(project: Project) -> None:
    ran = profiled(project)
    expected = [(name, PROBLEM, "success") for name in ("ampere3", "ampere4", "hopper")]
    assert sorted(row[:3] for row in rows(project)) == expected
    assert "m=64 n=64 k=64" in ran.out
    assert "no baseline: " in ran.err
    assert "measured in" in ran.err


def test_a_second_profile_measures_nothing(project: Project) -> None:
    profiled(project)
    before = (project.path / "cache/results.sqlite").read_bytes()
    ran = profiled(project)
    assert "0 measured in " in ran.err and "3 known before" in ran.err
    assert (project.path / "cache/results.sqlite").read_bytes() == before


def test_a_report_of_what_was_measured(project: Project) -> None:
    profiled(project)
    ran = project.generate("report", "--text")
    assert ran.code == 0, ran.err
    kernels = [name for name in NAMES if re.search(rf"^[123] +{name} .* \d+(\.\d+)? s ", ran.out, re.MULTILINE)]
    assert sorted(map(NAMES.get, kernels)) == ["ampere3", "ampere4", "hopper"]
    assert project.generate("report").err.startswith("report.html: 3 kernels on ")


def test_ninja_profile_does_the_same(project: Project) -> None:
    ran = project.ninja("profile")
    assert ran.code == 0, ran.out + ran.err
    assert len(rows(project)) == 3
    assert project.built().nothing_to_do


def test_problems_and_kernels_can_be_chosen(project: Project) -> None:
    profiled(project, "--problem", "m=[16,32],n=8,k=8,beta=1", "--only", HOPPER)
    found = [(name, json.loads(problem)) for name, problem, *_ in rows(project)]
    assert sorted((name, one["m"], one["beta"]) for name, one in found) == [("hopper", 16, 1), ("hopper", 32, 1)]


def test_a_problem_adds_to_those_of_a_manifest_that_is_named(project: Project) -> None:
    profiled(project, "m.yaml", "--problem", "m=16,n=8,k=8", "--only", HOPPER)
    assert {json.loads(problem)["m"] for _, problem, *_ in rows(project)} == {16, 64}


def test_manifests_can_be_named(project: Project) -> None:
    text = (project.path / "m.yaml").read_text().replace("m: 64", "m: 128")
    project.write("other.yaml", text)
    profiled(project, "other.yaml")
    assert {json.loads(problem)["m"] for _, problem, *_ in rows(project)} == {128}


def test_json_holds_what_was_done_and_the_best(project: Project) -> None:
    told = json.loads(profiled(project, "--json").out)
    assert list(told) == ["summary", "best"]
    assert told["summary"]["measured"] >= 3 and told["summary"]["undone"] == 0
    assert {choice["gpu"] for choice in told["best"]} == {"Plain GPU"}
    assert all(choice["percent_of_peak"] is None and choice["factor"] is None for choice in told["best"])


def test_a_vector_is_measured_in_both_forms_by_every_kernel(project: Project) -> None:
    ran = profiled(project, "--problem", "m=1,n=32,k=64")
    asked = [json.loads(problem) for _, problem, *_ in rows(project)]
    assert sorted((one["m"], one["n"]) for one in asked) == [(1, 32)] * 3 + [(32, 1)] * 3
    assert "3 of them with A and B exchanged, which computes the same from the same memory\n" in ran.err
    (choice,) = json.loads(project.generate("best", "--problem", "m=1,n=32,k=64", "--json").out)
    assert choice["signature"] == "f16*f16+f32=f16 *n*"
    assert (choice["problem"]["m"], choice["problem"]["n"]) == (1, 32)
    assert choice["kernel_problem"]["m"] == (32 if choice["exchanged"] else 1)


def test_best_says_that_a_kernel_is_to_be_asked_otherwise(folder: BuildFolder) -> None:
    tall = {**result().problem, "m": 4096, "n": 16, "split_k_slices": 1}
    put(
        str(folder.path / "cache/results.sqlite"),
        result("t", problem=tall, config={**CONFIG, "layout_c": "t"}),
        result("n", 2.0, problem={**tall, "m": 16, "n": 4096}),
    )
    ran = folder.generate("best", "--problem", "m=16,n=4096,k=64")
    assert ran.code == 0, ran.err
    (line,) = ran.out.splitlines()[1:]
    assert line.startswith("m=16 n=4096 k=64 f16*f16+f32=f16 tnn  t ")
    assert line.endswith("  exchanged: m=4096 n=16 k=64")


def test_results_survive_a_rebuild_and_a_changed_kernel_has_its_own(project: Project) -> None:
    profiled(project)
    project.profiler("hopper").unlink()
    assert project.rebuilt() == {"hopper"}
    assert "0 measured in " in profiled(project).err
    project.edit("cutlass/include/cutlass/gemm/kernel/gemm_universal.hpp")
    assert project.rebuilt() == {"hopper"}
    profiled(project)
    assert [row[0] for row in rows(project)].count("hopper") == 2


def test_best_answers_from_what_was_measured(project: Project) -> None:
    profiled(project)
    choices = json.loads(project.generate("best", "--json").out)
    assert {choice["kernel"] for choice in choices} <= set(NAMES)
    assert [choice["problem"]["m"] for choice in choices] == [64] * len(choices)
    ran = project.generate("best", "--problem", "m=128,n=64,k=64")
    assert ran.code == 1
    assert ran.err == "no verified kernel for m=128 n=64 k=64; cutlass-ninja profile measures it, --predict guesses\n"
    ran = project.generate("best", "--problem", "m=128,n=64,k=64", "--predict")
    assert ran.code == 0 and "predicted from 1 nearest problem, not measured" in ran.out


def test_best_in_python_has_the_same_powers(project: Project) -> None:
    profiled(project)
    folder = str(project.path)
    choices = cutlass_ninja.best({"m": 64, "n": 64, "k": 64}, folder=folder)
    assert choices and all(choice.winner and choice.winner.verified for choice in choices)
    assert [choice.to_json() for choice in choices] == json.loads(project.generate("best", "--json").out)
    (missing,) = cutlass_ninja.best({"m": 128, "n": 64, "k": 64}, folder=folder)
    assert missing.winner is None
    assert cutlass_ninja.best({"m": 128, "n": 64, "k": 64}, folder=folder, predict=True)[0].predicted_from
    with pytest.raises(InputError, match="a gemm problem has no 'kk'; did you mean 'k'"):
        cutlass_ninja.best({"m": 64, "n": 64, "kk": 64}, folder=folder)
    with pytest.raises(InputError, match="error: a gemm problem needs k"):
        cutlass_ninja.best({"m": 64, "n": 64}, folder=folder)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({"m": 0}, {}, "error: a gemm problem's m: expected an integer of at least 1, found 0"),
        ({"m": [64, 128]}, {}, "error: a gemm problem's m: expected an integer of at least 1, found a list"),
        ({"m": "64"}, {}, "error: a gemm problem's m: '64' is a string: remove the quotes"),
        ({"m": None}, {}, "error: a gemm problem's m has no value; expected an integer of at least 1"),
        ({"m": 64.5}, {}, "error: a gemm problem's m: expected an integer of at least 1, found 64.5"),
        ({"beta": float("nan")}, {}, "error: a gemm problem's beta: expected a number, found NaN"),
        ({"m": 1j}, {}, "error: a gemm problem's m: expected an integer of at least 1, found 1j"),
        ({}, {"operation": "gem"}, "error: unknown operation 'gem' (one of gemm, conv2d)"),
        ({}, {"cache": "hot"}, "error: unknown cache mode 'hot' (one of cold, warm)"),
    ],
)
def test_what_is_no_problem_in_python(
    values: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    put(str(tmp_path / "cache/results.sqlite"), result())
    with pytest.raises(InputError) as raised:
        cutlass_ninja.best({"m": 64, "n": 64, "k": 64, **values}, folder=str(tmp_path), predict=True, **options)
    assert str(raised.value) == message


def test_results_are_exported(project: Project) -> None:
    profiled(project)
    assert len(project.generate("results").out.splitlines()) == 3
    assert len(project.generate("results", "--export=csv").out.splitlines()) == 4
    exported = project.generate("results", "--export", "json").out
    assert len(json.loads(exported)) == 3
    project.write("old.json", exported)
    assert project.generate("diff", "old.json", "cache/results.sqlite").code == 0


def test_kernels_of_one_name_are_told_apart(project: Project) -> None:
    text = (project.path / "m.yaml").read_text()
    project.write("m.yaml", text.replace("layout: tn\n    alignment: 8", "layout: [tnn, tnt]\n    alignment: 8"))
    project.generated()
    project.built()
    profiled(project, "--only", "*x3_tn_align8*")
    ran = json.loads(project.generate("results", "--export=json").out)
    name = next(name for name, kernel in NAMES.items() if kernel == "ampere3")
    labels = {row["kernel"] for row in ran}
    assert labels == {f"{name}-layout_c_n", f"{name}-layout_c_t"}
    assert all((project.path / "cache" / "bin" / label).exists() for label in labels)
    profiled(project, "--only", f"{name}-layout_c_t", "--force")


def test_what_ninja_has_not_built_is_left_out(project: Project) -> None:
    project.profiler("hopper").unlink()
    assert f"1 kernel left out, which ninja has not built: {HOPPER}" in profiled(project).err
    assert {row[0] for row in rows(project)} == {"ampere3", "ampere4"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--only", "nothing"], 2, "error: --only nothing matches none of the build's kernels"),
        (["--layouts", "tnn,ttt"], 2, "error: --layouts: no kernel has 'ttt'; there are tnn\n"),
        (["--layouts", ""], 2, "error: --layouts: no kernel has ''; there are tnn\n"),
        (["--devices", "7"], 2, "error: --devices 7: this machine has the devices 0"),
        (
            ["--devices", "one"],
            2,
            "error: argument --devices: 'one': expected ordinals, as 0 or 0,2 (see cutlass-ninja profile --help)",
        ),
        (
            ["--timeout", "-1"],
            2,
            "error: argument --timeout: '-1': expected a number above 0 (see cutlass-ninja profile --help)",
        ),
        (["--problem", "64"], 2, "error: --problem 64: expected name=value,..., as m=1024,n=4096,k=4096"),
        (
            ["--problem", "m=64,n=64,kk=64"],
            2,
            "error: --problem m=64,n=64,kk=64: unknown key 'kk' in a gemm problem; did you mean 'k'?",
        ),
        (
            ["--problem", "m=0,n=64,k=64"],
            2,
            "error: --problem m=0,n=64,k=64: m: expected an integer of at least 1, found 0",
        ),
        (["--results", "m.yaml"], 2, "is damaged or no file of results (file is not a database)"),
    ],
)
def test_wrong_calls_are_one_line(arguments: list[str], code: int, message: str, project: Project) -> None:
    ran = project.generate("profile", "--no-baseline", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert message in ran.err


PLAIN_GPU = Gpu(0, Place("Plain GPU", "GPU-0", "", "13.0"))
WAITING = "waiting: another cutlass-ninja measures on GPU 0 (Plain GPU)\n"


@pytest.fixture
def waiting(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project, with a folder for temporary files that only this test has."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    project.environment["TMPDIR"] = str(tmp_path / "tmp")
    return project


def started(project: Project, *arguments: str) -> subprocess.Popen[str]:
    """A profile that waits for the GPU."""
    process = project.start(sys.executable, "-m", "cutlass_ninja", "profile", "--no-baseline", *arguments)
    assert process.stderr is not None
    assert process.stderr.readline() == WAITING
    return process


def test_two_profiles_take_turns_on_a_gpu(waiting: Project) -> None:
    with gpu_lock.hold([PLAIN_GPU], print):
        both = [started(waiting) for _ in range(2)]
        assert rows(waiting) == []
    told = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    # The second began when the first had measured everything.
    assert sorted(re.findall(r", (\d) known before", "".join(told))) == ["0", "3"]


@pytest.mark.parametrize(
    ("arguments", "goes_on"),
    [([], "the same command goes on from here"), (["--force"], "without --force it is not measured again")],
)
def test_a_profile_that_waits_can_be_interrupted(arguments: list[str], goes_on: str, waiting: Project) -> None:
    with gpu_lock.hold([PLAIN_GPU], print):
        process = started(waiting, *arguments)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == f"interrupted: what was measured is kept; {goes_on}\n"


def plant(project: Project, kernel: str, script: str) -> None:
    """Have a shell script be a kernel's profiler, as if it had been built so; $REAL is the one that was."""
    profiler = project.profiler(kernel)
    real = profiler.rename(project.path / f"real-{kernel}")
    profiler.write_text(f"#!/bin/sh\nREAL={real}\n{script}\n")
    profiler.chmod(0o755)
    path = profiler.parent / "build.json"
    record = json.loads(path.read_text())
    content = profiler.read_bytes()
    record["executable"] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "stat": None}
    path.write_text(json.dumps(record))


def test_a_profiler_that_does_nothing_right_costs_its_kernel_alone(project: Project) -> None:
    for kernel, script in (("hopper", "kill -ABRT $$"), ("ampere4", "echo nonsense")):
        plant(project, kernel, script)
    ran = project.generate("profile")
    assert ran.code == 1, ran.err
    assert {row[0]: row[2] for row in rows(project)} == {"hopper": "crashed", "ampere4": "failed", "ampere3": "success"}


def test_an_impatient_user_leaves_nothing_running(project: Project) -> None:
    listed = 'case "$*" in *--list-devices*) exec "$REAL" "$@";; esac'
    plant(project, "ampere3", f"{listed}\necho $$ > {project.path}/hangs\nexec sleep 1000")
    process = project.start(sys.executable, "-m", "cutlass_ninja", "profile", "--no-baseline")
    hangs = project.path / "hangs"
    until = time.monotonic() + 60
    while not (hangs.exists() and hangs.read_text().endswith("\n")) and time.monotonic() < until:
        time.sleep(0.02)
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert told.endswith("\ninterrupted: what was measured is kept; the same command goes on from here\n")
    assert not os.path.exists(f"/proc/{hangs.read_text().strip()}")


def test_without_a_build(folder: Project, tools: Toolchain) -> None:
    ran = folder.generate("profile")
    assert (ran.code, ran.out) == (2, "") and ran.err.startswith("error: here is no build")


def test_a_build_without_profilers(project: Project) -> None:
    for profiler in project.profilers():
        profiler.unlink()
    ran = project.generate("profile")
    assert ran.code == 1
    assert ran.err.endswith("error: none of the kernels has been built; run ninja first\n")


def test_best_before_anything_was_measured(project: Project) -> None:
    ran = project.generate("best")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: cache/results.sqlite: nothing has been measured yet; run cutlass-ninja profile, or name a file\n"
    )


def test_a_named_baseline_must_be_there(project: Project) -> None:
    ran = project.generate("profile", "--cublaslt", "nowhere.so")
    assert (ran.code, ran.out, ran.err) == (2, "", f"error: --cublaslt {project.path}/nowhere.so: no library\n")


def test_where_the_baselines_library_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "site" / "nvidia" / "cublas" / "lib" / "libcublasLt.so.12"
    toolkit = tmp_path / "cuda" / "lib64" / "libcublasLt.so.13"
    for library in (wheel, toolkit):
        library.parent.mkdir(parents=True)
        library.touch()
    monkeypatch.setattr("sys.path", [str(tmp_path / "site")])
    found = list(baseline.libraries({"CUDA_HOME": str(tmp_path / "cuda")}))
    assert found[0] == str(toolkit) and str(wheel) in found
    assert found[-2:] == ["libcublasLt.so.13", "libcublasLt.so.12"]
