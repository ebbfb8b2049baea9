// The two questions of a reader who opens a report: are these results true, and what should I read first?
import type { ComponentChildren, JSX } from "preact";
import { counted } from "../charts/figures";
import { count, times } from "../numbers";
import type { Report } from "../report";
import { add, endedRows, errorsByTurn, type EvidenceCounts, evidenceCounts, nameOf, NO_REASON, pageOf, wordsOf } from "../selection";
import { href } from "../state";
import { Text } from "../text";
import { Word } from "../ui";

type Sign = "good" | "warn" | "mute";
const SIGNS: Record<Sign, string> = { good: "✓", warn: "!", mute: "·" };

function Fact({ sign, children }: { sign: Sign; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <span class={`guide-sign ${sign}`} aria-hidden="true">
        {SIGNS[sign]}
      </span>
      <span>{children}</span>
    </li>
  );
}

/** "3 replay, 1 in-process": words with their meanings. */
function Words({ kind, words, none = "none" }: { kind: string; words: readonly [string, number][]; none?: string }): JSX.Element {
  return (
    <>
      {words.slice(0, 6).map(([word, number], i) => (
        <>
          {i > 0 ? ", " : ""}
          {count(number)} {word === "" ? none : <Word kind={kind} word={word} />}
        </>
      ))}
      {words.length > 6 ? `, ${words.length - 6} more` : ""}
    </>
  );
}

const isRight = (of: Report, row: number): boolean => of.rows.value("standing", row) === "right";

function Judges({ of, rows }: { of: Report; rows: readonly number[] }): JSX.Element | null {
  const judged = rows.filter((row) => of.rows.value("status", row) !== null);
  if (judged.length === 0) return null;
  const foreign = judged.filter((row) => of.rows.value("protocol", row) === null).length;
  if (foreign > 0)
    return (
      <Fact sign="warn">
        {count(foreign)} of {counted(judged.length, "verdict")} come from another evaluator: the report repeats them and cannot check them. <code>kernelwright verify</code> judges
        the same code again.
      </Fact>
    );
  const protocols = wordsOf(of, judged, "protocol").length;
  if (protocols > 1) return <Fact sign="warn">The verdicts follow {protocols} different protocols: compare their figures with care. Contents lists the settings of each source.</Fact>;
  return <Fact sign="good">Kernelwright judged {judged.length === 1 ? "the only verdict" : `all ${count(judged.length)} samples`} by one protocol.</Fact>;
}

function TrustOfRight({ of, rows }: { of: Report; rows: readonly number[] }): JSX.Element | null {
  const right = rows.filter((row) => isRight(of, row));
  if (right.length === 0) return null;
  const words = wordsOf(of, right, "trust");
  if (words.every(([word]) => word === "")) return <Fact sign="warn">No trust is recorded for the {counted(right.length, "right answer")}.</Fact>;
  const timed = right.some((row) => of.rows.number("speedup", row) !== null);
  return (
    <Fact sign={words.every(([word]) => word === "replay") ? "good" : words.some(([word]) => word === "in-process" || word === "") ? "warn" : "mute"}>
      Trust of the {counted(right.length, "right answer")}: <Words kind="trust" words={words} none="not recorded" />.{timed ? "" : " Right or wrong is known, speed is not."}
    </Fact>
  );
}

function NotCounted({ of, rows }: { of: Report; rows: readonly number[] }): JSX.Element | null {
  const idle = rows.filter((row) => of.rows.value("status", row) === "correct" && of.rows.flag("counts", row) === false);
  if (idle.length === 0) return null;
  return (
    <Fact sign="warn">
      <a href={href("table", [], { status: ["does not count"] })}>{counted(idle.length, "correct result")}</a> {idle.length === 1 ? "does" : "do"} not count:{" "}
      <Words kind="counts_reason" words={wordsOf(of, idle, "counts_reason")} none={NO_REASON} />.
    </Fact>
  );
}

/** "Evidence records: 34 of 59 turns; 0 of the 22 best turns". */
export function evidenceText(counts: EvidenceCounts): string {
  return `Evidence records: ${count(counts.kept)} of ${counted(counts.judged, "turn")}; ${count(counts.bestKept)} of the ${counted(counts.bestJudged, "best turn")}`;
}

function Recorded({ of, rows }: { of: Report; rows: readonly number[] }): JSX.Element | null {
  const judged = rows.filter((row) => of.rows.value("status", row) !== null);
  const kept = judged.filter((row) => of.rows.flag("evidence", row) === true).length;
  // Another evaluator records none.
  if (judged.every((row) => of.rows.value("protocol", row) === null)) return null;
  const turns = evidenceCounts(of, rows);
  // Reports of earlier versions do not state it of turns.
  const isByTurn = of.turns.has("evidence") && turns.judged > turns.bestJudged;
  if (isByTurn ? turns.kept === turns.judged : kept === judged.length) return <Fact sign="good">The verdicts of all {isByTurn ? "turns" : "samples"} have their evidence records.</Fact>;
  return (
    <Fact sign="mute">
      {isByTurn ? evidenceText(turns) : `The verdicts of ${count(kept)} of ${counted(judged.length, "sample")} have an evidence record`}; <code>--evidence all</code> keeps one for every candidate that runs.
    </Fact>
  );
}

function LeftOut({ of }: { of: Report }): JSX.Element | null {
  const rows = of.index.contents.left_out.filter((one) => one.what === "rows");
  const sum = rows.reduce((total, one) => total + one.count, 0);
  if (sum === 0) return null;
  return (
    <Fact sign="warn">
      All figures are without <a href={href("contents")}>{counted(sum, "row")}</a> under licences that are not permissive; <code>--include-restricted</code> includes them.
    </Fact>
  );
}

function Unfinished({ of, unfinished }: { of: Report; unfinished: number }): JSX.Element | null {
  const open = of.sources.filter((source) => source.state !== "finished");
  if (open.length === 0) return null;
  return (
    <Fact sign="warn">
      {open.slice(0, 3).map((source, i) => (
        <>
          {i > 0 ? ", " : ""}
          <Text value={source.name} limit={60} /> is <Text value={source.state} limit={40} />
        </>
      ))}
      {open.length > 3 ? ` and ${open.length - 3} more` : ""}: {unfinished > 0 ? `${counted(unfinished, "sample")} ${unfinished === 1 ? "is" : "are"} unfinished and left out of every share.` : "the figures show what is stored."} <a href={href("contents")}>Messages</a>
    </Fact>
  );
}

function RowLink({ of, row, children }: { of: Report; row: number; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <span>
        {children}: <a href={href(pageOf(of, row), [of.keyOf(row)])}><Text value={nameOf(of, row)} limit={80} /></a>
        {of.rows.number("speedup", row) === null ? null : `, ${times(of.rows.number("speedup", row))}`}
        {of.rows.text("trust", row) === null ? null : <>, <Word kind="trust" word={of.rows.text("trust", row)} /></>}
      </span>
    </li>
  );
}

/** The most frequent reason of wrong turns. */
function commonError(of: Report, rows: readonly number[]): [string, number] | null {
  const totals = new Map<string, number>();
  for (const turn of errorsByTurn(of, rows)) for (const [word, number] of turn) add(totals, word, number);
  return [...totals].reduce<[string, number] | null>((most, one) => (most === null || one[1] > most[1] ? one : most), null);
}

function ReadFirst({ of, rows, best }: { of: Report; rows: readonly number[]; best: readonly number[] }): JSX.Element {
  const speed = (row: number): number => of.rows.number("speedup", row) ?? 0;
  const timed = best.filter((row) => speed(row) > 0);
  const fastest = timed.reduce<number | null>((most, row) => (most === null || speed(row) > speed(most) ? row : most), null);
  const slowest = timed.reduce<number | null>((least, row) => (least === null || speed(row) < speed(least) ? row : least), null);
  const idle = rows.find((row) => of.rows.value("status", row) === "correct" && of.rows.flag("counts", row) === false);
  const doubtful = timed.filter((row) => of.rows.value("trust", row) === "in-process").sort((a, b) => speed(b) - speed(a))[0];
  const error = commonError(of, rows);
  const unjudged = rows.filter((row) => of.rows.value("standing", row) === "unknown").length;
  return (
    <ul class="guide-list">
      {fastest !== null && <RowLink of={of} row={fastest}>Fastest right answer</RowLink>}
      {doubtful !== undefined && doubtful !== fastest && <RowLink of={of} row={doubtful}>Fastest speed that was timed in the candidate's process</RowLink>}
      {slowest !== null && slowest !== fastest && speed(slowest) < 1 && <RowLink of={of} row={slowest}>Slowest best answer of a task</RowLink>}
      {fastest === null && best[0] !== undefined && <RowLink of={of} row={best[0]}>First right answer</RowLink>}
      {idle !== undefined && <RowLink of={of} row={idle}>First correct result that does not count</RowLink>}
      {error !== null && (
        <li>
          <span>
            Most frequent error: <a href={href("table", [], { reason: [error[0]] })}><Text value={error[0]} limit={60} /></a>, {counted(error[1], "turn")}
          </span>
        </li>
      )}
      {unjudged > 0 && unjudged < rows.length && (
        <li>
          <span>
            Not judged: <a href={href("table", [], { status: ["skipped", "error", ""] })}>{counted(unjudged, "sample")}</a>
          </span>
        </li>
      )}
      <li>
        <span>
          All samples: <a href={href("table")}>Table</a>. A row opens its code and verdict; from there, Evidence shows trials, launches and isolation.
        </span>
      </li>
    </ul>
  );
}

export function Guide({ of, rows: all, best }: { of: Report; rows: readonly number[]; best: readonly number[] }): JSX.Element {
  const rows = endedRows(of, all);
  return (
    <div class="cards guide">
      <section class="card" aria-labelledby="guide-true">
        <h2 id="guide-true">Are these results true?</h2>
        <ul class="guide-list">
          <Judges of={of} rows={rows} />
          <TrustOfRight of={of} rows={rows} />
          <NotCounted of={of} rows={rows} />
          <Recorded of={of} rows={all} />
          <LeftOut of={of} />
          <Unfinished of={of} unfinished={all.length - rows.length} />
        </ul>
      </section>
      <section class="card" aria-labelledby="guide-read">
        <h2 id="guide-read">Read first</h2>
        <ReadFirst of={of} rows={rows} best={best} />
      </section>
    </div>
  );
}
