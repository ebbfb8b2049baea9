// Overview, evidence, compare and data set on data of the wrong shape: any value may be missing, of another type, not finite,
// very long, or markup. The page stays whole: its frame is there, nothing is wider than the window, the console is silent.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser } from "./harness.mjs";
import { pagesWorld, sampleEvidence, sampleVerdict } from "./pages_world.mjs";
import { dice } from "./worlds.mjs";

let browser;
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

const LONG = "x".repeat(1 << 20);
const STRANGE = [LONG, null, undefined, "NaN", "nan", "-inf", "", 0, -1, -0.5, 1e308, -1e308, 5e-324, 2 ** 53, true, false, [], {}, [[]], [null], { value: 1 }, "<img src=x onerror=window.__ran=1>", "\u202eabc\u200b", "__proto__", Array(2000).fill(1e9), Array(3000).fill({ name: 1 })];

/** A copy in which about one in `every` values is another one. */
function spoilt(value, random, every, from = STRANGE) {
  if (random() * every < 1) return from[Math.floor(random() * from.length)];
  if (Array.isArray(value)) return value.map((one) => spoilt(one, random, every, from));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, spoilt(one, random, every, from)]));
  return value;
}

async function whole(tab, what) {
  await tab.page.waitForTimeout(60);
  const found = await tab.page.evaluate(() => ({
    ran: window.__ran ?? 0,
    frame: document.querySelectorAll("header.top, main.page").length,
    empty: document.querySelector("main").innerText.trim() === "",
    images: document.querySelectorAll("main img, main script, main iframe").length,
    numbers: document.querySelector("main").innerText.match(/.*(NaN%|NaN×|NaN ms|Infinity|undefined|\[object).*/)?.[0] ?? null,
    drawing: [...document.querySelectorAll("main svg *")].find((one) => [...one.attributes].some((attribute) => /NaN|undefined|Infinity/.test(attribute.value)))?.outerHTML.slice(0, 200) ?? null,
  }));
  assert.deepEqual(found, { ran: 0, frame: 2, empty: false, images: 0, numbers: null, drawing: null }, what);
  await tab.fitsWidth();
}

const KINDS = ["verdicts"];
const source = (name) => ({ name, kind: KINDS[0], state: "finished", facts: { seed: 1 }, messages: [] });

test("evidence of spoilt verdicts is drawn as far as it goes", async () => {
  const rows = [];
  const details = {};
  for (let i = 0; i < 36; ++i) {
    const random = dice(i + 1);
    const status = i % 2 ? "correct" : "incorrect";
    const verdict = sampleVerdict({ status, evidence: sampleEvidence({ passed: i % 2 === 1 }) });
    const key = `v${i}`;
    rows.push({ source: 0, kind: "verdict", key, task_id: `t${i}` });
    details[key] = { kind: "verdict", key, verdict: { ...spoilt(verdict, random, 4 + 3 * (i % 12)), evidence: i % 5 ? spoilt(verdict.evidence, random, 8 + 4 * (i % 9)) : STRANGE[i % STRANGE.length] }, explained: spoilt({ sentence: "s", notes: [] }, random, 3) };
  }
  const tab = await browser.openWorld("spoilt", { rows, details, sources: [source("x")] }, { fragment: "#/evidence/v0", width: 800 });
  for (const { key } of rows) {
    await tab.go(`#/evidence/${key}`);
    await whole(tab, key);
    assert.equal(await tab.page.locator(".problem:has-text('damaged')").count(), 0, key);
  }
  await tab.close();
});

test("columns of the wrong type are drawn as far as they go", async () => {
  // Long texts are shorter here: there are thousands of values, and a report is read as a whole.
  const from = ["x".repeat(5000), ...STRANGE.slice(1)];
  for (let round = 0; round < 4; ++round) {
    const random = dice(100 + round);
    const world = pagesWorld({ tasks: 5, samples: 2 });
    const rows = world.rows.map((row) => ({ ...spoilt(row, random, 6, from), key: row.key, kind: row.kind, source: row.source }));
    const turns = world.turns.map((turn) => ({ ...spoilt(turn, random, 6, from), row: turn.row }));
    const datasets = [spoilt(world.datasets[0], random, 5, from), STRANGE[round], spoilt(world.datasets[0], random, 12, from)];
    const summary = spoilt({ fast_p: [{ p: 1, share: 0.5, low: 0.4, high: 0.6, at_least: 0.5, at_most: 0.5 }], geometric_mean_speedup: { value: 1.5 }, right_by_turn: [{ turn: 1, samples: 4, right: 2, share: 0.5 }], claims: [{ figure: "fast_0", text: "x" }] }, random, 4);
    const details = Object.fromEntries(Object.entries(world.details).map(([key, detail]) => [key, { ...spoilt(detail, random, 20, from), kind: detail.kind, key }]));
    const tab = await browser.openWorld(`columns ${round}`, { ...world, rows, turns, datasets, summary, details }, { fragment: "#/overview", width: 500 });
    for (const fragment of ["#/overview", "#/overview?source=0", "#/compare", "#/compare?before=1&after=0", "#/dataset", "#/dataset?show=leaks", "#/dataset/d-5", "#/dataset/d-13", "#/evidence/s0-000-0", "#/evidence/s1-001-1"]) {
      await tab.go(fragment);
      await whole(tab, `${round} ${fragment}`);
    }
    await tab.close();
  }
});

test("places of the URL that name nothing are empty pages", async () => {
  const tab = await browser.openWorld("places", pagesWorld({ tasks: 2 }), { fragment: "#/evidence" });
  for (const fragment of ["#/evidence", "#/evidence/v-right?turn=7", "#/evidence/d-1", "#/dataset/v-right", "#/compare?before=x&after=-1", "#/compare?before=99", "#/dataset?show=toString", "#/overview?level=__proto__"]) {
    await tab.go(fragment);
    await whole(tab, fragment);
  }
  await tab.close();
});
