/** A file dropped on the page, run with progress. */

import type { Ask } from "./ask.ts";
import { numbered, runBulk } from "./bulk-job.ts";
import { BulkTable } from "./bulk-table.ts";
import { button, byId, h } from "./element.ts";
import { count, plural, time } from "./number.ts";
import type { Model } from "./wire.ts";

const MOST_BYTES = 64 * 1024 * 1024;

export class BulkPanel {
  private readonly body = byId("bulk-body", HTMLElement);
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
    const table = new BulkTable(current.model, this.open);
    this.body.replaceChildren(head, table.element);
    this.body.scrollIntoView({ block: "nearest" });
    this.announce(`Running ${plural(lines.length, "line")} of ${file.name}.`);
    const began = performance.now();
    let drawn = 0;
    const show = (): void => {
      drawn = performance.now();
      progress.value = table.size;
      status.textContent = `${count(table.size)} of ${plural(lines.length, "line")}, ${time(drawn - began)}`;
      table.draw();
    };
    let ending = "Done";
    try {
      for await (const row of runBulk(lines, current.ask, current.model, controller.signal)) {
        table.add(row);
        if (performance.now() - drawn > 200) show();
      }
    } catch (error) {
      ending = controller.signal.aborted
        ? "Stopped"
        : `Stopped: ${error instanceof Error ? error.message : error}`;
    }
    if (this.running !== controller) return;
    show();
    stop.remove();
    status.prepend(`${ending}: `);
    this.announce(`${ending}. ${status.textContent ?? ""}`);
  }

  private fail(message: string): void {
    this.body.replaceChildren(h("p", { class: "problem", role: "alert" }, message));
  }
}
