// Code on the page: lines with numbers that are links to themselves, the difference to other code, and an excerpt with
// a caret.
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CopyButton } from "./copy";
import { type DiffLine, difference, fold } from "./difference";
import { type Language, type Line, highlight, overlay, plainLines } from "./highlight";
import { count } from "./numbers";
import { visible } from "./text";

const FIRST_LINES = 1500;
const LINES_MORE = 5000;
const LINE_LIMIT = 4000;

/** Draws plain first; tones come when the page is idle, one code after the other. */
const waiting: (() => void)[] = [];
function soon(work: () => void): () => void {
  waiting.push(work);
  if (waiting.length === 1) setTimeout(runNext, 0);
  return () => {
    const at = waiting.indexOf(work);
    if (at > 0) waiting.splice(at, 1);
  };
}
function runNext(): void {
  try {
    waiting[0]?.();
  } finally {
    waiting.shift();
    if (waiting.length > 0) setTimeout(runNext, 0);
  }
}

function useLines(code: string, language: Language): Line[] {
  const plain = useMemo(() => plainLines(code), [code]);
  const [toned, setToned] = useState<{ code: string; lines: Line[] } | null>(null);
  useEffect(() => soon(() => setToned({ code, lines: highlight(code, language) })), [code, language]);
  return toned?.code === code ? toned.lines : plain;
}

function Runs({ line }: { line: Line }) {
  let length = 0;
  const drawn: VNode[] = [];
  for (const run of line) {
    const left = LINE_LIMIT - length;
    if (left <= 0) break;
    const text = run.text.length > left ? run.text.slice(0, left) : run.text;
    length += run.text.length;
    drawn.push(<span class={run.tone || undefined}>{visible(text)}</span>);
  }
  const total = line.reduce((sum, run) => sum + run.text.length, 0);
  if (total > LINE_LIMIT) drawn.push(<span class="cut"> … {count(total - LINE_LIMIT)} more characters</span>);
  return <bdi>{drawn}</bdi>;
}

export interface Links {
  /** The permalink of a line. */
  to: (line: number) => string;
  /** The line that the page's permalink names. */
  target: number | null;
}

function Number_({ line, links, side = "" }: { line: number | null; links?: Links | undefined; side?: string }) {
  if (line === null) return <span class={`line-number ${side}`} />;
  if (!links) return <span class={`line-number ${side}`}>{line}</span>;
  return (
    <a class={`line-number ${side}`} href={links.to(line)} aria-label={`Link to line ${line}`}>
      {line}
    </a>
  );
}

function useTarget(target: number | null | undefined, ready: unknown) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (target) box.current?.querySelector(".line.target")?.scrollIntoView({ block: "center" });
  }, [target, ready]);
  return box;
}

export function CodeBar({ title, code, children }: { title: ComponentChildren; code: string; children?: ComponentChildren }) {
  return (
    <div class="code-bar">
      <span class="code-title">{title}</span>
      {children}
      <CopyButton text={() => code} label="Copy code" />
    </div>
  );
}

/** A code with line numbers. `flagged`: the line that a verdict names. A long one shows its begin, or what is around the target. */
export function Code(props: { code: string; language?: Language; links?: Links; flagged?: number | null; label: string }) {
  const { code, links } = props;
  const lines = useLines(code, props.language ?? "python");
  const target = links?.target ?? 0;
  const around = target > FIRST_LINES && target <= lines.length ? target - FIRST_LINES / 2 : 0;
  const [more, setMore] = useState({ before: 0, after: 0 });
  const first = Math.max(0, around - more.before);
  const last = Math.min(lines.length, around + FIRST_LINES + more.after);
  const box = useTarget(links?.target, code);
  const unfold = (side: "before" | "after", left: number) =>
    left > 0 ? (
      <button type="button" class="quiet" onClick={() => setMore({ ...more, [side]: more[side] + LINES_MORE })}>
        Show {count(Math.min(LINES_MORE, left))} of {count(left)} more lines {side === "before" ? "before" : ""}
      </button>
    ) : null;
  return (
    <div class="code" ref={box} tabIndex={0} role="region" aria-label={props.label}>
      {unfold("before", first)}
      <div class="lines">
        {lines.slice(first, last).map((line, i) => {
          const number = first + i + 1;
          return (
            <div key={number} class={`line${target === number ? " target" : ""}${props.flagged === number ? " flagged" : ""}`}>
              <Number_ line={number} links={links} />
              <span class="line-text">
                <Runs line={line} />
              </span>
            </div>
          );
        })}
      </div>
      {unfold("after", lines.length - last)}
    </div>
  );
}

function DiffText({ line, toned }: { line: DiffLine; toned: Line | undefined }) {
  const runs = toned ?? [{ text: line.text, tone: "" }];
  if (!line.words) return <Runs line={runs} />;
  return (
    <bdi>
      {overlay(runs, line.words).map((run, i) => (
        <span key={i} class={`${run.tone}${run.changed ? " changed" : ""}`.trim() || undefined}>
          {visible(run.text)}
        </span>
      ))}
    </bdi>
  );
}

/** What all lines of a difference share. */
interface DiffLook {
  before: Line[];
  after: Line[];
  links: Links | undefined;
  flagged: number | null | undefined;
}

const SIGN = { same: " ", added: "+", removed: "\u2212" };
const SAID = { same: "", added: "added", removed: "removed" };

function DiffRow({ line, look }: { line: DiffLine; look: DiffLook }) {
  const isTarget = line.after !== null && look.links?.target === line.after;
  const isFlagged = line.after !== null && look.flagged === line.after;
  const toned = line.after !== null ? look.after[line.after - 1] : look.before[(line.before ?? 0) - 1];
  return (
    <div class={`line ${line.kind}${isTarget ? " target" : ""}${isFlagged ? " flagged" : ""}`}>
      <Number_ line={line.before} side="before" />
      <Number_ line={line.after} links={look.links} side="after" />
      <span class="line-sign" aria-label={SAID[line.kind] || undefined} role={SAID[line.kind] ? "img" : undefined}>
        {SIGN[line.kind]}
      </span>
      <span class="line-text">
        <DiffText line={line} toned={toned} />
      </span>
    </div>
  );
}

function Gap({ lines, look }: { lines: DiffLine[]; look: DiffLook }) {
  const [open, setOpen] = useState(false);
  if (open) return <>{lines.map((line, i) => <DiffRow key={i} line={line} look={look} />)}</>;
  return (
    <button type="button" class="gap" onClick={() => setOpen(true)}>
      {count(lines.length)} equal lines
    </button>
  );
}

export function changesOf(lines: DiffLine[]): { added: number; removed: number } {
  return {
    added: lines.filter((line) => line.kind === "added").length,
    removed: lines.filter((line) => line.kind === "removed").length,
  };
}

/** The difference of two codes; the whole newer code where they are too long or too different to compare in time. */
export function Difference(props: { before: string; after: string; links?: Links; flagged?: number | null; label: string }) {
  const { before, after, links } = props;
  const lines = useMemo(() => difference(before, after), [before, after]);
  const look: DiffLook = { before: useLines(before, "python"), after: useLines(after, "python"), links, flagged: props.flagged };
  const box = useTarget(links?.target, lines);
  if (!lines) {
    return (
      <>
        <p class="mute note">The two codes are too long or too different to compare here. This is the newer one.</p>
        <Code code={after} language="plain" label={props.label} {...(links ? { links } : {})} flagged={props.flagged ?? null} />
      </>
    );
  }
  if (lines.every((line) => line.kind === "same")) return <p class="mute note">The code is the same as in the turn before.</p>;
  const keep = (line: DiffLine) => line.after !== null && (line.after === links?.target || line.after === props.flagged);
  let left = FIRST_LINES * 2;
  return (
    <div class="code diff" ref={box} tabIndex={0} role="region" aria-label={props.label}>
      <div class="lines">
        {fold(lines, 3, keep).map((part, i) => {
          if ("gap" in part) return <Gap key={i} lines={part.gap} look={look} />;
          const drawn = part.lines.slice(0, Math.max(0, left));
          left -= part.lines.length;
          return (
            <div key={i}>
              {drawn.map((line, k) => (
                <DiffRow key={k} line={line} look={look} />
              ))}
              {drawn.length < part.lines.length ? <p class="mute note">{count(part.lines.length - drawn.length)} more lines: see the code</p> : null}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** The line that a verdict names, two lines on each side, and a caret below its column. */
export function Excerpt(props: { code: string; file: string; line: number; column: number | null; to: string | null }) {
  const all = useMemo(() => props.code.split("\n"), [props.code]);
  const { line, column } = props;
  if (line < 1 || line > all.length) return null;
  const first = Math.max(1, line - 2);
  const last = Math.min(all.length, line + 2);
  const rows = [];
  for (let number = first; number <= last; number++) rows.push({ number, text: (all[number - 1] ?? "").slice(0, 400) });
  const marked = all[line - 1] ?? "";
  const place = `${props.file}:${line}${column ? `:${column}` : ""}`;
  return (
    <div class="code excerpt" tabIndex={0} role="region" aria-label={`Source at ${place}`}>
      <p class="excerpt-place">{props.to ? <a href={props.to}>{visible(place)}</a> : visible(place)}</p>
      <div class="lines">
        {rows.map(({ number, text }) => (
          <div key={number}>
            <div class={number === line ? "line flagged" : "line"}>
              <span class="line-number">{number}</span>
              <span class="line-text">
                <bdi>{visible(text)}</bdi>
              </span>
            </div>
            {number === line && column && column - 1 <= Math.min(marked.length, 400) ? (
              <div class="line caret" aria-hidden="true">
                <span class="line-number" />
                <span class="line-text">
                  <span class="caret-space">{visible(marked.slice(0, column - 1))}</span>
                  <b>^</b>
                </span>
              </div>
            ) : null}
          </div>
        ))}
      </div>
    </div>
  );
}
