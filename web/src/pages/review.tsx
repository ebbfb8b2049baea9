// Human review: a queue of drawn answers, one at a time, labelled by keys. Status and findings stay hidden
// unless they are asked for. Every label is on disk before the page goes on.
import { useEffect, useRef, useState } from "preact/hooks";
import { Code, CodeBar } from "../code";
import type { Detail, Explained, Verdict } from "../format";
import { useKeys } from "../keys";
import { count, percent } from "../numbers";
import { param, setParams, source } from "../state";
import { Prose, Text } from "../text";
import { Empty, Problem, useDetail } from "../ui";
import { VerdictView } from "../verdict_view";
import "./review.css";

interface Given {
  label: string;
  note: string;
}

interface Agreement {
  reviewers: [string, string];
  pairs: number;
  raw: { value: number | null };
  kappa: number | null;
  kappa_words: string;
}

interface Queue {
  keys: string[];
  labels: Record<string, Given>;
  words: string[];
  reviewers: string[];
  agreement: Agreement[];
}

interface Failure {
  message: string;
  remedy: string;
}

const REVIEWER = "kernelwright-reviewer";

// The browser may refuse to store anything.
function remembered(): string {
  try {
    return localStorage.getItem(REVIEWER) ?? "";
  } catch {
    return "";
  }
}

function remember(name: string): void {
  try {
    localStorage.setItem(REVIEWER, name);
  } catch {
    // The name is in the fragment too.
  }
}

const failureOf = (error: unknown): Failure => ({
  message: error instanceof Error ? error.message : String(error),
  remedy: error instanceof Error && "remedy" in error ? String(error.remedy) : "",
});

const wordOf = (label: string) => label.replace(/_/g, " ");

/** What a reviewer judges: the code of the best turn, or the completion of a row. */
interface Answer {
  title: string;
  code: string;
  prompt: string;
  reference: string;
  verdict: Verdict | null;
  explained: Explained | null;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function promptOf(messages: unknown): string {
  if (!Array.isArray(messages)) return textOf(messages);
  return messages.map((message) => `${textOf(message?.role)}\n${textOf(message?.content)}`).join("\n\n");
}

function answerOf(detail: Detail): Answer {
  if (detail.kind === "trace") {
    const { trace } = detail;
    const turns = trace.turns ?? [];
    const at = turns.findIndex((turn) => turn.turn === trace.final_turn);
    const number = at < 0 ? turns.length - 1 : at;
    const best = turns[number];
    return {
      title: trace.name || trace.task_id,
      code: best?.triton_code || best?.full_completion || "",
      prompt: promptOf(trace.prompt),
      reference: textOf(trace.pytorch_code),
      verdict: best?.result ?? null,
      explained: detail.explained?.[number] ?? null,
    };
  }
  if (detail.kind === "verdict")
    return {
      title: textOf(detail.verdict.name) || textOf(detail.verdict.task_id),
      code: textOf(detail.kernel_code),
      prompt: "",
      reference: textOf(detail.reference_code),
      verdict: detail.verdict,
      explained: detail.explained,
    };
  const row = detail.row ?? {};
  return {
    title: detail.key,
    code: textOf(row.completion) || promptOf(row.messages),
    prompt: promptOf(row.prompt),
    reference: "",
    verdict: null,
    explained: null,
  };
}

function Start() {
  const [name, setName] = useState(remembered());
  const [number, setNumber] = useState(param("count") ?? "100");
  const begin = (event: Event) => {
    event.preventDefault();
    if (!name.trim()) return;
    remember(name.trim());
    setParams({ reviewer: name.trim(), count: number });
  };
  return (
    <form class="review-start" onSubmit={begin}>
      <h1>Review</h1>
      <p>
        A queue of answers is drawn from all kinds of results, at least one of each. You see neither the status of an answer
        nor what the checks found. Each label is stored at once, under your name.
      </p>
      <label>
        Your name
        <input value={name} maxLength={80} required onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <label>
        Answers
        <input type="number" min={1} max={100000} value={number} required onInput={(event) => setNumber(event.currentTarget.value)} />
      </label>
      <button type="submit">Begin</button>
    </form>
  );
}

function Kappa({ agreement }: { agreement: Agreement[] }) {
  if (agreement.length === 0) return null;
  return (
    <section class="section" aria-label="Agreement">
      <h2>Agreement</h2>
      <div class="scroll-x">
        <table class="review-kappa">
          <thead>
            <tr>
              <th scope="col">Reviewers</th>
              <th scope="col" class="number">Answers of both</th>
              <th scope="col" class="number">Alike</th>
              <th scope="col" class="number">Cohen’s kappa</th>
            </tr>
          </thead>
          <tbody>
            {agreement.map((pair) => (
              <tr key={pair.reviewers.join("\n")}>
                <th scope="row">
                  <Text value={pair.reviewers[0]} limit={40} /> and <Text value={pair.reviewers[1]} limit={40} />
                </th>
                <td class="number">{count(pair.pairs)}</td>
                <td class="number">{percent(pair.raw.value)}</td>
                <td class="number" title={pair.kappa_words}>
                  {pair.kappa === null ? "undefined" : pair.kappa.toFixed(2)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Folded({ title, text, code = false }: { title: string; text: string; code?: boolean }) {
  const [open, setOpen] = useState(false);
  if (!text) return null;
  return (
    <details class="fold" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open ? <div class="fold-body">{code ? <Code code={text} label={title} /> : <Prose value={text} />}</div> : null}
    </details>
  );
}

function Shown({ keyOf, findings }: { keyOf: string; findings: boolean }) {
  const detail = useDetail(keyOf);
  if (detail.state === "waiting") return <p class="mute" role="status">Reading the answer …</p>;
  if (detail.state === "failed") return <Problem message={detail.message} remedy={detail.remedy} />;
  const answer = answerOf(detail.value);
  return (
    <article aria-label="Answer">
      <h2 class="review-title">
        <Text value={answer.title} limit={120} />
      </h2>
      <Folded title="Prompt" text={answer.prompt} />
      <Folded title="Reference" text={answer.reference} code />
      {answer.code ? (
        <div class="code-box">
          <CodeBar title="answer" code={answer.code} />
          <Code code={answer.code} label="Answer" />
        </div>
      ) : (
        <Empty title="This answer has no code" />
      )}
      {findings && answer.verdict ? (
        <VerdictView
          verdict={answer.verdict}
          explained={answer.explained}
          codes={{ kernel: answer.code, reference: answer.reference || null, kernelLine: null }}
        />
      ) : null}
    </article>
  );
}

/** Requests of the queue and of labels. */
function useQueue(reviewer: string, wanted: string, seed: string) {
  const [queue, setQueue] = useState<Queue | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const of = source.value;
  const read = async () => {
    const query = new URLSearchParams({ reviewer, count: wanted, seed });
    try {
      setQueue((await (await of!.request(`/api/review/queue?${query}`)).json()) as Queue);
      setFailure(null);
    } catch (error) {
      setFailure(failureOf(error));
    }
  };
  useEffect(() => {
    setQueue(null);
    void read();
  }, [of, reviewer, wanted, seed]);
  /** Resolves to true when the label is on disk. */
  const store = async (key: string, label: string | null, note: string): Promise<boolean> => {
    try {
      await of!.request("/api/review", { method: "POST", body: { key, reviewer, label, note } });
    } catch (error) {
      setFailure(failureOf(error));
      return false;
    }
    setFailure(null);
    setQueue((old) => {
      if (!old) return old;
      const labels = { ...old.labels };
      if (label === null) delete labels[key];
      else labels[key] = { label, note };
      return { ...old, labels };
    });
    return true;
  };
  return { queue, failure, read, store };
}

function Desk({ reviewer, wanted, seed }: { reviewer: string; wanted: string; seed: string }) {
  const { queue, failure, read, store } = useQueue(reviewer, wanted, seed);
  const [notes, setNotes] = useState<Record<string, string>>({});
  const [given, setGiven] = useState<string[]>([]);
  const [storing, setStoring] = useState(false);
  const noteField = useRef<HTMLTextAreaElement>(null);
  const findings = param("findings") === "1";
  const keys = queue?.keys ?? [];
  const labels = queue?.labels ?? {};
  const open = keys.findIndex((key) => !Object.hasOwn(labels, key));
  const wantedAt = param("at") === null ? -1 : keys.indexOf(param("at")!);
  const at = wantedAt >= 0 ? wantedAt : open;
  const key = at >= 0 ? keys[at]! : null;
  const done = keys.filter((one) => Object.hasOwn(labels, one)).length;
  const note = key === null ? "" : (notes[key] ?? labels[key]?.note ?? "");
  const show = (to: string | null) => setParams({ at: to }, { replace: true });
  const move = (by: number) => {
    const next = keys[Math.max(0, Math.min(keys.length - 1, (at < 0 ? keys.length : at) + by))];
    if (next !== undefined) show(next);
  };

  const label = async (word: string) => {
    if (key === null || storing) return;
    setStoring(true);
    const stored = await store(key, word, note);
    setStoring(false);
    if (!stored) return;
    setGiven((before) => [...before.filter((one) => one !== key), key]);
    const after = keys.findIndex((one, i) => i > at && one !== key && !Object.hasOwn(labels, one));
    show(after >= 0 ? keys[after]! : null);
    window.scrollTo({ top: 0 });
  };
  const undo = async () => {
    const last = given.at(-1);
    if (last === undefined || storing) return;
    setStoring(true);
    const stored = await store(last, null, "");
    setStoring(false);
    if (!stored) return;
    setGiven((before) => before.slice(0, -1));
    show(last);
  };
  const keepNote = () => {
    const before = key === null ? undefined : labels[key];
    if (key !== null && before && before.note !== note) void store(key, before.label, note);
  };

  useKeys([
    ...(queue?.words ?? []).slice(0, 9).map((word, i) => ({ key: String(i + 1), label: `Label: ${wordOf(word)}`, run: () => void label(word) })),
    { key: "n", label: "Write a note", run: () => noteField.current?.focus() },
    { key: "u", label: "Take back the last label", run: () => void undo() },
    { key: "j", label: "Next answer", run: () => move(1) },
    { key: "k", label: "Answer before", run: () => move(-1) },
    { key: "Escape", label: "Leave the note", inFields: true, run: () => noteField.current?.blur() },
  ]);

  if (!queue) return failure ? <Problem {...failure} /> : <p class="mute" role="status">Drawing the queue …</p>;
  if (keys.length === 0) return <Empty title="There is no answer to review">The queue fills when the run has answers.</Empty>;
  return (
    <>
      <header class="review-head">
        <h1>Review</h1>
        <p class="review-progress" aria-live="polite">
          <progress max={keys.length} value={done} aria-label="Labelled answers" /> {count(done)} of {count(keys.length)} labelled
          {key !== null ? `, answer ${count(at + 1)}` : ""}
        </p>
        <p class="mute">
          <Text value={reviewer} limit={40} />{" "}
          <button type="button" class="quiet" onClick={() => setParams({ reviewer: null, at: null })}>
            Another reviewer
          </button>
        </p>
        <label class="review-findings">
          <input type="checkbox" checked={findings} onChange={(event) => setParams({ findings: event.currentTarget.checked ? "1" : null }, { replace: true })} />
          Show the verdict
        </label>
      </header>
      {failure ? <Problem {...failure} /> : null}
      {key === null ? (
        <Empty title="All answers of this queue are labelled">
          <button type="button" onClick={() => show(keys[0]!)}>Look at them again</button>{" "}
          <button type="button" onClick={() => void read()}>Compare with other reviewers</button>
        </Empty>
      ) : (
        <>
          <div class="review-labels" role="group" aria-label="Labels">
            {queue.words.map((word, i) => (
              <button key={word} type="button" aria-pressed={labels[key]?.label === word} disabled={storing} onClick={() => void label(word)}>
                <kbd>{i + 1}</kbd> {wordOf(word)}
                {labels[key]?.label === word ? <span aria-hidden="true"> {"\u2713"}</span> : null}
              </button>
            ))}
            <button type="button" class="quiet" disabled={given.length === 0 || storing} onClick={() => void undo()}>
              <kbd>u</kbd> undo
            </button>
          </div>
          <label class="review-note">
            <span>
              Note <kbd>n</kbd>
            </span>
            <textarea
              ref={noteField}
              rows={2}
              maxLength={3000}
              value={note}
              onInput={(event) => setNotes({ ...notes, [key]: event.currentTarget.value })}
              onBlur={keepNote}
            />
          </label>
          <Shown keyOf={key} findings={findings} />
        </>
      )}
      <Kappa agreement={queue.agreement} />
    </>
  );
}

export function Review() {
  const reviewer = param("reviewer");
  if (source.value && !source.value.live)
    return <Empty title="A file cannot store labels">Open the same inputs with kernelwright view --review.</Empty>;
  if (!reviewer) return <Start />;
  return <Desk key={reviewer} reviewer={reviewer} wanted={param("count") ?? "100"} seed={param("seed") ?? "42"} />;
}
