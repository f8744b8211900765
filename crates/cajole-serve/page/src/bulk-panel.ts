/** A file dropped on the page: progress, counts, and a table of what failed. */

import type { Ask } from "./ask.ts";
import { fateOf, numbered, runBulk, type Fate, type Row } from "./bulk-job.ts";
import { save } from "./download.ts";
import { button, byId, h } from "./element.ts";
import { count, fixed, plural, time } from "./number.ts";
import { textOf } from "./symbols.ts";
import { answersOf, isBad, type Model } from "./wire.ts";

const PAGE = 20;
const MOST_BYTES = 64 * 1024 * 1024;
const SIGNS: { [fate in Fate]: string } = { obeyed: "✓", repaired: "✓", violating: "✗", bad: "!" };
const NAMES: { [fate in Fate]: string } = {
  violating: "still violating",
  bad: "bad lines",
  repaired: "repaired",
  obeyed: "obeyed at once",
};

export class BulkPanel {
  private readonly body = byId("bulk-body", HTMLElement);
  private rows: Row[] = [];
  private fate: Fate = "violating";
  private page = 0;
  private running: AbortController | null = null;

  constructor(
    private readonly current: () => { ask: Ask; model: Model } | null,
    private readonly open: (input: string) => void,
    private readonly announce: (text: string) => void,
  ) {
    const chooser = byId("bulk-file", HTMLInputElement);
    chooser.addEventListener("change", () => {
      const file = chooser.files?.[0];
      if (file !== undefined) void this.run(file);
      chooser.value = "";
    });
    this.acceptDrops();
  }

  private acceptDrops(): void {
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (isOver: boolean): void => void document.body.classList.toggle("dropping", isOver);
    document.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      over(true);
    });
    document.addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) over(false);
    });
    document.addEventListener("drop", (event) => {
      over(false);
      const file = event.dataTransfer?.files[0];
      if (file === undefined) return;
      event.preventDefault();
      void this.run(file);
    });
  }

  private async run(file: File): Promise<void> {
    const current = this.current();
    if (current === null) return;
    this.running?.abort();
    const controller = new AbortController();
    this.running = controller;
    [this.rows, this.page, this.fate] = [[], 0, "violating"];
    if (file.size > MOST_BYTES) {
      this.fail(`${file.name} has more than 64 MB. Use “cajole infer” for files of this size.`);
      return;
    }
    const lines = numbered(await file.text());
    if (lines.length === 0) {
      this.fail(`${file.name} has no lines.`);
      return;
    }
    const progress = h("progress", { max: lines.length, value: 0, "aria-label": `Lines of ${file.name}` });
    const status = h("p", { class: "bulk-status" });
    const stop = button("Stop", () => controller.abort());
    const head = h("div", { class: "bulk-head" }, h("h3", {}, file.name), progress, status, stop);
    const results = h("div", { class: "bulk-results" });
    this.body.replaceChildren(head, results);
    this.body.scrollIntoView({ block: "nearest" });
    this.announce(`Running ${plural(lines.length, "line")} of ${file.name}.`);
    const began = performance.now();
    let drawn = 0;
    const show = (): void => {
      drawn = performance.now();
      progress.value = this.rows.length;
      status.textContent = `${count(this.rows.length)} of ${plural(lines.length, "line")}, ${time(drawn - began)}`;
      this.draw(results, current.model);
    };
    let ending = "Done";
    try {
      for await (const row of runBulk(lines, current.ask, current.model, controller.signal)) {
        this.rows.push(row);
        if (performance.now() - drawn > 200) show();
      }
    } catch (error) {
      ending = controller.signal.aborted
        ? "Stopped"
        : `Stopped: ${error instanceof Error ? error.message : error}`;
    }
    if (this.running !== controller) return;
    this.fate = this.firstFate();
    show();
    stop.remove();
    status.prepend(`${ending}: `);
    this.announce(`${ending}. ${status.textContent ?? ""}`);
  }

  private fail(message: string): void {
    this.body.replaceChildren(h("p", { class: "problem", role: "alert" }, message));
  }

  private of(fate: Fate): Row[] {
    return this.rows.filter(({ record }) => fateOf(record) === fate);
  }

  /** The worst that happened. */
  private firstFate(): Fate {
    const worst: Fate[] = ["violating", "bad", "repaired"];
    return worst.find((fate) => this.of(fate).length > 0) ?? "obeyed";
  }

  private draw(into: HTMLElement, model: Model): void {
    const redraw = (): void => this.draw(into, model);
    const focused =
      document.activeElement instanceof HTMLElement ? document.activeElement.dataset["key"] : undefined;
    const filters = (Object.keys(NAMES) as Fate[]).map((fate) => {
      const act = (): void => {
        [this.fate, this.page] = [fate, 0];
        redraw();
      };
      const label = `${NAMES[fate]} ${count(this.of(fate).length)}`;
      return button(label, act, {
        class: `chip ${fate}`,
        "aria-pressed": String(fate === this.fate),
        "data-key": fate,
      });
    });
    const rows = this.of(this.fate);
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    this.page = Math.min(this.page, pages - 1);
    const turn =
      (by: number): (() => void) =>
      () => {
        this.page += by;
        redraw();
      };
    const pager = h(
      "div",
      { class: "pager" },
      button("◀", turn(-1), {
        class: "icon",
        "aria-label": "Previous page",
        disabled: this.page === 0,
        "data-key": "back",
      }),
      h("span", {}, `page ${this.page + 1} of ${pages}`),
      button("▶", turn(1), {
        class: "icon",
        "aria-label": "Next page",
        disabled: this.page === pages - 1,
        "data-key": "on",
      }),
    );
    const records = (): void =>
      save(
        "records.jsonl",
        "application/x-ndjson",
        this.rows.map(({ record }) => `${JSON.stringify(record)}\n`).join(""),
      );
    into.replaceChildren(
      h("div", { class: "chips", role: "group", "aria-label": "Lines to show" }, ...filters),
      this.table(rows.slice(this.page * PAGE, (this.page + 1) * PAGE), model),
      h(
        "div",
        { class: "bulk-foot" },
        pages > 1 && pager,
        button("Download records", records, { "data-key": "save" }),
      ),
    );
    if (focused !== undefined) into.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus();
  }

  private table(rows: Row[], model: Model): HTMLElement {
    if (rows.length === 0) return h("p", { class: "hint" }, "No lines here.");
    const numbers = ["g", "steps"];
    const head = ["line", "input", "output", ...numbers, ""].map((name) =>
      h("th", { scope: "col", class: numbers.includes(name) && "number" }, name),
    );
    const body = rows.flatMap((row) => this.lines(row, model));
    const caption = h("caption", { class: "hidden" }, `Lines: ${NAMES[this.fate]}`);
    return h(
      "table",
      { class: "bulk" },
      caption,
      h("thead", {}, h("tr", {}, ...head)),
      h("tbody", {}, ...body),
    );
  }

  private lines({ line, input, record }: Row, model: Model): HTMLTableRowElement[] {
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
        cell("output", "text", h("code", {}, shortened(textOf(answer.output, model)))),
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
