/** The list of problems; `choose` is called with the number of the one that is picked. */
function makeList(choose) {
  const buttons = DATA.contests.map((contest, number) => {
    const made = element("button", { type: "button" }, contest.title, element("small", {}, listLine(contest)));
    made.addEventListener("click", () => choose(number));
    return made;
  });
  const items = buttons.map((button) => element("li", {}, button));
  const texts = DATA.contests.map((contest) => `${contest.title} ${contest.types} ${contest.gpu} ${contest.cache}`.toLowerCase());
  const search = byId("search");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = texts.map((text) => words.every((word) => text.includes(word)));
    items.forEach((item, number) => (item.hidden = !found[number]));
    const count = found.filter(Boolean).length;
    byId("matches").textContent = `${count} of ${texts.length}`;
    return found.indexOf(true);
  };
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    const first = filter();
    if (event.key === "Enter" && first >= 0) choose(first);
  });
  byId("problems").append(...items);
  filter();
  return (chosen) => {
    buttons.forEach((button, number) => button.setAttribute("aria-current", String(number === chosen)));
    bringIntoView(byId("problems"), items[chosen]);
  };
}

/** Scroll a list, and not the page, as little as needed to see one of its items. */
function bringIntoView(list, item) {
  const [outer, inner] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}

function listLine(contest) {
  const severalGpus = new Set(DATA.contests.map((one) => one.gpu)).size > 1;
  const parts = [contest.types];
  if (severalGpus) parts.push(contest.gpu);
  if (contest.cache !== "cold") parts.push(`${contest.cache} L2`);
  parts.push(contest.kernel.length ? `${rateText(rate(contest, contest.median[0]))} TFLOP/s` : "none is right");
  if (contest.baseline && contest.kernel.length) parts.push(`factor ${(contest.baseline.median / contest.median[0]).toFixed(3)}`);
  return parts.join(" · ");
}
