// Numbers as the pages write them. A missing number is "–"; an evidence record that lacks a fact says "not recorded".
export const NONE = "\u2013";
export const NOT_RECORDED = "not recorded";

type Maybe = number | null | undefined;
const isNumber = (value: Maybe): value is number => typeof value === "number" && Number.isFinite(value);

/** Three significant digits, without an exponent between 0.001 and 10 million. */
export function significant(value: Maybe, digits = 3): string {
  if (!isNumber(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e7) return value.toExponential(digits - 1).replace("e", "e").replace("-", "\u2212");
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toFixed(Math.min(places, 6)).replace("-", "\u2212");
}

/** A speed-up with two places: 1.53×; below 0.1 with two significant digits: 0.087×. */
export function times(value: Maybe): string {
  if (!isNumber(value)) return NONE;
  return `${value >= 100 ? value.toFixed(0) : value >= 0.1 || value === 0 ? value.toFixed(2) : value.toPrecision(2)}\u00d7`;
}

/** An interval: 1.41–1.66. */
export function interval(low: Maybe, high: Maybe): string {
  if (!isNumber(low) || !isNumber(high)) return "";
  return `${times(low).slice(0, -1)}\u2013${times(high).slice(0, -1)}`;
}

export function count(value: Maybe): string {
  if (!isNumber(value)) return NONE;
  return Math.abs(value) < 1e15 ? Math.round(value).toLocaleString("en") : significant(value);
}

export function percent(value: Maybe, places = 0): string {
  return isNumber(value) ? `${(100 * value).toFixed(places)}%` : NONE;
}

/** A duration in the unit that fits: 12 µs, 3.4 ms, 5.6 s, 2 min 5 s, 1 h 3 min. */
export function duration(ms: Maybe): string {
  if (!isNumber(ms)) return NONE;
  if (ms < 1) return `${significant(ms * 1000)} \u00b5s`;
  if (ms < 1000) return `${significant(ms)} ms`;
  if (ms < 60_000) return `${significant(ms / 1000)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(value: Maybe): string {
  if (!isNumber(value)) return NONE;
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let scaled = value / 1024;
  let unit = 0;
  while (scaled >= 1024 && unit < units.length - 1) {
    scaled /= 1024;
    unit++;
  }
  return `${significant(scaled)} ${units[unit]}`;
}

/** UTC, to the minute: 2026-01-01 00:00 UTC. Text that is no time stays as it is. */
export function moment(text: string | null | undefined): string {
  if (!text) return NONE;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return text;
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
