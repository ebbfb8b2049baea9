// Paired comparisons of two sets of answers to the same tasks, by the methods of src/score/metrics/paired.h.
import { type Bootstrap, type Estimate, type Interval, means, type Steps, USUAL_BOOTSTRAP, wilson } from "./intervals";
import { Generator } from "./generator";
import { type TaskSamples, byBytes, logSpeedups } from "./measures";

export interface PairedCounts {
  both: number;
  lost: number;
  gained: number;
  neither: number;
}

export interface Paired {
  method: string; // "exact McNemar" or "sign-flip permutation"
  tasks: number; // with judged samples on both sides
  onlyBefore: string[];
  onlyAfter: string[];
  gained: number;
  lost: number;
  before: number | null;
  after: number | null;
  difference: Estimate;
  pValue: number | null;
  smallestP: number;
  enough: boolean;
  significant: boolean;
  words: string;
}

const ALPHA = 0.05;
const MOST_FLIPPED_EXACTLY = 16;
const ROUNDING = 1e-12;

// Two-sided, of the binomial distribution at one half.
export function mcnemarP(gained: number, lost: number): number {
  const n = gained + lost;
  if (n === 0) return 1;
  const least = Math.min(gained, lost);
  // Up to about 1,000 the coefficients are doubles; beyond, their logarithms are summed.
  let sum = 0;
  if (n <= 1000) {
    let coefficient = 1;
    for (let i = 0; i <= least; ++i) {
      if (i > 0) coefficient = (coefficient * (n - i + 1)) / i;
      sum += coefficient * 2 ** -n;
    }
  } else {
    let logarithm = -n * Math.LN2;
    for (let i = 0; i <= least; ++i) {
      if (i > 0) logarithm += Math.log(n - i + 1) - Math.log(i);
      sum += Math.exp(logarithm);
    }
  }
  return Math.min(1, 2 * sum);
}

export function newcombe({ both, lost, gained, neither }: PairedCounts): Interval | null {
  const n = both + lost + gained + neither;
  const before = wilson(both + lost, n);
  const after = wilson(both + gained, n);
  if (!before || !after) return null;
  const pBefore = (both + lost) / n;
  const pAfter = (both + gained) / n;
  const margins = Math.sqrt(pBefore * (1 - pBefore) * pAfter * (1 - pAfter)) * n * n;
  let above = both * neither - lost * gained;
  if (above > 0) above = Math.max(above - n / 2, 0);
  const phi = margins > 0 ? above / margins : 0;
  const root = (a: number, b: number): number => Math.sqrt(Math.max(0, a * a - 2 * phi * a * b + b * b));
  const difference = pAfter - pBefore;
  return {
    low: Math.max(-1, difference - root(pAfter - after.low, before.high - pBefore)),
    high: Math.min(1, difference + root(after.high - pAfter, pBefore - before.low)),
  };
}

export function* signFlips(differences: readonly number[], bootstrap: Bootstrap): Steps<number> {
  const differing = differences.filter((difference) => difference !== 0);
  if (differing.length === 0) return 1;
  let size = 0;
  let total = 0;
  for (const difference of differing) {
    size += Math.abs(difference);
    total += difference;
  }
  const seen = Math.abs(total) - ROUNDING * size;
  return differing.length <= MOST_FLIPPED_EXACTLY
    ? allFlipsP(differing, seen)
    : yield* randomFlipsP(differing, seen, bootstrap);
}

function allFlipsP(differences: readonly number[], seen: number): number {
  const flips = 2 ** differences.length;
  let asExtreme = 0;
  for (let flip = 0; flip < flips; ++flip) {
    let sum = 0;
    for (let i = 0; i < differences.length; ++i) sum += (flip >> i) & 1 ? -differences[i]! : differences[i]!;
    if (Math.abs(sum) >= seen) ++asExtreme;
  }
  return asExtreme / flips;
}

function* randomFlipsP(differences: readonly number[], seen: number, bootstrap: Bootstrap): Steps<number> {
  const generator = new Generator(bootstrap.seed);
  let asExtreme = 0;
  for (let round = 0; round < bootstrap.resamples; ++round) {
    let sum = 0;
    for (let i = 0; i < differences.length; ++i) {
      const bit = i % 64;
      if (bit === 0) generator.next();
      const flipped = bit < 32 ? generator.low >>> bit : generator.high >>> (bit - 32);
      sum += flipped & 1 ? -differences[i]! : differences[i]!;
    }
    if (Math.abs(sum) >= seen) ++asExtreme;
    if (round % 100 === 99) yield;
  }
  return (asExtreme + 1) / (bootstrap.resamples + 1);
}

interface Pairs {
  before: number[];
  after: number[];
  differences: number[];
}

function emptyResult(): Paired {
  return {
    method: "",
    tasks: 0,
    onlyBefore: [],
    onlyAfter: [],
    gained: 0,
    lost: 0,
    before: null,
    after: null,
    difference: { value: null, interval: null, method: "", why: "there is nothing to compare", tasks: 0 },
    pValue: null,
    smallestP: 1,
    enough: false,
    significant: false,
    words: "",
  };
}

type Values = ReadonlyMap<string, number>;

function pairedUp(before: Values, after: Values, result: Paired): Pairs {
  const pairs: Pairs = { before: [], after: [], differences: [] };
  for (const id of [...before.keys()].sort(byBytes)) {
    const value = before.get(id)!;
    const other = after.get(id);
    if (other === undefined) {
      result.onlyBefore.push(id);
      continue;
    }
    pairs.before.push(value);
    pairs.after.push(other);
    pairs.differences.push(other - value);
  }
  for (const id of [...after.keys()].sort(byBytes)) if (!before.has(id)) result.onlyAfter.push(id);
  return pairs;
}

function countTasks(pairs: Pairs, result: Paired): void {
  result.tasks = pairs.differences.length;
  if (result.tasks === 0) return;
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  result.before = mean(pairs.before);
  result.after = mean(pairs.after);
  result.gained = pairs.differences.filter((difference) => difference > 0).length;
  result.lost = pairs.differences.filter((difference) => difference < 0).length;
}

export function pWords(p: number): string {
  return p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
}

function words(result: Paired): string {
  if (result.tasks === 0) return "No task was judged on both sides: there is nothing to compare.";
  const differing = result.gained + result.lost;
  if (!result.enough)
    return `Too few differing tasks for a test: ${differing} of ${result.tasks}, so p is at least ${result.smallestP.toFixed(3)}.`;
  const counts =
    `${result.gained} of ${result.tasks} tasks better, ${result.lost} worse, ` + pWords(result.pValue ?? 1);
  if (!result.significant) return `No difference is shown: ${counts} (over ${ALPHA}).`;
  return `${(result.difference.value ?? 0) > 0 ? "Better after" : "Worse after"}: ${counts}.`;
}

function conclude(result: Paired): Paired {
  const differing = result.gained + result.lost;
  result.smallestP = differing === 0 ? 1 : 2 ** (1 - Math.min(differing, 1000));
  result.enough = result.smallestP < ALPHA;
  result.significant = result.enough && result.pValue !== null && result.pValue < ALPHA;
  result.words = words(result);
  return result;
}

function* permute(pairs: Pairs, bootstrap: Bootstrap, result: Paired): Steps<void> {
  result.method = "sign-flip permutation";
  result.difference = (yield* means([{ values: pairs.differences, shares: false }], bootstrap))[0]!;
  if (result.tasks > 0) result.pValue = yield* signFlips(pairs.differences, bootstrap);
}

function mcnemar(pairs: Pairs, result: Paired): void {
  result.method = "exact McNemar";
  const counts: PairedCounts = { both: 0, lost: 0, gained: 0, neither: 0 };
  pairs.before.forEach((value, i) => {
    const before = value === 1;
    const after = pairs.after[i] === 1;
    ++counts[before ? (after ? "both" : "lost") : after ? "gained" : "neither"];
  });
  result.difference.tasks = result.tasks;
  if (result.tasks === 0 || result.before === null || result.after === null) return;
  result.difference = {
    value: result.after - result.before,
    interval: newcombe(counts),
    method: "Newcombe",
    why: "",
    tasks: result.tasks,
  };
  result.pValue = mcnemarP(counts.gained, counts.lost);
}

function rightShares(tasks: readonly TaskSamples[]): Map<string, number> {
  const judged = tasks.filter((task) => task.samples > 0);
  return new Map(judged.map((task) => [task.taskId, task.right / task.samples]));
}

// pass@1 of the same tasks.
export function* compareRight(
  before: readonly TaskSamples[],
  after: readonly TaskSamples[],
  bootstrap: Bootstrap = USUAL_BOOTSTRAP,
): Steps<Paired> {
  const result = emptyResult();
  const pairs = pairedUp(rightShares(before), rightShares(after), result);
  countTasks(pairs, result);
  if ([...before, ...after].every((task) => task.samples <= 1)) mcnemar(pairs, result);
  else yield* permute(pairs, bootstrap, result);
  return conclude(result);
}

// The logarithms of the speed-ups of tasks that both sides have right: exp of the difference is the ratio.
export function* compareSpeedups(
  before: readonly TaskSamples[],
  after: readonly TaskSamples[],
  bootstrap: Bootstrap = USUAL_BOOTSTRAP,
): Steps<Paired> {
  const result = emptyResult();
  const pairs = pairedUp(logSpeedups(before), logSpeedups(after), result);
  countTasks(pairs, result);
  yield* permute(pairs, bootstrap, result);
  return conclude(result);
}
