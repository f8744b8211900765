/** A visit to the page in Debian's Chromium. Whatever the browser complains about unexpectedly fails the test. */

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { serve, type Server } from "./server.ts";

const RULES = "../../../rules";

export interface Visit {
  page: Page;
  address: string;
}

/** Starts a server and a browser for all tests of a file; returns what makes a visit. */
export function visits(...flags: string[]) {
  let server: Server;
  let browser: Browser;
  before(async () => {
    server = await serve("--rules", RULES, ...flags);
    const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  return async (
    options: BrowserContextOptions,
    act: (visit: Visit) => Promise<void>,
    expected = /^$/,
  ): Promise<void> => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const complaints: string[] = [];
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.origin !== server.address && url.protocol !== "blob:") complaints.push(`a request to ${url}`);
    });
    try {
      await act({ page, address: server.address });
      assert.deepEqual(
        complaints.filter((complaint) => !expected.test(complaint)),
        [],
      );
    } finally {
      await context.close();
    }
  };
}

/** Opens the page and waits for its models. */
export async function open({ page, address }: Visit, fragment = ""): Promise<void> {
  await page.goto(`${address}/${fragment}`);
  await page.locator("#model option").first().waitFor({ state: "attached" });
}

/** Runs an input and waits for the verdict. */
export async function run({ page }: Visit, input: string): Promise<void> {
  await page.fill("#input", input);
  await page.click("#run");
  await page.locator(".verdict").waitFor();
}

/** Fails if the page is wider than its window. */
export async function assertFits(page: Page): Promise<void> {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok((content ?? 0) <= (window ?? 0), `the page is ${content} px wide in a window of ${window}`);
}
