/** An output as text, with faults marked where they are and changes marked as insertions and deletions. */

import { align, type Edit } from "./alignment.ts";
import { h } from "./element.ts";
import { fixed, plural } from "./number.ts";
import type { Fault } from "./wire.ts";

export interface Marked {
  symbols: string[];
  separator: string;
  faults: Fault[];
  /** What the output was before, to show what changed. */
  before: string[] | null;
}

interface Piece {
  edit: Edit;
  isBlamed: boolean;
  symbols: string[];
}

/** Whether a fault is about the output as a whole and not about a place in it. */
export function isOfWhole({ start, end }: Fault, n: number): boolean {
  return end - start > n;
}

export function markedOutput({ symbols, separator, faults, before }: Marked): HTMLElement {
  const located = faults.filter((fault) => !isOfWhole(fault, symbols.length));
  const isBlamed = (position: number): boolean =>
    located.some(({ start, end }) => start <= position && position < end);
  const pieces: Piece[] = [];
  const push = (symbol: string, edit: Edit, blamed: boolean): void => {
    const last = pieces.at(-1);
    if (last?.edit === edit && last.isBlamed === blamed) last.symbols.push(symbol);
    else pieces.push({ edit, isBlamed: blamed, symbols: [symbol] });
  };
  let position = 0;
  for (const column of align(before ?? symbols, symbols)) {
    if (column.after === null) push(column.before ?? "", "removed", false);
    else {
      push(column.after, column.before === null ? "added" : "same", isBlamed(position));
      position += 1;
    }
  }
  const code = h("code", { class: "output" });
  for (const [i, piece] of pieces.entries()) {
    if (i > 0 && separator !== "") code.append(separator);
    code.append(elementOf(piece, separator));
  }
  if (pieces.length === 0) code.append(h("span", { class: "empty" }, "empty output"));
  if (isBlamed(symbols.length))
    code.append(separator || " ", h("u", { class: "wrong end-of-output" }, "end"));
  return code;
}

/** What changed, in words. */
export function changesInWords(before: string[], after: string[]): string {
  const columns = align(before, after);
  const added = columns.filter((column) => column.before === null).length;
  const removed = columns.filter((column) => column.after === null).length;
  if (added === 0 && removed === 0) return "unchanged";
  const parts = [
    added > 0 && `${plural(added, "symbol")} added`,
    removed > 0 && `${plural(removed, "symbol")} removed`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}

/** The faults as a list: where, what, and how much of g. */
export function faultList(faults: Fault[], n: number): HTMLElement | null {
  if (faults.length === 0) return null;
  const items = faults.map((fault) =>
    h(
      "li",
      {},
      h("span", { class: "place" }, placeOf(fault, n)),
      h("span", { class: "message" }, fault.message),
      h("span", { class: "cost" }, `g ${fixed(fault.cost, 4)}`),
    ),
  );
  return h("ul", { class: "faults", "aria-label": "Faults" }, ...items);
}

export function placeOf(fault: Fault, n: number): string {
  if (isOfWhole(fault, n)) return "whole output";
  if (fault.start >= n) return "end";
  return fault.end - fault.start <= 1 ? `at ${fault.start}` : `at ${fault.start}..${fault.end}`;
}

function elementOf({ edit, isBlamed, symbols }: Piece, separator: string): Node {
  const text = document.createTextNode(symbols.join(separator));
  const inner = isBlamed ? h("u", { class: "wrong" }, text) : text;
  if (edit === "added") return h("ins", {}, inner);
  if (edit === "removed") return h("del", {}, inner);
  return inner;
}
