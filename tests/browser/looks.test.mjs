// Table, transcript and contents in light and dark from 400 to 2,000 pixels: no horizontal scroll, nothing cut off, no serious finding of axe.
// KW_SCREENSHOTS=FOLDER keeps pictures of them at 400 and 1,600 pixels.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, LOOKS, isForAxe, nameOfLook } from "./harness.mjs";
import { emptyWorld, smallWorld } from "./worlds.mjs";

let browser;
const world = smallWorld();
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

const PAGES = {
  contents: "#/contents",
  table: "#/table?sort=speedup&dir=down&at=first+3",
  search: "#/table?find=tl.load",
  transcript: "#/transcript/recorded",
  turn: "#/transcript/recorded?turn=2&field=code&line=9",
};

/** Texts that their boxes cut off, but those that end in an ellipsis and have the whole text elsewhere. */
const cutOff = (tab) =>
  tab.page.evaluate(() =>
    [...document.querySelectorAll("#app *")]
      .filter((one) => {
        const style = getComputedStyle(one);
        if (style.overflowX !== "hidden" && style.overflowX !== "clip") return false;
        if (one.closest(".hidden-visually, .cell, svg, .u-wrap") || one.checkVisibility?.() === false) return false;
        return one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 2;
      })
      .map((one) => `${one.className}: ${one.textContent.slice(0, 60)}`),
  );

for (const [name, fragment] of Object.entries(PAGES)) {
  test(`${name} from 400 to 2,000 pixels, in light and dark`, async () => {
    for (const dark of [false, true]) {
      const tab = await browser.openWorld("looks", world, { width: 1600, height: 1000, dark, fragment });
      if (name === "search") await tab.page.waitForSelector(".grid-row.hit");
      for (const width of dark ? [400, 1600] : [400, 560, 760, 1024, 1600, 2000]) {
        await tab.page.setViewportSize({ width, height: width < 800 ? 800 : 1000 });
        await tab.page.waitForTimeout(60);
        await tab.fitsWidth();
        assert.deepEqual(await cutOff(tab), [], `cut off at ${width} pixels`);
        const look = LOOKS.find((one) => one.width === width && one.dark === dark);
        if (look) {
          if (isForAxe(look)) await tab.accessible();
          await tab.shot(`${name}_${nameOfLook(look)}`);
        }
      }
      await tab.close();
    }
  });
}

test("an empty report in both colours", async () => {
  for (const look of LOOKS) {
    const tab = await browser.openWorld("empty", emptyWorld(), { ...look, fragment: "#/contents" });
    await tab.fitsWidth();
    if (isForAxe(look)) await tab.accessible();
    await tab.shot(`empty_${nameOfLook(look)}`);
    await tab.close();
  }
});

test("the focus is visible, and the tab key reaches what can be clicked", async () => {
  const tab = await browser.openWorld("looks", world, { fragment: "#/transcript/recorded", ready: ".turn" });
  const seen = new Set();
  for (let i = 0; i < 30; i++) {
    await tab.page.keyboard.press("Tab");
    const focus = await tab.page.evaluate(() => {
      const one = document.activeElement;
      const style = getComputedStyle(one);
      return { name: `${one.tagName} ${one.textContent.slice(0, 20)}`, outlined: style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) >= 2 };
    });
    assert.ok(focus.outlined, `${focus.name} has a visible focus`);
    seen.add(focus.name.split(" ")[0]);
  }
  for (const element of ["A", "SUMMARY", "BUTTON", "DIV"]) assert.ok(seen.has(element), `${element} is reached`);
  await tab.close();
});

test("reduced motion moves nothing", async () => {
  const tab = await browser.openWorld("looks", world, { fragment: "#/table", reducedMotion: "reduce" });
  const moving = await tab.page.evaluate(() => document.getAnimations().length);
  assert.equal(moving, 0);
  await tab.close();
});
