// Bundles the tests of a folder and runs them with Node's own runner.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const [folder = "unit", ...names] = process.argv.slice(2);
const chosen = (name) =>
  name.endsWith(".test.ts") && (names.length === 0 || names.some((one) => name.startsWith(one)));
const tests = readdirSync(join("tests", folder)).filter(chosen);
// Beside node_modules, so that what is not bundled is found.
const out = mkdtempSync("node_modules/.tests-");
try {
  await build({
    entryPoints: tests.map((name) => join("tests", folder, name)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    loader: { ".css": "text" },
    logLevel: "error",
  });
  const bundled = readdirSync(out).map((name) => join(out, name));
  const { status } = spawnSync(process.execPath, ["--test", ...bundled], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
