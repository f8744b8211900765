import assert from "node:assert/strict";
import axe from "axe-core";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { assertFits, open, run, visits } from "./visit.ts";

const visit = visits();
const INPUT = "azbzazazazazazazazazbz";
const SENTENCE = "She broke how to cook ( or so they say ) .";
const SCHEMES = ["light", "dark"] as const;

/** Fails on every serious or critical issue that axe finds. */
async function assertAccessible(page: Page, where: string): Promise<void> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run();
    return violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      at: nodes.map(({ target }) => target.join(" ")),
    }));
  });
  const serious = found.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious, [], where);
}

function background(page: Page): Promise<string> {
  return page.evaluate(() => getComputedStyle(document.body).backgroundColor);
}

test("dark and light follow the system and the choice, which is kept", () =>
  visit({ colorScheme: "dark" }, async (one) => {
    const { page } = one;
    await open(one);
    const [dark, light] = ["rgb(23, 25, 29)", "rgb(255, 255, 255)"];
    assert.equal(await background(page), dark);
    await page.selectOption("#theme", "light");
    assert.equal(await background(page), light);
    await page.reload();
    assert.equal(await background(page), light);
    await page.selectOption("#theme", "system");
    assert.equal(await background(page), dark);
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await background(page), light);
  }));

for (const colorScheme of SCHEMES) {
  test(`axe finds no serious issue, ${colorScheme}`, () =>
    visit({ colorScheme }, async (one) => {
      const { page } = one;
      await open(one);
      await assertAccessible(page, "at first");
      await page.selectOption("#model", "transducer");
      await run(one, `${INPUT}\nqqq\nazbz`);
      await page.click("#compare");
      await page.locator("table.engines").waitFor();
      await assertAccessible(page, "a repair");
      await page.click("#rule-toml-tab");
      await page.fill("#toml", "pattern = '('\n");
      await page.locator(".rule-errors li").waitFor();
      await assertAccessible(page, "a broken rule");
      await page.selectOption("#rule-source", "model");
      await page.setInputFiles("#bulk-file", {
        name: "in.txt",
        mimeType: "text/plain",
        buffer: Buffer.from(`${INPUT}\nqqq\n`),
      });
      await page.locator(".bulk-status", { hasText: "Done" }).waitFor();
      await assertAccessible(page, "a bulk job");
      await page.selectOption("#model", "parser");
      await run(one, SENTENCE);
      await page.locator("svg.tree").first().waitFor();
      await assertAccessible(page, "trees");
      await page.selectOption("#model", "tagger");
      await run(one, "The dog that chased the cat barked .");
      await page.locator("svg.roles").first().waitFor();
      await assertAccessible(page, "roles");
    }));
}

test("nothing is wider than a phone", () =>
  visit({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }, async (one) => {
    const { page } = one;
    await open(one);
    await assertFits(page);
    await page.selectOption("#model", "transducer");
    await run(one, INPUT);
    await page.click("#compare");
    await page.locator("table.engines").waitFor();
    await assertFits(page);
    await page.click("#rule-toml-tab");
    await page.fill("#toml", `pattern = '${"(aaa|zb)*".repeat(20)}('\n`);
    await page.locator(".rule-errors li").waitFor();
    await assertFits(page);
    await page.selectOption("#rule-source", "model");
    await page.setInputFiles("#bulk-file", {
      name: "in.txt",
      mimeType: "text/plain",
      buffer: Buffer.from(`${INPUT}\n${"q".repeat(200)}\n`),
    });
    await page.locator(".bulk-status", { hasText: "Done" }).waitFor();
    await assertFits(page);
    for (const [model, input] of [
      ["parser", SENTENCE],
      ["tagger", "The dog that chased the cat barked ."],
    ] as const) {
      await page.selectOption("#model", model);
      await run(one, input);
      await page
        .locator(model === "parser" ? "svg.tree" : "svg.roles")
        .first()
        .waitFor();
      await assertFits(page);
    }
  }));

test("everything can be reached and run by keyboard", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.focus("#input");
    await page.keyboard.press("Control+a");
    await page.keyboard.type(INPUT);
    await page.keyboard.press("Control+Enter");
    await page.locator(".verdict").waitFor();
    const seen = new Set<string>();
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press("Tab");
      seen.add(
        await page.evaluate(() => document.activeElement?.id || (document.activeElement?.textContent ?? "")),
      );
    }
    for (const name of [
      "run",
      "link",
      "rule-source",
      "rule-form-tab",
      "decode",
      "compare",
      "bulk-file",
      "JSON",
      "SVG",
    ]) {
      assert.ok(seen.has(name), `${name} is not reached; reached: ${[...seen].join(", ")}`);
    }
  }));
