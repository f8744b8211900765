import assert from "node:assert/strict";
import { test } from "node:test";
import { open, run, visits } from "./visit.ts";

const visit = visits();

test("a broken rule is marked at its line and cannot be run", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.click("#rule-toml-tab");
    await page.fill("#toml", "# counts\nname = 'counts'\narithmetic = 'count(out, \"a\") = = 3'\n");
    await page.locator(".rule-errors li").waitFor();
    assert.match(await page.innerText(".rule-errors"), /Line 3, column \d+/);
    assert.equal(await page.innerText(".toml-gutter .error"), "3");
    assert.match((await page.textContent(".toml-marks .error .lens")) ?? "", /✗ \S/);
    assert.match(
      (await page.textContent(".toml-marks .error .wrong")) ?? "",
      /^=/,
      "the place is underlined",
    );
    assert.equal(await page.getAttribute("#toml", "aria-invalid"), "true");
    await page.click("#run");
    await page.locator("#problem").waitFor();
    assert.match(await page.innerText("#problem"), /rules have an error/);
    await page.click(".rule-errors button");
    const line = await page.evaluate(() => {
      const area = document.querySelector<HTMLTextAreaElement>("#toml");
      return area === document.activeElement
        ? area?.value.slice(0, area.selectionStart).split("\n").length
        : null;
    });
    assert.equal(line, 3, "the error leads to its line");

    await page.fill("#toml", "name = 'counts'\narithmetic = 'count(out, \"a\") = 3'\n");
    await page.waitForFunction(
      () => document.querySelector("#toml")?.getAttribute("aria-invalid") === "false",
    );
    assert.equal(await page.locator(".rule-errors li").count(), 0);
  }));

test("text that is no TOML is marked, too", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.click("#rule-toml-tab");
    await page.fill("#toml", "pattern = 'a*'\nname = \n");
    await page.locator(".rule-errors li").waitFor();
    assert.equal(await page.innerText(".toml-gutter .error"), "2");
    await page.click("#rule-form-tab");
    assert.match(await page.innerText("#rule-form-panel"), /no TOML/);
  }));

test("the form and the text say the same", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.getByLabel("Formula").waitFor();
    await page.selectOption("#rule-kind", { label: "Phrases" });
    await page.click("text=Add rule");
    await page.getByLabel("Must not have").fill("zz\nbb");
    await page.waitForFunction(() =>
      document.querySelector<HTMLTextAreaElement>("#toml")?.value.includes("bb"),
    );
    assert.equal(await page.inputValue("#rule-source"), "editor");
    await page.click("#rule-toml-tab");
    const toml = await page.inputValue("#toml");
    assert.equal(toml.match(/\[\[all\]\]/g)?.length, 2, toml);
    assert.match(toml, /must-not-have = \[\s*["']zz["'],\s*["']bb["'],?\s*\]/);

    await page.fill("#toml", "must-not-have = ['zb']\n");
    await page.click("#rule-form-tab");
    await page.waitForFunction(() => document.querySelectorAll(".rule").length === 1);
    assert.equal(await page.getByLabel("Must not have").inputValue(), "zb");
    await run(one, "azbz");
    assert.match(await page.innerText(".own"), /zb/);
    assert.ok((await page.locator(".own .wrong").count()) > 0, "the phrase is marked where it is");
  }));

test("the form waits for rules that were changed elsewhere", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.locator("#rule-kind:enabled").waitFor();
    let answer = (): void => {};
    const held = new Promise<void>((go) => (answer = go));
    await page.route("**/v1/lint", async (route) => {
      await held;
      await route.continue();
    });
    await page.selectOption("#rule-source", "file:transduction-full");
    assert.ok(await page.locator("#rule-kind").isDisabled(), "an edit now would bring the old rules back");
    answer();
    await page.selectOption("#rule-kind", { label: "Phrases" });
    await page.click("text=Add rule");
    await page.getByLabel("Must not have").waitFor();
    assert.equal(await page.locator(".rule").count(), 4, "three of the file, and the new one");
  }));

test("rules of the server are offered by name, for the models they fit", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.selectOption("#rule-source", "file:transduction-full");
    await page.waitForFunction(() => document.querySelectorAll(".rule").length === 3);
    const offered = await page.locator("#rule-source option").allInnerTexts();
    assert.ok(!offered.includes("spans"), `${offered}`);
  }));
