"""Where the compilers and CUTLASS are looked for, and what is said when they are not there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from kernels import AMPERE

from cutlass_ninja import cli, toolchain
from cutlass_ninja.errors import MachineError
from cutlass_ninja.toolchain import Toolchain

GET_NVCC = "get it: pip install 'nvidia-cuda-nvcc==13.*' 'nvidia-cuda-cccl==13.*'"
GET_CUTLASS = "get it: pip install 'nvidia-cutlass==4.*'"
OLD_NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release 12.3, V12.3.107'\n"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable names a tool."""
    for variable in ("CUDA_HOME", "CUDA_PATH", "CUTLASS_PATH", "NVCC_CCBIN"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def toolkit(tmp_path: Path, tools: Toolchain) -> Callable[..., Path]:
    """Makes a toolkit's folder, whose nvcc is this machine's unless a script is given."""

    def make(name: str, script: str = f'#!/bin/sh\nexec {tools.nvcc} "$@"\n') -> Path:
        nvcc = tmp_path / name / "bin" / "nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text(script)
        nvcc.chmod(0o755)
        return tmp_path / name

    return make


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[..., Path]:
    """Makes a CUTLASS checkout, as far as it is looked at."""

    def make(name: str, version: str = "4.1.0") -> Path:
        header = tmp_path / name / "include" / "cutlass" / "version.h"
        header.parent.mkdir(parents=True)
        macros = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
        header.write_text("".join(f"#define CUTLASS_{macro} {number}\n" for macro, number in macros))
        return tmp_path / name

    return make


@pytest.fixture
def cutlass_wheel(checkout: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """CUTLASS is installed."""
    place = str(checkout("wheel-of-cutlass"))
    monkeypatch.setattr(toolchain, "installed_cutlass", lambda: place)


@pytest.fixture
def only_cxx(tmp_path: Path) -> str:
    """A PATH on which there is g++ and nothing else."""
    (tmp_path / "cxx").mkdir()
    (tmp_path / "cxx" / "g++").symlink_to(str(shutil.which("g++")))
    return str(tmp_path / "cxx")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed on this machine."""
    monkeypatch.setattr(toolchain, "installed_nvcc", lambda: None)
    monkeypatch.setattr(toolchain, "installed_cutlass", lambda: None)
    monkeypatch.setattr(toolchain, "_CUDA_FOLDER", "/nowhere/cuda")


def problems(*arguments: str | None, **environ: str) -> list[str]:
    with pytest.raises(MachineError) as caught:
        toolchain.find(*arguments, environ=environ)
    assert caught.value.exit_code == 3
    return str(caught.value).splitlines()


@pytest.mark.usefixtures("cutlass_wheel")
def test_nvcc_is_looked_for_in_this_order(
    toolkit: Callable[..., Path], only_cxx: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    option, home, path, on_path, wheel, usual = map(str, map(toolkit, ("o", "h", "p", "on_path", "wheel", "usual")))
    monkeypatch.setattr(toolchain, "installed_nvcc", lambda: f"{wheel}/bin/nvcc")
    monkeypatch.setattr(toolchain, "_CUDA_FOLDER", usual)
    environ = {"CUDA_HOME": home, "CUDA_PATH": path, "PATH": f"{on_path}/bin:{only_cxx}"}
    assert toolchain.find(option, environ=environ).nvcc == f"{option}/bin/nvcc"
    for expected in (home, path):
        assert toolchain.find(environ=environ).nvcc == f"{expected}/bin/nvcc"
        del environ["CUDA_HOME" if expected == home else "CUDA_PATH"]
    assert toolchain.find(environ=environ).nvcc == f"{on_path}/bin/nvcc"
    environ["PATH"] = only_cxx
    assert toolchain.find(environ=environ).nvcc == f"{wheel}/bin/nvcc"
    monkeypatch.setattr(toolchain, "installed_nvcc", lambda: None)
    assert toolchain.find(environ=environ).nvcc == f"{usual}/bin/nvcc"


@pytest.mark.usefixtures("cutlass_wheel")
def test_nvcc_may_be_named_in_three_ways(
    toolkit: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, only_cxx: str
) -> None:
    nvcc = str(toolkit("cuda") / "bin" / "nvcc")
    monkeypatch.chdir(tmp_path)
    for name in (nvcc, "cuda", "cuda/bin/nvcc"):
        assert toolchain.find(name, environ={"PATH": only_cxx}).nvcc == nvcc
    monkeypatch.setenv("PATH", f"{tmp_path}/cuda/bin:{os.environ['PATH']}")
    assert toolchain.find("nvcc").nvcc == nvcc


def test_the_installed_wheels_are_a_whole_toolchain(only_cxx: str) -> None:
    installed = toolchain.installed_nvcc()
    if installed is None or toolchain.installed_cutlass() is None:
        pytest.skip("the cuda extra is not installed")
    found = toolchain.find(environ={"PATH": only_cxx})
    assert found.nvcc == installed
    assert os.path.dirname(found.cudart).startswith(os.path.dirname(os.path.dirname(installed)))
    assert found.identity["cudart"] and found.identity["cub"]


@pytest.mark.usefixtures("cutlass_wheel", "tools")
def test_a_named_nvcc_must_be_there(tmp_path: Path, only_cxx: str) -> None:
    assert problems("/nowhere/nvcc", PATH=only_cxx) == [
        "error: --nvcc: there is no nvcc at /nowhere/nvcc; correct it, or leave it out"
    ]
    assert problems(str(tmp_path), PATH=only_cxx) == [
        f"error: --nvcc: there is no nvcc at {tmp_path}/bin/nvcc; correct it, or leave it out"
    ]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        assert problems(PATH=only_cxx, **{variable: "/nowhere"}) == [
            f"error: {variable}: there is no nvcc at /nowhere/bin/nvcc; correct it, or leave it out"
        ]


@pytest.mark.usefixtures("cutlass_wheel")
def test_an_old_nvcc_is_refused(toolkit: Callable[..., Path], only_cxx: str) -> None:
    nvcc = toolkit("old", OLD_NVCC) / "bin" / "nvcc"
    assert problems(str(nvcc), PATH=only_cxx) == [
        f"error: {nvcc} is nvcc 12.3.107; 12.4 or later is needed; {GET_NVCC}"
    ]


@pytest.mark.usefixtures("cutlass_wheel")
def test_an_old_nvcc_on_path_does_not_hide_a_newer_one(
    toolkit: Callable[..., Path], only_cxx: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, newer = toolkit("old", OLD_NVCC) / "bin", toolkit("newer") / "bin" / "nvcc"
    monkeypatch.setattr(toolchain, "_CUDA_FOLDER", "/nowhere")
    monkeypatch.setattr(toolchain, "installed_nvcc", lambda: str(newer))
    assert toolchain.find(environ={"PATH": f"{old}:{only_cxx}"}).nvcc == str(newer)
    monkeypatch.setattr(toolchain, "installed_nvcc", lambda: None)
    (line,) = problems(PATH=f"{old}:{only_cxx}")
    assert line.startswith(f"error: {old}/nvcc is nvcc 12.3.107; 12.4 or later is needed; get it: ")


@pytest.mark.usefixtures("cutlass_wheel")
@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "no script", "#!/nowhere/sh\n"])
def test_what_is_no_nvcc_is_refused(script: str, toolkit: Callable[..., Path], only_cxx: str) -> None:
    nvcc = toolkit("broken", script) / "bin" / "nvcc"
    (line,) = problems(str(nvcc), PATH=only_cxx)
    assert line.startswith(f"error: {nvcc} is no working nvcc") and line.endswith(GET_NVCC)


def test_an_architecture_that_nvcc_does_not_know(tools: Toolchain) -> None:
    old = Toolchain(tools.nvcc, tools.host_compiler, tools.cutlass, tools.cudart, {"nvcc": "12.4.131 build"})
    with pytest.raises(MachineError) as caught:
        toolchain.check_archs(old, [toolchain.Arch("sm_100a", 0, (12, 8))])
    assert str(caught.value) == f"error: sm_100a needs nvcc 12.8 or later; {tools.nvcc} is 12.4.131; {GET_NVCC}"


@pytest.mark.usefixtures("tools")
def test_cutlass_is_looked_for_in_this_order(checkout: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    option, variable, manifest, wheel = (checkout(name) for name in ("option", "variable", "manifest", "wheel"))
    monkeypatch.setattr(toolchain, "installed_cutlass", lambda: str(wheel))
    environ = {**os.environ, "CUTLASS_PATH": str(variable)}

    def found(*arguments: str | None) -> tuple[str, ...]:
        return toolchain.find(None, *arguments, environ=environ).cutlass

    assert found(str(option), str(manifest)) == (str(option / "include"),)
    assert found(None, str(manifest)) == (str(variable / "include"),)
    environ["CUTLASS_PATH"] = ""
    assert found(None, str(manifest)) == (str(manifest / "include"),)
    assert found() == (str(wheel / "include"),)


@pytest.mark.usefixtures("tools")
def test_cutlass_may_be_a_checkout_or_its_include_folder(checkout: Callable[..., Path]) -> None:
    for place in (checkout("one"), checkout("other") / "include"):
        found = toolchain.find(None, str(place))
        assert found.cutlass == (str(place if place.name == "include" else place / "include"),)
        assert found.identity["cutlass"] == "4.1.0"


@pytest.mark.usefixtures("tools")
def test_a_named_cutlass_must_be_there(tmp_path: Path) -> None:
    rest = f"{tmp_path} holds no CUTLASS (no include/cutlass/version.h); name its checkout"
    environ = dict(os.environ)
    assert problems(None, str(tmp_path), **environ) == [f"error: --cutlass: {rest}"]
    assert problems(**environ, CUTLASS_PATH=str(tmp_path)) == [f"error: CUTLASS_PATH: {rest}"]
    assert problems(None, None, str(tmp_path), **environ) == [f"error: the manifest's cutlass: {rest}"]


@pytest.mark.usefixtures("tools")
def test_an_old_cutlass_is_refused(checkout: Callable[..., Path]) -> None:
    place = checkout("old", "3.4.1")
    assert problems(None, str(place), **os.environ) == [
        f"error: --cutlass: {place} is CUTLASS 3.4.1; 3.5 or later is needed; {GET_CUTLASS}"
    ]
    assert toolchain.find(None, str(checkout("oldest", "3.5.0"))).identity["cutlass"] == "3.5.0"


@pytest.mark.usefixtures("tools")
def test_a_version_h_without_a_version_is_no_crash(checkout: Callable[..., Path]) -> None:
    place = checkout("odd", "")
    (line,) = problems(None, str(place), **os.environ)
    assert line.startswith(f"error: --cutlass: {place} is CUTLASS ") and line.endswith(GET_CUTLASS)


@pytest.mark.usefixtures("cutlass_wheel", "tools")
def test_the_host_compiler_is_gxx_or_what_nvcc_ccbin_names(tmp_path: Path) -> None:
    gxx = str(shutil.which("g++"))
    assert toolchain.find(environ={**os.environ, "NVCC_CCBIN": ""}).host_compiler == gxx
    other = tmp_path / "other" / "g++"
    other.parent.mkdir()
    other.symlink_to(gxx)
    for named in (str(other), str(other.parent)):
        assert toolchain.find(environ={**os.environ, "NVCC_CCBIN": named}).host_compiler == str(other)
    assert problems(**os.environ, NVCC_CCBIN="/nowhere/g++") == [
        "error: NVCC_CCBIN: there is no compiler at /nowhere/g++; correct it, or unset it"
    ]


@pytest.mark.usefixtures("bare")
def test_all_that_is_missing_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("manifest.yaml").write_text(AMPERE)
    assert cli.main(["manifest.yaml"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        f"error: no nvcc was found (--nvcc, CUDA_HOME, CUDA_PATH, PATH, PyPI's wheels, /nowhere/cuda); {GET_NVCC}",
        "error: CUTLASS was not found (--cutlass, CUTLASS_PATH, the manifest, the installed nvidia-cutlass); "
        + GET_CUTLASS,
        "error: no host compiler (g++) was found on PATH; get it: apt-get install g++",
    ]
    assert os.listdir() == ["manifest.yaml"]

    assert cli.main(["doctor"]) == 3
    missing = [line for line in capsys.readouterr().out.splitlines() if line.startswith("missing")]
    assert len(missing) == 3 and all("get it: " in line for line in missing)


def test_the_commands_get_what_the_extra_gets() -> None:
    extra = (ROOT / "pyproject.toml").read_text().partition("\ncuda = [")[2].partition("]")[0]
    named = set(re.findall(r"'([\w-]+)==", GET_NVCC + GET_CUTLASS))
    assert named == {"nvidia-cuda-nvcc", "nvidia-cuda-cccl", "nvidia-cutlass"}
    assert named <= set(re.findall(r'"([\w-]+)>=', extra))


def test_what_was_found_is_one_line(tools: Toolchain) -> None:
    assert re.fullmatch(
        rf"nvcc \d+\.\d+\.\d+ \({tools.nvcc}\), host compiler .+ \({re.escape(tools.host_compiler)}\), "
        rf"CUTLASS \d+\.\d+\.\d+ \({tools.cutlass[0]}\)",
        tools.summary(),
    )
