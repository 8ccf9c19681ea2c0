const MARGIN = { top: 10, right: 14, bottom: 42, left: 56 };

/**
 * The frame of a plot with two axes, as wide as its place: `at(x, y)` gives pixels, `add` draws.
 * `axes` gives the two scales by functions of the number of ticks for which there is room.
 */
function frame(place, label, axes) {
  const width = Math.max(place.clientWidth, 240);
  const height = Math.round(Math.min(380, Math.max(260, width * 0.62)));
  const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const x = axes.x.scale(Math.max(2, Math.floor(inner.width / 70)));
  const y = axes.y.scale(Math.max(2, Math.floor(inner.height / 45)));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });
  const at = (one, other) => [MARGIN.left + inner.width * x.at(one), MARGIN.top + inner.height * (1 - y.at(other))];
  const right = MARGIN.left + inner.width;
  const bottom = MARGIN.top + inner.height;
  for (const tick of x.ticks) {
    const left = MARGIN.left + inner.width * x.at(tick);
    root.append(svg("line", { class: "grid", x1: left, x2: left, y1: MARGIN.top, y2: bottom }));
    root.append(svg("text", { x: left, y: bottom + 16, "text-anchor": "middle" }, short(tick)));
  }
  for (const tick of y.ticks) {
    const top = MARGIN.top + inner.height * (1 - y.at(tick));
    root.append(svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: top, y2: top }));
    root.append(svg("text", { x: MARGIN.left - 6, y: top + 4, "text-anchor": "end" }, short(tick)));
  }
  const middle = MARGIN.top + inner.height / 2;
  root.append(
    svg("text", { x: MARGIN.left + inner.width / 2, y: height - 6, "text-anchor": "middle" }, axes.x.label),
    svg("text", { transform: `translate(12 ${middle}) rotate(-90)`, "text-anchor": "middle" }, axes.y.label),
  );
  place.replaceChildren(root);
  return { at, add: (...made) => root.append(...made) };
}

/** A point that says more when it is pointed at or touched. */
function point([x, y], kind, tip, radius = 4) {
  return svg("circle", { class: kind, cx: x.toFixed(1), cy: y.toFixed(1), r: radius, "data-tip": tip });
}

/** A diamond, for what is no kernel of ours. */
function diamond([x, y], kind, tip) {
  return svg("path", { class: kind, d: `M${x} ${y - 6}l6 6l-6 6l-6 -6z`, "data-tip": tip });
}

/** Show what a mark says beside it, as long as it is pointed at. */
function showTips() {
  const tip = byId("tip");
  document.addEventListener("pointerover", (event) => {
    const marked = event.target.closest?.("[data-tip]");
    tip.hidden = !marked;
    if (!marked) return;
    tip.textContent = marked.dataset.tip;
    const box = marked.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(box.left + box.width / 2 - tip.offsetWidth / 2, width - tip.offsetWidth - 8));
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${(above > 0 ? above : box.bottom + 8) + window.scrollY}px`;
  });
}
