"""The command line: what it prints, where, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import CONFIGS, ROOT, BuildFolder
from kernels import AMPERE, HOPPER, with_values
from test_results import put, result

from cutlass_ninja import __version__, arch, cli, memory, toolchain
from cutlass_ninja.arch import ARCHS
from cutlass_ninja.errors import MachineError
from cutlass_ninja.toolchain import Toolchain

NAME = "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x3_tn_align8"
ARCH_NAMES = f"one of native, {', '.join(ARCHS)}"
SEE_HELP = "(see cutlass-ninja --help)"
ROW = [
    "label", "name", "operation", "arch", "key", "state", "reason", "path", "compile", "compile_reason", "config",
]  # fmt: skip

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command in an empty folder with two manifests; gives its exit code, stdout and stderr."""
    (tmp_path / "ampere.yaml").write_text(AMPERE)
    (tmp_path / "hopper.yaml").write_text(HOPPER)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path)  # The command itself changes to the build folder.
        code = cli.main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has no compilers."""

    def find(*arguments: object, **options: object) -> Toolchain:
        raise MachineError("error: no nvcc was found; get it")

    monkeypatch.setattr(toolchain, "find", find)


WRONG_CALLS = [
    ([], f"error: the following arguments are required: MANIFEST {SEE_HELP}"),
    (
        ["--memory", "much", "ampere.yaml"],
        "error: argument --memory: 'much' is no size; write bytes, or 500M or 10G (powers of 1000), or 10Gi (of 1024) "
        + SEE_HELP,
    ),
    (
        ["--memory", "64", "ampere.yaml"],
        f"error: argument --memory: '64': expected at least 1.0 GB, which nvcc needs {SEE_HELP}",
    ),
    (["--colour", "ampere.yaml"], f"error: unrecognized arguments: --colour {SEE_HELP}"),
    (["ampere.yaml", "-C"], f"error: argument -C: expected one argument {SEE_HELP}"),
    (["nowhere.yaml"], "nowhere.yaml: error: no such file"),
    (["chek", "ampere.yaml"], "error: 'chek' is neither a command nor a manifest; did you mean 'check'?"),
    (["docter"], "error: 'docter' is neither a command nor a manifest; did you mean 'doctor'?"),
    (["check"], "error: the following arguments are required: MANIFEST (see cutlass-ninja check --help)"),
    (["list", "--template=x", "ampere.yaml"], "error: unrecognized arguments: --template=x (see cutlass-ninja list --help)"),
    (
        ["--arch", "sm_80a", "ampere.yaml"],
        f"error: argument --arch: unknown architecture 'sm_80a'; did you mean sm_80? ({ARCH_NAMES}) {SEE_HELP}",
    ),
    (
        ["--arch", "sm_80,hopper", "ampere.yaml"],
        f"error: argument --arch: unknown architecture 'hopper' ({ARCH_NAMES}) {SEE_HELP}",
    ),
    (["-C", "ampere.yaml", "ampere.yaml"], "error: -C ampere.yaml: File exists; name a folder"),
    (["list", "-C", "nowhere", "ampere.yaml"], "error: -C nowhere: there is no such folder"),
    (
        ["--only", NAME.replace("align8", "align4"), "ampere.yaml"],
        f"error: --only {NAME.replace('align8', 'align4')} matches none of the 1 kernels; did you mean {NAME}?",
    ),
    (["--only", "*conv*", "ampere.yaml"], "error: --only *conv* matches none of the 1 kernels"),
    (["--template", "nowhere.in", "ampere.yaml"], "nowhere.in: error: No such file or directory; --template names a build.ninja.in"),
    (["--template", ".", "ampere.yaml"], ".: error: Is a directory; --template names a build.ninja.in"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), WRONG_CALLS)
def test_wrong_calls_are_one_line(arguments: list[str], message: str, call: Call, tools: Toolchain) -> None:
    code, out, err = call(*arguments)
    assert (code, out, err.replace(tools.summary() + "\n", "")) == (2, "", message + "\n")
    assert not os.path.exists("build.ninja")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{% for pool in pools %}\n{{ pool",
            "2: error: unexpected end of template, expected 'end of print statement'.",
        ),
        ("{{ colour }}", " error: 'colour' is undefined"),
    ],
)
@pytest.mark.usefixtures("tools")
def test_a_wrong_template_is_named(template: str, message: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / "my.in").write_text(template)
    code, out, err = call("--template", "my.in", "ampere.yaml")
    assert (code, out, err.splitlines()[-1]) == (2, "", f"my.in:{message}")
    assert not os.path.exists("build.ninja")


@pytest.mark.usefixtures("tools")
def test_a_template_of_ones_own(call: Call, tmp_path: Path) -> None:
    text = (ROOT / "build.ninja.in").read_text()
    (tmp_path / "my.in").write_text(text + "# mine\n")
    assert call("--template", "my.in", "ampere.yaml")[0] == 0
    build = Path("build.ninja").read_text()
    assert build.endswith("# mine\n")
    assert "--template my.in" in build


@pytest.mark.usefixtures("tools")
def test_memory_is_what_the_user_says(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "cores", lambda: 16)
    depths = []
    for size in ("5G", "500G"):
        assert call("--memory", size, "hopper.yaml")[0] == 0
        build = Path("build.ninja").read_text()
        depths.append(int(re.search(r"pool heavy\n  depth = (\d+)", build)[1]))  # type: ignore[index]
        assert f"--memory {size.replace('G', '000000000')}" in build
    assert depths == [1, 18]


@pytest.mark.usefixtures("tools")
def test_no_word_of_it_is_a_command_of_its_own(call: Call, tmp_path: Path) -> None:
    """A manifest may be called as a command nearly is."""
    (tmp_path / "chek").write_text(AMPERE)
    assert call("chek")[0] == 0


def test_help_and_version(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, expected in ((["--version"], f"cutlass-ninja {__version__}\n"), (["--help"], "usage: ")):
        with pytest.raises(SystemExit) as caught:
            call(*arguments)
        said = capsys.readouterr()
        assert (caught.value.code, said.err) == (0, "")
        assert said.out.startswith(expected)
    assert "check MANIFEST..." in said.out
    assert "exit codes: 0 fine; 1 the work failed; 2 wrong input or call; 3 the machine lacks something" in said.out


def test_python_m_is_the_same_command(folder: BuildFolder) -> None:
    for command in (
        [sys.executable, "-m", "cutlass_ninja"],
        [os.path.join(os.path.dirname(sys.executable), "cutlass-ninja")],
    ):
        if os.path.exists(command[0]):
            ran = folder.run(*command, "--version")
            assert (ran.code, ran.out, ran.err) == (0, f"cutlass-ninja {__version__}\n", "")


def test_check_counts_and_writes_nothing(call: Call) -> None:
    assert call("check", "ampere.yaml", "hopper.yaml")[:2] == (0, "2 kernels, 0 problems\n")
    config = str(CONFIGS / "gemm.yaml")
    code, out, err = call("check", "--arch", "sm_86", config)
    assert (code, out) == (0, "6 kernels, 3 problems\n")
    assert err.count(f"{config}:") == 2 and "skipped 1 of 1 members" in err
    assert sorted(os.listdir()) == ["ampere.yaml", "hopper.yaml"]


def test_check_says_where_a_manifest_is_wrong(call: Call, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(with_values(AMPERE, layout="tx", operation="gem"))
    code, out, err = call("check", "wrong.yaml", "ampere.yaml")
    assert (code, out) == (2, "")
    assert err.startswith("wrong.yaml:3:16: error: operation: unknown operation 'gem'; did you mean 'gemm'?")


@pytest.mark.usefixtures("no_tools")
def test_check_needs_no_compiler(call: Call) -> None:
    assert call("check", "ampere.yaml") == (0, "1 kernel, 0 problems\n", "")


def test_generating_says_what_there_is_to_do(call: Call, tools: Toolchain) -> None:
    code, out, err = call("ampere.yaml", "hopper.yaml")
    assert (code, out, err) == (0, "", f"{tools.summary()}\n2 kernels: 0 cached, 2 to build\n")
    assert sorted(os.listdir()) == ["ampere.yaml", "build.ninja", "cache", "compile_commands.json", "hopper.yaml"]


@pytest.mark.usefixtures("tools")
def test_a_second_run_writes_no_file_anew(call: Call) -> None:
    call("ampere.yaml")
    names = ("build.ninja", "compile_commands.json", "cache/plan.json")
    before = [os.stat(name).st_ino for name in names]
    assert call("ampere.yaml")[0] == 0
    assert [os.stat(name).st_ino for name in names] == before


@pytest.mark.usefixtures("tools")
def test_another_folder_is_made_and_found_again(call: Call, tmp_path: Path) -> None:
    assert call("-C", "deep/build", "ampere.yaml")[0] == 0
    build = (tmp_path / "deep" / "build" / "build.ninja").read_text()
    assert " ../../ampere.yaml\n" in build
    assert sorted(os.listdir(tmp_path)) == ["ampere.yaml", "deep", "hopper.yaml"]


@pytest.mark.usefixtures("tools")
def test_json_rows_are_stable(call: Call) -> None:
    code, out, _ = call("--json", "--arch", "sm_86", "ampere.yaml")
    assert code == 0
    (row,) = json.loads(out)
    assert list(row) == ROW
    assert (row["label"], row["name"], row["operation"], row["arch"]) == (NAME, NAME, "gemm", "sm_86")
    assert (row["state"], row["reason"]) == ("to build", "")
    assert row["path"] == f"cache/kernels/{NAME}/{row['key']}/profiler"
    assert (row["compile"], row["compile_reason"]) == ("batched", "")
    assert row["config"]["threadblock_shape"] == [64, 64, 32]
    assert json.loads(call("list", "--json", "--arch", "sm_86", "ampere.yaml")[1]) == [row]


@pytest.mark.usefixtures("tools")
def test_list_is_one_line_a_kernel(call: Call) -> None:
    rows = json.loads(call("list", "--json", "ampere.yaml", "hopper.yaml")[1])
    code, out, err = call("list", "ampere.yaml", "hopper.yaml")
    assert (code, err) == (0, "")
    assert out.splitlines() == [f"to build  {row['key']} {row['label']}" for row in rows]
    assert sorted(os.listdir()) == ["ampere.yaml", "hopper.yaml"]


@pytest.mark.usefixtures("no_tools")
def test_list_without_a_toolchain_still_lists(call: Call) -> None:
    why = "error: no nvcc was found; get it\nkeys and states are not known without it\n"
    assert call("list", "ampere.yaml") == (0, f"unknown   {'-':<20} {NAME}\n", why)
    code, out, err = call("list", "--json", "ampere.yaml")
    (row,) = json.loads(out)
    assert (code, err, list(row)) == (0, why, ROW)
    assert (row["key"], row["state"], row["path"], row["compile"]) == (None, "unknown", None, None)


@pytest.mark.usefixtures("no_tools")
def test_generating_without_a_toolchain_is_the_machines_fault(call: Call) -> None:
    assert call("ampere.yaml") == (3, "", "error: no nvcc was found; get it\n")
    assert not os.path.exists("build.ninja")


def test_only_keeps_what_matches_any_glob(call: Call) -> None:
    def labels(*arguments: str) -> list[str]:
        return [row["label"] for row in json.loads(call("list", "--json", *arguments, "ampere.yaml", "hopper.yaml")[1])]

    assert labels("--only", "*16816*") == [NAME]
    assert len(labels("--only", "*16816*", "--only", "cutlass3x*")) == 2


@pytest.mark.usefixtures("tools")
def test_one_kernel_for_several_architectures(call: Call) -> None:
    rows = json.loads(call("list", "--json", "--arch", "sm_80,sm_86", "--arch", "sm_90a", "ampere.yaml")[1])
    assert [(row["label"], row["arch"]) for row in rows] == [
        (f"{NAME}-{name}", name) for name in ("sm_80", "sm_86", "sm_90a")
    ]
    assert len({row["key"] for row in rows}) == 3


def test_the_same_manifest_twice_is_one(call: Call) -> None:
    assert len(json.loads(call("list", "--json", "ampere.yaml", "./ampere.yaml")[1])) == 1


def test_native_without_a_gpu(call: Call, tmp_path: Path) -> None:
    try:
        arch.native()
    except MachineError:
        (tmp_path / "native.yaml").write_text(with_values(AMPERE, arch="native"))
        expected = "error: arch native: no GPU was found (nvidia-smi gave none); name the architecture instead, for example --arch sm_80"
        for arguments in (["--arch", "native", "ampere.yaml"], ["native.yaml"], ["check", "native.yaml"]):
            code, out, err = call(*arguments)
            assert (code, out) == (3, "")
            assert err.startswith(expected) and err.count("\n") == 1
        assert call("check", "--arch", "sm_80", "native.yaml")[0] == 0
    else:
        pytest.skip("this machine has a GPU")


def test_doctor_lists_what_was_found(call: Call, tools: Toolchain) -> None:
    code, out, err = call("doctor")
    assert (code, err) == (0, "")
    findings = {line[:14].strip(): line[15:] for line in out.splitlines()}
    assert list(findings) == ["python", "ninja", "nvcc", "cudart", "host compiler", "CUTLASS", "memory", "GPU"]
    assert findings["nvcc"].endswith(f"({tools.nvcc})")
    code, out, err = call("doctor", "--nvcc", "/nowhere")
    assert code == 3
    assert "missing        --nvcc: there is no nvcc at /nowhere; correct it, or leave it out\n" in out


def test_doctor_knows_a_ninja_that_is_not_on_path(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    assert "ninja          missing; get it: pip install ninja\n" in call("doctor")[1]
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "ninja").touch()
    code, out, _ = call("doctor")
    assert code == 3
    assert f"ninja          not on PATH, but {tmp_path}/venv/ninja is there: activate its virtual environment\n" in out


@pytest.mark.usefixtures("tools")
def test_a_reader_that_goes_away_is_no_error(folder: BuildFolder) -> None:
    command = [sys.executable, "-m", "cutlass_ninja", "list", "--json", str(CONFIGS / "gemm_sm80.yaml")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as listing:
        assert listing.stdout and listing.stderr
        listing.stdout.readline()
        listing.stdout.close()
        assert listing.stderr.read() == ""
    assert listing.returncode == 141


def test_the_end_of_the_program_loses_no_output(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "cutlass_ninja", "check", str(CONFIGS / "gemm_sm80.yaml")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    shell = f"{shlex.join(program)} > out; echo $? >> out; {shlex.join(program)} >&-; echo $? >> out"
    subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=environment, check=True)
    said, code, closed = (tmp_path / "out").read_text().splitlines()
    assert (said.split()[1], code, closed) == ("kernels,", "0", "0")
    ending_early = f"{{ {shlex.join(program)}; echo $? > out; }} | true"
    done = subprocess.run(["sh", "-c", ending_early], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert done.stderr == b""
    assert (tmp_path / "out").read_text() in ("141\n", "0\n")  # 0 if it wrote before the reader ended.


def test_output_for_which_there_is_no_room_is_one_line(folder: BuildFolder) -> None:
    put(str(folder.path / "cache/results.sqlite"), *(result(m=m) for m in range(1, 100)))
    command = f"{sys.executable} -m cutlass_ninja results > /dev/full"
    ran = folder.run("sh", "-c", command)
    assert (ran.code, ran.err) == (1, "error: No space left on device; make room, or write elsewhere\n")
