const RANKS_AT_FIRST = 20;
const RANKING_COLUMNS = [
  ["Rank", true], ["Kernel", false], ["Median, us", true], ["5 %, us", true], ["95 %, us", true],
  ["Std. error, %", true], ["TFLOP/s", true], ["% of peak", true], ["Factor", true], ["Compile, s", true],
  ["Registers", true], ["Spills, bytes", true], ["Remarks", false],
];

/** The kernels of a contest, the fastest first, on one axis with the baseline. */
function drawRanking(contest, count = RANKS_AT_FIRST) {
  const place = plotOf("ranking");
  const shown = contest.kernel.slice(0, count).map((_, number) => number);
  if (!shown.length) {
    place.replaceChildren(element("p", {}, "No kernel was found to be right."));
    return;
  }
  const scale = rankingScale(contest, shown);
  const beginning = sharedBeginning(contest);
  const list = element("ol", { class: "ranks", "aria-label": "Kernels, the fastest first" });
  if (contest.baseline) list.append(baselineRow(contest, scale));
  list.append(...shown.map((number) => kernelRow(contest, number, beginning, scale)), axisRow(scale));
  const note = element("p", { hidden: !beginning && "" }, "All names begin with ", element("span", { class: "name" }, beginning));
  place.replaceChildren(note, list, rankingButtons(contest, count), rankingTable(contest));
}

function rankingScale(contest, shown) {
  const times = shown.flatMap((number) => [contest.p5[number], contest.median[number], contest.p95[number]]);
  const { baseline } = contest;
  if (baseline) times.push(baseline.p5, baseline.median, baseline.p95);
  const rates = times.filter((us) => us !== null).map((us) => rate(contest, us));
  return linear(least(rates), most(rates), 4);
}

function kernelRow(contest, number, beginning, scale) {
  const times = { p5: contest.p5[number], median: contest.median[number], p95: contest.p95[number] };
  const name = (beginning && "…") + nameOf(contest, number).slice(beginning.length);
  const about = { rank: String(number + 1), name, tip: tipOf(contest, number), kind: kindOf(contest, number) };
  return rankRow(about, contest, times, scale);
}

function baselineRow(contest, scale) {
  const name = baselineName(contest);
  const tip = `${name}\n${usText(contest.baseline.median)} us`;
  return rankRow({ rank: "", name, tip, kind: "baseline" }, contest, contest.baseline, scale);
}

function rankRow({ rank, name, tip, kind }, contest, times, scale) {
  const percent = (us) => `${(100 * scale.at(rate(contest, us))).toFixed(3)}%`;
  const strip = svg("svg", { class: "strip", height: 18, "aria-hidden": "true", "data-tip": tip });
  strip.append(svg("line", { class: "grid", x1: 0, x2: "100%", y1: 9, y2: 9 }));
  if (contest.baseline) {
    const across = percent(contest.baseline.median);
    strip.append(svg("line", { class: "baseline dashed", x1: across, x2: across, y1: -3, y2: 21 }));
  }
  if (times.p5 !== null && times.p95 !== null) {
    strip.append(svg("line", { class: `${kind} whisker`, x1: percent(times.p95), x2: percent(times.p5), y1: 9, y2: 9 }));
    for (const end of [times.p95, times.p5]) {
      strip.append(svg("line", { class: kind, x1: percent(end), x2: percent(end), y1: 5, y2: 13 }));
    }
  }
  strip.append(
    kind === "baseline"
      ? svg("rect", { class: kind, x: percent(times.median), y: 5, width: 8, height: 8, transform: "translate(-4 0)" })
      : svg("circle", { class: kind, cx: percent(times.median), cy: 9, r: 4.5, "stroke-width": 2 }),
  );
  return element(
    "li", {},
    element("span", { class: "rank" }, rank),
    element("span", { class: "name" }, name),
    strip,
    element("span", { class: "rate" }, rateText(rate(contest, times.median))),
  );
}

function axisRow(scale) {
  const axis = svg("svg", { class: "strip", height: 34, "aria-hidden": "true" });
  axis.append(svg("line", { class: "axis", x1: 0, x2: "100%", y1: 1, y2: 1 }));
  const last = scale.ticks.length - 1;
  scale.ticks.forEach((tick, number) => {
    const x = `${100 * scale.at(tick)}%`;
    const anchor = number === 0 ? "start" : number === last ? "end" : "middle";
    axis.append(svg("line", { class: "axis", x1: x, x2: x, y1: 1, y2: 6 }));
    axis.append(svg("text", { x, y: 18, "text-anchor": anchor }, short(tick)));
  });
  axis.append(svg("text", { x: "50%", y: 32, "text-anchor": "middle" }, "TFLOP/s"));
  return element("li", { "aria-hidden": "true" }, axis);
}

function rankingButtons(contest, count) {
  const buttons = element("div", { class: "buttons" });
  const button = (label, act) => {
    const made = element("button", { type: "button" }, label);
    made.addEventListener("click", act);
    buttons.append(made);
  };
  const total = contest.kernel.length;
  if (total > count) button(`Show all ${total}`, () => drawRanking(contest, total));
  else if (total > RANKS_AT_FIRST) button(`Show the first ${RANKS_AT_FIRST}`, () => drawRanking(contest));
  button("Save as CSV", () => download(`${contest.title}.csv`, RANKING_COLUMNS, rankingRows(contest)));
  return buttons;
}

function rankingTable(contest) {
  return folded("The same as a table", RANKING_COLUMNS, () => rankingRows(contest));
}

function rankingRows(contest) {
  const { baseline } = contest;
  const percent = (us) => (contest.peak === null ? null : (100 * rate(contest, us)) / contest.peak);
  const rows = contest.kernel.map((kernel, number) => {
    const median = contest.median[number];
    const { compile, registers, spills } = DATA.kernels;
    const remarks = { full: "", tie: "tie", coarse: "measured briefly" };
    return [
      String(number + 1), nameOf(contest, number), usText(median), usText(contest.p5[number]),
      usText(contest.p95[number]), fixed(contest.stderr[number], 2), rateText(rate(contest, median)),
      fixed(percent(median), 1), fixed(baseline && baseline.median / median, 3), fixed(compile[kernel], 1),
      fixed(registers[kernel], 0), fixed(spills[kernel], 0), remarks[kindOf(contest, number)],
    ];
  });
  if (baseline) {
    rows.push([
      "", baselineName(contest), usText(baseline.median), usText(baseline.p5), usText(baseline.p95), "",
      rateText(rate(contest, baseline.median)), fixed(percent(baseline.median), 1), "", "", "", "", "baseline",
    ]);
  }
  return rows;
}
