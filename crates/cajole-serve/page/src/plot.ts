/** One figure over the decodes of a trace, with a cursor. */

import { s } from "./element.ts";
import { fixed, tickLabel, ticks } from "./number.ts";

export interface Series {
  name: string;
  /** One value for each decode; `null` was not measured. */
  values: (number | null)[];
  decimals: number;
  /** Decodes at which a new attempt begins. */
  attempts: number[];
  /** Decodes whose output satisfies the rules. */
  satisfied: boolean[];
  /** The decode that gave the answer. */
  answer: number;
}

export interface Plot {
  drawing: SVGSVGElement;
  moveTo(decode: number): void;
  /** The decode nearest to a horizontal position. */
  decodeAt(x: number): number;
}

const HEIGHT = 200;
const TOP = 40;
const BOTTOM = HEIGHT - 32;
const RIGHT_MARGIN = 14;

export function plot(series: Series, width: number, hue: number): Plot {
  const { values } = series;
  const known = values.filter((value) => value !== null);
  const yTicks = ticks(Math.min(...known, 0), Math.max(...known, 0), 4);
  const step = (yTicks[1] ?? 1) - (yTicks[0] ?? 0);
  const labels = yTicks.map((tick) => tickLabel(tick, step));
  const left = 12 + 7.5 * Math.max(...labels.map((label) => label.length));
  const right = width - RIGHT_MARGIN;
  const [low, high] = [yTicks[0] ?? 0, yTicks.at(-1) ?? 1];
  const x = (decode: number): number => left + (decode / Math.max(1, values.length - 1)) * (right - left);
  const y = (value: number): number => BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP);

  const drawing = s("svg", {
    class: `drawing plot series-${hue}`,
    role: "img",
    width,
    height: HEIGHT,
    viewBox: `0 0 ${width} ${HEIGHT}`,
    "aria-label": inWords(series),
  });
  const reading = s("text", { class: "reading end", x: right, y: 16 });
  drawing.append(s("text", { class: "title", x: 0, y: 16 }, series.name), reading);
  for (const [i, tick] of yTicks.entries()) {
    drawing.append(s("path", { class: "grid", d: `M${left} ${y(tick)}H${right}` }));
    drawing.append(s("text", { class: "tick end", x: left - 6, y: y(tick) + 4.5 }, labels[i]));
  }
  drawing.append(...decodeTicks(values.length, x));
  drawing.append(...attempts(series, x, right));
  drawing.append(s("path", { class: "curve", d: path(series, x, y) }));
  drawing.append(...points(series, x, y));
  const line = s("path", { class: "cursor", d: `M0 ${TOP - 4}V${BOTTOM}` });
  const dot = s("circle", { class: "dot", r: 6 });
  drawing.append(line, dot);

  return {
    drawing,
    moveTo(decode) {
      const value = values[decode] ?? null;
      line.setAttribute("transform", `translate(${x(decode)} 0)`);
      dot.setAttribute("visibility", value === null ? "hidden" : "visible");
      dot.setAttribute("transform", `translate(${x(decode)} ${y(value ?? 0)})`);
      reading.textContent = fixed(value, series.decimals);
    },
    decodeAt(at) {
      const fraction = (at - left) / (right - left);
      return Math.min(values.length - 1, Math.max(0, Math.round(fraction * (values.length - 1))));
    },
  };
}

/** Whole numbers below the axis, as many as there is room for. */
function decodeTicks(n: number, x: (decode: number) => number): SVGElement[] {
  const all = n < 2 ? [0] : ticks(0, n - 1, 6).filter((tick) => Number.isInteger(tick) && tick < n);
  return all.map((tick) => s("text", { class: "tick middle", x: x(tick), y: BOTTOM + 25 }, String(tick)));
}

/** Where attempts begin, by name where there is room. */
function attempts({ attempts: starts }: Series, x: (decode: number) => number, right: number): SVGElement[] {
  const ROOM = 66;
  return starts.flatMap((decode, i) => {
    const [from, to] = [x(decode - 0.5), x((starts[i + 1] ?? Infinity) - 0.5)];
    const line = s("path", { class: "attempt", d: `M${from} ${TOP}V${BOTTOM}` });
    const name = s("text", { class: "tick", x: from + 4, y: TOP - 4 }, `attempt ${i + 2}`);
    return Math.min(to, right + RIGHT_MARGIN) - from < ROOM ? [line] : [line, name];
  });
}

/** A line through the values, interrupted where an attempt begins or nothing was measured. */
function path(
  { values, attempts }: Series,
  x: (decode: number) => number,
  y: (value: number) => number,
): string {
  let d = "";
  let isDown = false;
  for (const [decode, value] of values.entries()) {
    if (attempts.includes(decode)) isDown = false;
    if (value === null) {
      isDown = false;
      continue;
    }
    d += `${isDown ? "L" : "M"}${x(decode).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = true;
  }
  return d;
}

/** Dots where they can be told apart; those that satisfy are larger, and the answer has a ring. */
function points(series: Series, x: (decode: number) => number, y: (value: number) => number): SVGElement[] {
  const MOST_DOTS = 60;
  const made: SVGElement[] = [];
  for (const [decode, value] of series.values.entries()) {
    if (value === null) continue;
    const isSatisfied = series.satisfied[decode] ?? false;
    const [cx, cy] = [x(decode).toFixed(1), y(value).toFixed(1)];
    if (decode === series.answer) made.push(s("circle", { class: "ring", cx, cy, r: 9 }));
    if (isSatisfied || series.values.length <= MOST_DOTS) {
      made.push(
        s("circle", { class: isSatisfied ? "point satisfied" : "point", cx, cy, r: isSatisfied ? 4.5 : 2.5 }),
      );
    }
  }
  return made;
}

function inWords({ name, values, decimals }: Series): string {
  const [first, last] = [fixed(values[0], decimals), fixed(values.at(-1), decimals)];
  return `${name} over ${values.length} decodes, from ${first} to ${last}.`;
}
