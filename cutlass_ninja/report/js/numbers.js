/** A number with so many digits after the point; a dash for none. */
function fixed(value, digits) {
  return value === null || value === undefined ? "-" : value.toFixed(digits);
}

/** A number with about three digits, as an axis has it. */
function short(value) {
  return value >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : String(+value.toPrecision(3));
}

/** A rate: fewer digits after the point the larger it is. */
function rateText(value) {
  return value < 10 ? value.toFixed(3) : value < 100 ? value.toFixed(2) : value.toFixed(1);
}

/** A time in us. */
function usText(value) {
  return value === null || value === undefined ? "-" : value < 1000 ? value.toFixed(2) : value.toFixed(1);
}

function least(values) {
  return values.reduce((one, other) => Math.min(one, other), Infinity);
}

function most(values) {
  return values.reduce((one, other) => Math.max(one, other), -Infinity);
}
