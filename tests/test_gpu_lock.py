"""Whether sweeps keep off each other's GPUs, and only off those."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from cutlass_ninja import gpu_lock
from cutlass_ninja.contenders import Gpu
from cutlass_ninja.results import Place

GPUS = [Gpu(ordinal, Place("Fake GPU", f"GPU-{ordinal}", "580.1", "13.0")) for ordinal in range(3)]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_gpu_is_waited_for_until_it_is_free() -> None:
    said: list[str] = []
    waits, had = threading.Event(), threading.Event()

    def hear(line: str) -> None:
        said.append(line)
        waits.set()

    def measure() -> None:
        with gpu_lock.hold([GPUS[2], GPUS[1]], hear):
            had.set()

    with gpu_lock.hold(GPUS[:2], said.append):
        other = threading.Thread(target=measure)
        other.start()
        assert waits.wait(30) and not had.wait(0.3)
    other.join(30)
    assert had.is_set()
    assert said == ["waiting: another cutlass-ninja measures on GPU 1 (Fake GPU)"]


def test_other_gpus_are_not_waited_for() -> None:
    said: list[str] = []
    with gpu_lock.hold(GPUS[:1], said.append), gpu_lock.hold(GPUS[1:], said.append):
        assert said == []


def test_the_file_is_any_users(temporary: Path) -> None:
    umask = os.umask(0o077)
    try:
        with gpu_lock.hold(GPUS[:1], print):
            assert (temporary / "cutlass-ninja-GPU-0.lock").stat().st_mode & 0o777 == 0o444
    finally:
        os.umask(umask)


def test_what_cannot_be_locked_is_not_waited_for(temporary: Path) -> None:
    said: list[str] = []
    (temporary / "cutlass-ninja-GPU-0.lock").symlink_to("elsewhere")
    with gpu_lock.hold(GPUS[:2], said.append), gpu_lock.hold(GPUS[:1], said.append):
        pass
    line = (
        f"nothing keeps other sweeps off GPU 0: {temporary}/cutlass-ninja-GPU-0.lock: Too many levels of symbolic links"
    )
    assert said == [line, line]
    assert not (temporary / "elsewhere").exists()


def test_a_missing_folder_is_no_error(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("tempfile.tempdir", str(temporary / "nowhere"))
    with gpu_lock.hold(GPUS[:1], said.append):
        (line,) = said
    assert line.endswith("nowhere/cutlass-ninja-GPU-0.lock: No such file or directory")
