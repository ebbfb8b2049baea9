// The transcript: differences, permalinks, the verdict's caret, keys, copying.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser } from "./harness.mjs";
import { explainedOfRecorded, recordedTrace, smallWorld, worldOf } from "./worlds.mjs";

let browser;
const world = smallWorld();
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

const open = (fragment, options = {}) => browser.openWorld("transcript", world, { fragment, ready: ".turn, .problem, .empty", ...options });

test("the first turn shows its code, the others what changed", async () => {
  const tab = await open("#/transcript/recorded");
  await tab.page.waitForSelector(".code-keyword");
  assert.equal(await tab.page.locator("#turn-1 .diff").count(), 0);
  assert.ok((await tab.page.locator("#turn-2 .diff .line.added").count()) > 3);
  const removed = await tab.page.locator("#turn-2 .diff .line.removed .line-text").allInnerTexts();
  assert.ok(removed.some((line) => line.includes("x * y")));
  assert.match(await tab.text("#turn-2 .changes"), /\+\d+ \u2212\d+/);
  await tab.page.click("#turn-2 >> text=Whole code");
  assert.equal(await tab.page.locator("#turn-2 .diff").count(), 0);
  assert.match(await tab.fragment(), /view=code/);
  await tab.close();
});

test("equal lines unfold", async () => {
  const tab = await open("#/transcript/recorded?turn=2");
  const before = await tab.page.locator("#turn-2 .line").count();
  await tab.page.locator("#turn-2 .gap").first().click();
  assert.ok((await tab.page.locator("#turn-2 .line").count()) > before);
  await tab.close();
});

test("a permalink of a line shows it, in changes and in the whole code", async () => {
  for (const view of ["", "&view=code"]) {
    const tab = await open(`#/transcript/recorded?turn=4&field=code&line=12${view}`);
    await tab.page.waitForSelector("#turn-4 .line.target");
    assert.match(await tab.text("#turn-4 .line.target .line-number.after, #turn-4 .line.target a.line-number"), /^12$/);
    assert.ok(await tab.page.locator("#turn-4 .line.target").isVisible());
    const box = await tab.page.locator("#turn-4 .line.target").boundingBox();
    assert.ok(box.y > 0 && box.y < 800, "it is in view");
    await tab.close();
  }
});

test("a click on a line's number is its permalink", async () => {
  const tab = await open("#/transcript/recorded");
  await tab.page.click("#turn-1 a.line-number >> text='9'");
  assert.match(await tab.fragment(), /turn=1&field=code&line=9$/);
  await tab.page.waitForSelector("#turn-1 .line.target");
  await tab.close();
});

test("a permalink of a line of the prompt or of reasoning unfolds it", async () => {
  const tab = await open("#/transcript/recorded?field=prompt&line=3");
  await tab.page.waitForSelector(".message mark.line-mark");
  await tab.go("#/transcript/recorded?turn=1&field=reasoning&line=1");
  await tab.page.waitForSelector("#turn-1 .fold[open] mark.line-mark");
  await tab.close();
});

test("a verdict shows sentence, error, source line with a caret below its column, note and help", async () => {
  const tab = await open("#/transcript/recorded");
  const [explained] = explainedOfRecorded;
  const said = await tab.text("#turn-1 .verdict");
  for (const part of [explained.sentence, explained.error, explained.notes[0], explained.help, "kernel.py:12:34"]) assert.ok(said.includes(part), part);
  const code = recordedTrace().turns[0].triton_code.split("\n")[11];
  const caret = await tab.page.locator("#turn-1 .excerpt .caret b").boundingBox();
  const line = await tab.page.locator("#turn-1 .excerpt .line.flagged .line-text bdi").boundingBox();
  const column = Math.round((caret.x - line.x) / (line.width / code.length)) + 1;
  assert.equal(column, 34);
  await tab.page.click("#turn-1 .excerpt-place a");
  await tab.page.waitForSelector("#turn-1 .line.target");
  assert.equal(await tab.text("#turn-1 .line.target .line-number"), "12");
  await tab.close();
});

test("keys go through turns and rows", async () => {
  const tab = await open("#/transcript/recorded");
  await tab.page.keyboard.press("j");
  await tab.page.keyboard.press("j");
  assert.match(await tab.fragment(), /turn=2/);
  await tab.page.keyboard.press("k");
  assert.match(await tab.fragment(), /turn=1/);
  await tab.page.keyboard.press("d");
  assert.match(await tab.fragment(), /view=code/);
  await tab.page.keyboard.press("n");
  await tab.page.waitForFunction(() => document.querySelector("main h1")?.textContent === "level1/0_relu");
  await tab.page.keyboard.press("p");
  await tab.page.waitForFunction(() => document.querySelector("main h1")?.textContent === "sample/relu_sum");
  await tab.page.keyboard.press("Escape");
  await tab.page.waitForSelector(".table-page");
  await tab.close();
});

test("the code is copied as it is", async () => {
  const tab = await open("#/transcript/recorded");
  await tab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await tab.page.click("#turn-3 >> text=Copy code");
  await tab.page.waitForSelector("#turn-3 >> text=Copied");
  assert.equal(await tab.page.evaluate(() => navigator.clipboard.readText()), recordedTrace().turns[2].triton_code);
  await tab.close();
});

test("a second conversation of a task has turns of its own", async () => {
  const trace = recordedTrace();
  const first = { round: 1, stop_reason: "turns", error: null, turns: structuredClone(trace.turns.slice(0, 2)), explained: [null, null] };
  trace.turns = trace.turns.slice(2).map((turn, i) => ({ ...turn, turn: i + 1 }));
  Object.assign(trace, { round: 2, other_rounds: [first], final_turn: 2 });
  const tab = await browser.openWorld("rounds", worldOf("rounds", [{ name: "a", kind: "run", state: "finished", facts: {}, messages: [] }], [{ key: "k", source: 0, trace }]), {
    fragment: "#/transcript/k",
    ready: ".turn",
  });
  assert.deepEqual(await tab.page.locator(".turn h2").allInnerTexts(), ["Conversation 1, turn 1", "Conversation 1, turn 2", "Conversation 2, turn 1", "Conversation 2, turn 2"]);
  assert.equal(await tab.page.locator("#turn-2\\.1 .diff").count(), 0, "a conversation begins without a turn before");
  await tab.close();
});

test("a verdict of verify has a page without turns", async () => {
  const verdict = recordedTrace().turns[0].result;
  const tab = await browser.openWorld(
    "verdict",
    {
      sources: [{ name: "v.jsonl", kind: "verdicts", state: "finished", facts: {}, messages: [] }],
      rows: [{ source: 0, kind: "verdict", key: "v", task_id: "relu", status: "incorrect" }],
      details: { v: { kind: "verdict", key: "v", verdict, reference_code: "def f(x):\n    return x\n", kernel_code: null, explained: explainedOfRecorded[0] } },
    },
    { fragment: "#/transcript/v", ready: ".turn" },
  );
  assert.match(await tab.text(".turn"), /does not contain the code of this verdict/);
  assert.match(await tab.text(".verdict"), /Values of the output differ/);
  await tab.close();
});

test("answers without code, without a verdict, and without anything", async () => {
  const trace = recordedTrace();
  trace.turns = [
    { turn: 1, reasoning: null, triton_code: null, full_completion: "I cannot.", result: null, feedback_given: null },
    { turn: 2 },
    {},
  ];
  trace.prompt = [];
  const tab = await browser.openWorld("bare", worldOf("bare", [], [{ key: "k", source: 0, trace }]), { fragment: "#/transcript/k", ready: ".turn" });
  assert.equal(await tab.page.locator(".turn").count(), 3);
  assert.match(await tab.text("#turn-1"), /I cannot\./);
  assert.match(await tab.text("#turn-1"), /no verdict/);
  await tab.close();
});

test("long texts come in steps, and the page stays quick", async () => {
  const trace = recordedTrace();
  trace.turns[0].triton_code = Array.from({ length: 60_000 }, (_, i) => `x${i} = ${i}`).join("\n");
  trace.turns[1].triton_code = `y = "${"z".repeat(2_000_000)}"`;
  trace.turns[0].reasoning = "think ".repeat(500_000);
  trace.turns = [...trace.turns, ...Array.from({ length: 200 }, (_, i) => ({ ...trace.turns[2], turn: i + 5 }))];
  const tab = await browser.openWorld("long", worldOf("long", [], [{ key: "k", source: 0, trace }]), { fragment: "#/transcript/k", ready: ".turn" });
  assert.ok((await tab.page.locator("*").count()) < 60_000);
  await tab.page.click("#turn-1 summary:has-text('Reasoning')");
  await tab.page.waitForSelector("#turn-1 >> text=more characters");
  assert.match(await tab.text("#turn-1 .code"), /more lines/);
  await tab.fitsWidth();
  await tab.go("#/transcript/k?turn=1&field=code&line=50000");
  await tab.page.waitForSelector(".line.target");
  await tab.go("#/transcript/k?turn=150");
  await tab.page.waitForSelector("#turn-150");
  await tab.close();
});
