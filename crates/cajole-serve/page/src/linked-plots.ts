/** g, log p and distance over the decodes, side by side, with one cursor. */

import { attemptsOf, type Case } from "./case.ts";
import { h } from "./element.ts";
import { plot, type Plot, type Series } from "./plot.ts";

export interface LinkedPlots {
  element: HTMLElement;
  moveTo(decode: number): void;
}

export function seriesOf({ steps, chosen }: Case): Series[] {
  const shared = {
    attempts: attemptsOf(steps),
    satisfied: steps.map((step) => step.g === 0),
    answer: chosen,
  };
  return [
    { name: "g, violation", values: steps.map((step) => step.g), decimals: 4, ...shared },
    { name: "log p of the output", values: steps.map((step) => step.log_prob), decimals: 2, ...shared },
    { name: "distance from the weights", values: steps.map((step) => step.distance), decimals: 4, ...shared },
  ];
}

export function linkedPlots(shown: Case, onMove: (decode: number) => void): LinkedPlots {
  const all = seriesOf(shown);
  const element = h("div", { class: "plots" });
  let at = 0;
  let plots: Plot[] = [];
  const draw = (): void => {
    const figures = [...element.children];
    plots = all.map((series, i) => plot(series, Math.max(240, figures[i]?.clientWidth ?? 300), i));
    for (const [i, one] of plots.entries()) {
      figures[i]?.replaceChildren(one.drawing);
      one.moveTo(at);
    }
  };
  for (const [i] of all.entries()) {
    const figure = h("div", { class: "figure" });
    const scrub = (event: PointerEvent): void => {
      const decode = plots[i]?.decodeAt(event.clientX - figure.getBoundingClientRect().left);
      if (decode !== undefined && decode !== at) onMove(decode);
    };
    figure.addEventListener("pointerdown", scrub);
    figure.addEventListener("pointermove", (event) => {
      if (event.buttons === 1) scrub(event);
    });
    element.append(figure);
  }
  new ResizeObserver(draw).observe(element);
  return {
    element,
    moveTo(decode) {
      at = decode;
      for (const one of plots) one.moveTo(decode);
    },
  };
}
