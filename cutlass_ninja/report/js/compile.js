/** What kernels took to compile against how fast they are. */
function drawCompile(contest) {
  const place = plotOf("compile");
  const known = contest.kernel.flatMap((kernel, number) => (DATA.kernels.compile[kernel] > 0 ? [number] : []));
  if (!known.length) {
    place.replaceChildren(element("p", {}, "The compile times are not known."));
    return;
  }
  const seconds = (number) => DATA.kernels.compile[contest.kernel[number]];
  const rates = known.map((number) => rate(contest, contest.median[number]));
  if (contest.baseline) rates.push(rate(contest, contest.baseline.median));
  const times = known.map(seconds);
  const [shortest, longest] = [least(times) / 1.2, most(times) * 1.2];
  const plot = frame(place, "TFLOP/s by compile time in seconds; the ranking's table has the numbers", {
    x: { label: "compile time, s", scale: (count) => logarithmic(shortest, longest, count) },
    y: { label: "TFLOP/s", scale: (count) => linear(least(rates), most(rates), count) },
  });
  for (const number of known.reverse()) {
    const middle = plot.at(seconds(number), rate(contest, contest.median[number]));
    plot.add(point(middle, `${kindOf(contest, number)} many`, tipOf(contest, number)));
  }
  if (contest.baseline) {
    const ends = [shortest, longest].map((time) => plot.at(time, rate(contest, contest.baseline.median)));
    plot.add(svg("line", { class: "baseline dashed", x1: ends[0][0], x2: ends[1][0], y1: ends[0][1], y2: ends[1][1] }));
    plot.add(svg("text", { x: ends[1][0], y: ends[1][1] - 5, "text-anchor": "end" }, contest.baseline.name));
  }
}
