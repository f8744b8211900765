/** Rules as a form: a card for each, with fields that fit its kind. */

import { button, h } from "./element.ts";
import { COMMON, kindOf, kindsFor, rulesOf, tableOf, type Field, type Join, type Kind } from "./rule-kind.ts";
import type { Display, RuleTable } from "./wire.ts";

export class RuleForm {
  readonly element = h("fieldset", { class: "rule-form", "aria-label": "Rules as a form" });
  private join: Join = "all";
  private rules: RuleTable[] = [];
  private display: Display = "sequence";
  private ids = 0;

  constructor(private readonly onChange: (table: RuleTable) => void) {}

  setDisplay(display: Display): void {
    this.display = display;
  }

  /** Takes no edits until the next `show`: the rules have changed elsewhere, and an edit would undo that. */
  wait(): void {
    this.element.disabled = true;
  }

  /** Shows these rules; `null` if the text cannot be read. */
  show(table: RuleTable | null): void {
    this.element.disabled = false;
    if (table === null) {
      this.element.replaceChildren(
        h("p", { class: "hint" }, "The text is no TOML. Mend it under “TOML” first."),
      );
      return;
    }
    ({ join: this.join, rules: this.rules } = rulesOf(structuredClone(table)));
    this.draw();
  }

  private draw(): void {
    this.ids = 0;
    const cards = this.rules.map((rule, i) => this.card(rule, i));
    const hint = this.rules.length === 0 && h("p", { class: "hint" }, "No rules yet. Add one below.");
    this.element.replaceChildren(...(this.rules.length > 1 ? [this.joinField()] : []));
    this.element.append(...(hint === false ? [] : [hint]), ...cards, this.adder());
  }

  private changed(): void {
    this.onChange(tableOf(this.join, this.rules));
  }

  private joinField(): HTMLElement {
    const select = h(
      "select",
      { id: "rule-join" },
      h("option", { value: "all" }, "all of these rules"),
      h("option", { value: "any" }, "at least one of these rules"),
    );
    select.value = this.join;
    select.addEventListener("change", () => {
      this.join = select.value === "any" ? "any" : "all";
      this.changed();
    });
    return h("p", { class: "join" }, h("label", { for: "rule-join" }, "Outputs satisfy"), select);
  }

  private card(rule: RuleTable, i: number): HTMLElement {
    const kind = kindOf(rule);
    const title = kind?.title ?? "A rule that only TOML can express";
    const remove = button("Remove", () => {
      this.rules.splice(i, 1);
      this.draw();
      this.changed();
    });
    remove.setAttribute("aria-label", `Remove rule ${i + 1}: ${title}`);
    const fields = (list: Field[]): HTMLElement[] => list.map((field) => this.field(rule, field));
    const extra = COMMON.filter(({ key }) => key in rule).length;
    const more = h(
      "details",
      {},
      h("summary", {}, `Name, weight, scale${extra > 0 ? ` (${extra} set)` : ""}`),
      ...fields(COMMON),
    );
    const body =
      kind === null ? [h("pre", {}, JSON.stringify(rule, null, 2))] : [...fields(kind.fields), more];
    return h("fieldset", { class: "rule" }, h("legend", {}, `${i + 1}. ${title}`), remove, ...body);
  }

  private adder(): HTMLElement {
    const kinds = kindsFor(this.display);
    const select = h(
      "select",
      { id: "rule-kind" },
      ...kinds.map((kind, i) => h("option", { value: i }, kind.title)),
    );
    const add = button("Add rule", () => {
      const kind: Kind | undefined = kinds[Number(select.value)];
      if (kind === undefined) return;
      this.rules.push(structuredClone(kind.start));
      this.draw();
      this.changed();
      this.element.querySelector<HTMLElement>(".rule:last-of-type :is(input, textarea, select)")?.focus();
    });
    return h("p", { class: "adder" }, h("label", { for: "rule-kind" }, "New rule"), select, add);
  }

  private field(rule: RuleTable, field: Field): HTMLElement {
    this.ids += 1;
    const id = `rule-field-${this.ids}`;
    const set = (value: unknown): void => {
      if (value === undefined) delete rule[field.key];
      else rule[field.key] = value;
      this.changed();
    };
    const control = controlOf(field, id, rule[field.key], set);
    const label = h("label", { for: id }, field.label);
    const hint = field.hint === undefined ? null : h("small", { id: `${id}-hint` }, field.hint);
    if (hint !== null) control.setAttribute("aria-describedby", hint.id);
    return h("div", { class: `field ${field.kind}` }, label, control, hint);
  }
}

/** The control of a field. `set` hears `undefined` where the key is to be left out. */
function controlOf(field: Field, id: string, value: unknown, set: (value: unknown) => void): HTMLElement {
  const text = typeof value === "string" ? value : "";
  switch (field.kind) {
    case "flag": {
      const box = h("input", { id, type: "checkbox", checked: value === true });
      box.addEventListener("change", () => set(box.checked ? true : undefined));
      return box;
    }
    case "choice": {
      const choices = (field.choices ?? []).map((choice) =>
        h("option", { value: choice }, choice || "nothing"),
      );
      const select = h("select", { id }, ...choices);
      select.value = text;
      select.addEventListener("change", () => set(select.value || undefined));
      return select;
    }
    case "number": {
      const input = h("input", {
        id,
        type: "number",
        min: 0,
        step: "any",
        value: typeof value === "number" ? value : "",
      });
      input.addEventListener("input", () => set(input.value === "" ? undefined : Number(input.value)));
      return input;
    }
    case "list": {
      const lines = Array.isArray(value) ? value.join("\n") : "";
      const area = h(
        "textarea",
        { id, rows: Math.max(2, lines.split("\n").length), spellcheck: "false" },
        lines,
      );
      area.placeholder = "one a line";
      area.addEventListener("input", () => {
        const list = area.value.split("\n").filter((line) => line !== "");
        set(list.length === 0 ? undefined : list);
      });
      return area;
    }
    case "text": {
      const area = h(
        "textarea",
        { id, rows: Math.max(2, text.split("\n").length), spellcheck: "false" },
        text,
      );
      area.addEventListener("input", () => set(area.value));
      return area;
    }
    case "line": {
      const input = h("input", { id, type: "text", value: text, spellcheck: "false", autocomplete: "off" });
      input.addEventListener("input", () => set(input.value || undefined));
      return input;
    }
  }
}
