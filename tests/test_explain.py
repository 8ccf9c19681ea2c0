"""`cutlass-ninja explain`: what it says is what was changed, on kernels that compile in a second."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran
from plain import MANIFEST, Project, copy_package

from cutlass_ninja import differences
from cutlass_ninja.differences import Change
from cutlass_ninja.toolchain import Toolchain

NAME = "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x3_tn_align8"
OTHER = "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x4_tn_align8"
ONE_KERNEL = MANIFEST.partition("  - arch: sm_90a")[0].replace("stages: [3, 4]", "stages: 3")
WITH_FLAGS = ONE_KERNEL.replace("kernels:\n", "nvcc_flags: [-Xptxas, -O3, -DA=1]\nkernels:\n", 1)

MOMENT = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, tools: Toolchain) -> Project:
    """A project of one kernel that is built, with a cutlass-ninja of its own; not to be changed."""
    package = tmp_path_factory.mktemp("package")
    project = Project.create(tmp_path_factory.mktemp("original") / "project", copy_package(package), WITH_FLAGS)
    assert project.rebuilt() == {"ampere3"}
    return project


@pytest.fixture
def project(original: Project, tmp_path: Path) -> Project:
    """A project of one kernel that is built."""
    return original.copied(tmp_path / "project")


@pytest.fixture
def own_package(project: Project, tmp_path: Path) -> Project:
    """The same with a copy of cutlass-ninja that may be changed."""
    return Project(project.path, copy_package(tmp_path / "package"), arguments=project.arguments)


def explain(project: Project, *arguments: str, env: dict[str, str] | None = None) -> str:
    ran = project.generate("explain", *(arguments or (NAME,)), env=env)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def explained(project: Project, *arguments: str) -> dict[str, Any]:
    (found,) = json.loads(explain(project, NAME, "--json", *arguments))
    loaded: dict[str, Any] = found
    return loaded


def changes(project: Project, env: dict[str, str] | None = None) -> list[str]:
    """The lines on what changed."""
    lines = explain(project, env=env).splitlines()
    assert re.fullmatch(r"  to build: key [0-9a-f]{20}", lines[1])
    assert re.fullmatch(rf"  changed since key [0-9a-f]{{20}}, built {MOMENT} in [\d.]+ s:", lines[2])
    return [line.strip() for line in lines[3 : lines.index("  made of:")]]


def test_a_cached_kernel(project: Project) -> None:
    lines = explain(project).splitlines()
    assert lines[0] == NAME
    assert re.fullmatch(rf"  cached: key [0-9a-f]{{20}}, built {MOMENT} in [\d.]+ s", lines[1])
    made_of = dict(re.findall(r"^    (\w+(?: \w+)?)  +(.*)$", "\n".join(lines[3:]), re.MULTILINE))
    assert lines[2] == "  made of:"
    assert list(made_of) == ["toolchain", "flags", "link flags", "sources", "headers", "runtime"]
    assert re.fullmatch(
        r"machine \w+, nvcc [\d.]+, cudart \d+, CUB \d+, host compiler .*, CUTLASS 4\.2\.0", made_of["toolchain"]
    )
    assert made_of["flags"].endswith("-gencode=arch=compute_80,code=sm_80 -Xptxas -O3 -DA=1")
    assert re.fullmatch(r"\d+, digest [0-9a-f]{20}", made_of["headers"])


def test_a_kernel_that_was_never_built(tmp_path: Path, original: Project) -> None:
    project = Project.create(tmp_path / "project", original.package, ONE_KERNEL)
    project.generated()
    lines = explain(project).splitlines()
    assert re.fullmatch(r"  to build: key [0-9a-f]{20}; never built here", lines[1])
    assert lines[2] == "  made of:"


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


SINGLE = [
    "compile batched -> single",
    "header removed cutlass/arch/arch.h",
    "header removed cutlass/arch/wmma.h",
    "header removed cutlass_ninja/host_stubs.h",
]
"""What goes with a flag that is not known to compile the same in halves."""

EDITS = [
    (
        "a header",
        [("cutlass/include/cutlass/gemm/kernel/default_gemm.h", lambda text: text + "// edited\n")],
        ["header cutlass/gemm/kernel/default_gemm.h changed"],
    ),
    (
        "one more header",
        [
            (
                "cutlass/include/cutlass/gemm/kernel/default_gemm.h",
                replaced("#pragma once", '#include "cutlass/numeric.h"'),
            )
        ],
        ["header cutlass/gemm/kernel/default_gemm.h changed", "header added cutlass/numeric.h"],
    ),
    (
        "CUTLASS's version",
        [("cutlass/include/cutlass/version.h", replaced("MINOR 2", "MINOR 3"))],
        ["CUTLASS 4.2.0 -> 4.3.0", "header cutlass/version.h changed"],
    ),
    (
        "another optimisation",
        [("m.yaml", replaced("-Xptxas, -O3", "-Xptxas, -O2"))],
        ["flag -O3 -> -O2"],
    ),
    ("one more flag", [("m.yaml", replaced("-DA=1", "-DA=1, -lineinfo"))], ["flag added -lineinfo", *SINGLE]),
    ("one flag less", [("m.yaml", replaced(", -DA=1", ""))], ["flag removed -DA=1"]),
    (
        "a value of the manifest",
        [("m.yaml", replaced("layout: tn", "layout: tn\n    swizzling_functor: Identity4"))],
        ["config swizzling_functor Identity8 -> Identity4", "source kernel.h changed"],
    ),
    (
        "several things",
        [
            ("m.yaml", replaced("-DA=1", "-DA=2")),
            ("cutlass/include/cutlass/cutlass.h", lambda text: text + "// edited\n"),
        ],
        ["flag -DA=1 -> -DA=2", "header cutlass/cutlass.h changed"],
    ),
]


@pytest.mark.parametrize(("edits", "expected"), [edit[1:] for edit in EDITS], ids=[edit[0] for edit in EDITS])
def test_what_changed(edits: list[tuple[str, Callable[[str], str]]], expected: list[str], project: Project) -> None:
    project.write("cutlass/include/cutlass/numeric.h", "#pragma once\n")
    for file, change in edits:
        project.edit(file, change)
    assert changes(project) == expected
    # The same after a generate, whose plan is the new one, but not after a build.
    project.generated()
    assert changes(project) == expected


def test_a_header_in_front_of_another(project: Project) -> None:
    project.write("inc/cutlass/cutlass.h", (project.path / "cutlass/include/cutlass/cutlass.h").read_text() + "\n")
    assert changes(project) == ["header cutlass/cutlass.h changed"]


def test_the_environment(project: Project) -> None:
    changed = {"NVCC_APPEND_FLAGS": "-lineinfo"}
    assert changes(project, env=changed) == ["environment NVCC_APPEND_FLAGS unset -> '-lineinfo'", *SINGLE]
    assert "    environment  NVCC_APPEND_FLAGS=-lineinfo\n" in explain(project, NAME, env=changed)


def test_other_compilers(project: Project, tmp_path: Path) -> None:
    for name, real, version in (
        ("nvcc", "nvcc", "sed 's/V13.[0-9.]*/V13.9.7/; s/release 13.[0-9]*/release 13.9/'"),
        ("g++", "g++", "sed 's/^g++ .*/g++ (Other) 99.1.0/'"),
    ):
        found = tools_path(project, real)
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && {{ {found} --version | {version}; exit; }}\nexec {found} "$@"\n'
        )
        script.chmod(0o755)
    env = {"NVCC_CCBIN": str(tmp_path / "bin/g++")}
    ran = project.generate("explain", NAME, "--nvcc", str(tmp_path / "bin/nvcc"), env=env)
    assert re.search(r"^ +nvcc 13\.[\d.]+ -> 13\.9\.7$", ran.out, re.MULTILINE), ran.out + ran.err
    assert re.search(r"^ +host compiler .* -> \(Other\) 99\.1\.0$", ran.out, re.MULTILINE)


def tools_path(project: Project, name: str) -> str:
    tools = json.loads((project.path / "cache/plan.json").read_text())["toolchain"]
    path: str = {"nvcc": tools["nvcc"], "g++": tools["host_compiler"]}[name]
    return path


def test_a_template(own_package: Project) -> None:
    templates = list(own_package.package.glob("cutlass_ninja/templates/**/kernel.h"))
    for template in templates:
        template.write_text(template.read_text() + "// edited\n")
    assert templates
    assert changes(own_package) == ["source kernel.h changed"]


def test_the_runtime(own_package: Project) -> None:
    (own_package.package / "cutlass_ninja/runtime/src/more.cpp").write_text("int more;\n")
    source = own_package.package / "cutlass_ninja/runtime/src/profile.cpp"
    source.write_text(source.read_text() + "// edited\n")
    assert changes(own_package) == ["runtime added src/more.cpp", "runtime src/profile.cpp changed"]


def test_a_runtime_that_is_gone(own_package: Project) -> None:
    (own_package.package / "cutlass_ninja/runtime/src/more.cpp").write_text("int more;\n")
    for record in own_package.path.glob("cache/runtime/*/build.json"):
        record.unlink()
    (line,) = changes(own_package)
    assert re.fullmatch(r"runtime [0-9a-f]{20} -> [0-9a-f]{20}", line)


def test_back_to_what_was_is_cached(project: Project) -> None:
    header = "cutlass/include/cutlass/cutlass.h"
    text = (project.path / header).read_text()
    project.edit(header)
    assert changes(project) == ["header cutlass/cutlass.h changed"]
    project.write(header, text)
    assert "\n  cached: key " in explain(project)


def test_the_latest_of_the_most_like_is_compared(project: Project) -> None:
    first = explained(project)
    other = project.path / "cache/kernels" / NAME / ("0" * 20)
    other.mkdir()

    def record(**values: object) -> None:
        path = project.path / "cache/kernels" / NAME / first["key"] / "build.json"
        like = {**json.loads(path.read_text()), "key": "0" * 20, **values}
        (other / "build.json").write_text(json.dumps(like))

    project.edit("m.yaml", replaced(", -DA=1", ""))
    for values, compared in (
        ({"built_at": "2001-01-01T00:00:00Z"}, first["key"]),
        ({"built_at": "2999-01-01T00:00:00Z"}, "0" * 20),
        ({"built_at": "2999-01-01T00:00:00Z", "arch": "sm_90"}, first["key"]),
        ({"built_at": "2999-01-01T00:00:00Z", "config": {}}, first["key"]),
        ({"built_at": "2999-01-01T00:00:00Z", "label": "x"}, first["key"]),
        ({"built_at": "2999-01-01T00:00:00Z", "status": "failed"}, first["key"]),
    ):
        record(**values)
        assert explained(project)["before"]["key"] == compared
    (other / "build.json").write_text("{")
    assert explained(project)["before"]["key"] == first["key"]


def test_a_failed_kernel(project: Project) -> None:
    project.edit("cutlass/include/cutlass/cutlass.h", lambda text: text + "#error not today\n")
    project.generated()
    project.built(fails=True)
    lines = explain(project).splitlines()
    assert re.fullmatch(r"  failed: .*not today.*", lines[1])
    assert re.fullmatch(rf"  log: cache/kernels/{NAME}/[0-9a-f]{{20}}/build\.log", lines[2])
    assert re.fullmatch(rf"  key [0-9a-f]{{20}}, tried {MOMENT}", lines[3])
    assert lines[4].startswith("  changed since key ")
    assert lines[5] == "    header cutlass/cutlass.h changed"
    found = explained(project)
    assert (found["state"], (project.path / found["log"]).is_file()) == ("failed", True)


def test_a_damaged_kernel(project: Project) -> None:
    (profiler,) = project.profilers()
    profiler.write_text("")
    lines = explain(project).splitlines()
    assert re.fullmatch(r"  damaged: profiler has 0 bytes, not \d+", lines[1])
    assert re.fullmatch(r"  key [0-9a-f]{20}, is built again", lines[2])


def test_json(project: Project) -> None:
    found = explained(project)
    assert list(found) == [
        "label",
        "name",
        "operation",
        "arch",
        "key",
        "state",
        "reason",
        "log",
        "built_at",
        "compile_time_s",
        "before",
        "changes",
        "config",
        "ingredients",
    ]
    assert (found["state"], found["before"], found["changes"]) == ("cached", None, [])
    assert found["ingredients"]["headers"]["cutlass/cutlass.h"]

    project.edit("m.yaml", replaced(", -DA=1", ""))
    changed = explained(project)
    assert changed["changes"] == [
        {"kind": "flag", "name": "", "old": "-DA=1", "new": None, "text": "flag removed -DA=1"}
    ]
    assert changed["before"] == {"key": found["key"], "built_at": found["built_at"]}
    assert (changed["state"], changed["built_at"], changed["log"]) == ("to build", None, None)


def test_manifests_are_those_of_the_call_if_it_names_any(project: Project) -> None:
    project.write("other.yaml", ONE_KERNEL.replace("stages: 3", "stages: 4"))
    assert explain(project, OTHER, "other.yaml").startswith(f"{OTHER}\n  to build: ")
    assert refused(project, NAME, "other.yaml").err == (
        f"error: none of the 1 kernels is called {NAME}; did you mean {OTHER}?\n"
    )


def test_another_folder(project: Project) -> None:
    (project.path / "away").mkdir()
    away = Project(project.path / "away", project.package)
    assert explain(away, NAME, "-C", "..") == explain(project)
    assert explain(away, NAME, "../m.yaml", "-C", "..") == explain(project)
    assert "never built here" in explain(away, NAME, "../m.yaml")


def test_a_name_that_several_kernels_share(project: Project) -> None:
    project.edit("m.yaml", replaced("arch: sm_80", "arch: [sm_80, sm_90]"))
    assert [line for line in explain(project).splitlines() if not line.startswith(" ")] == [
        f"{NAME}-sm_80",
        f"{NAME}-sm_90",
    ]
    assert explain(project, f"{NAME}-sm_90").startswith(f"{NAME}-sm_90\n")
    assert "  cached: " in explain(project, f"{NAME}-sm_80")


def refused(project: Project, *arguments: str) -> Ran:
    ran = project.generate("explain", *arguments)
    assert (ran.code, ran.out) == (2, "")
    return ran


def test_wrong_calls(project: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    empty = Project(tmp_path / "empty", project.package)
    near = NAME.replace("align8", "align4")
    assert refused(project, near).err == f"error: none of the 1 kernels is called {near}; did you mean {NAME}?\n"
    assert refused(project, "something").err == "error: none of the 1 kernels is called something\n"
    assert refused(empty, NAME).err == (
        "error: here is no build (cache/plan.json is missing or of another version); name manifests, "
        "or its folder with -C\n"
    )
    assert refused(project, NAME, "-C", "none").err == "error: -C none: there is no such folder\n"
    assert "KERNEL" in refused(project).err


def test_a_build_without_its_manifest(project: Project) -> None:
    (project.path / "m.yaml").unlink()
    assert refused(project, NAME).err.startswith("m.yaml: error: ")


def test_it_writes_nothing(project: Project) -> None:
    def files() -> dict[Path, int]:
        return {path: path.lstat().st_mtime_ns for path in project.path.rglob("*")}

    before = files()
    explain(project)
    assert files() == before


INGREDIENTS = {
    "format": 1,
    "toolchain": {"nvcc": "13.0.88 build_1", "host_compiler": "(Debian) 12.2.0", "cutlass": "4.1.0"},
    "environment": {"CPATH": "/a"},
    "flags": ["-O3", "-maxrregcount", "64", "-DA"],
    "link_flags": ["-s"],
    "sources": {"kernel.h": "1", "description": "2"},
    "headers": {"a.h": "1"},
}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({}, []),
        ({"format": 2}, ["key format 1 -> 2"]),
        ({"flags": ["-O2", "-maxrregcount", "64", "-DA"]}, ["flag -O3 -> -O2"]),
        ({"flags": ["-O3", "-maxrregcount", "128", "-DA"]}, ["flag -maxrregcount 64 -> -maxrregcount 128"]),
        ({"flags": ["-O3", "-DA"]}, ["flag removed -maxrregcount 64"]),
        ({"flags": ["-O3", "-maxrregcount", "64", "-DA", "-DA"]}, ["flag added -DA"]),
        (
            {"flags": ["-DA", "-O3", "-maxrregcount", "64"]},
            ["flag -O3 -maxrregcount 64 -DA -> -DA -O3 -maxrregcount 64"],
        ),
        ({"link_flags": []}, ["link flag removed -s"]),
        ({"environment": {}}, ["environment CPATH '/a' -> unset"]),
        ({"environment": {"CPATH": "/b c"}}, ["environment CPATH '/a' -> '/b c'"]),
        (
            {"toolchain": {"nvcc": "13.0.88 build_2", "host_compiler": "(Debian) 12.3.0", "cutlass": "4.2.0"}},
            [
                "nvcc 13.0.88 build_1 -> 13.0.88 build_2",
                "host compiler (Debian) 12.2.0 -> (Debian) 12.3.0",
                "CUTLASS 4.1.0 -> 4.2.0",
            ],
        ),
        ({"toolchain": {**INGREDIENTS["toolchain"], "nvcc": "13.1.20 build_2"}}, ["nvcc 13.0.88 -> 13.1.20"]),
        ({"toolchain": {**INGREDIENTS["toolchain"], "cub": "30"}}, ["CUB added 30"]),
        ({"headers": {}}, ["header removed a.h"]),
        ({"sources": {"kernel.h": "1", "description": "3"}}, ["source description changed"]),
        (
            {"sources": {"kernel.h": "2", "description": "2", "new.h": "3"}},
            ["source kernel.h changed", "source added new.h"],
        ),
    ],
)
def test_differences(new: dict[str, Any], expected: list[str]) -> None:
    found = differences.of_kernels(INGREDIENTS, {**INGREDIENTS, **new}, {}, {})
    assert [str(change) for change in found] == expected


def test_differences_of_configs() -> None:
    old = {"stages": 3, "tile": [64, 64, 32], "gone": None, "flag": True}
    new = {"stages": 4, "tile": [64, 128, 32], "flag": False, "more": "x"}
    sources = {"sources": {"kernel.h": "1", "description": "3"}}
    assert [str(change) for change in differences.of_kernels(INGREDIENTS, {**INGREDIENTS, **sources}, old, new)] == [
        "config stages 3 -> 4",
        "config tile 64x64x32 -> 64x128x32",
        "config flag true -> false",
        "config added more x",
    ]


def test_differences_from_a_record_of_another_version() -> None:
    found = differences.of_kernels({}, INGREDIENTS, {}, {})
    assert Change("key format", "", None, "1") in found


def test_flags_of_the_halves() -> None:
    """Those that are no flags of nvcc, too, are told."""

    def ingredients(flags: list[str], host: list[str], ptxas: list[str]) -> dict[str, object]:
        others: dict[str, object] = {name: {} for name in ("toolchain", "environment", "sources", "headers")}
        return {**others, "format": 2, "link_flags": [], "flags": flags, "host_flags": host, "ptxas_flags": ptxas}

    old = ingredients(["-DA=1"], ["-O1", "-DA=1"], ["-v"])
    new = ingredients(["-DA=2"], ["-O2", "-DA=2"], ["-v", "-w"])
    found = [str(change) for change in differences.of_kernels(old, new, {}, {})]
    assert found == ["flag -DA=1 -> -DA=2", "host flag -O1 -> -O2", "ptxas flag added -w"]
