// The columns of the table of traces and verdicts.
import type { ComponentChildren } from "preact";
import { NONE, count, duration, interval, times } from "./numbers";
import type { Report } from "./report";
import { Text } from "./text";
import { Status, Word } from "./ui";

export interface ColumnView {
  name: string;
  title: string;
  /** Pixels, the least of a column of words; the first column takes what is left. */
  width: number;
  /** The texts of a column of words: it is as wide as the longest one. */
  texts?: (of: Report) => readonly string[];
  /** Pixels and content in a narrow window. */
  narrow?: { width: number; cell: (of: Report, row: number) => ComponentChildren };
  isNumber: boolean;
  cell: (of: Report, row: number) => ComponentChildren;
  /** Whether it has anything to show in this report. */
  applies: (of: Report) => boolean;
}

const none = <span class="mute">{NONE}</span>;
const has = (name: string) => (of: Report) => of.rows.has(name) && of.rows.any(name);
const wordsOf = (name: string) => (of: Report) => of.rows.distinct(name).map(({ word }) => word);

const MOST_WIDTH = 280;
/** Of a cell around its text; of a character, which most are narrower than. */
const PADDING = 18;
const CHARACTER = 8.6;

/** The pixels of a column: a word of the report is whole unless it is very long. */
export function widthOf(column: ColumnView, of: Report): number {
  const longest = (column.texts?.(of) ?? []).reduce((most, text) => Math.max(most, text.length), 0);
  return Math.max(column.width, Math.min(Math.ceil(longest * CHARACTER) + PADDING, MOST_WIDTH));
}

const several = (name: string) => (of: Report) => of.rows.has(name) && of.rows.distinct(name).length > 1;

function words(name: string, title: string, width: number, applies = has(name), kind?: string): ColumnView {
  const cell = (of: Report, row: number) => {
    const value = of.rows.text(name, row);
    return value === null ? none : kind ? <Word kind={kind} word={value} /> : <Text value={value} limit={200} />;
  };
  return { name, title, width, texts: wordsOf(name), isNumber: false, cell, applies };
}

function numbers(name: string, title: string, width: number, format: (value: number | null) => string, applies = has(name)): ColumnView {
  const cell = (of: Report, row: number) => {
    const value = of.rows.number(name, row);
    return value === null ? none : format(value);
  };
  return { name, title, width, isNumber: true, cell, applies };
}

function speedupCell(of: Report, row: number): ComponentChildren {
  const value = of.rows.number("speedup", row);
  if (value === null) return none;
  const between = interval(of.rows.number("speedup_low", row), of.rows.number("speedup_high", row));
  return (
    <>
      <b>{times(value)}</b>
      {between ? <span class="between">{between}</span> : null}
    </>
  );
}

function reasonCell(of: Report, row: number): ComponentChildren {
  const error = of.rows.text("error_class", row);
  if (error !== null) return <Word kind="error_class" word={error} />;
  const reason = of.rows.text("counts_reason", row);
  return reason === null ? none : <Word kind="counts_reason" word={reason} />;
}

/** In the order of their importance: a narrow window shows the first ones. */
export const COLUMNS: ColumnView[] = [
  {
    name: "status",
    title: "Status",
    width: 146,
    narrow: { width: 56, cell: (of, row) => <Status status={of.rows.text("status", row)} counts={of.rows.flag("counts", row)} short /> },
    isNumber: false,
    cell: (of, row) => <Status status={of.rows.text("status", row)} counts={of.rows.flag("counts", row)} />,
    applies: has("status"),
  },
  {
    name: "speedup",
    title: "Speed-up",
    width: 180,
    narrow: { width: 92, cell: (of, row) => times(of.rows.number("speedup", row)) },
    isNumber: true,
    cell: speedupCell,
    applies: has("speedup"),
  },
  {
    name: "reason",
    title: "Reason",
    width: 120,
    texts: (of) => [...wordsOf("error_class")(of), ...wordsOf("counts_reason")(of)],
    isNumber: false,
    cell: reasonCell,
    applies: (of) => has("error_class")(of) || has("counts_reason")(of),
  },
  numbers("turns", "Turns", 72, count),
  words("trust", "Trust", 90, has("trust"), "trust"),
  words("level", "Level", 72),
  numbers("completion_tokens", "Tokens", 92, count),
  words("model", "Model", 90, several("model")),
  {
    name: "source",
    title: "Source",
    width: 90,
    texts: (of) => of.sources.map((source) => String(source?.name ?? "")),
    isNumber: false,
    cell: (of, row) => <Text value={of.sourceOf(row)?.name ?? NONE} limit={200} />,
    applies: (of) => of.sources.length > 1,
  },
  numbers("sample_number", "Sample", 84, count, several("sample_number")),
  numbers("kernel_time_ms", "Kernel", 96, duration),
  numbers("reference_time_ms", "Reference", 104, duration),
  numbers("compile_speedup", "vs. compile", 108, times),
  numbers("call_speedup", "Whole call", 104, times),
  numbers("forward_speedup", "Forward", 96, times),
  numbers("backward_speedup", "Backward", 104, times),
  words("sanitized", "Sanitizers", 110),
  words("other_shapes", "Other shapes", 114),
  words("stop_reason", "Stopped", 100, has("stop_reason"), "stop_reason"),
  words("label", "Label", 90),
  numbers("reasoning_tokens", "Reasoning", 104, count),
  numbers("prompt_tokens", "Prompt", 92, count),
  numbers("generation_ms", "Generated in", 116, duration),
  numbers("judge_ms", "Judged in", 100, duration),
  words("stage", "Stage", 96, has("stage"), "stage"),
  words("task_source", "Task source", 114, several("task_source")),
  words("licence", "Licence", 100, several("licence")),
  words("gpu", "GPU", 90, several("gpu")),
];
