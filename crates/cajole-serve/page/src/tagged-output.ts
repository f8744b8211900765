/** An output of a tagger: every word with its tag below, faults marked at words and changes at tags. */

import { h } from "./element.ts";
import { isOfWhole } from "./marked-output.ts";
import { plural } from "./number.ts";
import type { Fault } from "./wire.ts";

export interface Tagged {
  tokens: string[];
  tags: string[];
  faults: Fault[];
  /** The tags before, to show which changed. */
  before: string[] | null;
}

export function taggedOutput({ tokens, tags, faults, before }: Tagged): HTMLElement {
  const located = faults.filter((fault) => !isOfWhole(fault, tags.length));
  const words = tokens.map((token, i) => {
    const isBlamed = located.some(({ start, end }) => start <= i && i < end);
    const [tag, old] = [tags[i] ?? "", before?.[i] ?? tags[i] ?? ""];
    const word = h(isBlamed ? "u" : "span", { class: isBlamed ? "token wrong" : "token" }, token);
    const changed = tag === old ? [tag] : [h("del", {}, old), " ", h("ins", {}, tag)];
    return h(
      "span",
      { class: "tagged" },
      word,
      " ",
      h("span", { class: tag === "O" && old === "O" ? "tag outside" : "tag" }, ...changed),
    );
  });
  return h("div", { class: "output words" }, ...words);
}

/** How many tags changed. Tags belong to words, so nothing is added or removed. */
export function tagChangesInWords(before: string[], after: string[]): string {
  const changed = after.filter((tag, i) => tag !== before[i]).length;
  return changed === 0 ? "unchanged" : `${plural(changed, "tag")} changed`;
}
