/** The drawings of a case as one SVG file that needs nothing else. */

import { drawings } from "./before-after.ts";
import type { Case } from "./case.ts";
import style from "./drawing.css";
import { s } from "./element.ts";
import { seriesOf } from "./linked-plots.ts";
import { plot } from "./plot.ts";

const WIDTH = 960;
const GAP = 16;
const TITLE = 26;

export function figureFile(shown: Case, decode: number): string {
  const after = shown.steps[decode] ?? shown.answer;
  const parts: { title: string; drawing: SVGSVGElement }[] = drawings(
    shown,
    shown.first,
    after,
    "After",
    WIDTH,
  );
  const file = s("svg", { xmlns: "http://www.w3.org/2000/svg", class: "file" }, s("style", {}, style));
  let [y, width] = [GAP, WIDTH];
  for (const { title, drawing } of parts) {
    if (title !== "") {
      file.append(s("text", { class: "heading", x: GAP, y: y + 14 }, title));
      y += TITLE;
    }
    y += put(file, drawing, GAP, y) + GAP;
    width = Math.max(width, Number(drawing.getAttribute("width")));
  }
  if (shown.steps.length > 1) {
    const third = (width - 2 * GAP) / 3;
    let height = 0;
    for (const [i, series] of seriesOf(shown).entries()) {
      const { drawing, moveTo } = plot(series, third, i);
      moveTo(decode);
      height = put(file, drawing, GAP + i * (third + GAP), y);
    }
    y += height + GAP;
  }
  const total = `${width + 2 * GAP}`;
  for (const [name, value] of [
    ["width", total],
    ["height", String(y)],
    ["viewBox", `0 0 ${total} ${y}`],
  ] as const) {
    file.setAttribute(name, value);
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(file)}\n`;
}

/** Puts a drawing into the file; returns its height. */
function put(file: SVGSVGElement, drawing: SVGSVGElement, x: number, y: number): number {
  drawing.setAttribute("x", String(x));
  drawing.setAttribute("y", String(y));
  file.append(drawing);
  return Number(drawing.getAttribute("height"));
}
