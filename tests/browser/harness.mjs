// Opens reports in Debian's Chromium: real clicks and keys. An error on the console fails the test.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, writeReport } from "./fixture.mjs";

const require = createRequire(join(ROOT, "web/package.json"));

/** playwright-core refuses Node 18, Debian 12's, in a module that does nothing else; what is used of it here works there. */
function acceptNode18() {
  if (Number(process.versions.node.split(".")[0]) >= 20) return;
  const path = join(ROOT, "web/node_modules/playwright-core/lib/bootstrap.js");
  require.cache[path] = { id: path, filename: path, loaded: true, children: [], paths: [], exports: { processExit: (code) => process.exit(code) } };
}
acceptNode18();
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Where screenshots go; null: none are taken. */
export const SHOTS = process.env.KW_SCREENSHOTS ?? null;

const EXECUTABLE = process.env.KW_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);

export class Browser {
  static async start() {
    assert.ok(EXECUTABLE, "Chromium is missing: scripts/packages.sh web installs it");
    const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    const one = new Browser();
    one.idle = [];
    one.browser = await chromium.launch({ executablePath: EXECUTABLE, args });
    one.folder = mkdtempSync(join(tmpdir(), "kernelwright-browser-"));
    return one;
  }

  async stop() {
    await this.browser.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  path(name) {
    return join(this.folder, name);
  }

  /** Writes a world as NAME.html, once, and opens it. */
  async openWorld(name, world, options = {}) {
    const path = this.path(`${name}.html`);
    if (this.written?.get(name) !== world || options.spoil) writeReport(path, world, options);
    (this.written ??= new Map()).set(name, world);
    return this.open(`file://${path}`, options);
  }

  /** Opens an address. `errors` of the tab has what the console and the page reported. */
  async open(url, { width = 1200, height = 800, dark = false, fragment = "", ready = "main h1, main h2, main .table-page, main .empty, .problem", reducedMotion = "reduce", init = null } = {}) {
    // A new tab costs a new process: tabs of files are used again.
    const pooled = url.startsWith("file:") && !init;
    const page = (pooled && this.idle.pop()) || (await (await this.browser.newContext()).newPage());
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: dark ? "dark" : "light", reducedMotion });
    page.setDefaultTimeout(15_000);
    if (init) await page.addInitScript(init);
    const errors = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("dialog", (dialog) => {
      errors.push(`a dialog opened: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!request.url().startsWith("file:") && !request.url().startsWith("data:") && !request.url().startsWith("blob:") && !request.url().startsWith(url.slice(0, 16))) errors.push(`a request to ${request.url()}`);
    });
    const tab = new Tab(page, errors, pooled ? this.idle : null);
    await page.goto(url + fragment);
    if (ready) await page.waitForSelector(ready);
    return tab;
  }
}

export class Tab {
  constructor(page, errors, idle) {
    Object.assign(this, { page, context: page.context(), errors, idle });
  }

  async close() {
    if (this.idle) {
      await this.page.goto("about:blank");
      this.page.removeAllListeners();
      await this.context.clearPermissions();
      this.idle.push(this.page);
    } else await this.context.close();
    assert.deepEqual(this.errors, [], "the console is silent");
  }

  async go(fragment) {
    await this.page.evaluate((to) => {
      location.hash = to;
    }, fragment);
    await this.page.waitForTimeout(50);
  }

  fragment() {
    return this.page.evaluate(() => location.hash);
  }

  text(selector) {
    return this.page.locator(selector).first().innerText();
  }

  /** No part of the page is wider than the window. */
  async fitsWidth() {
    const { wide, window } = await this.page.evaluate(() => ({ wide: document.documentElement.scrollWidth, window: innerWidth }));
    if (wide > window) {
      const wider = await this.page.evaluate(() =>
        [...document.querySelectorAll("body *")]
          .filter((each) => !each.closest(".scroll-x") && each.checkVisibility())
          .map((each) => ({ right: Math.round(each.getBoundingClientRect().right), name: `${each.tagName} ${each.className} "${each.textContent.slice(0, 60)}"` }))
          .sort((a, b) => b.right - a.right)
          .slice(0, 4)
          .map((each) => `${each.right}: ${each.name}`),
      );
      assert.fail(`the page is ${wide} pixels wide in a window of ${window}: ${wider.join("; ")}`);
    }
  }

  /** Findings of axe-core that are serious or critical, landmarks of the same name, and pages without a heading. */
  async accessible() {
    // The page's policy refuses scripts that are not its own, so axe runs in the debugger's world.
    const session = await this.context.newCDPSession(this.page);
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
      assert.ok(!exceptionDetails, exceptionDetails?.exception?.description);
      return result.value;
    };
    await evaluate(`${AXE};0`);
    const found = await evaluate(`axe.run(document, {resultTypes: ["violations"], iframes: false}).then((all) => all.violations
      .filter((one) => one.impact === "serious" || one.impact === "critical" || ["landmark-unique", "page-has-heading-one"].includes(one.id))
      .map((one) => one.id + ": " + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + " " + (node.any[0]?.message ?? "")).join(" | ")))`);
    await session.detach();
    assert.deepEqual(found, []);
  }

  /** A screenshot of the window as NAME.png, where they are wanted. */
  async shot(name, { full = false } = {}) {
    if (!SHOTS) return;
    mkdirSync(SHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: full });
  }
}

/** The widths and colours that every page is looked at. */
export const LOOKS = [
  { width: 400, height: 800, dark: false },
  { width: 1600, height: 1000, dark: false },
  { width: 400, height: 800, dark: true },
  { width: 1600, height: 1000, dark: true },
];
/** Axe looks at narrow in light and wide in dark: together they have both layouts and both palettes. */
export const isForAxe = ({ width, dark }) => dark === (width > 400);
export const nameOfLook = ({ width, dark }) => `${width}_${dark ? "dark" : "light"}`;
