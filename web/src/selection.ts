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
  without,
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

/** A trace that has not ended: it is in the costs and in no other figure. */
export function isUnfinished(of: Report, row: number): boolean {
  return of.rows.flag("unfinished", row) === true;
}

export function endedRows(of: Report, rows: readonly number[]): number[] {
  return rows.filter((row) => !isUnfinished(of, row));
}

/** Whether more traces of a row's source may end. */
export function isSourceOpen(of: Report, row: number): boolean {
  const state = of.sourceOf(row)?.state;
  return state === "unfinished" || state === "interrupted";
}

/** The sources with a right or wrong row, each with all its rows. */
export function judgedSources(of: Report, rows: readonly number[]): [source: number, rows: number[]][] {
  return bySource(of, rows).filter(([source, own]) => source >= 0 && endedRows(of, own).some((row) => standingOf(of.rows, row) !== "unknown"));
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
  return endedRows(of, rows).map((row) => ({
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
  const curve = yield* fastP(tasks, USUAL_P, bootstrap);
  const mean = yield* geometricMeanSpeedup(tasks, bootstrap);
  return { tasks, curve: hasSpeeds(tasks) ? curve : withoutSpeeds(curve, `speed not measured: ${whyNoSpeed(of, rows)}`), mean };
}

export const hasSpeeds = (tasks: readonly TaskSamples[]): boolean => tasks.some((task) => task.speedups.length > 0);

/** Without any speed, a share of 0 would only state that nothing was measured. */
function withoutSpeeds(curve: FastCurve, why: string): FastCurve {
  const none = without(why, curve.tasks);
  return { ...curve, points: curve.points.map((point) => (point.p > 0 ? { ...point, share: none, atLeast: none, atMost: none } : point)) };
}

/** Why no speed against eager PyTorch is known, in the program's words (`summary.no_speed`). */
export function whyNoSpeed(of: Report, rows: readonly number[]): string {
  const judged = endedRows(of, rows).filter((row) => standingOf(of.rows, row) !== "unknown");
  if (judged.length === 0) return "no sample was judged";
  // Verdicts of this program have a protocol, and name the GPU if there is one.
  const isWithoutGpu = (row: number): boolean => of.rows.value("trust", row) === "interpreter" || (of.rows.value("gpu", row) === null && of.rows.value("protocol", row) !== null);
  if (judged.every(isWithoutGpu)) return "no GPU";
  return judged.some((row) => standingOf(of.rows, row) === "right") ? "no right answer was timed" : "no answer is right";
}

export interface EvidenceCounts {
  judged: number; // turns with a verdict
  kept: number; // those with an evidence record
  bestJudged: number; // the same of best turns: one a row
  bestKept: number;
}

export function evidenceCounts(of: Report, rows: readonly number[]): EvidenceCounts {
  const counts = { judged: 0, kept: 0, bestJudged: 0, bestKept: 0 };
  for (const row of rows) {
    if (of.rows.value("status", row) !== null) {
      ++counts.bestJudged;
      if (of.rows.flag("evidence", row) === true) ++counts.bestKept;
    }
    for (const { table, at } of turnsOfRow(of, row)) {
      if (table.value("status", at) === null) continue;
      ++counts.judged;
      if (table.flag("evidence", at) === true) ++counts.kept;
    }
  }
  return counts;
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
  for (const row of endedRows(of, rows)) {
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

/** Of a correct result that does not count. */
export const NO_REASON = "no reason recorded";

/** Why a turn is not right: its error class, else its reason not to count, else its status. */
function reasonOf(table: Table, at: number): string {
  const status = table.text("status", at);
  return table.text("error_class", at) ?? table.text("counts_reason", at) ?? (status === "correct" ? NO_REASON : status) ?? "wrong";
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
  for (const row of endedRows(of, rows))
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
  for (const row of endedRows(of, rows)) {
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
  for (const row of endedRows(of, rows)) {
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
