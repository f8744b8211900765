/** A case as Markdown: what was asked, how it went, and every decode that changed something. */

import type { Ask } from "./ask.ts";
import { lineOf } from "./ask.ts";
import { stepLabel, type Case } from "./case.ts";
import { isOfWhole, placeOf } from "./marked-output.ts";
import { count, fixed } from "./number.ts";
import { isSame, symbolsOf, textOf } from "./symbols.ts";
import { verdictOf } from "./verdict.ts";
import { answersOf, type Comparison, type Output, type Step } from "./wire.ts";

export function caseMarkdown(shown: Case, ask: Ask, rules: string, comparison: Comparison | null): string {
  const { model, answer, first, steps } = shown;
  const parts = [
    `# A repair by cajole`,
    verdictOf(shown),
    list([
      ["model", code(model.name)],
      ["input", code(lineOf(shown.input))],
      ...(answer.lemma === undefined ? [] : ([["predicate", code(answer.lemma)]] as [string, string][])),
      ["own output", code(textOf(first.output, model))],
      ["answer", code(textOf(answer.output, model))],
      ["g", `${fixed(answer.g_before, 4)} → ${fixed(answer.g_after, 4)}`],
      ["engine", code(ask.engine ?? answer.engine)],
      ["steps, passes", `${count(answer.steps)}, ${count(answer.passes)}`],
    ]),
    "## Rules",
    fenced("toml", rules),
  ];
  if (steps.length > 0) parts.push("## Trace", traceTable(shown));
  if (comparison !== null) parts.push("## Engines", engineTable(comparison, shown));
  return `${parts.join("\n\n")}\n`;
}

/** Decodes worth showing: the first, and the last of each run of equal outputs. */
export function changes(steps: Step[]): Step[] {
  return steps.filter((step, i) => {
    const next = steps[i + 1];
    return i === 0 || next === undefined || !isSame(step.output, next.output);
  });
}

/** Text with every character that Markdown would read taken literally. */
export function escape(text: string): string {
  return text.replace(/[\\`*_{}[\]<>()#+\-.!|~]/g, "\\$&").replace(/\s*\n\s*/g, " ");
}

function traceTable({ steps, model }: Case): string {
  const head = "| step | output | g | log p | distance | faults |\n| --: | :-- | --: | --: | --: | :-- |";
  const rows = changes(steps).map((step) => {
    const figures = [fixed(step.g, 4), fixed(step.log_prob, 2), fixed(step.distance, 4)];
    const n = symbolsOf(step.output, model).length;
    const faults = (step.faults ?? []).map((fault) => `${placeOf(fault, n)}: ${fault.message}`).join("; ");
    return `| ${stepLabel(step)} | ${markedText(step, model.separator, n)} | ${figures.join(" | ")} | ${escape(faults)} |`;
  });
  return [head, ...rows].join("\n");
}

/** The output with blamed stretches in bold. Tags, because asterisks inside words are not emphasis. */
function markedText({ output, faults = [] }: Output, separator: string, n: number): string {
  const located = faults.filter((fault) => !isOfWhole(fault, n));
  const symbols = symbolsOf(output, { separator });
  const words = symbols.map((symbol, i) => {
    const isBlamed = located.some(({ start, end }) => start <= i && i < end);
    return isBlamed ? `<b>${escape(symbol)}</b>` : escape(symbol);
  });
  return words.join(separator).replaceAll(`</b>${separator}<b>`, separator);
}

function engineTable(comparison: Comparison, { line, index, model }: Case): string {
  const head = "| engine | status | output | g | log p | passes |\n| :-- | :-- | :-- | --: | --: | --: |";
  const rows = comparison.engines.flatMap(({ engine, records }) => {
    const record = records.find((one) => one.line === line);
    const answer = record && answersOf(record)[index];
    if (answer === undefined) return [];
    const figures = [fixed(answer.g_after, 4), fixed(answer.log_prob, 2), count(answer.passes)];
    return [
      `| ${engine} | ${answer.status} | ${escape(textOf(answer.output, model))} | ${figures.join(" | ")} |`,
    ];
  });
  return [head, ...rows].join("\n");
}

function list(entries: [string, string][]): string {
  return entries.map(([name, value]) => `- **${name}**: ${value}`).join("\n");
}

/** Text between more backticks than it holds in a row. */
function code(text: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${pad}${text}${pad}${fence}`;
}

function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}
