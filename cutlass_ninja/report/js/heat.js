/** Cividis at even distances: a scale of colours that those who are colour-blind see as others do. */
const CIVIDIS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

/** The tiles by one more field: a table whose cells are coloured by the best rate. */
function drawHeat(contest) {
  const names = columnChoices(contest);
  const select = byId("columns");
  const wanted = names.includes(select.value) ? select.value : names[0];
  select.replaceChildren(...names.map((name) => element("option", { value: name }, name.replaceAll("_", " "))));
  select.value = wanted;
  select.onchange = () => drawHeat(contest);
  plotOf("heat").replaceChildren(heatTable(contest, wanted));
}

/** The fields by which the kernels of a contest differ; stages first if they do in them, else in any case. */
function columnChoices(contest) {
  const differs = (name) => new Set(contest.kernel.map((kernel) => fieldOf(kernel, name))).size > 1;
  const others = Object.keys(DATA.kernels.fields).filter(
    (name) => name !== "stages" && name !== "threadblock_shape" && differs(name),
  );
  return differs("stages") ? ["stages", ...others] : [...others, "stages"];
}

function heatTable(contest, column) {
  const best = new Map();
  contest.kernel.forEach((kernel, number) => {
    const key = JSON.stringify([fieldOf(kernel, "threadblock_shape"), fieldOf(kernel, column)]);
    const before = best.get(key);
    if (before === undefined || contest.median[number] < contest.median[before]) best.set(key, number);
  });
  const keys = [...best.keys()].map((key) => JSON.parse(key));
  const tiles = byNumbers(keys.map(([tile]) => tile));
  const values = byNumbers(keys.map(([, value]) => value));
  const rates = [...best.values()].map((number) => rate(contest, contest.median[number]));
  const [low, high] = [least(rates), most(rates)];
  const head = ["tile", ...values].map((text) => element("th", { scope: "col" }, text));
  const rows = tiles.map((tile) => {
    const cells = values.map((value) => {
      const number = best.get(JSON.stringify([tile, value]));
      if (number === undefined) return element("td", { class: "empty" }, "-");
      const found = rate(contest, contest.median[number]);
      const style = heatStyle(high > low ? (found - low) / (high - low) : 1);
      return element("td", { style, "data-tip": tipOf(contest, number) }, rateText(found));
    });
    return element("tr", {}, element("th", { scope: "row" }, tile), ...cells);
  });
  const made = element("table", { class: "heat" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": "heat-title" }, made);
}

/** Each text once, in the order of the numbers in it. */
function byNumbers(texts) {
  return [...new Set(texts)].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
}

/** Colours of a cell at 0..1 of the scale: its text is black or white, whichever can be read better on it. */
function heatStyle(share) {
  const place = share * (CIVIDIS.length - 1);
  const below = Math.min(Math.floor(place), CIVIDIS.length - 2);
  const mixed = CIVIDIS[below].map((from, channel) => Math.round(from + (CIVIDIS[below + 1][channel] - from) * (place - below)));
  return `background: rgb(${mixed}); color: ${luminance(mixed) > 0.18 ? "#000" : "#fff"}`;
}

/** How light a colour is, 0..1, by WCAG; at 0.18 black and white contrast alike with it. */
function luminance(color) {
  const [red, green, blue] = color.map((channel) => ((channel / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
