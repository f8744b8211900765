/** The form that says what to run. */

import { lineOf, type Ask, type Numbers } from "./ask.ts";
import { button, byId, h } from "./element.ts";
import { count } from "./number.ts";
import { ENGINES, NUMBERS } from "./options.ts";
import type { RuleEditor } from "./rule-editor.ts";
import type { FailedModel, Model, RuleFile } from "./wire.ts";

export class AskForm {
  private readonly model = byId("model", HTMLSelectElement);
  private readonly about = byId("model-about", HTMLElement);
  private readonly input = byId("input", HTMLTextAreaElement);
  private readonly examples = byId("examples", HTMLElement);
  private readonly engine = byId("engine", HTMLSelectElement);
  private readonly preset = byId("preset", HTMLSelectElement);
  private readonly numbers = NUMBERS.map((option) => ({ option, field: numberField(option) }));

  constructor(
    private readonly models: (Model | FailedModel)[],
    private readonly files: RuleFile[],
    private readonly rules: RuleEditor,
    private readonly run: () => void,
  ) {
    this.model.replaceChildren(
      ...models.map((one) => {
        const isFailed = one.state === "failed";
        return h(
          "option",
          { value: one.name, disabled: isFailed },
          isFailed ? `${one.name} (failed)` : one.name,
        );
      }),
    );
    byId("option-fields", HTMLElement).append(
      ...this.numbers.map(({ option, field }) => {
        const label = option.name.replace("_", " ");
        const text = `${label[0]?.toUpperCase()}${label.slice(1)}`;
        return h("div", { class: "field" }, h("label", { for: field.id }, text), field);
      }),
    );
    this.model.addEventListener("change", () => this.choose(this.model.value));
    this.input.addEventListener("input", () => this.grow());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        run();
      }
    });
    const first = this.ready[0];
    if (first !== undefined) this.choose(first.name);
  }

  /** The models that can be asked. */
  get ready(): Model[] {
    return this.models.filter((model) => model.state === "ready");
  }

  get current(): Model | null {
    return this.ready.find(({ name }) => name === this.model.value) ?? null;
  }

  get ask(): Ask {
    const numbers: Numbers = {};
    for (const { option, field } of this.numbers) {
      if (field.value !== "") numbers[option.name] = Number(field.value);
    }
    return {
      model: this.model.value,
      input: this.input.value,
      rules: this.rules.choice,
      engine: this.engine.value || null,
      preset: this.preset.value || null,
      numbers,
    };
  }

  /** Fills the form. A model that is not served here is an error that names those that are. */
  fill(ask: Ask): void {
    const names = this.ready.map(({ name }) => name);
    if (!names.includes(ask.model)) {
      throw new Error(`The link asks for the model “${ask.model}”; this server has ${names.join(", ")}.`);
    }
    this.choose(ask.model);
    this.input.value = ask.input;
    this.grow();
    this.rules.choose(ask.rules);
    this.engine.value = ask.engine ?? "";
    this.preset.value = ask.preset ?? "";
    for (const { option, field } of this.numbers) field.value = String(ask.numbers[option.name] ?? "");
    const isUsual = ask.engine === null && ask.preset === null && Object.keys(ask.numbers).length === 0;
    byId("options", HTMLDetailsElement).open = !isUsual;
  }

  setInput(input: string): void {
    this.input.value = input;
    this.grow();
  }

  private choose(name: string): void {
    const model = this.ready.find((one) => one.name === name);
    if (model === undefined) return;
    this.model.value = name;
    this.about.textContent = `${model.task}, ${count(model.n_symbols)} output symbols, up to ${count(model.max_tokens)} tokens`;
    this.rules.setModel(model, this.files);
    this.rules.choose(this.rules.usual());
    this.offerExamples(model);
    const option = (value: string, text: string): HTMLOptionElement =>
      h("option", { value, title: ENGINES[value] }, text);
    const [usual] = model.engines;
    this.engine.replaceChildren(
      option("", `default (${usual ?? "gbi"})`),
      ...[...model.engines, "network"].map((engine) => option(engine, engine)),
    );
    const preset = model.presets.find((one) => one.is_default);
    this.preset.replaceChildren(
      option("", `default (${preset?.name ?? "the task’s"})`),
      ...model.presets.map((one) => option(one.name, one.name)),
    );
    const own: Numbers = { width: model.width };
    if (preset !== undefined) own.max_steps = preset.max_steps;
    for (const { option, field } of this.numbers) {
      field.placeholder = String(own[option.name] ?? option.default);
    }
  }

  private offerExamples(model: Model): void {
    const chips = model.examples.map((example) =>
      button(
        example.title,
        () => {
          this.setInput(lineOf(example.input));
          this.rules.choose(
            example.rules === null ? this.rules.usual() : { from: "editor", toml: example.rules },
          );
          this.run();
        },
        { class: "chip", title: lineOf(example.input) },
      ),
    );
    this.examples.replaceChildren(...chips);
    const [first] = model.examples;
    this.setInput(first === undefined ? "" : lineOf(first.input));
    if (first?.rules) this.rules.choose({ from: "editor", toml: first.rules });
  }

  /** As many rows as the text needs, within reason. */
  private grow(): void {
    const perLine = 60;
    const rows = this.input.value
      .split("\n")
      .reduce((sum, line) => sum + Math.ceil((line.length + 1) / perLine), 0);
    this.input.rows = Math.min(10, Math.max(3, rows));
  }
}

function numberField({ name, least, most, about }: (typeof NUMBERS)[number]): HTMLInputElement {
  const id = name.replace("_", "-");
  return h("input", { id, type: "number", min: least, max: most, step: 1, title: about });
}
