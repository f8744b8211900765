/** Two sequences as SVG, aligned column by column and wrapped to a width. */

import type { Column } from "./alignment.ts";
import { s } from "./element.ts";
import type { Measure } from "./measure.ts";

const MARGIN = 64;
const ROW = 28;
const BLOCK = 2 * ROW + 18;
const PAD = 8;
const GAP_SIGN = "·";

export function drawAlignment(
  columns: Column[],
  names: [string, string],
  width: number,
  measure: Measure,
): SVGSVGElement {
  const blocks = wrap(columns, width - MARGIN, measure);
  const height = Math.max(1, blocks.length) * BLOCK;
  const drawing = s("svg", {
    class: "drawing alignment",
    role: "img",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "aria-label": inWords(columns, names),
  });
  for (const [i, block] of blocks.entries()) {
    const top = i * BLOCK;
    drawing.append(s("text", { class: "side", x: 0, y: top + 20 }, names[0]));
    drawing.append(s("text", { class: "side", x: 0, y: top + ROW + 20 }, names[1]));
    let x = MARGIN;
    for (const column of block) {
      const cell = widthOf(column, measure);
      const differs = column.before !== column.after;
      drawing.append(...symbol(column.before, differs ? "before" : null, x, top, cell));
      drawing.append(...symbol(column.after, differs ? "after" : null, x, top + ROW, cell));
      x += cell;
    }
  }
  return drawing;
}

function symbol(text: string | null, side: string | null, x: number, y: number, width: number): SVGElement[] {
  const made: SVGElement[] = [];
  if (text !== null && side !== null) {
    made.push(
      s("rect", { class: `box ${side}`, x: x + 0.5, y: y + 2, width: width - 1, height: ROW - 4, rx: 3 }),
    );
  }
  const class_ =
    text === null ? "gap middle" : side === null ? "symbol middle" : `symbol middle differs ${side}`;
  made.push(s("text", { class: class_, x: x + width / 2, y: y + 20 }, text ?? GAP_SIGN));
  return made;
}

function wrap(columns: Column[], width: number, measure: Measure): Column[][] {
  const blocks: Column[][] = [];
  let used = Infinity;
  for (const column of columns) {
    const cell = widthOf(column, measure);
    if (used + cell > width) {
      blocks.push([]);
      used = 0;
    }
    blocks.at(-1)?.push(column);
    used += cell;
  }
  return blocks;
}

function widthOf({ before, after }: Column, measure: Measure): number {
  const text = Math.max(measure(before ?? GAP_SIGN), measure(after ?? GAP_SIGN));
  return Math.ceil(Math.max(text + PAD, 15));
}

function inWords(columns: Column[], names: [string, string]): string {
  const only = (side: keyof Column): number =>
    columns.filter((column) => column[side] !== null && column.before !== column.after).length;
  return `${names[0]} and ${names[1]} aligned: ${only("before")} symbols only in the first, ${only("after")} only in the second.`;
}
