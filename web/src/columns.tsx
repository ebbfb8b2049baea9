// The columns of the table of traces and verdicts.
import type { ComponentChildren } from "preact";
import { NONE, count, duration, interval, times } from "./numbers";
import type { Report } from "./report";
import { Text } from "./text";
import { Status, Word } from "./ui";

export interface ColumnView {
  name: string;
  title: string;
  /** Pixels; the first column takes what is left. */
  width: number;
  /** Pixels and content in a narrow window. */
  narrow?: { width: number; cell: (of: Report, row: number) => ComponentChildren };
  isNumber: boolean;
  cell: (of: Report, row: number) => ComponentChildren;
  /** Whether it has anything to show in this report. */
  applies: (of: Report) => boolean;
}

const none = <span class="mute">{NONE}</span>;
const has = (name: string) => (of: Report) => of.rows.has(name) && of.rows.any(name);
const several = (name: string) => (of: Report) => of.rows.has(name) && of.rows.distinct(name).length > 1;

function words(name: string, title: string, width: number, applies = has(name), kind?: string): ColumnView {
  const cell = (of: Report, row: number) => {
    const value = of.rows.text(name, row);
    return value === null ? none : kind ? <Word kind={kind} word={value} /> : <Text value={value} limit={200} />;
  };
  return { name, title, width, isNumber: false, cell, applies };
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
    width: 152,
    narrow: { width: 92, cell: (of, row) => times(of.rows.number("speedup", row)) },
    isNumber: true,
    cell: speedupCell,
    applies: has("speedup"),
  },
  {
    name: "reason",
    title: "Reason",
    width: 172,
    isNumber: false,
    cell: reasonCell,
    applies: (of) => has("error_class")(of) || has("counts_reason")(of),
  },
  numbers("turns", "Turns", 72, count),
  words("trust", "Trust", 108, has("trust"), "trust"),
  words("level", "Level", 72),
  numbers("completion_tokens", "Tokens", 92, count),
  words("model", "Model", 150, several("model")),
  {
    name: "source",
    title: "Source",
    width: 150,
    isNumber: false,
    cell: (of, row) => <Text value={of.sourceOf(row)?.name ?? NONE} limit={200} />,
    applies: (of) => of.sources.length > 1,
  },
  numbers("sample_number", "Sample", 84, count, several("sample_number")),
  numbers("kernel_time_ms", "Kernel", 96, duration),
  numbers("reference_time_ms", "Reference", 104, duration),
  numbers("compile_speedup", "vs. compile", 108, times),
  numbers("call_speedup", "Whole call", 104, times),
  words("stop_reason", "Stopped", 120, has("stop_reason"), "stop_reason"),
  words("label", "Label", 110),
  numbers("reasoning_tokens", "Reasoning", 104, count),
  numbers("prompt_tokens", "Prompt", 92, count),
  numbers("generation_ms", "Generated in", 116, duration),
  numbers("judge_ms", "Judged in", 100, duration),
  words("stage", "Stage", 96, has("stage"), "stage"),
  words("task_source", "Task source", 130, several("task_source")),
  words("licence", "Licence", 120, several("licence")),
  words("gpu", "GPU", 150, several("gpu")),
];
