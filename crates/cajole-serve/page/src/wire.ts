/** The messages of the service, as `openapi.json` describes them. */

import type { RunOptions } from "./options.ts";

export type Symbols = string | string[];

export interface Fault {
  start: number;
  end: number;
  cost: number | null;
  message: string;
}

export interface Argument {
  role: string;
  start: number;
  end: number;
  text: string;
}

/** What a step and an answer both say of an output. */
export interface Output {
  output: Symbols;
  tree?: string;
  mended?: number;
  arguments?: Argument[];
  faults?: Fault[];
}

export interface Step extends Output {
  attempt: number;
  iteration: number;
  g: number | null;
  log_prob: number | null;
  distance: number | null;
  passes: number;
  milliseconds?: number;
}

export interface Trace {
  moving: number;
  moves: string[];
  steps: Step[];
}

export type Status =
  "satisfied" | "improved" | "unchanged" | "timed-out" | "unmeasured" | "cancelled" | "failed";

export interface Answer extends Output {
  predicate?: number;
  lemma?: string;
  tokens?: string[];
  tree_from?: string;
  status: Status;
  g_before: number | null;
  g_after: number | null;
  steps: number;
  passes: number;
  engine: string;
  note?: string;
  error?: string;
  log_prob?: number | null;
  milliseconds?: number;
  trace?: Trace;
}

export interface BadLine {
  line: number;
  id?: unknown;
  status: "bad-line";
  error: string;
}

export type WireRecord =
  BadLine | { line: number; id?: unknown; answers: Answer[] } | ({ line: number; id?: unknown } & Answer);

export interface StepEvent {
  line: number;
  answer: number;
  step: Step;
}

export type Input = string | { [field: string]: unknown };

export type RuleTable = { [key: string]: unknown };

export type Rules = { toml: string } | { table: RuleTable } | { name: string };

export interface AskRequest extends RunOptions {
  inputs: Input[];
  model: string;
  rules?: Rules;
}

export interface EngineResult {
  engine: string;
  satisfied: number;
  passes: number;
  milliseconds: number;
  log_prob: number | null;
  records: WireRecord[];
}

export interface Comparison {
  model: string;
  inputs: number;
  failures: number;
  engines: EngineResult[];
}

export interface RuleError {
  line: number;
  column: number;
  message: string;
}

export interface LintResult {
  valid: boolean;
  errors: RuleError[];
  warnings: string[];
  rules: { name: string; weight: number }[];
  toml: string;
  table?: RuleTable;
}

export interface Preset {
  name: string;
  is_default: boolean;
  moves: string[];
  max_steps: number;
  in_step: boolean;
}

export interface Example {
  title: string;
  input: Input;
  rules: string | null;
}

export type Display = "tree" | "roles" | "sequence";

export interface Model {
  name: string;
  state: "ready";
  task: string;
  display: Display;
  separator: string;
  symbols: string[];
  n_symbols: number;
  rules: string | null;
  presets: Preset[];
  engines: string[];
  width: number;
  max_tokens: number;
  examples: Example[];
}

export interface FailedModel {
  name: string;
  state: "failed";
  error: string;
}

export interface RuleFile {
  name: string;
  toml: string;
  models: string[];
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  field?: string;
  position?: { line: number; column: number };
}

export function isBad(record: WireRecord): record is BadLine {
  return "status" in record && record.status === ("bad-line" as string);
}

/** The answers of a record: one for each predicate, or the only one. */
export function answersOf(record: WireRecord): Answer[] {
  if (isBad(record)) return [];
  return "answers" in record ? record.answers : [record];
}
