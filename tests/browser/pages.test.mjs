// Overview, evidence, compare and data set: real clicks and keys.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser } from "./harness.mjs";
import { pagesWorld, sampleEvidence, sampleVerdict } from "./pages_world.mjs";

let browser;
const world = pagesWorld({ tasks: 24 });
const runs = pagesWorld({ tasks: 60 });
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

const open = (fragment, options = {}) => browser.openWorld("pages", options.world ?? world, { fragment, height: 1000, ...options });
const headline = (tab, name) => tab.text(`.headline:has(h3:text-is("${name}")) .headline-value`);
const whole = (tab) => tab.page.waitForFunction(() => !document.body.innerText.includes("95% interval: …"));
const judged = (rows) => rows.filter((row) => row.kind !== "dataset");

test("the overview has the share of right samples of each source, task by task, and pools no claim", async () => {
  const tab = await open("#/overview");
  const sources = new Set(judged(world.rows).filter((row) => row.standing !== "unknown").map((row) => row.source ?? 0));
  assert.ok(sources.size > 1);
  assert.equal(await tab.page.locator('.headline h3:text-is("Right (fast_0)")').count(), sources.size);
  assert.match(await tab.text("main"), new RegExp(`Pooled over ${sources.size} sources\\.`));
  await whole(tab);
  for (const text of await tab.page.locator(".claim-text").allTextContents()) assert.match(text, /^(unfinished )?source /);
  await tab.close();
});

test("the overview of one source has the share of its right samples", async () => {
  const tab = await open("#/overview?source=0");
  const own = judged(world.rows).filter((row) => (row.source ?? 0) === 0);
  const tasks = Map.groupBy ? Map.groupBy(own, (row) => row.task_id) : group(own);
  const shares = [...tasks.values()].map((rows) => rows.filter((row) => row.standing !== "unknown")).filter((rows) => rows.length > 0).map((rows) => rows.filter((row) => row.standing === "right").length / rows.length);
  const expected = (100 * shares.reduce((sum, share) => sum + share, 0)) / shares.length;
  assert.equal(await headline(tab, "Right (fast_0)"), `${expected.toFixed(1)}%`);
  await tab.close();
});

function group(rows) {
  const tasks = new Map();
  for (const row of rows) tasks.set(row.task_id, [...(tasks.get(row.task_id) ?? []), row]);
  return tasks;
}

test("intervals come after the figures, and the claim with them is copied", async () => {
  const tab = await open("#/overview?source=0");
  await whole(tab);
  assert.match(await tab.text('.headline:has(h3:text-is("Speed-up"))'), /95% interval [\d.]+× to [\d.]+×/);
  const claim = tab.page.locator('.headline:has(h3:text-is("Right (fast_0)")) .claim');
  assert.match(await claim.locator(".claim-text").textContent(), /^(unfinished: )?fast_0 = .*(cluster bootstrap|Wilson).*GPU NVIDIA H200; torch 2\.11\.0\+cu130.*kernelwright 0\.9\.0\.$/);
  await claim.locator("button").click();
  await tab.page.waitForFunction(() => document.querySelector(".claim button").innerText === "Copied");
  await tab.close();
});

test("a filter acts on every chart of the overview", async () => {
  const tab = await open("#/overview");
  const figures = async () => Promise.all((await tab.page.locator("main svg[role=img]").all()).map((svg) => svg.getAttribute("aria-label")));
  await whole(tab);
  const all = await figures();
  assert.ok(all.length >= 6);
  await tab.page.click("summary:has-text('Source')");
  await tab.page.click(".menu[open] label:has-text('base.run')");
  await whole(tab);
  const some = await figures();
  assert.equal(some.length, all.length);
  some.forEach((label, i) => assert.notEqual(label, all[i]));
  assert.equal(await tab.page.locator("table:has(th:text-is('Generation')) tbody tr").count(), 1);
  await tab.close();
});

test("an error class of a chart filters all figures by it, by click and by keys, and clears the filter again", async () => {
  const tab = await open("#/overview");
  const chart = tab.page.locator('figure:has(.chart-title:has-text("Wrong turns by error class"))');
  const link = chart.locator(".legend a").first();
  const word = await link.innerText();
  await link.click();
  assert.equal(new URLSearchParams((await tab.fragment()).split("?")[1]).get("reason"), word);
  assert.match(await tab.text(".filters-count"), /^\d+ of \d+ rows$/);
  await chart.locator(".legend a").first().click();
  assert.equal(new URLSearchParams((await tab.fragment()).split("?")[1] ?? "").get("reason"), null);
  await chart.locator(".chart-plot").focus();
  // The first mark is the topmost part of the first stack, which stands for several classes and has no link.
  for (const key of ["Home", "ArrowRight", "Enter"]) await tab.page.keyboard.press(key);
  assert.ok(new URLSearchParams((await tab.fragment()).split("?")[1]).get("reason"));
  await tab.close();
});

test("the overview says how far its results can be trusted, and what to read first", async () => {
  const tab = await open("#/overview");
  const idle = judged(world.rows).filter((row) => row.status === "correct" && row.counts === false).length;
  assert.ok(idle > 0);
  assert.match(await tab.text("section:has(#guide-true)"), new RegExp(`${idle} correct results? do(es)? not count`));
  await tab.page.click('section:has(#guide-read) a >> nth=0');
  assert.match(await tab.fragment(), /^#\/transcript\//);
  await tab.close();
});

test("arrow keys read out the points of a chart, and Enter opens one", async () => {
  const tab = await open("#/overview");
  const plot = tab.page.locator('.chart:has(h2:has-text("Speed-ups")) .chart-plot');
  await plot.focus();
  await tab.page.keyboard.press("ArrowRight");
  const readout = tab.page.locator('.chart:has(h2:has-text("Speed-ups")) .chart-readout');
  const least = await readout.innerText();
  assert.match(least, /^\d+_\w+: 0\.\d+×/);
  await tab.page.keyboard.press("End");
  assert.notEqual(await readout.innerText(), least);
  await tab.page.keyboard.press("Enter");
  assert.match(await tab.fragment(), /^#\/transcript\/s\d-/);
  await tab.close();
});

test("a chart has its figures as a table", async () => {
  const tab = await open("#/overview");
  const chart = tab.page.locator('.chart:has(h2:has-text("fast_p"))');
  await chart.locator("summary").click();
  assert.equal(await chart.locator("tbody tr").count(), 10);
  assert.match(await chart.locator("tbody tr").nth(3).innerText(), /^1\s+[\d.]+%/);
  await tab.close();
});

test("the best kernel of a task is copied, and opened", async () => {
  const tab = await open("#/overview?source=2");
  const first = tab.page.locator(".best tbody tr").first();
  await first.locator("button").click();
  await tab.page.waitForFunction(() => document.querySelector(".best tbody button").innerText === "Copied");
  await first.locator("a").click();
  assert.match(await tab.fragment(), /^#\/transcript\/v-/);
  await tab.close();
});

test("without a GPU the overview says why there is no speed", async () => {
  const tab = await open("#/overview", { world: pagesWorld({ tasks: 6, gpu: false }) });
  assert.match(await tab.text("main"), /Speed was not measured: no GPU\./);
  for (const name of ["Speed-up", "Right and faster (fast_1)"])
    for (const value of await tab.page.locator(`.headline:has(h3:text-is("${name}")) .headline-value`).allTextContents()) assert.equal(value, "not measured");
  await tab.close();
});

test("samples that have not ended are counted apart and in no share", async () => {
  const row = (key, standing, unfinished = null) => ({ ...judged(world.rows)[0], key, task_id: key, source: 0, standing, status: standing === "right" ? "correct" : "failed", unfinished });
  const rows = [row("a", "right"), row("b", "unknown", true), row("c", "unknown", true)];
  const tab = await open("#/overview", { world: { ...world, rows, turns: [] } });
  assert.equal(await headline(tab, "Right (fast_0)"), "100.0%");
  assert.equal(await headline(tab, "Unfinished"), "2");
  assert.equal(await headline(tab, "Not judged"), "0");
  assert.match(await tab.text("main"), /1 of 1 sample that have ended/);
  assert.match(await tab.page.locator(".claim-text").first().textContent(), /^unfinished: fast_0 = .*1 sample of the 1 that have ended; 2 are unfinished;/);
  await tab.close();
});

test("reports without verdicts, and filters that leave nothing, have a page of their own", async () => {
  const rows = world.rows.filter((row) => row.kind === "dataset");
  const dataset = await open("#/overview", { world: { ...world, rows, turns: [] } });
  await dataset.page.waitForFunction(() => location.hash === "#/dataset");
  assert.ok(!(await dataset.page.locator("nav[aria-label=Pages] a").allInnerTexts()).includes("Table"));
  await dataset.go("#/table");
  assert.match(await dataset.text("main .empty"), /no traces and no verdicts/);
  await dataset.page.click("text=Open the data set.");
  assert.match(await dataset.fragment(), /^#\/dataset/);
  await dataset.close();
  const empty = await open("#/overview", { world: { title: "empty" } });
  assert.match(await empty.text("main"), /This report has no rows/);
  await empty.close();
  const none = await open("#/overview?model=none-of-these");
  assert.match(await none.text("main"), /The filters leave no judged rows/);
  await none.close();
});

/** The evidence page of one verdict. */
const openVerdict = (name, verdict, options = {}) => {
  const rows = [{ source: 0, kind: "verdict", key: "one", task_id: "t" }];
  const details = { one: { kind: "verdict", key: "one", verdict, explained: null } };
  return browser.openWorld(name, { rows, details, sources: [{ name: "x", kind: "verdicts", state: "finished", facts: {}, messages: [] }] }, { fragment: "#/evidence/one", height: 1000, ready: ".parts", ...options });
};
const part = (tab, id) => tab.page.locator(`#part-${id}`);

test("the evidence of a right verdict passes its checks, and a check leads to its part", async () => {
  const tab = await open("#/evidence/v-right");
  const checks = await tab.page.locator(".check").allInnerTexts();
  assert.equal(checks.length, 10);
  assert.match(checks[0], /all 14 passed, largest error 0\.\d+ times the limit/);
  await tab.page.click(".check:has-text('Both clocks')");
  assert.equal(await tab.page.evaluate(() => document.activeElement.id), "part-clocks");
  assert.match(await part(tab, "clocks").innerText(), /The supervisor's clock saw 47\.3 µs a call; at most 87\.6 µs is tolerated/);
  assert.match(await part(tab, "roofline").innerText(), /91\.0%/);
  await tab.close();
});

test("the evidence of a wrong verdict names the first wrong value and its neighbours", async () => {
  const tab = await open("#/evidence/v-wrong");
  const text = await part(tab, "mismatch").innerText();
  assert.match(text, /\[0, 130\]/);
  assert.match(text, /NaN/);
  assert.equal(await part(tab, "mismatch").locator("tbody tr").count(), 9);
  assert.match(await part(tab, "certificate").innerText(), /passes: a right result proves nothing/);
  assert.match(await part(tab, "timing").innerText(), /Speed was not measured: the candidate was not timed\./);
  await tab.close();
});

test("values that differ in the fourth digit are told apart, with their difference and its size over the limit", async () => {
  const verdict = sampleVerdict({ status: "incorrect", evidence: sampleEvidence({ passed: false }) });
  const at = { expected: 0.8151234, actual: 0.8154567 };
  Object.assign(verdict.evidence.first_mismatch, at, { neighbours: [{ index: [0, 130], ...at, wrong: true }] });
  const tab = await openVerdict("close", verdict);
  const text = await part(tab, "mismatch").locator("dl").innerText();
  assert.match(text, /Expected\s+0\.8151234\s+Actual\s+0\.8154567\s+Difference\s+3\.33e\u22124\s+Error over limit\s+1\.84/);
  assert.match(await part(tab, "mismatch").locator("tbody tr").innerText(), /0\.8151234\s+0\.8154567\s+3\.33e\u22124/);
  await tab.close();
});

/** A right verdict on gradients, with the outcomes of --sanitize. */
const withPasses = () => {
  const verdict = sampleVerdict({
    sanitized: [
      { check: "bounds", outcome: "clean", why_not: null, findings: [] },
      { check: "memcheck", outcome: "not_run", why_not: "compute-sanitizer was not found", findings: [] },
    ],
  });
  verdict.timing.segments = { forward: { reference_time_ms: 0.0428, kernel_time_ms: 0.0211, speedup: 2.028 }, backward: { reference_time_ms: 0.042, kernel_time_ms: 0.025, speedup: 1.68 } };
  return verdict;
};

test("the passes of a verdict on gradients stand among its times, and the sanitizers among its checks", async () => {
  const tab = await openVerdict("passes", withPasses());
  const timing = await part(tab, "timing").locator("dl").innerText();
  assert.match(timing, /Forward pass\s+2\.03× \(42\.8 µs to 21\.1 µs\)\s+Backward pass\s+1\.68× \(42\.0 µs to 25\.0 µs\)/);
  await tab.page.click(".check:has-text('Sanitizers')");
  assert.equal(await tab.page.evaluate(() => document.activeElement.id), "part-sanitizers");
  assert.match(await tab.text(".check:has-text('Sanitizers')"), /clean: bounds; not run: memcheck/);
  assert.match(await part(tab, "sanitizers").innerText(), /bounds\s+✓\s+clean\s+memcheck\s+–\s+not run: compute-sanitizer was not found/);
  await tab.accessible();
  await tab.close();
});

test("a finding of a sanitizer names kernel, tensor and place", async () => {
  const verdict = sampleVerdict({ status: "failed" });
  verdict.sanitized = [{ check: "bounds", outcome: "found", why_not: null, findings: [{ kind: "read of 4 bytes", kernel: "relu_sum_kernel", tensor: "input x", place: "kernel.py:9" }] }];
  const tab = await openVerdict("found", verdict);
  assert.match(await tab.text(".check:has-text('Sanitizers')"), /✕\s+bounds: found 1 fault/);
  assert.match(await part(tab, "sanitizers").innerText(), /bounds: read of 4 bytes, in relu_sum_kernel, of input x, at kernel\.py:9/);
  await tab.close();
});

test("a verdict without passes and sanitizers names neither", async () => {
  for (const key of ["v-right", "v-old"]) {
    const tab = await open(`#/evidence/${key}`);
    assert.doesNotMatch(await tab.text("main"), /sanitizer|forward pass/i);
    await tab.close();
  }
});

test("the verdict beside the code names passes and sanitizers too", async () => {
  const tab = await openVerdict("passes in short", withPasses(), { fragment: "#/transcript/one", ready: ".verdict" });
  const facts = await tab.text(".verdict dl");
  assert.match(facts, /Forward pass\s+2\.03×/);
  assert.match(facts, /Sanitizers\s+bounds clean, memcheck not run: compute-sanitizer was not found/);
  await tab.close();
});

test("launches of a verdict without a record are the candidate's own statement, unless a replay made them", async () => {
  const warns = async (trust) => {
    const tab = await openVerdict(`claim ${trust}`, sampleVerdict({ trust }));
    const count = await part(tab, "launches").locator("text=could falsify").count();
    await tab.close();
    return count;
  };
  assert.deepEqual([await warns("replay"), await warns("in-process"), await warns("interpreter")], [0, 1, 1]);
});

test("a missing record has its reason", async () => {
  const says = async (name, verdict) => {
    const tab = await openVerdict(name, verdict);
    const text = await tab.text(".evidence-sentence.mute");
    await tab.close();
    return text;
  };
  assert.match(await says("counts", sampleVerdict()), /--evidence failed, the default, keeps none of a result that counts/);
  assert.match(await says("static", sampleVerdict({ status: "failed", stage: "static" })), /the candidate never ran/);
  assert.match(await says("incorrect", sampleVerdict({ status: "incorrect" })), /--evidence none was set, or an earlier version wrote it/);
});

test("a verdict of the CPU says once what needs a GPU", async () => {
  const verdict = sampleVerdict({ trust: "interpreter", speedup: null, replay: null, triton_share: null, device_time_share: null, timing: { why_null: "no GPU" }, environment: { gpu: null, torch: "2.11.0" } });
  verdict.launches[0].time_ms = null;
  const tab = await openVerdict("cpu", verdict);
  assert.match(await part(tab, "timing").innerText(), /Speed was not measured: no GPU\.\s+Both clocks, the roofline and the facts of a replay need a GPU too/);
  assert.equal(await tab.page.locator("#part-clocks, #part-roofline, .check:has-text('Roofline')").count(), 0);
  assert.doesNotMatch(await part(tab, "launches").innerText(), /not recorded\n|Recordings/);
  assert.match(await part(tab, "launches").locator("svg").first().textContent(), /interpreter/);
  await tab.close();
});

test("the device time of a verdict is shared out by origin", async () => {
  const tab = await openVerdict("shares", sampleVerdict());
  assert.match(await part(tab, "launches").innerText(), /Device time by origin\s+own Triton 78\.0%, library 22\.0%/);
  await tab.close();
});

test("long texts of a verdict make no page wider than a narrow window", async () => {
  const long = "x".repeat(3000);
  const verdict = sampleVerdict({ status: "incorrect", trust: "in-process", timing: { why_null: long, instrument: long }, evidence: { ...sampleEvidence(), decoys: [{ name: long, outcome: "wrong" }], audits: [{ name: long, outcome: "right" }] } });
  verdict.replay.why_not = long;
  verdict.launches[0].name = long;
  verdict.isolation.layers.push(long);
  verdict.environment.gpu = long;
  verdict.timing.segments_why_null = long;
  verdict.sanitized = [{ check: long, outcome: "not_run", why_not: long, findings: [] }, { check: "bounds", outcome: "found", why_not: null, findings: [{ kind: long, kernel: long, tensor: long, place: long }] }];
  const tab = await openVerdict("long", verdict, { width: 400 });
  await tab.fitsWidth();
  await tab.close();
});

test("trials are read out with the keyboard", async () => {
  const tab = await open("#/evidence/v-wrong");
  await part(tab, "trials").locator(".chart-plot").focus();
  await tab.page.keyboard.press("ArrowRight");
  assert.match(await part(tab, "trials").locator(".chart-readout").innerText(), /^Trial 0, correctness by call, inputs given/);
  await tab.close();
});

test("what an old verdict lacks is not recorded, never zero", async () => {
  const tab = await open("#/evidence/v-old");
  for (const id of ["families", "certificate", "decoys", "audits"]) assert.match(await part(tab, id).innerText(), /not recorded/);
  for (const name of ["Reference's largest loss", "Device's events, a call", "Least bytes of a call"])
    assert.equal(await tab.text(`.part dl div:has(dt:has-text("${name}")) dd`), "not recorded");
  assert.equal(await tab.page.locator("#part-mismatch").count(), 0);
  await tab.close();
});

test("a bare verdict has no figure at all", async () => {
  const rows = [{ source: 0, kind: "verdict", key: "bare", task_id: "t" }];
  const details = { bare: { kind: "verdict", key: "bare", verdict: {}, explained: null } };
  const tab = await open("#/evidence/bare", { world: { rows, details, sources: [{ name: "x", kind: "verdicts", state: "finished", facts: {}, messages: [] }] } });
  const facts = await tab.page.locator(".parts dd").allInnerTexts();
  assert.ok(facts.length > 20);
  for (const fact of facts) assert.match(fact, /^(not recorded|–)$/);
  await tab.close();
});

test("each part says what it means, and names its page of the docs", async () => {
  const tab = await open("#/evidence/v-right");
  const entries = tab.page.locator(".meaning");
  assert.equal(await entries.count(), 13);
  await entries.first().locator("summary").click();
  assert.match(await entries.first().innerText(), /above 1 is wrong\. More: docs\/verdict\.md/);
  await tab.close();
});

test("a trace has the evidence of each turn", async () => {
  const row = world.rows.find((one) => one.kind === "trace" && one.turns > 1 && world.details[one.key]);
  const tab = await open(`#/evidence/${row.key}`);
  await tab.page.click(".tabs a:has-text('Turn 1')");
  assert.match(await tab.fragment(), /turn=1/);
  assert.match(await tab.text("h1"), /turn 1$/);
  await tab.page.click("text=Transcript");
  assert.match(await tab.fragment(), new RegExp(`^#/transcript/${row.key}\\?turn=1`));
  await tab.close();
});

test("the timeline has the streams, and launches of unknown start stand in their order", async () => {
  const tab = await open("#/evidence/v-right");
  assert.match(await part(tab, "launches").locator("svg[role=img]").getAttribute("aria-label"), /^4 launches on 2 streams in 47\.0 µs/);
  await tab.go("#/evidence/v-old");
  await tab.page.waitForSelector("h1:has-text('old')");
  assert.match(await part(tab, "launches").locator("svg").first().textContent(), /time of each, in their order \(starts not recorded\)/);
  assert.deepEqual(await part(tab, "launches").locator("thead th").allTextContents(), ["name", "origin", "stream", "time", "grid", "block", "registers", "spills", "shared bytes"]);
  await tab.close();
});

test("an entry that the report lacks says so", async () => {
  const tab = await open("#/evidence/no-such-key", { ready: ".problem" });
  assert.match(await tab.text(".problem"), /no entry with this key/);
  await tab.close();
});

test("compare pairs the tasks of two sources, and swapping turns gains into losses", async () => {
  const tab = await open("#/compare", { world: runs });
  await tab.page.waitForSelector(".compare-words");
  const outcome = async (name) => Number((await tab.text(`table[aria-label="Tasks by outcome"] tr:has(th:has-text("${name}")) .number`)));
  const [better, worse] = [await outcome("better"), await outcome("worse")];
  assert.notEqual(better, worse);
  await tab.page.click("text=Swap");
  await tab.page.waitForFunction(() => location.hash.includes("before=1"));
  await tab.page.waitForSelector(".compare-words");
  assert.deepEqual([await outcome("better"), await outcome("worse")], [worse, better]);
  await tab.close();
});

test("compare lists settings that differ and cases that flipped", async () => {
  const tab = await open("#/compare", { world: runs });
  await tab.page.waitForSelector(".compare-words");
  const settings = await tab.page.locator('[aria-label="Settings that differ"] tbody tr').allInnerTexts();
  assert.deepEqual(settings.map((line) => line.split("\t")[0].trim()), ["adapter", "model", "temperature"]);
  const flips = tab.page.locator('[aria-label="Cases that flipped"] tbody tr');
  assert.match(await flips.first().innerText(), /lost/);
  await flips.first().locator("a").last().click();
  assert.match(await tab.fragment(), /^#\/transcript\/s1-/);
  await tab.close();
});

test("sources without common tasks say so", async () => {
  const tab = await open("#/compare?before=0&after=2");
  assert.match(await tab.text("main"), /No task was judged on both sides/);
  await tab.page.selectOption(".compare-pick select >> nth=1", "0");
  assert.match(await tab.text("main"), /Both sides are the same source/);
  await tab.close();
});

test("the data set has charts of its analysis, views of its rows, and a text filter", async () => {
  const tab = await open("#/dataset");
  assert.match(await tab.text("main"), /Rows by licence/);
  const rows = tab.page.locator('[aria-label="Rows"] tbody tr');
  assert.equal(await rows.count(), 30);
  await tab.page.click("button:has-text('Duplicates 5')");
  assert.equal(await rows.count(), 5);
  assert.match(await tab.fragment(), /show=duplicates/);
  await tab.page.fill('input[aria-label="Find rows"]', "MIT cu2triton");
  assert.equal(await tab.page.locator("text=No rows are left").count(), 1);
  await tab.close();
});

test("a duplicate stands beside its twin, as a difference or side by side", async () => {
  const tab = await open("#/dataset/d-5");
  assert.ok((await tab.page.locator(".line.added").count()) > 0);
  await tab.page.click("text=Show side by side");
  assert.match(await tab.text("main"), /The kept row[\s\S]*This row/);
  await tab.page.click("a:has-text('d-0')");
  assert.match(await tab.fragment(), /^#\/dataset\/d-0/);
  await tab.close();
});

test("a likeness to a benchmark is shown with its place", async () => {
  const tab = await open("#/dataset/d-13");
  assert.match(await tab.text("main"), /resembles a benchmark[\s\S]*level1\/19_ReLU[\s\S]*83\.0%[\s\S]*First place/);
  await tab.close();
});
