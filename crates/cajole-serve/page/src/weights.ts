/** Which weights were free to move, and how far they went. */

import { h } from "./element.ts";
import { count, fixed } from "./number.ts";
import type { Step, Trace } from "./wire.ts";

export interface Weights {
  element: HTMLElement;
  show(step: Step): void;
}

export function weights(trace: Trace): Weights {
  const most = furthest(trace);
  const bar = h("meter", {
    min: 0,
    max: most || 1,
    value: 0,
    "aria-label": "Distance from the network’s own weights",
  });
  const reading = h("span", { class: "reading" });
  const names = trace.moves.map((pattern) => h("li", {}, h("code", {}, pattern)));
  const which =
    names.length === 0 ? [": every weight of the network"] : [" in ", h("ul", { class: "names" }, ...names)];
  const element = h(
    "dl",
    { class: "weights" },
    h("dt", {}, "Weights free to move"),
    h("dd", {}, h("b", {}, count(trace.moving)), ...which),
    h("dt", {}, "How far"),
    h("dd", {}, bar, " ", reading),
  );
  return {
    element,
    show({ distance }) {
      bar.value = distance ?? 0;
      reading.textContent = `${fixed(distance, 4)} of at most ${fixed(most, 4)} in this trace`;
    },
  };
}

/** The furthest that the weights went in a trace. */
function furthest({ steps }: Trace): number {
  return Math.max(0, ...steps.map((step) => step.distance ?? 0));
}
