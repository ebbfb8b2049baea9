// The figures over rows, by the definitions of docs/report_format.md.
import assert from "node:assert/strict";
import { test } from "node:test";
import { claim, storedClaim } from "../src/claims";
import type { Index } from "../src/format";
import { Report } from "../src/report";
import { bestRows, errorsByTurn, faults, judgedRows, outcomes, rightByTurn, sumOf } from "../src/selection";
import { finish, share } from "../src/statistics";
import { storedSpeeds, storedTurns } from "../src/stored";

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
