"""`cutlass-ninja diff`: what counts as slower, and what CI sees of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import BuildFolder
from test_results import put, record, result

from cutlass_ninja import export_table
from cutlass_ninja.regressions import compare, noise
from cutlass_ninja.results import Result


def spread(ms: float, width: float, relative_stderr: float = 0.0001, **values: Any) -> Result:
    """A result whose samples lie so far apart."""
    figures = record(ms, relative_stderr, runtime_p5_ms=ms * (1 - width), runtime_p95_ms=ms * (1 + width))
    return result(ms=ms, record=figures, **values)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (spread(1.0, 0), spread(1.009, 0), "same"),
        (spread(1.0, 0), spread(1.011, 0), "slower"),
        (spread(1.0, 0), spread(0.98, 0), "faster"),
        (spread(1.0, 0.03), spread(1.04, 0.03), "same"),
        (spread(1.0, 0.03), spread(1.05, 0.03), "slower"),
        (spread(1.0, 0, 0.01), spread(1.04, 0, 0.01), "same"),
        (spread(1.0, 0, 0.01), spread(1.05, 0, 0.01), "slower"),
    ],
)
def test_a_change_counts_beyond_noise(old: Result, new: Result, verdict: str) -> None:
    compared = compare([old], [new])
    counts = {"slower": len(compared.slower), "faster": len(compared.faster), "same": compared.same}
    assert counts == {name: int(name == verdict) for name in counts}
    assert compared.regressed == (verdict == "slower")


def test_noise_is_a_fraction_of_the_old_median() -> None:
    assert noise(spread(2.0, 0.03), spread(2.0, 0.04)) == pytest.approx(0.05)
    assert noise(spread(2.0, 0, 0.003), spread(2.0, 0, 0.004)) == pytest.approx(0.015)


def test_what_differs_from_run_to_run_is_noise() -> None:
    full, coarse = spread(1.0, 0), spread(1.0, 0, precision="coarse")
    assert noise(coarse, full) == noise(full, coarse) == pytest.approx(0.039, abs=1e-4)
    assert noise(coarse, coarse) == pytest.approx(0.055, abs=1e-3)
    short = spread(0.04, 0)
    assert noise(short, short) == pytest.approx(0.017, abs=1e-3)
    # Rounds show it themselves.
    final = spread(0.04, 0, precision="final", rounds=(0.04,) * 5)
    assert noise(final, final) < 0.001


def test_results_of_another_chip_are_counted(folder: BuildFolder) -> None:
    old, same = result("a"), result("b")
    new = replace(old, place=replace(old.place, gpu_uuid="GPU-other"))
    assert compare([old, same], [new, same]).moved == 1
    put(str(folder.path / "old.sqlite"), old)
    put(str(folder.path / "new.sqlite"), new)
    ran = folder.generate("diff", "old.sqlite", "new.sqlite")
    assert ran.code == 0 and "1 were measured on another chip of the same model" in ran.err


def test_a_baseline_that_is_slower_is_no_regression() -> None:
    compared = compare(
        [result("a"), result("b", provider="cuBLASLt")], [result("a"), result("b", 2.0, provider="cuBLASLt")]
    )
    assert (compared.same, compared.missing, compared.regressed) == (1, 0, False)


def test_what_no_longer_works_is_broken() -> None:
    compared = compare([result("a"), result("b", None)], [result("a", None), result("b", None)])
    assert compared.regressed and [change.new.reason for change in compared.broken] == ["killed by SIGSEGV"]


def test_what_is_gone_is_missing_and_no_regression() -> None:
    compared = compare([result("a"), result("b")], [result("a"), result("c")])
    assert (compared.missing, compared.same, compared.regressed) == (1, 1, False)


def test_another_key_of_the_same_kernel_is_compared() -> None:
    assert compare([result()], [result(ms=2.0, key="built anew")]).slower[0].to_json()["new_key"] == "built anew"
    assert compare([result()], [result(ms=2.0, arch="sm_80")]).missing == 1
    assert compare([result()], [result(ms=2.0, parameters={"order": 1})]).missing == 1


def test_a_kernel_is_the_same_though_its_label_tells_it_apart_from_more() -> None:
    compared = compare(
        [result("gemm_64x64")], [result("gemm_64x64-sm_80", 2.0), result("gemm_64x64-sm_86", arch="sm_86")]
    )
    assert (len(compared.slower), compared.missing) == (1, 0)


def test_a_kernel_is_compared_with_itself_as_it_was_asked() -> None:
    """Both forms compute the same; one being slower than the other was is no regression."""
    flat, tall = ({**result().problem, "m": m, "n": n} for m, n in ((16, 128), (128, 16)))
    old = [result(ms=1.0, problem=tall), result("other", 2.0, problem=flat)]
    assert compare(old, [result(ms=2.0, problem=flat)]).missing == 2
    compared = compare(old, [result(ms=2.0, problem=flat), result(ms=1.0, problem=tall)])
    assert (compared.same, compared.missing, compared.regressed) == (1, 1, False)


def test_the_command_exits_with_1_on_a_regression(folder: BuildFolder) -> None:
    put(str(folder.path / "old.sqlite"), result("a"), result("b"), result("c"))
    new = [result("a", 1.5), result("b", 0.5), result("c")]
    folder.write("new.json", export_table.as_json(new))
    ran = folder.generate("diff", "old.sqlite", "new.json")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "slower  +50.0 %  1.00000 -> 1.50000 ms  a  m=64 n=64 k=64",
        "faster  -50.0 %  1.00000 -> 0.50000 ms  b  m=64 n=64 k=64",
    ]
    assert ran.err == "1 slower, 0 broken, 1 faster, 1 the same, 0 not in new.json\n"
    assert folder.generate("diff", "new.json", "new.json").code == 0
    assert folder.generate("diff", "old.sqlite", "new.json", "--least=60").code == 0


def test_json_has_the_figures(folder: BuildFolder) -> None:
    folder.write("old.json", export_table.as_json([result("a")]))
    folder.write("new.json", export_table.as_json([result("a", 1.5)]))
    ran = folder.generate("diff", "--json", "old.json", "new.json")
    told = json.loads(ran.out)
    (slower,) = told["slower"]
    assert (ran.code, told["regressed"], told["broken"], told["faster"], told["same"], told["missing"]) == (
        1, True, [], [], 0, 0,
    )  # fmt: skip
    assert (slower["kernel"], slower["change"], slower["gpu"]) == ("a", pytest.approx(0.5), "NVIDIA H200")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "some.json"], "error: nowhere: No such file or directory"),
        (
            ["some.json", "text"],
            "error: text is neither a file of results nor what `cutlass-ninja results --export json` prints",
        ),
        (
            ["nested", "some.json"],
            "error: nested is neither a file of results nor what `cutlass-ninja results --export json` prints",
        ),
        (
            ["--least=much", "some.json", "some.json"],
            "error: argument --least: 'much': expected a percentage, 0 or more (see cutlass-ninja diff --help)",
        ),
    ],
)
def test_wrong_files_are_one_line(arguments: list[str], message: str, folder: BuildFolder) -> None:
    folder.write("some.json", "[]")
    folder.write("text", "{}")
    folder.write("nested", "[" * 100_000)
    ran = folder.generate("diff", *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", message + "\n")


def test_files_are_not_touched(folder: BuildFolder, tmp_path: Path) -> None:
    put(str(folder.path / "old.sqlite"), result("a"))
    before = (folder.path / "old.sqlite").read_bytes()
    folder.generate("diff", "old.sqlite", "old.sqlite")
    assert (folder.path / "old.sqlite").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["old.sqlite"]
