/** Places a tree: words in one row at the bottom, every phrase centred above its children. */

import type { Measure } from "./measure.ts";
import { UNKNOWN_TAG, type Tree } from "./tree.ts";

export interface Placed {
  tree: Tree;
  x: number;
  y: number;
  /** The width of its text. */
  width: number;
  children: Placed[];
}

export interface Layout {
  root: Placed;
  width: number;
  height: number;
}

export const ROW = 40;
const GAP = 14;
const MARGIN = 12;

export function layOut(tree: Tree, measure: Measure): Layout {
  const height = rows(tree) * ROW;
  let free = MARGIN;
  const place = (one: Tree): Placed => {
    const width = Math.max(...texts(one).map(measure));
    if (one.word !== null) {
      const x = free + width / 2;
      free += width + GAP;
      return { tree: one, x, y: height + MARGIN, width, children: [] };
    }
    const from = free;
    const children = one.children.map(place);
    // A label wider than everything below it pushes its words to the right.
    const short = width + GAP - (free - from);
    if (short > 0) {
      for (const child of children) shift(child, short / 2);
      free += short;
    }
    const [first, last] = [children[0], children.at(-1)];
    const x = first && last ? (first.x + last.x) / 2 : free - (width + GAP) / 2;
    return { tree: one, x, y: height + MARGIN - rows(one) * ROW, width, children };
  };
  const root = place(tree);
  return { root, width: free - GAP + MARGIN, height: height + 2 * MARGIN + ROW / 2 };
}

/** Lines of text at a node: the tag and the word of a leaf, the label of a phrase. */
export function texts(tree: Tree): string[] {
  if (tree.word === null) return [tree.label];
  return tree.label === UNKNOWN_TAG || tree.label === tree.word ? [tree.word] : [tree.label, tree.word];
}

/** All placed nodes, parents first. */
export function nodes(placed: Placed): Placed[] {
  return [placed, ...placed.children.flatMap(nodes)];
}

function rows(tree: Tree): number {
  return tree.word !== null ? 0 : 1 + Math.max(0, ...tree.children.map(rows));
}

function shift(placed: Placed, by: number): void {
  for (const one of nodes(placed)) one.x += by;
}
