/** Roles as SVG: a sentence, wrapped, with a labelled bar under every argument. */

import { s } from "./element.ts";
import type { Measure } from "./measure.ts";
import type { Side } from "./tree-drawing.ts";
import type { Argument, Fault } from "./wire.ts";

export interface Roles {
  tokens: string[];
  arguments: Argument[];
  faults: Fault[];
}

const LINE = 66;
const SPACE = 8;

interface Word {
  text: string;
  x: number;
  line: number;
  width: number;
}

/** The arguments of `these` that `others` lack. */
export function lackingArguments(these: Argument[], others: Argument[]): Set<Argument> {
  const key = ({ role, start, end }: Argument): string => `${role} ${start} ${end}`;
  const has = new Set(others.map(key));
  return new Set(these.filter((argument) => !has.has(key(argument))));
}

export function drawRoles(
  roles: Roles,
  differing: Set<Argument>,
  side: Side,
  width: number,
  measure: Measure,
): SVGSVGElement {
  const words = place(roles, width, measure);
  const lines = 1 + Math.max(0, ...words.map((word) => word.line));
  const height = lines * LINE;
  const drawing = s("svg", {
    class: "drawing roles",
    role: "img",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "aria-label": inWords(roles, differing, side),
  });
  for (const [i, word] of words.entries()) {
    const isBlamed = roles.faults.some(({ start, end }) => start <= i && i < end);
    const y = word.line * LINE + 20;
    const class_ = isBlamed ? "word middle blamed" : "word middle";
    drawing.append(s("text", { class: class_, x: word.x + word.width / 2, y }, word.text));
  }
  for (const argument of roles.arguments) {
    drawing.append(...bars(argument, words, differing.has(argument) ? side : null, measure));
  }
  return drawing;
}

/** Places words. Those under a label that is wider than they are move apart. */
function place({ tokens, arguments: spans }: Roles, width: number, measure: Measure): Word[] {
  const widths = tokens.map((token) => measure(token));
  for (const { role, start, end } of spans) {
    const own = widths.slice(start, end).reduce((sum, one) => sum + one, 0) + (end - start - 1) * SPACE;
    const short = measure(role) + 10 - own;
    if (short > 0) for (let i = start; i < end; i += 1) widths[i] = (widths[i] ?? 0) + short / (end - start);
  }
  const words: Word[] = [];
  let [x, line] = [0, 0];
  for (const [i, text] of tokens.entries()) {
    const own = widths[i] ?? 0;
    if (x > 0 && x + own > width) [x, line] = [0, line + 1];
    words.push({ text, x, line, width: own });
    x += own + SPACE;
  }
  return words;
}

/** The bar of an argument, one piece for each line it covers. Its label is on the widest piece. */
function bars(
  { role, start, end }: Argument,
  words: Word[],
  side: Side | null,
  measure: Measure,
): SVGElement[] {
  const pieces = new Map<number, { from: number; to: number }>();
  for (const { line, x, width } of words.slice(start, end)) {
    const piece = pieces.get(line);
    if (piece === undefined) pieces.set(line, { from: x, to: x + width });
    else piece.to = x + width;
  }
  const widest = Math.max(0, ...[...pieces.values()].map(({ from, to }) => to - from));
  const class_ = side ?? (role === "V" ? "predicate" : "same");
  const made: SVGElement[] = [];
  for (const [line, { from, to }] of pieces) {
    const y = line * LINE + 28;
    made.push(s("rect", { class: `bar ${class_}`, x: from, y, width: to - from, height: 20, rx: 4 }));
    if (to - from === widest && measure(role) <= widest) {
      made.push(s("text", { class: `role middle ${class_}`, x: (from + to) / 2, y: y + 14.5 }, role));
    }
  }
  return made;
}

function inWords({ arguments: spans }: Roles, differing: Set<Argument>, side: Side): string {
  const named = spans.map((one) => `${one.role} “${one.text}”${differing.has(one) ? " (differs)" : ""}`);
  return `Roles ${side} repair: ${named.join(", ") || "none"}.`;
}
