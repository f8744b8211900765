/** Rules to choose or to edit: the model's own, a file the server knows, a form, or TOML. */

import { lint } from "./api.ts";
import type { RuleChoice } from "./ask.ts";
import { byId, h } from "./element.ts";
import { RuleForm } from "./rule-form.ts";
import { errorList, TomlEditor } from "./toml-editor.ts";
import type { LintResult, Model, RuleError, RuleFile, Rules } from "./wire.ts";

/** How long the page waits for more keys before it asks the server, in milliseconds. */
const PAUSE = 250;

type Tab = "form" | "toml";

export class RuleEditor {
  private readonly source = byId("rule-source", HTMLSelectElement);
  private readonly errors = byId("rule-errors", HTMLUListElement);
  private readonly warnings = byId("rule-warnings", HTMLElement);
  private readonly form = new RuleForm((table) => this.edited({ table }));
  private readonly toml = new TomlEditor((text) => this.edited({ toml: text }));
  private model: Model | null = null;
  private files: RuleFile[] = [];
  /** Counts requests, so that an answer that was overtaken is dropped. */
  private asked = 0;
  private pending: Promise<void> = Promise.resolve();
  private isValid = true;

  constructor() {
    byId("rule-form-panel", HTMLElement).append(this.form.element);
    byId("rule-toml-panel", HTMLElement).append(this.toml.element);
    this.source.addEventListener("change", () => this.choose(this.choiceOf(this.source.value)));
    for (const tab of ["form", "toml"] as const) {
      const button = this.tab(tab);
      button.addEventListener("click", () => this.open(tab));
      button.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        const other = tab === "form" ? "toml" : "form";
        this.open(other);
        this.tab(other).focus();
      });
    }
  }

  /** Offers the rules that fit a model. */
  setModel(model: Model, files: RuleFile[]): void {
    this.model = model;
    this.files = files.filter((file) => file.models.includes(model.name));
    this.form.setDisplay(model.display);
    const options = [
      h("option", { value: "model", disabled: model.rules === null }, "the model’s own"),
      ...this.files.map(({ name }) => h("option", { value: `file:${name}` }, name)),
      h("option", { value: "editor" }, "edited here"),
    ];
    this.source.replaceChildren(...options);
  }

  /** The rules that a model is asked with if nobody says otherwise. */
  usual(): RuleChoice {
    if (this.model === null || this.model.rules !== null) return { from: "model" };
    const [file] = this.files;
    return file === undefined ? { from: "editor", toml: "" } : { from: "file", name: file.name };
  }

  choose(choice: RuleChoice): void {
    this.source.value = choice.from === "file" ? `file:${choice.name}` : choice.from;
    const file = choice.from === "file" && this.files.find(({ name }) => name === choice.name);
    if (choice.from === "file" && !file) return this.choose(this.usual());
    this.toml.text = choice.from === "editor" ? choice.toml : file ? file.toml : (this.model?.rules ?? "");
    this.ask(choice.from === "file" ? { name: choice.name } : { toml: this.toml.text }, 0);
  }

  get choice(): RuleChoice {
    return this.choiceOf(this.source.value);
  }

  /** The rules as text. */
  get text(): string {
    return this.toml.text;
  }

  /** Waits until the last edit is checked. Returns whether the rules can be used. */
  async settled(): Promise<boolean> {
    let last: Promise<void>;
    do {
      last = this.pending;
      await last;
    } while (last !== this.pending);
    return this.isValid;
  }

  /** Shows the editor at the line of an error. */
  goTo(error: RuleError): void {
    this.open("toml");
    this.toml.goTo(error);
  }

  private choiceOf(value: string): RuleChoice {
    if (value === "model") return { from: "model" };
    if (value.startsWith("file:")) return { from: "file", name: value.slice("file:".length) };
    return { from: "editor", toml: this.toml.text };
  }

  private edited(rules: Rules): void {
    this.source.value = "editor";
    this.ask(rules, PAUSE);
  }

  private ask(rules: Rules, pause: number): void {
    if (!("table" in rules)) this.form.wait();
    this.asked += 1;
    const mine = this.asked;
    this.pending = new Promise<void>((go) => window.setTimeout(go, pause)).then(() =>
      this.check(rules, mine),
    );
  }

  private async check(rules: Rules, mine: number): Promise<void> {
    if (this.model === null || mine !== this.asked) return;
    try {
      const result = await lint(this.model.name, rules);
      if (mine === this.asked) this.show(result, "table" in rules);
    } catch (error) {
      if (mine !== this.asked) return;
      this.isValid = true;
      this.warnings.textContent = `The rules could not be checked: ${error instanceof Error ? error.message : error}`;
    }
  }

  private show(result: LintResult, isFromForm: boolean): void {
    this.isValid = result.valid;
    if (isFromForm) this.toml.text = result.toml;
    else this.form.show(result.table ?? null);
    this.toml.mark(result.errors);
    this.errors.replaceChildren(...errorList(result.errors, (error) => this.goTo(error)));
    this.warnings.textContent = result.warnings.join(" ");
  }

  private tab(tab: Tab): HTMLButtonElement {
    return byId(`rule-${tab}-tab`, HTMLButtonElement);
  }

  private open(tab: Tab): void {
    for (const one of ["form", "toml"] as const) {
      const isOpen = one === tab;
      this.tab(one).setAttribute("aria-selected", String(isOpen));
      this.tab(one).tabIndex = isOpen ? 0 : -1;
      byId(`rule-${one}-panel`, HTMLElement).hidden = !isOpen;
    }
  }
}
