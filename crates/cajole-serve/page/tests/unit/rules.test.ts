import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS, kindOf, kindsFor, rulesOf, tableOf } from "../../src/rule-kind.ts";

test("every kind recognises the rule it starts from", () => {
  for (const kind of KINDS)
    assert.equal(kindOf({ ...kind.start, name: "n", weight: 2, "divide-by": "output" }), kind);
});

test("rules with keys that no field shows stay TOML", () => {
  assert.equal(kindOf({ pattern: "a*", checker: { command: ["x"] } }), null);
  assert.equal(kindOf({ all: [{ pattern: "a*" }] }), null);
});

test("tables survive the form", () => {
  const tables = [
    { pattern: "a*", name: "n" },
    { all: [{ pattern: "a*" }, { bio: true }] },
    { any: [{ pattern: "a*" }, { all: [{ bio: true }] }] },
  ];
  for (const table of tables) {
    const { join, rules } = rulesOf(table);
    assert.deepEqual(tableOf(join, rules), table);
  }
  assert.deepEqual(rulesOf({}).rules, []);
});

test("rules about trees are offered for trees only", () => {
  const titles = (display: "tree" | "sequence"): string[] => kindsFor(display).map(({ title }) => title);
  assert.ok(titles("tree").includes("One tree over the input"));
  assert.ok(!titles("sequence").includes("One tree over the input"));
});
