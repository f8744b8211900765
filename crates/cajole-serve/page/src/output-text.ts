/** An output of a case as text: words with tags for taggers, a sequence of symbols for all others. */

import type { Case } from "./case.ts";
import { changesInWords, markedOutput } from "./marked-output.ts";
import { symbolsOf } from "./symbols.ts";
import { tagChangesInWords, taggedOutput } from "./tagged-output.ts";
import type { Output } from "./wire.ts";

type About = Pick<Case, "model" | "answer">;

export function outputText({ model, answer }: About, output: Output, before: Output | null): HTMLElement {
  const symbols = symbolsOf(output.output, model);
  const old = before === null ? null : symbolsOf(before.output, model);
  const faults = output.faults ?? [];
  const { tokens } = answer;
  if (model.display === "roles" && tokens !== undefined && tokens.length === symbols.length) {
    return taggedOutput({ tokens, tags: symbols, faults, before: old });
  }
  return markedOutput({ symbols, separator: model.separator, faults, before: old });
}

/** What changed from one output to another, in words. */
export function outputChanges({ model }: About, output: Output, before: Output): string {
  const [old, symbols] = [symbolsOf(before.output, model), symbolsOf(output.output, model)];
  return model.display === "roles" ? tagChangesInWords(old, symbols) : changesInWords(old, symbols);
}
