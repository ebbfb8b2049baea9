// Times of a large report: node tests/browser/bench.mjs [TRACES] [--check]
// Prints bytes, time to first paint, filter, sort, full-text search and memory; with --check it fails above the limits.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeReport } from "./fixture.mjs";
import { Browser } from "./harness.mjs";
import { largeWorld } from "./worlds.mjs";

const traces = Number(process.argv.slice(2).find((word) => /^\d+$/.test(word)) ?? 10_000);
const LIMITS = { first_paint_ms: 1500, first_rows_ms: 1500, filter_ms: 100, text_filter_ms: 100, sort_ms: 100, search_rare_ms: 5000, search_frequent_ms: 5000, cancel_ms: 250 };

const folder = mkdtempSync(join(tmpdir(), "kernelwright-bench-"));
const path = join(folder, "report.html");
const world = largeWorld(traces);
// Some traces contain a text that the others do not.
for (let i = 0; i < traces; i += 1000) world.details[`k${i}`].trace.turns[1].triton_code += "\n# a_rare_needle\n";
const rawBytes = Object.values(world.details).reduce((sum, detail) => sum + JSON.stringify(detail).length, 0);
writeReport(path, world);

const browser = await Browser.start();
const figures = { traces, turns: world.turns.length, details_bytes: rawBytes, file_bytes: statSync(path).size };

/** The time from a change of the fragment until the page shows `done`, in the page's own clock, with the frame that shows it. */
const timed = (tab, fragment, done) =>
  tab.page.evaluate(
    async ([to, done]) => {
      const begin = performance.now();
      location.hash = to;
      const shown = new Function(`return ${done}`);
      while (!shown()) await new Promise((next) => setTimeout(next, 0));
      await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 0)));
      return performance.now() - begin;
    },
    [fragment, done],
  );

const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const rows = (count) => `document.querySelector(".filters-count")?.textContent.replace(",", "").startsWith("${count} of")`;

/** Runs before the page: notes when its first rows are drawn. */
function watchRows() {
  const look = () => {
    if (document.querySelector(".grid-row .task-link")) requestAnimationFrame(() => (window.__rowsAt = performance.now()));
    else requestAnimationFrame(look);
  };
  look();
}

const paints = [];
const firsts = [];
for (let i = 0; i < 3; i++) {
  const tab = await browser.open(`file://${path}`, { fragment: "#/table", ready: ".grid-row .task-link", init: watchRows });
  const { paint, rowsAt } = await tab.page.evaluate(() => ({ paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime, rowsAt: window.__rowsAt }));
  paints.push(paint);
  firsts.push(rowsAt);
  await tab.close();
}
figures.first_paint_ms = middle(paints);
figures.first_rows_ms = middle(firsts);

const tab = await browser.open(`file://${path}`, { fragment: "#/table", ready: ".grid-row .task-link" });
await tab.page.waitForLoadState("load");
const at = (level) => world.rows.filter((row) => row.level === level).length;
const filter = [];
for (const level of [1, 2, 3, 1, 2]) filter.push(await timed(tab, `#/table?level=${level}`, rows(at(level))));
figures.filter_ms = middle(filter);
const sort = [];
for (const column of ["speedup", "task_id", "status", "completion_tokens"]) sort.push(await timed(tab, `#/table?sort=${column}&dir=down`, `document.querySelector('[aria-sort="descending"]')?.textContent.length > 0`));
figures.sort_ms = middle(sort);
const text = [];
for (const word of ["softmax", "gelu", "relu"]) {
  const left = world.rows.filter((row) => row.name.includes(word)).length;
  text.push(await timed(tab, `#/table?q=${word}`, `document.querySelector(".table-count")?.textContent.replace(",", "") === "${left} rows"`));
}
figures.text_filter_ms = middle(text);
figures.search_rare_ms = await timed(tab, "#/table?find=a_rare_needle", `document.querySelector(".finder-said")`);
figures.search_rare_rows = await tab.page.evaluate(() => document.querySelector(".table-count").textContent);
await tab.go("#/table");
figures.search_frequent_ms = await timed(tab, "#/table?find=tl.store", `document.querySelector(".finder-said")`);
figures.search_frequent_rows = await tab.page.evaluate(() => document.querySelector(".table-count").textContent);
await tab.go("#/table?find=another_text_that_nothing_has");
await tab.page.waitForSelector("progress");
figures.cancel_ms = await tab.page.evaluate(async () => {
  const begin = performance.now();
  [...document.querySelectorAll(".finder button")].find((one) => one.textContent === "Stop").click();
  while (document.querySelector("progress")) await new Promise((next) => setTimeout(next, 0));
  return performance.now() - begin;
});
const open = [];
for (const key of ["k17", "k5000", "k9999"]) open.push(await timed(tab, `#/transcript/${key}`, `document.querySelector(".turn")`));
figures.open_transcript_ms = middle(open);
const session = await tab.context.newCDPSession(tab.page);
await session.send("HeapProfiler.collectGarbage");
figures.heap_bytes = (await session.send("Runtime.getHeapUsage")).usedSize;
await tab.close();
await browser.stop();
rmSync(folder, { recursive: true });

for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(22)} ${typeof value === "number" ? Math.round(value).toLocaleString("en") : value}`);
if (process.argv.includes("--check")) {
  const over = Object.entries(LIMITS).filter(([name, limit]) => figures[name] > limit);
  for (const [name, limit] of over) console.error(`${name} is above its limit of ${limit}`);
  process.exitCode = over.length > 0 ? 1 : 0;
}
