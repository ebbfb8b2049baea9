// Reports that the real program wrote, of the repository's own examples.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT } from "./fixture.mjs";
import { Browser, LOOKS, isForAxe, nameOfLook } from "./harness.mjs";

const PROGRAM = process.env.KERNELWRIGHT ?? join(ROOT, "build/kernelwright");
const TRACE = "examples/recorded_gpu/trace.json";
const INPUTS = [TRACE, "examples/recorded_gpu/verdicts.jsonl", "examples/dataset"];
const [TRACE_OF_FILE] = JSON.parse(readFileSync(join(ROOT, TRACE), "utf8"));

let browser;
before(async () => {
  browser = await Browser.start();
  execFileSync(PROGRAM, ["report", ...INPUTS, "--quiet", "--output", browser.path("real.html")], { cwd: ROOT });
});
after(() => browser.stop());

const open = (fragment, options = {}) => browser.open(`file://${browser.path("real.html")}`, { fragment, ...options });
const keyOf = (tab, text) => tab.page.locator(`.grid-body .task-link:has-text("${text}")`).first().getAttribute("href");

test("every page of a real report is drawn, fits, and is accessible", async () => {
  for (const look of LOOKS.filter(isForAxe)) {
    const tab = await open("#/overview", look);
    for (const page of ["overview", "table", "compare", "dataset", "contents"]) {
      await tab.go(`#/${page}`);
      await tab.page.waitForTimeout(150);
      assert.equal(await tab.page.locator(".problem, .empty").count(), 0, page);
      await tab.fitsWidth();
      await tab.accessible();
      await tab.shot(`real_${page}_${nameOfLook(look)}`);
    }
    await tab.close();
  }
});

test("the transcript of a recorded conversation has its four codes as they were recorded", async () => {
  const tab = await open("#/table");
  await tab.go(await keyOf(tab, TRACE_OF_FILE.task_id));
  await tab.page.waitForSelector(".turn");
  assert.equal(await tab.page.locator(".turn").count(), 4);
  await tab.page.click("#turn-4 >> text=Whole code");
  const shown = await tab.page.locator("#turn-4 .code-box .line-text").allInnerTexts();
  assert.deepEqual(shown.map((line) => line.trimEnd()), TRACE_OF_FILE.turns[3].triton_code.trimEnd().split("\n").map((line) => line.trimEnd()));
  assert.match(await tab.text("#turn-1 .verdict-sentence"), /\w/);
  await tab.page.click("#turn-1 .turn-evidence");
  await tab.page.waitForSelector("main h1, main h2");
  assert.equal(await tab.page.locator(".problem").count(), 0);
  await tab.shot("real_evidence");
  await tab.close();
});

test("the text search finds what a recorded answer says", async () => {
  const tab = await open("#/table?find=tl.maximum");
  await tab.page.waitForSelector(".grid-row.hit");
  await tab.page.locator(".hit-place").first().click();
  await tab.page.waitForSelector(".line.target, mark.line-mark");
  assert.match(await tab.text(".line.target, mark.line-mark"), /tl\.maximum/);
  await tab.close();
});

test("a report in two files is opened by choosing the second", async () => {
  execFileSync(PROGRAM, ["report", TRACE, "--quiet", "--split-bytes", "1K", "--output", browser.path("split.html")], { cwd: ROOT });
  const tab = await browser.open(`file://${browser.path("split.html")}`, { fragment: "#/table" });
  await tab.page.waitForSelector(".drop >> text=split.kwdata");
  await tab.page.locator("input[type=file]").setInputFiles(browser.path("split.kwdata"));
  await tab.page.waitForSelector(".drop", { state: "detached" });
  await tab.go(await keyOf(tab, TRACE_OF_FILE.task_id));
  await tab.page.waitForSelector("#turn-4");
  await tab.close();
});

test("the page in the program is the page in the repository", () => {
  const html = readFileSync(browser.path("real.html"), "utf8");
  for (const file of ["report.js", "report.css"]) assert.ok(html.includes(readFileSync(join(ROOT, "web/built", file), "utf8").trimEnd()), file);
});
