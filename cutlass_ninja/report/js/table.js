/** A table: `columns` are [name, is it a number], `rows` are arrays of texts. */
function table(label, columns, rows) {
  const kind = (number) => (columns[number][1] ? "n" : columns[number][0] === "Kernel" ? "name" : null);
  const head = columns.map(([name], number) => element("th", { scope: "col", class: kind(number) === "n" && "n" }, name));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell, number) => element("td", { class: kind(number) }, cell))));
  const made = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, made);
}

/** The same behind a line to click on, and made only then. */
function folded(label, columns, rows) {
  const made = element("details", {}, element("summary", {}, label));
  made.addEventListener("toggle", () => made.append(table(label, columns, rows())), { once: true });
  return made;
}

/** Hand a table over as a file. */
function download(name, columns, rows) {
  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const lines = [columns.map(([column]) => column), ...rows].map((row) => row.map(quoted).join(","));
  const address = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  element("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}
