import assert from "node:assert/strict";
import { test } from "node:test";
import { plainPart, searchDetail, searcher } from "../src/search";
import type { Detail } from "../src/format";

const trace = (fields: object, turns: object[] = []) => ({ kind: "trace", key: "k", explained: [], trace: { prompt: [], turns, ...fields } }) as unknown as Detail;
const lines = (...details: Detail[]) => new TextEncoder().encode(details.map((detail) => `${JSON.stringify(detail)}\n`).join(""));
const found = (text: string, chunk: Uint8Array) => [...searcher(text)(chunk)].map((line) => JSON.parse(new TextDecoder().decode(line)) as Detail);

test("the bytes are searched for a part that JSON never escapes", () => {
  assert.equal(plainPart('say "Hello World"\n<b>'), "hello world");
  assert.equal(plainPart("<>\u2028"), "");
  assert.equal(plainPart("\u0130"), "");
  assert.equal(plainPart("na\u00efve_Kernel"), "ve_kernel");
});

test("a line is found once, by upper and lower case alike, and the others are not", () => {
  const chunk = lines(trace({ pytorch_code: "torch.RELU relu" }), trace({ pytorch_code: "gelu" }));
  assert.equal(found("relu", chunk).length, 1);
  assert.equal(found("ReLU", chunk).length, 1);
  assert.equal(found("softmax", chunk).length, 0);
});

test("a text of escaped characters alone is found", () => {
  const chunk = lines(trace({ pytorch_code: 'a < b "q" \u00e4\u2028' }));
  for (const text of ["<", '"q"', "\u00e4", "\u2028"]) assert.equal(found(text, chunk).flatMap((detail) => searchDetail(detail, text)).length, 1, text);
  assert.equal(found("\u00f6", chunk).flatMap((detail) => searchDetail(detail, "\u00f6")).length, 0);
});

test("a place names its turn, field and line", () => {
  const detail = trace({ prompt: [{ role: "user", content: "one\nneedle" }] }, [
    { turn: 1, triton_code: "a\nb\nneedle()", full_completion: "text\n```\na\nb\nneedle()\n```" },
    { turn: 2, feedback_given: "no", result: { error: "the needle broke" } },
  ]);
  assert.deepEqual(
    searchDetail(detail, "Needle").map(({ turn, field, line, text }) => [turn, field, line, text]),
    [
      [null, "prompt", 2, "needle"],
      [1, "code", 3, "needle()"],
      [2, "error", 1, "the needle broke"],
    ],
  );
});

test("a detail has at most 50 places, each of bounded length", () => {
  const hits = searchDetail(trace({ pytorch_code: `${"x".repeat(10_000)} needle ${"y".repeat(10_000)}\n`.repeat(1000) }), "needle");
  assert.equal(hits.length, 50);
  assert.ok(hits.every((hit) => hit.text.length < 200 && hit.text.includes("needle")));
});

test("fields of wrong types are no error", () => {
  for (const broken of [{ prompt: null }, { prompt: [null, 3] }, { turns: null }, { turns: [{}] }, { pytorch_code: 5 }, { other_rounds: [{}] }]) {
    assert.deepEqual(searchDetail({ kind: "trace", key: "k", explained: null, trace: broken } as never, "x"), []);
  }
});
