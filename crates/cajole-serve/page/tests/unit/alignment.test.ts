import assert from "node:assert/strict";
import { test } from "node:test";
import { align, paired } from "../../src/alignment.ts";

/** The length of the longest common subsequence, by trying every subset of the shorter sequence. */
function longestCommon(a: string[], b: string[]): number {
  let most = 0;
  for (let subset = 0; subset < 2 ** a.length; subset += 1) {
    const chosen = a.filter((_, i) => (subset >> i) & 1);
    let at = 0;
    for (const symbol of b) if (symbol === chosen[at]) at += 1;
    if (at === chosen.length) most = Math.max(most, chosen.length);
  }
  return most;
}

/** All sequences over two letters up to a length. */
function sequences(most: number): string[][] {
  const all: string[][] = [[]];
  for (const one of all) if (one.length < most) all.push([...one, "a"], [...one, "b"]);
  return all;
}

test("an alignment holds both sequences and as much in common as can be", () => {
  for (const before of sequences(5)) {
    for (const after of sequences(5)) {
      const columns = align(before, after);
      assert.deepEqual(
        columns.flatMap((column) => column.before ?? []),
        before,
      );
      assert.deepEqual(
        columns.flatMap((column) => column.after ?? []),
        after,
      );
      const same = columns.filter((column) => column.before !== null && column.before === column.after);
      const halves = columns.filter((column) => (column.before === null) !== (column.after === null));
      assert.equal(same.length + halves.length, columns.length);
      assert.equal(same.length, longestCommon(before, after), `${before} and ${after}`);
    }
  }
});

test("what both ends share stays in place", () => {
  const columns = align(Array.from("abxd"), Array.from("abyyd"));
  assert.deepEqual(
    columns.map(({ before, after }) => `${before ?? "."}${after ?? "."}`),
    ["aa", "bb", "x.", ".y", ".y", "dd"],
  );
  assert.deepEqual(
    paired(columns).map(({ before, after }) => `${before ?? "."}${after ?? "."}`),
    ["aa", "bb", "xy", ".y", "dd"],
    "a replacement is one column",
  );
});
