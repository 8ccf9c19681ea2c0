const UNDONE_COLUMNS = [["Kernel", false], ["Status", false], ["Reason", false]];

/** What is said of a contest above its plots. */
function aboutText(contest) {
  const cache = contest.cache === "cold" ? "operands not in the L2" : "operands in the L2";
  const parts = [contest.types, contest.gpu, cache, `${contest.kernel.length} kernels verified`];
  if (contest.kernel.length) {
    const best = contest.median[0];
    const peak = contest.peak === null ? "" : `, ${((100 * rate(contest, best)) / contest.peak).toFixed(1)} % of the peak`;
    parts.push(`the best takes ${usText(best)} us: ${rateText(rate(contest, best))} TFLOP/s${peak}`);
  }
  parts.push(
    !contest.baseline
      ? "no baseline"
      : contest.kernel.length
        ? `${(contest.baseline.median / contest.median[0]).toFixed(3)} times as fast as ${contest.baseline.name}`
        : `${contest.baseline.name} takes ${usText(contest.baseline.median)} us`,
  );
  return `${parts.join(" · ")}.`;
}

function drawUndone(contest) {
  byId("undone").hidden = !contest.undone.length;
  const rows = () => contest.undone.map(([kernel, status, reason]) => [DATA.kernels.name[kernel], DATA.texts[status], DATA.texts[reason]]);
  plotOf("undone").replaceChildren(folded(`${contest.undone.length} kernels`, UNDONE_COLUMNS, rows));
}

/** The number in the page's address, `#problem=3` for the third; 0 for the first if there is none. */
function numberInAddress() {
  const number = Number(/^#problem=(\d+)$/.exec(location.hash)?.[1] ?? 1) - 1;
  return number >= 0 && number < DATA.contests.length ? number : 0;
}

function main() {
  if (!DATA.contests.length) return;
  byId("problem").hidden = false;
  let shown = 0;
  const drawSized = () => {
    drawCompile(DATA.contests[shown]);
    drawRoofline(DATA.contests[shown]);
  };
  const show = (number) => {
    shown = number;
    const contest = DATA.contests[number];
    mark(number);
    byId("title").textContent = contest.title;
    byId("about").textContent = aboutText(contest);
    drawRanking(contest);
    drawHeat(contest);
    drawUndone(contest);
    drawSized();
  };
  const mark = makeList((number) => {
    history.replaceState(null, "", `#problem=${number + 1}`);
    show(number);
  });
  showTips();
  show(numberInAddress());
  window.addEventListener("hashchange", () => /^#problem=/.test(location.hash) && show(numberInAddress()));
  let width = byId("contest").clientWidth;
  new ResizeObserver(() => {
    if (byId("contest").clientWidth === width) return;
    width = byId("contest").clientWidth;
    requestAnimationFrame(drawSized);
  }).observe(byId("contest"));
}

main();
