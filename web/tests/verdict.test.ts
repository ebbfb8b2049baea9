// Facts of a verdict in words: its passes, and what the checks of --sanitize found.
import assert from "node:assert/strict";
import { test } from "node:test";
import { passesOf } from "../src/passes";
import { sanitizedOf, sanitizedText } from "../src/sanitized";

const timed = (timing: object) => passesOf({ timing });

test("both passes have their speed-up and their times", () => {
  const segments = { forward: { reference_time_ms: 0.2134, kernel_time_ms: 0.1273, speedup: 1.676 }, backward: { reference_time_ms: 4.158, kernel_time_ms: 0, speedup: null } };
  assert.deepEqual(timed({ segments, segments_why_null: null }), [
    { name: "Forward pass", says: "1.68\u00d7 (213 \u00b5s to 127 \u00b5s)" },
    { name: "Backward pass", says: "4.16 ms to 0 \u00b5s" },
  ]);
});

test("passes that were not timed one by one have the verdict's reason, or are not named", () => {
  assert.deepEqual(timed({ segments: null, segments_why_null: "the clocks disagree" }), [{ name: "Forward and backward pass", says: "not timed one by one: the clocks disagree" }]);
  for (const timing of [{}, { segments: null }, { segments: null, segments_why_null: null }, { segments: [] }, { segments: { forward: "x" } }]) assert.deepEqual(timed(timing), []);
  assert.deepEqual(passesOf({ timing: null }), []);
});

const checks = [
  { check: "bounds", outcome: "found", why_not: null, findings: [{ kind: "read of 4 bytes", kernel: "add_kernel", tensor: "input x", place: "kernel.py:12" }, { kind: "read of 2 bytes", kernel: null, tensor: null, place: null }] },
  { check: "memcheck", outcome: "not_run", why_not: "needs a GPU", findings: [] },
  { check: "racecheck", outcome: "clean", why_not: null, findings: [] },
];

test("a finding names its kind, kernel, tensor and place as far as they are known", () => {
  assert.deepEqual(sanitizedOf({ sanitized: checks })?.[0]?.findings, ["read of 4 bytes, in add_kernel, of input x, at kernel.py:12", "read of 2 bytes"]);
});

test("each check has its outcome in one line", () => {
  assert.equal(sanitizedText({ sanitized: checks }), "bounds found 2 faults, memcheck not run: needs a GPU, racecheck clean");
  assert.equal(sanitizedText({ sanitized: [] }), "no check ended");
});

test("a verdict without the field has no checks, and a broken element is not recorded", () => {
  for (const verdict of [{}, { sanitized: null }, { sanitized: "clean" }]) assert.equal(sanitizedText(verdict), null);
  assert.deepEqual(sanitizedOf({ sanitized: [null, 7, { check: 1, outcome: "fine", findings: "x" }] }), [{ check: "unnamed", outcome: null, says: "not recorded", findings: [] }]);
});
