/** Two outputs for the same input, drawn as the task suggests: trees, roles or aligned sequences. */

import { align, paired } from "./alignment.ts";
import { drawAlignment } from "./alignment-drawing.ts";
import type { Case } from "./case.ts";
import { h, type Child } from "./element.ts";
import { FONT, measureIn, MONO } from "./measure.ts";
import { plural } from "./number.ts";
import { drawRoles, lackingArguments } from "./role-drawing.ts";
import { symbolsOf } from "./symbols.ts";
import { drawTree, type Side } from "./tree-drawing.ts";
import { lacking, parseTree } from "./tree.ts";
import type { Output } from "./wire.ts";

/** Between two drawings side by side. */
const GAP = 20;

export interface Drawn {
  title: string;
  drawing: SVGSVGElement;
  note: string | null;
}

/** The drawings of two outputs, for a space of this width. */
export function drawings(
  shown: Case,
  before: Output,
  after: Output,
  afterName: string,
  width: number,
): Drawn[] {
  if (before.tree !== undefined && after.tree !== undefined) {
    const drawn = trees(before, after, afterName);
    if (drawn !== null) return drawn;
  }
  const { tokens } = shown.answer;
  if (tokens !== undefined && before.arguments && after.arguments) {
    const side = (output: Output, other: Output, name: string, which: Side): Drawn => {
      const roles = { tokens, arguments: output.arguments ?? [], faults: output.faults ?? [] };
      const differing = lackingArguments(roles.arguments, other.arguments ?? []);
      return { title: name, drawing: drawRoles(roles, differing, which, width, measureIn(FONT)), note: null };
    };
    return [side(before, after, "Network’s own", "before"), side(after, before, afterName, "after")];
  }
  const columns = paired(align(symbolsOf(before.output, shown.model), symbolsOf(after.output, shown.model)));
  return [
    { title: "", drawing: drawAlignment(columns, ["own", "after"], width, measureIn(MONO)), note: null },
  ];
}

export interface BeforeAfter {
  element: HTMLElement;
  show(after: Output, name: string): void;
}

/** A panel that compares the network's own output with another one. */
export function beforeAfter(shown: Case): BeforeAfter {
  const body = h("div", { class: `pair ${shown.model.display}` });
  let [after, name]: [Output, string] = [shown.answer, "Answer"];
  const draw = (): void => {
    const width = Math.max(260, body.clientWidth);
    const drawn = drawings(shown, shown.first, after, name, width);
    const isNarrow = drawn.every(({ drawing }) => Number(drawing.getAttribute("width")) <= width / 2 - GAP);
    body.classList.toggle("beside", drawn.length === 2 && isNarrow);
    if (!isNarrow) for (const { drawing } of drawn) fit(drawing, width);
    body.replaceChildren(...drawn.map((one) => figure(one)));
  };
  let width = 0;
  new ResizeObserver(() => {
    if (body.clientWidth === width) return;
    width = body.clientWidth;
    draw();
  }).observe(body);
  return {
    element: h("div", {}, body, legend()),
    show(output, title) {
      [after, name] = [output, title];
      draw();
    },
  };
}

/** Shrinks a drawing that is too wide, as far as it stays legible; the rest is scrolled. */
function fit(drawing: SVGSVGElement, width: number): void {
  const SMALLEST = 0.75;
  const [own, height] = [Number(drawing.getAttribute("width")), Number(drawing.getAttribute("height"))];
  const scale = Math.min(1, Math.max(SMALLEST, width / own));
  drawing.setAttribute("width", String(Math.round(own * scale)));
  drawing.setAttribute("height", String(Math.round(height * scale)));
}

function figure({ title, drawing, note }: Drawn): HTMLElement {
  const scroll = h(
    "div",
    { class: "scroll", role: "group", tabindex: 0, "aria-label": title || "Alignment" },
    drawing,
  );
  const caption: Child = title !== "" && h("figcaption", {}, title, note !== null && h("small", {}, note));
  return h("figure", {}, caption, scroll);
}

function legend(): HTMLElement {
  return h(
    "p",
    { class: "legend" },
    h("span", { class: "swatch before" }, "only in the network’s own output"),
    h("span", { class: "swatch after" }, "only after the repair"),
  );
}

function trees(before: Output, after: Output, afterName: string): Drawn[] | null {
  const [own, repaired] = [parseTree(before.tree ?? ""), parseTree(after.tree ?? "")];
  if (own === null || repaired === null) return null;
  const measure = measureIn(FONT);
  const note = ({ mended = 0 }: Output): string | null =>
    mended === 0 ? null : `This output is no tree. The drawing shows it after ${plural(mended, "mend")}.`;
  return [
    {
      title: "Network’s own",
      drawing: drawTree(own, lacking(own, repaired), "before", measure),
      note: note(before),
    },
    {
      title: afterName,
      drawing: drawTree(repaired, lacking(repaired, own), "after", measure),
      note: note(after),
    },
  ];
}
