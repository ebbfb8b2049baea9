// The page on HTTP: index, details, search and changes as docs/report_format.md describes them, by a server of the test.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { indexOf, shell } from "./fixture.mjs";
import { Browser } from "./harness.mjs";
import { derived, smallWorld, rowOfTrace, turnsOfTrace } from "./worlds.mjs";

let browser;
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

/** Serves a world; `grow(n)` adds traces and says so. */
class View {
  static async start(world = smallWorld()) {
    const view = new View();
    Object.assign(view, { world, version: 1, listeners: new Set(), asked: [] });
    view.server = createServer((request, response) => view.answer(request, response));
    await new Promise((done) => view.server.listen(0, "127.0.0.1", done));
    view.url = `http://127.0.0.1:${view.server.address().port}/`;
    return view;
  }

  async stop() {
    for (const response of this.listeners) response.end();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  answer(request, response) {
    const url = new URL(request.url, this.url);
    this.asked.push(`${request.method} ${url.pathname}`);
    const json = (value, headers = {}) => {
      response.writeHead(200, { "Content-Type": "application/json", ...headers });
      response.end(JSON.stringify(value));
    };
    if (this.broken) {
      response.writeHead(500);
      return response.end("the database is locked");
    }
    if (url.pathname === "/") {
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
      return response.end(shell({ head: '<meta name="kernelwright-live" content="token">\n', connect: "'self'" }));
    }
    if (url.pathname === "/api/index") {
      const tag = `"${this.version}"`;
      if (request.headers["if-none-match"] === tag) {
        response.writeHead(304);
        return response.end();
      }
      return json(indexOf(this.world, []), { ETag: tag });
    }
    if (url.pathname === "/api/detail") return json(this.world.details[url.searchParams.get("key")]);
    if (url.pathname === "/api/search") {
      response.writeHead(200, { "Content-Type": "application/x-ndjson" });
      for (const key of Object.keys(this.world.details).slice(0, 3)) response.write(`${JSON.stringify({ key, turn: 1, field: "code", line: 2, text: `found ${url.searchParams.get("text")}` })}\n`);
      return response.end();
    }
    if (url.pathname === "/api/events") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(": hello\n\n");
      this.listeners.add(response);
      return request.on("close", () => this.listeners.delete(response));
    }
    response.writeHead(404);
    response.end();
  }

  grow(number) {
    for (let i = 0; i < number; i++) {
      const key = `grown ${this.world.rows.length}`;
      const trace = derived(500 + this.world.rows.length);
      this.world.turns.push(...turnsOfTrace(trace, this.world.rows.length));
      this.world.rows.push(rowOfTrace(trace, 0, key));
      this.world.details[key] = { kind: "trace", key, trace, explained: [] };
    }
    this.version++;
    const data = JSON.stringify({ version: this.version, rows: this.world.rows.length, state: "unfinished" });
    for (const response of this.listeners) response.write(`event: changed\ndata: ${data}\n\n`);
  }
}

const until = async (found, what) => {
  for (let i = 0; i < 200; i++) {
    if (await found()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail(what);
};

test("the page grows with its run, and the selected row and the filter stay", async () => {
  const view = await View.start();
  const tab = await browser.open(view.url, { fragment: "#/table?level=1" });
  await tab.page.keyboard.press("j");
  const selected = await tab.text(".grid-row.selected .task-link");
  const rows = view.world.rows.length;
  await until(() => view.listeners.size > 0, "the page listens for changes");
  view.grow(12);
  await tab.page.waitForFunction((count) => document.querySelector(".filters-count").textContent.includes(`of ${count} rows`), rows + 12);
  assert.equal(await tab.text(".grid-row.selected .task-link"), selected);
  assert.match(await tab.fragment(), /level=1/);
  await tab.close();
  await view.stop();
});

test("a run that goes on is said to be live, with the samples that ended, until it ends", async () => {
  const view = await View.start();
  const [first, ...others] = view.world.sources;
  first.state = "unfinished";
  for (const source of others) source.state = "finished";
  const own = view.world.rows.filter((row) => row.source === 0);
  own[0].stop_reason = null;
  const tab = await browser.open(view.url, { fragment: "#/table" });
  const ended = own.filter((row) => row.stop_reason != null).length;
  assert.ok(ended > 0 && ended < own.length);
  assert.equal(await tab.text(".live"), `Live ${ended} of ${own.length} samples ended`);
  await until(() => view.listeners.size > 0, "the page listens for changes");
  first.state = "finished";
  view.grow(0);
  await tab.page.waitForSelector(".live", { state: "detached" });
  await tab.close();
  await view.stop();
});

test("details and places come from the server", async () => {
  const view = await View.start();
  const tab = await browser.open(view.url, { fragment: "#/transcript/recorded", ready: ".turn" });
  assert.match(await tab.text("h1"), /relu_sum/);
  await tab.go("#/table?find=anything");
  await tab.page.waitForSelector(".grid-row.hit");
  assert.match(await tab.text(".hit-text"), /found anything/);
  assert.equal(view.asked.filter((one) => one === "GET /api/index").length, 1);
  await tab.close();
  await view.stop();
});

test("a transcript that is open grows a turn without losing its place", async () => {
  const view = await View.start();
  const whole = view.world.details.recorded.trace.turns;
  view.world.details.recorded.trace.turns = whole.slice(0, 2);
  const tab = await browser.open(view.url, { fragment: "#/transcript/recorded?turn=2", ready: ".turn" });
  await tab.page.click("#turn-2 summary:has-text('Feedback')");
  assert.equal(await tab.page.locator(".turn").count(), 2);
  await until(() => view.listeners.size > 0, "the page listens for changes");
  view.world.details.recorded.trace.turns = whole;
  view.grow(0);
  await tab.page.waitForSelector("#turn-4");
  assert.ok(await tab.page.locator("#turn-2 .fold[open]").count(), "what was unfolded stays so");
  await tab.close();
  await view.stop();
});

test("a server that fails or goes away is named, and what was read stays", async () => {
  const view = await View.start();
  const tab = await browser.open(view.url, { fragment: "#/table" });
  await until(() => view.listeners.size > 0, "the page listens for changes");
  view.broken = true;
  view.grow(1);
  await tab.page.waitForSelector(".problem >> text=the database is locked");
  assert.ok(await tab.page.locator(".grid-row").count());
  view.broken = false;
  view.grow(1);
  await tab.page.waitForSelector(".problem", { state: "detached" });
  await view.stop();
  await tab.go("#/transcript/recorded");
  await tab.page.waitForSelector(".problem >> text=does not answer");
  // The browser itself reports requests that fail.
  const others = tab.errors.filter((error) => !/Failed to load resource|ERR_CONNECTION|net::/.test(error));
  tab.errors.length = 0;
  assert.deepEqual(others, []);
  await tab.close();
});
