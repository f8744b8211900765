/** A text field for TOML, with line numbers and with errors at their lines. */

import { button, h, type Child } from "./element.ts";
import type { RuleError } from "./wire.ts";

export class TomlEditor {
  readonly element: HTMLElement;
  private readonly area = h("textarea", {
    id: "toml",
    class: "toml-text",
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
    wrap: "off",
    rows: 8,
    "aria-label": "Rules as TOML",
    "aria-describedby": "rule-errors",
  });
  /** The same lines behind the text, to mark some of them. */
  private readonly marks = h("div", { class: "toml-marks", "aria-hidden": "true" });
  private readonly gutter = h("div", { class: "toml-gutter", "aria-hidden": "true" });
  private errors: RuleError[] = [];

  constructor(onInput: (text: string) => void) {
    this.area.addEventListener("input", () => {
      this.errors = [];
      this.draw();
      onInput(this.area.value);
    });
    this.area.addEventListener("scroll", () => this.follow());
    this.element = h(
      "div",
      { class: "toml" },
      this.gutter,
      h("div", { class: "toml-body" }, this.marks, this.area),
    );
  }

  get text(): string {
    return this.area.value;
  }

  set text(text: string) {
    if (text !== this.area.value) this.area.value = text;
    this.draw();
  }

  /** Marks the lines of these errors. */
  mark(errors: RuleError[]): void {
    this.errors = errors;
    this.area.setAttribute("aria-invalid", String(errors.length > 0));
    this.draw();
  }

  /** Puts the caret where an error is. */
  goTo({ line, column }: RuleError): void {
    const lines = this.area.value.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    const at =
      before +
      Array.from(lines[line - 1] ?? "")
        .slice(0, column - 1)
        .join("").length;
    this.area.focus();
    this.area.setSelectionRange(at, at);
  }

  private draw(): void {
    const lines = this.area.value.split("\n");
    this.area.rows = Math.min(22, Math.max(6, lines.length + 1));
    const errorOf = (i: number): RuleError | undefined => this.errors.find(({ line }) => line === i + 1);
    const class_ = (i: number): string => (errorOf(i) === undefined ? "line" : "line error");
    this.gutter.replaceChildren(...lines.map((_, i) => h("div", { class: class_(i) }, i + 1)));
    this.marks.replaceChildren(
      ...lines.map((text, i) => {
        const error = errorOf(i);
        const note = error && h("span", { class: "lens" }, `✗ ${brief(error.message)}`);
        return h(
          "div",
          { class: class_(i) },
          h("span", { class: "ghost" }, ...withPlace(text || " ", error)),
          note,
        );
      }),
    );
    this.follow();
  }

  private follow(): void {
    this.gutter.scrollTop = this.area.scrollTop;
    this.marks.scrollTop = this.area.scrollTop;
    this.marks.scrollLeft = this.area.scrollLeft;
  }
}

/** The errors as a list; each leads to its line. */
export function errorList(errors: RuleError[], goTo: (error: RuleError) => void): HTMLElement[] {
  return errors.map((error) =>
    h(
      "li",
      {},
      button(`Line ${error.line}, column ${error.column}`, () => goTo(error), { class: "link" }),
      h("span", {}, error.message),
    ),
  );
}

/** The text of a line with the place of its error underlined: what stands there up to the next blank. */
function withPlace(text: string, error: RuleError | undefined): Child[] {
  if (error === undefined) return [text];
  const characters = Array.from(text);
  const start = Math.min(error.column - 1, characters.length);
  const rest = characters.slice(start).join("");
  const place = /^\s?\S+/.exec(rest)?.[0] ?? "";
  return [characters.slice(0, start).join(""), h("u", { class: "wrong" }, place), rest.slice(place.length)];
}

/** A message without where it is, which the line itself shows. */
function brief(message: string): string {
  return (message.split("\n", 1)[0] ?? "").replace(/^[\w-]+: column \d+: /, "");
}
