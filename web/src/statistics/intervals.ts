// Estimates with confidence intervals, by the definitions and methods of src/score/metrics/intervals.h: equal
// rows give equal numbers there and here.
import { fillBelow, Generator } from "./generator";

export interface Interval {
  low: number;
  high: number;
}

export interface Estimate {
  value: number | null; // null: there are no values
  interval: Interval | null;
  method: string; // "Wilson", "cluster bootstrap", or "" for no interval
  why: string; // the reason for no interval, or a warning
  tasks: number;
}

export interface Bootstrap {
  resamples: number;
  seed: number;
}

export const USUAL_BOOTSTRAP: Bootstrap = { resamples: 10_000, seed: 42 };

// All intervals are 95% intervals.
const Z = 1.959963984540054;
const FEW_TASKS = 10;
/** Why an estimate has no interval where none was asked for (0 resamples). */
export const PENDING = "it is being calculated";
const MOST_DRAWN_FROM = 2 ** 21;

export function wilson(hits: number, of: number): Interval | null {
  if (of === 0 || hits > of) return null;
  const s = hits / of;
  const width = 1 + (Z * Z) / of;
  const centre = (s + (Z * Z) / (2 * of)) / width;
  const half = (Z / width) * Math.sqrt((s * (1 - s)) / of + (Z * Z) / (4 * of * of));
  return {
    low: hits === 0 ? 0 : Math.max(0, centre - half),
    high: hits === of ? 1 : Math.min(1, centre + half),
  };
}

export function share(hits: number, of: number): Estimate {
  const interval = wilson(hits, of);
  if (!interval) return without("there is nothing to take a share of", of);
  return { value: hits / of, interval, method: "Wilson", why: "", tasks: of };
}

export function without(why: string, tasks: number): Estimate {
  return { value: null, interval: null, method: "", why, tasks };
}

function meanOf(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

// Hyndman and Fan 1996, definition 7.
export function percentile(sorted: ArrayLike<number>, p: number): number {
  const at = p * (sorted.length - 1);
  const below = Math.trunc(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below]! + (at - below) * (sorted[above]! - sorted[below]!);
}

// A calculation that can be interrupted: it yields now and then, and returns its result.
export type Steps<Result> = Generator_<Result>;
type Generator_<Result> = globalThis.Generator<undefined, Result, undefined>;

export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const SLICE_MS = 12;

// Runs the calculation in slices between which the page stays responsive; null if the signal stops it.
export async function inSlices<Result>(steps: Steps<Result>, signal?: AbortSignal): Promise<Result | null> {
  for (;;) {
    const end = performance.now() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done) return step.value;
    } while (performance.now() < end);
    await new Promise((resume) => setTimeout(resume, 0));
    if (signal?.aborted) return null;
  }
}

const DRAWS_A_STEP = 50_000;

// The intervals of the means of columns of equal length. Each resample draws the same rows for all columns, as
// the C++ code does when it starts each column with the same seed.
function* resampled(columns: Float64Array[], bootstrap: Bootstrap): Steps<Interval[]> {
  const count = columns[0]?.length ?? 0;
  const generator = new Generator(bootstrap.seed);
  const resamples = Math.max(bootstrap.resamples, 1);
  const means = columns.map(() => new Float64Array(resamples));
  const drawn = new Uint32Array(count);
  let draws = 0;
  for (let round = 0; round < resamples; ++round) {
    fillBelow(generator, drawn, count);
    for (let column = 0; column < columns.length; ++column) {
      const values = columns[column]!;
      let sum = 0;
      for (let i = 0; i < count; ++i) sum += values[drawn[i]!]!;
      means[column]![round] = sum / count;
    }
    draws += count * (1 + columns.length / 4);
    if (draws > DRAWS_A_STEP) {
      draws = 0;
      yield;
    }
  }
  const outside = (1 - 0.95) / 2;
  return means.map((column) => {
    column.sort();
    return { low: percentile(column, outside), high: percentile(column, 1 - outside) };
  });
}

// `shares`: values between 0 and 1, such as the share of a task's samples. Where each is 0 or 1, the mean is a
// share and gets Wilson's interval.
export interface Column {
  values: readonly number[];
  shares: boolean;
}

// The mean of each column, one value a task; all columns have the same tasks.
export function* means(columns: readonly Column[], bootstrap = USUAL_BOOTSTRAP): Steps<Estimate[]> {
  const estimates = columns.map(withoutBootstrap);
  // Columns that need the bootstrap; equal columns only once.
  const distinct = new Map<string, { values: Float64Array; estimates: Estimate[] }>();
  columns.forEach((column, i) => {
    const estimate = estimates[i]!;
    if (estimate.method !== "cluster bootstrap") return;
    const key = column.values.join();
    const known = distinct.get(key);
    if (known) known.estimates.push(estimate);
    else distinct.set(key, { values: Float64Array.from(column.values), estimates: [estimate] });
  });
  if (distinct.size === 0) return estimates;
  if (bootstrap.resamples === 0) {
    for (const { estimates: open } of distinct.values()) for (const estimate of open) Object.assign(estimate, { method: "", why: PENDING });
    return estimates;
  }
  const wanted = [...distinct.values()];
  const intervals = yield* resampled(
    wanted.map((one) => one.values),
    bootstrap,
  );
  wanted.forEach((one, i) => {
    for (const estimate of one.estimates) estimate.interval = intervals[i]!;
  });
  return estimates;
}

function withoutBootstrap({ values, shares }: Column): Estimate {
  const tasks = values.length;
  if (shares && values.every((value) => value === 0 || value === 1))
    return share(values.filter((value) => value === 1).length, tasks);
  if (tasks === 0) return without("there is nothing to take the mean of", 0);
  if (!values.every(Number.isFinite)) return without("a value is not finite", tasks);
  const value = meanOf(values);
  const bare = (why: string): Estimate => ({ value, interval: null, method: "", why, tasks });
  if (tasks === 1) return bare("one task has no interval");
  if (values.every((one) => one === values[0]))
    return bare("all tasks have the same value, so the variation between tasks cannot be estimated");
  if (tasks > MOST_DRAWN_FROM) return bare("there are too many tasks for a bootstrap in the page");
  const why =
    tasks < FEW_TASKS ? `with only ${tasks} tasks the interval is narrower than it should be` : "";
  return { value, interval: null, method: "cluster bootstrap", why, tasks };
}

// exp of the mean of the logarithms; values must be over 0.
export function* geometricMean(values: readonly number[], bootstrap = USUAL_BOOTSTRAP): Steps<Estimate> {
  const logarithms = values.map((value) => (value > 0 ? Math.log(value) : Number.NaN));
  const estimate = (yield* means([{ values: logarithms, shares: false }], bootstrap))[0]!;
  if (estimate.value !== null) estimate.value = Math.exp(estimate.value);
  if (estimate.interval)
    estimate.interval = { low: Math.exp(estimate.interval.low), high: Math.exp(estimate.interval.high) };
  return estimate;
}
