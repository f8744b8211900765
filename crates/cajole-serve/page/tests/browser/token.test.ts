import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { run, visits } from "./visit.ts";

const TOKEN = "correct-horse-battery-staple-0123456789";
const folder = mkdtempSync(join(tmpdir(), "cajole-"));
const file = join(folder, "token");
writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
const visit = visits("--token-file", file);
after(() => rmSync(folder, { recursive: true }));

test("a server with a token is asked with it, and the token is not in the link", () =>
  visit(
    {},
    async (one) => {
      const { page, address } = one;
      await page.goto(address);
      await page.locator("#token-form").waitFor();
      await page.fill("#token", "wrong");
      await page.click("#token-form button");
      await page.locator("#problem", { hasText: "token" }).waitFor();
      await page.fill("#token", TOKEN);
      await page.click("#token-form button");
      await page.locator("#model option").first().waitFor({ state: "attached" });
      assert.equal(await page.locator("#token-form").isVisible(), false);
      await page.selectOption("#model", "transducer");
      await run(one, "azbz");
      await page.waitForTimeout(500);
      assert.ok(
        !atob(page.url().split("#")[1]?.replaceAll("-", "+").replaceAll("_", "/") ?? "").includes(TOKEN),
      );
    },
    /401/,
  ));
