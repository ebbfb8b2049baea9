// The figures over the rows that a filter leaves, by the definitions of docs/report_format.md (`summary`).
import type { TurnShare } from "./charts/by_turn";
import type { Report } from "./report";
import {
  byTask,
  type FastCurve,
  fastP,
  geometricMeanSpeedup,
  type Estimate,
  means,
  type Outcome,
  type Standing,
  type Steps,
  type TaskSamples,
  USUAL_BOOTSTRAP,
  USUAL_P,
} from "./statistics";
import type { Table } from "./table";

/** Rows with a verdict: all but those of data sets. */
export function judgedRows(of: Report, rows: ArrayLike<number>): number[] {
  return Array.from(rows).filter((row) => of.rows.value("kind", row) !== "dataset");
}

/** Whether the report has any trace or verdict. */
export function hasJudged(of: Report): boolean {
  for (let row = 0; row < of.rows.count; row++) if (of.rows.value("kind", row) !== "dataset") return true;
  return false;
}

/** The samples of runs that go on: how many have begun, and how many of these have ended. Null: no run goes on. */
export function progressOf(of: Report): { ended: number; begun: number } | null {
  if (!of.sources.some((source) => source?.state === "unfinished")) return null;
  const progress = { ended: 0, begun: 0 };
  for (let row = 0; row < of.rows.count; row++) {
    if (of.sourceOf(row)?.state !== "unfinished") continue;
    progress.begun++;
    if (of.rows.value("stop_reason", row) !== null) progress.ended++;
  }
  return progress;
}

function standingOf(table: Table, row: number): Standing {
  const word = table.value("standing", row);
  return word === "right" || word === "wrong" ? word : "unknown";
}

/** The rows of each source, by the number of the source (-1: of none); sources without rows are absent. */
export function bySource(of: Report, rows: readonly number[]): [source: number, rows: number[]][] {
  const sources = new Map<number, number[]>();
  for (const row of rows) {
    const source = of.rows.number("source", row) ?? -1;
    const list = sources.get(source);
    if (list) list.push(row);
    else sources.set(source, [row]);
  }
  return [...sources].sort((a, b) => a[0] - b[0]);
}

/** The task of a row. Rows without one are tasks of their own. */
export function taskOf(of: Report, row: number): string {
  return of.rows.text("task_id", row) ?? of.keyOf(row);
}

/** The name of a row for people: its task's name, else its id. */
export function nameOf(of: Report, row: number): string {
  return of.rows.text("name", row) ?? of.rows.text("task_id", row) ?? of.keyOf(row);
}

/** The page of a row: the transcript of a trace or verdict, the text of a data set's row. */
export function pageOf(of: Report, row: number): "transcript" | "dataset" {
  const kind = of.rows.value("kind", row);
  return kind === "dataset" ? "dataset" : "transcript";
}

export type SpeedColumn = "speedup" | "compile_speedup";

export function outcomes(of: Report, rows: readonly number[], column: SpeedColumn = "speedup"): Outcome[] {
  return rows.map((row) => ({
    taskId: taskOf(of, row),
    standing: standingOf(of.rows, row),
    speedup: of.rows.number(column, row),
  }));
}

export interface Speeds {
  tasks: TaskSamples[];
  curve: FastCurve;
  mean: Estimate;
}

export function* speedsOf(of: Report, rows: readonly number[], column: SpeedColumn, bootstrap = USUAL_BOOTSTRAP): Steps<Speeds> {
  const tasks = byTask(outcomes(of, rows, column));
  return { tasks, curve: yield* fastP(tasks, USUAL_P, bootstrap), mean: yield* geometricMeanSpeedup(tasks, bootstrap) };
}

/** One turn of a row; a verdict without a trace is a turn of its own. */
interface TurnOfRow {
  number: number; // from 1, a second round after the first
  table: Table;
  at: number;
}

function turnsOfRow(of: Report, row: number): TurnOfRow[] {
  if (of.rows.value("kind", row) === "verdict") return [{ number: 1, table: of.rows, at: row }];
  return of.turnsOf(row).map((at, i) => ({ number: i + 1, table: of.turns, at }));
}

const MOST_TURNS = 64;

/** The right samples by turn, cumulative. The samples are the rows with at least one judged turn. */
export function* rightByTurn(of: Report, rows: readonly number[], bootstrap = USUAL_BOOTSTRAP): Steps<TurnShare[]> {
  // Of each sample, the number of its first right turn; 0: it never was.
  const samples: { task: string; first: number }[] = [];
  let last = 0;
  for (const row of rows) {
    const turns = turnsOfRow(of, row);
    const standings = turns.map((turn) => standingOf(turn.table, turn.at));
    if (standings.every((standing) => standing === "unknown")) continue;
    last = Math.min(Math.max(last, turns.length), MOST_TURNS);
    samples.push({ task: taskOf(of, row), first: standings.indexOf("right") + 1 });
  }
  const shares: Omit<TurnShare, "estimate">[] = [];
  const columns: { values: number[]; shares: true }[] = [];
  for (let turn = 1; turn <= last; ++turn) {
    const isRight = (sample: { first: number }): boolean => sample.first > 0 && sample.first <= turn;
    const tasks = byTask(
      samples.map((sample) => ({ taskId: sample.task, standing: isRight(sample) ? "right" : "wrong", speedup: null })),
    );
    columns.push({ values: tasks.map((task) => task.right / task.samples), shares: true });
    shares.push({ turn, samples: samples.length, right: samples.filter(isRight).length });
  }
  const estimates = yield* means(columns, bootstrap);
  return shares.map((share, i) => ({ ...share, estimate: estimates[i]! }));
}

/** Why a turn is not right: its error class, else its reason not to count, else its status. */
function reasonOf(table: Table, at: number): string {
  return table.text("error_class", at) ?? table.text("counts_reason", at) ?? table.text("status", at) ?? "wrong";
}

/** The reasons of all turns of a row that are not right, each once: what the filter by reason compares. */
export function reasonsOf(of: Report, row: number): string[] {
  const turns = turnsOfRow(of, row);
  if (turns.length === 0) return of.rows.value("kind", row) === "dataset" ? [] : [of.rows.text("stop_reason", row) ?? NO_ANSWER];
  const missed = turns.filter(({ table, at }) => table.value("standing", at) !== "right" && table.value("status", at) !== null);
  return [...new Set(missed.map(({ table, at }) => reasonOf(table, at)))];
}

/** The words of errors by turn: the reason of each wrong turn. */
export function errorsByTurn(of: Report, rows: readonly number[]): Map<string, number>[] {
  const turns: Map<string, number>[] = [];
  for (const row of rows)
    for (const { number, table, at } of turnsOfRow(of, row)) {
      if (standingOf(table, at) !== "wrong") continue;
      const word = reasonOf(table, at);
      while (turns.length < number) turns.push(new Map());
      add(turns[number - 1]!, word);
    }
  return turns;
}

const NO_ANSWER = "no answer";

/** The reason in a word of `faults`, without whose fault it was. */
export const reasonOfFault = (word: string): string => word.slice(word.lastIndexOf(": ") + 1).trim();

/** What was not judged and why: faults of the task and of the infrastructure, skipped turns, traces without a turn. */
export function faults(of: Report, rows: readonly number[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const row of rows) {
    const turns = turnsOfRow(of, row);
    if (turns.length === 0) add(found, of.rows.text("stop_reason", row) ?? NO_ANSWER);
    for (const { table, at } of turns) {
      const status = table.text("status", at);
      if (status === null || standingOf(table, at) !== "unknown") continue;
      const word = reasonOf(table, at);
      const fault = table.text("fault", at);
      add(found, fault === null ? word : `${fault}: ${word}`);
    }
  }
  return found;
}

export function add(counts: Map<string, number>, word: string, by = 1): void {
  counts.set(word, (counts.get(word) ?? 0) + by);
}

/** The sum of a column; null where no row has a number. */
export function sumOf(of: Report, rows: readonly number[], column: string): number | null {
  let sum: number | null = null;
  for (const row of rows) {
    const value = of.rows.number(column, row);
    if (value !== null) sum = (sum ?? 0) + value;
  }
  return sum;
}

/** Of each task with a right row the fastest one; without speeds the first one. */
export function bestRows(of: Report, rows: readonly number[]): number[] {
  const best = new Map<string, number>();
  for (const row of rows) {
    if (standingOf(of.rows, row) !== "right") continue;
    const task = taskOf(of, row);
    const known = best.get(task);
    const speed = (at: number): number => of.rows.number("speedup", at) ?? -1;
    if (known === undefined || speed(row) > speed(known)) best.set(task, row);
  }
  return [...best.values()];
}

/** The words of a column with their counts, the most frequent first. */
export function wordsOf(of: Report, rows: readonly number[], column: string): [string, number][] {
  const counts = new Map<string, number>();
  for (const row of rows) add(counts, of.rows.text(column, row) ?? "");
  return [...counts].sort((a, b) => b[1] - a[1]);
}
