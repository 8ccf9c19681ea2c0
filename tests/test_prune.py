"""`cutlass-ninja prune`: what goes, what stays, and that used.json knows what was used."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plain import MANIFEST, Project, copy_package

from cutlass_ninja import cli, clock, inventory, prune, store, units, used
from cutlass_ninja.kernel import Kernel
from cutlass_ninja.plan import KernelTarget, Plan, RuntimeTarget
from cutlass_ninja.prune import Limits, Pruned
from cutlass_ninja.toolchain import Toolchain

DAY = 86400
NOW = 20_000 * DAY
RUNTIME = "e" * 20
OLD_RUNTIME = "d" * 20


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache in the current folder."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("cache")


def key(name: str) -> str:
    return (name.encode().hex() * 20)[:20]


def publish(path: str, product: str, size: int, record: dict[str, object]) -> None:
    """A folder of `size` bytes."""
    text = json.dumps(record)
    os.makedirs(path)
    Path(path, "build.json").write_text(text)
    Path(path, product).write_text("x" * (size - len(text)))


def add(name: str, *, age: float = 0, size: int = 1000, runtime: str = RUNTIME, namesake: str = "") -> str:
    """A kernel that was built some days ago, and whose runtime library is there; gives its path."""
    path = store.kernel_dir(namesake or name, key(name))
    record = {"status": "built", "key": key(name), "runtime": runtime, "built_at": clock.text(int(NOW - age * DAY))}
    publish(path, "profiler", size, record)
    if not os.path.isdir(store.runtime_dir(runtime)):
        publish(store.runtime_dir(runtime), "libcutlass_ninja.a", 1000, {"status": "built", "key": runtime})
    return path


def build(*names: str, runtime: str = RUNTIME) -> Plan:
    """The plan of a build of these kernels."""
    targets = [KernelTarget(name, key(name), runtime, 1, Kernel("toy", name, "sm_80", {})) for name in names]
    return Plan(Toolchain("", "", (), "", {}), (RuntimeTarget(runtime, "sm_80"),), tuple(targets), (), ())


def pruned(
    *builds: Plan,
    age: float | None = None,
    size: int | None = None,
    wanted: set[str] | None = None,
    dry_run: bool = False,
) -> Pruned:
    limits = Limits(None if age is None else int(age * DAY), size, None if wanted is None else set(map(key, wanted)))
    return prune.prune(limits, builds, NOW, dry_run=dry_run)


def left() -> set[str]:
    """The names of the kernels in the cache, and the keys of the runtime libraries."""
    return {entry.name for entry in inventory.kernels()} | {entry.key for entry in inventory.runtimes()}


@pytest.mark.usefixtures("cache")
class TestAge:
    def test_what_was_not_used_for_long_goes(self) -> None:
        for age in (1, 29, 30, 31, 100):
            add(f"built{age}", age=age)
        result = pruned(age=30)
        assert left() == {"built1", "built29", "built30", RUNTIME}
        assert {(removal.item.entry.name, removal.reason) for removal in result.removed} == {
            ("built31", f"last used {clock.text(NOW - 31 * DAY)}"),
            ("built100", f"last used {clock.text(NOW - 100 * DAY)}"),
        }

    def test_use_counts_beside_building(self) -> None:
        add("used", age=100)
        add("long_ago", age=100)
        used.note([key("long_ago")], NOW - 90 * DAY)
        used.note([key("used")], NOW - 5 * DAY)
        pruned(age=30)
        assert left() == {"used", RUNTIME}

    def test_the_current_build_is_used_now(self) -> None:
        add("current", age=100)
        add("other", age=100)
        pruned(build("current"), age=30)
        assert left() == {"current", RUNTIME}

    def test_time_stamps_do_not_count(self) -> None:
        for name, age in (("old", 100), ("new", 1)):
            path = add(name, age=age)
            for file in [path, *Path(path).iterdir()]:
                os.utime(file, (NOW - (101 - age) * DAY,) * 2)
        pruned(age=30)
        assert left() == {"new", RUNTIME}

    def test_what_comes_from_the_future_is_used_now(self) -> None:
        add("future", age=-10)
        assert pruned(age=30).stayed[0].used_at == NOW

    def test_what_cannot_be_read_was_never_used(self) -> None:
        path = add("damaged")
        Path(path, "build.json").write_text("{")
        pruned(age=30)
        assert left() == set()


@pytest.mark.usefixtures("cache")
class TestSize:
    def test_the_least_recently_used_goes_first(self) -> None:
        for age in range(6):
            add(f"age{age}", age=age)
        result = pruned(size=4500)
        assert left() == {"age0", "age1", "age2", RUNTIME}
        assert [removal.item.entry.name for removal in result.removed] == ["age5", "age4", "age3"]
        assert result.removed[0].reason == f"least recently used, {clock.text(NOW - 5 * DAY)}"

    def test_nothing_goes_from_what_fits(self) -> None:
        add("a")
        add("b")
        assert pruned(size=3000).removed == []
        assert left() == {"a", "b", RUNTIME}

    def test_the_current_build_goes_last(self) -> None:
        for name, age in (("current", 100), ("old", 10), ("new", 0.1)):
            add(name, age=age)
        pruned(build("current"), size=2000)
        assert left() == {"current", RUNTIME}
        pruned(build("current"), size=1500)
        assert left() == {RUNTIME}

    def test_a_runtime_library_goes_with_its_last_kernel(self) -> None:
        add("old", age=9, runtime=OLD_RUNTIME)
        add("older", age=10, runtime=OLD_RUNTIME)
        add("new", age=1)
        pruned(size=4900)
        assert left() == {"old", "new", RUNTIME, OLD_RUNTIME}
        pruned(size=3999)
        assert left() == {"new", RUNTIME}

    def test_what_goes_for_its_age_makes_room(self) -> None:
        for age in (1, 2, 50):
            add(f"age{age}", age=age)
        pruned(age=30, size=3000)
        assert left() == {"age1", "age2", RUNTIME}

    def test_nothing_fits_into_nothing(self) -> None:
        add("a")
        pruned(size=0)
        assert left() == set()


@pytest.mark.usefixtures("cache")
class TestWanted:
    def test_what_no_build_wants_goes(self) -> None:
        for name in "abc":
            add(name)
        result = pruned(build("a", "b"), wanted={"a", "b"})
        assert left() == {"a", "b", RUNTIME}
        assert [removal.reason for removal in result.removed] == ["not in the build"]

    def test_another_key_of_the_same_name_goes(self) -> None:
        add("a")
        add("b", namesake="a")
        pruned(build("a"), wanted={"a"})
        assert [entry.key for entry in inventory.kernels()] == [key("a")]

    def test_runtime_libraries(self) -> None:
        add("a")
        add("b", runtime=OLD_RUNTIME)
        add("c", runtime="c" * 20)
        pruned(build("c", runtime="c" * 20), wanted={"b"})
        assert left() == {"b", OLD_RUNTIME, "c" * 20}


@pytest.mark.usefixtures("cache")
class TestSafety:
    def test_a_dry_run_removes_nothing(self) -> None:
        add("old", age=100, size=1_234_567)
        add("new")
        os.makedirs("cache/kernels/empty")
        before = sorted(Path().rglob("*"))
        result = pruned(age=30, dry_run=True)
        assert sorted(Path().rglob("*")) == before
        assert result.lines() == [
            f"   1.2 MB  cache/kernels/old/{key('old')}  last used {clock.text(NOW - 100 * DAY)}",
            "1 kernel (1.2 MB) would be removed, 1 kernel and 1 runtime library (2.0 kB) would stay",
        ]
        assert pruned(age=30).lines() == [
            "1 kernel (1.2 MB) removed, 1 kernel and 1 runtime library (2.0 kB) stay",
        ]

    def test_what_is_being_built_stays(self) -> None:
        busy, idle = add("busy", age=100), add("idle", age=100)
        with locked(busy):
            result = pruned(age=30)
        assert (os.path.exists(busy), os.path.exists(idle)) == (True, False)
        assert result.lines()[0] == f"{busy} stays: it is in use"
        assert result.to_json()["busy"] == [busy, store.runtime_dir(RUNTIME)]
        assert result.to_json()["stayed"] == 2

    def test_what_has_just_been_begun_stays(self) -> None:
        begun, dead = store.kernel_dir("begun", key("begun")), store.kernel_dir("dead", key("dead"))
        os.makedirs(begun)
        os.makedirs(dead)
        with locked(begun):
            assert pruned(age=0).removed == []
            assert (os.path.exists(begun), os.path.exists(os.path.dirname(dead))) == (True, False)
        pruned(age=0)
        assert not os.path.exists(begun)

    def test_leftovers_go(self) -> None:
        add("a", age=100)
        os.makedirs("cache/bin")
        os.makedirs("cache/.stage-dead/old")
        os.makedirs("cache/.stage-alive")
        os.symlink(f"../kernels/a/{key('a')}/profiler", "cache/bin/a")
        store.survey([KernelTarget("a", key("a"), RUNTIME, 1, Kernel("toy", "a", "sm_80", {}))])
        used.note([key("a")], NOW - 100 * DAY)
        with locked("cache/.stage-alive"):
            pruned(age=30)
        assert sorted(os.listdir("cache")) == [".stage-alive", "bin", "used.json"]
        assert os.listdir("cache/bin") == []
        assert used.read() == {}

    def test_indices_keep_what_stays_and_what_is_to_be_built(self) -> None:
        Path(store.INDEX).write_text(json.dumps({key("stays"): [1], key("gone"): [2], key("to_build"): [3]}))
        add("stays")
        add("gone", age=100)
        used.note(map(key, ("stays", "gone", "to_build")), NOW - 50 * DAY)
        pruned(build("to_build"), age=30)
        assert set(used.read()) == {key("stays"), key("to_build")}
        assert set(json.loads(Path(store.INDEX).read_text())) == {key("stays"), key("to_build")}

    def test_unknown_files_stay(self) -> None:
        add("a")
        unknown = ["results.sqlite", "notes/a", "kernels/README", "kernels/a/notes/b", "runtime/keep/c", "bin/tool"]
        for name in unknown:
            path = Path("cache", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("mine")
        os.symlink("/nowhere", f"cache/kernels/{key('link')}")
        os.symlink("/nowhere", f"cache/runtime/{key('link')}")
        pruned(age=0, size=0, wanted=set())
        assert left() == set()
        assert [name for name in unknown if not Path("cache", name).exists()] == []
        assert os.path.islink(f"cache/runtime/{key('link')}")

    def test_a_cache_that_cannot_be_written_to(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def refuse(*paths: str) -> None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        add("a", age=100)
        monkeypatch.setattr(os, "rename", refuse)
        assert cli.main(["prune", "--max-size", "0"]) == 1
        assert capsys.readouterr().err.startswith("error: cannot write to cache/: Read-only file system; make it")
        assert left() == {"a", RUNTIME}


class locked:
    """Holds the lock on a folder, as who builds it does."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        self.descriptor = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)

    def __exit__(self, *error: object) -> None:
        os.close(self.descriptor)


@pytest.mark.usefixtures("cache")
class TestUsed:
    def test_a_use_is_noted_once_an_hour(self) -> None:
        used.note(["a"], NOW)
        before = os.stat("cache/used.json")
        used.note(["a"], NOW + 3599)
        assert os.stat("cache/used.json") == before
        used.note(["a", "b"], NOW + 3599)
        assert used.read() == {"a": NOW, "b": NOW + 3599}
        used.note(["a"], NOW + 3600)
        assert used.read() == {"a": NOW + 3600, "b": NOW + 3599}

    def test_a_clock_that_was_wrong(self) -> None:
        used.note(["a"], NOW + 1000 * DAY)
        used.note(["a"], NOW)
        assert used.read() == {"a": NOW}

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"a": "b"}'])
    def test_a_damaged_file_is_begun_anew(self, text: str) -> None:
        Path("cache/used.json").write_text(text)
        assert used.read() == {}
        used.note(["a"], NOW)
        assert used.read() == {"a": NOW}

    def test_no_cache_to_write_to(self) -> None:
        os.rmdir("cache")
        used.note(["a"], NOW)
        assert used.read() == {}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("500", 500),
        ("500B", 500),
        ("1K", 1000),
        ("1k", 1000),
        ("500M", 500_000_000),
        ("10G", 10_000_000_000),
        ("10GB", 10_000_000_000),
        ("1.5G", 1_500_000_000),
        ("2Gi", 2 << 30),
        ("2GiB", 2 << 30),
        ("1T", 10**12),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert units.size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("30", 30 * DAY), ("30d", 30 * DAY), ("12h", DAY // 2), ("2w", 14 * DAY), ("0.5d", DAY // 2)],
)
def test_ages(text: str, seconds: int) -> None:
    assert units.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "-1", "10X", "10 20", "G", "1e3", "1d1h", "inf"])
def test_wrong_sizes_and_ages(text: str) -> None:
    for parse in (units.size, units.seconds):
        with pytest.raises(ValueError, match=r"is no (size|age); write"):
            parse(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (99_949, "99.9 kB"),
        (123_456, "123 kB"),
        (1_602_744, "1.6 MB"),
        (12_000_000_000, "12.0 GB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_sizes_as_they_are_shown(size: int, text: str) -> None:
    assert units.shown(size) == text


def test_moments() -> None:
    assert clock.text(NOW) == "2024-10-04T00:00:00Z"
    assert clock.moment(clock.text(NOW + 1)) == NOW + 1
    assert [clock.moment(wrong) for wrong in (None, 3, "", "yesterday", "2024-10-04")] == [None] * 5
    assert abs(clock.now() - time.time()) < 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "error: what is to go? name at least one of --max-age, --max-size and --unused"),
        (["--dry-run", "m.yaml"], "error: what is to go? name at least one of --max-age, --max-size and --unused"),
        (["--max-size", "big"], "error: argument --max-size: 'big' is no size; write bytes, or 500M or 10G"),
        (["--max-age", "1y"], "error: argument --max-age: '1y' is no age; write days, or 12h, 30d or 8w"),
        (["--unused"], "error: here is no build (cache/plan.json is missing or of another version); name manifests"),
        (["--max-age", "1", "-C", "none"], "error: -C none: there is no such folder"),
        (["--unused", "none.yaml"], "none.yaml: error: "),
    ],
)
@pytest.mark.usefixtures("cache")
def test_wrong_calls(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    add("a")
    assert cli.main(["prune", *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)
    assert left() == {"a", RUNTIME}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, tools: Toolchain) -> Project:
    """A project of three kernels for two architectures that is built; not to be changed."""
    package = copy_package(tmp_path_factory.mktemp("package"))
    project = Project.create(tmp_path_factory.mktemp("original") / "project", package)
    project.write("ampere.yaml", MANIFEST.partition("  - arch: sm_90a")[0])
    project.write("hopper.yaml", MANIFEST.replace("sm_80", "sm_90").partition("problems:")[0])
    assert project.rebuilt() == {"ampere3", "ampere4", "hopper"}
    return project


@pytest.fixture
def project(original: Project, tmp_path: Path) -> Iterator[Project]:
    copy = original.copied(tmp_path / "project")
    yield copy
    assert copy.leftovers() == []


def call(project: Project, *arguments: str) -> dict[str, Any]:
    ran = project.generate("prune", "--json", *arguments)
    assert (ran.code, ran.err) == (0, "")
    loaded: dict[str, Any] = json.loads(ran.out)
    return loaded


def test_a_build_that_is_pruned_builds_again(project: Project) -> None:
    assert call(project, "--unused")["removed"] == []
    found = call(project, "--max-size", "0")
    assert [removal["kind"] for removal in found["removed"]] == ["kernel"] * 3
    assert found["removed_bytes"] == sum(removal["bytes"] for removal in found["removed"]) > 0
    assert list((project.path / "cache/bin").iterdir()) == []
    assert len(list(project.path.glob("cache/runtime/*"))) == 2
    assert project.rebuilt() == {"ampere3", "ampere4", "hopper"}


def test_only_what_the_given_manifests_name_stays(project: Project) -> None:
    before = call(project, "--unused", "--dry-run", "ampere.yaml")
    found = call(project, "--unused", "ampere.yaml")
    for removal in (*before["removed"], *found["removed"]):
        removal["used_at"] = ""
    assert before == {**found, "dry_run": True}
    (removal,) = found["removed"]
    assert removal["name"].startswith("cutlass3x_sm90")
    assert list(removal) == ["kind", "name", "key", "path", "bytes", "used_at", "reason"]
    assert (found["stayed"], removal["reason"]) == (4, "not in the build")
    assert sorted(link.name for link in (project.path / "cache/bin").iterdir()) == [
        "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x3_tn_align8",
        "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x4_tn_align8",
    ]
    assert project.built().kernels == {"hopper"}


def test_generating_is_using(project: Project) -> None:
    file = project.path / "cache/used.json"
    moments = json.loads(file.read_text())
    assert len(moments) == 5
    mark = file.stat()
    project.generated()
    assert file.stat() == mark

    file.write_text(json.dumps(dict.fromkeys(moments, 1)))
    (project.path / "cache/plan.json").unlink()
    for record in project.path.glob("cache/kernels/*/*/build.json"):
        record.write_text(record.read_text().replace('"built_at": "2', '"built_at": "1'))
    assert len(call(project, "--max-age", "30d", "--dry-run")["removed"]) == 5
    project.generated("--only", "*32x3*")
    (project.path / "cache/plan.json").unlink()
    assert call(project, "--max-age", "30d")["stayed"] == 2
    assert len(project.profilers()) == 1
