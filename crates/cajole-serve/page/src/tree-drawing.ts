/** A tree as SVG. Phrases that the other tree lacks stand out by colour, by a box and by heavier lines. */

import { s } from "./element.ts";
import type { Measure } from "./measure.ts";
import { leaves, type Tree } from "./tree.ts";
import { layOut, nodes, ROW, texts, type Placed } from "./tree-layout.ts";

export type Side = "before" | "after";

const BASELINE = 5;
const LINE = 18;
/** From the baseline of a label to the end of the edge above it. */
const CLEAR = 16;

export function drawTree(tree: Tree, differing: Set<Tree>, side: Side, measure: Measure): SVGSVGElement {
  const { root, width, height } = layOut(tree, measure);
  const words = leaves(tree).map((leaf) => leaf.word ?? "");
  const drawing = s("svg", {
    class: "drawing tree",
    role: "img",
    width: Math.ceil(width),
    height: Math.ceil(height),
    viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
    "aria-label": `Tree ${side} repair over: ${words.join(" ")}. ${differences(differing, words)}`,
  });
  const all = nodes(root);
  for (const node of all)
    for (const child of node.children) drawing.append(edge(node, child, differing, side));
  for (const node of all) drawing.append(...label(node, differing.has(node.tree), side));
  return drawing;
}

/** In words, what a reader who does not see colours needs. */
function differences(differing: Set<Tree>, words: string[]): string {
  const named = [...differing].map(
    ({ label, start, end }) => `${label} over “${words.slice(start, end).join(" ")}”`,
  );
  return named.length === 0 ? "No phrase differs." : `Phrases that differ: ${named.join("; ")}.`;
}

function edge(from: Placed, to: Placed, differing: Set<Tree>, side: Side): SVGElement {
  const class_ = differing.has(from.tree) ? `edge differs ${side}` : "edge";
  // Aslant only within the row below the parent, then straight down: so edges never cross other phrases.
  const bend = Math.min(from.y + ROW - CLEAR, to.y - CLEAR);
  const d = `M${round(from.x)} ${round(from.y + BASELINE)}L${round(to.x)} ${round(bend)}V${round(to.y - CLEAR)}`;
  return s("path", { class: class_, d });
}

function label(node: Placed, differs: boolean, side: Side): SVGElement[] {
  const made: SVGElement[] = [];
  if (differs) {
    const width = node.width + 10;
    made.push(
      s("rect", {
        class: `box ${side}`,
        x: round(node.x - width / 2),
        y: round(node.y - 15),
        width: round(width),
        height: 21,
        rx: 4,
      }),
    );
  }
  const lines = texts(node.tree);
  for (const [i, text] of lines.entries()) {
    const isWord = node.tree.word !== null && i === lines.length - 1;
    const class_ = isWord ? "word" : node.tree.word !== null ? "tag" : "phrase";
    made.push(s("text", { class: `${class_} middle`, x: round(node.x), y: round(node.y + i * LINE) }, text));
  }
  return made;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
