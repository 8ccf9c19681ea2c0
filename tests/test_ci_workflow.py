"""The example workflow, played: its own commands, run in fresh clones with freshly installed headers.

What GitHub does is played, too: checkout copies a repository, pip copies cutlass-ninja and CUTLASS to a new place, and
actions/cache keeps tar files by name.
"""

from __future__ import annotations

import compileall
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

import pytest
import yaml
from conftest import ROOT, find_ninja
from plain import DATA, MANIFEST, copy_package

from cutlass_ninja.toolchain import Toolchain

WORKFLOW = yaml.safe_load((ROOT / "examples/github-actions.yml").read_text())
STEPS = WORKFLOW["jobs"]["build"]["steps"]

TWO_KERNELS = "kernels:\n" + "\n".join(
    line for line in MANIFEST.partition("kernels:\n")[2].partition("  - arch: sm_90a")[0].splitlines()
)
THREE_KERNELS = TWO_KERNELS.replace("stages: [3, 4]", "stages: [3, 4, 6]")
ONE_FAILS = TWO_KERNELS.replace("stages: [3, 4]", "stages: [3, 5, 6]")

PIP = """\
#!/bin/sh
[ "$1 $2" = "install cutlass-ninja[cuda]" ] || exit 1
cp -r {cutlass} {place}/cutlass
cp -r {package} {place}/package
printf '#!/bin/sh\\nexec {python} -m cutlass_ninja "$@"\\n' > {place}/bin/cutlass-ninja
chmod +x {place}/bin/cutlass-ninja
ln -s {ninja} {place}/bin/ninja
"""

Touch = Callable[[Path], None]


def keep_times(path: Path) -> None:
    pass


def set_to_now(path: Path) -> None:
    os.utime(path, follow_symlinks=False)


def set_at_random(path: Path) -> None:
    moment = random.Random(path.name).randrange(2_000_000_000)
    os.utime(path, (moment, moment), follow_symlinks=False)


@dataclass
class Caches:
    """What actions/cache keeps between jobs, oldest first."""

    folder: Path
    saved: dict[str, Path] = field(default_factory=dict)
    touch: Touch = keep_times

    def save(self, key: str, path: Path) -> None:
        assert key not in self.saved, "a name cannot be saved to twice"
        assert re.fullmatch(r"[^,\s]{1,512}", key)
        self.saved[key] = self.folder / f"{len(self.saved)}.tar"
        with tarfile.open(self.saved[key], "w") as tar:
            tar.add(path, "cache")

    def restore(self, key: str, prefixes: list[str], place: Path) -> str | None:
        """The name of what was restored: the first that matches exactly, or else the newest that begins so."""
        found = next((name for name in [key] if name in self.saved), None)
        for prefix in [key, *prefixes]:
            found = found or next((name for name in reversed(self.saved) if name.startswith(prefix)), None)
        if found:
            with tarfile.open(self.saved[found]) as tar:
                tar.extractall(
                    place, **({"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {})
                )
            for path in [place / "cache", *(place / "cache").rglob("*")]:
                self.touch(path)
        return found


@dataclass
class Job:
    """One run of the workflow, in a place of its own."""

    place: Path
    run_id: int
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By id or name: output, outcome, and outputs."""
    restored: str | None = None
    saved: str | None = None

    @property
    def clone(self) -> Path:
        return self.place / "clone"

    @property
    def compiled(self) -> int:
        """How many kernels ninja had compiled."""
        batches = re.findall(r"\] CUTLASS \S+(?: and (\d+) more)?", self.steps["build"]["output"])
        return sum(1 + int(more or 0) for more in batches)

    @property
    def failed(self) -> bool:
        return any(step["outcome"] == "failure" for step in self.steps.values())

    def evaluate(self, expression: str) -> Any:
        """An expression of the workflow; those that it uses are Python but for their operators and contexts."""

        def look_up(found: re.Match[str]) -> str:
            context, *names = found[0].split(".")
            value: Any = {"steps": self.steps, "github": {"run_id": self.run_id, "run_attempt": 1}}[context]
            for name in names:
                value = value.get(name, "") if isinstance(value, dict) else ""
            return repr(value)

        python = re.sub(r"\b(?:steps|github)\.[\w.-]+", look_up, expression).replace("&&", "and").replace("||", "or")
        functions = {"always": lambda: True, "success": lambda: not self.failed, "format": str.format}
        return eval(python, {"__builtins__": {}}, functions)

    def text(self, value: str) -> str:
        return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(self.evaluate(found[1].strip())), value)

    def play(self, repository: Path, caches: Caches) -> Job:
        for step in STEPS:
            condition = step.get("if", "success()")
            if not (
                self.evaluate(condition) if "always()" in condition else self.evaluate(f"success() && {condition}")
            ):
                self.note(step, "skipped")
            elif "run" in step:
                self.run(step)
            else:
                self.use(step, repository, caches)
        return self

    def run(self, step: dict[str, Any]) -> None:
        outputs = self.place / "outputs"
        outputs.write_text("")
        environment = {
            **os.environ,
            "PATH": f"{self.place}/bin:{os.environ['PATH']}",
            "PYTHONPATH": f"{self.place}/package",
            "CUTLASS_PATH": f"{self.place}/cutlass",
            "GITHUB_OUTPUT": str(outputs),
        }
        command = ["bash", "-e", "-c", self.text(step["run"])]
        ran = subprocess.run(command, cwd=self.clone, env=environment, capture_output=True, text=True)
        pairs = [line.split("=", 1) for line in outputs.read_text().splitlines()]
        self.note(step, "failure" if ran.returncode else "success", ran.stdout + ran.stderr, dict(pairs))

    def use(self, step: dict[str, Any], repository: Path, caches: Caches) -> None:
        action, inputs = step["uses"].partition("@")[0], step.get("with", {})
        outputs = {}
        if action == "actions/checkout":
            shutil.copytree(repository, self.clone)
        elif action == "actions/cache/restore":
            prefixes = self.text(inputs["restore-keys"]).split()
            self.restored = caches.restore(self.text(inputs["key"]), prefixes, self.clone)
            outputs["cache-hit"] = "true" if self.restored == self.text(inputs["key"]) else ""
        elif action == "actions/cache/save":
            self.saved = self.text(inputs["key"])
            caches.save(self.saved, self.clone / inputs["path"])
        else:
            assert action == "actions/setup-python"
        self.note(step, "success", outputs=outputs)

    def note(self, step: dict[str, Any], outcome: str, output: str = "", outputs: dict[str, str] | None = None) -> None:
        named = step.get("id") or step.get("name") or step["uses"]
        self.steps[named] = {"outcome": outcome, "output": output, "outputs": outputs or {}}


@dataclass
class Service:
    """GitHub, as far as the workflow sees it."""

    folder: Path
    caches: Caches
    jobs: int = 0

    @classmethod
    def create(cls, folder: Path) -> Service:
        (folder / "caches").mkdir()
        cutlass = folder / "cutlass"
        shutil.copytree(DATA / "plain_cutlass", cutlass)
        header = cutlass / "include/cutlass/gemm/kernel/default_gemm.h"
        limit = 'struct DefaultGemm {\n  static_assert(Stages != 5, "not five stages");\n'
        header.write_text(header.read_text().replace("struct DefaultGemm {\n", limit))
        (folder / "package").mkdir()
        copy_package(folder / "package")
        compileall.compile_dir(folder / "package", quiet=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
        return cls(folder, Caches(folder / "caches"))

    def copied(self, folder: Path, touch: Touch = keep_times) -> Service:
        """The same with what was saved so far; what is restored is touched."""
        (folder / "caches").mkdir()
        return Service(self.folder, Caches(folder / "caches", dict(self.caches.saved), touch), self.jobs + 100)

    def play(self, manifest: str, place: Path) -> Job:
        """Runs the workflow on a repository with this manifest, in a new place."""
        self.jobs += 1
        (place / "repository").mkdir(parents=True)
        (place / "repository/kernels.yaml").write_text(manifest)
        (place / "bin").mkdir()
        pip = place / "bin/pip"
        pip.write_text(
            PIP.format(
                cutlass=self.folder / "cutlass",
                package=self.folder / "package",
                place=place,
                python=sys.executable,
                ninja=find_ninja(),
            )
        )
        pip.chmod(0o755)
        return Job(place, self.jobs).play(place / "repository", self.caches)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, tools: Toolchain) -> Service:
    """A service for which the workflow has run once; not to be changed."""
    service = Service.create(tmp_path_factory.mktemp("service"))
    job = service.play(TWO_KERNELS, tmp_path_factory.mktemp("first"))
    assert not job.failed, job.steps
    assert (job.compiled, job.restored) == (2, None)
    assert list(service.caches.saved) == [job.saved] == [job.steps["name"]["outputs"]["key"]]
    return service


@pytest.mark.parametrize("touch", [keep_times, set_to_now, set_at_random])
def test_a_second_clone_compiles_nothing(touch: Touch, original: Service, tmp_path: Path) -> None:
    service = original.copied(tmp_path, touch)
    job = service.play(TWO_KERNELS, tmp_path / "elsewhere")
    assert not job.failed, job.steps
    assert job.restored == job.steps["name"]["outputs"]["key"]
    assert "2 kernels: 2 cached, 0 to build\n" in job.steps["build"]["output"]
    assert "ninja: no work to do.\n" in job.steps["build"]["output"]
    assert "0 kernels (0 bytes) removed, 2 kernels and 1 runtime library" in job.steps["Prune the cache"]["output"]
    assert job.saved is None


def test_what_differs_is_built_upon_the_nearest_cache(original: Service, tmp_path: Path) -> None:
    service = original.copied(tmp_path, set_to_now)
    job = service.play(THREE_KERNELS, tmp_path / "third")
    assert not job.failed, job.steps
    (first,) = original.caches.saved
    assert (job.compiled, job.restored) == (1, first)
    assert job.saved == job.steps["name"]["outputs"]["key"] != first

    again = service.play(THREE_KERNELS, tmp_path / "fourth")
    assert (again.compiled, again.restored, again.saved) == (0, job.saved, None)


def test_a_failed_build_is_saved_and_gone_on_from(original: Service, tmp_path: Path) -> None:
    service = original.copied(tmp_path, set_at_random)
    job = service.play(ONE_FAILS, tmp_path / "fails")
    assert job.steps["build"]["outcome"] == "failure"
    assert "not five stages" in job.steps["build"]["output"]
    assert (job.compiled, job.saved) == (2, f"{job.steps['name']['outputs']['key']}-{job.run_id}-1")

    again = service.play(ONE_FAILS, tmp_path / "fails_again")
    assert (again.restored, again.failed) == (job.saved, True)
    assert "1 failed before" in again.steps["build"]["output"]
    assert "recorded; cutlass-ninja --retry-failed kernels.yaml compiles it again" in again.steps["build"]["output"]
    assert again.saved == f"{again.steps['name']['outputs']['key']}-{again.run_id}-1" != job.saved
