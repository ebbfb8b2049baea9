// A verdict in words, with its source line: as `verify` prints it.
import { Excerpt } from "./code";
import type { Explained, Verdict } from "./format";
import { NONE, duration, interval, times } from "./numbers";
import { passesOf } from "./passes";
import { sanitizedText } from "./sanitized";
import { Prose, Text } from "./text";
import { Facts, Status, Word } from "./ui";

type Bounds = { low: number | null; high: number | null } | null;

/** The lower bound of the reference over the upper bound of the kernel, and the opposite. */
function boundsOf(verdict: Verdict): Bounds {
  const timing = verdict.timing as Record<string, unknown> | null | undefined;
  const pair = (name: string): [number, number] | null => {
    const value = timing?.[name];
    return Array.isArray(value) && typeof value[0] === "number" && typeof value[1] === "number" ? [value[0], value[1]] : null;
  };
  const reference = pair("reference_interval_ms");
  const kernel = pair("kernel_interval_ms");
  return reference && kernel && kernel[0] > 0 ? { low: reference[0] / kernel[1], high: reference[1] / kernel[0] } : null;
}

export function Speedup({ verdict }: { verdict: Verdict }) {
  const bounds = boundsOf(verdict);
  return (
    <>
      <b>{times(verdict.speedup)}</b>
      {bounds ? <span class="between">{interval(bounds.low, bounds.high)}</span> : null}
    </>
  );
}

export interface Codes {
  kernel: string | null;
  reference: string | null;
  /** The permalink of a line of the kernel. */
  kernelLine: ((line: number) => string) | null;
}

export function placeOf(explained: Explained | null, verdict: Verdict | null): { file: string; line: number; column: number | null } | null {
  const place = explained?.place;
  const line = place?.line ?? verdict?.error_detail?.line ?? null;
  if (line === null) return null;
  const file = String(place?.file ?? verdict?.error_detail?.file ?? "kernel.py");
  return { file: file.slice(file.lastIndexOf("/") + 1), line, column: place?.line ? place.column : null };
}

function Folded({ title, text }: { title: string; text: unknown }) {
  if (typeof text !== "string" || text === "") return null;
  return (
    <details class="fold">
      <summary>{title}</summary>
      <div class="mono fold-body">
        <Prose value={text} />
      </div>
    </details>
  );
}

export function VerdictView({ verdict, explained, codes }: { verdict: Verdict; explained: Explained | null; codes: Codes }) {
  const place = placeOf(explained, verdict);
  const isReference = place?.file === "reference.py";
  const code = place ? (isReference ? codes.reference : codes.kernel) : null;
  const error = explained?.error ?? verdict.error;
  const sanitized = sanitizedText(verdict);
  return (
    <div class="verdict">
      {explained?.sentence ? (
        <p class="verdict-sentence">
          <Text value={explained.sentence} />
        </p>
      ) : null}
      {error ? (
        <div class="verdict-error">
          <Prose value={error} step={4000} />
        </div>
      ) : null}
      {place && code ? <Excerpt code={code} file={place.file} line={place.line} column={place.column} to={isReference ? null : (codes.kernelLine?.(place.line) ?? null)} /> : null}
      {explained && explained.notes?.length > 0 ? (
        <ul class="notes">
          {explained.notes.slice(0, 50).map((note, i) => (
            <li key={i}>
              <span class="note-label">note</span> <Text value={note} limit={4000} />
            </li>
          ))}
        </ul>
      ) : null}
      {explained?.help ? (
        <p class="verdict-help">
          <span class="note-label">help</span> <Text value={explained.help} limit={4000} />
        </p>
      ) : null}
      <Facts
        facts={[
          ["Status", <Status status={verdict.status} counts={verdict.counts} />],
          ...(verdict.error_class ? [["Error class", <Word kind="error_class" word={verdict.error_class} />] as [string, unknown]] : []),
          ...(verdict.counts_reason ? [["Does not count because", <Word kind="counts_reason" word={verdict.counts_reason} />] as [string, unknown]] : []),
          ...(verdict.fault && verdict.fault !== "kernel" ? [["Fault of", <Word kind="fault" word={verdict.fault} />] as [string, unknown]] : []),
          ["Last stage", <Word kind="stage" word={verdict.stage} />],
          ["Trust", <Word kind="trust" word={verdict.trust} />],
          ...(typeof verdict.speedup === "number"
            ? ([
                ["Speed-up", <Speedup verdict={verdict} />],
                ["Kernel", duration(verdict.kernel_time_ms)],
                ["Reference", duration(verdict.reference_time_ms)],
              ] as [string, unknown][])
            : verdict.correctness === true
              ? ([["Speed-up", <span class="mute">{NONE} <Text value={(verdict.timing as { why_null?: unknown } | null)?.why_null ?? ""} /></span>]] as [string, unknown][])
              : []),
          ...passesOf(verdict).map(({ name, says }): [string, unknown] => [name, <Text value={says} limit={400} />]),
          ...(sanitized === null ? [] : [["Sanitizers", <Text value={sanitized} limit={400} />] as [string, unknown]]),
        ] as [string, preact.ComponentChildren][]}
      />
      <Folded title="Compiler's text" text={verdict.error_detail?.compiler_text} />
      <Folded title="Traceback" text={verdict.error_detail?.traceback} />
      <Folded title="It printed" text={verdict.printed} />
    </div>
  );
}
