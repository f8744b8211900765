import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { open, run, visits } from "./visit.ts";

const visit = visits();
/** The transducer's own output has 24 a where the rule asks for 27. */
const INPUT = "azbzazazazazazazazazbz";
const OWN = "aaazb" + "a".repeat(21) + "zb";
const RIGHT = "aaazb" + "a".repeat(24) + "zb";

test("an input is typed and repaired", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await run(one, INPUT);
    assert.match(await page.innerText(".verdict"), /Repaired after \d+ steps? of gbi/);
    assert.equal(await page.innerText(".own .output"), OWN);
    assert.match(await page.innerText(".own .faults"), /24 is not 27/);
    assert.equal(await page.innerText(".answer .output"), RIGHT);
    assert.equal(await page.innerText(".answer ins"), "aaa");
    assert.match((await page.textContent("#announcer")) ?? "", /Repaired/);
    assert.match(await page.innerText(".weights"), /Weights free to move\s+132 in/);
  }));

test("an input that the network cannot read says why", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.fill("#input", "qqq");
    await page.click("#run");
    await page.locator("#results .problem").waitFor();
    assert.match(await page.innerText("#results .problem"), /"q"/);
  }));

test("the trace is scrubbed by keys, by buttons, by plot and by the player", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await run(one, INPUT);
    const output = page.locator(".step-output .output");
    const reading = page.locator(".plot .reading").first();
    const cursors = () =>
      page.locator(".plot .cursor").evaluateAll((all) => all.map((one) => one.getAttribute("transform")));
    const slider = page.locator("#decode");
    await slider.focus();
    await page.keyboard.press("Home");
    assert.equal(await output.innerText(), OWN);
    assert.equal(await reading.textContent(), "0.1800");
    assert.match((await slider.getAttribute("aria-valuetext")) ?? "", /Decode 0 of \d+: network’s own/);
    const atStart = await cursors();
    assert.equal(atStart.length, 3);
    await page.keyboard.press("ArrowRight");
    assert.match((await slider.getAttribute("aria-valuetext")) ?? "", /Decode 1 of/);
    for (const [i, place] of (await cursors()).entries())
      assert.notEqual(place, atStart[i], "all plots follow");
    await page.click("[aria-label='Next decode']");
    assert.equal(await slider.inputValue(), "2");
    assert.equal(await output.locator("ins").innerText(), "aaa");
    assert.equal(await reading.textContent(), "0.0000");
    const plot = await page.locator(".plots .figure").nth(1).boundingBox();
    assert.ok(plot);
    await page.mouse.click(plot.x + 60, plot.y + 100);
    assert.equal(await slider.inputValue(), "0");
    await page.click(".play");
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>("#decode")?.value !== "0");
    await page.waitForFunction(
      () => document.querySelector(".play")?.getAttribute("aria-pressed") === "false",
    );
    assert.equal(await slider.inputValue(), await slider.getAttribute("max"));
  }));

test("a long run shows its decodes as they happen, and can be stopped", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    // Two thousand steps of the parser take long enough.
    await page.selectOption("#model", "parser");
    await page.click("#rule-toml-tab");
    await page.fill("#toml", "arithmetic = 'len(out) = 1 and len(out) = 2'\n");
    await page.click("#options summary");
    await page.selectOption("#preset", "paper");
    await page.fill("#max-steps", "2000");
    await page.fill("#deadline-ms", "50000");
    await page.fill("#input", "The man that the dog saw sold a boat when the mayor left .");
    await page.click("#run");
    const decode = async () => Number(/Decode (\d+)/.exec(await page.innerText(".live"))?.[1]);
    await page.locator(".live").waitFor();
    const first = await decode();
    await page.waitForFunction(
      (first) => Number(/Decode (\d+)/.exec(document.querySelector(".live")?.textContent ?? "")?.[1]) > first,
      first,
    );
    await page.click("#stop");
    await page.locator("#problem", { hasText: "Stopped" }).waitFor();
    assert.equal(await page.locator("#stop").isVisible(), false);
    await page.selectOption("#model", "transducer");
    await page.click("#rule-toml-tab");
    await page.selectOption("#rule-source", "model");
    await page.fill("#max-steps", "");
    await run(one, INPUT);
  }));

test("a server that is gone is said to be", () =>
  visit(
    {},
    async (one) => {
      const { page } = one;
      await open(one);
      await page.context().setOffline(true);
      await page.click("#run");
      await page.locator("#problem", { hasText: "cannot be reached" }).waitFor();
    },
    /ERR_INTERNET_DISCONNECTED/,
  ));

test("engines stand side by side with their cost", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await run(one, INPUT);
    await page.click("#compare");
    const rows = page.locator("table.engines tbody tr");
    await rows.first().waitFor();
    const texts = await rows.allInnerTexts();
    assert.match(texts[0] ?? "", /^network/);
    for (const engine of ["gbi", "beam", "masked", "exact", "sample"]) {
      assert.ok(
        texts.some((text) => text.startsWith(engine)),
        engine,
      );
    }
    const gbi = rows.filter({ hasText: "Gradient-based inference" });
    assert.equal(await gbi.locator(".output").innerText(), RIGHT);
    assert.ok(Number(await gbi.locator("td[data-name=passes]").innerText()) > 0);
    assert.match(await gbi.locator("td[data-name='log p']").innerText(), /^−\d/);
  }));

test("another engine shows what the network itself had written", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.click("#options summary");
    await page.selectOption("#engine", "beam");
    await run(one, INPUT);
    assert.match(await page.innerText(".verdict"), /by the engine beam/);
    assert.equal(await page.innerText(".own .output"), OWN);
    assert.equal(await page.locator(".scrubber").count(), 0);
    assert.equal(await page.locator(".alignment .box.after").count(), 3);
  }));

test("a link brings everything back", () =>
  visit({}, async (one) => {
    const { page, address } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.click("#rule-toml-tab");
    await page.fill("#toml", "name = 'mine'\narithmetic = 'count(out, \"a\") = 27'\n");
    await page.click("#options summary");
    await page.selectOption("#preset", "best");
    await run(one, INPUT);
    await page.click("#compare");
    await page.locator("table.engines").waitFor();
    await page.locator("#decode").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(500);
    const link = page.url();
    const shown = await page.innerText(".step-output");
    assert.ok(link.startsWith(`${address}/#`) && link.length > 50, link);

    await page.goto("about:blank");
    await page.goto(link);
    await page.locator("table.engines").waitFor();
    assert.equal(await page.inputValue("#input"), INPUT);
    assert.equal(await page.inputValue("#preset"), "best");
    assert.match(await page.inputValue("#toml"), /'mine'/);
    assert.equal(await page.inputValue("#decode"), "1");
    const withoutTime = (text: string): string => text.replace(/time so far\s+[\d.]+ m?s/, "");
    assert.equal(withoutTime(await page.innerText(".step-output")), withoutTime(shown));
    assert.match(await page.innerText(".own .faults"), /mine/);
  }));

test("a damaged link says so and leaves the page usable", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one, "#eyJ2IjoxLCJhc");
    await page.locator("#problem").waitFor();
    assert.match(await page.innerText("#problem"), /link is damaged/);
    await page.selectOption("#model", "transducer");
    await run(one, INPUT);
  }));

test("trees before and after have their differing brackets marked", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "parser");
    await run(one, "She broke how to cook ( or so they say ) .");
    assert.equal(await page.locator("svg.tree").count(), 2);
    assert.equal(await page.locator("svg.tree .box.before").count(), 1);
    assert.match(await page.innerText(".drawn"), /This output is no tree/);
    const label = await page.locator("svg.tree").first().getAttribute("aria-label");
    assert.match(label ?? "", /Phrases that differ: S over “She broke how to cook/);
  }));

test("roles are labelled spans, one answer for each predicate", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "tagger");
    const tree = "(S (NP (XX She)) (VP (XX said) (SBAR (XX that) (S (NP (XX he)) (VP (XX left))))) (. .))";
    await run(one, JSON.stringify({ tree }));
    const answers = page.locator(".picker .chip");
    assert.equal(await answers.count(), 2);
    assert.equal(await page.locator("svg.roles").count(), 2);
    assert.match(await page.innerText(".own .output"), /She\s+B-ARG0/);
    await answers.nth(1).click();
    assert.match(await page.innerText(".own .output"), /he\s+B-ARG[01]/);
    assert.equal(await answers.nth(1).getAttribute("aria-pressed"), "true");
  }));

test("a case is downloaded as JSON, Markdown and SVG", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await run(one, INPUT);
    const download = async (name: string): Promise<string> => {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.click(`.downloads >> text=${name}`),
      ]);
      return readFile(await file.path(), "utf8");
    };
    const json = JSON.parse(await download("JSON")) as { records: { output: string }[] };
    assert.equal(json.records[0]?.output, RIGHT);
    assert.match(await download("Markdown"), /\| 0 \| aaazb.* \| 0\.1800 \|/);
    const svg = await download("SVG");
    assert.match(svg, /<style>[^<]*\.plot/);
    // The page's policy would refuse the style that the file carries.
    const problem = await page.evaluate(
      (text) => {
        const file = new DOMParser().parseFromString(text, "image/svg+xml");
        return file.querySelector("parsererror")?.textContent ?? null;
      },
      svg.replace(/<style>[^<]*<\/style>/, ""),
    );
    assert.equal(problem, null);
    assert.equal(svg.match(/class="drawing plot/g)?.length, 3);
    assert.match(svg, /class="drawing alignment"/);
    assert.doesNotMatch(svg.replaceAll("http://www.w3.org/2000/svg", ""), /http/);
  }));
