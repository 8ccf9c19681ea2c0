const DATA = JSON.parse(byId("data").textContent);

/** TFLOP/s of a contest's problem done in so many us. */
function rate(contest, us) {
  return contest.flop / us / 1e6;
}

/** What arithmetic and memory allow at so many FLOP per byte; null where that is not known. */
function roof(contest, intensity) {
  if (contest.peak === null || contest.bandwidth === null) return null;
  return Math.min(contest.peak, contest.bandwidth * intensity);
}

function intensity(contest) {
  return contest.flop / contest.bytes;
}

/** A kernel's name, with the parameters that were best, and whether it was asked with A and B exchanged. */
function nameOf(contest, place) {
  const parameters = DATA.texts[contest.parameters[place]];
  const exchanged = contest.exchanged.includes(place) ? " (exchanged)" : "";
  return DATA.kernels.name[contest.kernel[place]] + (parameters && ` ${parameters}`) + exchanged;
}

/** What the names of a contest's kernels begin with, up to an underscore; nothing if that is not worth leaving out. */
function sharedBeginning(contest) {
  const names = contest.kernel.map((kernel) => DATA.kernels.name[kernel]);
  const [first] = names;
  let length = names.length > 1 ? first.lastIndexOf("_") + 1 : 0;
  while (length && !names.every((name) => name.startsWith(first.slice(0, length)))) {
    length = first.lastIndexOf("_", length - 2) + 1;
  }
  return length > 12 ? first.slice(0, length) : "";
}

function baselineName(contest) {
  const { name, parameters } = contest.baseline;
  return name + (parameters && ` ${parameters}`);
}

/** The class of a kernel's marks: how well it was measured, and whether it ties with the winner. */
function kindOf(contest, place) {
  if (contest.coarse.includes(place)) return "coarse";
  return contest.tied.includes(place) ? "tie" : "full";
}

/** A field of a kernel's configuration. */
function fieldOf(kernel, name) {
  const field = DATA.kernels.fields[name];
  return field ? field.values[field.number[kernel]] : "?";
}

function tipOf(contest, place) {
  const kernel = contest.kernel[place];
  const lines = [
    nameOf(contest, place),
    `${usText(contest.median[place])} us, ${rateText(rate(contest, contest.median[place]))} TFLOP/s`,
  ];
  if (DATA.kernels.compile[kernel] !== null) lines.push(`compiled in ${short(DATA.kernels.compile[kernel])} s`);
  if (DATA.kernels.registers[kernel] !== null) lines.push(`${DATA.kernels.registers[kernel]} registers`);
  if (DATA.kernels.spills[kernel]) lines.push(`${DATA.kernels.spills[kernel]} bytes spilled`);
  return lines.join("\n");
}
