"""The store: what it trusts, what it notices, what it writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from cutlass_ninja import links, store
from cutlass_ninja.kernel import Kernel
from cutlass_ninja.plan import KernelTarget, RuntimeTarget
from cutlass_ninja.store import State, Status

BUILT = State(Status.CACHED)
MISSING = State(Status.MISSING)


@pytest.fixture(autouse=True)
def build_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    os.mkdir("cache")
    yield
    assert not [name for name in os.listdir("cache") if name.startswith(".")]


def target(label: str = "gemm", key: str = "", name: str = "") -> KernelTarget:
    return KernelTarget(label, key or (label * 20)[:20], "r" * 20, 1 << 29, Kernel("toy", name or label, "sm_80", {}))


def no_pause() -> None:
    pass


def build(made: store.Target, content: str = "profiler") -> None:
    """Publish a profiler or a library, as the build edge does."""
    publish(made, {store.product(made): content}, {"status": "built"})


def fail(made: store.Target, reason: str = "no way") -> None:
    publish(made, {}, {"status": "failed", "reason": reason})


def publish(made: store.Target, files: dict[str, str], record: dict[str, object]) -> None:
    with store.claim(made, no_pause) as state:
        assert state == MISSING
        os.mkdir("staged")
        for name, content in files.items():
            Path("staged", name).write_text(content)
            Path("staged", name).chmod(0o755)
            record[store.recorded_as(made)] = store.digest(f"staged/{name}")
        Path("staged/build.json").write_text(json.dumps({**record, "key": made.key}))
        store.publish("staged", made)


def survey(made: store.Target) -> State:
    return store.survey([made])[made.key]


def path(made: store.Target, name: str = "profiler") -> Path:
    return Path(store.folder(made), name)


def forget_stat(made: store.Target) -> None:
    """As after a restore: the files are others, with the same content."""
    shutil.copytree(store.folder(made), "copy")
    shutil.rmtree(store.folder(made))
    shutil.copytree("copy", store.folder(made))
    shutil.rmtree("copy")


@pytest.mark.parametrize("made", [target(), RuntimeTarget("r" * 20, "sm_80")])
def test_what_is_published_is_cached(made: store.Target) -> None:
    assert survey(made) == MISSING
    build(made)
    assert survey(made) == store.examine(made) == BUILT
    assert os.listdir() == ["cache"]


def test_a_failure_is_remembered_until_it_is_forgotten() -> None:
    made = target()
    fail(made, "static assertion failed")
    assert survey(made) == State(Status.FAILED, "static assertion failed")
    assert store.forget_failures([made, target("other")]) == [made.key]
    assert survey(made) == MISSING
    assert not path(made).parent.parent.exists()


def test_a_restored_cache_is_trusted_by_content() -> None:
    made = target()
    build(made)
    forget_stat(made)
    assert survey(made) == BUILT


def truncate(made: store.Target) -> None:
    path(made).write_text("prof")


def other_content(made: store.Target) -> None:
    path(made).write_text("PROFILER")


def not_executable(made: store.Target) -> None:
    path(made).chmod(0o644)


def no_record(made: store.Target) -> None:
    path(made, "build.json").unlink()


def half_a_record(made: store.Target) -> None:
    path(made, "build.json").write_text('{"status": "built", ')


def a_record_of_something_else(made: store.Target) -> None:
    path(made, "build.json").write_text('{"status": "built", "key": "another"}')


def a_record_of_nothing(made: store.Target) -> None:
    path(made, "build.json").write_text(json.dumps({"status": "built", "key": made.key}))


def no_profiler(made: store.Target) -> None:
    path(made).unlink()


DAMAGES = [
    (truncate, "profiler has 4 bytes, not 8"),
    (other_content, "profiler is not what was built: its sha256 differs"),
    (not_executable, "profiler is not executable"),
    (no_record, "build.json is missing"),
    (half_a_record, "build.json cannot be read"),
    (a_record_of_something_else, "build.json is not of this key"),
    (a_record_of_nothing, "build.json does not describe a built profiler"),
    (no_profiler, "profiler is missing"),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGES)
@pytest.mark.parametrize("surveyed", [True, False], ids=["after a survey", "before one"])
def test_damage_is_noticed_and_repaired(damage, reason: str, surveyed: bool) -> None:  # type: ignore[no-untyped-def]
    made, whole = target(), target("whole")
    build(made)
    build(whole)
    if surveyed:
        store.survey([made, whole])
    damage(made)

    states = store.survey([made, whole])
    assert states == {made.key: State(Status.DAMAGED, reason), whole.key: BUILT}
    assert store.repair([made, whole], states) == [made.key]
    assert store.survey([made, whole]) == {made.key: MISSING, whole.key: BUILT}
    build(made)
    assert survey(made) == BUILT


def test_what_is_damaged_is_claimed_as_missing() -> None:
    made = target()
    build(made)
    truncate(made)
    with store.claim(made, no_pause) as state:
        assert state == MISSING
        assert os.listdir(store.folder(made)) == []


@pytest.mark.parametrize("look", [store.examine, survey], ids=["examined", "surveyed"])
def test_what_was_hidden_is_put_back_by_whoever_looks(look: Callable[[store.Target], State]) -> None:
    """Before ninja removes what it takes for an output of an interrupted edge."""
    made = target()
    build(made)
    store.hide(made)
    assert not path(made).exists()
    assert look(made).status is Status.CACHED
    assert path(made).read_text() == "profiler" and sorted(os.listdir(path(made).parent)) == ["build.json", "profiler"]
    store.hide(target("other"))
    assert survey(target("other")).status is Status.MISSING


def test_nothing_is_left_of_a_claim_that_was_given_up() -> None:
    with store.claim(target(), no_pause):
        pass
    assert os.listdir("cache/kernels") == []


def test_who_waits_for_a_claim_finds_what_was_published() -> None:
    made = target()
    found: list[State] = []

    def wait() -> None:
        with store.claim(made, no_pause) as state:
            found.append(state)

    with store.claim(made, no_pause):
        waiting = [threading.Thread(target=wait) for _ in range(3)]
        for thread in waiting:
            thread.start()
        time.sleep(0.2)
        assert found == []
        os.mkdir("staged")
        Path("staged/build.json").write_text(json.dumps({"status": "failed", "reason": "no", "key": made.key}))
        store.publish("staged", made)
    for thread in waiting:
        thread.join()
    assert found == [State(Status.FAILED, "no")] * 3


def test_what_is_being_built_is_not_discarded() -> None:
    made = target()
    with store.claim(made, no_pause):
        assert not store.discard(store.folder(made))
    build(made)
    assert store.discard(store.folder(made))
    assert not store.discard(store.folder(made))
    assert survey(made) == MISSING


def test_the_index_spares_reading_what_has_not_been_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    made = target()
    build(made)
    forget_stat(made)
    store.survey([made])
    monkeypatch.setattr(store, "examine", None)
    before = os.stat(store.INDEX)
    assert survey(made) == BUILT
    assert os.stat(store.INDEX) == before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"gemm": 3}', '{"gemmgemmgemmgemmgemm": "x"}'])
def test_a_broken_index_is_no_more_than_slow(content: str) -> None:
    made = target()
    build(made)
    Path(store.INDEX).write_text(content)
    assert survey(made) == BUILT


def test_the_index_keeps_what_other_builds_verified() -> None:
    one, other = target("one"), target("other")
    for made in (one, other):
        build(made)
        store.survey([made])
    assert json.loads(Path(store.INDEX).read_text()).keys() == {one.key, other.key}


def test_ten_thousand_cached_kernels_are_surveyed_in_a_moment() -> None:
    targets = [target(f"kernel{index}", f"{index:020d}") for index in range(10_000)]
    index = {}
    for made in targets:
        os.makedirs(store.folder(made))
        path(made).touch()
        path(made, "build.json").touch()
        index[made.key] = store._mark(path(made).stat()) + store._mark(path(made, "build.json").stat())
    Path(store.INDEX).write_text(json.dumps(index))
    start = time.process_time()
    states = store.survey(targets)
    assert time.process_time() - start < 1.0  # 0.1 s on an idle machine
    assert set(states.values()) == {BUILT}


def bin_links() -> dict[str, str]:
    return {name: os.readlink(f"cache/bin/{name}") for name in sorted(os.listdir("cache/bin"))}


def link_current(targets: Sequence[KernelTarget]) -> None:
    links.link_current(targets, store.survey(targets))


def test_links_are_those_of_this_build() -> None:
    old, new, missing, other = (
        target("gemm", "1" * 20),
        target("gemm", "2" * 20),
        target("conv"),
        target("simt"),
    )
    for made in (old, new, other):
        build(made)
    link_current([old, other])
    assert bin_links() == {
        "gemm": "../kernels/gemm/11111111111111111111/profiler",
        "simt": f"../kernels/simt/{other.key}/profiler",
    }
    os.symlink("nowhere", "cache/bin/dangling")
    os.symlink("../kernels/gemm/11111111111111111111/profiler", "cache/bin/conv")
    Path("cache/bin/notes").write_text("mine")

    link_current([new, missing])

    Path("cache/bin/notes").unlink()
    assert bin_links() == {
        "gemm": "../kernels/gemm/22222222222222222222/profiler",
        "simt": f"../kernels/simt/{other.key}/profiler",
    }
    assert Path("cache/bin/gemm").read_text() == "profiler"


def test_links_that_are_right_are_not_written() -> None:
    made = target()
    build(made)
    links.link(made)
    before = os.stat("cache/bin"), os.lstat("cache/bin/gemm")
    links.link(made)
    link_current([made])
    assert (os.stat("cache/bin"), os.lstat("cache/bin/gemm")) == before


def test_a_link_left_half_made_does_not_matter() -> None:
    made = target()
    build(made)
    os.mkdir("cache/bin")
    os.symlink("x", "cache/bin/.new")
    links.link(made)
    assert bin_links().keys() == {"gemm"}


def test_a_read_only_cache_that_is_complete_serves(tmp_path: Path) -> None:
    made = target()
    build(made)
    links.link(made)
    if subprocess.run(["mount", "--bind", "cache", "cache"], capture_output=True).returncode:
        pytest.skip("mounting a filesystem takes root")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", "cache"], check=True)
        states = store.survey([made])
        assert states == {made.key: BUILT}
        assert not os.path.exists(store.INDEX)
        assert store.repair([made], states) == []
        link_current([made])
    finally:
        subprocess.run(["umount", "cache"], check=True)
