// Scales from values to pixels, and the ticks of their axes.

export interface Scale {
  at(value: number): number;
  ticks: readonly Tick[];
  from: number; // in pixels
  to: number;
}

export interface Tick {
  value: number;
  label: string; // empty: a line without a label
}

export interface Extent {
  low: number;
  high: number;
}

// Of the finite values (over 0 for a logarithmic axis); null if there are none.
export function extentOf(values: Iterable<number | null | undefined>, over = Number.NEGATIVE_INFINITY): Extent | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (typeof value !== "number" || !Number.isFinite(value) || value <= over) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? { low, high } : null;
}

// About `count` round steps (1, 2 or 5 times a power of ten) over the extent.
function roundStep(size: number, count: number): number {
  const raw = size / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = raw / power;
  return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

// From a second on, milliseconds are read in steps of the clock.
const CLOCK_MS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400].map((s) => s * 1000);

function roundTime(least: number, step: number): number {
  if (least < 1000) return step;
  return CLOCK_MS.find((one) => one >= least) ?? Math.ceil(least / 86_400_000) * 86_400_000;
}

const LABEL_PIXELS = 64;

function within(value: number, from: number, to: number): number {
  return Math.min(Math.max(value, Math.min(from, to)), Math.max(from, to));
}

// A linear scale whose ends are round numbers. `label` writes a tick's value; `spacing` is the least number of
// pixels between two labels.
export function linear(
  extent: Extent,
  from: number,
  to: number,
  label: (value: number) => string,
  options: { spacing?: number; fixed?: boolean; whole?: boolean; time?: boolean } = {},
): Scale {
  // Beyond these ends differences overflow.
  let [low, high] = [Math.max(extent.low, -1e300), Math.min(extent.high, 1e300)];
  if (!(high > low)) {
    const around = Math.abs(low) > 0 ? Math.abs(low) * 0.1 : 1;
    low -= around;
    high += around;
  }
  const count = Math.max(Math.floor(Math.abs(to - from) / (options.spacing ?? LABEL_PIXELS)), 1);
  let step = roundStep(high - low, count);
  if (options.whole) step = Math.max(1, Math.round(step));
  if (options.time) step = roundTime((high - low) / count, step);
  if (!options.fixed) {
    low = Math.floor(low / step + 1e-9) * step;
    high = Math.ceil(high / step - 1e-9) * step;
  }
  const ticks: Tick[] = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let i = first; i * step <= high + step * 1e-9 && ticks.length < 100; ++i) {
    const value = Math.abs(i * step) < step * 1e-9 ? 0 : i * step;
    ticks.push({ value, label: label(value) });
  }
  const size = high - low;
  return { at: (value) => within(from + ((value - low) / size) * (to - from), from, to), ticks, from, to };
}

// A logarithmic scale; the extent's ends are over 0. Ticks are the powers of ten and, where there is room, 2
// and 5 times these.
export function logarithmic(
  extent: Extent,
  from: number,
  to: number,
  label: (value: number) => string,
  options: { spacing?: number } = {},
): Scale {
  let low = Math.log10(extent.low);
  let high = Math.log10(extent.high);
  const least = 0.3;
  if (high - low < least) {
    const middle = (low + high) / 2;
    low = middle - least / 2;
    high = middle + least / 2;
  }
  const margin = (high - low) * 0.04;
  low -= margin;
  high += margin;
  const at = (value: number): number =>
    value > 0 ? within(from + ((Math.log10(value) - low) / (high - low)) * (to - from), from, to) : from;
  return { at, ticks: logTicks(low, high, at, label, options.spacing ?? 44), from, to };
}

function logTicks(
  low: number,
  high: number,
  at: (value: number) => number,
  label: (value: number) => string,
  spacing: number,
): Tick[] {
  const candidates: { value: number; rank: number }[] = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); ++power)
    for (const [factor, rank] of [[1, 0], [2, 2], [5, 1], [3, 3], [1.5, 4], [7, 5]] as const) {
      const value = Number((factor * 10 ** power).toPrecision(3));
      const logarithm = Math.log10(value);
      if (logarithm >= low && logarithm <= high) candidates.push({ value, rank });
    }
  // The most important ticks first; each keeps its distance to those taken.
  const everyPower = Math.max(1, Math.ceil(spacing / Math.max(Math.abs(at(10 ** (low + 1)) - at(10 ** low)), 1)));
  const taken: Tick[] = [];
  const decade = Math.abs(at(10 ** (low + 1)) - at(10 ** low));
  for (const { value, rank } of candidates.sort((a, b) => a.rank - b.rank)) {
    if (rank === 0 && Math.round(Math.log10(value)) % everyPower !== 0) continue;
    // Between powers of ten only where these are far apart, or out of the axis.
    if (rank > 0 && decade < 2.5 * spacing && taken.length > 1) continue;
    if (taken.some((tick) => Math.abs(at(tick.value) - at(value)) < spacing)) continue;
    taken.push({ value, label: label(value) });
  }
  return taken.sort((a, b) => a.value - b.value);
}

/** Ticks at these values alone, the first ones and those that keep their distance to them. */
export function ticksAt(scale: Scale, values: readonly number[], label: (value: number) => string, spacing: number): Scale {
  const taken: Tick[] = [];
  for (const value of values)
    if (taken.every((tick) => Math.abs(scale.at(tick.value) - scale.at(value)) >= spacing)) taken.push({ value, label: label(value) });
  return { ...scale, ticks: taken };
}

// Categories side by side: the middle of each, and the width of one.
export interface Bands {
  middle(index: number): number;
  width: number;
}

export function bands(count: number, from: number, to: number): Bands {
  const width = (to - from) / Math.max(count, 1);
  return { middle: (index) => from + (index + 0.5) * width, width };
}
