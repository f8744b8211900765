// Bundles the sources into dist/, which the server embeds. With --check: fails if dist/ is not what they give.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";

const isCheck = process.argv.includes("--check");
const shared = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  write: false,
};

const [script, style] = await Promise.all([
  build({ ...shared, entryPoints: ["src/main.ts"], format: "esm", loader: { ".css": "text" } }),
  // Nesting and light-dark() stay as written: lowering them would drop the choice of theme.
  build({ ...shared, entryPoints: ["src/app.css"], target: "esnext" }),
]);
const files = {
  "app.js": script.outputFiles[0].text,
  "app.css": style.outputFiles[0].text,
  "index.html": await readFile("src/index.html", "utf8"),
  "icon.svg": await readFile("src/icon.svg", "utf8"),
};

await mkdir("dist", { recursive: true });
for (const [name, text] of Object.entries(files)) {
  const path = `dist/${name}`;
  if (!isCheck) await writeFile(path, text);
  else if ((await readFile(path, "utf8").catch(() => "")) !== text) {
    console.error(
      `${path} is not what the sources give: run "npm run build" in crates/cajole-serve/page and commit it`,
    );
    process.exitCode = 1;
  }
}
