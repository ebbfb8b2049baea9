// The statistics of the page against numbers that `kernelwright score --recorded` printed for the same small worlds.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  byBytes,
  byTask,
  compareRight,
  compareSpeedups,
  fastP,
  fillBelow,
  finish,
  Generator,
  geometricMeanSpeedup,
  inSlices,
  mcnemarP,
  means,
  newcombe,
  type Outcome,
  PENDING,
  signFlips,
  type TaskSamples,
  USUAL_BOOTSTRAP,
  wilson,
} from "../src/statistics";

const meanOf = (values: readonly number[], shares = false) => finish(means([{ values, shares }]))[0]!;
const signFlipP = (differences: readonly number[]) => finish(signFlips(differences, USUAL_BOOTSTRAP));
const near = (actual: number | null | undefined, expected: number, tolerance = 1e-12) =>
  assert.ok(actual != null && Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

/** 12 tasks with 3 samples each; which are right, and how fast, follows from the numbers of task and sample. */
function world(isRight: (task: number, sample: number) => boolean, speedup: (task: number, sample: number) => number): TaskSamples[] {
  const outcomes: Outcome[] = [];
  for (let task = 0; task < 12; ++task)
    for (let sample = 0; sample < 3; ++sample)
      outcomes.push({ taskId: `task${100 + task}`, standing: isRight(task, sample) ? "right" : "wrong", speedup: speedup(task, sample) });
  return byTask(outcomes);
}
const first = world((t, s) => (t * 3 + s * 5) % 7 < 4, (t, s) => 0.3 + ((t * 13 + s * 29) % 37) / 10);
const second = world((t, s) => (t * 2 + s * 3) % 5 < 3, (t, s) => 0.5 + ((t * 7 + s * 11) % 23) / 10);

test("the generator gives the numbers of xoshiro256**", () => {
  const generator = new Generator(42);
  const next = () => {
    generator.next();
    return (BigInt(generator.high) << 32n) | BigInt(generator.low);
  };
  assert.equal(next(), 1546998764402558742n);
  assert.equal(next(), 6990951692964543102n);
});

test("numbers drawn in one go are those drawn one by one", () => {
  for (const count of [1, 2, 7, 1000, 2 ** 21]) {
    const one = new Generator(7);
    const all = new Uint32Array(500);
    fillBelow(new Generator(7), all, count);
    for (const number of all) assert.equal(number, one.below(count));
  }
});

test("fast_p and its intervals are those of score", () => {
  const curve = finish(fastP(first));
  const expected: [number, number, number, number, string][] = [
    [0, 0.5833333333333334, 0.49999999999999994, 0.6666666666666666, "cluster bootstrap"],
    [0.5, 0.5, 0.4166666666666666, 0.5833333333333334, "cluster bootstrap"],
    [0.8, 0.47222222222222227, 0.38888888888888884, 0.5555555555555557, "cluster bootstrap"],
    [1, 0.4444444444444445, 0.3611111111111111, 0.5277777777777778, "cluster bootstrap"],
    [1.2, 0.4444444444444445, 0.3611111111111111, 0.5277777777777778, "cluster bootstrap"],
    [1.5, 0.3888888888888889, 0.2777777777777778, 0.5, "cluster bootstrap"],
    [2, 0.3055555555555556, 0.19444444444444442, 0.4166666666666667, "cluster bootstrap"],
    [3, 0.13888888888888887, 0.05555555555555555, 0.2222222222222222, "cluster bootstrap"],
    [5, 0, 0, 0.24249400665524082, "Wilson"],
    [10, 0, 0, 0.24249400665524082, "Wilson"],
  ];
  assert.equal(curve.points.length, expected.length);
  expected.forEach(([p, value, low, high, method], i) => {
    const { share } = curve.points[i]!;
    assert.equal(curve.points[i]!.p, p);
    assert.equal(share.method, method);
    near(share.value, value);
    near(share.interval?.low, low);
    near(share.interval?.high, high);
  });
});

test("the geometric mean speed-up and its interval are those of score", () => {
  const mean = finish(geometricMeanSpeedup(first));
  near(mean.value, 1.7736076271301124);
  near(mean.interval?.low, 1.3557253693924252);
  near(mean.interval?.high, 2.304222903996067);
  assert.equal(mean.tasks, 12);
});

test("a paired comparison of shares is that of score with a baseline", () => {
  const paired = finish(compareRight(first, second));
  assert.equal(paired.method, "sign-flip permutation");
  near(paired.before, 0.5833333333333334);
  near(paired.after, 0.6111111111111112);
  near(paired.difference.value, 0.027777777777777776);
  near(paired.difference.interval?.low, -0.05555555555555555);
  near(paired.difference.interval?.high, 0.1111111111111111);
  assert.equal(paired.pValue, 1);
  assert.equal(paired.words, "Too few differing tasks for a test: 3 of 12, so p is at least 0.250.");
});

test("a paired comparison of speeds is that of score with a baseline", () => {
  const paired = finish(compareSpeedups(first, second));
  near(paired.before, 0.5730156796772677);
  near(paired.difference.value, -0.24295224140987673);
  near(paired.difference.interval?.low, -0.5619375271957465);
  near(paired.difference.interval?.high, 0.07815379934815965);
  near(paired.pValue, 0.185546875);
  assert.equal(paired.words, "No difference is shown: 5 of 12 tasks better, 7 worse, p = 0.186 (over 0.05).");
});

test("one sample a task is compared by exact McNemar and Newcombe", () => {
  const tasks = (right: string) => byTask([...right].map((one, i) => ({ taskId: `task${1000 + i}`, standing: one === "1" ? "right" : "wrong", speedup: null })));
  const paired = finish(compareRight(tasks("0000000000110"), tasks("1111111100110")));
  assert.equal(paired.method, "exact McNemar");
  near(paired.pValue, 2 / 256);
  assert.ok(paired.significant);
  assert.equal(paired.words, "Better after: 8 of 13 tasks better, 0 worse, p = 0.008.");
});

test("p values and intervals are the published ones", () => {
  near(mcnemarP(1, 7), 0.0703125);
  assert.equal(mcnemarP(0, 0), 1);
  near(mcnemarP(5000, 5000), 1, 1e-9);
  assert.ok(mcnemarP(0, 5000) < 1e-300);
  const paired = newcombe({ both: 36, lost: 2, gained: 12, neither: 0 });
  near(paired?.low, 0.0569, 5e-5);
  near(paired?.high, 0.3404, 5e-5);
  const share = wilson(81, 263);
  near(share?.low, 0.2553, 5e-5);
  near(share?.high, 0.3662, 5e-5);
  assert.equal(wilson(0, 0), null);
  assert.equal(wilson(20, 20)?.high, 1);
});

test("random sign flips of many tasks are those of the C++ code", () => {
  const differences = Array.from({ length: 40 }, (_, i) => (((i * 7) % 11) - 4) / 10);
  near(signFlipP(differences), 0.058694130586941305);
  assert.equal(signFlipP([0.3, -0.1, 0.2]), 0.5);
  near(signFlipP(new Array(40).fill(0.5)), 1 / 10_001);
});

test("right answers without a speed give two bounds and no value", () => {
  const tasks = byTask([
    { taskId: "a", standing: "right", speedup: null },
    { taskId: "b", standing: "right", speedup: 3 },
    { taskId: "c", standing: "wrong", speedup: null },
    { taskId: "d", standing: "unknown", speedup: null },
  ]);
  const curve = finish(fastP(tasks, [0, 1]));
  assert.equal(curve.tasks, 3);
  assert.equal(curve.tasksNotJudged, 1);
  near(curve.points[0]?.share.value, 2 / 3);
  assert.equal(curve.points[1]?.share.value, null);
  near(curve.points[1]?.atLeast.value, 1 / 3);
  near(curve.points[1]?.atMost.value, 2 / 3);
});

test("a speed that is no number over zero is unknown", () => {
  const [task] = byTask([NaN, Infinity, 0, -1, 2].map((speedup) => ({ taskId: "a", standing: "right", speedup })));
  assert.deepEqual([task?.speedups, task?.unknownSpeeds], [[2], 4]);
});

test("an estimate without interval says why", () => {
  assert.match(meanOf([]).why, /nothing/);
  assert.match(meanOf([0.5]).why, /one task/);
  assert.match(meanOf([0.5, 0.5]).why, /same value/);
  assert.match(meanOf([0.5, NaN]).why, /not finite/);
  assert.match(meanOf([0.1, 0.9, 0.4]).why, /only 3 tasks/);
  assert.equal(meanOf([1, 1, 1, 1], true).method, "Wilson");
});

test("no resamples give values at once, and the intervals are pending", () => {
  const [estimate] = finish(means([{ values: [0.1, 0.9], shares: true }], { resamples: 0, seed: 1 }));
  assert.equal(estimate?.value, 0.5);
  assert.equal(estimate?.interval, null);
  assert.equal(estimate?.why, PENDING);
});

test("a calculation in slices gives the same result, and ends when it is stopped", async () => {
  const values = Array.from({ length: 300 }, (_, i) => (i % 7) / 7);
  const steps = () => means([{ values, shares: true }]);
  assert.deepEqual(await inSlices(steps()), finish(steps()));
  const stop = new AbortController();
  const stopped = inSlices(steps(), stop.signal);
  stop.abort();
  assert.equal(await stopped, null);
});

test("tasks are in the order of the bytes of their ids", () => {
  // U+FF5E is before U+1F600 in bytes, and after its surrogates in UTF-16.
  assert.ok(byBytes("～", "😀") < 0);
  assert.ok("～" > "😀");
  assert.deepEqual(["b", "a", "ab", ""].sort(byBytes), ["", "a", "ab", "b"]);
});
