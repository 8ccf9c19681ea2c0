"""What a user installs: the wheel and the sdist, the README and what it promises."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import CONFIGS, ROOT
from kernels import AMPERE

from cutlass_ninja import __version__
from cutlass_ninja.operations import gemm
from cutlass_ninja.schema import Record

README = (ROOT / "README.md").read_text()
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def pip(*arguments: str) -> None:
    """Runs pip; the test skips where pip cannot fetch what builds a wheel."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode and re.search(r"No module named pip|No matching distribution found for hatchling", done.stderr):
        pytest.skip(f"pip cannot fetch hatchling: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git knows of, or of what the sdist holds, so that building leaves nothing behind here."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        return ROOT
    target = tmp_path_factory.mktemp("sources")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((ROOT / name).read_bytes())
    return target


@pytest.fixture(scope="session")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(sources))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package alone, as from a wheel."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", "--no-deps", "--no-compile", "--target", str(folder), str(wheel))
    return folder


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cutlass_ninja", *arguments]
    environment = {**ENVIRONMENT, "PYTHONPATH": str(installed)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    of_package = {name.removeprefix("cutlass_ninja/") for name in names if name.startswith("cutlass_ninja/")}
    tracked = (path for path in (ROOT / "cutlass_ninja").rglob("*") if path.is_file())
    expected = {path.relative_to(ROOT / "cutlass_ninja").as_posix() for path in tracked if path.suffix != ".pyc"}
    assert of_package == expected | {"build.ninja.in"}
    others = {name for name in names if not name.startswith("cutlass_ninja/")}
    assert all(name.startswith(f"cutlass_ninja-{__version__}.dist-info/") for name in others)
    assert f"cutlass_ninja-{__version__}.dist-info/licenses/LICENSE" in others


def test_an_installed_package_generates(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "--version").stdout == f"cutlass-ninja {__version__}\n"
    (tmp_path / "manifest.yaml").write_text(AMPERE)
    (row,) = json.loads(run(installed, tmp_path, "list", "--json", "manifest.yaml").stdout)
    generated = run(installed, tmp_path, "manifest.yaml")
    if row["state"] == "unknown":
        assert generated.returncode == 3
        pytest.skip("this machine has no toolchain")
    assert generated.returncode == 0, generated.stderr
    build = (tmp_path / "build.ninja").read_text()
    assert f"{installed}/cutlass_ninja/build.ninja.in" in build
    assert f"{ROOT}/cutlass_ninja/" not in build
    assert row["key"] in build


def test_the_sdist_gives_the_same_wheel(sources: Path, wheel: Path, tmp_path: Path) -> None:
    build = (
        "import sys; from hatchling.builders.sdist import SdistBuilder; "
        "print(next(SdistBuilder(sys.argv[1]).build(directory=sys.argv[2])))"
    )
    try:
        import hatchling  # noqa: F401
    except ImportError:
        pip("install", "--target", str(tmp_path / "tools"), "hatchling>=1.27")
    environment = {**ENVIRONMENT, "PYTHONPATH": str(tmp_path / "tools")}
    command = [sys.executable, "-c", build, str(sources), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    with tarfile.open(done.stdout.strip()) as archive:
        assert any(name.endswith("/.ci/run") for name in archive.getnames())
    pip("wheel", "--no-deps", "--wheel-dir", str(tmp_path / "wheel"), done.stdout.strip())
    (again,) = (tmp_path / "wheel").glob("*.whl")
    assert contents(again) == contents(wheel)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_readme_names_every_field_of_a_gemm() -> None:
    table = (
        README.partition("| `gemm_kind`")[0].rpartition("\n\n")[2]
        + "| `gemm_kind`"
        + README.partition("| `gemm_kind`")[2]
    )
    table = table.partition("\n\n")[0]
    fields = [field for field in gemm.FIELDS]
    inner = [one for field in fields if isinstance(field.type, Record) for one in field.type.fields]
    named = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(field.name for field in [*fields, *inner])


def test_the_readme_names_every_command_and_option(installed: Path, tmp_path: Path) -> None:
    help = run(installed, tmp_path, "--help").stdout
    commands = re.findall(r"^  ([a-z-]+) .*$", help.partition("other commands")[2], re.MULTILINE)
    assert "check" in commands
    assert [command for command in commands if f"    cutlass-ninja {command} " not in README] == []
    options = set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", help.partition("other commands")[0]))
    assert [option for option in options - {"-h", "--help", "--version"} if f"`{option}" not in README] == []


def test_the_readme_shows_a_manifest_that_works(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text(README.partition("```yaml\n")[2].partition("```")[0])
    checked = run(installed, tmp_path, "check", "manifest.yaml")
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "48 kernels, 2 problems\n", "")


def test_the_readme_profiles_a_kernel_that_there_is(installed: Path, tmp_path: Path) -> None:
    listed = run(installed, tmp_path, "list", "--json", str(CONFIGS / "gemm.yaml")).stdout
    labels = [row["label"] for row in json.loads(listed)]
    named = re.findall(r"^    cache/bin/(cutlass\w+) ", README, re.MULTILINE)
    assert named and set(named) <= set(labels)


def test_ci_runs_what_the_readme_says() -> None:
    (command,) = re.findall(r"^    (python3 -m venv .*pytest)$", README, re.MULTILINE)
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == command
    (packages,) = re.findall(r"^    sudo apt-get install (.*)$", README, re.MULTILINE)
    assert all(f"missing+=({package})" in (ROOT / ".ci" / "run").read_text() for package in packages.split())
