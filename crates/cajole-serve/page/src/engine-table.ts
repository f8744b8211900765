/** All engines on the same inputs, side by side, with what each costs. */

import { h, type Child } from "./element.ts";
import { count, fixed, time } from "./number.ts";
import { ENGINES } from "./options.ts";
import { outputText } from "./output-text.ts";
import { moodOf, signOf } from "./verdict.ts";
import { answersOf, type Answer, type Comparison, type EngineResult, type Model } from "./wire.ts";

const HEAD = [
  ["engine", ""],
  ["", ""],
  ["output", ""],
  ["g", "number"],
  ["log p", "number"],
  ["passes", "number"],
  ["time", "number"],
] as const;

/** The table for one answer, or for all inputs together if there are several. */
export function engineTable(comparison: Comparison, model: Model, line: number, index: number): HTMLElement {
  const rows = comparison.engines.map((result) => ({ result, answer: answerOf(result, line, index) }));
  const first = rows.find(({ result }) => result.engine === "network")?.answer;
  const most = (value: (answer: Answer) => number): number =>
    Math.max(1e-9, ...rows.map(({ answer }) => (answer === null ? 0 : value(answer))));
  const [mostPasses, mostTime] = [most((a) => a.passes), most((a) => a.milliseconds ?? 0)];
  const head = HEAD.map(([name, class_]) => h("th", { scope: "col", class: class_ }, name));
  const body = rows.map(({ result, answer }) =>
    answer === null ? missing(result) : row(result, answer, first ?? null, model, mostPasses, mostTime),
  );
  return h(
    "table",
    { class: "engines" },
    h("caption", { class: "hidden" }, "Engines compared on this input"),
    h("thead", {}, h("tr", {}, ...head)),
    h("tbody", {}, ...body),
  );
}

/** How many inputs each engine repairs, where there are several. */
export function engineSummary({ inputs, failures, engines }: Comparison): string {
  if (inputs === 1) return "";
  const each = engines.map(({ engine, satisfied }) => `${engine} ${satisfied}`);
  return `Of ${count(inputs)} outputs ${count(failures)} violate the rules. Repaired: ${each.join(", ")}.`;
}

function answerOf({ records }: EngineResult, line: number, index: number): Answer | null {
  const record = records.find((one) => one.line === line);
  return (record && answersOf(record)[index]) ?? null;
}

function row(
  { engine }: EngineResult,
  answer: Answer,
  first: Answer | null,
  model: Model,
  mostPasses: number,
  mostTime: number,
): HTMLTableRowElement {
  const output = outputText({ model, answer }, answer, engine === "network" ? null : first);
  const cell = (name: string, class_: string, ...children: Child[]): HTMLElement =>
    h("td", { class: class_, "data-name": name }, ...children);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, engine, h("small", {}, ENGINES[engine.split(":")[0] ?? engine] ?? "")),
    cell(
      "status",
      `status ${moodOf(answer)}`,
      h("span", { role: "img", "aria-label": answer.status }, signOf(answer)),
    ),
    cell("output", "text", output, answer.note !== undefined && h("small", {}, answer.note)),
    cell("g", "number", fixed(answer.g_after, 4)),
    cell("log p", "number", fixed(answer.log_prob, 2)),
    cell("passes", "number", count(answer.passes), cost(answer.passes, mostPasses)),
    cell("time", "number", time(answer.milliseconds), cost(answer.milliseconds ?? 0, mostTime)),
  );
}

function cost(value: number, most: number): HTMLElement {
  return h("meter", { class: "cost", min: 0, max: most, value, "aria-hidden": "true" });
}

function missing({ engine }: EngineResult): HTMLTableRowElement {
  return h("tr", {}, h("th", { scope: "row" }, engine), h("td", { colspan: 6 }, "no answer for this input"));
}
