"""The report's page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest
import sweeps
from browser import DESKTOP, PHONE, Page
from test_report import BASELINE, HOSTILE
from test_results import record, result

from cutlass_ninja.contests import Query
from cutlass_ninja.report import contents, page
from cutlass_ninja.results import Result

pytestmark = pytest.mark.skipif(browser.find() is None, reason="no Chromium is installed (apt-get install chromium)")


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browser.page() as opened:
        yield opened


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 120 kernels on 9 problems."""
    return write(tmp_path_factory.mktemp("page"), sweeps.sweep(120, 9))


def write(folder: Path, results: list[Result]) -> Path:
    path = folder / "report.html"
    path.write_text(page.render(contents.of_results(results, [Query()])))
    return path


def opened(tab: Page, path: Path, screen: dict[str, Any] = DESKTOP, *, dark: bool = False) -> None:
    """Open a page; it must not complain, nor ask for anything but itself."""
    tab.complaints.clear()
    tab.loaded.clear()
    tab.open(path, screen, dark=dark)
    assert tab.complaints == []
    assert [address for address in tab.loaded if not address.startswith("data:")] == [path.as_uri()]


def count(tab: Page, selector: str) -> int:
    return int(tab.value(f"document.querySelectorAll({selector!r}).length"))


def text(tab: Page, selector: str) -> str:
    return str(tab.value(f"document.querySelector({selector!r}).textContent"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("screen", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_page_opens_and_draws_everything(screen: dict[str, Any], dark: bool, tab: Page, written: Path) -> None:
    opened(tab, written, screen, dark=dark)
    assert count(tab, "#problems button") == 9
    assert count(tab, "#ranking li svg circle") == 20
    assert count(tab, "#ranking li svg rect.baseline") == 1
    assert count(tab, "#heat td[data-tip]") > 20
    assert count(tab, "#compile circle") == count(tab, "#roofline circle") - 8 > 90
    assert count(tab, "#roofline polyline.roof") == 1
    # Nothing is wider than the screen, so that nothing but tables has to be moved sideways.
    assert tab.value("document.documentElement.scrollWidth") <= screen["width"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_on_its_background(dark: bool, tab: Page, written: Path) -> None:
    """By WCAG, contrast is 4.5 or more."""
    opened(tab, written, dark=dark)
    worst = tab.value("""(() => {
      const channels = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = (text) => {
        const [r, g, b] = channels(text).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (node) => {
        const own = getComputedStyle(node).backgroundColor;
        return channels(own)[3] === 0 ? (node.parentElement ? behind(node.parentElement) : "rgb(255, 255, 255)") : own;
      };
      const contrast = (node) => {
        const style = getComputedStyle(node);
        const [one, other] = [light(node instanceof SVGElement ? style.fill : style.color), light(behind(node))].sort((a, b) => a - b);
        return (other + 0.05) / (one + 0.05);
      };
      const nodes = [...document.querySelectorAll("p, a, li, td, th, h1, h2, h3, small, button, dt, dd, span, text, summary")];
      return Math.min(...nodes.filter((node) => node.textContent.trim() && node.checkVisibility()).map(contrast));
    })()""")
    assert worst >= 4.5


def test_a_problem_is_found_by_words_and_shown(tab: Page, written: Path) -> None:
    opened(tab, written)
    assert text(tab, "#title") == "m=1 n=4096 k=4096"
    tab.value("""(() => {
      const search = document.getElementById("search");
      search.value = "M=16 k=8192";
      search.dispatchEvent(new Event("input"));
      search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    })()""")
    assert count(tab, "#problems li:not([hidden])") == 1
    assert text(tab, "#matches") == "1 of 9"
    assert text(tab, "#title") == "m=16 n=8192 k=8192"
    assert text(tab, "#problems [aria-current=true]").startswith("m=16 n=8192 k=8192")
    assert str(tab.value("location.hash")).startswith("#problem=")
    assert tab.complaints == []


def test_the_address_names_the_problem(tab: Page, written: Path) -> None:
    opened(tab, written)
    tab.value("(location.hash = '#problem=4', new Promise((done) => setTimeout(done, 50)))")
    assert text(tab, "#title") == "m=16 n=4096 k=4096"
    tab.ask("Emulation.setDeviceMetricsOverride", **PHONE)
    tab.value("(location.hash = '#problem=9', new Promise((done) => setTimeout(done, 50)))")
    seen = """(() => {
      const [list, item] = ["#problems", "[aria-current=true]"].map((one) => document.querySelector(one).getBoundingClientRect());
      return list.top <= item.top && item.bottom <= list.bottom;
    })()"""
    assert tab.value(seen) is True


def test_all_kernels_and_the_numbers_are_there_when_asked_for(tab: Page, written: Path) -> None:
    opened(tab, written)
    total = int(text(tab, "#ranking button").removeprefix("Show all "))
    tab.value("document.querySelector('#ranking button').click()")
    assert count(tab, "#ranking li svg circle") == total > 100
    unfold = "(document.querySelector('#ranking details').open = true, new Promise((done) => setTimeout(done, 50)))"
    tab.value(unfold)
    assert count(tab, "#ranking tbody tr") == total + 1
    assert "cuBLASLt" in text(tab, "#ranking tbody tr:last-child")
    assert tab.complaints == []


def test_the_heat_map_takes_another_field(tab: Page, written: Path) -> None:
    opened(tab, written)
    heads = "[...document.querySelectorAll('#heat thead th')].map((cell) => cell.textContent)"
    assert tab.value(heads) == ["tile", "2", "3", "4", "5", "6"]
    tab.value("""(() => {
      const select = document.getElementById("columns");
      select.value = "kernel_schedule";
      select.dispatchEvent(new Event("change"));
    })()""")
    assert tab.value(heads) == ["tile", "Schedule0", "Schedule1"]


def test_a_mark_says_more_when_it_is_pointed_at(tab: Page, written: Path) -> None:
    opened(tab, written)
    tab.value(
        """document.querySelector("#compile circle").dispatchEvent(new PointerEvent("pointerover", { bubbles: true }))"""
    )
    assert tab.value("document.getElementById('tip').hidden") is False
    assert "compiled in" in text(tab, "#tip") and "TFLOP/s" in text(tab, "#tip")


def test_the_plots_follow_the_screens_width(tab: Page, written: Path) -> None:
    opened(tab, written, DESKTOP)
    wide = tab.value("document.querySelector('#compile svg').viewBox.baseVal.width")
    tab.ask("Emulation.setDeviceMetricsOverride", **PHONE)
    tab.value("new Promise((done) => setTimeout(done, 200))")
    assert tab.value("document.querySelector('#compile svg').viewBox.baseVal.width") < wide
    assert tab.value("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize(
    "results",
    [
        [result("dead", None)],
        [result("dead", None), BASELINE],
        [result()],
        [result(record=record(1.0, flop=0, bytes=0, tflop_per_s=0.0))],
        [result(HOSTILE), result("dead", None, reason=HOSTILE)],
    ],
    ids=["nothing right", "only the baseline", "one kernel", "nothing to compute", "hostile names"],
)
def test_few_figures_are_no_trouble(results: list[Result], tab: Page, tmp_path: Path) -> None:
    opened(tab, write(tmp_path, results))
    assert text(tab, "#title") == "m=64 n=64 k=64"
    assert count(tab, "img") == 0


def test_a_thousand_kernels_on_fifty_problems_are_drawn(tab: Page, tmp_path: Path) -> None:
    opened(tab, write(tmp_path, sweeps.sweep(1000, 50)), PHONE)
    assert count(tab, "#problems button") == 50
    assert count(tab, "#compile circle") > 900
    # A problem is drawn in a moment, here even on a busy machine without a GPU.
    spent = tab.value("""(() => {
      const begun = performance.now();
      document.querySelectorAll("#problems button")[30].click();
      document.body.offsetHeight;
      return performance.now() - begun;
    })()""")
    assert spent < 3000
    assert tab.complaints == []
