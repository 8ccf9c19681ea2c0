"""The sweep's logic, with profilers that are played by a script: what is measured, when, and what a fault costs."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from cutlass_ninja import sweep as sweeps
from cutlass_ninja.contenders import Contender, Gpu, gpus
from cutlass_ninja.errors import InputError
from cutlass_ninja.manifest import Problem
from cutlass_ninja.progress import Progress
from cutlass_ninja.results import Result, Results, open_results
from cutlass_ninja.sweep import Options, Summary, Sweep

FAKE = Path(__file__).parent / "data" / "fake_profiler.py"
CONFIG = {
    "element_a": "f16", "element_b": "f16", "element_c": "f16", "element_d": "f16", "element_accumulator": "f32",
    "layout_a": "t", "layout_b": "n", "layout_c": "n",
}  # fmt: skip


class Bench:
    """A folder in which sweeps are run over fake kernels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.progress = StringIO()

    def kernel(
        self, name: str, us: float, *, parameters: dict[str, list[int]] | None = None, **config: Any
    ) -> Contender:
        key = f"key-{name}"
        fake = {"key": key, "name": name, "us": us, "log": str(self.log), **config}
        command = (sys.executable, str(FAKE), json.dumps(fake))
        provider = config.get("provider", "cutlass-ninja")
        return Contender(name, key, "gemm", "sm_80", CONFIG, command, parameters or {}, provider)

    def sweep(
        self, kernels: list[Contender], sizes: list[int], devices: list[int] | None = None, **options: Any
    ) -> tuple[Summary, dict[tuple[str, int, str], Result]]:
        with open_results(str(self.folder / "results.sqlite"), write=True) as results:
            swept = self.start(results, kernels, sizes, devices, **options)
            summary = swept.run()
        found = {(r.kernel, int(r.problem["m"]), json.dumps(dict(r.parameters))): r for r in swept.results()}
        return summary, found

    def start(
        self, results: Results, kernels: list[Contender], sizes: list[int], devices: list[int] | None, **options: Any
    ) -> Sweep:
        problems = [Problem("gemm", {"m": size, "n": size, "k": 64}) for size in sizes]
        chosen: list[Gpu] = gpus(kernels[0], devices)
        options = {"timeout_s": 20, **options}
        return Sweep(kernels, problems, chosen, results, Options(**options), Progress(self.progress))

    def asked(self) -> list[dict[str, Any]]:
        """What the fakes were asked since the last call, in order."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def of(results: dict[tuple[str, int, str], Result], name: str, size: int = 1, parameters: str = "{}") -> Result:
    return results[name, size, parameters]


def test_poor_kernels_stay_coarse_and_the_best_meet_in_finals(bench: Bench) -> None:
    kernels = [
        bench.kernel("best", 100),
        bench.kernel("near", 102),
        bench.kernel("far", 107),
        bench.kernel("poor", 150),
    ]
    summary, results = bench.sweep(kernels, [1, 2])
    assert {name: of(results, name).precision for name in ("best", "near", "far", "poor")} == {
        "best": "final", "near": "final", "far": "full", "poor": "coarse",
    }  # fmt: skip
    assert len(of(results, "best").rounds) == sweeps.ROUNDS and of(results, "far").rounds == ()
    assert all(result.verified for result in results.values())
    assert (summary.dropped, summary.undone, summary.reused) == (2, 0, 0)
    assert summary.coarse_error is not None and summary.coarse_error < 0.01


def test_finalists_take_turns(bench: Bench) -> None:
    bench.sweep([bench.kernel("a", 100), bench.kernel("b", 101), bench.kernel("c", 102)], [1])
    turns = [line["kernel"] for line in bench.asked() if line.get("profiling-duration") == "200"]
    assert turns == list("abccbaabccbaabc")


def test_the_baseline_takes_part_in_finals_but_does_not_drop_kernels(bench: Bench) -> None:
    baseline = bench.kernel("cublaslt", 50, provider="cuBLASLt")
    _, results = bench.sweep([bench.kernel("a", 100), bench.kernel("b", 104), baseline], [1])
    assert [of(results, name).precision for name in ("a", "b", "cublaslt")] == ["final", "full", "final"]


def test_parameters_are_searched_one_after_the_other(bench: Bench) -> None:
    parameters = {"order": [0, 1, 2], "slices": [1, 2, 4]}
    good = bench.kernel("good", 100, parameters=parameters, faster={"order": 2, "slices": 4})
    poor = bench.kernel("poor", 200, parameters=parameters, faster={"order": 2, "slices": 4})
    _, results = bench.sweep([good, poor], [1])
    best = of(results, "good", 1, '{"order": 2, "slices": 4}')
    assert best.precision in ("full", "final") and best.median_ms == pytest.approx(0.064, rel=0.01)
    tried = Counter(kernel for kernel, _, _ in results)
    assert tried == {"good": 5, "poor": 1}


def test_what_was_verified_is_not_verified_again(bench: Bench) -> None:
    _, results = bench.sweep([bench.kernel("a", 100), bench.kernel("b", 101)], [1])
    verified = [line["kernel"] for line in bench.asked() if line.get("verification-enabled") != "false"]
    assert verified == ["a", "b"]
    assert all(result.verified and result.precision == "final" for result in results.values())
    assert of(results, "a").worst_check()["error"] == 1e-4


def test_two_choices_of_parameters_are_measured_fully(bench: Bench) -> None:
    kernels = [bench.kernel("a", 100, parameters={"order": [0, 1, 2, 3]}, faster={"order": 9}), bench.kernel("b", 101)]
    _, results = bench.sweep(kernels, [1])
    precisions = Counter((kernel, result.precision == "coarse") for (kernel, _, _), result in results.items())
    assert precisions == {("a", True): 2, ("a", False): 2, ("b", False): 1}


def test_an_exhaustive_sweep_measures_everything_fully(bench: Bench) -> None:
    good = bench.kernel("good", 100, parameters={"order": [0, 1]}, faster={"order": 1})
    summary, results = bench.sweep([good, bench.kernel("poor", 300)], [1, 2], exhaustive=True)
    assert len(results) == 6 and {result.precision for result in results.values()} <= {"full", "final"}
    assert summary.dropped == 0
    assert not any(line.get("relative-stderr") for line in bench.asked())


def test_coarse_and_exhaustive_sweeps_agree(bench: Bench, tmp_path: Path) -> None:
    kernels = [bench.kernel(f"k{us}", us) for us in (100, 103, 108, 112, 150, 220)]
    _, quick = bench.sweep(kernels, [1])
    quick_asked = len(bench.asked())
    other = Bench(tmp_path / "other")
    other.folder.mkdir()
    _, slow = other.sweep(kernels, [1], exhaustive=True)
    winners = [min(found.values(), key=lambda result: result.median_ms or 9) for found in (quick, slow)]
    assert winners[0].kernel == winners[1].kernel == "k100"
    assert quick_asked > 0


def test_the_second_run_measures_nothing(bench: Bench) -> None:
    kernels = [bench.kernel("a", 100), bench.kernel("b", 101), bench.kernel("c", 150)]
    bench.sweep(kernels, [1, 2])
    bench.asked()
    summary, results = bench.sweep(kernels, [1, 2])
    assert bench.asked() == [] and (summary.measured, summary.reused) == (0, 6)
    assert len(results) == 6


def test_only_what_is_missing_is_measured(bench: Bench) -> None:
    kernels = [bench.kernel("a", 100), bench.kernel("b", 150)]
    bench.sweep(kernels, [1])
    bench.asked()
    bench.sweep([*kernels, bench.kernel("c", 170)], [1, 4])
    assert {(line["kernel"], line["m"]) for line in bench.asked()} == {("a", "4"), ("b", "4"), ("c", "1"), ("c", "4")}


def test_force_measures_again_and_replaces(bench: Bench) -> None:
    parameters = {"order": [0, 1]}
    _, before = bench.sweep([bench.kernel("a", 100, parameters=parameters, faster={"order": 1})], [1])
    _, after = bench.sweep([bench.kernel("a", 300, parameters=parameters, faster={"order": 1})], [1], force=True)
    assert before.keys() == after.keys()
    for identity, result in after.items():
        assert result.median_ms == pytest.approx(3 * (before[identity].median_ms or 0), rel=0.01)


FAULTS = {
    "crash": ("crashed", "killed by SIGSEGV"),
    "hang": ("timed_out", "no result after 2 s"),
    "garbage": ("failed", "printed what is no result: 'free(): invalid pointer'"),
    "exit": ("failed", "ended with exit status 7: luck"),
    "other_key": ("failed", "printed what is no result: "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_the_kernels_remaining_problems_and_no_others(fault: str, bench: Bench) -> None:
    kernels = [bench.kernel("good", 100), bench.kernel("bad", 90, faults={"2": fault}), bench.kernel("other", 150)]
    summary, results = bench.sweep(kernels, [1, 2, 3], timeout_s=2)
    status, reason = FAULTS[fault]
    assert (of(results, "bad", 2).status, of(results, "bad", 2).reason[: len(reason)]) == (status, reason)
    assert of(results, "bad", 1).verified
    assert (of(results, "bad", 3).status, of(results, "bad", 3).reason) == (
        "skipped",
        f"not run: {status} before, at bad m=2 n=2 k=64",
    )
    assert all(of(results, name, size).verified for name in ("good", "other") for size in (1, 2, 3))
    assert summary.undone == 2
    assert f"{status}: bad m=2 n=2 k=64: {reason}" in bench.progress.getvalue()


@pytest.mark.parametrize(("fault", "status"), [("wrong", "incorrect"), ("failed", "failed")])
def test_a_wrong_result_costs_itself_alone(fault: str, status: str, bench: Bench) -> None:
    _, results = bench.sweep([bench.kernel("bad", 90, faults={"2": fault}), bench.kernel("good", 100)], [1, 2, 3])
    assert [of(results, "bad", size).status for size in (1, 2, 3)] == ["success", status, "success"]
    assert of(results, "bad", 2).reason == f"planted: {fault}" and not of(results, "bad", 2).verified
    assert of(results, "good", 2).verified


def test_what_failed_is_tried_again_only_if_asked(bench: Bench) -> None:
    bench.sweep([bench.kernel("a", 100, faults={"2": "exit"})], [1, 2, 3])
    bench.asked()
    mended = [bench.kernel("a", 100)]
    assert bench.sweep(mended, [1, 2, 3])[0].undone == 2 and bench.asked() == []
    summary, results = bench.sweep(mended, [1, 2, 3], retry_failed=True)
    assert summary.undone == 0 and all(result.verified for result in results.values())
    assert {line["m"] for line in bench.asked()} == {"2", "3"}


def test_a_profiler_that_cannot_be_run(bench: Bench) -> None:
    good = bench.kernel("good", 100)
    lost = Contender("lost", "key-lost", "gemm", "sm_80", CONFIG, ("./nowhere",))
    _, results = bench.sweep([good, lost], [1])
    assert of(results, "lost").reason == "the profiler cannot be run: No such file or directory"
    assert of(results, "good").verified


def test_gpus_share_the_problems_and_each_problem_has_one(bench: Bench) -> None:
    kernels = [bench.kernel("a", 100, devices=3), bench.kernel("b", 101)]
    bench.sweep(kernels, [1, 2, 3, 4], devices=[0, 2])
    asked = bench.asked()
    devices: dict[str, set[int]] = {}
    for line in asked:
        devices.setdefault(line["m"], set()).add(line["device"])
    assert {len(one) for one in devices.values()} == {1}
    assert Counter(next(iter(one)) for one in devices.values()) == {0: 2, 2: 2}
    bench.sweep(kernels, [1, 2, 3, 4], devices=[2, 0])
    assert bench.asked() == []


def test_a_device_that_there_is_not(bench: Bench) -> None:
    with pytest.raises(InputError) as raised:
        bench.sweep([bench.kernel("a", 100, devices=2)], [1], devices=[5])
    assert str(raised.value) == "error: --devices 5: this machine has the devices 0, 1"


def test_an_interrupted_sweep_keeps_what_it_has_and_goes_on(bench: Bench) -> None:
    kernels = [bench.kernel("a", 100), bench.kernel("b", 150, faults={"2": "hang"})]
    path = str(bench.folder / "results.sqlite")
    with open_results(path, write=True) as results:
        swept = bench.start(results, kernels, [1, 2], None)
        thread = threading.Thread(target=interrupt_when, args=(lambda: len(bench.log.read_text().splitlines()) == 4,))
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            swept.run()
        thread.join()
        assert [(one.kernel, one.problem["m"]) for one in results.all()] == [("a", 1), ("b", 1), ("a", 2)]
    assert not children()
    bench.asked()
    summary, _ = bench.sweep([kernels[0], bench.kernel("b", 150)], [1, 2])
    assert summary.reused == 3
    assert {(line["kernel"], line["m"]) for line in bench.asked() if line.get("relative-stderr")} == {("b", "2")}


def interrupt_when(happened: Callable[[], bool]) -> None:
    for _ in range(200):
        time.sleep(0.05)
        try:
            if happened():
                break
        except FileNotFoundError:
            continue
    time.sleep(0.3)
    os.kill(os.getpid(), 2)


def children() -> list[str]:
    tasks = Path(f"/proc/{os.getpid()}/task")
    return [child for task in tasks.iterdir() for child in (task / "children").read_text().split()]
