import assert from "node:assert/strict";
import { test } from "node:test";
import { Report } from "../src/report";
import { sortRows } from "../src/order";
import { readPlace, statusWord, writePlace } from "../src/state";
import { Table } from "../src/table";
import type { Index } from "../src/format";

const reportOf = (columns: Record<string, unknown>, count: number) => new Report({ rows: { count, columns }, turns: { count: 0, columns: {} }, sources: [] } as unknown as Index);

test("a column of words and a column of values read alike", () => {
  const table = new Table({ count: 3, columns: { a: { words: ["x", "y"], at: [1, -1, 0] }, b: ["y", null, "x"] } });
  for (const name of ["a", "b"]) assert.deepEqual([0, 1, 2].map((row) => table.text(name, row)), ["y", null, "x"]);
});

test("broken columns are null and stop nothing", () => {
  const columns = { short: [1], object: [{}, [], "s"], at: { words: ["x"], at: [9, -7, 0.5] }, none: null, text: "text" };
  const table = new Table({ count: 3, columns } as never);
  assert.deepEqual([0, 1, 2].map((row) => table.value("short", row)), [1, null, null]);
  assert.deepEqual([0, 1, 2].map((row) => table.value("object", row)), [null, null, "s"]);
  for (const name of ["at", "none", "text", "missing", "__proto__", "constructor"]) assert.deepEqual([0, 1, 2].map((row) => table.value(name, row)), [null, null, null]);
  assert.equal(new Table({ count: -1, columns: {} }).count, 0);
  assert.equal(new Table({ count: 1e12, columns: {} }).count, 0);
  assert.equal(new Table({ count: 99_000_000, columns: { a: [1], b: { words: [], at: [0, 0] } } } as never).count, 2);
  assert.equal(new Table(undefined).count, 0);
});

test("rows without a value are last in both directions", () => {
  const of = reportOf({ speedup: [null, 2, 1, null, 3] }, 5);
  const rows = Uint32Array.of(0, 1, 2, 3, 4);
  assert.deepEqual([...sortRows(of, rows, "speedup", false)], [2, 1, 4, 0, 3]);
  assert.deepEqual([...sortRows(of, rows, "speedup", true)], [4, 1, 2, 0, 3]);
});

test("statuses sort by what a reader looks at first", () => {
  const of = reportOf({ status: ["correct", "failed", "correct", "incorrect"], counts: [true, null, false, null] }, 4);
  assert.deepEqual([...sortRows(of, Uint32Array.of(0, 1, 2, 3), "status", false)].map((row) => statusWord(of, row)), ["failed", "incorrect", "does not count", "correct"]);
});

test("two rows with one key: the first one is found", () => {
  const of = reportOf({ key: ["k", "k", null] }, 3);
  assert.equal(of.rowOf("k"), 0);
  assert.equal(of.rowOf("other"), null);
});

test("a fragment is read as it was written", () => {
  const params = new URLSearchParams([["status", "does not count"], ["status", ""], ["q", "a&b=c#?/%"]]);
  const place = { page: "transcript", parts: ["a/b ?#%\u202e"], params };
  const read = readPlace(writePlace(place));
  assert.deepEqual([read.page, read.parts, [...read.params]], [place.page, place.parts, [...params]]);
});

test("a fragment of anything else is no error", () => {
  for (const fragment of ["", "#", "#/", "#%", "#/table?%&=&&", "#/%E0%A4%A/x", "#/__proto__"]) assert.equal(typeof readPlace(fragment).page, "string");
  assert.equal(readPlace("").page, "overview");
});
