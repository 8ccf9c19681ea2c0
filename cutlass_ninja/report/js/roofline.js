const ROOFLINE_COLUMNS = [
  ["Problem", false], ["FLOP/byte", true], ["TFLOP/s", true], ["Roof, TFLOP/s", true], ["% of roof", true], ["Baseline, TFLOP/s", true],
];

/** The winners of all contests with the same peak, and all kernels of this one, under their roof. */
function drawRoofline(contest) {
  const place = plotOf("roofline");
  const alike = DATA.contests.filter(
    (one) => one.gpu === contest.gpu && one.peak === contest.peak && one.cache === contest.cache && one.kernel.length && one.flop,
  );
  if (!alike.length || !contest.kernel.length) {
    place.replaceChildren(element("p", {}, "Nothing was measured."));
    return;
  }
  const extent = rooflineExtent(contest, alike);
  const plot = frame(place, "Roofline: TFLOP/s by FLOP per byte; the table below has the numbers", {
    x: { label: "FLOP per byte", scale: (count) => logarithmic(extent.left, extent.right, count) },
    y: { label: "TFLOP/s", scale: (count) => logarithmic(extent.bottom, extent.top, count) },
  });
  drawRoof(plot, contest, extent);
  for (const one of alike) {
    if (one !== contest) plot.add(point(plot.at(intensity(one), rate(one, one.median[0])), "full many", tipOf(one, 0) + `\n${one.title}`, 3.5));
  }
  contest.kernel.forEach((_, number) => {
    if (number) plot.add(point(plot.at(intensity(contest), rate(contest, contest.median[number])), "coarse many", tipOf(contest, number), 3));
  });
  plot.add(point(plot.at(intensity(contest), rate(contest, contest.median[0])), "tie", tipOf(contest, 0) + `\n${contest.title}`, 6));
  if (contest.baseline) {
    const { median } = contest.baseline;
    plot.add(diamond(plot.at(intensity(contest), rate(contest, median)), "baseline hollow", `${baselineName(contest)}\n${usText(median)} us`));
  }
  place.append(rooflineLegend(contest), folded("The same as a table", ROOFLINE_COLUMNS, () => alike.map(rooflineRow)));
}

/** What the axes reach from and to: all points, the roof's ridge, and some room around. */
function rooflineExtent(contest, alike) {
  const roofed = roof(contest, 1) !== null;
  const across = alike.map(intensity);
  const rates = [...alike.map((one) => rate(one, one.median[0])), ...contest.median.map((us) => rate(contest, us))];
  if (contest.baseline) rates.push(rate(contest, contest.baseline.median));
  return {
    left: least(across) / 2,
    right: 1.5 * most(roofed ? [...across, (2 * contest.peak) / contest.bandwidth] : across),
    bottom: least(rates) / 1.6,
    top: 1.4 * most(roofed ? [...rates, contest.peak] : rates),
  };
}

function drawRoof(plot, contest, extent) {
  if (roof(contest, 1) === null) return;
  const start = Math.max(extent.left, extent.bottom / contest.bandwidth);
  const ridge = contest.peak / contest.bandwidth;
  const corners = [start, ridge, extent.right].filter((one) => one >= start).map((one) => plot.at(one, roof(contest, one)));
  plot.add(svg("polyline", { class: "roof", points: corners.map((corner) => corner.join(",")).join(" ") }));
  const [x, y] = plot.at(extent.right, contest.peak);
  plot.add(svg("text", { x, y: y - 5, "text-anchor": "end" }, `${short(contest.peak)} TFLOP/s, ${short(contest.bandwidth)} TB/s`));
}

function rooflineLegend(contest) {
  const keys = [["tie", "winner here"], ["full", "winners elsewhere"], ["coarse", "other kernels here"]];
  if (contest.baseline) keys.push(["baseline", "baseline"]);
  const list = element("ul", { class: "legend" }, ...keys.map(([kind, text]) => element("li", {}, element("i", { class: `key ${kind}` }), text)));
  if (roof(contest, 1) === null) list.append(element("li", {}, `no roof: the peak of ${contest.gpu} in these types is not known`));
  else list.append(element("li", {}, element("i", { class: "key roof" }), "roof"));
  return list;
}

function rooflineRow(contest) {
  const here = intensity(contest);
  const found = rate(contest, contest.median[0]);
  const limit = roof(contest, here);
  return [
    `${contest.title} ${contest.types}`, fixed(here, 1), rateText(found), fixed(limit, 1),
    fixed(limit && (100 * found) / limit, 1), contest.baseline ? rateText(rate(contest, contest.baseline.median)) : "-",
  ];
}
