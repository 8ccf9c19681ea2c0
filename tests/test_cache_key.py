"""`cutlass-ninja cache-key`: equal content, equal name; what differs, and how much, differs in the name."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import BuildFolder
from kernels import AMPERE, HOPPER
from plain import DATA

from cutlass_ninja.toolchain import Toolchain

NAME = re.compile(r"(cutlass-ninja-\w+-nvcc[\d.]+-cutlass[\d.]+-[0-9a-f]{8}-)([0-9a-f]{20})\n")


@pytest.fixture
def folder(tmp_path: Path, tools: Toolchain) -> BuildFolder:
    """A folder with manifests, and a CUTLASS of a dozen headers."""
    shutil.copytree(DATA / "plain_cutlass", tmp_path / "cutlass")
    folder = BuildFolder(tmp_path)
    folder.write("ampere.yaml", AMPERE)
    folder.write("hopper.yaml", HOPPER)
    return folder


def name(folder: BuildFolder, *arguments: str, env: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The prefix and the content."""
    ran = folder.generate("cache-key", *(arguments or ("ampere.yaml",)), env={"CUTLASS_PATH": "cutlass", **(env or {})})
    assert (ran.code, ran.err) == (0, "")
    found = NAME.fullmatch(ran.out)
    assert found, ran.out
    return found[1], found[2]


def test_it_is_one_word_that_names_the_tools(folder: BuildFolder, tools: Toolchain) -> None:
    prefix, _ = name(folder)
    nvcc = tools.identity["nvcc"].split()[0]
    assert prefix.startswith(f"cutlass-ninja-{os.uname().machine}-nvcc{nvcc}-cutlass4.2.0-")


def test_the_prefix_is_what_the_key_begins_with(folder: BuildFolder) -> None:
    ran = folder.generate("cache-key", "ampere.yaml", "--restore-prefix", env={"CUTLASS_PATH": "cutlass"})
    assert ran.out == name(folder)[0] + "\n"


def test_what_makes_no_other_profilers_makes_no_other_key(folder: BuildFolder, tmp_path: Path) -> None:
    before = name(folder)
    folder.write("ampere.yaml", "# A comment.\n" + AMPERE + "problems: [{m: 1, n: 8, k: 8}]\n")
    folder.write("cutlass/include/cutlass/unused.h", "")
    os.utime(folder.path / "cutlass/include/cutlass/cutlass.h", (1, 1))
    assert name(folder) == before

    shutil.copytree(folder.path, tmp_path / "else where")
    assert name(BuildFolder(tmp_path / "else where")) == before
    assert name(folder, "ampere.yaml", "--cutlass", str(tmp_path / "else where/cutlass")) == before


def test_the_order_of_manifests_does_not_count(folder: BuildFolder) -> None:
    both = name(folder, "ampere.yaml", "hopper.yaml")
    assert name(folder, "hopper.yaml", "ampere.yaml") == both
    assert len({both[1], name(folder)[1], name(folder, "hopper.yaml")[1]}) == 3


def test_other_kernels_have_the_same_prefix(folder: BuildFolder) -> None:
    names = [name(folder)]
    folder.write("ampere.yaml", AMPERE.replace("stages: 3", "stages: 4"))
    names.append(name(folder))
    folder.write("cutlass/include/cutlass/cutlass.h", "#pragma once\n// edited\n")
    names.append(name(folder))
    names.append(name(folder, "ampere.yaml", "--arch", "sm_86"))
    names.append(name(folder, "ampere.yaml", "--arch", "sm_80,sm_86"))
    assert len({prefix for prefix, _ in names}) == 1
    assert len({content for _, content in names}) == 5


def test_other_tools_have_another_prefix(folder: BuildFolder, tools: Toolchain) -> None:
    names = [name(folder), name(folder, env={"NVCC_APPEND_FLAGS": "-lineinfo"})]
    version = folder.path / "cutlass/include/cutlass/version.h"
    version.write_text(version.read_text().replace("MINOR 2", "MINOR 3"))
    names.append(name(folder))
    compiler = folder.path / "g++"
    version_line = "[ \"$1\" = --version ] && exec echo 'g++ (Other) 99.1.0'"
    compiler.write_text(f'#!/bin/sh\n{version_line}\nexec {tools.host_compiler} "$@"\n')
    compiler.chmod(0o755)
    names.append(name(folder, env={"NVCC_CCBIN": str(compiler)}))
    assert len({prefix for prefix, _ in names}) == 4
    assert len({content for _, content in names}) == 4


def test_the_real_headers_reinstalled_elsewhere(folder: BuildFolder, tools: Toolchain) -> None:
    include = folder.path / "a new/include"
    shutil.copytree(tools.cutlass[0], include, copy_function=shutil.copy)
    installed = name(folder, "ampere.yaml", "hopper.yaml", env={"CUTLASS_PATH": tools.cutlass[0]})
    assert name(folder, "ampere.yaml", "hopper.yaml", env={"CUTLASS_PATH": str(include)}) == installed


def test_without_a_compiler(folder: BuildFolder) -> None:
    ran = folder.generate("cache-key", "ampere.yaml", "--nvcc", "/nowhere")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: --nvcc: there is no nvcc at /nowhere")


def test_it_needs_a_manifest(folder: BuildFolder) -> None:
    ran = folder.generate("cache-key")
    assert (ran.code, ran.out) == (2, "")
    assert "MANIFEST" in ran.err


def test_the_help_documents_the_parts(folder: BuildFolder) -> None:
    ran = folder.generate("cache-key", "--help")
    assert (ran.code, ran.err) == (0, "")
    for part in ("<machine>", "<release>", "<version>", "<tools>", "<content>", "restore-keys"):
        assert part in ran.out


def test_the_way_of_compiling_makes_other_profilers(folder: BuildFolder) -> None:
    prefix, content = name(folder, "ampere.yaml", "--compile", "single")
    assert (prefix, content) != name(folder)
    assert prefix == name(folder)[0]
