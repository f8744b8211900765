/** How it went, in one sentence. */

import type { Case } from "./case.ts";
import { plural } from "./number.ts";
import type { Answer } from "./wire.ts";

export type Mood = "good" | "partly" | "bad";

export function moodOf({ status }: Answer): Mood {
  if (status === "satisfied") return "good";
  return status === "improved" ? "partly" : "bad";
}

/** A sign that needs no colour. */
export function signOf(answer: Answer): string {
  return { good: "✓", partly: "≈", bad: "✗" }[moodOf(answer)];
}

export function verdictOf({ answer }: Case): string {
  const { status, steps, engine } = answer;
  const effort = steps > 0 ? `after ${plural(steps, "step")} of gbi` : `by the engine ${engine}`;
  switch (status) {
    case "satisfied":
      return answer.g_before === 0
        ? "The network’s own output obeys every rule. Nothing was changed."
        : `Repaired ${effort}. The output obeys every rule now.`;
    case "improved":
      return `Not repaired ${effort}. This output violates the rules less than the network’s own.`;
    case "unchanged":
      return `Not repaired ${effort}. The network’s own output was kept.`;
    case "timed-out":
      return "Time ran out. This is the least violating output so far.";
    case "unmeasured":
      return "A rule could not be measured, so nothing is known about this output.";
    case "cancelled":
      return "The run was cancelled. This is the least violating output so far.";
    case "failed":
      return `The network failed: ${answer.error ?? "no reason was given"}.`;
  }
}
