"""What `report` says: the page's figures, the tables, the CSV; how it looks is for test_report_page.py."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
import sweeps
from conftest import BuildFolder
from test_plan import plan, target
from test_results import CONFIG, H200, record, result

from cutlass_ninja.contests import Query
from cutlass_ninja.manifest import Problem
from cutlass_ninja.report import contents, heat, page, rows, text
from cutlass_ninja.report.contents import Contents
from cutlass_ninja.results import Result

BOTH = (Query(), Query(cache="warm"))
ENVIRONMENT = {
    "compile_time_s": 12.5,
    "ptxas": {"functions": [{"registers": 168, "spill_stores_bytes": 8, "spill_loads_bytes": 4}, {"registers": 40}]},
    "toolchain": {"nvcc": "13.0.88", "cutlass": "4.2.0"},
}
BASELINE = result(
    "cublaslt", 1.5, key="lt", provider="cuBLASLt", parameters={"algorithm": 2}, environment={"version": "13.1.0"}
)


def report(*results: Result) -> Contents:
    return contents.of_results(results, BOTH)


def embedded(html: str) -> dict[str, Any]:
    """The figures within a page."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def data(*results: Result) -> dict[str, Any]:
    return embedded(page.render(report(*results)))


def told(*results: Result, top: int = 10) -> str:
    return "\n".join(text.lines(report(*results), top))


def names(figures: dict[str, Any], contest: int = 0) -> list[str]:
    return [figures["kernels"]["name"][number] for number in figures["contests"][contest]["kernel"]]


class Texts(HTMLParser):
    """The tags of a page, and its texts outside scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts = ""
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href", "srcset", "action")]

    def handle_data(self, data: str) -> None:
        if not self.tags or self.tags[-1] not in ("script", "style"):
            self.texts += data


def test_the_page_has_the_ranking_with_its_spread_and_the_baseline() -> None:
    spread = record(2.0, runtime_p5_ms=1.9, runtime_p95_ms=2.2)
    figures = data(result("slow", record=spread), result("fast", 1.0), BASELINE)
    (contest,) = figures["contests"]
    assert names(figures) == ["fast", "slow"]
    assert (contest["median"], contest["p5"], contest["p95"]) == ([1000, 2000], [1000, 1900], [1000, 2200])
    assert (contest["title"], contest["types"], contest["gpu"]) == (
        "m=64 n=64 k=64",
        "f16*f16+f32=f16 tnn",
        "NVIDIA H200",
    )
    assert (contest["flop"], contest["bytes"], contest["peak"], contest["bandwidth"]) == (2 * 10**9, 10**6, 989.4, 4.8)
    assert contest["baseline"] == {
        "name": "cuBLASLt", "parameters": "algorithm=2", "median": 1500, "p5": 1500, "p95": 1500,
    }  # fmt: skip


def test_a_kernel_has_one_place_by_its_best_parameters() -> None:
    figures = data(*(result("a", ms, parameters={"raster_order": order}) for order, ms in enumerate((2.0, 1.0, 3.0))))
    (contest,) = figures["contests"]
    assert (names(figures), contest["median"]) == (["a"], [1000])
    assert figures["texts"][contest["parameters"][0]] == "raster_order=1"


def test_what_was_measured_briefly_comes_last_and_is_marked() -> None:
    figures = data(result("brief", 0.9, precision="coarse"), result("full", 1.0), result("slower", 1.1))
    assert names(figures) == ["full", "slower", "brief"]
    assert figures["contests"][0]["coarse"] == [2]


def test_ties_are_marked() -> None:
    figures = data(result("a", 1.0), result("b", 1.001), result("c", 1.1))
    assert figures["contests"][0]["tied"] == [1]


def test_what_compiling_took_and_gave_is_shown() -> None:
    row = result(environment=ENVIRONMENT)
    kernels = data(row)["kernels"]
    assert (kernels["compile"], kernels["registers"], kernels["spills"]) == ([12.5], [168], [12])
    assert data(result())["kernels"]["compile"] == [None]
    assert "12.5 s        168    12 B" in told(row)


def test_kernels_are_told_by_the_fields_in_which_they_differ() -> None:
    pairs = [("a", [64, 64, 32], 0), ("b", [128, 64, 32], 4)]
    made = [
        result(name, config={**CONFIG, "threadblock_shape": tile, "stages": stages, "swizzle": "same"})
        for name, tile, stages in pairs
    ]
    fields = data(*made)["kernels"]["fields"]
    assert fields == {
        "threadblock_shape": {"number": [0, 1], "values": ["64x64x32", "128x64x32"]},
        "stages": {"number": [0, 1], "values": ["auto", "4"]},
    }


def test_kernels_that_share_a_name_are_told_apart() -> None:
    figures = data(result("a", key="1" * 20), result("a", 2.0, key="2" * 20), result("b", 3.0))
    assert names(figures) == ["a (11111111)", "a (22222222)", "b"]


def test_the_heat_map_has_the_best_of_each_tile_and_stages() -> None:
    made = [
        result(str(number), ms, config={**CONFIG, "threadblock_shape": tile, "stages": stages})
        for number, (tile, stages, ms) in enumerate(
            [([128, 64, 32], 3, 1.0), ([128, 64, 32], 3, 2.0), ([64, 64, 32], 10, 4.0), ([64, 64, 32], 3, None)]
        )
    ]
    found = heat.of_contest(report(*made).contests[0])
    assert (found.tiles, found.stages) == (("64x64x32", "128x64x32"), ("3", "10"))
    assert found.tflop_per_s == {("128x64x32", "3"): 2.0, ("64x64x32", "10"): 0.5}
    assert " 64x64x32    -  0.5\n128x64x32  2.0    -" in told(*made)


def test_the_roof_is_the_memorys_or_the_arithmetics() -> None:
    (contest,) = report(result()).contests
    assert (contest.intensity, contest.roof_tflop_per_s) == (2000, 989.4)
    (contest,) = report(result(record=record(1.0, bytes=10**9))).contests
    assert contest.roof_tflop_per_s == pytest.approx(9.6)
    other = replace(H200, gpu="NVIDIA Other")
    assert report(result(place=other)).contests[0].roof_tflop_per_s is None
    assert data(result(place=other))["contests"][0]["peak"] is None


def test_problems_are_in_the_order_of_their_sizes() -> None:
    figures = data(*(result(m=m) for m in (1024, 64, 128)))
    assert [contest["title"].split()[0] for contest in figures["contests"]] == ["m=64", "m=128", "m=1024"]


def test_cache_modes_are_contests_of_their_own() -> None:
    figures = data(result(), result(ms=0.5, cache="warm"))
    assert [(contest["cache"], contest["median"]) for contest in figures["contests"]] == [
        ("cold", [1000]),
        ("warm", [500]),
    ]
    assert "(NVIDIA H200, warm L2)" in told(result(cache="warm"))


def test_gpus_are_contests_of_their_own_and_named() -> None:
    made = [result(), result(ms=4.0, place=replace(H200, gpu="NVIDIA L4", gpu_uuid="GPU-2"))]
    assert [contest["gpu"] for contest in data(*made)["contests"]] == ["NVIDIA H200", "NVIDIA L4"]
    shown = Texts(page.render(report(*made))).texts
    assert "measured on NVIDIA H200, NVIDIA L4" in shown and "GPU-2" in shown
    assert "f16*f16+f32=f16 tnn, NVIDIA L4" in shown
    assert ", NVIDIA H200" not in Texts(page.render(report(result()))).texts


def in_forms() -> list[Result]:
    """A kernel as it stands, one that is faster exchanged, and one that failed so."""
    flat, tall = ({**result().problem, "m": m, "n": n} for m, n in ((16, 128), (128, 16)))
    tnt = {**CONFIG, "layout_c": "t"}
    return [
        result("as it stands", 1.0, problem=flat),
        result("turned", 0.5, problem=tall, config=tnt),
        result("dead", None, problem=tall, config=tnt),
        replace(BASELINE, problem=flat),
    ]


def test_exchanged_kernels_are_ranked_with_the_others_and_marked() -> None:
    figures = data(*in_forms())
    (contest,) = figures["contests"]
    assert (contest["title"], contest["types"]) == ("m=16 n=128 k=64", "f16*f16+f32=f16 tnn")
    assert (names(figures), contest["exchanged"]) == (["turned", "as it stands"], [0])
    assert [figures["texts"][status] for _, status, _ in contest["undone"]] == ["crashed (exchanged)"]
    assert "turned  (exchanged)" in Texts(page.render(report(*in_forms()))).texts


def test_tables_and_csv_say_what_is_exchanged() -> None:
    lines = told(*in_forms()).splitlines()
    (winner,) = (line for line in lines if "(exchanged)" in line)
    assert winner.startswith("m=16 n=128 k=64  f16*f16+f32=f16 tnn  (NVIDIA H200)  turned (exchanged)")
    assert [line.split()[1] for line in lines if line.endswith("exchanged")] == ["turned"]
    marks = {row["kernel"]: row["exchanged"] for row in csv.DictReader(io.StringIO(rows.as_csv(report(*in_forms()))))}
    assert marks == {"as it stands": "", "turned": "yes", "dead": "yes", "cublaslt": ""}


def test_what_is_asked_for_decides_from_where_it_is_seen() -> None:
    made = in_forms()
    (contest,) = contents.of_results(made, BOTH, [Problem("gemm", dict(made[1].problem))]).contests
    assert (contest.title, contest.types) == ("m=128 n=16 k=64", "f16*f16+f32=f16 tnt")
    assert [contest.exchanged(one) for one in contest.order] == [False, True]


def test_what_is_seen_in_two_forms_is_counted_once() -> None:
    made = [result("n"), result("t", config={**CONFIG, "layout_c": "t"}), result("dead", None)]
    found = report(*made)
    assert [contest.types for contest in found.contests] == ["f16*f16+f32=f16 tnn", "f16*f16+f32=f16 tnt"]
    assert [trouble.count for trouble in found.troubles] == [1]


WRONG = [{"data": "normal", "metric": "relative_frobenius", "error": 0.25, "tolerance": 0.001}]


def test_failed_and_incorrect_kernels_are_listed_the_worst_first() -> None:
    made = [
        result("right"),
        *(result("dead", None, m=m) for m in (64, 128)),
        result("wrong", status="incorrect", record=record(0.1, verification="failed", verification_checks=WRONG)),
        result("unaligned", None, status="not_supported", reason="K is not aligned"),
        result("unverified", record=record(0.2, verification="skipped")),
    ]
    found = [(trouble.status, trouble.kernel, trouble.count) for trouble in report(*made).troubles]
    assert found == [("incorrect", "wrong", 1), ("crashed", "dead", 2), ("not verified", "unverified", 1)]
    assert "killed by SIGSEGV" in told(*made)
    texts = Texts(page.render(report(*made))).texts
    assert "killed by SIGSEGV" in texts and "error 0.25, tolerance 0.001" in texts
    figures = data(*made)
    assert names(figures) == ["right"]
    undone = [
        tuple([figures["kernels"]["name"][kernel], figures["texts"][status], figures["texts"][reason]])
        for kernel, status, reason in figures["contests"][0]["undone"]
    ]
    assert undone == [
        ("wrong", "incorrect", "error 0.25, tolerance 0.001"),
        ("dead", "crashed", "killed by SIGSEGV"),
        ("unverified", "not verified", ""),
        ("unaligned", "not_supported", "K is not aligned"),
    ]


def test_a_problem_without_a_verified_kernel_is_shown() -> None:
    figures = data(result("dead", None), BASELINE)
    assert (names(figures), figures["contests"][0]["baseline"]["median"]) == ([], 1500)
    assert "none is right" in Texts(page.render(report(result("dead", None)))).texts
    assert "none is right" in told(result("dead", None), BASELINE)


def test_the_environment_is_told() -> None:
    conditions = [
        {
            "sm_clock_mhz": clock,
            "reduced_clock": clock < 1980,
            "temperature_c": 50,
            "throttle_reasons": ["sw_power_cap"],
        }
        for clock in (1400, 1980)
    ]
    made = [
        result(name, record=record(1.0, conditions=condition), environment=ENVIRONMENT)
        for name, condition in zip("ab", conditions)
    ]
    for shown in (told(*made, BASELINE), Texts(page.render(report(*made, BASELINE))).texts):
        for expected in (
            "NVIDIA H200", "GPU-1", "580.65.06", "13.0.88", "4.2.0", "cuBLASLt", "13.1.0", "1400 to 1980 MHz", "50 °C",
            "sw_power_cap (3 results)", "at a reduced clock", "1 of 3 results", "60 kept, 3 set aside", "3: 3 success", "2026-01-01T00:00:00Z",
        ):  # fmt: skip
            assert expected in shown


def test_the_tables_have_winners_and_rankings() -> None:
    made = [*(result(name, ms) for name, ms in (("a", 1.0), ("b", 1.002), ("c", 2.0))), BASELINE]
    lines = told(*made, top=2).splitlines()
    (winner, *_) = (line for line in lines if line.startswith("m=64 n=64 k=64  f16*f16+f32=f16 tnn  (NVIDIA H200)  a"))
    assert winner.split()[-8:] == ["1000.00", "us", "2.0", "0.2", "2000.0", "989.4", "0.2", "1.500"]
    assert "geometric mean of the factors against the baseline: 1.500" in lines
    ranking = [line for line in lines if re.match(r"[ 12]  (a|b|c|cuBLASLt) ", line)]
    assert [line.split()[1 if line[0] != " " else 0] for line in ranking] == ["a", "b", "cuBLASLt"]
    assert ranking[1].endswith("tie") and ranking[2].endswith("baseline")
    assert "and 1 more (--top 0 shows all)" in lines


def test_csv_has_a_line_for_each_kernel_of_each_problem() -> None:
    made = [
        result("a", environment=ENVIRONMENT),
        result("b", 1.001),
        result("dead", None),
        result("a", m=128),
        BASELINE,
    ]
    first, second, baseline, dead, other = csv.DictReader(io.StringIO(rows.as_csv(report(*made))))
    assert (first["problem"], first["rank"], first["kernel"], first["median_us"]) == (
        "m=64 n=64 k=64",
        "1",
        "a",
        "1000.0",
    )
    assert (first["compile_time_s"], first["registers"], first["spill_bytes"]) == ("12.5", "168", "12")
    assert float(first["factor"]) == 1.5 and float(first["percent_of_peak"]) == pytest.approx(100 * 2 / 989.4)
    assert (second["rank"], second["tie"]) == ("2", "yes")
    assert (baseline["rank"], baseline["provider"], baseline["parameters"]) == ("", "cuBLASLt", "algorithm=2")
    assert (dead["rank"], dead["status"], dead["median_us"]) == ("", "crashed", "")
    assert (other["problem"], other["factor"]) == ("m=128 n=64 k=64", "")


HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_names_and_reasons_are_text_whatever_they_hold() -> None:
    html = page.render(report(result(HOSTILE), result("dead", None, reason=HOSTILE)))
    read = Texts(html)
    assert "img" not in read.tags and read.tags.count("script") == 2
    assert HOSTILE in read.texts
    assert HOSTILE in embedded(html)["kernels"]["name"]


def test_the_page_is_one_file() -> None:
    html = page.render(report(result(), BASELINE))
    read = Texts(html)
    assert not {"iframe", "object", "embed", "img"} & {*read.tags}
    assert [address for address in read.addresses if address[:1] != "#" and address != "data:,"] == []
    assert "default-src 'none'" in html and "@import" not in html and "url(" not in html


def test_the_script_has_one_function_and_no_globals() -> None:
    script = page.script()
    assert script.startswith('(() => {\n"use strict";') and script.endswith("})();\n")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> BuildFolder:
    """A thousand kernels on 50 problems."""
    folder = BuildFolder(tmp_path_factory.mktemp("wide"))
    sweeps.store(str(folder.path / "cache/results.sqlite"), sweeps.sweep(1000, 50))
    return folder


def test_a_thousand_kernels_on_fifty_problems_make_a_small_page(wide: BuildFolder) -> None:
    ran = wide.generate("report")
    assert (ran.code, ran.out) == (0, "")
    assert re.fullmatch(r"report\.html: 1000 kernels on 50 problems, \d\.\d MB\n", ran.err)
    html = (wide.path / "report.html").read_text()
    assert len(html) < 3_000_000
    figures = embedded(html)
    assert sum(len(contest["kernel"]) + len(contest["undone"]) for contest in figures["contests"]) == 50_000


@pytest.fixture
def measured(folder: BuildFolder) -> BuildFolder:
    """A build folder in which two kernels were measured on two problems."""
    problems = [{**result(m=m).problem, "split_k_slices": 1} for m in (64, 128)]
    made = [result(name, ms, problem=problem) for problem in problems for name, ms in (("a", 1.0), ("b", 2.0))]
    sweeps.store(str(folder.path / "cache/results.sqlite"), made)
    return folder


def test_the_page_lies_in_the_build_folder_or_where_it_is_wanted(measured: BuildFolder) -> None:
    assert measured.generate("report").err.startswith("report.html: 2 kernels on 2 problems, ")
    assert measured.generate("report", "-o", "other.html").code == 0
    page = measured.generate("report", "-o", "-").out
    assert {(measured.path / name).read_text() for name in ("report.html", "other.html")} == {page}
    (measured.path / "elsewhere").mkdir()
    outside = BuildFolder(measured.path / "elsewhere")
    assert outside.generate("report", "-C", "..", "-o", "here.html").err.startswith("here.html: ")
    assert (outside.path / "here.html").read_text() == page


def test_problems_and_gpus_are_selected(measured: BuildFolder) -> None:
    ran = measured.generate("report", "--csv", "--problem", "m=128,n=64,k=64")
    assert ran.code == 0, ran.err
    assert {row["problem"] for row in csv.DictReader(io.StringIO(ran.out))} == {"m=128 n=64 k=64"}
    ran = measured.generate("report", "--text", "--gpu", "*L4")
    assert (ran.code, ran.err) == (
        2,
        "error: none of the 4 results in cache/results.sqlite is of the kernels asked for; "
        "--all takes in kernels that the build no longer has\n",
    )


def test_kernels_of_the_build_count_and_those_that_do_not_compile_are_named(measured: BuildFolder) -> None:
    planned = [target("a", "key-a"), target("broken", "0" * 20)]
    (measured.path / "cache").mkdir(exist_ok=True)
    plan(*planned).write(measured.path / "cache/plan.json")
    failure = {"key": "0" * 20, "status": "failed", "reason": "static assertion failed"}
    measured.write(f"cache/kernels/toy/{'0' * 20}/build.json", json.dumps(failure))
    ran = measured.generate("report", "--text")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^not compiled +1 +toy +static assertion failed$", ran.out, re.MULTILINE)
    assert re.search(r"^1 +a ", ran.out, re.MULTILINE) and not re.search(r"^2 +b ", ran.out, re.MULTILINE)
    assert re.search(r"^2 +b ", measured.generate("report", "--text", "--all").out, re.MULTILINE)


def test_a_file_that_cannot_be_written(measured: BuildFolder) -> None:
    ran = measured.generate("report", "-o", "no/such/folder.html")
    assert ran.code == 1
    assert ran.err == f"error: -o {measured.path}/no/such/folder.html: No such file or directory; name another file\n"


def test_nothing_measured_yet(folder: BuildFolder) -> None:
    ran = folder.generate("report")
    assert (ran.code, ran.err) == (
        2,
        "error: cache/results.sqlite: nothing has been measured yet; run cutlass-ninja profile, or name a file\n",
    )
    sweeps.store(str(folder.path / "cache/results.sqlite"), [])
    assert folder.generate("report").err == (
        "error: cache/results.sqlite: nothing has been measured yet; run cutlass-ninja profile\n"
    )


def test_a_wrong_count(measured: BuildFolder) -> None:
    ran = measured.generate("report", "--text", "--top", "few")
    assert (ran.code, ran.err) == (
        2,
        "error: argument --top: 'few': expected a number, 0 or more (see cutlass-ninja report --help)\n",
    )
