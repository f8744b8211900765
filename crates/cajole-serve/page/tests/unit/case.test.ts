import assert from "node:assert/strict";
import { test } from "node:test";
import { attemptsOf, casesOf, previousOf } from "../../src/case.ts";
import { caseMarkdown, changes, escape } from "../../src/case-markdown.ts";
import { fixed, count, ticks, tickLabel } from "../../src/number.ts";
import { lackingArguments } from "../../src/role-drawing.ts";
import type { Answer, Model, Step } from "../../src/wire.ts";

const MODEL = { name: "m", display: "sequence", separator: "" } as Model;

function step(attempt: number, iteration: number, output: string, g: number): Step {
  const faults = g === 0 ? {} : { faults: [{ start: 1, end: 2, cost: g, message: "no | here" }] };
  return { attempt, iteration, g, log_prob: -1.5, distance: 0.1, passes: 1, output, ...faults };
}

const STEPS = [step(0, 0, "ab", 1), step(0, 1, "ab", 1), step(0, 2, "aa", 0), step(1, 1, "ab", 1)];
const ANSWER: Answer = {
  output: "aa",
  status: "satisfied",
  g_before: 1,
  g_after: 0,
  steps: 3,
  passes: 9,
  engine: "gbi",
  trace: { moving: 3, moves: [], steps: STEPS },
};

test("the answer's decode is the one that gave it, not the last", () => {
  const { cases } = casesOf(MODEL, ["x"], [{ line: 1, ...ANSWER }], []);
  assert.equal(cases[0]?.chosen, 2);
  assert.equal(cases[0]?.first, STEPS[0]);
});

test("an engine without a trace takes the network's own output from its record", () => {
  const { trace: _, ...bare } = ANSWER;
  const own: Answer = { ...bare, output: "ab", status: "unchanged" };
  const { cases, refused } = casesOf(
    MODEL,
    ["x", "y"],
    [
      { line: 1, ...bare },
      { line: 2, status: "bad-line", error: "no" },
    ],
    [{ line: 1, ...own }],
  );
  assert.equal(cases[0]?.first.output, "ab");
  assert.deepEqual(refused, [{ line: 2, error: "no" }]);
});

test("an attempt is compared with the network's own output", () => {
  assert.deepEqual(attemptsOf(STEPS), [3]);
  assert.equal(previousOf(STEPS, 0), null);
  assert.equal(previousOf(STEPS, 2), STEPS[1]);
  assert.equal(previousOf(STEPS, 3), STEPS[0]);
});

test("Markdown shows decodes that changed, with faults in bold and text taken literally", () => {
  assert.deepEqual(changes(STEPS), [STEPS[0], STEPS[1], STEPS[2], STEPS[3]]);
  assert.deepEqual(changes([STEPS[0]!, STEPS[1]!, STEPS[1]!, STEPS[2]!]).length, 3);
  const [shown] = casesOf(MODEL, ["x"], [{ line: 1, ...ANSWER }], []).cases;
  assert.ok(shown);
  const ask = {
    model: "m",
    input: "x",
    rules: { from: "model" },
    engine: null,
    preset: null,
    numbers: {},
  } as const;
  const text = caseMarkdown(shown, ask, "pattern = '```'\n", null);
  assert.ok(text.includes("| 0 | a<b>b</b> | 1.0000 | −1.50 | 0.1000 | at 1: no \\| here |"), text);
  assert.ok(text.includes("| 2:1 | a<b>b</b> |"), text);
  assert.ok(text.includes("````toml\npattern = '```'\n````"), text);
  assert.equal(escape("a|b *c* <d>\ne"), "a\\|b \\*c\\* \\<d\\> e");
});

test("numbers read like those of reports", () => {
  assert.deepEqual([fixed(-0.00001, 2), fixed(-1.5, 2), fixed(null, 2)], ["0.00", "−1.50", "–"]);
  assert.deepEqual([count(0), count(1234567)], ["0", "1\u202f234\u202f567"]);
});

test("ticks enclose what they are for", () => {
  for (const [low, high] of [
    [0, 0.18],
    [-0.44, 0],
    [0, 0],
    [-3, 7],
    [0, 1e-6],
    [0, 12345],
  ] as const) {
    const made = ticks(low, high, 4);
    assert.ok(
      (made[0] ?? 1) <= low + 1e-12 && (made.at(-1) ?? -1) >= high - 1e-12,
      `${low} to ${high}: ${made}`,
    );
    assert.ok(made.length >= 2 && made.length <= 7, `${low} to ${high}: ${made}`);
  }
  assert.equal(tickLabel(0.15, 0.05), "0.15");
});

test("roles differ by label or by place", () => {
  const role = (role: string, start: number, end: number) => ({ role, start, end, text: "" });
  const before = [role("ARG0", 0, 2), role("V", 2, 3), role("ARG1", 3, 5)];
  const after = [role("ARG0", 0, 2), role("V", 2, 3), role("ARG1", 3, 4)];
  assert.deepEqual([...lackingArguments(before, after)], [before[2]]);
});
