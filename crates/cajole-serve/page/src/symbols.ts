/** Outputs as symbols. */

import type { Model, Symbols } from "./wire.ts";

/** The symbols of an output: those of a list, or its text at the model's separator. */
export function symbolsOf(output: Symbols, { separator }: Pick<Model, "separator">): string[] {
  if (typeof output !== "string") return output;
  return separator === "" ? Array.from(output) : output.split(separator).filter((symbol) => symbol !== "");
}

export function textOf(output: Symbols, { separator }: Pick<Model, "separator">): string {
  return typeof output === "string" ? output : output.join(separator);
}

export function isSame(a: Symbols, b: Symbols): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
