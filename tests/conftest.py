"""What the tests share: the tools of this machine, and builds of real kernels."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cutlass_ninja import arch, store, toolchain
from cutlass_ninja.errors import MachineError
from cutlass_ninja.plan import Plan
from cutlass_ninja.toolchain import Toolchain

ROOT = Path(__file__).parent.parent
CONFIGS = ROOT / "configs"


def pytest_configure() -> None:
    """A shell's background job ignores Ctrl-C, and would hand that on to everything that the tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Tests marked `gpu` skip, with the reason, where there is none."""
    try:
        arch.native()
    except MachineError as error:
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason=str(error)))


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class BuildFolder:
    """A folder in which cutlass-ninja and ninja are run as a user would."""

    path: Path

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> Ran:
        """Runs a command here, with these variables on top of the environment."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
        done = subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True)
        return Ran(done.returncode, done.stdout, done.stderr)

    def generate(self, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
        """Runs cutlass-ninja."""
        return self.run(sys.executable, "-m", "cutlass_ninja", *arguments, env=env)

    def ninja(self, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
        """Runs ninja."""
        return self.run(find_ninja(), *arguments, env=env)

    def write(self, name: str, text: str) -> str:
        """Leaves a file here; gives its name."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def profilers(self) -> list[Path]:
        """The profilers in the cache, sorted."""
        return sorted(self.path.glob("cache/kernels/*/*/profiler"))


def find_ninja() -> str:
    """The ninja beside this Python, or else on PATH."""
    found = shutil.which("ninja", path=os.path.dirname(sys.executable)) or shutil.which("ninja")
    assert found, "ninja is a dependency of cutlass-ninja"
    return found


@pytest.fixture
def folder(tmp_path: Path) -> BuildFolder:
    """An empty build folder."""
    return BuildFolder(tmp_path)


@pytest.fixture(scope="session")
def tools() -> Toolchain:
    """This machine's toolchain; without one the test skips."""
    try:
        return toolchain.find()
    except MachineError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory, tools: Toolchain) -> Callable[..., BuildFolder]:
    """Builds a manifest's text with real nvcc, with further arguments of cutlass-ninja: each once in a session.

    The runtime libraries, which take much longer than a kernel, are built once for all the session's processes.
    """
    built: dict[tuple[str, ...], BuildFolder] = {}
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "runtimes"

    def build_once(text: str, *arguments: str) -> BuildFolder:
        asked = (text, *arguments)
        if asked not in built:
            folder = BuildFolder(tmp_path_factory.mktemp("build"))
            folder.write("manifest.yaml", text)
            generated = folder.generate("manifest.yaml", *arguments)
            assert generated.code == 0, generated.err
            share_runtimes(folder, shared)
            compiled = folder.ninja()
            assert compiled.code == 0, compiled.out
            built[asked] = folder
        return built[asked]

    return build_once


def share_runtimes(folder: BuildFolder, shared: Path) -> None:
    """Copies the runtime libraries of a build from `shared`, or builds them and leaves a copy there."""
    shared.mkdir(exist_ok=True)
    for runtime in Plan.read(folder.path / store.PLAN).runtimes:
        own = folder.path / store.folder(runtime)
        with open(shared / f"{runtime.key}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (shared / runtime.key).exists():
                shutil.copytree(shared / runtime.key, own)
                continue
            compiled = folder.ninja(f"{store.folder(runtime)}/{store.LIBRARY}")
            assert compiled.code == 0, compiled.out
            shutil.copytree(own, shared / runtime.key)
