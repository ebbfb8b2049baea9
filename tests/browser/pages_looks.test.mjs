// Overview, evidence, compare and data set in light and dark at 400 and 1,600 pixels: nothing is wider than the window, and
// axe finds nothing serious. KW_SCREENSHOTS=FOLDER keeps pictures.
import { after, before, test } from "node:test";
import { Browser, LOOKS, isForAxe, nameOfLook } from "./harness.mjs";
import { pagesWorld } from "./pages_world.mjs";

let browser;
const world = pagesWorld({ tasks: 24 });
before(async () => (browser = await Browser.start()));
after(() => browser.stop());

const PAGES = { overview: "#/overview", evidence_right: "#/evidence/v-right", evidence_wrong: "#/evidence/v-wrong", evidence_old: "#/evidence/v-old", compare: "#/compare", dataset: "#/dataset", dataset_row: "#/dataset/d-5" };
for (const [name, fragment] of Object.entries(PAGES))
  for (const look of LOOKS)
    test(`${name} fits and is accessible at ${nameOfLook(look)}`, async () => {
      const tab = await browser.openWorld("looks", world, { fragment, ...look });
      await tab.page.waitForTimeout(150);
      await tab.fitsWidth();
      if (isForAxe(look)) await tab.accessible();
      await tab.shot(`${name}_${nameOfLook(look)}`, { full: true });
      await tab.close();
    });
