"""The sweep's logic, with profilers that are played by a script: what is measured, when, and what a fault costs."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from cutlass_ninja import sweep as sweeps
from cutlass_ninja.choose import best
from cutlass_ninja.contenders import Contender, Gpu, gpus
from cutlass_ninja.contests import Query
from cutlass_ninja.errors import BuildError, InputError
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
        self,
        name: str,
        us: float,
        *,
        parameters: dict[str, list[int]] | None = None,
        layout: str = "tnn",
        **config: Any,
    ) -> Contender:
        key = f"key-{name}"
        fake = {"key": key, "name": name, "us": us, "log": str(self.log), **config}
        command = (sys.executable, str(FAKE), json.dumps(fake))
        provider = config.get("provider", "cutlass-ninja")
        layouts = {f"layout_{which}": letter for which, letter in zip("abc", layout)}
        return Contender(name, key, "gemm", "sm_80", {**CONFIG, **layouts}, command, parameters or {}, provider)

    def sweep(
        self,
        kernels: list[Contender],
        sizes: Sequence[int | tuple[int, int]],
        devices: list[int] | None = None,
        **options: Any,
    ) -> tuple[Summary, dict[tuple[str, int, str], Result]]:
        """Sweep over problems, each named by its m and n, or one number for both."""
        with open_results(str(self.folder / "results.sqlite"), write=True) as results:
            swept = self.start(results, kernels, sizes, devices, **options)
            summary = swept.run()
        found = {(r.kernel, int(r.problem["m"]), json.dumps(dict(r.parameters))): r for r in swept.results()}
        return summary, found

    def start(
        self,
        results: Results,
        kernels: list[Contender],
        sizes: Sequence[int | tuple[int, int]],
        devices: list[int] | None,
        **options: Any,
    ) -> Sweep:
        extents = [size if isinstance(size, tuple) else (size, size) for size in sizes]
        problems = [Problem("gemm", {"m": m, "n": n, "k": 64}) for m, n in extents]
        chosen: list[Gpu] = gpus(kernels, devices)
        options = {"timeout_s": 20, **options}
        return Sweep(kernels, problems, chosen, results, Options(**options), Progress(self.progress))

    def asked(self) -> list[dict[str, Any]]:
        """What the fakes were asked since the last call, in order."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def pairs(self) -> list[tuple[str, int, int]]:
        """Kernel, m and n of what was measured coarsely and by default since the last call, in order."""
        return [
            (line["kernel"], int(line["m"]), int(line["n"]))
            for line in self.asked()
            if line.get("relative-stderr") == "2"
        ]


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


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        ("crash", "crashed", "killed by SIGSEGV"),
        ("hang", "timed_out", "no result after 2 s"),
        ("failed",) * 2 + ("planted: failed",),
    ],
)
def test_what_fails_in_a_final_is_no_winner_and_delays_nobody(
    fault: str, status: str, reason: str, bench: Bench
) -> None:
    kernels = [bench.kernel("a", 100, final_faults={"1": fault}), bench.kernel("b", 101), bench.kernel("c", 102)]
    _, results = bench.sweep(kernels, [1, 2], timeout_s=2)
    assert (of(results, "a").status, of(results, "a").reason) == (status, f"in a final: {reason}")
    assert {of(results, name, size).precision for name, size in (("b", 1), ("c", 1), ("a", 2), ("b", 2))} == {"final"}
    assert f"finals: {6 * sweeps.ROUNDS}/{6 * sweeps.ROUNDS}\n" in bench.progress.getvalue()


@pytest.mark.parametrize(("us", "processes"), [(100, 1), (10, sweeps.ROUNDS)])
def test_short_kernels_have_another_process_in_each_round(us: float, processes: int, bench: Bench) -> None:
    bench.sweep([bench.kernel("a", us), bench.kernel("b", us * 1.01)], [1])
    finals = [(line["kernel"], line["pid"]) for line in bench.asked() if line.get("profiling-duration") == "200"]
    assert len(finals) == 2 * sweeps.ROUNDS
    assert Counter(kernel for kernel, _ in set(finals)) == {"a": processes, "b": processes}


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


def test_a_process_that_cannot_be_started_costs_its_kernel_alone(bench: Bench) -> None:
    kernels = [bench.kernel("a", 100), bench.kernel("b", 100), bench.kernel("c", 100)]
    kernels[1] = replace(kernels[1], command=("/nowhere",))
    summary, results = bench.sweep(kernels, [1, 2])
    assert {(kernel, result.status) for (kernel, _, _), result in results.items()} == {
        ("a", "success"), ("b", "failed"), ("b", "skipped"), ("c", "success"),
    }  # fmt: skip
    assert of(results, "b").reason == "the profiler cannot be run: No such file or directory"
    assert summary.undone == 2


def test_the_second_run_measures_nothing(bench: Bench) -> None:
    kernels = [bench.kernel("a", 100), bench.kernel("b", 101), bench.kernel("c", 150)]
    bench.sweep(kernels, [1, 2])
    bench.asked()
    summary, results = bench.sweep(kernels, [1, 2])
    assert bench.asked() == [] and (summary.measured, summary.reused) == (0, 6)
    assert len(results) == 6


def test_parameters_are_not_searched_again_from_another_best(bench: Bench) -> None:
    parameters = {"order": [0, 1], "slices": [1, 2]}
    kernels = [bench.kernel("a", 100, parameters=parameters, faster={"order": 1})]
    _, results = bench.sweep(kernels, [1])
    assert {parameters for *_, parameters in results} == {
        '{"order": 0, "slices": 1}', '{"order": 1, "slices": 1}', '{"order": 1, "slices": 2}',
    }  # fmt: skip
    bench.asked()
    other = of(results, "a", 1, '{"order": 0, "slices": 1}')
    with open_results(str(bench.folder / "results.sqlite"), write=True) as opened:
        opened.put(replace(other, precision="full", record={**other.record, "runtime_median_ms": 0.07}))
    summary, _ = bench.sweep(kernels, [1])
    assert bench.asked() == [] and summary.measured == 0
    # What is asked for anew is searched.
    more = [replace(kernels[0], parameters={"order": [0, 1], "slices": [1, 2, 4]})]
    bench.sweep(more, [1])
    assert {(line["order"], line["slices"]) for line in bench.asked()} >= {("0", "2"), ("0", "4")}


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
    "nested": ("failed", "printed what is no result: '[[[["),
    "orphan": ("failed", "ended with exit status 7"),
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
    assert not any(map(members, {line["pid"] for line in bench.asked()}))
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


def test_gpus_are_listed_by_a_profiler_that_works(bench: Bench) -> None:
    broken = [
        replace(bench.kernel("bad", 100), command=(sys.executable, "-c", script))
        for script in ("import os; os.abort()", "print('nonsense')", "print('[{}]')")
    ]
    missing = replace(bench.kernel("bad", 100), command=("/nowhere",))
    (gpu,) = gpus([*broken, missing, bench.kernel("good", 100)], None)
    assert gpu.place.gpu == "Fake GPU"
    with pytest.raises(BuildError) as raised:
        gpus(broken[1:], None)
    assert str(raised.value) == f"error: {sys.executable} --list-devices printed no list of devices"


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


def test_kernels_of_one_signature_are_asked_for_problems_as_they_stand(bench: Bench) -> None:
    bench.sweep([bench.kernel("a", 100), bench.kernel("b", 100, layout="nnn")], [(4, 8)])
    assert bench.pairs() == [("a", 4, 8), ("b", 4, 8)]


def test_kernels_of_exchanged_signatures_compete_in_both_forms(bench: Bench) -> None:
    # The fakes take us * m: with m=8, what is tnn at (4, 8) takes "t" 8 * 40 us, and "n" 4 * 100 us.
    kernels = [bench.kernel("n", 100), bench.kernel("t", 40, layout="tnt")]
    summary, results = bench.sweep(kernels, [(4, 8)])
    assert bench.pairs() == [("n", 4, 8), ("n", 8, 4), ("t", 4, 8), ("t", 8, 4)]
    assert all(result.verified for result in results.values()) and summary.exchanged == 2
    # What competes is measured fully only if it is near the best of either kernel, in whichever form.
    assert {(kernel, m): result.precision for (kernel, m, _), result in results.items()} == {
        ("n", 4): "coarse", ("n", 8): "coarse", ("t", 4): "full", ("t", 8): "full",
    }  # fmt: skip
    tnn, tnt = sorted(best(list(results.values()), [gemm(4, 8)], Query()), key=lambda choice: str(choice.types))
    assert (tnn.types, tnn.winner, tnn.exchanged) == ("f16*f16+f32=f16 tnn", of(results, "t", 8), True)
    assert (tnt.types, tnt.winner, tnt.exchanged) == ("f16*f16+f32=f16 tnt", of(results, "t", 4), False)
    assert (dict(tnn.problem), tnn.kernel_problem) == (dict(gemm(4, 8).values), gemm(8, 4).values)
    assert bench.sweep(kernels, [(4, 8)])[0].measured == 0


def test_kernels_of_both_forms_meet_in_finals(bench: Bench) -> None:
    kernels = [bench.kernel("n", 100), bench.kernel("t", 50.5, layout="tnt")]
    _, results = bench.sweep(kernels, [(4, 8)])
    finals = [(line["kernel"], line["m"]) for line in bench.asked() if line.get("profiling-duration") == "200"]
    assert finals == [("n", "4"), ("t", "8"), ("t", "8"), ("n", "4")] * 2 + [("n", "4"), ("t", "8")]
    assert of(results, "n", 4).precision == of(results, "t", 8).precision == "final"


def test_where_layouts_do_not_matter_a_kernel_competes_with_itself(bench: Bench) -> None:
    parameters = {"order": [0, 1]}
    kernels = [bench.kernel("a", 100, parameters=parameters, faster={"order": 1}), bench.kernel("b", 90, layout="nnt")]
    _, results = bench.sweep(kernels, [(1, 64)])
    assert set(bench.pairs()) == {("a", 1, 64), ("a", 64, 1), ("b", 1, 64)}
    (choice,) = best(list(results.values()), [gemm(1, 64)], Query())
    assert (choice.types, choice.winner) == ("f16*f16+f32=f16 *n*", of(results, "a", 1, '{"order": 1}'))


def test_a_problem_in_both_forms_is_asked_once(bench: Bench) -> None:
    kernels = [bench.kernel("n", 100), bench.kernel("t", 100, layout="tnt")]
    summary, results = bench.sweep(kernels, [(4, 8), (8, 4)])
    assert Counter(bench.pairs()) == Counter(product("nt", [4], [8])) + Counter(product("nt", [8], [4]))
    assert summary.exchanged == 0
    assert len(best(list(results.values()), [gemm(4, 8), gemm(8, 4)], Query())) == 4


def test_only_what_is_computed_for_certain_layouts_may_be_of_interest(bench: Bench) -> None:
    kernels = [bench.kernel("n", 100), bench.kernel("t", 40, layout="tnt"), bench.kernel("u", 40, layout="ttt")]
    _, results = bench.sweep(kernels, [(4, 8), (6, 6), (1, 8)], layouts=("tnn",))
    vectors = {("n", 1, 8), ("t", 1, 8), ("n", 8, 1), ("t", 8, 1), ("u", 8, 1)}  # As *n* all of them.
    assert set(bench.pairs()) == {("n", 4, 8), ("t", 8, 4), ("n", 6, 6), ("t", 6, 6)} | vectors
    assert all(result.verified for result in results.values())


def test_the_baseline_is_measured_as_the_problem_stands(bench: Bench) -> None:
    baselines = [bench.kernel(f"lt-{layout}", 50, layout=layout, provider="cuBLASLt") for layout in ("tnn", "tnt")]
    kernels = [bench.kernel("n", 100), bench.kernel("t", 20, layout="tnt"), *baselines]
    _, results = bench.sweep(kernels, [(4, 8)])
    assert {pair for pair in bench.pairs() if pair[0].startswith("lt")} == {("lt-tnn", 4, 8), ("lt-tnt", 4, 8)}
    choices = best(list(results.values()), [gemm(4, 8)], Query())
    assert {choice.baseline.kernel: choice.exchanged for choice in choices if choice.baseline} == {
        "lt-tnn": True, "lt-tnt": False,
    }  # fmt: skip


def test_a_kernel_that_is_lost_to_another_form_was_asked_for_the_problems(bench: Bench) -> None:
    kernels = [bench.kernel("n", 100), bench.kernel("t", 100, layout="tnt", faults={"8": "crash"})]
    _, results = bench.sweep(kernels, [(4, 8), (5, 8)])
    assert [of(results, "t", m).status for m in (4, 5)] == ["success", "success"]
    assert of(results, "t", 8).status in ("crashed", "skipped")


def test_both_forms_of_a_problem_are_measured_on_one_gpu(bench: Bench) -> None:
    kernels = [bench.kernel("n", 100, devices=2), bench.kernel("t", 100, layout="tnt")]
    bench.sweep(kernels, [(4, 8), (8, 4), (5, 9), (6, 9)])
    devices: dict[frozenset[str], set[int]] = {}
    for line in bench.asked():
        devices.setdefault(frozenset([line["m"], line["n"]]), set()).add(line["device"])
    assert sorted(map(len, devices.values())) == [1, 1, 1]
    assert set.union(*devices.values()) == {0, 1}


def test_an_exhaustive_sweep_has_all_parameters_of_both_forms(bench: Bench) -> None:
    parameters = {"order": [0, 1, 2]}
    kernels = [bench.kernel("n", 100, parameters=parameters), bench.kernel("t", 100, layout="tnt")]
    _, results = bench.sweep(kernels, [(4, 8)], exhaustive=True)
    assert Counter((kernel, m) for kernel, m, _ in results) == {("n", 4): 3, ("n", 8): 3, ("t", 4): 1, ("t", 8): 1}
    assert "coarse" not in {result.precision for result in results.values()}


def gemm(m: int, n: int) -> Problem:
    return Problem("gemm", {"m": m, "n": n, "k": 64})


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


def members(group: int) -> list[str]:
    """The processes of a group that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of_group, *_ = stat.read_text().rpartition(")")[2].split()
            found += [stat.parent.name] if int(of_group) == group and state != "Z" else []
    return found
