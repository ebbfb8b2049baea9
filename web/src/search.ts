// Full-text search: first in the bytes of a chunk, then in the fields of the details that may contain the text.
import type { Detail, Explained, Round, Trace, Turn, Verdict } from "./format";
import type { Hit } from "./source";

const HITS_OF_DETAIL = 50;
const CONTEXT = 120;

/**
 * The longest part of a text that stands in JSON as it is, whatever the writer escapes; lower case. A text of escaped
 * characters alone has no such part, and every detail is read.
 */
export function plainPart(text: string): string {
  return text
    .split(/[^A-Za-z0-9 _.,:;()=+*\-[\]{}#%!?|~^@$]+/)
    .reduce((best, part) => (part.length > best.length ? part : best), "")
    .toLowerCase();
}

/** A function that yields the lines of a chunk, as bytes, which may contain the text. */
export function searcher(text: string): (chunk: Uint8Array) => Iterable<Uint8Array> {
  const needle = plainPart(text);
  // Bytes as Latin-1: positions in the string are positions in the bytes, and the needle is ASCII.
  const decoder = new TextDecoder("latin1");
  return function* (chunk) {
    if (needle === "") {
      yield* lines(chunk);
      return;
    }
    const content = decoder.decode(chunk).toLowerCase();
    for (let at = content.indexOf(needle); at >= 0; ) {
      const begin = content.lastIndexOf("\n", at) + 1;
      let end = content.indexOf("\n", at);
      if (end < 0) end = content.length;
      yield chunk.subarray(begin, end);
      at = content.indexOf(needle, end);
    }
  };
}

function* lines(chunk: Uint8Array): Iterable<Uint8Array> {
  for (let begin = 0; begin < chunk.length; ) {
    let end = chunk.indexOf(10, begin);
    if (end < 0) end = chunk.length;
    if (end > begin) yield chunk.subarray(begin, end);
    begin = end + 1;
  }
}

type Field = { turn: number | null; field: string; text: unknown };

function* fieldsOfVerdict(verdict: Verdict | null | undefined, explained: Explained | null | undefined, turn: number | null): Iterable<Field> {
  yield { turn, field: "error", text: verdict?.error };
  yield { turn, field: "compiler_text", text: verdict?.error_detail?.compiler_text };
  yield { turn, field: "traceback", text: verdict?.error_detail?.traceback };
  yield { turn, field: "printed", text: verdict?.printed };
  for (const note of explained?.notes ?? []) yield { turn, field: "note", text: note };
}

function* fieldsOfTurns(turns: Turn[] | undefined, explained: (Explained | null)[] | undefined): Iterable<Field> {
  for (const [i, turn] of (turns ?? []).entries()) {
    yield { turn: turn.turn, field: "reasoning", text: turn.reasoning };
    yield { turn: turn.turn, field: "completion", text: turn.full_completion };
    yield { turn: turn.turn, field: "code", text: turn.triton_code };
    yield { turn: turn.turn, field: "feedback", text: turn.feedback_given };
    yield* fieldsOfVerdict(turn.result, explained?.[i], turn.turn);
  }
}

function* fieldsOfTrace(trace: Trace, explained: (Explained | null)[]): Iterable<Field> {
  yield { turn: null, field: "reference", text: trace.pytorch_code };
  for (const message of trace.prompt ?? []) yield { turn: null, field: "prompt", text: message?.content };
  yield* fieldsOfTurns(trace.turns, explained);
  for (const round of (trace.other_rounds ?? []) as Round[]) yield* fieldsOfTurns(round.turns, round.explained);
}

function* fieldsOf(detail: Detail): Iterable<Field> {
  if (detail.kind === "trace") yield* fieldsOfTrace(detail.trace, detail.explained);
  else if (detail.kind === "verdict") {
    yield { turn: null, field: "reference", text: detail.reference_code };
    yield { turn: null, field: "code", text: detail.kernel_code };
    yield* fieldsOfVerdict(detail.verdict, detail.explained, null);
  } else {
    for (const [field, text] of Object.entries(detail.row ?? {})) {
      if (typeof text === "string") yield { turn: null, field, text };
      else if (Array.isArray(text)) for (const one of text) yield { turn: null, field, text: (one as { content?: unknown })?.content };
    }
  }
}

/** The places of a text in a detail: one for each line, at most 50. Code that an answer contains is found once, as code. */
export function searchDetail(detail: Detail, text: string): Hit[] {
  const wanted = text.toLowerCase();
  const hits: Hit[] = [];
  const seen = new Set<string>();
  const fields = [...fieldsOf(detail)].sort((a, b) => Number(b.field === "code") - Number(a.field === "code"));
  for (const { turn, field, text: content } of fields) {
    if (typeof content !== "string" || !content.toLowerCase().includes(wanted)) continue;
    for (const [number, line] of content.split("\n").entries()) {
      const at = line.toLowerCase().indexOf(wanted);
      if (at < 0) continue;
      const same = `${turn}\n${line.trim()}`;
      if (field === "completion" && seen.has(same)) continue;
      if (field === "code") seen.add(same);
      const begin = Math.max(0, at - CONTEXT / 2);
      hits.push({ key: detail.key, turn, field, line: number + 1, text: line.slice(begin, begin + CONTEXT + wanted.length) });
      if (hits.length >= HITS_OF_DETAIL) return hits.sort(byPlace);
    }
  }
  return hits.sort(byPlace);
}

const byPlace = (a: Hit, b: Hit) => (a.turn ?? -1) - (b.turn ?? -1) || a.line - b.line;
