// The rows that the table shows, in its order. Transcripts go through the same rows in the same order.
import { computed } from "@preact/signals";
import type { Report } from "./report";
import { filtered, place, report, statusWord } from "./state";

const query = computed(() => place.value.params.get("q") ?? "");
export const sortColumn = computed(() => place.value.params.get("sort") ?? "");
export const sortDown = computed(() => place.value.params.get("dir") === "down");

/** Columns that the text filter reads. */
const TEXT_COLUMNS = ["task_id", "name", "model", "task_source", "error_class", "counts_reason", "stage", "trust", "stop_reason", "label", "licence", "gpu", "key"];

/** One lower-case text for each row, made once for a report. */
const texts = computed<string[]>(() => {
  const of = report.value;
  if (!of) return [];
  const columns = TEXT_COLUMNS.filter((name) => of.rows.has(name));
  const found: string[] = new Array(of.rows.count);
  for (let row = 0; row < of.rows.count; row++) {
    let text = statusWord(of, row);
    for (const name of columns) {
      const value = of.rows.text(name, row);
      if (value !== null) text += `\n${value}`;
    }
    found[row] = text.toLowerCase();
  }
  return found;
});

/** Rows that the filters and the text filter leave: every word of the text stands somewhere in the row. */
const matching = computed<Uint32Array>(() => {
  const rows = filtered.value;
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const of = report.value;
  if (!of) return rows;
  const hasKinds = of.rows.has("kind");
  return rows.filter((row) => (!hasKinds || of.rows.value("kind", row) !== "dataset") && words.every((word) => texts.value[row]!.includes(word)));
});

/** The order of statuses in which a reader looks at them: what failed first. */
const STATUS_ORDER = ["failed", "incorrect", "does not count", "error", "skipped", "correct"];

type SortKey = number | string | null;

/** What a column sorts by. */
export function sortKey(of: Report, column: string, row: number): SortKey {
  if (column === "status") {
    const word = statusWord(of, row);
    return word === "" ? null : STATUS_ORDER.indexOf(word) < 0 ? 9 : STATUS_ORDER.indexOf(word);
  }
  if (column === "reason") return of.rows.text("error_class", row) ?? of.rows.text("counts_reason", row);
  if (column === "source") return of.sourceOf(row)?.name ?? null;
  const value = of.rows.value(column, row);
  return typeof value === "boolean" ? Number(value) : value;
}

function compare(a: SortKey, b: SortKey): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

/** Sorts rows by a column; rows without a value are last in both directions, equal rows keep their order. */
export function sortRows(of: Report, rows: Uint32Array, column: string, down: boolean): Uint32Array {
  if (column === "") return rows;
  const keys = new Array<SortKey>(of.rows.count);
  for (const row of rows) keys[row] = sortKey(of, column, row);
  return rows.slice().sort((a, b) => {
    const left = keys[a]!;
    const right = keys[b]!;
    if (left === null || right === null) return left === right ? a - b : left === null ? 1 : -1;
    return (down ? compare(right, left) : compare(left, right)) || a - b;
  });
}

export const ordered = computed<Uint32Array>(() => {
  const of = report.value;
  return of ? sortRows(of, matching.value, sortColumn.value, sortDown.value) : new Uint32Array(0);
});
