/** The records of a bulk job as a table, by what became of each line, page by page. */

import { fateOf, type Fate, type Row } from "./bulk-job.ts";
import { save } from "./download.ts";
import { button, h } from "./element.ts";
import { count, fixed } from "./number.ts";
import { textOf } from "./symbols.ts";
import { answersOf, isBad, type Model } from "./wire.ts";

const PAGE = 20;
const SIGNS: { [fate in Fate]: string } = { obeyed: "✓", repaired: "✓", violating: "✗", bad: "!" };
/** The worst first. */
const NAMES: { [fate in Fate]: string } = {
  violating: "still violating",
  bad: "bad lines",
  repaired: "repaired",
  obeyed: "obeyed at once",
};
const FATES = Object.keys(NAMES) as Fate[];

export class BulkTable {
  readonly element = h("div", { class: "bulk-results" });
  private readonly rows: { [fate in Fate]: Row[] } = { violating: [], bad: [], repaired: [], obeyed: [] };
  private readonly all: Row[] = [];
  /** What the reader chose to see; until then, the worst that happened. */
  private chosen: Fate | null = null;
  private page = 0;

  constructor(
    private readonly model: Model,
    private readonly open: (input: string) => void,
  ) {}

  get size(): number {
    return this.all.length;
  }

  add(row: Row): void {
    this.all.push(row);
    this.rows[fateOf(row.record)].push(row);
  }

  draw(): void {
    const active = document.activeElement;
    const focused = active instanceof HTMLElement ? active.dataset["key"] : undefined;
    const rows = this.rows[this.fate];
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    this.page = Math.min(this.page, pages - 1);
    const filters = FATES.map((fate) => this.filter(fate));
    const records = button("Download records", () => this.save(), { "data-key": "save" });
    this.element.replaceChildren(
      h("div", { class: "chips", role: "group", "aria-label": "Lines to show" }, ...filters),
      this.table(rows.slice(this.page * PAGE, (this.page + 1) * PAGE)),
      h("div", { class: "bulk-foot" }, pages > 1 && this.pager(pages), records),
    );
    if (focused !== undefined) this.element.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus();
  }

  private get fate(): Fate {
    return this.chosen ?? FATES.find((fate) => this.rows[fate].length > 0) ?? "obeyed";
  }

  private filter(fate: Fate): HTMLButtonElement {
    const act = (): void => {
      [this.chosen, this.page] = [fate, 0];
      this.draw();
    };
    const isShown = fate === this.fate;
    const label = `${NAMES[fate]} ${count(this.rows[fate].length)}`;
    return button(label, act, { class: `chip ${fate}`, "aria-pressed": String(isShown), "data-key": fate });
  }

  private pager(pages: number): HTMLElement {
    const turn = (sign: string, name: string, by: number, disabled: boolean): HTMLButtonElement => {
      const act = (): void => {
        this.page += by;
        this.draw();
      };
      return button(sign, act, { class: "icon", "aria-label": `${name} page`, disabled, "data-key": name });
    };
    return h(
      "div",
      { class: "pager" },
      turn("◀", "Previous", -1, this.page === 0),
      h("span", {}, `page ${this.page + 1} of ${pages}`),
      turn("▶", "Next", 1, this.page === pages - 1),
    );
  }

  private save(): void {
    const lines = this.all.map(({ record }) => `${JSON.stringify(record)}\n`);
    save("records.jsonl", "application/x-ndjson", lines.join(""));
  }

  private table(rows: Row[]): HTMLElement {
    if (rows.length === 0) return h("p", { class: "hint" }, "No lines here.");
    const numbers = ["g", "steps"];
    const head = ["line", "input", "output", ...numbers, ""].map((name) =>
      h("th", { scope: "col", class: numbers.includes(name) && "number" }, name),
    );
    const body = rows.flatMap((row) => this.lines(row));
    const caption = h("caption", { class: "hidden" }, `Lines: ${NAMES[this.fate]}`);
    return h(
      "table",
      { class: "bulk" },
      caption,
      h("thead", {}, h("tr", {}, ...head)),
      h("tbody", {}, ...body),
    );
  }

  private lines({ line, input, record }: Row): HTMLTableRowElement[] {
    const fate = fateOf(record);
    const show = (): HTMLElement =>
      button("Look", () => this.open(input), { "aria-label": `Look at line ${line}` });
    const number = h("th", { scope: "row" }, h("span", { class: `sign ${fate}` }, SIGNS[fate]), ` ${line}`);
    const cell = (name: string, class_: string, ...text: (string | HTMLElement)[]): HTMLElement =>
      h("td", { class: class_, "data-name": name }, ...text);
    if (isBad(record)) {
      const why = h("td", { class: "text", colspan: 3, "data-name": "error" }, record.error);
      return [h("tr", {}, number, cell("input", "text", shortened(input)), why, cell("", "act", show()))];
    }
    const answers = answersOf(record).filter((answer) => fate === "obeyed" || answer.g_before !== 0);
    return answers.map((answer, i) =>
      h(
        "tr",
        {},
        i === 0 ? number : h("th", { scope: "row", "aria-label": `line ${line}, ${answer.lemma ?? i}` }),
        cell(
          "input",
          "text",
          i === 0 ? shortened(input) : "",
          ...(answer.lemma === undefined ? [] : [h("small", {}, answer.lemma)]),
        ),
        cell("output", "text", h("code", {}, shortened(textOf(answer.output, this.model)))),
        cell("g", "number", `${fixed(answer.g_before, 3)} → ${fixed(answer.g_after, 3)}`),
        cell("steps", "number", count(answer.steps)),
        cell("", "act", ...(i === 0 ? [show()] : [])),
      ),
    );
  }
}

function shortened(text: string): string {
  const MOST = 120;
  return text.length <= MOST ? text : `${text.slice(0, MOST)}…`;
}
