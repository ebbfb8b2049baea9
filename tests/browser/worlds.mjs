// The worlds of the browser tests: small, empty, broken, hostile, large.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./fixture.mjs";

const read = (path) => readFileSync(join(ROOT, path), "utf8");

/** Numbers between 0 and 1 that are the same in every run. */
export function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const WORDS = {
  status: {
    correct: { meaning: "The result is right.", remedy: null, page: "verdict.md" },
    failed: { meaning: "The candidate broke.", remedy: "See the error.", page: "verdict.md" },
  },
  error_class: {
    wrong_value: { meaning: "Values of the output differ from the reference's.", remedy: "Compare the first mismatch with the code that computes it.", page: "verdict.md" },
    illegal_memory_access: { meaning: "A kernel touched memory that does not belong to it.", remedy: "Check masks and offsets.", page: "verdict.md" },
    compile_error: { meaning: "Triton or ptxas refused a kernel.", remedy: "Read the compiler's text.", page: "verdict.md" },
  },
  counts_reason: { library_only: { meaning: "The candidate launched no kernel of its own.", remedy: null, page: "verdict.md" } },
  trust: { replay: { meaning: "A GPU judged and timed outside of the candidate's process.", remedy: null, page: "gpu-path.md" } },
};

const interval = (low, high) => (low && high ? { speedup_low: low[0] / high[1], speedup_high: low[1] / high[0] } : {});

/** The row of a trace: the facts of its best turn. */
export function rowOfTrace(trace, source, key) {
  const best = trace.turns.find((turn) => turn.turn === trace.final_turn) ?? trace.turns.at(-1);
  const result = best?.result ?? {};
  const sum = (field) => trace.turns.reduce((total, turn) => total + (turn.usage?.[field] ?? 0), 0);
  return {
    source,
    kind: "trace",
    key,
    task_id: trace.task_id,
    name: trace.name,
    task_source: trace.source,
    level: trace.level,
    model: trace.model,
    sample_number: trace.sample_number,
    licence: trace.licence,
    status: result.status ?? null,
    standing: result.correctness === true && result.counts ? "right" : result.correctness === null || result.correctness === undefined ? "unknown" : "wrong",
    counts: result.counts ?? null,
    counts_reason: result.counts_reason ?? null,
    error_class: result.error_class ?? null,
    fault: result.fault ?? null,
    stage: result.stage ?? null,
    trust: result.trust ?? null,
    gpu: result.environment?.gpu ?? null,
    protocol: result.environment?.protocol ?? null,
    speedup: result.speedup ?? null,
    ...interval(result.timing?.reference_interval_ms, result.timing?.kernel_interval_ms),
    reference_time_ms: result.reference_time_ms ?? null,
    kernel_time_ms: result.kernel_time_ms ?? null,
    turns: trace.turns.length,
    prompt_tokens: sum("prompt_tokens"),
    completion_tokens: sum("completion_tokens"),
    reasoning_tokens: sum("reasoning_tokens"),
    generation_ms: trace.turns.reduce((total, turn) => total + (turn.generation_ms ?? 0), 0),
    stop_reason: trace.stop_reason,
    evidence: result.evidence ? true : false,
  };
}

export function turnsOfTrace(trace, row) {
  return trace.turns.map((turn) => ({
    row,
    round: trace.round ?? 1,
    turn: turn.turn,
    status: turn.result?.status ?? null,
    standing: turn.result?.correctness === true ? "right" : "wrong",
    counts_reason: turn.result?.counts_reason ?? null,
    error_class: turn.result?.error_class ?? null,
    fault: turn.result?.fault ?? null,
    speedup: turn.result?.speedup ?? null,
    completion_tokens: turn.usage?.completion_tokens ?? null,
    generation_ms: turn.generation_ms ?? null,
  }));
}

/** A world of traces: `[{key, source, trace, explained}]`. */
export function worldOf(title, sources, entries, more = {}) {
  const rows = entries.map(({ trace, source, key }) => rowOfTrace(trace, source, key));
  const turns = entries.flatMap(({ trace }, row) => turnsOfTrace(trace, row));
  const details = Object.fromEntries(entries.map(({ key, trace, explained }) => [key, { kind: "trace", key, trace, explained: explained ?? trace.turns.map(() => null) }]));
  const standings = rows.map((row) => row.standing);
  const count = (word) => standings.filter((one) => one === word).length;
  return {
    title,
    sources,
    rows,
    turns,
    details,
    words: WORDS,
    contents: {
      redacted: false,
      holds: [
        { what: "prompts", count: rows.length },
        { what: "completions", count: turns.length },
        { what: "reasoning", count: turns.length },
        { what: "kernels", count: turns.length },
        { what: "paths", count: 0 },
      ],
      left_out: [{ what: "rows", count: 2, why: "licence GPL-3.0-only" }],
    },
    summary: { rows: rows.length, tasks: new Set(rows.map((row) => row.task_id)).size, right: count("right"), wrong: count("wrong"), unknown: count("unknown") },
    ...more,
  };
}

let recorded = null;
/** A conversation of four answers that an H200 judged, in the form of docs/exports.md. */
export function recordedTrace() {
  recorded ??= read("examples/recorded_gpu/trace.json");
  const [trace] = JSON.parse(recorded);
  trace.prompt = trace.full_messages.slice(0, 2);
  delete trace.full_messages;
  trace.turns.forEach((turn, i) => (turn.reasoning ??= `Turn ${i + 1}: I read the feedback line by line.\nThen I change one thing.`));
  return trace;
}

export const explainedOfRecorded = [
  {
    sentence: "Values of the output differ from the reference's.",
    error: "output 0 is wrong at [0, 0]: expected 1.5, got 0.25",
    notes: ["Over all trials: 99% of the values differ."],
    help: "Compare the first mismatch with the code that computes it.",
    place: { file: "kernel.py", line: 12, column: 34 },
  },
  {
    sentence: "A kernel touched memory that does not belong to it.",
    error: null,
    notes: [],
    help: "Check masks and offsets of loads and stores.",
    place: null,
  },
  null,
  null,
];

const NAMES = ["relu", "softmax", "layer_norm", "matmul", "gelu", "cumsum", "cross_entropy", "conv2d_bias", "rms_norm", "rope", "argmax", "dropout_add"];
const CLASSES = ["wrong_value", "compile_error", "illegal_memory_access", "out_of_bounds", "timeout", "runtime_error"];

/** Traces derived from the recorded one, with outcomes and speeds of their own. */
export function derived(number, { model = "small-model", seed = 1 } = {}) {
  const random = dice(seed * 7919 + number);
  const trace = structuredClone(recordedTrace());
  const name = NAMES[number % NAMES.length];
  trace.task_id = `level${1 + (number % 3)}/${number}_${name}`;
  trace.sample_key = trace.task_id;
  trace.name = name;
  trace.level = 1 + (number % 3);
  trace.model = model;
  trace.sample_number = 0;
  const best = trace.turns.at(-1).result;
  const luck = random();
  if (luck < 0.45) {
    const speedup = Math.exp((random() - 0.35) * 1.6);
    best.speedup = speedup;
    best.kernel_time_ms = best.reference_time_ms / speedup;
    best.timing.kernel_interval_ms = [best.kernel_time_ms * 0.97, best.kernel_time_ms * 1.04];
  } else if (luck < 0.55) {
    Object.assign(best, { counts: false, counts_reason: "library_only" });
  } else {
    const error_class = CLASSES[Math.floor(random() * CLASSES.length)];
    const incorrect = error_class === "wrong_value";
    Object.assign(best, { status: incorrect ? "incorrect" : "failed", correctness: false, counts: null, error_class, fault: "kernel", error: `${error_class} in ${name}_kernel`, speedup: null, kernel_time_ms: null, reference_time_ms: null, stage: incorrect ? "judge" : "compile" });
    Object.assign(best.timing, { reference_interval_ms: null, kernel_interval_ms: null });
  }
  return trace;
}

export function smallWorld() {
  const entries = [{ key: "recorded", source: 0, trace: recordedTrace(), explained: explainedOfRecorded }];
  for (let i = 0; i < 47; i++) entries.push({ key: `first ${i}`, source: 0, trace: derived(i) });
  for (let i = 0; i < 24; i++) entries.push({ key: `second/${i}`, source: 1, trace: derived(i, { model: "large-model", seed: 2 }) });
  const facts = { model: "small-model", samples: 1, turns: 4, timing_trials: 100, tolerance: "kernelbench", program_version: "0.9.0" };
  return worldOf("small world", [
    { name: "first.json", kind: "run", state: "finished", facts, messages: [] },
    { name: "second.json", kind: "run", state: "unfinished", facts: { ...facts, model: "large-model" }, messages: ["3 rows were not read: damaged"] },
  ], entries);
}

export const emptyWorld = () => ({ title: "empty", sources: [], rows: [], turns: [], details: {} });

/** As many traces of four turns as wanted, each with code and messages of its own: about 24 KB of details each. */
export function largeWorld(traces) {
  const entries = [];
  for (let i = 0; i < traces; i++) {
    const trace = derived(i, { model: i % 2 ? "large-model" : "small-model" });
    delete trace.final_result;
    delete trace.final_triton_code;
    const random = dice(i);
    const salt = () => Math.floor(random() * 2 ** 32).toString(36);
    for (const turn of trace.turns) {
      const [name, other] = [`kernel_${salt()}`, `v_${salt()}`];
      const mend = (text) => text?.replaceAll(/relu_(pair|sum)?_?kernel/g, name).replaceAll(/\bat\b/g, other).replaceAll("1024", String(2 ** (5 + Math.floor(random() * 6))));
      turn.triton_code = mend(turn.triton_code);
      turn.full_completion = mend(turn.full_completion);
      turn.reasoning = `${turn.reasoning}\n${Array.from({ length: 6 }, salt).join(" ")}`;
      turn.result.candidate_sha256 = salt().repeat(8);
      turn.result.timing.reference_samples_ms = turn.result.timing.kernel_samples_ms = Array.from({ length: 8 }, () => Number((0.04 + random() / 100).toFixed(6)));
    }
    entries.push({ key: `k${i}`, source: i % 2, trace });
  }
  return worldOf("large world", [
    { name: "first.json", kind: "run", state: "finished", facts: {}, messages: [] },
    { name: "second.json", kind: "run", state: "finished", facts: {}, messages: [] },
  ], entries);
}
