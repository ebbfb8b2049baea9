// Files that are cut, damaged, oversized, of another format, or in two parts.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { deflateSync } from "node:zlib";
import { writeReport } from "./fixture.mjs";
import { Browser } from "./harness.mjs";
import { smallWorld } from "./worlds.mjs";

let browser;
const world = smallWorld();
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

const spoiled = (name, spoil, options = {}) => browser.openWorld(name, { ...world }, { spoil, ready: ".problem", ...options });
const said = (tab) => tab.text(".problem");

test("an index that inflates to more than it states is refused", async () => {
  const tab = await spoiled("bomb", (parts) => {
    parts.indexStored = deflateSync(Buffer.alloc(32 << 20, 32));
    parts.indexBytes = 1000;
  });
  assert.match(await said(tab), /index cannot be read: .*more than its stated 1000 bytes/);
  await tab.close();
});

test("an index without a length, no JSON, or of another format is refused", async () => {
  const cases = [
    ["length", (parts) => (parts.indexBytes = "x"), /does not state its length/],
    ["json", (parts) => (parts.index = Buffer.from("{")), /cannot be read/],
    ["null", (parts) => (parts.index = Buffer.from("null")), /is not an index/],
    ["later", (parts) => (parts.index.schema = "kernelwright.report/2"), /another format/],
    ["chunk", (parts) => (parts.index.chunks[0].raw_bytes = 1e15), /does not state its length/],
    ["base64", (parts) => (parts.indexStored = Buffer.from("")), /cannot be read/],
  ];
  for (const [name, spoil, expected] of cases) {
    const tab = await spoiled(`index ${name}`, spoil);
    assert.match(await said(tab), expected, name);
    await tab.close();
  }
});

test("a page without a report says so", async () => {
  const path = browser.path("none.html");
  writeReport(path, world, { spoil: (parts) => (parts.cut = 1) });
  writeFileSync(path, readFileSync(path, "utf8").replace("<</body>", "</body>"));
  const tab = await browser.open(`file://${path}`, { ready: ".problem" });
  assert.match(await said(tab), /contains no report/);
  await tab.close();
});

test("index columns of wrong types leave a page that works", async () => {
  const tab = await browser.openWorld("types", { ...world }, {
    fragment: "#/table",
    spoil: ({ index }) => {
      Object.assign(index.rows.columns, { speedup: "fast", level: { words: 3, at: null }, status: [1, {}, null], turns: [[]] });
      Object.assign(index, { sources: [null, 5, { name: {}, messages: "m", facts: [] }], contents: [], words: [], summary: null, turns: null, title: 7 });
    },
  });
  await tab.page.waitForSelector(".grid-row .task-link");
  for (const page of ["contents", "table?sort=status", "transcript/recorded"]) {
    await tab.go(`#/${page}`);
    assert.equal(await tab.page.locator(".problem").count(), 0, page);
  }
  await tab.close();
});

test("a damaged chunk is named, and the others can be read", async () => {
  const cases = [
    ["sha", ({ index }) => (index.chunks[0].sha256 = "0".repeat(64)), /chunk 0 .*SHA-256/],
    ["long", ({ index }) => (index.chunks[0].raw_bytes = 100), /chunk 0 .*more than its stated 100 bytes/],
    ["cut", ({ stored }) => (stored[0] = stored[0].subarray(0, 100)), /chunk 0 /],
    ["gone", ({ stored }) => stored.pop(), null],
  ];
  for (const [name, spoil, expected] of cases) {
    const last = name === "gone";
    const tab = await spoiled(`chunk ${name}`, spoil, { fragment: `#/transcript/${last ? encodeURIComponent("second/23") : "recorded"}` });
    if (expected) assert.match(await said(tab), expected, name);
    else assert.match(await said(tab), /the file ends before it/);
    await tab.go(`#/transcript/${last ? "recorded" : encodeURIComponent("second/23")}`);
    await tab.page.waitForSelector(".turn");
    await tab.go("#/table?find=relu");
    await tab.page.waitForSelector(".finder .problem");
    await tab.close();
  }
});

test("a place outside of its chunk, and a line that is no detail, are refused", async () => {
  for (const [column, value, expected] of [
    ["offset", 1e9, /outside of chunk/],
    ["bytes", 3, /JSON/],
    ["chunk", 99, /no chunk 99/],
    ["chunk", null, /does not contain the details/],
  ]) {
    const tab = await spoiled(`place ${column}`, ({ index }) => (index.rows.columns[column][0] = value), { fragment: "#/transcript/recorded" });
    assert.match(await said(tab), expected);
    await tab.close();
  }
});

test("a link of another report says so", async () => {
  const tab = await browser.openWorld("small", world, { fragment: "#/transcript/unknown" });
  assert.match(await tab.text(".empty"), /no row with this key/);
  await tab.close();
});

test("report.kwdata is taken when it is chosen, and refused when it is another file", async () => {
  const data = browser.path("report.kwdata");
  const tab = await browser.openWorld("two", { ...world }, { dataFile: data, fragment: "#/transcript/recorded", ready: ".drop" });
  await tab.page.waitForSelector(".problem >> text=second file");
  const input = tab.page.locator("input[type=file]");
  const bytes = readFileSync(data);
  await input.setInputFiles({ name: "a.kwdata", mimeType: "", buffer: Buffer.from("another file") });
  await tab.page.waitForSelector("text=does not begin as report data");
  await input.setInputFiles({ name: "a.kwdata", mimeType: "", buffer: bytes.subarray(0, 5000) });
  await tab.page.waitForSelector("text=this file has 5000 bytes");
  await input.setInputFiles(data);
  await tab.page.waitForSelector(".turn");
  assert.equal(await tab.page.locator(".drop").count(), 0);
  await tab.go("#/table?find=relu_pair_kernel");
  await tab.page.waitForSelector(".grid-row.hit");
  await tab.close();
});

test("report.kwdata is taken when it is dropped on the page", async () => {
  const data = browser.path("dropped.kwdata");
  const tab = await browser.openWorld("drop", { ...world }, { dataFile: data, fragment: "#/transcript/recorded", ready: ".drop" });
  const text = readFileSync(data).toString("base64");
  const transfer = await tab.page.evaluateHandle((base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "report.kwdata"));
    return transfer;
  }, text);
  await tab.page.dispatchEvent("main", "drop", { dataTransfer: transfer });
  await tab.page.waitForSelector(".turn");
  await tab.close();
});

test("data that were changed since are refused by their SHA-256", async () => {
  const data = browser.path("changed.kwdata");
  const tab = await browser.openWorld("changed", { ...world }, {
    dataFile: data,
    fragment: "#/transcript/recorded",
    ready: ".drop",
    spoil: ({ index }) => (index.chunks[0].sha256 = "f".repeat(64)),
  });
  await tab.page.locator("input[type=file]").setInputFiles(data);
  await tab.page.waitForSelector("text=its SHA-256 is not the stated one");
  await tab.close();
});
