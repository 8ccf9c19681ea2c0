"""The build edge: what it publishes, when it refuses to, what it leaves behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import toy_edge

from cutlass_ninja import compile as edge
from cutlass_ninja import jobs, store
from cutlass_ninja.plan import Plan
from cutlass_ninja.toolchain import Toolchain

needs_nvcc = pytest.mark.skipif(not toy_edge.NVCC, reason="there is no nvcc")


@pytest.fixture(autouse=True)
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The build edge builds toys, in an empty build folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Toolchain, "refreshed", Toolchain.refreshed)
    for name in ("Keyer", "commands", "sources"):
        monkeypatch.setattr(jobs, name, getattr(jobs, name))
    toy_edge.patch()
    yield
    assert not os.path.lexists("scratch")
    assert not [name for name in os.listdir("cache") if name.startswith(".")]


def quick(script: str = toy_edge.DESCRIBES, name: str = "toy") -> Plan:
    """The plan of one toy that a shell script compiles, with its runtime library built."""
    made = toy_edge.plan([toy_edge.kernel(name, "@KEY@", toy_edge.script(script))])
    toy_edge.build_runtime(made)
    return made


def run(made: Plan) -> int:
    return edge.main(["kernel", made.kernels[0].key])


def start(made: Plan) -> subprocess.Popen[str]:
    """The edge as a process of its own."""
    command = [sys.executable, toy_edge.__file__, "kernel", made.kernels[0].key]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def folder(made: Plan) -> Path:
    return Path(store.folder(made.kernels[0]))


def record(made: Plan) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder(made) / "build.json").read_text())
    return loaded


def wait_for(condition: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def in_scratch(name: str) -> bool:
    return bool(list(Path("scratch").glob(f"*/{name}")))


def holds(pid: int, path: Path) -> bool:
    """Whether a process has opened a folder."""
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.append(os.readlink(descriptor))
    return str(path.resolve()) in found


@needs_nvcc
def test_publishes_a_profiler_with_all_that_describes_it(capfd: pytest.CaptureFixture[str]) -> None:
    made = toy_edge.plan([toy_edge.kernel()])
    toy_edge.build_runtime(made)

    assert run(made) == 0

    assert sorted(os.listdir(folder(made))) == [
        "build.json",
        "build.log",
        "kernel.h",
        "profiler",
        "profiler.cu",
    ]
    found = record(made)
    assert (found["status"], found["key"], found["label"]) == ("built", made.kernels[0].key, "toy")
    assert found["describe"] == {"name": "toy", "key": made.kernels[0].key}
    assert found["ptxas"]["functions"][0]["registers"] > 0
    assert found["compile_time_s"] > 0 and found["cpu_time_s"] > 0 and found["peak_memory_bytes"] > 10 << 20
    assert found["executable"]["bytes"] == (folder(made) / "profiler").stat().st_size
    assert found["inputs"]["headers"].keys() == {"toy.h"}
    log = (folder(made) / "build.log").read_text()
    assert log.startswith(f"$ {shlex.join(toy_edge.NVCC)} -gencode=arch=compute_80,code=sm_80") and "ptxas info" in log
    assert str(Path.cwd()) not in log
    assert os.readlink("cache/bin/toy") == f"../kernels/toy/{made.kernels[0].key}/profiler"
    assert capfd.readouterr() == ("", "")


def test_what_is_published_has_the_permissions_of_the_umask() -> None:
    previous = os.umask(0o022)
    try:
        made = quick()
        run(made)
    finally:
        os.umask(previous)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder(made), *folder(made).iterdir()]}
    assert modes.pop(made.kernels[0].key) == modes.pop("profiler") == 0o755
    assert set(modes.values()) == {0o644}


def test_what_is_published_is_not_compiled_again() -> None:
    made = quick(toy_edge.DESCRIBES + "; echo compiled >> ../../count")
    assert [run(made), run(made)] == [0, 0]
    assert Path("count").read_text() == "compiled\n"


def test_a_damaged_profiler_is_replaced(capfd: pytest.CaptureFixture[str]) -> None:
    made = quick()
    run(made)
    (folder(made) / "profiler").write_text("#!/bin/sh\n")
    assert run(made) == 0
    assert made.kernels[0].key in (folder(made) / "profiler").read_text()
    assert capfd.readouterr().err == ""


@needs_nvcc
def test_a_failure_is_one_line_and_is_remembered(capfd: pytest.CaptureFixture[str]) -> None:
    source = '#include "toy.h"\n#ifdef __CUDACC__\nstatic_assert(TOY > 1, "Toys must be large");\n#endif\n'
    made = toy_edge.plan([toy_edge.kernel(source=source)])
    toy_edge.build_runtime(made)
    first = (
        f'toy: error: static assertion failed: "Toys must be large" (profiler.cu:3)\n  log: {folder(made)}/build.log\n'
    )

    assert run(made) == 1
    assert capfd.readouterr().err == first
    assert sorted(os.listdir(folder(made))) == ["build.json", "build.log", "kernel.h", "profiler.cu"]
    assert record(made)["status"] == "failed"
    assert not os.path.lexists("cache/bin/toy")

    log = (folder(made) / "build.log").stat()
    assert run(made) == 1
    assert capfd.readouterr().err == first + ("  recorded; cutlass-ninja --retry-failed toys.yaml compiles it again\n")
    assert (folder(made) / "build.log").stat() == log


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -9 $$", "toy: error: sh: killed by signal 9 (not recorded: ninja tries again)\n"),
        ("echo Killed; exit 137", "toy: error: sh: Killed (not recorded: ninja tries again)\n"),
        (
            "echo 'virtual memory exhausted: Cannot allocate memory'; exit 1",
            "toy: error: sh: virtual memory exhausted: Cannot allocate memory (not recorded: ninja tries again)\n",
        ),
        (
            toy_edge.DESCRIBES + "; echo 'kill -9 $$' >> profiler",
            "toy: error: profiler: killed by signal 9 (not recorded: ninja tries again)\n",
        ),
    ],
)
def test_what_the_machine_broke_is_not_remembered(script: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    made = quick(script)
    assert run(made) == 1
    assert capfd.readouterr().err == message
    assert not folder(made).parent.exists()


def test_a_missing_tool_is_the_machines_fault(capfd: pytest.CaptureFixture[str]) -> None:
    made = toy_edge.plan([toy_edge.kernel("toy", "@KEY@", [["no-such-nvcc", "profiler.cu"]])])
    toy_edge.build_runtime(made)
    assert run(made) == 3
    assert capfd.readouterr().err == "toy: error: no-such-nvcc cannot be run: No such file or directory\n"
    assert not folder(made).exists()


def test_a_profiler_of_another_key_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    made = quick(f"echo other > profiler.cu; {toy_edge.DESCRIBES}")
    assert run(made) == 1
    assert "--describe does not print a JSON object with the kernel's key" in capfd.readouterr().err


def test_a_header_changed_before_the_compile(capfd: pytest.CaptureFixture[str]) -> None:
    made = quick("touch ../../compiled")
    Path("toy.h").write_text("#define TOY 2\n")
    assert run(made) == 1
    assert capfd.readouterr().err == (
        "toy: error: headers, tools or environment have changed since build.ninja was written: "
        "run cutlass-ninja toys.yaml, then ninja\n"
    )
    assert not folder(made).exists() and not Path("compiled").exists()


@pytest.mark.parametrize("ending", ["", "; exit 1"])
def test_a_header_changed_during_the_compile(ending: str, capfd: pytest.CaptureFixture[str]) -> None:
    made = quick(f"{toy_edge.DESCRIBES}; echo '#define TOY 2' > include0/toy.h{ending}")
    assert run(made) == 1
    header = Path("toy.h").resolve()
    assert capfd.readouterr().err == (f"toy: error: {header} changed while it was being compiled; run ninja again\n")
    assert not folder(made).exists()


def test_a_header_touched_during_the_compile_costs_another_one() -> None:
    made = quick(
        "echo >> include0/count; test $(wc -l < include0/count) = 3 || touch include0/toy.h; " + toy_edge.DESCRIBES
    )
    assert run(made) == 0
    assert Path("count").read_text() == "\n\n\n"


def test_a_header_touched_all_the_time_is_given_up(capfd: pytest.CaptureFixture[str]) -> None:
    made = quick(f"touch include0/toy.h; {toy_edge.DESCRIBES}")
    assert run(made) == 1
    assert "changed while it was being compiled" in capfd.readouterr().err


def test_two_edges_at_once_compile_once() -> None:
    made = quick(f"{toy_edge.DESCRIBES}; sleep 0.5; echo compiled >> include0/count")
    edges = [start(made) for _ in range(3)]
    assert [process.communicate()[1] for process in edges] == ["", "", ""]
    assert [process.returncode for process in edges] == [0, 0, 0]
    assert Path("count").read_text() == "compiled\n"


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_ends_the_compile_and_leaves_nothing(signum: signal.Signals) -> None:
    made = quick("echo $$ > include0/pid; (sleep 600; touch late) & sleep 600")
    process = start(made)
    wait_for(lambda: Path("pid").exists() and Path("pid").read_text())
    process.send_signal(signum)
    assert process.communicate()[1] == ""
    assert process.returncode == 128 + signum
    assert not os.path.exists(f"/proc/{Path('pid').read_text().strip()}")
    assert not folder(made).parent.exists() and not os.path.exists("scratch")


def test_an_edge_that_waits_for_another_can_be_interrupted() -> None:
    made = quick("touch started; sleep 600")
    first = start(made)
    wait_for(lambda: in_scratch("started"))
    second = start(made)
    wait_for(lambda: holds(second.pid, folder(made)))
    for process, code in ((second, 130), (first, 130)):
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == code


def test_scratch_of_a_killed_edge_is_swept_only_when_its_compiler_has_ended() -> None:
    made = quick(f"test -e include0/second || (touch started; sleep 1.5); {toy_edge.DESCRIBES}")
    process = start(made)
    wait_for(lambda: in_scratch("started"))
    process.kill()
    process.communicate()
    assert not folder(made).joinpath("profiler").exists()

    Path("second").touch()
    assert run(made) == 0
    assert in_scratch("started"), "the compiler that outlived its edge lost its folder"
    wait_for(lambda: run(made) == 0 and not os.path.exists("scratch"))


def test_scratch_is_kept_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made = quick()
    assert edge.main(["kernel", "--keep-scratch", made.kernels[0].key]) == 0
    (kept,) = os.listdir("scratch")
    assert kept.startswith("toy-") and {"profiler.cu", "profiler", "build.log"} <= set(os.listdir(f"scratch/{kept}"))
    monkeypatch.setenv(edge.KEEP, "1")
    run(made)
    assert os.listdir("scratch") == [kept]
    monkeypatch.delenv(edge.KEEP)
    run(made)


def test_a_list_of_kernels_goes_on_after_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    bad = toy_edge.kernel("bad", "@KEY@", toy_edge.script("echo 'x.cu(1): error: no'; exit 2"))
    good = toy_edge.kernel("good", "@KEY@", toy_edge.script(toy_edge.DESCRIBES))
    made = toy_edge.plan([bad, good])
    toy_edge.build_runtime(made)
    assert edge.main(["kernel", *(target.key for target in made.kernels)]) == 1
    assert capfd.readouterr().err.startswith("bad: error: no (x.cu:1)\n")
    assert os.listdir("cache/bin") == ["good"]


def test_without_its_runtime_nothing_is_compiled(capfd: pytest.CaptureFixture[str]) -> None:
    made = toy_edge.plan([toy_edge.kernel("toy", "@KEY@", toy_edge.script(toy_edge.DESCRIBES))])
    assert run(made) == 1
    assert "its runtime library is not there" in capfd.readouterr().err


def test_a_key_that_the_plan_lacks(capfd: pytest.CaptureFixture[str]) -> None:
    quick()
    assert edge.main(["kernel", "0" * 20]) == 1
    assert edge.main(["runtime", "0" * 20]) == 1
    assert capfd.readouterr().err.count("is not in the build's plan; run cutlass-ninja again") == 2


def test_a_runtime_that_fails_is_remembered_too(capfd: pytest.CaptureFixture[str]) -> None:
    made = toy_edge.plan([])
    Path("runtime.cpp").write_text("int f() { return x; }\n")
    for _ in range(2):
        assert edge.main(["runtime", made.runtimes[0].key]) == 1
        message = "runtime for sm_80: error: 'x' was not declared in this scope (src/runtime.cpp:1)\n"
        assert capfd.readouterr().err.startswith(message)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a filesystem takes root")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_scratch_on_another_filesystem(small_disk: Path) -> None:
    made = quick()
    os.symlink(small_disk, "scratch")
    assert run(made) == 0
    assert store.survey(made.kernels)[made.kernels[0].key].status is store.Status.CACHED
    assert os.listdir(small_disk) == []
    os.unlink("scratch")


@pytest.mark.parametrize("where", ["compiler", "edge"])
def test_a_full_scratch(where: str, small_disk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = quick("head -c 4M /dev/zero > big || exit 1" if where == "compiler" else "head -c 4M /dev/zero")
    os.symlink(small_disk, "scratch")
    assert run(made) == 1
    message = capfd.readouterr().err
    assert "no space left on device" in message.lower() and "free some space, then run ninja again" in message
    assert message.count("\n") == 1
    assert not folder(made).exists() and os.listdir(small_disk) == []
    os.unlink("scratch")


def test_a_full_cache(small_disk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.symlink(small_disk, "cache")
    made = quick(f"{toy_edge.DESCRIBES}; head -c 4M /dev/zero >> profiler")
    assert run(made) == 1
    assert capfd.readouterr().err == (
        "toy: error: cannot write to cache/: No space left on device; free some space, then run ninja again\n"
    )
    assert not folder(made).exists()


def test_a_read_only_cache_that_is_complete(small_disk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.symlink(small_disk, "cache")
    made = quick()
    run(made)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert run(made) == 0
    assert capfd.readouterr().err == ""
    Path("toy.h").write_text("#define TOY 3\n")
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    other = toy_edge.plan([toy_edge.kernel("other", "@KEY@", toy_edge.script(toy_edge.DESCRIBES))])
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert run(other) == 1
    assert "cannot write to cache/: Read-only file system; make it writable" in capfd.readouterr().err
