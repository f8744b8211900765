/** Takes the pictures of the book anew: `npm run pictures`. Look at them before you commit them. */

import { test } from "node:test";
import type { Page } from "playwright-core";
import { open, visits } from "../browser/visit.ts";

const visit = visits();
const FOLDER = "../../../docs/images";

async function runExample(page: Page, model: string, title: string): Promise<void> {
  await page.selectOption("#model", model);
  await page.click(`#examples >> text=${title}`);
  await page.locator(".verdict").waitFor();
}

/** The page from its top down to the end of an element. */
async function shoot(page: Page, name: string, last: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const box = await page.locator(last).last().boundingBox();
  const height = Math.ceil((box?.y ?? 0) + (box?.height ?? 0)) + 12;
  await page.screenshot({
    path: `${FOLDER}/${name}.png`,
    fullPage: true,
    clip: { x: 0, y: 0, width: 1200, height },
  });
}

const VIEWPORT = { viewport: { width: 1200, height: 900 } };

test("a repair and its trace", () =>
  visit(VIEWPORT, async (one) => {
    await open(one);
    await runExample(one.page, "transducer", "a stubborn one");
    await shoot(one.page, "page-trace", ".panel.drawn");
  }));

test("trees before and after", () =>
  visit(VIEWPORT, async (one) => {
    await open(one);
    await runExample(one.page, "parser", "a clause within a clause");
    await one.page.locator(".panel.drawn").screenshot({ path: `${FOLDER}/page-trees.png` });
  }));

test("roles, dark", () =>
  visit({ ...VIEWPORT, colorScheme: "dark" }, async (one) => {
    await open(one);
    await runExample(one.page, "tagger", "who saw what");
    await shoot(one.page, "page-roles", ".panel.drawn");
  }));

test("an error in a rule, at its line", () =>
  visit(VIEWPORT, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.click("#rule-toml-tab");
    await page.fill(
      "#toml",
      `# More than three a, and never two z in a row.\n[[all]]\narithmetic = 'count(out) > 3'\n\n[[all]]\nmust-not-have = ["zz"]\n`,
    );
    await page.locator(".rule-errors li").waitFor();
    await shoot(page, "page-rules", ".ask");
  }));
