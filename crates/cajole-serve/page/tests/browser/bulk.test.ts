import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { open, visits, type Visit } from "./visit.ts";

const visit = visits();
const INPUT = "azbzazazazazazazazazbz";

/** Drops a file on the page, as the system would. */
async function drop({ page }: Visit, name: string, text: string): Promise<void> {
  const data = await page.evaluateHandle(
    ([name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text ?? ""], name ?? ""));
      return transfer;
    },
    [name, text],
  );
  await page.dispatchEvent("body", "dragover", { dataTransfer: data });
  await page.dispatchEvent("body", "drop", { dataTransfer: data });
}

test("a dropped file runs with progress, and failures are browsed", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    const sound = Array.from({ length: 300 }, () => "azbz");
    await drop(
      one,
      "inputs.txt",
      ["", ...sound, INPUT, "qqq", '{"input": "azaz", "constraint": "must-have = [\'zb\']"}'].join("\n"),
    );
    await page.locator(".bulk-status", { hasText: "Done" }).waitFor();
    assert.match(await page.innerText(".bulk-status"), /303 of 303 lines/);
    assert.equal(await page.evaluate(() => document.querySelector("progress")?.value), 303);
    const chips = await page.locator(".bulk-results .chip").allInnerTexts();
    assert.deepEqual(
      chips.map((text) => text.replace(/ \d+$/, "")),
      ["still violating", "bad lines", "repaired", "obeyed at once"],
    );
    assert.equal(
      chips.reduce((sum, text) => sum + Number(/\d+$/.exec(text)?.[0]), 0),
      303,
    );

    await page.click(".bulk-results .chip.bad");
    assert.match(await page.innerText("table.bulk tbody"), /303\s+qqq\s+.*"q"/s);
    await page.click(".bulk-results .chip.obeyed");
    assert.equal(await page.locator("table.bulk tbody tr").count(), 20);
    await page.click("[aria-label='Next page']");
    assert.match(await page.innerText(".pager"), /page 2 of 15/);

    await page.click(".bulk-results .chip.repaired");
    assert.match(await page.innerText("table.bulk tbody"), /302/);
    await page.click("[aria-label='Look at line 302']");
    await page.locator(".verdict").waitFor();
    assert.equal(await page.inputValue("#input"), INPUT);

    const [file] = await Promise.all([page.waitForEvent("download"), page.click("text=Download records")]);
    const records = (await readFile(await file.path(), "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      records.map(({ line }) => line),
      Array.from({ length: 303 }, (_, i) => i + 2),
    );
  }));

test("a bulk job takes the rules of the editor", () =>
  visit({}, async (one) => {
    const { page } = one;
    await open(one);
    await page.selectOption("#model", "transducer");
    await page.click("#rule-toml-tab");
    await page.fill("#toml", "must-not-have = ['a']\n");
    await page.setInputFiles("#bulk-file", {
      name: "two.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("az\nbz\n"),
    });
    await page.locator(".bulk-status", { hasText: "Done" }).waitFor();
    const counts = await page.locator(".bulk-results .chip").allInnerTexts();
    assert.ok(counts.includes("obeyed at once 1"), `${counts}`);
  }));

test("a file without lines says so", () =>
  visit({}, async (one) => {
    await open(one);
    await drop(one, "empty.txt", "\n\n");
    await one.page.locator("#bulk-body .problem").waitFor();
    assert.match(await one.page.innerText("#bulk-body"), /empty.txt has no lines/);
  }));
