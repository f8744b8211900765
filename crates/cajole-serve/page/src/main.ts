/** The page: reads the form, asks the service, shows what came out, and keeps the link up to date. */

import * as api from "./api.ts";
import { requestOf, type Ask } from "./ask.ts";
import { AskForm } from "./ask-form.ts";
import { BulkPanel } from "./bulk-panel.ts";
import { casesOf } from "./case.ts";
import { byId } from "./element.ts";
import { LiveView } from "./live-view.ts";
import { decode, encode } from "./permalink.ts";
import { Results, type Outcome, type Place } from "./results.ts";
import { RuleEditor } from "./rule-editor.ts";
import { theme } from "./theme.ts";
import { verdictOf } from "./verdict.ts";
import { answersOf, type Comparison, type Model } from "./wire.ts";

const START: Place = { answer: 0, step: null, compared: false };

class Page {
  private readonly root = byId("results", HTMLElement);
  private readonly problem = byId("problem", HTMLElement);
  private readonly announcer = byId("announcer", HTMLElement);
  private readonly rules = new RuleEditor();
  private readonly results: Results;
  private form: AskForm | null = null;
  private running: AbortController | null = null;
  private comparing: AbortController | null = null;
  /** What the results are about; edits since then do not belong to them. */
  private asked: Ask | null = null;
  private fragment = "";
  private linkTimer: number | null = null;

  constructor() {
    theme(byId("theme", HTMLSelectElement));
    this.results = new Results(
      this.root,
      ({ ask }) => this.compare(ask),
      () => this.keepLink(),
    );
    byId("ask", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.run(START);
    });
    byId("stop", HTMLButtonElement).addEventListener("click", () => this.running?.abort());
    byId("link", HTMLButtonElement).addEventListener("click", () => void this.copyLink());
    byId("token-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      api.setToken(byId("token", HTMLInputElement).value);
      void this.open();
    });
    window.addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.fragment) void this.restore();
    });
    new BulkPanel(
      () => this.bulk(),
      (input) => {
        this.form?.setInput(input);
        void this.run(START).then(() => this.root.scrollIntoView());
      },
      (text) => this.announce(text),
    );
  }

  /** Asks what is served, fills the form, and runs what the address says. */
  async open(): Promise<void> {
    try {
      const [models, files] = await Promise.all([api.models(), api.ruleFiles()]);
      byId("token-form", HTMLFormElement).hidden = true;
      this.fail(null);
      this.form = new AskForm(models, files, this.rules, () => void this.run(START));
      const failed = models
        .filter((model) => model.state === "failed")
        .map(({ name, error }) => `${name}: ${error}`);
      if (failed.length > 0) this.fail(`Some models could not be opened. ${failed.join(" ")}`);
      await this.restore();
    } catch (error) {
      const needsToken = error instanceof api.Refusal && error.problem.status === 401;
      byId("token-form", HTMLFormElement).hidden = !needsToken;
      if (needsToken) byId("token", HTMLInputElement).focus();
      this.fail(error);
    }
  }

  private async restore(): Promise<void> {
    try {
      const view = decode(location.hash);
      if (view === null || this.form === null) return;
      this.form.fill(view.ask);
      await this.run(view);
    } catch (error) {
      this.fail(error);
    }
  }

  private async run(place: Place): Promise<void> {
    const model = this.form?.current;
    if (!this.form || !model) return;
    this.running?.abort();
    this.comparing?.abort();
    const controller = new AbortController();
    this.running = controller;
    this.fail(null);
    this.setBusy(true);
    try {
      if (!(await this.rules.settled()))
        throw new Error("The rules have an error. It is marked in the editor.");
      const { ask } = this.form;
      const outcome = await this.answer(ask, model, controller.signal);
      this.asked = ask;
      this.results.show(outcome, place);
      this.keepLink();
      this.announceOutcome(outcome);
    } catch (error) {
      if (this.running !== controller) return;
      this.results.clear();
      this.fail(controller.signal.aborted ? "Stopped." : error);
    } finally {
      if (this.running === controller) this.setBusy(false);
    }
  }

  private async answer(ask: Ask, model: Model, signal: AbortSignal): Promise<Outcome> {
    const request = requestOf(ask);
    const live = new LiveView(this.root, model);
    const records = await api.explain(request, signal, (event) => live.see(event)).finally(() => live.end());
    // Engines without a trace do not say what the network itself had written.
    const lacksFirst = records.flatMap(answersOf).some((answer) => answer.trace === undefined);
    const own = lacksFirst ? await api.infer({ ...request, engine: "network" }, signal) : [];
    const rules = this.rules.text;
    return { ask, rules, records, ...casesOf(model, request.inputs, records, own) };
  }

  private compare(ask: Ask): Promise<Comparison> {
    this.comparing?.abort();
    this.comparing = new AbortController();
    return api.compare(requestOf(ask), this.comparing.signal);
  }

  private bulk(): { ask: Ask; model: Model } | null {
    const model = this.form?.current;
    return this.form && model ? { ask: this.form.ask, model } : null;
  }

  private setBusy(isBusy: boolean): void {
    this.root.setAttribute("aria-busy", String(isBusy));
    byId("stop", HTMLButtonElement).hidden = !isBusy;
    byId("run", HTMLButtonElement).textContent = isBusy ? "Running…" : "Run";
    if (!isBusy) this.running = null;
  }

  private announceOutcome({ cases, refused }: Outcome): void {
    const [first] = cases;
    const text =
      cases.length === 1 && first
        ? verdictOf(first)
        : `${cases.length} answers, ${refused.length} inputs refused.`;
    this.announce(text);
  }

  private announce(text: string): void {
    this.announcer.textContent = text;
  }

  private fail(error: unknown): void {
    const text = error instanceof Error ? error.message : error === null ? "" : String(error);
    this.problem.hidden = text === "";
    this.problem.textContent = text;
  }

  /** Puts the view into the address; browsers refuse to do so too often. */
  private keepLink(): void {
    if (this.linkTimer !== null) window.clearTimeout(this.linkTimer);
    this.linkTimer = window.setTimeout(() => this.writeLink(), 300);
  }

  private writeLink(): void {
    if (this.asked === null) return;
    this.fragment = encode({ ask: this.asked, ...this.results.place });
    history.replaceState(null, "", `#${this.fragment}`);
  }

  private async copyLink(): Promise<void> {
    const note = byId("link-note", HTMLElement);
    if (this.asked === null && this.form !== null) this.asked = this.form.ask;
    this.writeLink();
    try {
      await navigator.clipboard.writeText(location.href);
      note.textContent = "Copied.";
    } catch {
      note.textContent = "The link is in the address bar.";
    }
    window.setTimeout(() => (note.textContent = ""), 4000);
  }
}

void new Page().open();
