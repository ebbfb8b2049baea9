// One conversation: prompt, and for each turn reasoning, code, difference to the turn before, verdict, feedback.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Code, CodeBar, Difference, type Links, changesOf } from "../code";
import { difference } from "../difference";
import type { Explained, Message, Round, TraceDetail, Turn, VerdictDetail } from "../format";
import { useKeys } from "../keys";
import { count, duration, interval, times } from "../numbers";
import { ordered } from "../order";
import { go, here, href, param, place, report, setParams } from "../state";
import { Prose, Text, plain } from "../text";
import { Empty, Problem, Status, Word, useDetail } from "../ui";
import { Speedup, VerdictView, placeOf } from "../verdict_view";
import { linkOf, taskName } from "./table";

const TURNS_SHOWN = 40;

/** A turn with its conversation: a task whose turns were all wrong has a second one. */
interface Step {
  id: string;
  round: number | null;
  turn: Turn;
  explained: Explained | null;
  before: Turn | null;
}

function stepsOf(detail: TraceDetail): Step[] {
  const { trace } = detail;
  const main: Round = { round: trace.round ?? 0, stop_reason: trace.stop_reason, error: null, turns: trace.turns ?? [], explained: detail.explained ?? [] };
  const rounds = [main, ...(trace.other_rounds ?? [])].sort((a, b) => a.round - b.round);
  const several = rounds.length > 1;
  return rounds.flatMap((round) =>
    (round.turns ?? []).map((turn, i) => ({
      id: plain(several ? `${round.round}.${turn.turn}` : String(turn.turn)).slice(0, 40),
      round: several ? round.round : null,
      turn,
      explained: round.explained?.[i] ?? null,
      before: i > 0 ? (round.turns[i - 1] ?? null) : null,
    })),
  );
}

/** The step that a permalink names: `turn=2`, or `turn=1.2` for a turn of another conversation. */
function stepAt(steps: Step[], wanted: string | null, mainRound: number | null | undefined): number {
  if (wanted === null) return -1;
  const exact = steps.findIndex((step) => step.id === wanted);
  if (exact >= 0) return exact;
  const inMain = steps.findIndex((step) => step.round === (mainRound ?? 0) && String(step.turn.turn) === wanted);
  return inMain >= 0 ? inMain : steps.findIndex((step) => String(step.turn.turn) === wanted);
}

function numberParam(name: string): number | null {
  const value = Number(param(name));
  return Number.isInteger(value) && value > 0 ? value : null;
}

/** The line of a text that the page's permalink names. */
function targetOf(step: string | null, field: string): number | null {
  return (param("turn") ?? null) === step && param("field") === field ? numberParam("line") : null;
}

const linksOf = (step: string | null, field: string): Links => ({
  to: (line) => here({ turn: step, field, line }),
  target: targetOf(step, field),
});

/** A long text under a heading that folds; open where the permalink names one of its lines. */
function FoldedText(props: { title: string; text: string | null | undefined; step: string | null; field: string; open?: boolean; size?: boolean }) {
  const { text, step, field } = props;
  const target = targetOf(step, field);
  const [open, setOpen] = useState(props.open ?? false);
  useEffect(() => {
    if (target) setOpen(true);
  }, [target]);
  if (!text) return null;
  return (
    <details class="fold" open={open || target !== null} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {props.title} <span class="mute">{count(text.length)} characters</span>
      </summary>
      <div class="fold-body">{open || target !== null ? <Marked text={text} line={target} /> : null}</div>
    </details>
  );
}

/** A text with one line marked. */
function Marked({ text, line }: { text: string; line: number | null }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (line) box.current?.querySelector("mark")?.scrollIntoView({ block: "center" });
  }, [line, text]);
  if (!line) return <Prose value={text} />;
  const lines = text.split("\n");
  if (line > lines.length) return <Prose value={text} />;
  const first = Math.max(0, line - 400);
  return (
    <div ref={box}>
      {first > 0 ? <p class="mute note">{count(first)} lines before</p> : null}
      {line > 1 ? <Prose value={lines.slice(first, line - 1).join("\n")} step={200_000} /> : null}
      <mark class="line-mark">
        <Prose value={lines[line - 1]} />
      </mark>
      <Prose value={lines.slice(line).join("\n")} />
    </div>
  );
}

function Prompt({ messages }: { messages: Message[] }) {
  const target = targetOf(null, "prompt");
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (target) setOpen(true);
  }, [target]);
  if (!Array.isArray(messages) || messages.length === 0) return <p class="mute note">The report does not contain the prompt.</p>;
  const size = messages.reduce((sum, message) => sum + String(message?.content ?? "").length, 0);
  return (
    <details class="fold" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Prompt <span class="mute">{messages.length} {messages.length === 1 ? "message" : "messages"}, {count(size)} characters</span>
      </summary>
      {open
        ? messages.slice(0, 100).map((message, i) => (
            <div class="message" key={i}>
              <p class="message-role">
                <Text value={message?.role} />
              </p>
              <Marked text={typeof message?.content === "string" ? message.content : JSON.stringify(message?.content ?? null)} line={target} />
            </div>
          ))
        : null}
    </details>
  );
}

function Reference({ code }: { code: string | null | undefined }) {
  const links = linksOf(null, "reference");
  const [open, setOpen] = useState(false);
  if (!code) return null;
  const shown = open || links.target !== null;
  return (
    <details class="fold" open={shown} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Reference <span class="mute">{count(code.split("\n").length)} lines</span>
      </summary>
      {shown ? (
        <div class="code-box">
          <CodeBar title="reference.py" code={code} />
          <Code code={code} links={links} label="Reference" />
        </div>
      ) : null}
    </details>
  );
}

function CodeOfTurn({ step }: { step: Step }) {
  const { turn, before, explained } = step;
  const code = turn.triton_code ?? "";
  const old = before?.triton_code ?? null;
  const asDiff = old !== null && param("view") !== "code";
  const links = linksOf(step.id, "code");
  const place = placeOf(explained, turn.result);
  const flagged = place && place.file !== "reference.py" ? place.line : null;
  const changes = useMemo(() => (old === null ? null : difference(old, code)), [old, code]);
  const counts = changes ? changesOf(changes) : null;
  const label = `Code of turn ${step.id}`;
  return (
    <div class="code-box">
      <CodeBar
        title={
          <>
            kernel.py
            {counts ? (
              <span class="changes">
                <span class="good">+{count(counts.added)}</span> <span class="bad">{"\u2212"}{count(counts.removed)}</span>
              </span>
            ) : null}
          </>
        }
        code={code}
      >
        {old !== null ? (
          <span class="switch" role="group" aria-label="View of the code">
            <button type="button" aria-pressed={asDiff} onClick={() => setParams({ view: null }, { replace: true })}>
              Changes
            </button>
            <button type="button" aria-pressed={!asDiff} onClick={() => setParams({ view: "code" }, { replace: true })}>
              Whole code
            </button>
          </span>
        ) : null}
      </CodeBar>
      {asDiff ? (
        <Difference before={old} after={code} links={links} flagged={flagged} label={`${label}, changes to the turn before`} />
      ) : (
        <Code code={code} links={links} flagged={flagged} label={label} />
      )}
    </div>
  );
}

function TurnView({ step, keyOf, reference, current }: { step: Step; keyOf: string; reference: string | null; current: boolean }) {
  const { turn, explained } = step;
  const verdict = turn.result;
  const tokens = turn.usage;
  const facts = [
    typeof tokens?.completion_tokens === "number" ? `${count(tokens.completion_tokens)} tokens` : null,
    typeof tokens?.reasoning_tokens === "number" && tokens.reasoning_tokens > 0 ? `${count(tokens.reasoning_tokens)} of them reasoning` : null,
    typeof turn.generation_ms === "number" ? duration(turn.generation_ms) : null,
    turn.finish_reason && turn.finish_reason !== "stop" ? `ended by ${turn.finish_reason}` : null,
  ].filter((fact): fact is string => fact !== null);
  return (
    <article class={current ? "turn current" : "turn"} id={`turn-${step.id}`} aria-label={`Turn ${step.id}`}>
      <header class="turn-head">
        <h2>
          <a href={here({ turn: step.id, field: null, line: null })}>
            <Text value={step.round !== null ? `Conversation ${step.round}, turn ${turn.turn}` : `Turn ${turn.turn}`} limit={60} />
          </a>
        </h2>
        {verdict ? <Status status={verdict.status} counts={verdict.counts} /> : <span class="mute">no verdict</span>}
        {typeof verdict?.speedup === "number" ? <span class="turn-speedup"><Speedup verdict={verdict} /></span> : null}
        <span class="mute turn-facts"><Text value={facts.join(" \u00b7 ")} /></span>
        {verdict ? (
          <a class="turn-evidence" href={href("evidence", [keyOf], { turn: step.id })}>
            Evidence
          </a>
        ) : null}
      </header>
      <FoldedText title="Reasoning" text={turn.reasoning} step={step.id} field="reasoning" />
      {turn.triton_code ? (
        <>
          <FoldedText title="Whole answer" text={turn.full_completion} step={step.id} field="completion" />
          <CodeOfTurn step={step} />
        </>
      ) : (
        <>
          <p class="mute note">No code was found in this answer.</p>
          <FoldedText title="Answer" text={turn.full_completion} step={step.id} field="completion" open />
        </>
      )}
      {verdict ? (
        <VerdictView
          verdict={verdict}
          explained={explained}
          codes={{ kernel: turn.triton_code, reference, kernelLine: (line) => here({ turn: step.id, field: "code", line }) }}
        />
      ) : null}
      <FoldedText title="Feedback to the model" text={turn.feedback_given} step={step.id} field="feedback" />
    </article>
  );
}

function TurnList({ steps, current }: { steps: Step[]; current: number }) {
  return (
    <nav class="turn-list" aria-label="Turns">
      {steps.slice(0, 500).map((step, i) => (
        <a key={i} href={here({ turn: step.id, field: null, line: null })} aria-current={i === current ? "true" : undefined}>
          <span class="turn-number">{step.id}</span>
          <Status status={step.turn.result?.status ?? null} counts={step.turn.result?.counts ?? null} />
          <span class="turn-list-speedup number">{typeof step.turn.result?.speedup === "number" ? times(step.turn.result.speedup) : ""}</span>
        </a>
      ))}
    </nav>
  );
}

function TraceView({ detail }: { detail: TraceDetail }) {
  const steps = useMemo(() => stepsOf(detail), [detail]);
  const { trace } = detail;
  const current = stepAt(steps, param("turn"), trace.round);
  const [more, setMore] = useState(TURNS_SHOWN);
  const shown = Math.max(more, current + 5);
  useLayoutEffect(() => {
    // A permalink of a line scrolls to the line itself.
    if (current >= 0 && param("line") === null) document.getElementById(`turn-${steps[current]!.id}`)?.scrollIntoView({ block: "start" });
  }, [current, detail]);
  const step = (by: number) => {
    const next = steps[Math.max(0, Math.min(steps.length - 1, current < 0 ? (by > 0 ? 0 : 0) : current + by))];
    if (next) setParams({ turn: next.id, field: null, line: null }, { replace: true });
  };
  useKeys([
    { key: "j", label: "Next turn", run: () => step(1) },
    { key: "k", label: "Turn before", run: () => step(-1) },
    { key: "d", label: "Changes, or the whole code", run: () => setParams({ view: param("view") === "code" ? null : "code" }, { replace: true }) },
  ]);
  return (
    <div class={steps.length > 1 ? "transcript several" : "transcript"}>
      {steps.length > 1 ? <TurnList steps={steps} current={current} /> : null}
      <div class="turns">
        <div class="task-texts">
          <Prompt messages={trace.prompt} />
          <Reference code={trace.pytorch_code} />
        </div>
        {trace.error ? <Problem message={String(trace.error)} remedy="" /> : null}
        {steps.length === 0 ? <Empty title="There is no answer" /> : null}
        {steps.slice(0, shown).map((one, i) => (
          <TurnView key={one.id} step={one} keyOf={detail.key} reference={trace.pytorch_code} current={i === current} />
        ))}
        {steps.length > shown ? (
          <button type="button" onClick={() => setMore(shown + TURNS_SHOWN)}>
            Show {count(Math.min(TURNS_SHOWN, steps.length - shown))} of {count(steps.length - shown)} more turns
          </button>
        ) : null}
      </div>
    </div>
  );
}

function VerdictDetailView({ detail }: { detail: VerdictDetail }) {
  const { verdict, explained } = detail;
  const place = placeOf(explained, verdict);
  const links = linksOf(null, "code");
  return (
    <div class="turns">
      <div class="task-texts">
        <Reference code={detail.reference_code} />
      </div>
      <article class="turn" aria-label="Verdict">
        <header class="turn-head">
          <h2>Verdict</h2>
          <Status status={verdict.status} counts={verdict.counts} />
          <a class="turn-evidence" href={href("evidence", [detail.key])}>
            Evidence
          </a>
        </header>
        {detail.kernel_code ? (
          <div class="code-box">
            <CodeBar title="kernel.py" code={detail.kernel_code} />
            <Code code={detail.kernel_code} links={links} flagged={place && place.file !== "reference.py" ? place.line : null} label="Code of the kernel" />
          </div>
        ) : (
          <p class="mute note">The report does not contain the code of this verdict: <code>--input</code> adds it.</p>
        )}
        <VerdictView
          verdict={verdict}
          explained={explained}
          codes={{ kernel: detail.kernel_code ?? null, reference: detail.reference_code ?? null, kernelLine: (line) => here({ field: "code", line }) }}
        />
      </article>
    </div>
  );
}

/** The rows before and after this one in the order of the table. */
function Neighbours({ row }: { row: number }) {
  const of = report.value!;
  const rows = ordered.value;
  const at = rows.indexOf(row);
  const to = (index: number) => (index >= 0 && index < rows.length && at >= 0 ? linkOf(of, rows[index]!) : null);
  const before = to(at - 1);
  const after = to(at + 1);
  useKeys([
    { key: "n", label: "Next row of the table", run: () => after && go(after) },
    { key: "p", label: "Previous row of the table", run: () => before && go(before) },
    { key: "Escape", label: "Back to the table", run: () => go(href("table", [], { at: of.keyOf(row) })) },
    { key: "/", label: "Search in the table", run: () => go(href("table", [], { at: of.keyOf(row) })) },
  ]);
  return (
    <nav class="neighbours" aria-label="Rows">
      <a href={href("table", [], { at: of.keyOf(row) })}>Table</a>
      {before ? <a href={before}>Previous</a> : <span class="mute">Previous</span>}
      {after ? <a href={after}>Next</a> : <span class="mute">Next</span>}
      {at >= 0 ? (
        <span class="mute number">
          {count(at + 1)} of {count(rows.length)}
        </span>
      ) : null}
    </nav>
  );
}

/** What the index knows of a row, for the head of the pages of one row. */
export function RowHead({ row }: { row: number }) {
  const of = report.value!;
  const { rows } = of;
  const between = interval(rows.number("speedup_low", row), rows.number("speedup_high", row));
  const facts: [string, string | null][] = [
    ["Model", rows.text("model", row)],
    ["Level", rows.text("level", row)],
    ["Sample", rows.text("sample_number", row)],
    ["Source", of.sources.length > 1 ? (of.sourceOf(row)?.name ?? null) : null],
    ["GPU", rows.text("gpu", row)],
    ["Licence", rows.text("licence", row)],
    ["Stopped", rows.text("stop_reason", row)],
  ];
  return (
    <header class="row-head">
      <Neighbours row={row} />
      <h1>
        <Text value={taskName(of, row)} limit={300} />
      </h1>
      <p class="row-facts">
        <Status status={rows.text("status", row)} counts={rows.flag("counts", row)} />
        {rows.number("speedup", row) !== null ? (
          <span>
            <b>{times(rows.number("speedup", row))}</b> {between ? <span class="between">{between}</span> : null}
          </span>
        ) : null}
        {rows.text("trust", row) ? <span><span class="mute">Trust</span> <Word kind="trust" word={rows.text("trust", row)} /></span> : null}
        {facts.map(([name, value]) =>
          value === null ? null : (
            <span key={name}>
              <span class="mute">{name}</span> <Text value={value} limit={120} />
            </span>
          ),
        )}
      </p>
    </header>
  );
}

export function Transcript() {
  const key = useKeyPart();
  const of = report.value!;
  const row = of.rowOf(key);
  if (row === null) return <Empty title="The report has no row with this key">The link may come from another report. <a href={href("table")}>Table</a></Empty>;
  return (
    <>
      <RowHead key={key} row={row} />
      <Body key={`body ${key}`} of={key} />
    </>
  );
}

function Body({ of }: { of: string }) {
  const loaded = useDetail(of);
  if (loaded.state === "waiting") return <p class="mute" role="status">Reading …</p>;
  if (loaded.state === "failed") return <Problem message={loaded.message} remedy={loaded.remedy} />;
  const detail = loaded.value;
  if (detail.kind === "trace") return <TraceView detail={detail} />;
  if (detail.kind === "verdict") return <VerdictDetailView detail={detail} />;
  return <p><a href={href("dataset", [of])}>This row belongs to a data set</a></p>;
}

/** The key in the path of the page: #/transcript/KEY. */
export function useKeyPart(): string {
  return place.value.parts[0] ?? "";
}
