/** What came out: a verdict, the network's own output, the answer, the trace, engines and downloads. */

import type { Ask } from "./ask.ts";
import { beforeAfter } from "./before-after.ts";
import type { Case, Refused } from "./case.ts";
import { caseMarkdown } from "./case-markdown.ts";
import { save } from "./download.ts";
import { button, h } from "./element.ts";
import { engineSummary, engineTable } from "./engine-table.ts";
import { figureFile } from "./figure-file.ts";
import { faultList } from "./marked-output.ts";
import { count, fixed, plural, time } from "./number.ts";
import { outputText } from "./output-text.ts";
import { symbolsOf } from "./symbols.ts";
import { panel, tracePanel, type TracePanel } from "./trace-panel.ts";
import { moodOf, signOf, verdictOf } from "./verdict.ts";
import type { Comparison, Output, WireRecord } from "./wire.ts";

export interface Outcome {
  ask: Ask;
  /** The rules as text, for downloads. */
  rules: string;
  records: WireRecord[];
  cases: Case[];
  refused: Refused[];
}

export interface Place {
  answer: number;
  step: number | null;
  compared: boolean;
}

export class Results {
  private outcome: Outcome | null = null;
  private answer = 0;
  private decode = 0;
  private comparison: Comparison | null = null;
  private trace: TracePanel | null = null;
  private readonly body = h("div", { class: "case-body" });
  private readonly picker = h("div", { class: "chips picker", role: "group", "aria-label": "Answers" });
  private engines = h("div", { class: "engines-body" });

  constructor(
    private readonly root: HTMLElement,
    private readonly compare: (outcome: Outcome) => Promise<Comparison>,
    private readonly onMove: () => void,
  ) {}

  get place(): Place {
    const shown = this.shown;
    const step = shown === null || this.decode === shown.chosen ? null : this.decode;
    return { answer: this.answer, step, compared: this.comparison !== null };
  }

  private get shown(): Case | null {
    return this.outcome?.cases[this.answer] ?? null;
  }

  clear(): void {
    this.trace?.stop();
    this.trace = null;
    this.outcome = null;
    this.comparison = null;
    this.root.replaceChildren();
  }

  show(outcome: Outcome, place: Place): void {
    this.clear();
    this.outcome = outcome;
    const refused = outcome.refused.map(({ line, error }) =>
      h("p", { class: "problem" }, outcome.records.length === 1 ? error : `Line ${line}: ${error}`),
    );
    this.answer = Math.min(place.answer, Math.max(0, outcome.cases.length - 1));
    this.root.replaceChildren(...refused, this.picker, this.body);
    if (this.shown === null) {
      this.picker.replaceChildren();
      this.body.replaceChildren();
      return;
    }
    this.draw(place.step ?? this.shown.chosen);
    if (place.compared) void this.runComparison();
  }

  private draw(decode: number): void {
    const { shown } = this;
    if (shown === null || this.outcome === null) return;
    this.trace?.stop();
    this.trace = null;
    this.decode = Math.min(decode, Math.max(0, shown.steps.length - 1));
    this.drawPicker();
    const moved = (at: number): void => {
      this.decode = at;
      this.onMove();
    };
    const sections = [this.verdict(shown), this.outputs(shown)];
    if (shown.steps.length > 1) {
      this.trace = tracePanel(shown, this.decode, moved);
      sections.push(...this.trace.elements);
    } else if (shown.answer.g_before !== 0 || shown.model.display !== "sequence") {
      sections.push(
        panel(
          shown.model.display === "sequence" ? "Alignment" : "Drawing",
          "drawn",
          beforeAfter(shown).element,
        ),
      );
    }
    this.engines = h("div", { class: "engines-body" });
    sections.push(panel("Engines", "engines", this.engines), this.downloads(shown));
    this.body.replaceChildren(...sections);
    this.drawEngines();
  }

  private drawPicker(): void {
    const cases = this.outcome?.cases ?? [];
    const lines = new Set(cases.map(({ line }) => line)).size;
    const chips = cases.map((one, i) => {
      const name = one.answer.lemma ?? (lines > 1 ? "" : "answer");
      const label = `${signOf(one.answer)} ${lines > 1 ? `${one.line} ` : ""}${name}`.trimEnd();
      const act = (): void => {
        this.answer = i;
        this.draw(one.chosen);
        this.onMove();
        this.picker.querySelectorAll("button")[i]?.focus();
      };
      const title = `Line ${one.line}${one.answer.lemma === undefined ? "" : `, ${one.answer.lemma}`}: ${one.answer.status}`;
      return button(label, act, { class: "chip", "aria-pressed": String(i === this.answer), title });
    });
    this.picker.replaceChildren(...(cases.length > 1 ? chips : []));
  }

  private verdict(shown: Case): HTMLElement {
    const { answer } = shown;
    const facts = [
      `g ${fixed(answer.g_before, 4)} → ${fixed(answer.g_after, 4)}`,
      plural(answer.steps, "step"),
      `${count(answer.passes)} passes`,
      time(answer.milliseconds),
    ];
    const sign = h("span", { class: "sign", "aria-hidden": "true" }, signOf(answer));
    const note = answer.note === undefined ? null : h("p", { class: "hint" }, answer.note);
    return h(
      "div",
      { class: `verdict ${moodOf(answer)}` },
      sign,
      h("div", {}, h("p", {}, verdictOf(shown)), h("p", { class: "facts" }, facts.join(" · ")), note),
    );
  }

  private outputs(shown: Case): HTMLElement {
    const { model, first, answer } = shown;
    const faults = (output: Output): HTMLElement =>
      faultList(output.faults ?? [], symbolsOf(output.output, model).length) ??
      h("p", { class: "obeys" }, "✓ obeys every rule");
    const own = panel("Network’s own output", "own", outputText(shown, first, null), faults(first));
    if (answer.g_before === 0) return h("div", { class: "outputs" }, own);
    const repaired = panel("Answer", "answer", outputText(shown, answer, first), faults(answer));
    return h("div", { class: "outputs" }, own, repaired);
  }

  private drawEngines(): void {
    const { shown, comparison } = this;
    if (shown === null) return;
    if (comparison === null) {
      const about = h("p", { class: "hint" }, "Every engine on the same inputs, with what each one costs.");
      this.engines.replaceChildren(
        about,
        button("Compare all engines", () => void this.runComparison(), { id: "compare" }),
      );
      return;
    }
    const table = engineTable(comparison, shown.model, shown.line, shown.index);
    const scroll = h("div", { class: "scroll", role: "group", tabindex: 0, "aria-label": "Engines" }, table);
    this.engines.replaceChildren(h("p", { class: "hint" }, engineSummary(comparison)), scroll);
  }

  private async runComparison(): Promise<void> {
    const { outcome } = this;
    if (outcome === null) return;
    this.engines.replaceChildren(h("p", { class: "hint", role: "status" }, "Comparing…"));
    try {
      const comparison = await this.compare(outcome);
      if (this.outcome !== outcome) return;
      this.comparison = comparison;
      this.drawEngines();
      this.onMove();
    } catch (error) {
      if (this.outcome !== outcome) return;
      this.drawEngines();
      this.engines.prepend(
        h("p", { class: "problem", role: "alert" }, error instanceof Error ? error.message : String(error)),
      );
    }
  }

  private downloads(shown: Case): HTMLElement {
    const { outcome } = this;
    const json = (): void => {
      const text = JSON.stringify(
        { ask: outcome?.ask, records: outcome?.records, comparison: this.comparison },
        null,
        2,
      );
      save("cajole.json", "application/json", `${text}\n`);
    };
    const markdown = (): void => {
      if (outcome === null) return;
      save("cajole.md", "text/markdown", caseMarkdown(shown, outcome.ask, outcome.rules, this.comparison));
    };
    const svg = (): void => save("cajole.svg", "image/svg+xml", figureFile(shown, this.decode));
    return h(
      "div",
      { class: "downloads", role: "group", "aria-label": "Downloads" },
      h("span", { class: "label" }, "Download"),
      button("JSON", json),
      button("Markdown", markdown),
      button("SVG", svg),
    );
  }
}
