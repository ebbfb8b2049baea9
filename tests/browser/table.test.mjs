// The table: sort, filter, search, keys, and a state that is in the URL alone.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser } from "./harness.mjs";
import { smallWorld } from "./worlds.mjs";

let browser;
const world = smallWorld();
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

const tasks = (tab) => tab.page.locator(".grid-body .task-link").allInnerTexts();
const speedups = async (tab) => (await tab.page.locator(".grid-body .grid-row:not(.hit) .cell b").allInnerTexts()).map((text) => Number.parseFloat(text));
const settled = (tab) => tab.page.waitForTimeout(120);

test("a click on a column sorts by it, the largest number first, and rows without one are last", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table", height: 3000 });
  await tab.page.click('role=columnheader[name="Speed-up"] >> button');
  const values = await speedups(tab);
  assert.ok(values.length > 20);
  assert.deepEqual(values, [...values].sort((a, b) => b - a));
  assert.equal(await tab.page.getAttribute('role=columnheader[name="Speed-up"]', "aria-sort"), "descending");
  const last = tab.page.locator(".grid-body .grid-row").last();
  assert.match(await last.innerText(), /\u2013/);
  await tab.page.click('role=columnheader[name="Speed-up"] >> button');
  assert.deepEqual(await speedups(tab), [...values].sort((a, b) => a - b));
  await tab.close();
});

test("filters act on the table, are in the fragment, and stay on other pages", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table" });
  await tab.page.click("summary:has-text('Level')");
  await tab.page.click(".menu[open] .menu-word >> text='2'");
  const expected = world.rows.filter((row) => row.level === 2).length;
  assert.match(await tab.text(".filters-count"), new RegExp(`^${expected} of ${world.rows.length} rows`));
  assert.match(await tab.fragment(), /level=2/);
  assert.ok((await tasks(tab)).every((task) => task.startsWith("level2/")));
  await tab.page.keyboard.press("Escape");
  await tab.page.click("nav >> text=Contents");
  assert.match(await tab.fragment(), /^#\/contents\?level=2/);
  await tab.page.goBack();
  assert.ok((await tasks(tab)).every((task) => task.startsWith("level2/")));
  await tab.page.click("text=Clear filters");
  assert.equal(await tab.text(".filters-count"), `${world.rows.length} rows`);
  await tab.close();
});

test("a right result that does not count is a status of its own", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table?status=does+not+count" });
  const expected = world.rows.filter((row) => row.status === "correct" && row.counts === false).length;
  assert.equal((await tasks(tab)).length, expected);
  assert.ok(expected > 0);
  await tab.close();
});

test("the text filter needs every word", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table" });
  await tab.page.keyboard.press("/");
  await tab.page.keyboard.type("softmax large");
  await settled(tab);
  const expected = world.rows.filter((row) => row.name === "softmax" && row.model === "large-model").length;
  assert.equal((await tasks(tab)).length, expected);
  assert.match(await tab.fragment(), /q=softmax\+large/);
  await tab.page.keyboard.type(" nothing-has-this");
  await tab.page.waitForSelector("text=No row passes the filters");
  await tab.close();
});

test("the full-text search shows places, each a link to its line", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table?status=incorrect" });
  await tab.page.keyboard.press("f");
  await tab.page.keyboard.type("RELU_PAIR_KERNEL[");
  await tab.page.waitForSelector(".grid-row.hit");
  await tab.page.waitForSelector(".finder-said");
  const first = tab.page.locator(".hit-place").first();
  assert.match(await first.innerText(), /^turn 1, code:\d+$/);
  assert.equal((await tab.text(".hit-text mark")).toLowerCase(), "relu_pair_kernel[");
  const line = (await first.innerText()).split(":")[1];
  await first.click();
  await tab.page.waitForSelector(".line.target");
  assert.equal(await tab.text(".line.target .line-number"), line);
  assert.match(await tab.text(".line.target"), /relu_pair_kernel\[/);
  await tab.page.goBack();
  await tab.page.waitForSelector(".grid-row.hit");
  await tab.close();
});

test("a text that nothing contains is said to be nowhere", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table?find=nowhere_at_all" });
  await tab.page.waitForSelector("text=No row contains this text");
  await tab.close();
});

test("keys move, open, leave, and are listed", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table?sort=speedup&dir=down" });
  const third = (await tasks(tab))[2];
  for (const key of ["j", "j", "j", "k", "ArrowDown"]) await tab.page.keyboard.press(key);
  assert.equal(await tab.text(".grid-row.selected .task-link"), third);
  await tab.page.keyboard.press("Enter");
  await tab.page.waitForSelector("main h1");
  assert.equal(await tab.text("main h1"), third);
  await tab.page.keyboard.press("Escape");
  await tab.page.waitForSelector(".grid-row.selected");
  assert.equal(await tab.text(".grid-row.selected .task-link"), third);
  await tab.page.keyboard.press("?");
  await tab.page.waitForSelector("dialog[open] >> text=Next row");
  await tab.page.keyboard.press("j");
  assert.equal(await tab.text(".grid-row.selected .task-link"), third, "keys wait while the list is open");
  await tab.page.keyboard.press("Escape");
  await tab.page.waitForSelector("dialog", { state: "hidden" });
  await tab.close();
});

test("j at the end of the window scrolls, and the row is drawn", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table" });
  for (let i = 0; i < 50; i++) await tab.page.keyboard.press("j");
  await tab.page.waitForSelector(".grid-row.selected");
  const box = await tab.page.locator(".grid").boundingBox();
  const row = await tab.page.locator(".grid-row.selected").boundingBox();
  assert.ok(row.y >= box.y + 30 && row.y + row.height <= box.y + box.height, "the selected row is in view");
  await tab.close();
});

test("columns are chosen in a menu, and the choice is in the fragment", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table", width: 1000 });
  await tab.page.click("summary:has-text('Columns')");
  await tab.page.click(".menu[open] label:has-text('Licence'), .menu[open] label:has-text('Stopped')");
  assert.match(await tab.fragment(), /columns=/);
  await tab.page.reload();
  await tab.page.waitForSelector('role=columnheader[name="Stopped"]');
  await tab.fitsWidth();
  await tab.close();
});

test("the file alone holds the state: a copied address shows the same", async () => {
  const tab = await browser.openWorld("table", world, { fragment: "#/table?sort=speedup&dir=down&model=large-model&q=level2" });
  const seen = await tasks(tab);
  const other = await browser.open(tab.page.url());
  assert.deepEqual(await tasks(other), seen);
  assert.ok(seen.length > 3);
  await other.close();
  await tab.close();
});

test("an empty report is a page", async () => {
  const { emptyWorld } = await import("./worlds.mjs");
  const tab = await browser.openWorld("empty", emptyWorld(), { fragment: "#/contents" });
  assert.match(await tab.text("main"), /The report has no sources/);
  for (const page of ["overview", "table", "compare", "dataset", "review", "transcript", "evidence", "nothing"]) {
    await tab.go(`#/${page}`);
    await tab.page.waitForSelector("main p, main .empty");
  }
  await tab.close();
});

test("words of a verdict are whole in their columns", async () => {
  const rows = [["illegal_memory_access", "success_correct", 0.08712], ["wrong_value", "max_turns_reached", 1.84]].map(([error_class, stop_reason, speedup], i) => ({ source: 0, kind: "trace", key: `k${i}`, task_id: `t${i}`, status: "failed", error_class, stop_reason, speedup, speedup_low: speedup * 0.98, speedup_high: speedup * 1.02, trust: "interpreter" }));
  const tab = await browser.openWorld("words", { rows, sources: [{ name: "x", kind: "run", state: "finished", facts: {}, messages: [] }] }, { fragment: "#/table", width: 1600, ready: ".grid-row .cell" });
  const cut = await tab.page.locator(".cell").evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent));
  assert.deepEqual(cut, []);
  assert.match(await tab.text(".grid"), /illegal_memory_access/);
  await tab.close();
});

test("the speed-ups of both passes and the sanitizers are columns where a row has them", async () => {
  const row = (key, more) => ({ source: 0, kind: "verdict", key, task_id: key, status: "correct", standing: "right", speedup: 2, ...more });
  const sources = [{ name: "x", kind: "verdicts", state: "finished", facts: {}, messages: [] }];
  const heads = async (name, rows) => {
    const tab = await browser.openWorld(name, { rows, sources }, { fragment: "#/table", width: 1600, ready: ".grid-row .cell" });
    const names = await tab.page.locator("role=columnheader").allInnerTexts();
    const cells = await tab.page.locator(".grid-row .cell").allInnerTexts();
    await tab.close();
    return [names.map((name) => name.trim()), cells];
  };
  const [names, cells] = await heads("passes", [row("a", { forward_speedup: 1.64, backward_speedup: 2.15, sanitized: "bounds clean, memcheck not run" }), row("b", {})]);
  for (const name of ["Forward", "Backward", "Sanitizers"]) assert.ok(names.includes(name), `${name} of ${names}`);
  for (const cell of ["1.64\u00d7", "2.15\u00d7", "bounds clean, memcheck not run"]) assert.ok(cells.includes(cell), cell);
  const [without] = await heads("no passes", [row("b", {})]);
  assert.deepEqual(without.filter((name) => ["Forward", "Backward", "Sanitizers"].includes(name)), []);
});
