// Two sources on the same tasks: which tasks flipped, and by how much the speeds differ.
import type { Report } from "../report";
import { add, bySource, outcomes, taskOf } from "../selection";
import { byTask, logSpeedups, type TaskSamples } from "../statistics";

export interface Side {
  source: number;
  rows: number[];
  tasks: TaskSamples[];
  /** The first row of each task: a link to it stands for the task. */
  first: Map<string, number>;
}

/** The sides of a comparison, by the number of the source; sources without rows are absent. */
export function sidesOf(of: Report, rows: readonly number[]): Side[] {
  return bySource(of, rows).map(([source, own]) => {
    const first = new Map<string, number>();
    for (const row of own) if (!first.has(taskOf(of, row))) first.set(taskOf(of, row), row);
    return { source, rows: own, tasks: byTask(outcomes(of, own)), first };
  });
}

export interface Flip {
  taskId: string;
  before: number; // a row
  after: number;
  rightBefore: string; // "1 of 2"
  rightAfter: string;
  difference: number; // of the shares of right samples
}

/** Tasks whose share of right samples differs: what was lost first, then what was gained. */
export function flips(before: Side, after: Side): Flip[] {
  const old = new Map(before.tasks.map((task) => [task.taskId, task]));
  const found: Flip[] = [];
  for (const task of after.tasks) {
    const other = old.get(task.taskId);
    if (!other || other.samples === 0 || task.samples === 0) continue;
    const difference = task.right / task.samples - other.right / other.samples;
    if (difference === 0) continue;
    found.push({
      taskId: task.taskId,
      before: before.first.get(task.taskId)!,
      after: after.first.get(task.taskId)!,
      rightBefore: `${other.right} of ${other.samples}`,
      rightAfter: `${task.right} of ${task.samples}`,
      difference,
    });
  }
  return found.sort((a, b) => a.difference - b.difference);
}

/** How tasks that both sides judged stand: right on both, on one, on none; "in part" with several samples. */
export function standings(before: Side, after: Side): Map<string, number> {
  const old = new Map(before.tasks.map((task) => [task.taskId, task]));
  const counts = new Map<string, number>();
  for (const name of ["better", "worse", "equal, right", "equal, wrong", "equal, right in part"]) counts.set(name, 0);
  for (const task of after.tasks) {
    const other = old.get(task.taskId);
    if (!other || other.samples === 0 || task.samples === 0) continue;
    const [was, is] = [other.right / other.samples, task.right / task.samples];
    add(counts, is > was ? "better" : is < was ? "worse" : is === 1 ? "equal, right" : is === 0 ? "equal, wrong" : "equal, right in part");
  }
  return counts;
}

/** Of tasks that both sides have right with known speeds: how many times as fast the second one is. */
export function speedRatios(before: Side, after: Side): { taskId: string; ratio: number }[] {
  const old = logSpeedups(before.tasks);
  const ratios: { taskId: string; ratio: number }[] = [];
  for (const [taskId, logarithm] of logSpeedups(after.tasks)) {
    const other = old.get(taskId);
    if (other !== undefined) ratios.push({ taskId, ratio: Math.exp(logarithm - other) });
  }
  return ratios;
}

const asText = (value: unknown): string => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

export interface Setting {
  name: string;
  values: string[];
}

/**
 * Settings by name with the text of each source: those that differ, those that only one kind of source records (a run
 * records flags, a file of verdicts does not), and the number of equal ones.
 */
export function settings(of: Report, sources: readonly number[]): { differing: Setting[]; partial: Setting[]; equal: number } {
  // A time at which a run began is no setting: it always differs.
  const names = new Set(sources.flatMap((source) => Object.keys(of.sources[source]?.facts ?? {})).filter((name) => name !== "created_at"));
  const all = [...names].sort().map((name) => ({
    name,
    values: sources.map((source) => {
      const facts = of.sources[source]?.facts ?? {};
      return Object.hasOwn(facts, name) ? asText(facts[name]) : "";
    }),
  }));
  const unequal = all.filter(({ values }) => values.some((value) => value !== values[0]));
  const isMixed = new Set(sources.map((source) => of.sources[source]?.kind)).size > 1;
  const isPartial = ({ values }: Setting): boolean => isMixed && values.includes("");
  return { differing: unequal.filter((one) => !isPartial(one)), partial: unequal.filter(isPartial), equal: all.length - unequal.length };
}
