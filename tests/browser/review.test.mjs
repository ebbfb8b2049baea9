// Human review with the real program: keys, a kill of the server, a resumed queue, two reviewers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { ROOT } from "./fixture.mjs";
import { Browser, LOOKS, nameOfLook } from "./harness.mjs";

const PROGRAM = process.env.KERNELWRIGHT ?? join(ROOT, "build/kernelwright");

/** `kernelwright view` on a file; `start` again keeps the port. */
class View {
  constructor(path, ...words) {
    Object.assign(this, { path, words, port: 0 });
  }

  async start() {
    this.process = spawn(PROGRAM, ["view", this.path, "--port", String(this.port), ...this.words], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(createInterface(this.process.stdout), "line");
    this.url = line;
    this.port = Number(new URL(line).port);
    return this;
  }

  async end(signal) {
    this.process.kill(signal);
    await once(this.process, "exit");
  }
}

const CODE = (number) => `import triton\n\n\ndef triton_kernel_wrapper(x):\n    return x * ${number}  # <img src=x onerror=alert(1)>\n`;

/** Answers to six tasks, as `run` exports them. */
function traces() {
  return [1, 2, 3, 4, 5, 6].map((number) => ({
    sample_key: `task_${number}`,
    sample_number: 0,
    source: "sample",
    level: null,
    name: `task_${number}`,
    task_id: `task_${number}`,
    pytorch_code: "import torch\n\n\ndef reference_impl(x):\n    return x\n",
    turns: [{ turn: 1, reasoning: null, triton_code: CODE(number), full_completion: "```python\n" + CODE(number) + "```", result: null, feedback_given: null }],
    num_turns: 1,
    stop_reason: "max_turns_reached",
  }));
}

let browser;
let view;
let log;
before(async () => {
  browser = await Browser.start();
  const path = browser.path("traces.json");
  writeFileSync(path, JSON.stringify(traces()));
  log = `${path}.review.jsonl`;
  view = await new View(path, "--review=5").start();
});
after(async () => {
  if (view.process.exitCode === null) await view.end("SIGINT");
  await browser.stop();
});

const stored = () =>
  existsSync(log)
    ? readFileSync(log, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
        .filter((line) => !line.drawn)
    : [];
const progress = (tab) => tab.text(".review-progress");

/** Opens the queue under a name. */
async function begin(name) {
  const tab = await browser.open(view.url, { ready: ".review-start" });
  await tab.page.fill(".review-start input", name);
  await tab.page.keyboard.press("Enter");
  await tab.page.waitForSelector(".review-labels");
  return tab;
}

async function labelled(tab, number) {
  await tab.page.waitForFunction((wanted) => document.querySelector(".review-progress")?.textContent.includes(`${wanted} of 5`), number);
}

test("keys label answers, and each label is on disk at once", async () => {
  const tab = await begin("Ada");
  assert.match(await progress(tab), /0 of 5 labelled/);
  const first = await tab.text(".review-title");
  await tab.page.keyboard.press("n");
  await tab.page.keyboard.type("reads well 4");
  await tab.page.keyboard.press("Escape");
  await tab.page.keyboard.press("1");
  await labelled(tab, 1);
  assert.deepEqual(stored().map(({ label, note, reviewer }) => ({ label, note, reviewer })), [{ label: "good", note: "reads well 4", reviewer: "Ada" }]);
  assert.notEqual(await tab.text(".review-title"), first);
  await tab.page.keyboard.press("4");
  await labelled(tab, 2);
  await tab.page.keyboard.press("u");
  await labelled(tab, 1);
  assert.deepEqual(stored().map(({ label }) => label), ["good", "suspicious", null]);
  await tab.page.keyboard.press("4");
  await labelled(tab, 2);
  await tab.close();
});

test("a killed server goes on with the same queue", async () => {
  const before = await begin("Ada");
  const here = await before.text(".review-title");
  await before.close();
  await view.end("SIGKILL");
  await view.start();
  const tab = await begin("Ada");
  assert.match(await progress(tab), /2 of 5 labelled/);
  assert.equal(await tab.text(".review-title"), here);
  for (const [key, number] of [["2", 3], ["3", 4], ["5", 5]]) {
    await tab.page.keyboard.press(key);
    await labelled(tab, number);
  }
  await tab.page.waitForSelector(".empty");
  assert.match(await tab.text(".empty"), /All answers of this queue are labelled/);
  await tab.close();
});

test("a second reviewer gets the same answers, and both see their agreement", async () => {
  const tab = await begin("Bob");
  assert.match(await progress(tab), /0 of 5 labelled/);
  for (let number = 1; number <= 5; number++) {
    await tab.page.keyboard.press(number === 5 ? "1" : String(number));
    await labelled(tab, number);
  }
  await tab.page.click("text=Compare with other reviewers");
  await tab.page.waitForSelector(".review-kappa");
  assert.match(await tab.text(".review-kappa"), /Ada and Bob\s+4/);
  assert.equal(stored().filter(({ reviewer }) => reviewer === "Bob").length, 5);
  await tab.close();
});

test("the reviewer sees neither status nor findings unless asked", async () => {
  const tab = await begin("Cara");
  assert.equal(await tab.page.locator("main .status").count(), 0);
  await tab.accessible();
  await tab.close();
});

test("a label that cannot be stored is not lost in silence", async () => {
  const tab = await begin("Dan");
  await view.end("SIGKILL");
  await tab.page.keyboard.press("1");
  await tab.page.waitForSelector(".problem");
  assert.match(await tab.text(".problem"), /does not answer/);
  assert.match(await progress(tab), /0 of 5 labelled/);
  await view.start();
  // Without a reload the token is that of the ended server.
  await tab.page.reload();
  await tab.page.waitForSelector(".review-labels");
  await tab.page.keyboard.press("1");
  await labelled(tab, 1);
  await tab.context.close();
});

test("the page fits narrow and wide windows", async () => {
  for (const look of LOOKS) {
    const tab = await browser.open(view.url.split("#")[0], { ...look, fragment: "#/review?count=5&reviewer=Eve", ready: ".review-labels" });
    await tab.page.waitForSelector(".code");
    await tab.fitsWidth();
    await tab.shot(`review_${nameOfLook(look)}`);
    await tab.close();
  }
});
