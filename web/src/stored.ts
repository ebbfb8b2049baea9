// The figures over all rows as the program wrote them (`summary`), with intervals; null where a figure is missing.
import type { TurnShare } from "./charts/by_turn";
import { type Fields, fieldsOf, fieldsOrNull, numberOf, objectsOf, textOf } from "./fields";
import type { Report } from "./report";
import type { SpeedColumn, Speeds } from "./selection";
import { type Estimate, type FastPoint, type TaskSamples, without } from "./statistics";

function estimateOf(of: Fields, value: number | null, tasks: number): Estimate {
  const [low, high] = [numberOf(of["low"]), numberOf(of["high"])];
  const interval = low !== null && high !== null ? { low, high } : null;
  return { value, interval, method: textOf(of["method"]) ?? "", why: textOf(of["why"]) ?? (interval || value === null ? "" : "all tasks have one value"), tasks };
}

/** The program's figures of one of several sources; null where it wrote none. */
export function storedSource(of: Report, source: number): Fields | null {
  return objectsOf(fieldsOf(of.index.summary)["by_source"]).find((one) => one["source"] === source) ?? null;
}

/** The figures of `speedup` or `compile_speedup`; `tasks` are those of the rows of `stored`: all, or those of a source. */
export function storedSpeeds(of: Report, tasks: TaskSamples[], column: SpeedColumn, stored: unknown = of.index.summary): Speeds | null {
  const summary = fieldsOf(stored);
  const compiled = column === "compile_speedup";
  const list = objectsOf(summary[compiled ? "fast_p_compile" : "fast_p"]);
  const mean = fieldsOrNull(summary[compiled ? "geometric_mean_compile_speedup" : "geometric_mean_speedup"]);
  if (list.length === 0 || !mean) return null;
  const judged = tasks.filter((task) => task.samples > 0);
  const sum = (number: (task: TaskSamples) => number): number => tasks.reduce((total, task) => total + number(task), 0);
  const points: FastPoint[] = [];
  for (const point of list) {
    const [p, atLeast, atMost] = [numberOf(point["p"]), numberOf(point["at_least"]), numberOf(point["at_most"])];
    if (p === null) continue;
    const share = estimateOf(point, numberOf(point["share"]), judged.length);
    const bound = (value: number | null): Estimate => ({ ...without("", judged.length), value });
    points.push({ p, atLeast: bound(atLeast), atMost: bound(atMost), share, faster: numberOf(point["faster"]) ?? 0, unknownSpeeds: numberOf(point["unknown_speeds"]) ?? 0, samples: sum((task) => task.samples) });
  }
  if (points.length === 0) return null;
  return {
    tasks,
    curve: { points, tasks: judged.length, tasksNotJudged: tasks.length - judged.length, samplesNotJudged: sum((task) => task.unknown) },
    mean: estimateOf(mean, numberOf(mean["value"]), numberOf(mean["tasks"]) ?? 0),
  };
}

export function storedTurns(of: Report): TurnShare[] | null {
  const list = objectsOf(fieldsOf(of.index.summary)["right_by_turn"]);
  const turns: TurnShare[] = [];
  for (const one of list.slice(0, 64)) {
    const [turn, samples, right, share] = [numberOf(one["turn"]), numberOf(one["samples"]), numberOf(one["right"]), numberOf(one["share"])];
    if (turn === null || samples === null || right === null || share === null) return null;
    turns.push({ turn, samples, right, estimate: estimateOf(one, share, 0) });
  }
  return turns.length > 0 ? turns : null;
}
