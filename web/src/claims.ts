// Claims: one line below a figure, with everything that a reader needs to compare it. `summary.claims` has them for
// all rows; for the rows that a filter leaves, the page writes them from the same columns.
import { between, counted, shareText } from "./charts/figures";
import { NOT_RECORDED, significant, times } from "./numbers";
import type { Report } from "./report";
import { endedRows, isSourceOpen, wordsOf } from "./selection";
import type { Estimate } from "./statistics";

export type ClaimFigure = "fast_0" | "fast_1" | "fast_1_compile" | "geometric_mean_speedup" | "geometric_mean_compile_speedup";

/** The program's own line for a figure over all rows, or over those of one of several sources. */
export function storedClaim(of: Report, figure: ClaimFigure, source: number | null = null): string | null {
  const claims = of.index.summary?.["claims"];
  if (!Array.isArray(claims)) return null;
  for (const claim of claims as unknown[]) {
    if (typeof claim !== "object" || claim === null) continue;
    const { figure: name, text, source: about = null } = claim as Record<string, unknown>;
    if (name === figure && about === source && typeof text === "string") return text;
  }
  return null;
}

const MOST_WORDS = 3;

/** "float32" or "float32 (90), float16 (10)", as the rows hold it. */
function circumstances(of: Report, rows: readonly number[], column: string): string {
  const words = wordsOf(of, rows, column).map(([word, number]) => [word || NOT_RECORDED, number] as const);
  if (words.length === 0) return NOT_RECORDED;
  if (words.length === 1) return words[0]![0];
  const shown = words.slice(0, MOST_WORDS).map(([word, number]) => `${word} (${number})`);
  if (words.length > MOST_WORDS) shown.push(`${words.length - MOST_WORDS} others`);
  return shown.join(", ");
}

function estimateText(estimate: Estimate, write: (value: number) => string): string {
  if (estimate.value === null) return estimate.why;
  if (!estimate.interval) return `${write(estimate.value)} (no interval: ${estimate.why})`;
  return `${write(estimate.value)} (95% ${between(estimate.interval, write)}, ${estimate.method})`;
}

const NAMES: Record<ClaimFigure, string> = {
  fast_0: "fast_0",
  fast_1: "fast_1 against eager PyTorch",
  fast_1_compile: "fast_1 against torch.compile",
  geometric_mean_speedup: "geometric mean speed-up over eager PyTorch",
  geometric_mean_compile_speedup: "geometric mean speed-up over torch.compile",
};

/**
 * The line for an estimate over some rows. `bounds`: the value in words, where unknown speeds leave it open. `source`: the
 * number of the source that all rows are of, where the report has several.
 */
export function claim(of: Report, figure: ClaimFigure, estimate: Estimate, all: readonly number[], bounds: string | null = null, source: number | null = null): string {
  const rows = endedRows(of, all);
  const unfinished = all.length - rows.length;
  const isOpen = unfinished > 0 || rows.some((row) => isSourceOpen(of, row));
  const name = source === null ? null : (of.sources[source]?.name ?? null);
  const prefix = [isOpen ? "unfinished" : "", name === null ? "" : `source ${name.slice(0, 60)}`].filter((words) => words !== "").join(" ");
  const isSpeed = figure.startsWith("geometric");
  const samples = rows.filter((row) => of.rows.value("standing", row) === "right" || of.rows.value("standing", row) === "wrong");
  const right = rows.filter((row) => of.rows.value("standing", row) === "right");
  const about = figure === "fast_0" ? samples : right;
  const measured = figure === "fast_0" || right.some((row) => of.rows.number(figure.includes("compile") ? "compile_speedup" : "speedup", row) !== null);
  const parts = [
    `${prefix === "" ? "" : `${prefix}: `}${NAMES[figure]} = ${measured ? (bounds ?? estimateText(estimate, isSpeed ? times : shareText)) : "speed not measured"}`,
    isSpeed ? "mean of logarithms over tasks with a right answer of known speed" : "mean over tasks of the share of samples",
    `${counted(estimate.tasks, "task")} of ${circumstances(of, rows, "task_source")}`,
    counted(samples.length, "sample") + (unfinished > 0 ? ` of the ${rows.length} that have ended; ${unfinished} ${unfinished === 1 ? "is" : "are"} unfinished` : ""),
  ];
  const unjudged = rows.length - samples.length;
  if (unjudged > 0) parts.push(`${counted(unjudged, "sample")} not judged and left out`);
  parts.push(`dtype ${circumstances(of, about, "dtype")}`, `tolerance ${circumstances(of, about, "tolerance")}`);
  if (figure !== "fast_0" && measured) {
    parts.push(`timer ${circumstances(of, about, "instrument")}`);
    const clocks = [...new Set(about.map((row) => of.rows.number("clock_sm_mhz", row)))].filter((clock) => clock !== null);
    const [low, high] = [Math.min(...clocks), Math.max(...clocks)];
    parts.push(`SM clock ${clocks.length === 0 ? NOT_RECORDED : low === high ? `${significant(low, 4)} MHz` : `${significant(low, 4)} to ${significant(high, 4)} MHz`}`);
  }
  parts.push(`protocol ${circumstances(of, about, "protocol")}`, `trust ${circumstances(of, about, "trust")}`, `GPU ${circumstances(of, about, "gpu")}`);
  parts.push(`torch ${circumstances(of, about, "torch")}`, `triton ${circumstances(of, about, "triton")}`, `kernelwright ${of.index.program_version || NOT_RECORDED}`);
  return `${parts.join("; ")}.`;
}
