/** What the page asks of the service: a model, inputs, rules and limits. */

import { NUMBERS, type NumberName, type RunOptions } from "./options.ts";
import type { AskRequest, Input, Model } from "./wire.ts";

/** Where rules come from: the model's own, a file the server knows, or the editor. */
export type RuleChoice =
  { from: "model" } | { from: "file"; name: string } | { from: "editor"; toml: string };

export interface Ask {
  model: string;
  /** Inputs as typed, one a line. */
  input: string;
  rules: RuleChoice;
  engine: string | null;
  preset: string | null;
  numbers: Numbers;
}

/** Options that are numbers; what is left out is the server's choice. */
export type Numbers = { [name in NumberName]?: number };

/** Why a line cannot be sent. */
export class InputError extends Error {}

/** The inputs, one for each line that is not blank. A line that begins with `{` is a JSON object. */
export function inputsOf(text: string): Input[] {
  const inputs: Input[] = [];
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (trimmed === "") continue;
    inputs.push(trimmed.startsWith("{") ? objectOf(trimmed, i + 1) : trimmed);
  }
  if (inputs.length === 0) throw new InputError("Type an input, or choose an example.");
  return inputs;
}

/** The request for these inputs. Whatever is left open is the server's choice. */
export function requestOf(ask: Ask): AskRequest {
  const { rules } = ask;
  const request: AskRequest = { model: ask.model, inputs: inputsOf(ask.input) };
  if (rules.from === "file") request.rules = { name: rules.name };
  if (rules.from === "editor") request.rules = { toml: rules.toml };
  return { ...request, ...optionsOf(ask) };
}

function optionsOf(ask: Ask): RunOptions {
  const options: RunOptions = {};
  if (ask.engine !== null) options.engine = ask.engine;
  if (ask.preset !== null) options.preset = ask.preset;
  for (const { name } of NUMBERS) {
    const number = ask.numbers[name];
    if (number !== undefined) options[name] = number;
  }
  return options;
}

/** The settings of a bulk request, which has lines as its body. */
export function queryOf(ask: Ask): URLSearchParams {
  const query = new URLSearchParams({ model: ask.model });
  if (ask.rules.from === "file") query.set("rules", ask.rules.name);
  for (const [name, value] of Object.entries(optionsOf(ask))) query.set(name, String(value));
  return query;
}

/** A line of a file as NDJSON, with the rules of the editor where the line has none of its own. */
export function bulkLine(line: string, ask: Ask, model: Model): string {
  const own = ask.rules.from === "editor" ? { constraint: ask.rules.toml } : {};
  if (!line.trim().startsWith("{")) {
    return JSON.stringify({ [model.display === "sequence" ? "input" : "text"]: line.trim(), ...own });
  }
  try {
    const fields = JSON.parse(line) as { [field: string]: unknown };
    return JSON.stringify({ ...fields, ...(fields["constraint"] ? {} : own) });
  } catch {
    // The server says what is wrong with the line, in its record.
    return line.trim();
  }
}

/** An input as one line of the input field. */
export function lineOf(input: Input): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

function objectOf(line: string, number: number): Input {
  try {
    return JSON.parse(line) as Input;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new InputError(`Line ${number} begins like a JSON object and is none: ${why}.`);
  }
}
