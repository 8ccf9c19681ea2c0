"""Scratch folders: who may remove them, and when."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cutlass_ninja import scratch
from cutlass_ninja.errors import BuildError


@pytest.fixture(autouse=True)
def build_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_of_ones_own_is_gone_afterwards(build_folder: Path) -> None:
    with scratch.hold("gemm") as first, scratch.hold("gemm") as second:
        assert first.path != second.path
        assert Path(first.path).parent == build_folder / "scratch"
        assert Path(first.path).name.startswith("gemm-")
        Path(first.path, "file").touch()
    assert os.listdir() == []


def test_it_is_gone_after_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), scratch.hold("gemm"):
        raise ZeroDivisionError
    assert os.listdir() == []


def test_it_stays_when_asked_until_it_is_swept() -> None:
    with scratch.hold("gemm", keep=True) as held:
        pass
    assert os.path.isdir(held.path)
    scratch.sweep()
    assert os.listdir() == []


def test_a_sweep_takes_what_is_dead_and_spares_what_is_alive() -> None:
    os.makedirs("scratch/dead/tmp")
    Path("scratch/stray").touch()
    os.symlink("/", "scratch/link")
    os.makedirs("cache/.stage-dead/out")
    os.makedirs("cache/kernels")
    with scratch.hold("gemm") as held, scratch.stage() as staged:
        scratch.sweep()
        assert os.listdir("scratch") == [os.path.basename(held.path)]
        assert sorted(os.listdir("cache")) == [os.path.basename(staged.path), "kernels"]
    assert sorted(os.listdir()) == ["cache"] and os.listdir("cache") == ["kernels"]
    assert os.path.isdir("/proc")


def test_a_child_keeps_it_alive() -> None:
    with scratch.hold("gemm", keep=True) as held:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[held.descriptor])
    scratch.sweep()
    assert os.path.isdir(held.path)
    child.communicate()
    scratch.sweep()
    assert os.listdir() == []


def test_the_clean_edge_sweeps_and_says_nothing() -> None:
    os.makedirs("scratch/dead")
    for module in ("types", "json", "cutlass_ninja"):  # What lies in the build folder is not imported.
        Path(f"{module}.py").write_text("raise SystemExit('imported')")
    command = [sys.executable, str(Path(scratch.__file__).parent / "edge"), "clean"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == done.stderr == b""
    assert sorted(os.listdir()) == ["cutlass_ninja.py", "json.py", "types.py"]
    subprocess.run(command, check=True)


def test_scratch_may_lie_elsewhere(tmp_path: Path) -> None:
    os.mkdir("elsewhere")
    os.symlink("elsewhere", "scratch")
    with scratch.hold("gemm"):
        assert len(os.listdir("elsewhere")) == 1
    scratch.sweep()
    assert (os.listdir("elsewhere"), os.readlink("scratch")) == ([], "elsewhere")


def test_names_may_be_long() -> None:
    with scratch.hold("x" * 300) as held:
        assert os.path.isdir(held.path)


def test_a_scratch_that_cannot_be_made_is_said() -> None:
    os.symlink("nowhere", "scratch")
    with (
        pytest.raises(BuildError, match=r"^error: cannot write to scratch/: File exists"),
        scratch.hold("gemm"),
    ):
        pass


def test_many_at_once_do_not_get_into_each_others_way() -> None:
    program = (
        "from cutlass_ninja import scratch; import os\n"
        "for _ in range(150):\n"
        "    scratch.sweep()\n"
        "    with scratch.hold('k') as held:\n"
        "        os.mkdir(held.path + '/tmp')\n"
        "        open(held.path + '/tmp/file', 'w').close()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(scratch.__file__).parent.parent)}
    children = [subprocess.Popen([sys.executable, "-c", program], env=environment) for _ in range(4)]
    assert [child.wait() for child in children] == [0, 0, 0, 0]
    assert os.listdir() == []
