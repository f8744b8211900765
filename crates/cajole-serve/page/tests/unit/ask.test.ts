import assert from "node:assert/strict";
import { test } from "node:test";
import { bulkLine, inputsOf, queryOf, requestOf, type Ask } from "../../src/ask.ts";
import { batches, fateOf, numbered } from "../../src/bulk-job.ts";
import type { Answer, Model } from "../../src/wire.ts";

const ASK: Ask = {
  model: "m",
  input: "az",
  rules: { from: "model" },
  engine: null,
  preset: null,
  numbers: {},
};
const SEQUENCES = { display: "sequence" } as Model;
const TREES = { display: "tree" } as Model;

test("inputs are lines of text or objects", () => {
  assert.deepEqual(inputsOf(' az \n\n{"input": "bz"}\r\n'), ["az", { input: "bz" }]);
  assert.throws(() => inputsOf(" \n"), /example/);
  assert.throws(() => inputsOf("az\n{oops"), /Line 2 /);
});

test("a request leaves out what was left open", () => {
  assert.deepEqual(requestOf(ASK), { model: "m", inputs: ["az"] });
  const full: Ask = {
    ...ASK,
    rules: { from: "file", name: "r" },
    engine: "beam",
    preset: "best",
    numbers: { max_steps: 0, patience: 1, width: 2, deadline_ms: 5 },
  };
  assert.deepEqual(requestOf(full), {
    model: "m",
    inputs: ["az"],
    rules: { name: "r" },
    engine: "beam",
    preset: "best",
    deadline_ms: 5,
    max_steps: 0,
    patience: 1,
    width: 2,
  });
  assert.equal(
    String(queryOf(full)),
    "model=m&rules=r&engine=beam&preset=best&deadline_ms=5&max_steps=0&patience=1&width=2",
  );
});

test("lines of a file take the rules of the editor unless they have their own", () => {
  const edited: Ask = { ...ASK, rules: { from: "editor", toml: "bio = true" } };
  assert.equal(bulkLine("az", ASK, SEQUENCES), '{"input":"az"}');
  assert.equal(bulkLine("Dogs bark.", edited, TREES), '{"text":"Dogs bark.","constraint":"bio = true"}');
  assert.equal(
    bulkLine('{"input": "az", "constraint": "x"}', edited, SEQUENCES),
    '{"input":"az","constraint":"x"}',
  );
  assert.equal(bulkLine("{oops", edited, SEQUENCES), "{oops");
});

test("batches hold every line once, in order and within limits", () => {
  const text = Array.from({ length: 1000 }, (_, i) => (i % 7 === 3 ? "" : "x".repeat((i * 37) % 3000))).join(
    "\n",
  );
  const lines = numbered(text);
  const made = batches(lines);
  assert.deepEqual(made.flat(), lines);
  for (const batch of made) {
    assert.ok(batch.length <= 128);
    assert.ok(batch.reduce((sum, { text }) => sum + text.length, 0) <= 128 * 1024);
  }
  assert.deepEqual(batches([{ line: 1, text: "x".repeat(200_000) }]).length, 1);
});

test("the fate of a line is that of its worst answer", () => {
  const answer = (status: Answer["status"], g_before: number): Answer => ({
    output: "",
    status,
    g_before,
    g_after: 0,
    steps: 0,
    passes: 0,
    engine: "gbi",
  });
  assert.equal(fateOf({ line: 1, ...answer("satisfied", 0) }), "obeyed");
  assert.equal(fateOf({ line: 1, ...answer("satisfied", 1) }), "repaired");
  assert.equal(fateOf({ line: 1, answers: [answer("satisfied", 1), answer("improved", 1)] }), "violating");
  assert.equal(fateOf({ line: 1, status: "bad-line", error: "x" }), "bad");
});
