"""What is rebuilt after which change: cutlass-ninja, ninja and nvcc end to end, on kernels that compile in a second."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from conftest import find_ninja
from plain import ALL, AMPERE, DATA, MANIFEST, NINJAS, Project, copy_package, nvccs

from cutlass_ninja.toolchain import Toolchain

ONE = "*32x3*"
"""The glob of ampere3 alone."""

COUNT = 'echo "$KERNELS" >> $PROJECT/count'
"""Adds a line to the file `count` for each kernel that is compiled."""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """cutlass-ninja with the plain runtime."""
    return copy_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory, package: Path, tools: Toolchain) -> Project:
    """A project that is built; not to be changed."""
    project = Project.create(tmp_path_factory.mktemp("original") / "project", package)
    assert project.rebuilt() == ALL
    assert project.leftovers() == []
    return project


@pytest.fixture
def project(original: Project, tmp_path: Path) -> Project:
    """A project that is built, in a folder of its own."""
    copy = original.copied(tmp_path / "project")
    assert copy.rebuilt() == set()
    return copy


@pytest.fixture(scope="session")
def single_original(original: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same built by `--compile single`."""
    project = original.copied(tmp_path_factory.mktemp("single") / "project")
    project = replace(project, arguments=("m.yaml", "--compile", "single"))
    assert project.rebuilt() == ALL
    return project


@pytest.fixture(params=["batched", "single"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    """A project that is built in one way or the other, in a folder of its own."""
    source = request.getfixturevalue({"batched": "original", "single": "single_original"}[request.param])
    copy: Project = source.copied(tmp_path / "project")
    assert copy.rebuilt() == set()
    return copy


@pytest.fixture
def fresh(package: Path, tmp_path: Path, tools: Toolchain) -> Project:
    """A project of one kernel, ampere3, that is not built."""
    return replace(Project.create(tmp_path / "project", package), arguments=("m.yaml", "--only", ONE))


# Nothing has changed.


def stamp_now(path: Path, kept: float) -> None:
    os.utime(path)


def stamp_random(path: Path, kept: float) -> None:
    when = random.Random(path.name).uniform(0, 2e9)
    os.utime(path, (when, when))


def stamp_kept(path: Path, kept: float) -> None:
    os.utime(path, (kept, kept))


@pytest.mark.parametrize("stamp", [stamp_kept, stamp_now, stamp_random])
def test_a_fresh_clone_elsewhere_with_a_restored_cache_builds_nothing(
    stamp: Callable[[Path, float], None], original: Project, package: Path, tmp_path: Path
) -> None:
    """Headers and cutlass-ninja are installed anew, in other places, by another user."""
    clone = Project(tmp_path / "another user/clone", copy_package(tmp_path / "site-packages"))
    clone.path.mkdir(parents=True)
    clone.write("m.yaml", MANIFEST)
    (clone.path / "inc").mkdir()
    shutil.copytree(DATA / "plain_cutlass", tmp_path / "new/cutlass", copy_function=shutil.copyfile)
    shutil.copytree(original.path / "cache", clone.path / "cache", symlinks=True, copy_function=shutil.copy)
    for path in (original.path / "cache").rglob("*"):
        if not path.is_symlink():
            stamp(clone.path / "cache" / path.relative_to(original.path / "cache"), path.stat().st_mtime)
    clone.environment["HOME"] = str(tmp_path / "another user")
    clone = replace(clone, arguments=("m.yaml", "--cutlass", "../../new/cutlass"))

    assert clone.rebuilt() == set()
    assert set(clone.states().values()) == {"cached"}


@pytest.mark.parametrize("lost", ["cache/.ninja_log", "build.ninja", "compile_commands.json", "cache/plan.json"])
def test_what_is_written_again_when_lost_rebuilds_nothing(lost: str, project: Project) -> None:
    (project.path / lost).unlink(missing_ok=True)
    if lost == "cache/.ninja_log":
        assert project.built().nothing_to_do
    assert project.rebuilt() == set()


@pytest.mark.skipif(len(NINJAS) < 2, reason="there is one version of ninja only")
@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(NINJAS, 2)))
def test_another_version_of_ninja_builds_nothing(first: str, second: str, project: Project) -> None:
    for ninja in (first, second, first):
        os.utime(project.path / "cutlass/include/cutlass/version.h")
        assert project.built(ninja=ninja).nothing_to_do
        assert project.built(ninja=ninja).ran.out == "ninja: no work to do.\n"


def reordered(text: str) -> str:
    head, ampere, hopper = text.partition("problems:")[0].split("  - ")
    return f"{head}  - {hopper}  - {ampere}".replace("[3, 4]", "[4, 3]")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "# A comment.\n" + text.replace(": ", ":   ").replace("\n  -", "\n\n  # Another.\n  -"),
        lambda text: json.dumps(yaml.safe_load(text)),
        reordered,
        lambda text: text.replace("m: 64", "m: [1, 4096]"),
        lambda text: text.partition("problems:")[0],
    ],
    ids=["commented", "as JSON", "reordered", "other problems", "no problems"],
)
def test_a_manifest_that_means_the_same_rebuilds_nothing(change: Callable[[str], str], project: Project) -> None:
    project.edit("m.yaml", change)
    assert project.built().nothing_to_do


@pytest.mark.parametrize("way", ["touched", "copied anew", "moved away and back"])
def test_a_header_that_is_the_same_rebuilds_nothing(way: str, project: Project) -> None:
    header = project.path / "cutlass/include/cutlass/cutlass.h"
    if way == "touched":
        os.utime(header)
    elif way == "copied anew":
        text = header.read_bytes()
        header.unlink()
        header.write_bytes(text)
    else:
        header.rename(header.with_suffix(".bak"))
        project.generated()
        header.with_suffix(".bak").rename(header)
    assert project.built().nothing_to_do


def test_a_header_that_no_kernel_includes_rebuilds_nothing(project: Project) -> None:
    project.write("cutlass/include/cutlass/conv/conv.h", "#pragma once\n")
    project.write("inc/unused.h", "#pragma once\n")
    assert project.rebuilt_by_ninja() == set()
    project.edit("cutlass/include/cutlass/conv/conv.h")
    project.edit("inc/unused.h")
    assert project.rebuilt() == set()


def test_one_toolchain_by_any_path_gives_the_same_keys(project: Project, tools: Toolchain, tmp_path: Path) -> None:
    keys = project.keys()
    link = tmp_path / "cuda"
    link.symlink_to(os.path.dirname(os.path.dirname(os.path.realpath(tools.nvcc))))
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec {tools.nvcc} "$@"\n')
    wrapper.chmod(0o755)
    (tmp_path / "include link").symlink_to(project.path / "cutlass/include")
    places = [("--nvcc", str(wrapper)), ("--nvcc", tools.nvcc), ("--nvcc", os.path.relpath(tools.nvcc, project.path))]
    if (link / "bin/nvcc").exists() and "exec" not in Path(tools.nvcc).read_bytes()[:4096].decode(errors="ignore"):
        places.append(("--nvcc", str(link)))
    if os.path.islink("/usr/local/cuda") and project.keys("--nvcc", "/usr/local/cuda") == keys:
        places += [("--nvcc", "/usr/local/cuda"), ("--nvcc", os.path.realpath("/usr/local/cuda"))]
    places += [
        ("--cutlass", "cutlass"),
        ("--cutlass", "./cutlass/include"),
        ("--cutlass", str(project.path / "cutlass")),
        ("--cutlass", str(tmp_path / "include link")),
    ]
    for option in places:
        assert project.keys(*option) == keys, option
    assert project.keys(env={"HOME": "/nowhere", "USER": "other", "LANG": "de_DE.UTF-8"}) == keys


# Something has changed.


@pytest.mark.parametrize(
    ("header", "affected"),
    [
        ("cutlass.h", ALL),
        ("gemm/kernel/default_gemm.h", AMPERE),
        ("gemm/collective/collective_builder.hpp", {"hopper"}),
    ],
)
def test_a_changed_header_rebuilds_what_includes_it(header: str, affected: set[str], either: Project) -> None:
    """With ninja alone, in one call; and with cutlass-ninja first. Going back rebuilds nothing."""
    path = f"cutlass/include/cutlass/{header}"
    before = (either.path / path).read_text()
    either.edit(path)
    assert either.rebuilt_by_ninja() == affected
    either.edit(path, lambda _: before)
    assert either.rebuilt_by_ninja() == set()


def test_a_changed_header_is_found_by_cutlass_ninja(project: Project) -> None:
    header = project.path / "cutlass/include/cutlass/gemm/kernel/gemm_universal.hpp"
    project.edit(str(header))
    os.utime(header, (1, 1))
    assert project.states() == {"ampere3": "cached", "ampere4": "cached", "hopper": "to build"}
    assert project.rebuilt() == {"hopper"}


SWIZZLE = "cutlass/gemm/threadblock/threadblock_swizzle.h"


@pytest.mark.parametrize(
    ("header", "text", "affected"),
    [
        (f"inc/{SWIZZLE}", (DATA / "plain_cutlass/include" / SWIZZLE).read_text() + "// other\n", AMPERE),
        # Beside a header that includes cutlass/cutlass.h: there a quoted name is looked for first.
        ("cutlass/include/cutlass/epilogue/thread/cutlass/cutlass.h", "#include <cutlass/cutlass.h>\n", AMPERE),
        ("inc/cutlass/epilogue/collective/collective_builder.hpp", "#include_next <{name}>\n", {"hopper"}),
    ],
    ids=["replaces", "beside the includer", "passes on"],
)
def test_a_header_that_shadows_another_rebuilds_what_includes_it(
    header: str, text: str, affected: set[str], project: Project
) -> None:
    project.write(header, text.replace("{name}", header.removeprefix("inc/")))
    assert project.rebuilt_by_ninja() == affected
    (project.path / header).unlink()
    assert project.rebuilt_by_ninja() == set()


def test_a_header_behind_a_shadow_still_counts(project: Project) -> None:
    project.write(f"inc/{SWIZZLE}", f"#include_next <{SWIZZLE}>\n")
    assert project.rebuilt_by_ninja() == AMPERE
    project.edit(f"cutlass/include/{SWIZZLE}")
    assert project.rebuilt_by_ninja() == AMPERE


def test_a_header_that_a_flag_includes_counts(project: Project) -> None:
    project.write("inc/config.h", "#define CONFIG 1\n")
    project.edit("m.yaml", lambda text: f"nvcc_flags: [-include, config.h]\n{text.replace(', 4]', ']')}")
    assert project.rebuilt_by_ninja() == {"ampere3", "hopper"}
    project.edit("inc/config.h")
    assert project.rebuilt_by_ninja() == {"ampere3", "hopper"}


def test_a_list_of_problems_that_changes_rebuilds_nothing_but_is_checked(project: Project) -> None:
    project.write("lists/net.yaml", "operation: gemm\nproblems: [{m: 1, n: 2, k: 3}]\n")
    project.edit("m.yaml", lambda text: text + "problems_from: lists/net.yaml\n")
    assert project.rebuilt() == set()
    project.edit("lists/net.yaml", lambda text: text + "# edited\n")
    assert project.rebuilt_by_ninja() == set()
    project.edit("lists/net.yaml", lambda text: text.replace("n: 2", "n: 0"))
    wrong = project.built(fails=True)
    assert wrong.kernels == set()
    assert "lists/net.yaml:2:22: error: n: expected an integer of at least 1, found 0\n" in wrong.ran.out


def test_a_kernel_added_is_built_and_one_dropped_rebuilds_nothing(either: Project) -> None:
    either.edit("m.yaml", lambda text: text.replace("[3, 4]", "[3, 4, 5]"))
    assert either.rebuilt_by_ninja() == {"ampere5"}
    either.edit("m.yaml", lambda text: text.replace("[3, 4, 5]", "4"))
    assert either.rebuilt_by_ninja() == set()
    either.edit("m.yaml", lambda _: MANIFEST)
    assert either.rebuilt_by_ninja() == set()


def with_flag(project: Project) -> None:
    project.edit("m.yaml", lambda text: f"nvcc_flags: [-DX=1]\n{text}")


def with_another_arch(project: Project) -> None:
    project.edit("m.yaml", lambda text: text.replace("sm_80", "sm_86"))


def with_another_cutlass(project: Project) -> None:
    project.edit("cutlass/include/cutlass/version.h", lambda text: text.replace("PATCH 0", "PATCH 1"))


@pytest.mark.parametrize("change", [with_flag, with_another_arch, with_another_cutlass])
def test_a_change_of_how_kernels_are_compiled_rebuilds_them(
    change: Callable[[Project], None], project: Project
) -> None:
    """And going back nothing. The affected are ampere3 and ampere4, the manifest's only kernels."""
    project.edit("m.yaml", lambda text: re.sub(r"  - arch: sm_90a\n(?:    .*\n)+", "", text))
    assert project.rebuilt_by_ninja() == set()
    before = {name: (project.path / name).read_text() for name in ("m.yaml", "cutlass/include/cutlass/version.h")}
    change(project)
    assert project.rebuilt_by_ninja() == AMPERE
    for name, text in before.items():
        project.write(name, text)
    assert project.rebuilt_by_ninja() == set()


def another_host_compiler(folder: Path) -> dict[str, str]:
    compiler = folder / "g++"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "g++ (Other) 99.1" && exit\nexec /usr/bin/g++ "$@"\n')
    compiler.chmod(0o755)
    return {"NVCC_CCBIN": str(compiler)}


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: {"NVCC_APPEND_FLAGS": "-DX=1"},
        another_host_compiler,
    ],
    ids=["NVCC_APPEND_FLAGS", "host compiler"],
)
def test_a_change_of_the_environment_rebuilds_all(
    change: Callable[[Path], dict[str, str]], project: Project, tmp_path: Path
) -> None:
    variables = change(tmp_path)
    assert project.rebuilt("--only", ONE, env=variables) == {"ampere3"}
    assert project.rebuilt("--only", ONE) == set()
    assert project.rebuilt("--only", ONE, env=variables) == set()


@pytest.mark.parametrize(
    "variable", ["NVCC_PREPEND_FLAGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH"]
)
def test_what_else_of_the_environment_compilers_heed_is_part_of_keys(variable: str, project: Project) -> None:
    keys, others = project.keys(), project.keys(env={variable: "-DX=1"})
    assert not set(keys.values()) & set(others.values())


def test_the_place_of_libraries_is_not_written_into_executables(fresh: Project) -> None:
    """Executables are the same wherever they were made."""
    contents = []
    for variables in ({}, {"LD_RUN_PATH": "/somewhere"}):
        assert fresh.rebuilt(env=variables) == {"ampere3"}
        contents.append(fresh.profiler("ampere3").read_bytes())
        shutil.rmtree(fresh.path / "cache/kernels")
    assert contents[0] == contents[1]


def test_each_version_of_nvcc_builds_its_own(project: Project) -> None:
    """And going back to one of them builds nothing."""
    versions = nvccs()
    if len(versions) < 2:
        pytest.skip(f"there is one version of nvcc only: {', '.join(versions)}")
    keys = set()
    for nvcc in versions.values():
        project.generated("--only", ONE, "--nvcc", nvcc)
        project.built()
        keys.add(project.keys("--only", ONE, "--nvcc", nvcc)["ampere3"])
    assert len(keys) == len(versions)
    for nvcc in versions.values():
        assert project.rebuilt("--only", ONE, "--nvcc", nvcc) == set()


@pytest.mark.parametrize(
    ("file", "affected"),
    [
        ("cutlass_ninja/templates/gemm/universal/host.cpp", AMPERE),
        ("cutlass_ninja/templates/profiler.cu", ALL),
        ("cutlass_ninja/runtime/src/profile.cpp", ALL),
        ("cutlass_ninja/runtime/include/cutlass_ninja/gemm.h", ALL),
        ("cutlass_ninja/runtime/src/added.cpp", ALL),
        ("build.ninja.in", set()),
    ],
)
def test_a_change_of_cutlass_ninja_itself_rebuilds_what_it_is_part_of(
    file: str, affected: set[str], project: Project, tmp_path: Path
) -> None:
    own = replace(project, package=copy_package(tmp_path / "package"))
    assert own.rebuilt() == set()
    with open(own.package / file, "a") as text:
        text.write("# edited\n" if file.endswith(".in") else "// edited\n")
    assert own.rebuilt_by_ninja() == affected


# Something changes at the wrong moment.


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_header_edited_during_a_compile_is_not_published_under_the_old_key(moment: str, fresh: Project) -> None:
    """Whether nvcc has read it before or after the change: the next ninja builds what is there now."""
    edit = (
        "[ -e $PROJECT/edited ] || echo '// new' >> $PROJECT/cutlass/include/cutlass/cutlass.h; touch $PROJECT/edited"
    )
    fresh.wrap_nvcc(**{moment: edit})
    fresh.generated()
    old = fresh.profiler("ampere3")
    failed = fresh.built(fails=True)
    header = fresh.path / "cutlass/include/cutlass/cutlass.h"
    assert f"error: {header} changed while it was being compiled; run ninja again\n" in failed.ran.out
    assert (failed.kernels, fresh.leftovers()) == (set(), [])
    assert fresh.rebuilt_by_ninja() == {"ampere3"}
    assert fresh.profiler("ampere3") != old and not old.exists()


EDITED_MEANWHILE = """\
import sys
from cutlass_ninja import buildfile, cli
render = buildfile.render
def edit_and_render(*arguments, **options):
    with open("cutlass/include/cutlass/cutlass.h", "a") as header:
        header.write("// edited\\n")
    return render(*arguments, **options)
buildfile.render = edit_and_render
sys.exit(cli.main(["m.yaml"]))
"""
"""cutlass-ninja, during which a header changes after it was read."""


@pytest.mark.parametrize("next_command", ["ninja", "cutlass-ninja"])
def test_a_header_edited_while_keys_are_computed_is_noticed_by_the_next_command(
    next_command: str, project: Project
) -> None:
    (project.path / "build.ninja").unlink()
    (project.path / "cache/.ninja_log").unlink(missing_ok=True)
    assert project.run(sys.executable, "-c", EDITED_MEANWHILE).code == 0
    assert (project.rebuilt if next_command == "cutlass-ninja" else project.rebuilt_by_ninja)() == ALL


def test_an_environment_that_changed_since_publishes_nothing_under_the_old_key(fresh: Project) -> None:
    """Ninja cannot know of it; the build edge does, and says what to do."""
    fresh.generated()
    changed = {"NVCC_APPEND_FLAGS": "-DX=1"}
    failed = fresh.built(env=changed, fails=True)
    assert failed.kernels == set()
    assert (
        "have changed since build.ninja was written: run cutlass-ninja m.yaml --only '*32x3*', then ninja\n"
        in failed.ran.out
    )
    assert fresh.rebuilt(env=changed) == {"ampere3"}


def test_an_nvcc_replaced_in_place_is_noticed_by_ninja(project: Project, tools: Toolchain) -> None:
    project.wrap_nvcc()
    assert project.rebuilt("--only", ONE) == set()
    updated = f'[ "$1" = --version ] && {tools.nvcc} --version | sed "s/, V[0-9.]*/&.1/" && exit\n'
    project.edit("bin/nvcc", lambda text: text.replace("case", updated + "case", 1))
    assert project.rebuilt_by_ninja() == {"ampere3"}


# Two at once.


def test_two_generators_at_once_write_what_one_writes(original: Project, tmp_path: Path) -> None:
    project = original.copied(tmp_path / "project")
    project.generated()
    written = {name: (project.path / name).read_text() for name in ("build.ninja", "cache/plan.json")}
    for name in ("build.ninja", "cache/plan.json", "cache/index.json"):
        (project.path / name).unlink()
    shutil.rmtree(project.path / "cache/bin")
    command = [sys.executable, "-m", "cutlass_ninja", *project.arguments]
    both = [project.start(*command) for _ in range(4)]
    assert [process.communicate()[1].splitlines()[1:] for process in both] == [["3 kernels: 3 cached, 0 to build"]] * 4
    assert {name: (project.path / name).read_text() for name in written} == written
    assert len(os.listdir(project.path / "cache/bin")) == 3
    assert project.leftovers() == [] and project.built().nothing_to_do


@pytest.mark.parametrize("ninja", NINJAS)
def test_two_ninjas_at_once_compile_each_kernel_once(ninja: str, project: Project) -> None:
    shutil.rmtree(project.path / "cache/kernels")
    project.wrap_nvcc(before=COUNT)
    project.generated()
    both = [project.start(ninja) for _ in range(2)]
    for process in both:
        output = process.communicate()
        assert process.returncode == 0, output
    assert project.count() == 3
    assert set(project.states().values()) == {"cached"}
    assert project.leftovers() == [] and project.built().nothing_to_do


# What is in the cache cannot be trusted.


def truncate(profiler: Path) -> None:
    os.truncate(profiler, 1000)


def flip(profiler: Path) -> None:
    content = bytearray(profiler.read_bytes())
    content[len(content) // 2] ^= 1
    profiler.write_bytes(content)


def lose_permission(profiler: Path) -> None:
    profiler.chmod(0o644)


def lose_record(profiler: Path) -> None:
    profiler.with_name("build.json").unlink()


def garble_record(profiler: Path) -> None:
    os.truncate(profiler.with_name("build.json"), 100)


@pytest.mark.parametrize(
    "damages",
    [
        {
            "ampere3": (truncate, "damaged: profiler has 1000 bytes, not "),
            "ampere4": (flip, "damaged: profiler is not what was built: its sha256 differs"),
            "hopper": (lose_permission, "damaged: profiler is not executable"),
        },
        {
            "ampere3": (Path.unlink, "damaged: profiler is missing"),
            "hopper": (lose_record, "damaged: build.json is missing"),
        },
        {"ampere4": (garble_record, "damaged: build.json cannot be read")},
    ],
    ids=["files", "missing files", "records"],
)
def test_damage_in_a_restored_cache_is_found_and_built_again(
    damages: dict[str, tuple[Callable[[Path], None], str]], original: Project, tmp_path: Path
) -> None:
    project = original.copied(tmp_path / "project")
    for kernel, (damage, _) in damages.items():
        damage(project.profiler(kernel))
    states = project.states()
    for kernel, (_, said) in damages.items():
        assert states.pop(kernel).startswith(said)
    assert set(states.values()) <= {"cached"}
    assert project.rebuilt() == damages.keys()
    assert project.leftovers() == [] and set(project.states().values()) == {"cached"}


# Failures.


def test_a_failure_is_reported_again_but_not_compiled_again(fresh: Project) -> None:
    fresh.wrap_nvcc(before=COUNT)
    header = fresh.path / "cutlass/include/cutlass/cutlass.h"
    good = header.read_text()
    header.write_text(good + "#error not today\n")
    fresh.generated()
    for hint in ("", "recorded; cutlass-ninja --retry-failed m.yaml --only '*32x3*' compiles it again"):
        failed = fresh.built(fails=True).ran.out
        assert "32x3_tn_align8: error: " in failed and "not today" in failed
        assert hint in failed
    assert fresh.count() == 1
    assert fresh.states()["ampere3"].startswith("failed: ")

    fresh.generated("--retry-failed")
    fresh.built(fails=True)
    assert fresh.count() == 2

    header.write_text(good)
    assert fresh.rebuilt_by_ninja() == {"ampere3"}


@pytest.mark.parametrize("victim", ["nvcc", "cicc", "cc1plus"])
def test_a_killed_compile_is_not_remembered_as_a_failure(victim: str, fresh: Project) -> None:
    """A program killed for its memory looks like that, too."""
    fresh.generated()
    for _ in range(10):
        ninja = fresh.start(find_ninja())
        killed = kill(victim, fresh, ninja)
        output = "".join(ninja.communicate())
        if killed and ninja.returncode:
            break
        shutil.rmtree(fresh.path / "cache")
        fresh.generated()
    else:
        pytest.fail(f"{victim} was never caught")
    assert "(not recorded: ninja tries again)" in output
    assert fresh.leftovers() == []
    assert fresh.states() == {"ampere3": "to build"}
    assert fresh.rebuilt_by_ninja() == {"ampere3"}


def kill(name: str, project: Project, ninja: subprocess.Popen[str]) -> bool:
    """Kills the first process of this name that works in the project's scratch folder on a kernel."""
    scratch = str(project.path / "scratch/cutlass")
    while ninja.poll() is None:
        for entry in os.listdir("/proc"):
            try:
                if (
                    entry.isdigit()
                    and Path(f"/proc/{entry}/comm").read_text().strip() == name
                    and os.readlink(f"/proc/{entry}/cwd").startswith(scratch)
                ):
                    os.kill(int(entry), signal.SIGKILL)
                    return True
            except OSError:
                continue
    return False


# Disks.


@contextmanager
def mounted(place: Path, *options: str) -> Iterator[None]:
    """Something mounted at a place, until the end; skips where that is not allowed."""
    place.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, str(place)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not possible here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_scratch_is_said_in_one_line(project: Project) -> None:
    shutil.rmtree(project.profiler("ampere4").parent)
    with mounted(project.path / "scratch", "-t", "tmpfs", "-o", "size=200k", "tmpfs"):
        failed = project.built(fails=True)
        message = [line for line in failed.ran.out.splitlines() if "error:" in line]
        assert len(message) == 1
        assert "no space left on device" in message[0].lower() and "free some space, then run ninja again" in message[0]
        assert project.leftovers() == []
    assert project.states()["ampere4"] == "to build"
    assert project.rebuilt_by_ninja() == {"ampere4"}


def test_a_full_cache_is_said_in_one_line(project: Project, tmp_path: Path) -> None:
    (project.path / "cache").rename(tmp_path / "cache")
    with mounted(project.path / "cache", "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        shutil.copytree(tmp_path / "cache", project.path / "cache", symlinks=True, dirs_exist_ok=True)
        assert project.rebuilt() == set()
        shutil.rmtree(project.profiler("ampere4").parent)
        filler = project.path / "cache/filler"
        with pytest.raises(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

        failed = project.built(fails=True)
        message = [line for line in failed.ran.out.splitlines() if "error:" in line]
        assert len(message) == 1
        assert "cannot write to cache/: No space left on device; free some space" in message[0]

        project.edit("m.yaml", lambda text: text.replace("[3, 4]", "[3, 4, 5]"))
        generated = project.generate("m.yaml")
        assert (generated.code, generated.err) == (
            1,
            "error: cannot write to cache/: No space left on device; free some space, then run ninja again\n",
        )
        assert project.leftovers() == []

        filler.unlink()
        assert project.rebuilt() == {"ampere4", "ampere5"}


def test_a_read_only_cache_that_is_complete_builds_nothing_and_fails_nothing(project: Project) -> None:
    cache = project.path / "cache"
    with mounted(cache, "--bind", str(cache)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(cache)], check=True)
        for ninja in NINJAS:
            assert project.built(ninja=ninja).nothing_to_do
            project.generated()
            os.utime(project.path / "cutlass/include/cutlass/version.h")
            assert project.built(ninja=ninja).nothing_to_do
        # In another's hands the plan of the build differs, but there is nothing to build by it.
        (project.path / "cutlass").rename(project.path / "other")
        project.generated("--cutlass", "other", "--only", ONE)
        assert project.built().nothing_to_do

        project.edit("m.yaml", lambda text: text.replace("[3, 4]", "[3, 4, 5]"))
        failed = project.generate("m.yaml", "--cutlass", "other")
        assert (failed.code, failed.err) == (
            1,
            "error: cannot write to cache/: Read-only file system; "
            "make it writable, or build in another folder with -C\n",
        )


# Paths.


def odd_project(package: Path, places: dict[str, Path]) -> Project:
    """A project of which each part lies in a folder of its own."""
    for place in places.values():
        place.mkdir(parents=True, exist_ok=True)
    parts = Project.create(places["build"].parent / "parts", package)
    inc = places["include_dirs"] / "inc"
    (inc / SWIZZLE).parent.mkdir(parents=True)
    shutil.copy(DATA / "plain_cutlass/include" / SWIZZLE, inc / SWIZZLE)
    (parts.path / "cutlass").rename(places["cutlass"] / "cutlass")
    manifest = places["manifest"] / "m.yaml"
    manifest.write_text(MANIFEST.replace("[inc]", json.dumps([os.path.relpath(inc, places["manifest"])])))
    arguments = [os.path.relpath(manifest, places["build"]), "--only", ONE]
    arguments += ["--cutlass", os.path.relpath(places["cutlass"] / "cutlass", places["build"])]
    return replace(parts, path=places["build"], arguments=tuple(arguments))


@pytest.mark.parametrize("letters", ["a b ä €", "$HOME $$ # % ~", "\"' a:b \\ & ; ( * ? [ {{ x }}"])
def test_any_letters_in_paths_work(letters: str, package: Path, tools: Toolchain, tmp_path: Path) -> None:
    places = {name: tmp_path / letters / name for name in ("build", "manifest", "cutlass", "include_dirs")}
    project = odd_project(package, places)
    assert project.rebuilt() == {"ampere3"}
    assert (project.path / "build.ninja").exists() and project.leftovers() == []
    with open(places["include_dirs"] / "inc" / SWIZZLE, "a") as header:
        header.write("// edited\n")
    assert project.rebuilt_by_ninja() == {"ampere3"}


@pytest.mark.parametrize(
    ("place", "letters"),
    [
        *itertools.product(("manifest", "cutlass", "include_dirs"), ("a\nb", "a|b")),
        *itertools.product(("manifest", "cutlass"), ("a\udcffb",)),  # YAML cannot say that.
    ],
)
def test_letters_that_ninja_cannot_read_are_refused_by_name(
    letters: str, place: str, package: Path, tools: Toolchain, tmp_path: Path
) -> None:
    places = {name: tmp_path / name for name in ("build", "manifest", "cutlass", "include_dirs")}
    places[place] = tmp_path / letters
    refused = (project := odd_project(package, places)).generate(*project.arguments)
    assert refused.code == 2
    assert repr(letters)[1:-1] in refused.err and "Traceback" not in refused.err
    assert os.listdir(project.path) == []


def test_a_build_folder_that_nvcc_cannot_work_in_is_refused_by_name(
    package: Path, tools: Toolchain, tmp_path: Path
) -> None:
    """It hands its folder's path to a shell, in double quotes."""
    for letters in ("a`b", "a$(b)"):
        places = {name: tmp_path / name for name in ("manifest", "cutlass", "include_dirs")}
        project = odd_project(package, {**places, "build": tmp_path / letters / "build"})
        refused = project.generate(*project.arguments)
        assert refused.code == 2
        assert letters in refused.err.splitlines()[-1]
        for place in places.values():
            shutil.rmtree(place)


def test_a_python_in_an_odd_place(fresh: Project, tmp_path: Path) -> None:
    place = tmp_path / "ä venv"
    venv.create(place, symlinks=True)
    packages = ":".join(path for path in sys.path if path.endswith("site-packages"))
    fresh.environment["PYTHONPATH"] = f"{fresh.package}:{packages}"
    generated = fresh.run(str(place / "bin/python"), "-m", "cutlass_ninja", *fresh.arguments)
    assert generated.code == 0, generated.err
    assert str(place) in (fresh.path / "build.ninja").read_text()
    assert fresh.rebuilt_by_ninja() == {"ampere3"}
