// The page's figures over all rows are those that the program wrote for the same rows: tests/report/summary.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { before, test } from "node:test";
import { ROOT } from "./fixture.mjs";

const esbuild = createRequire(join(ROOT, "web/package.json"))("esbuild");
const { summary, ...index } = JSON.parse(readFileSync(join(ROOT, "tests/report/summary/summary_example.json"), "utf8"));

let page;
let of;
let rows;
before(async () => {
  const contents = `export { Report } from "./report"; export * from "./selection"; export { finish } from "./statistics";`;
  const { outputFiles } = await esbuild.build({ stdin: { contents, resolveDir: join(ROOT, "web/src"), loader: "ts" }, bundle: true, write: false, format: "esm", platform: "node", logLevel: "error" });
  page = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
  of = new page.Report({ ...index, sources: [] });
  rows = page.judgedRows(of, Array.from({ length: of.rows.count }, (_, i) => i));
});

const near = (actual, expected, what) => {
  if (expected === null || actual === null) assert.equal(actual, expected, what);
  else assert.ok(Math.abs(actual - expected) <= 1e-12 * Math.max(1, Math.abs(expected)), `${what}: ${actual} is not ${expected}`);
};

for (const [column, curve, mean] of [
  ["speedup", "fast_p", "geometric_mean_speedup"],
  ["compile_speedup", "fast_p_compile", "geometric_mean_compile_speedup"],
])
  test(`${curve} and ${mean} are the program's`, () => {
    const speeds = page.finish(page.speedsOf(of, rows, column));
    assert.equal(speeds.curve.tasks, summary.tasks);
    assert.equal(speeds.curve.points.length, summary[curve].length);
    speeds.curve.points.forEach((point, i) => {
      const expected = summary[curve][i];
      assert.equal(point.p, expected.p);
      assert.deepEqual([point.faster, point.unknownSpeeds, point.share.method], [expected.faster, expected.unknown_speeds, expected.method]);
      near(point.share.value, expected.share, `share at ${point.p}`);
      near(point.share.interval?.low ?? null, expected.low, `low at ${point.p}`);
      near(point.share.interval?.high ?? null, expected.high, `high at ${point.p}`);
      near(point.atLeast.value, expected.at_least, `at_least at ${point.p}`);
      near(point.atMost.value, expected.at_most, `at_most at ${point.p}`);
    });
    const expected = summary[mean];
    near(speeds.mean.value, expected.value, "mean");
    near(speeds.mean.interval.low, expected.low, "low");
    near(speeds.mean.interval.high, expected.high, "high");
    assert.deepEqual([speeds.mean.tasks, speeds.mean.why], [expected.tasks, expected.why]);
  });

test("right by turn is the program's", () => {
  const turns = page.finish(page.rightByTurn(of, rows));
  assert.deepEqual(turns.map(({ turn, samples, right }) => ({ turn, samples, right })), summary.right_by_turn.map(({ turn, samples, right }) => ({ turn, samples, right })));
  turns.forEach(({ estimate }, i) => {
    const expected = summary.right_by_turn[i];
    assert.equal(estimate.method, expected.method);
    near(estimate.value, expected.share, "share");
    near(estimate.interval.low, expected.low, "low");
    near(estimate.interval.high, expected.high, "high");
  });
});

test("evidence records, and why no speed is known, are the program's", () => {
  const { judged, kept, bestJudged, bestKept } = page.evidenceCounts(of, rows);
  assert.deepEqual({ judged, kept, best_judged: bestJudged, best_kept: bestKept }, summary.evidence);
  assert.equal(summary.no_speed, null);
  assert.equal(rows.length - page.endedRows(of, rows).length, summary.unfinished);
});

test("errors by turn and faults are the program's", () => {
  const errors = page.errorsByTurn(of, rows).map((turn, i) => ({ turn: i + 1, errors: Object.fromEntries([...turn].sort()) })).filter((turn) => Object.keys(turn.errors).length > 0);
  assert.deepEqual(errors, summary.errors_by_turn);
  assert.deepEqual(Object.fromEntries([...page.faults(of, rows)].sort()), summary.faults);
});

test("tokens, times and best kernels are the program's", () => {
  for (const name of ["prompt", "completion", "reasoning"]) assert.equal(page.sumOf(of, rows, `${name}_tokens`), summary.tokens[name]);
  const seconds = (column) => (page.sumOf(of, rows, column) === null ? null : page.sumOf(of, rows, column) / 1000);
  near(seconds("generation_ms"), summary.generation_s, "generation");
  near(seconds("judge_ms"), summary.judge_s, "judging");
  const best = Object.fromEntries(page.bestRows(of, rows).map((row) => [page.taskOf(of, row), row]));
  assert.deepEqual(best, summary.best_kernel_of_task);
});
