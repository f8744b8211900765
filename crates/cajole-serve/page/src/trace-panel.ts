/** The trace of a repair: a scrubber, the output at the cursor with what changed, plots and weights. */

import { beforeAfter } from "./before-after.ts";
import { previousOf, type Case } from "./case.ts";
import { h } from "./element.ts";
import { linkedPlots } from "./linked-plots.ts";
import { faultList } from "./marked-output.ts";
import { count, fixed, plural, time } from "./number.ts";
import { outputChanges, outputText } from "./output-text.ts";
import { scrubber } from "./scrubber.ts";
import { symbolsOf } from "./symbols.ts";
import { weights } from "./weights.ts";
import type { Step } from "./wire.ts";

export interface TracePanel {
  elements: HTMLElement[];
  stop(): void;
}

/** The panel, at the decode `at`; `onMove` hears of every other. */
export function tracePanel(shown: Case, at: number, onMove: (decode: number) => void): TracePanel {
  const { steps, chosen, answer } = shown;
  const output = h("div", { class: "step-output" });
  const describe = (decode: number): string => describeDecode(steps, decode, chosen);
  const show = (decode: number): void => {
    const step = steps[decode];
    if (step === undefined) return;
    control.moveTo(decode);
    plots.moveTo(decode);
    moved?.show(step);
    pair.show(step, decode === chosen ? "Answer" : `Decode ${decode}`);
    output.replaceChildren(...stepOutput(shown, decode));
  };
  const move = (decode: number): void => {
    show(decode);
    onMove(decode);
  };
  const control = scrubber(steps.length, describe, move);
  const plots = linkedPlots(shown, (decode) => {
    control.stop();
    move(decode);
  });
  const moved = answer.trace === undefined ? null : weights(answer.trace);
  const pair = beforeAfter(shown);
  show(at);
  return {
    elements: [
      panel("Trace", "trace", control.element, output, plots.element, moved?.element ?? h("p", {})),
      panel(
        shown.model.display === "tree" ? "Trees" : shown.model.display === "roles" ? "Roles" : "Alignment",
        "drawn",
        pair.element,
      ),
    ],
    stop: control.stop,
  };
}

/** A titled section. */
export function panel(title: string, name: string, ...children: HTMLElement[]): HTMLElement {
  const id = `${name}-title`;
  return h("section", { class: `panel ${name}`, "aria-labelledby": id }, h("h2", { id }, title), ...children);
}

function describeDecode(steps: Step[], decode: number, chosen: number): string {
  const step = steps[decode];
  if (step === undefined) return "";
  const what = decode === 0 ? "network’s own" : `attempt ${step.attempt + 1}, step ${step.iteration}`;
  return `Decode ${decode} of ${steps.length - 1}: ${what}${decode === chosen && decode > 0 ? ", the answer" : ""}`;
}

function stepOutput(shown: Case, decode: number): HTMLElement[] {
  const { steps, model } = shown;
  const step = steps[decode];
  if (step === undefined) return [];
  const n = symbolsOf(step.output, model).length;
  const previous = previousOf(steps, decode);
  const figures: [string, string][] = [
    ["g", fixed(step.g, 4)],
    ["log p", fixed(step.log_prob, 2)],
    ["distance", fixed(step.distance, 4)],
    ["passes so far", count(step.passes)],
    ["time so far", time(step.milliseconds)],
    ["output", previous === null ? plural(n, "symbol") : outputChanges(shown, step, previous)],
  ];
  const made: HTMLElement[] = [
    outputText(shown, step, previous),
    h(
      "dl",
      { class: "figures" },
      ...figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
  ];
  const list = faultList(step.faults ?? [], n);
  made.push(list ?? h("p", { class: "obeys" }, "✓ obeys every rule"));
  return made;
}
