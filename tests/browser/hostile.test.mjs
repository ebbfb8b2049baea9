// Text that attacks the page, in every field: nothing runs, nothing becomes a link, invisible characters are seen.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser } from "./harness.mjs";
import { explainedOfRecorded, smallWorld } from "./worlds.mjs";

let browser;
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

const RUN = "window.__ran=(window.__ran||0)+1";
export const CORPUS = [
  `<script>${RUN}</script>`,
  `</script><script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `"><svg onload=${RUN}>`,
  `' onmouseover='${RUN}' x='`,
  `<iframe srcdoc="<script>parent.${RUN}</script>">`,
  `<a href="javascript:${RUN}">x</a>`,
  `javascript:${RUN}`,
  `[x](javascript:${RUN})`,
  `data:text/html,<script>${RUN}</script>`,
  "https://example.invalid/track?a=1",
  `<style>@import 'https://example.invalid/x.css';*{display:none}</style>`,
  `<base href="https://example.invalid/"><form action="https://example.invalid/"><input autofocus onfocus=${RUN}></form>`,
  `<!--<script>`,
  `]]><math><mtext></form><form><mglyph><style></math><img src onerror=${RUN}>`,
  `\${${RUN}} {{constructor.constructor('${RUN}')()}} #{7*7}`,
  `<template><script>${RUN}</script></template><noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
  "&lt;script&gt;&#60;img src=x onerror=alert(1)&#62;",
  "\u202egnp.exe \u2066hidden\u2069 \u200bzero\u200dwidth \ufeff \u0000\u0007\u001b[31mred\u001b[0m",
  "\u2028\u2029 line separators",
  "\ud800 half a pair",
  "__proto__ constructor toString",
  "Z\u0351\u0363\u0308\u030a\u0313".repeat(20),
].join(" \n ");

/** Puts the corpus into every string of a value, but those that `keep` names; each keeps its old text in front. */
function poison(value, keep, field = "") {
  if (typeof value === "string") return keep(field) ? value : `${value} ${CORPUS}`;
  if (Array.isArray(value)) return value.map((one) => poison(one, keep, field));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poison(one, keep, name)]));
  return value;
}

/** What must hold of a page that drew the corpus. */
async function harmless(tab, what) {
  await tab.page.waitForTimeout(60);
  const found = await tab.page.evaluate(() => ({
    ran: window.__ran ?? 0,
    links: [...document.querySelectorAll("a[href]")].map((one) => one.getAttribute("href")).filter((href) => !/^#(\/|content$)/.test(href)),
    elements: [...document.querySelectorAll("#app script, #app img, #app iframe, #app style, #app base, #app form, #app object, #app embed, #app math, #app template, #app link, #app meta")].map((one) => one.outerHTML.slice(0, 80)),
    handlers: [...document.querySelectorAll("#app *")].filter((one) => [...one.attributes].some((attribute) => /^on/i.test(attribute.name))).map((one) => one.outerHTML.slice(0, 80)),
    raw: /[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u0000\u001b]/.test(document.getElementById("app").textContent),
    titles: [...document.querySelectorAll("[title],[aria-label]")].filter((one) => /[\u202a-\u202e\u2066-\u2069\u200b]/.test(one.title + (one.getAttribute("aria-label") ?? ""))).map((one) => one.outerHTML.slice(0, 80)),
  }));
  assert.deepEqual(found, { ran: 0, links: [], elements: [], handlers: [], raw: false, titles: [] }, what);
}

function hostileWorld(everything) {
  const world = smallWorld();
  const kept = everything ? ["schema", "kind", "sha256", "key"] : ["schema", "kind", "sha256", "key", "status", "standing", "state", "trust", "stage", "fault", "error_class", "counts_reason", "file"];
  const keep = (field) => kept.includes(field);
  const first = (list) => list.slice(0, 6);
  const details = Object.fromEntries(Object.entries(world.details).slice(0, 6).map(([key, detail]) => [key, poison({ ...detail, explained: explainedOfRecorded }, keep)]));
  const rows = first(world.rows).map((row) => poison(row, keep));
  const turns = world.turns.filter((turn) => turn.row < 6).map((turn) => poison(turn, keep));
  const { title, sources, words, contents, summary } = poison({ title: world.title, sources: world.sources, words: world.words, contents: world.contents, summary: world.summary }, keep);
  const facts = { ...sources[0].facts, [CORPUS]: CORPUS, __proto__x: "a" };
  return { title, sources: [{ ...sources[0], facts, messages: [CORPUS] }, sources[1]], words, contents, summary, rows, turns, details };
}

for (const everything of [false, true]) {
  test(`nothing of the corpus runs on any page${everything ? ", also in words that the page interprets" : ""}`, async () => {
    const tab = await browser.openWorld(`hostile ${everything}`, hostileWorld(everything), { fragment: "#/contents" });
    await harmless(tab, "contents");
    const pages = ["overview", "table", "table?q=script", "table?find=onerror", "transcript/recorded", "transcript/recorded?turn=2&view=code", "transcript/recorded?turn=1&field=reasoning&line=3", "evidence/recorded", "evidence/recorded?turn=2", "compare", "dataset", "review"];
    for (const page of pages) {
      await tab.go(`#/${page}`);
      await tab.page.waitForSelector("main > *");
      await tab.page.evaluate(() => document.querySelectorAll("main details:not([open]) > summary").forEach((one) => one.click()));
      await harmless(tab, page);
      await tab.fitsWidth();
    }
    await tab.page.keyboard.press("?");
    await harmless(tab, "help");
    await tab.page.keyboard.press("Escape");
    await tab.go("#/table");
    for (const menu of await tab.page.locator(".menu > summary").all()) {
      await menu.click();
      await harmless(tab, "menus");
    }
    await tab.close();
  });
}

test("a fragment that attacks is text", async () => {
  const tab = await browser.openWorld("plain", smallWorld(), { fragment: `#/${encodeURIComponent(CORPUS.slice(0, 1000))}` });
  await harmless(tab, "an unknown page");
  for (const place of ["table?q=", "table?find=", "table?sort=", "table?columns=", "table?at=", "transcript/", "transcript/recorded?turn=", "evidence/", "table?status="]) {
    await tab.go(`#/${place}${encodeURIComponent(CORPUS.slice(0, 2000).replace(/\p{Surrogate}/gu, ""))}`);
    await harmless(tab, place);
  }
  for (const place of ["constructor", "__proto__", "toString/valueOf", "transcript/__proto__", "%", "%E0%A4%A", "transcript/%ff?turn=1e309&line=-5&field=code"]) {
    await tab.go(`#/${place}`);
    await harmless(tab, place);
  }
  await tab.close();
});

test("characters that turn the direction of code are seen", async () => {
  const world = smallWorld();
  world.details.recorded.trace.turns[0].triton_code = "access = 'user\u202e \u2066# check\u2069 \u2066'\nx\u200b = 1\n";
  const tab = await browser.openWorld("direction", world, { fragment: "#/transcript/recorded", ready: ".turn" });
  const marks = await tab.page.locator("#turn-1 .code .invisible").allInnerTexts();
  assert.deepEqual(marks, ["U+202E", "U+2066", "U+2069", "U+2066", "U+200B"]);
  await tab.close();
});

test("the page keeps the program's policy: no script, style or request of another origin", async () => {
  const tab = await browser.openWorld("policy", smallWorld(), { fragment: "#/contents" });
  const results = await tab.page.evaluate(async () => {
    const element = document.createElement("div");
    const tried = {};
    try {
      element.innerHTML = "<b>x</b>";
      tried.html = true;
    } catch {
      tried.html = false;
    }
    tried.fetch = await fetch("https://example.invalid/").then(() => true, () => false);
    return tried;
  });
  assert.deepEqual(results, { html: false, fetch: false });
  tab.errors.length = 0;
  await tab.close();
});
