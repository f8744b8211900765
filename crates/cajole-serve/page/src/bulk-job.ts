/** Runs a file of inputs, some lines at a time, and keeps the records. */

import { inferLines, Refusal } from "./api.ts";
import { bulkLine, queryOf, type Ask } from "./ask.ts";
import { answersOf, isBad, type Model, type WireRecord } from "./wire.ts";

/** A line of the file with its record. */
export interface Row {
  line: number;
  input: string;
  record: WireRecord;
}

/** What became of a line. */
export type Fate = "obeyed" | "repaired" | "violating" | "bad";

export interface NumberedLine {
  line: number;
  text: string;
}

/** The most lines and characters of a request. Browsers send a body whole before they read the answer. */
const MOST_LINES = 128;
const MOST_CHARACTERS = 128 * 1024;
const MOST_RETRIES = 8;

export function fateOf(record: WireRecord): Fate {
  if (isBad(record)) return "bad";
  const answers = answersOf(record);
  if (answers.some((answer) => answer.status !== "satisfied")) return "violating";
  return answers.some((answer) => answer.g_before !== 0) ? "repaired" : "obeyed";
}

/** Lines that are not blank, with their numbers from 1. */
export function numbered(text: string): NumberedLine[] {
  const lines = text.split(/\r?\n/).map((line, i) => ({ line: i + 1, text: line }));
  return lines.filter(({ text }) => text.trim() !== "");
}

/** Cuts lines into requests. */
export function batches(lines: NumberedLine[]): NumberedLine[][] {
  const made: NumberedLine[][] = [];
  let characters = Infinity;
  for (const line of lines) {
    const last = made.at(-1);
    characters += line.text.length;
    if (last === undefined || last.length >= MOST_LINES || characters > MOST_CHARACTERS) {
      made.push([line]);
      characters = line.text.length;
    } else last.push(line);
  }
  return made;
}

/** Answers all lines in order. A server that is busy is asked again when it says so. */
export async function* runBulk(
  lines: NumberedLine[],
  ask: Ask,
  model: Model,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  const sent = lines.map(({ line, text }) => ({ line, text: bulkLine(text, ask, model) }));
  const texts = new Map(lines.map(({ line, text }) => [line, text]));
  for (const batch of batches(sent)) {
    let answered = 0;
    for (let tries = 0; answered < batch.length; tries += 1) {
      const rest = batch.slice(answered);
      try {
        for await (const record of inferLines(
          rest.map(({ text }) => text),
          queryOf(ask),
          signal,
        )) {
          const line = rest[record.line - 1]?.line ?? record.line;
          yield { line, input: texts.get(line) ?? "", record: { ...record, line } };
          answered += 1;
        }
        if (answered < batch.length) throw new Error("The connection ended early. Drop the file again.");
      } catch (error) {
        const isBusy = error instanceof Refusal && error.retryAfter !== null && tries < MOST_RETRIES;
        if (!isBusy) throw error;
        const seconds = error.retryAfter ?? 1;
        await new Promise((go) => setTimeout(go, 1000 * seconds));
      }
    }
  }
}
