// Scales, ticks, and readers of data that may hold anything.
import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, spansOf } from "../src/charts/timeline";
import { durationTick, short } from "../src/charts/figures";
import { extentOf, linear, logarithmic, ticksAt } from "../src/charts/scale";
import { standings, sidesOf, speedRatios, flips, settings } from "../src/compare/cases";
import { verdictsOf } from "../src/evidence/record";
import { elementOf, indexText, listOrNull, objectsOf } from "../src/fields";
import type { Detail, Index } from "../src/format";
import { Report } from "../src/report";

const labels = (scale: { ticks: readonly { label: string }[] }) => scale.ticks.map((tick) => tick.label);

test("ticks of a linear axis are round and within it", () => {
  assert.deepEqual(labels(linear({ low: 0, high: 1 }, 0, 300, short, { spacing: 50, fixed: true })), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
  assert.deepEqual(labels(linear({ low: 3, high: 3 }, 0, 100, short)).length > 0, true);
  assert.ok(linear({ low: -1e300, high: 1e300 }, 0, 100, short).ticks.length < 100);
});

test("ticks of time are steps of the clock", () => {
  assert.deepEqual(labels(linear({ low: 0, high: 2.1e6 }, 0, 160, durationTick, { spacing: 40, time: true })), ["0", "10 min", "20 min", "30 min", "40 min"]);
});

test("ticks of a logarithmic axis keep their distance", () => {
  for (const extent of [{ low: 0.5, high: 2 }, { low: 1e-9, high: 1e9 }, { low: 1, high: 1 }, { low: 1e-300, high: 1e300 }])
    for (const width of [60, 300, 1500]) {
      const scale = logarithmic(extent, 0, width, short);
      assert.ok(scale.ticks.length > 0 && scale.ticks.length < 60);
      for (let i = 1; i < scale.ticks.length; ++i) assert.ok(scale.at(scale.ticks[i]!.value) - scale.at(scale.ticks[i - 1]!.value) >= 43);
    }
});

test("a value beyond the axis is drawn at its end", () => {
  const scale = logarithmic({ low: 1, high: 10 }, 0, 100, short);
  assert.deepEqual([scale.at(0), scale.at(-5), scale.at(1e9), scale.at(Infinity)], [0, 0, 100, 100]);
});

test("the extent passes over what is no finite number", () => {
  assert.deepEqual(extentOf([NaN, Infinity, null, undefined, 3, 1]), { low: 1, high: 3 });
  assert.equal(extentOf([NaN, null]), null);
  assert.deepEqual(extentOf([0, -1, 2], 0), { low: 2, high: 2 });
});

test("wanted ticks come first, others where there is room", () => {
  const scale = linear({ low: 0, high: 10 }, 0, 100, short, { fixed: true });
  assert.deepEqual(labels(ticksAt(scale, [0, 10, 9, 5], short, 30)), ["0", "10", "5"]);
});

test("a fact of another type is null", () => {
  assert.equal(elementOf("nan"), Number.NaN);
  assert.equal(elementOf("-inf"), -Infinity);
  for (const value of ["NaN", "1", true, {}, [], null, undefined, Number.NaN]) assert.equal(elementOf(value), null);
  assert.equal(listOrNull({ length: 3 }), null);
  assert.equal(listOrNull(new Array(1e6).fill(0))?.length, 5000);
  assert.deepEqual(objectsOf([1, null, "x", [], { a: 1 }]), [{ a: 1 }]);
  assert.equal(indexText([0, "x", 130]), "[0, ?, 130]");
});

test("the verdict of a trace is that of its final turn, and turns of both rounds are named", () => {
  const turn = (number: number, id: string) => ({ turn: number, result: { id } });
  const detail = {
    kind: "trace",
    key: "k",
    trace: { round: 1, final_turn: 1, turns: [turn(1, "a"), turn(2, "b")], other_rounds: [{ round: 2, turns: [turn(1, "c"), { turn: 2, result: null }] }] },
    explained: [{ sentence: "first" }, null],
  } as unknown as Detail;
  const { list, main } = verdictsOf(detail);
  assert.deepEqual(list.map((one) => one.turn), ["1.1", "1.2", "2.1"]);
  assert.equal(main?.verdict["id"], "a");
  assert.equal(main?.explained?.["sentence"], "first");
});

test("broken details have no verdict", () => {
  for (const trace of [null, 7, [], { turns: "x" }, { turns: [null, 7, { result: [] }] }, { turns: [], other_rounds: [[]] }])
    assert.deepEqual(verdictsOf({ kind: "trace", key: "k", trace, explained: {} } as unknown as Detail), { list: [], main: null });
  assert.equal(verdictsOf({ kind: "verdict", key: "k", verdict: "x" } as unknown as Detail).main, null);
});

test("a comparison pairs tasks, and lists what was lost before what was gained", () => {
  const row = (source: number, task_id: string, standing: string, speedup: number | null = null) => ({ source, task_id, standing, speedup });
  const rows = [row(0, "a", "right", 2), row(0, "b", "right", 1), row(0, "c", "wrong"), row(0, "d", "unknown"), row(1, "a", "right", 3), row(1, "b", "wrong"), row(1, "c", "right", 1), row(1, "d", "right", 1)];
  const names = ["source", "task_id", "standing", "speedup"] as const;
  const columns = Object.fromEntries(names.map((name) => [name, rows.map((one) => one[name])]));
  const sources = [{ name: "x", facts: { seed: 1, model: "m", only: null } }, { name: "y", facts: { seed: 2, model: "m" } }];
  const of = new Report({ rows: { count: rows.length, columns }, turns: { count: 0, columns: {} }, sources } as unknown as Index);
  const [before, after] = sidesOf(of, rows.map((_, i) => i));
  assert.deepEqual(flips(before!, after!).map((flip) => [flip.taskId, flip.difference]), [["b", -1], ["c", 1]]);
  assert.deepEqual(Object.fromEntries(standings(before!, after!)), { better: 1, worse: 1, "equal, right": 1, "equal, wrong": 0, "equal, right in part": 0 });
  assert.deepEqual(speedRatios(before!, after!).map((one) => [one.taskId, Math.round(one.ratio * 1000)]), [["a", 1500]]);
  assert.deepEqual(settings(of, [0, 1]), { differing: [{ name: "seed", values: ["1", "2"] }], partial: [], equal: 2 });
});

test("launches without a start follow one another, as long as they took or one step each", () => {
  const launch = (startMs: number | null, timeMs: number | null) => ({ name: "k", origin: "candidate", stream: 0, startMs, timeMs, label: "" });
  const spans = (launches: ReturnType<typeof launch>[]) => [axisOf(launches), spansOf(launches, axisOf(launches))];
  assert.deepEqual(spans([launch(5, 2), launch(6, 3)]), ["starts", [{ from: 5, to: 7 }, { from: 6, to: 9 }]]);
  assert.deepEqual(spans([launch(null, 2), launch(null, 3)]), ["times", [{ from: 0, to: 2 }, { from: 2, to: 5 }]]);
  assert.deepEqual(spans([launch(null, 2), launch(null, null)]), ["order", [{ from: 0, to: 1 }, { from: 1, to: 2 }]]);
});
