import assert from "node:assert/strict";
import { test } from "node:test";
import { bracket, lacking, leaves, parseTree, phrases, type Tree } from "../../src/tree.ts";
import { layOut, nodes } from "../../src/tree-layout.ts";

const DOG = "(S (NP (DT The) (NN dog)) (VP (VBD chased) (NP (DT the) (NN cat))) (. .))";

function tree(text: string): Tree {
  const parsed = parseTree(text);
  assert.ok(parsed, text);
  return parsed;
}

test("phrases cover the words that their brackets enclose", () => {
  const parsed = tree(DOG);
  assert.deepEqual(phrases(parsed).map(bracket), ["S 0 6", "NP 0 2", "VP 2 5", "NP 3 5"]);
  assert.deepEqual(
    leaves(parsed).map(({ word }) => word),
    ["The", "dog", "chased", "the", "cat", "."],
  );
});

test("what is no tree is refused", () => {
  for (const text of [
    "",
    "(",
    ")",
    "(S",
    "(S (X a)",
    "(S (X a)) (S (X b))",
    "word",
    "(S (X a b))",
    "(X a) )",
    "(S (X a) b)",
  ]) {
    assert.equal(parseTree(text), null, text);
  }
});

test("a bracket that occurs twice has to occur twice in the other tree", () => {
  const [twice, once] = [tree("(NP (NP (X a)))"), tree("(NP (X a))")];
  assert.equal(lacking(twice, once).size, 1);
  assert.equal(lacking(once, twice).size, 0);
  assert.deepEqual([...lacking(tree(DOG), tree(DOG.replace("VP", "XP")))].map(bracket), ["VP 2 5"]);
});

test("no two labels of a row overlap and parents are above their children", () => {
  const measure = (text: string): number => 8 * text.length;
  const texts = [
    DOG,
    "(S (AVERYLONGLABEL (X a)) (ANOTHERLONGLABEL (X b)))",
    "(S (A (B (C (D (X a))))) (X b))",
  ];
  for (const text of texts) {
    const { root, width, height } = layOut(tree(text), measure);
    const rows = new Map<number, { from: number; to: number }[]>();
    for (const node of nodes(root)) {
      for (const child of node.children) assert.ok(node.y < child.y, text);
      const place = { from: node.x - node.width / 2, to: node.x + node.width / 2 };
      assert.ok(place.from >= 0 && place.to <= width && node.y <= height, text);
      rows.set(node.y, [...(rows.get(node.y) ?? []), place]);
    }
    for (const places of rows.values()) {
      places.sort((a, b) => a.from - b.from);
      for (const [i, place] of places.entries())
        assert.ok(i === 0 || (places[i - 1]?.to ?? 0) <= place.from, text);
    }
  }
});
