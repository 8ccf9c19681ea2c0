"""Which kernel is called the best, which ties with it, and what is said of what was not measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_results import CONFIG, H200, record, result

from cutlass_ninja import peaks
from cutlass_ninja.choose import Choice, best
from cutlass_ninja.contests import Query
from cutlass_ninja.manifest import Problem
from cutlass_ninja.ranking import tied, within
from cutlass_ninja.results import Result

ANY = Query()


def problem(m: int, **values: Any) -> Problem:
    return Problem("gemm", {"m": m, "n": 64, "k": 64, "batch_count": 1, "alpha": 1, "beta": 0, **values})


def only(results: list[Result], **query: Any) -> Choice:
    (choice,) = best(results, [], Query(**query))
    return choice


def test_the_fastest_verified_kernel_wins() -> None:
    unverified = result("unverified", 0.5, record=record(0.5, verification="skipped"))
    wrong = result("wrong", 0.6, status="incorrect", record=record(0.6, verification="failed"))
    choice = only([result("slow", 2.0), unverified, wrong, result("fast", 1.0), result("dead", None)])
    assert choice.winner and choice.winner.kernel == "fast"
    assert (choice.compared, choice.wrong) == (2, 2)


def test_what_was_measured_coarsely_wins_only_among_its_like() -> None:
    brief = result("brief", 0.9, precision="coarse")
    choice = only([brief, result("full", 1.0)])
    assert choice.winner and choice.winner.kernel == "full"
    assert choice.compared == 2
    assert only([brief]).winner == brief


def test_a_problem_without_a_verified_kernel_has_no_winner() -> None:
    choice = only([result("dead", None)])
    assert (choice.winner, choice.wrong, choice.factor) == (None, 1, None)


def test_kernels_of_other_types_or_layouts_are_no_rivals() -> None:
    bf16 = result("bf16", 0.5, config={**CONFIG, "element_a": "bf16", "element_b": "bf16"})
    nn = result("nn", 0.6, config={**CONFIG, "layout_a": "n"})
    choices = best([result("f16"), bf16, nn], [problem(64)], ANY)
    assert {choice.winner and choice.winner.kernel for choice in choices} == {"f16", "bf16", "nn"}


def test_a_kernel_without_c_is_a_rival_where_c_is_not_read() -> None:
    void = {**CONFIG, "element_c": "void"}
    assert only([result("c"), result("void", 0.5, config=void)]).winner == result("void", 0.5, config=void)
    read = problem(64, beta=1).values
    choices = best([result("c", problem=read), result("void", 0.5, config=void, problem=read)], [], ANY)
    assert len(choices) == 2


def test_a_kernels_best_parameters_count_and_its_others_are_no_ties() -> None:
    rows = [result("a", ms, parameters={"order": order}) for order, ms in enumerate((1.001, 1.0, 1.002))]
    choice = only([*rows, result("b", 1.003)])
    assert choice.winner and choice.winner.parameters == {"order": 1}
    assert [one.kernel for one in choice.tied] == ["b"]


def test_the_factor_is_that_of_the_fastest_baseline() -> None:
    baselines = [
        result("cublaslt", ms, provider="cuBLASLt", parameters={"algorithm": rank})
        for rank, ms in enumerate((1.5, 1.2))
    ]
    choice = only([result("a", 1.0), *baselines])
    assert choice.factor == pytest.approx(1.2)
    assert choice.baseline and choice.baseline.parameters == {"algorithm": 1}
    assert only([result("a", 1.0)]).factor is None
    assert best(baselines, [], ANY) == []


def test_percent_of_peak() -> None:
    assert only([result(ms=2 / 494.7)]).percent_of_peak == pytest.approx(50)
    assert only([result(place=replace(H200, gpu="NVIDIA Other"))]).percent_of_peak is None


@pytest.mark.parametrize(
    ("gpu", "config", "peak"),
    [
        ("NVIDIA H200", {"element_a": "bf16", "opcode_class": "tensorop"}, 989.4),
        ("NVIDIA H200", {"element_a": "f32", "opcode_class": "tensorop"}, 494.7),
        ("NVIDIA H200", {"element_a": "f32", "opcode_class": "simt"}, 66.9),
        ("NVIDIA H200", {"element_a": "f64", "opcode_class": "tensorop"}, 66.9),
        ("NVIDIA H200", {"element_a": "f64", "opcode_class": "simt"}, 33.5),
        ("NVIDIA H200", {"element_a": "f32", "math_operation": "multiply_add_fast_bf16"}, 989.4),
        ("NVIDIA H200", {"element_a": "f32", "math_operation": "multiply_add_fast_f32"}, pytest.approx(164.9)),
        ("NVIDIA H200", {"element_a": "e4m3", "opcode_class": "tensorop"}, 1978.9),
        (
            "NVIDIA GeForce RTX 4090",
            {"element_a": "f16", "element_accumulator": "f16", "opcode_class": "tensorop"},
            330.3,
        ),
        (
            "NVIDIA GeForce RTX 4090",
            {"element_a": "f16", "element_accumulator": "f32", "opcode_class": "tensorop"},
            165.2,
        ),
        ("Tesla T4", {"element_a": "f32", "opcode_class": "tensorop"}, None),
        ("NVIDIA H200", {"element_a": "f16", "opcode_class": "simt"}, None),
        ("Voodoo 2", {"element_a": "f16", "opcode_class": "tensorop"}, None),
    ],
)
def test_peaks(gpu: str, config: dict[str, str], peak: float | None) -> None:
    assert peaks.peak_tflop_per_s(gpu, config) == peak


def test_ties_are_within_half_a_percent_or_chance() -> None:
    assert tied(result(ms=1.0), result(ms=1.004))
    assert not tied(result(ms=1.0), result(ms=1.006))
    assert tied(result(ms=1.0), result(ms=1.02, record=record(1.02, relative_stderr=0.02)))


def test_rounds_are_compared_in_pairs() -> None:
    # Both drift by 10 %, as a GPU does that grows warm; the difference is always 1 %.
    drift = (1.0, 1.02, 1.05, 1.08, 1.1)
    best, other = result(rounds=drift), result(ms=1.0605, rounds=tuple(1.01 * ms for ms in drift))
    assert not tied(best, other)
    erratic = result(ms=1.06, rounds=(0.95, 1.1, 1.0, 1.2, 1.09))
    assert tied(best, erratic)


def test_within_a_fraction_and_with_the_benefit_of_noise() -> None:
    rows = [result("a", 1.0), result("b", 1.09), result("c", 1.12), result("dead", None)]
    assert [one.kernel for one in within(rows, 0.1)] == ["a", "b"]
    noisy = [replace(row, record=record(row.median_ms or 9, relative_stderr=0.02)) for row in rows[:3]]
    assert [one.kernel for one in within(noisy, 0.1, noise=True)] == ["a", "b", "c"]
    assert within([result("dead", None)], 0.1) == []


def test_only_the_latest_driver_counts() -> None:
    new = replace(H200, driver="590.1")
    rows = [result("a", 1.0), result("a", 1.2, place=new, measured_at="2026-02-01T00:00:00Z")]
    choice = only(rows)
    assert choice.winner and choice.winner.place.driver == "590.1"


def test_each_gpu_model_has_a_choice_and_a_pattern_selects() -> None:
    rows = [result("a"), result("a", place=replace(H200, gpu="NVIDIA L4"))]
    assert len(best(rows, [], ANY)) == 2
    assert only(rows, gpu="*L4").winner == rows[1]
    assert best(rows, [], Query(cache="warm")) == []


def test_kernels_that_the_build_no_longer_has_do_not_count() -> None:
    assert only([result("old", 0.5), result("new")], keys={"key-new"}).winner == result("new")


def test_what_was_not_measured_is_not_guessed_unless_asked() -> None:
    (choice,) = best([result(m=64)], [problem(128)], ANY)
    assert choice.winner is None and not choice.predicted_from


def test_a_prediction_names_the_nearest_problems_and_gives_no_time() -> None:
    rows = [
        *(result("small", 0.1 if m < 1000 else 9.0, m=m) for m in (64, 128, 256, 8192)),
        *(result("large", 0.5 if m < 1000 else 1.0, m=m) for m in (64, 128, 256, 8192)),
    ]
    (choice,) = best(rows, [problem(160)], ANY, predict=True)
    assert choice.winner and choice.winner.kernel == "small"
    assert [one["m"] for one in choice.predicted_from] == [128, 256, 64]
    told = choice.to_json()
    assert (told["predicted"], told["median_ms"], told["factor"]) == (True, None, None)
    assert told["tflop_per_s"] == pytest.approx(20)
    (choice,) = best(rows, [problem(9000)], ANY, predict=True)
    assert choice.winner and choice.winner.kernel == "large"


def test_a_kernel_is_not_predicted_for_a_problem_that_it_does_not_take() -> None:
    aligned = {**CONFIG, "alignment_a": 8, "alignment_b": 8, "alignment_c": 8, "alignment_d": 8}
    rows = [result("fast", 1.0, config=aligned, problem=asked(64, 64)), result("any", 2.0, problem=asked(64, 64))]
    # D, column-major, has columns of m elements; A and B of k.
    for m, n, k, kernel in ((72, 65, 64, "fast"), (65, 72, 64, "any"), (72, 72, 65, "any")):
        (choice,) = best(rows, [Problem("gemm", asked(m, n, k))], ANY, predict=True)
        assert choice.winner and choice.winner.kernel == kernel, (m, n, k)
    (choice,) = best(rows[:1], [Problem("gemm", asked(65, 72))], ANY, predict=True)
    assert choice.winner is None


def test_a_problem_that_reads_c_is_not_predicted_from_one_that_does_not() -> None:
    (choice,) = best([result(m=64)], [problem(128, beta=1)], ANY, predict=True)
    assert choice.winner is None


TNT = {**CONFIG, "layout_c": "t"}
"""Of a kernel that computes with A and B exchanged what CONFIG's does."""


def asked(m: int, n: int, k: int = 64) -> dict[str, Any]:
    return {**problem(m).values, "n": n, "k": k}


def test_a_kernel_that_was_asked_in_the_other_form_answers() -> None:
    stored = result("t", 0.5, problem=asked(4096, 16), config=TNT)
    (choice,) = best([stored], [problem(16, n=4096)], ANY)
    assert (choice.winner, choice.exchanged, choice.types) == (stored, True, "f16*f16+f32=f16 tnn")
    told = choice.to_json()
    assert (told["problem"], told["kernel_problem"]) == (asked(16, 4096), asked(4096, 16))
    assert (told["signature"], told["exchanged"]) == ("f16*f16+f32=f16 tnn", True)
    # And as it stands it still does.
    (choice,) = best([stored], [problem(4096, n=16)], ANY)
    assert (choice.types, choice.exchanged, choice.kernel_problem) == ("f16*f16+f32=f16 tnt", False, asked(4096, 16))


def test_forms_compete_and_ties_say_how_they_are_asked() -> None:
    rows = [
        result("n", 1.003, problem=asked(16, 4096)),
        result("t", 1.0, problem=asked(4096, 16), config=TNT),
        result("u", 1.004, problem=asked(4096, 16), config=TNT),
        result("cublaslt", 1.5, key="lt", provider="cuBLASLt", problem=asked(16, 4096)),
    ]
    (choice,) = best(rows, [problem(16, n=4096)], ANY)
    assert choice.winner == rows[1] and choice.factor == pytest.approx(1.5)
    ties = [(one["kernel"], one["exchanged"], one["kernel_problem"]) for one in choice.to_json()["ties"]]
    assert ties == [("n", False, asked(16, 4096)), ("u", True, asked(4096, 16))]
    (native,) = best([*rows, result("best", 0.9, problem=asked(16, 4096))], [problem(16, n=4096)], ANY)
    assert (native.exchanged, native.kernel_problem) == (False, asked(16, 4096))


def test_who_asks_for_what_was_measured_is_told_of_no_other_signatures() -> None:
    rows = [result("n", problem=asked(16, 4096)), result("n", problem=asked(4096, 16))]
    for m, n in ((16, 4096), (4096, 16)):
        (choice,) = best(rows, [problem(m, n=n)], ANY)
        assert (choice.types, choice.exchanged, dict(choice.problem)) == ("f16*f16+f32=f16 tnn", False, asked(m, n))


def test_another_gpu_has_answers_of_its_own() -> None:
    other = result("t", place=replace(H200, gpu="NVIDIA L4"), problem=asked(4096, 16), config=TNT)
    choices = best([result("n", problem=asked(16, 4096)), other], [problem(16, n=4096)], ANY)
    assert [(choice.winner and choice.winner.place.gpu, choice.exchanged) for choice in choices] == [
        ("NVIDIA H200", False), ("NVIDIA L4", True),
    ]  # fmt: skip


def test_where_m_is_n_each_signature_is_answered_by_kernels_of_both() -> None:
    rows = [result("n", 1.0), result("t", 0.9, config=TNT)]
    choices = best(rows, [problem(64)], ANY)
    assert [(choice.types, choice.winner, choice.exchanged) for choice in choices] == [
        ("f16*f16+f32=f16 tnn", rows[1], True), ("f16*f16+f32=f16 tnt", rows[1], False),
    ]  # fmt: skip
    assert [choice.kernel_problem for choice in choices] == [asked(64, 64), asked(64, 64)]
    assert best(rows, [], ANY) == choices


def test_where_layouts_do_not_matter_there_is_one_choice() -> None:
    rows = [
        result("n", 1.0, problem=asked(1, 4096)),
        result("n", 0.8, problem=asked(4096, 1)),
        result("t", 0.9, problem=asked(1, 4096), config={**TNT, "layout_a": "n"}),
    ]
    for problems in ([problem(1, n=4096)], []):
        (choice,) = best(rows, problems, ANY)
        assert (choice.types, choice.winner, choice.exchanged) == ("f16*f16+f32=f16 *n*", rows[1], True)
        assert choice.compared == 2


def test_what_was_measured_is_seen_from_the_problem_that_was_asked() -> None:
    # A sweep over (16, 4096) with kernels of both signatures, and one that has gone in the other form.
    rows = [
        *(result(f"n{one}", problem=asked(*sizes)) for one in range(2) for sizes in ((16, 4096), (4096, 16))),
        *(
            result(f"t{one}", problem=asked(*sizes), config=TNT)
            for one in range(2)
            for sizes in ((16, 4096), (4096, 16))
        ),
        result("gone", problem=asked(16, 4096)),
    ]
    assert {(choice.problem["m"], choice.types) for choice in best(rows, [], ANY)} == {
        (16, "f16*f16+f32=f16 tnn"), (16, "f16*f16+f32=f16 tnt"),
    }  # fmt: skip


def test_a_prediction_takes_in_other_forms_and_says_how_to_ask() -> None:
    rows = [
        *(result("n", 1.0, problem=asked(16, n)) for n in (2048, 4096)),
        *(result("t", 0.5, problem=asked(n, 16), config=TNT) for n in (2048, 4096)),
        *(result("n", 9.0, problem=asked(n, 16)) for n in (2048, 4096)),
        *(result("t", 9.0, problem=asked(16, n), config=TNT) for n in (2048, 4096)),
    ]
    choices = best(rows, [problem(16, n=3000)], ANY, predict=True)
    by_types = {choice.types: choice for choice in choices}
    assert by_types.keys() == {"f16*f16+f32=f16 tnn", "f16*f16+f32=f16 tnt"}
    tnn = by_types["f16*f16+f32=f16 tnn"]
    assert tnn.winner and (tnn.winner.kernel, tnn.exchanged) == ("t", True)
    assert (dict(tnn.problem), tnn.kernel_problem) == (asked(16, 3000), asked(3000, 16))
    assert {(one["m"], one["n"]) for one in tnn.predicted_from[:2]} == {(16, 2048), (16, 4096)}


def test_kernels_of_one_signature_are_predicted_for_it_alone() -> None:
    rows = [result("n", problem=asked(16, 4096)), result("n", problem=asked(4096, 16))]
    (choice,) = best(rows, [problem(16, n=3000)], ANY, predict=True)
    assert (choice.types, choice.exchanged) == ("f16*f16+f32=f16 tnn", False)


def test_a_vector_is_predicted_from_matrices() -> None:
    rows = [result("n", 1.0, problem=asked(16, 4096)), result("t", 0.5, problem=asked(4096, 16), config=TNT)]
    (choice,) = best(rows, [problem(1, n=4096)], ANY, predict=True)
    assert (choice.types, choice.exchanged) == ("f16*f16+f32=f16 *n*", True)
    assert choice.kernel_problem == asked(4096, 1)
