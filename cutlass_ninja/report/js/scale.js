/** A linear scale onto 0..1 that begins and ends at round numbers, with about so many ticks. */
function linear(from, to, count) {
  const span = to - from || Math.abs(to) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const start = Math.floor(from / step);
  const end = Math.max(Math.ceil(to / step), start + 1);
  const ticks = Array.from({ length: end - start + 1 }, (_, place) => (start + place) * step);
  return { at: (value) => (value / step - start) / (end - start), ticks };
}

/** The same by logarithm, of numbers above 0; ticks at 1, 2 and 5 times powers of 10 if there is room for them. */
function logarithmic(from, to, count) {
  const low = Math.log10(from);
  const high = Math.log10(to);
  const span = high - low;
  const factors = span * 3 <= count + 1 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(span / count));
  const ticks = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power += every) {
    for (const factor of factors) ticks.push(factor * 10 ** power);
  }
  const inside = ticks.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
  return { at: (value) => (Math.log10(value) - low) / (span || 1), ticks: inside };
}
