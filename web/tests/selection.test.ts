// The figures over rows, by the definitions of docs/report_format.md.
import assert from "node:assert/strict";
import { test } from "node:test";
import { claim, storedClaim } from "../src/claims";
import type { Index } from "../src/format";
import { Report } from "../src/report";
import { settings } from "../src/compare/cases";
import { bestRows, errorsByTurn, evidenceCounts, faults, judgedRows, judgedSources, outcomes, rightByTurn, speedsOf, sumOf, whyNoSpeed } from "../src/selection";
import { finish, share } from "../src/statistics";
import { storedSource, storedSpeeds, storedTurns } from "../src/stored";

type Row = Record<string, unknown>;

function columnsOf(rows: Row[]) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return { count: rows.length, columns: Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] ?? null)])) };
}
const reportOf = (rows: Row[], turns: Row[] = [], further: Row = {}) =>
  new Report({ rows: columnsOf(rows), turns: columnsOf(turns), sources: [], program_version: "1.2.3", ...further } as unknown as Index);
const all = (of: Report) => Array.from({ length: of.rows.count }, (_, i) => i);

test("rows of data sets are not judged", () => {
  const of = reportOf([{ kind: "trace" }, { kind: "dataset" }, { kind: "verdict" }, {}]);
  assert.deepEqual(judgedRows(of, all(of)), [0, 2, 3]);
});

test("a row without a standing, or with a strange one, is unknown", () => {
  const of = reportOf([{ key: "a", standing: "right" }, { key: "b" }, { key: "c", standing: 7 }, { key: "d", standing: "Right" }]);
  assert.deepEqual(outcomes(of, all(of)).map((one) => one.standing), ["right", "unknown", "unknown", "unknown"]);
});

test("right by turn is cumulative over the turns of both rounds", () => {
  const rows = [{ key: "a", kind: "trace", task_id: "t" }, { key: "b", kind: "trace", task_id: "t" }, { key: "c", kind: "trace", task_id: "u" }];
  const turn = (row: number, round: number, number: number, standing: string) => ({ row, round, turn: number, standing });
  const turns = [turn(0, 1, 1, "wrong"), turn(0, 1, 2, "right"), turn(1, 1, 1, "wrong"), turn(1, 2, 1, "right"), turn(2, 1, 1, "unknown")];
  const of = reportOf(rows, turns);
  const found = finish(rightByTurn(of, all(of)));
  assert.deepEqual(found.map(({ turn, samples, right }) => [turn, samples, right]), [[1, 2, 0], [2, 2, 2]]);
  assert.equal(found[1]?.estimate.value, 1);
});

test("a verdict without a trace counts as one turn", () => {
  const of = reportOf([{ key: "a", kind: "verdict", task_id: "t", standing: "wrong", status: "incorrect", error_class: "wrong_value" }]);
  assert.deepEqual(errorsByTurn(of, [0]).map((turn) => [...turn]), [[["wrong_value", 1]]]);
  assert.equal(finish(rightByTurn(of, [0]))[0]?.samples, 1);
});

test("errors have the class, else the reason, else the status; faults stand apart", () => {
  const turns = [
    { row: 0, standing: "wrong", status: "failed", error_class: "timeout" },
    { row: 0, standing: "wrong", status: "correct", counts_reason: "decoy" },
    { row: 0, standing: "wrong", status: "failed" },
    { row: 0, standing: "unknown", status: "error", error_class: "infrastructure", fault: "infrastructure" },
    { row: 0, standing: "unknown", status: "skipped", error_class: "too_large" },
  ];
  const of = reportOf([{ key: "a", kind: "trace" }, { key: "b", kind: "trace", stop_reason: "no_answer" }], turns);
  assert.deepEqual(errorsByTurn(of, all(of)).map((turn) => [...turn.keys()]), [["timeout"], ["decoy"], ["failed"]]);
  assert.deepEqual([...faults(of, all(of))], [["infrastructure: infrastructure", 1], ["too_large", 1], ["no_answer", 1]]);
});

test("the best row of a task is the fastest right one, without speeds the first", () => {
  const row = (task_id: string, standing: string, speedup: number | null) => ({ key: `${task_id}${speedup}`, task_id, standing, speedup });
  const of = reportOf([row("a", "right", 2), row("a", "right", 3), row("a", "wrong", 9), row("b", "right", null), row("b", "right", null), row("c", "wrong", 1)]);
  assert.deepEqual(bestRows(of, all(of)), [1, 3]);
});

test("the sum of a column without a number is null, not zero", () => {
  const of = reportOf([{ key: "a", judge_ms: null, generation_ms: "NaN" }, { key: "b", generation_ms: 5 }]);
  assert.equal(sumOf(of, all(of), "judge_ms"), null);
  assert.equal(sumOf(of, all(of), "generation_ms"), 5);
});

test("a claim names the value, its interval and what is not recorded", () => {
  const of = reportOf([{ key: "a", task_id: "t", standing: "right", gpu: "H200", task_source: "KernelBench" }, { key: "b", task_id: "u", standing: "wrong" }]);
  const text = claim(of, "fast_0", share(1, 2), all(of));
  assert.match(text, /^fast_0 = 50\.0% \(95% 9\.5% to 90\.5%, Wilson\)/);
  assert.match(text, /2 samples/);
  assert.match(text, /GPU H200 \(1\), not recorded \(1\)/);
  assert.match(text, /dtype not recorded/);
  assert.match(text, /kernelwright 1\.2\.3\.$/);
});

const run = (state: string, name = "a.run") => ({ name, kind: "run", state, facts: {}, messages: [] });

test("a trace that has not ended is in no figure, and the claim names it apart", () => {
  const rows = [
    { key: "a", kind: "trace", source: 0, task_id: "t", standing: "right", speedup: 2 },
    { key: "b", kind: "trace", source: 0, task_id: "u", standing: "unknown", status: "correct", unfinished: true, speedup: 9 },
  ];
  const of = reportOf(rows, [{ row: 0, standing: "right" }, { row: 1, standing: "wrong", error_class: "timeout" }, { row: 1, standing: "right" }], { sources: [run("unfinished")] });
  const speeds = finish(speedsOf(of, all(of), "speedup"));
  assert.deepEqual([speeds.curve.tasks, speeds.curve.samplesNotJudged, speeds.mean.value], [1, 0, 2]);
  assert.deepEqual(finish(rightByTurn(of, all(of))).map(({ samples, right }) => [samples, right]), [[1, 1]]);
  assert.deepEqual(errorsByTurn(of, all(of)), []);
  assert.deepEqual(bestRows(of, all(of)), [0]);
  const text = claim(of, "fast_0", share(1, 1), all(of));
  assert.match(text, /^unfinished: fast_0 = /);
  assert.match(text, /1 sample of the 1 that have ended; 1 is unfinished;/);
});

test("the claim of one of several sources names it, and is taken from the program by its number", () => {
  const of = reportOf([{ key: "a", source: 1, standing: "wrong" }], [], {
    sources: [run("finished"), run("finished", "b.run")],
    summary: { claims: [{ figure: "fast_0", source: 1, text: "of b" }] },
  });
  assert.match(claim(of, "fast_0", share(0, 1), [0], null, 1), /^source b\.run: fast_0 = /);
  assert.equal(storedClaim(of, "fast_0", 1), "of b");
  assert.equal(storedClaim(of, "fast_0"), null);
});

test("several sources are judged where each has a right or wrong row", () => {
  const row = (source: number, standing: string, unfinished: boolean | null = null) => ({ key: `${source}${standing}`, source, standing, unfinished });
  const of = reportOf([row(0, "right"), row(1, "wrong"), row(2, "unknown"), row(3, "wrong", true)]);
  assert.deepEqual(judgedSources(of, all(of)), [[0, [0]], [1, [1]]]);
});

test("without any speed fast_p above zero has no value but a reason, right or wrong", () => {
  for (const standing of ["right", "wrong"]) {
    const of = reportOf([{ key: "a", task_id: "t", standing, protocol: "p1" }]);
    const { curve } = finish(speedsOf(of, [0], "speedup"));
    const at = (p: number) => curve.points.find((point) => point.p === p)!;
    assert.notEqual(at(0).share.value, null);
    assert.deepEqual([at(1).share.value, at(1).atLeast.value, at(1).atMost.value, at(1).share.why], [null, null, null, "speed not measured: no GPU"]);
  }
  const timed = reportOf([{ key: "a", standing: "wrong", protocol: "p1", gpu: "H200" }]);
  assert.equal(whyNoSpeed(timed, [0]), "no answer is right");
});

test("a point without bounds is read from the program's figures", () => {
  const none = { share: null, low: null, high: null, at_least: null, at_most: null, method: "", faster: 0, unknown_speeds: 0 };
  const of = reportOf([], [], { summary: { by_source: [{ source: 1, fast_p: [{ ...none, p: 1 }], geometric_mean_speedup: { value: null, tasks: 0 } }] } });
  assert.equal(storedSpeeds(of, [], "speedup", storedSource(of, 1))?.curve.points[0]?.atLeast.value, null);
  assert.equal(storedSource(of, 0), null);
});

test("evidence records are counted by turn, and of best turns apart", () => {
  const turns = [true, true, false].map((evidence) => ({ row: 0, status: "failed", evidence }));
  const of = reportOf([{ key: "a", kind: "trace", status: "failed", evidence: false }], turns);
  assert.deepEqual(evidenceCounts(of, [0]), { judged: 3, kept: 2, bestJudged: 1, bestKept: 0 });
});

test("a correct result that does not count may lack its reason", () => {
  const of = reportOf([{ key: "a", kind: "verdict", standing: "wrong", status: "correct" }]);
  assert.deepEqual(errorsByTurn(of, [0]).map((turn) => [...turn]), [[["no reason recorded", 1]]]);
});

test("the time at which a run began is no setting that differs", () => {
  const of = reportOf([], [], { sources: [1, 2].map((day) => ({ ...run("finished"), facts: { created_at: `2026-01-0${day}`, seed: day } })) });
  assert.deepEqual(settings(of, [0, 1]).differing.map(({ name }) => name), ["seed"]);
});

test("without any speed the claim says so", () => {
  const of = reportOf([{ key: "a", task_id: "t", standing: "right" }]);
  assert.match(claim(of, "fast_1", share(0, 1), [0]), /= speed not measured;/);
});

test("the program's claim is taken where it is a text", () => {
  const of = reportOf([], [], { summary: { claims: [null, { figure: "fast_1", text: 7 }, { figure: "fast_0", text: "the line" }] } });
  assert.equal(storedClaim(of, "fast_0"), "the line");
  assert.equal(storedClaim(of, "fast_1"), null);
});

test("a summary that lacks figures or holds other types is not used", () => {
  for (const summary of [undefined, null, [], { fast_p: "x" }, { fast_p: [{ p: "1" }], geometric_mean_speedup: {} }]) {
    const of = reportOf([], [], { summary });
    assert.equal(storedSpeeds(of, [], "speedup"), null);
    assert.equal(storedTurns(of), null);
  }
});

test("the program's figures keep their intervals", () => {
  const summary = {
    fast_p: [{ p: 1, share: 0.5, low: 0.4, high: 0.6, at_least: 0.5, at_most: 0.5, method: "Wilson", faster: 3, unknown_speeds: 0 }],
    geometric_mean_speedup: { value: 1.5, low: null, high: null, method: "", why: "one task has no interval", tasks: 1 },
    right_by_turn: [{ turn: 1, samples: 4, right: 2, share: 0.5, low: 0.1, high: 0.9, method: "Wilson" }],
  };
  const of = reportOf([], [], { summary });
  const speeds = storedSpeeds(of, [], "speedup");
  assert.deepEqual(speeds?.curve.points[0]?.share.interval, { low: 0.4, high: 0.6 });
  assert.equal(speeds?.mean.why, "one task has no interval");
  assert.deepEqual(storedTurns(of)?.[0]?.estimate.interval, { low: 0.1, high: 0.9 });
});
