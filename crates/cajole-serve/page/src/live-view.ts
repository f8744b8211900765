/** The latest decode of a run that is under way. */

import { h } from "./element.ts";
import { markedOutput } from "./marked-output.ts";
import { fixed } from "./number.ts";
import { symbolsOf } from "./symbols.ts";
import type { Model, StepEvent } from "./wire.ts";

/** A run that is done within so many milliseconds shows only its end. */
const SOON = 300;

export class LiveView {
  private readonly began = performance.now();
  private latest: StepEvent | null = null;
  private seen = 0;
  private frame = 0;

  constructor(
    private readonly root: HTMLElement,
    private readonly model: Model,
  ) {}

  /** Takes a decode; it is drawn with the next frame, unless another one comes before. */
  see(event: StepEvent): void {
    this.latest = event;
    this.seen += 1;
    if (performance.now() - this.began < SOON) return;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  end(): void {
    cancelAnimationFrame(this.frame);
  }

  private draw(): void {
    if (this.latest === null) return;
    const { step } = this.latest;
    const { separator } = this.model;
    const symbols = symbolsOf(step.output, this.model);
    const text = `Decode ${this.seen}: g ${fixed(step.g, 4)}, attempt ${step.attempt + 1}, step ${step.iteration}`;
    const output = markedOutput({ symbols, separator, faults: step.faults ?? [], before: null });
    this.root.replaceChildren(h("div", { class: "panel live" }, h("p", { class: "hint" }, text), output));
  }
}
