/** One answer with all that belongs to it: the input it answers, its trace, and which decode gave it. */

import { isSame } from "./symbols.ts";
import {
  answersOf,
  isBad,
  type Answer,
  type Input,
  type Model,
  type Output,
  type Step,
  type WireRecord,
} from "./wire.ts";

export interface Case {
  model: Model;
  input: Input;
  /** The line of the input, from 1. */
  line: number;
  /** Which answer of the line, from 0. */
  index: number;
  answer: Answer;
  /** The network's own output. */
  first: Output;
  /** Every decode; none for engines that do not nudge. */
  steps: Step[];
  /** The decode that gave the answer. */
  chosen: number;
}

/** An input that cannot be answered. */
export interface Refused {
  line: number;
  error: string;
}

/** The cases of some records, and the lines that have none. `own` are the network's own answers. */
export function casesOf(
  model: Model,
  inputs: Input[],
  records: WireRecord[],
  own: WireRecord[],
): { cases: Case[]; refused: Refused[] } {
  const cases: Case[] = [];
  const refused: Refused[] = [];
  for (const record of records) {
    const { line } = record;
    if (isBad(record)) {
      refused.push({ line, error: record.error });
      continue;
    }
    const ownRecord = own.find((one) => one.line === line);
    const input = inputs[line - 1] ?? "";
    for (const [index, answer] of answersOf(record).entries()) {
      const steps = answer.trace?.steps ?? [];
      const first = steps[0] ?? (ownRecord && answersOf(ownRecord)[index]) ?? answer;
      cases.push({ model, input, line, index, answer, first, steps, chosen: chosenOf(answer, steps) });
    }
  }
  return { cases, refused };
}

/** Where a new attempt begins. */
export function attemptsOf(steps: Step[]): number[] {
  return steps.flatMap((step, i) => (i > 0 && step.attempt !== steps[i - 1]?.attempt ? [i] : []));
}

/** What a decode is compared with: the one before it, or the network's own where an attempt begins. */
export function previousOf(steps: Step[], decode: number): Step | null {
  const [step, previous] = [steps[decode], steps[decode - 1]];
  if (step === undefined || previous === undefined) return null;
  return step.attempt === previous.attempt ? previous : (steps[0] ?? null);
}

/** `3`, or `2:3` for the third step of the second attempt, as reports write it. */
export function stepLabel({ attempt, iteration }: Step): string {
  return attempt === 0 ? String(iteration) : `${attempt + 1}:${iteration}`;
}

function chosenOf(answer: Answer, steps: Step[]): number {
  const satisfying = steps.findIndex(
    (step) => step.g === answer.g_after && isSame(step.output, answer.output),
  );
  return satisfying === -1 ? Math.max(0, steps.length - 1) : satisfying;
}
