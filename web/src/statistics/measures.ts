// Outcomes by task and their figures, by the definitions of src/score/metrics/measures.h and docs/score.md.
import { type Bootstrap, type Estimate, type Steps, USUAL_BOOTSTRAP, geometricMean, means, without } from "./intervals";

export type Standing = "right" | "wrong" | "unknown";

export interface Outcome {
  taskId: string;
  standing: Standing;
  speedup: number | null;
}

export interface TaskSamples {
  taskId: string;
  samples: number; // right and wrong ones
  right: number;
  unknown: number; // in addition to `samples`
  speedups: number[]; // of right ones, finite and over 0
  unknownSpeeds: number; // right ones without known speed
}

// The order of the bytes of UTF-8, in which the C++ code lists tasks. UTF-16 orders surrogates before U+E000.
export function byBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; ++i) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    return rank(left) - rank(right);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

// One entry a task, by its id.
export function byTask(outcomes: Iterable<Outcome>): TaskSamples[] {
  const tasks = new Map<string, TaskSamples>();
  for (const outcome of outcomes) {
    let task = tasks.get(outcome.taskId);
    if (!task) {
      task = { taskId: outcome.taskId, samples: 0, right: 0, unknown: 0, speedups: [], unknownSpeeds: 0 };
      tasks.set(outcome.taskId, task);
    }
    if (outcome.standing === "unknown") {
      ++task.unknown;
      continue;
    }
    ++task.samples;
    if (outcome.standing === "wrong") continue;
    ++task.right;
    if (outcome.speedup !== null && Number.isFinite(outcome.speedup) && outcome.speedup > 0)
      task.speedups.push(outcome.speedup);
    else ++task.unknownSpeeds;
  }
  return [...tasks.values()].sort((a, b) => byBytes(a.taskId, b.taskId));
}

export interface FastPoint {
  p: number;
  atLeast: Estimate;
  atMost: Estimate;
  share: Estimate; // without value if unknown speeds affect it
  faster: number;
  unknownSpeeds: number;
  samples: number;
}

export interface FastCurve {
  points: FastPoint[];
  tasks: number; // with at least one sample that was judged
  tasksNotJudged: number;
  samplesNotJudged: number;
}

export const USUAL_P: readonly number[] = [0, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10];

function fasterThan(task: TaskSamples, p: number): number {
  return p === 0 ? task.right : task.speedups.filter((speedup) => speedup > p).length;
}

export function* fastP(
  tasks: readonly TaskSamples[],
  at: readonly number[] = USUAL_P,
  bootstrap: Bootstrap = USUAL_BOOTSTRAP,
): Steps<FastCurve> {
  const judged = tasks.filter((task) => task.samples > 0);
  const points = at.filter((p) => Number.isFinite(p) && p >= 0);
  const unknown = (task: TaskSamples, p: number): number => (p === 0 ? 0 : task.unknownSpeeds);
  const columns = points.flatMap((p) => [
    { values: judged.map((task) => fasterThan(task, p) / task.samples), shares: true },
    { values: judged.map((task) => (fasterThan(task, p) + unknown(task, p)) / task.samples), shares: true },
  ]);
  const estimates = yield* means(columns, bootstrap);
  return {
    points: points.map((p, i) => {
      const unknownSpeeds = sum(judged, (task) => unknown(task, p));
      const atLeast = estimates[2 * i]!;
      return {
        p,
        atLeast,
        atMost: estimates[2 * i + 1]!,
        share: unknownSpeeds > 0 ? without("the speed of right answers is unknown", judged.length) : atLeast,
        faster: sum(judged, (task) => fasterThan(task, p)),
        unknownSpeeds,
        samples: sum(judged, (task) => task.samples),
      };
    }),
    tasks: judged.length,
    tasksNotJudged: tasks.length - judged.length,
    samplesNotJudged: sum(tasks, (task) => task.unknown),
  };
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}

// The mean logarithm of each task's speed-ups, of tasks that have one.
export function logSpeedups(tasks: readonly TaskSamples[]): Map<string, number> {
  const values = new Map<string, number>();
  for (const task of tasks) {
    if (task.speedups.length === 0) continue;
    values.set(task.taskId, sum(task.speedups, Math.log) / task.speedups.length);
  }
  return values;
}

export function geometricMeanSpeedup(
  tasks: readonly TaskSamples[],
  bootstrap: Bootstrap = USUAL_BOOTSTRAP,
): Steps<Estimate> {
  return geometricMean([...logSpeedups(tasks).values()].map(Math.exp), bootstrap);
}
