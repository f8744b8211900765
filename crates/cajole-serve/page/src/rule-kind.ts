/** The kinds of rules that the form offers, with the fields of each. `docs/rules.md` explains them. */

import type { Display, RuleTable } from "./wire.ts";

export type FieldKind = "line" | "text" | "list" | "flag" | "choice" | "number";

export interface Field {
  key: string;
  label: string;
  kind: FieldKind;
  choices?: string[];
  hint?: string;
}

export interface Kind {
  /** Keys that make a table a rule of this kind. */
  keys: string[];
  title: string;
  /** What outputs it is about; none: those of any network. */
  display?: Display;
  fields: Field[];
  /** A rule to start from. */
  start: RuleTable;
}

const formula: Field = {
  key: "arithmetic",
  label: "Formula",
  kind: "text",
  hint: 'counts and lengths, such as count(out, "a") = 3 * count(in, "a")',
};

export const KINDS: Kind[] = [
  {
    keys: ["arithmetic"],
    title: "Counts and lengths",
    fields: [formula, { key: "squared", label: "Square the distance", kind: "flag" }],
    start: { arithmetic: "len(out) <= 2 * len(in)" },
  },
  {
    keys: ["pattern"],
    title: "Regular expression over the text",
    fields: [{ key: "pattern", label: "Pattern", kind: "line", hint: "the whole output matches it" }],
    start: { pattern: ".*" },
  },
  {
    keys: ["symbols"],
    title: "Regular expression over symbols",
    fields: [{ key: "symbols", label: "Expression", kind: "line", hint: 'EBNF, such as ("a" "a" | "b")*' }],
    start: { symbols: ".*" },
  },
  {
    keys: ["grammar"],
    title: "Grammar",
    fields: [
      { key: "grammar", label: "Grammar", kind: "text", hint: "context-free, in EBNF" },
      { key: "start", label: "Start symbol", kind: "line", hint: "default: the first rule" },
    ],
    start: { grammar: 'output = { "a" } ;' },
  },
  {
    keys: ["must-have", "must-not-have"],
    title: "Phrases",
    fields: [
      { key: "must-have", label: "Must have", kind: "list" },
      { key: "must-not-have", label: "Must not have", kind: "list" },
    ],
    start: { "must-have": [] },
  },
  {
    keys: ["shift-reduce"],
    title: "One tree over the input",
    display: "tree",
    fields: [{ key: "shift-reduce", label: "Strictness", kind: "choice", choices: ["full", "paper"] }],
    start: { "shift-reduce": "full" },
  },
  {
    keys: ["spans-in-tree"],
    title: "Arguments are nodes of the tree",
    display: "roles",
    fields: [
      { key: "spans-in-tree", label: "Nodes", kind: "choice", choices: ["phrasal", "all"] },
      { key: "free-roles", label: "Roles that are free", kind: "list" },
    ],
    start: { "spans-in-tree": "phrasal" },
  },
  {
    keys: ["unique-roles"],
    title: "Roles occur once",
    display: "roles",
    fields: [{ key: "unique-roles", label: "Roles", kind: "list" }],
    start: { "unique-roles": ["ARG0", "ARG1", "ARG2"] },
  },
  {
    keys: ["bio"],
    title: "Spans begin with B-",
    display: "roles",
    fields: [],
    start: { bio: true },
  },
  {
    keys: ["continuations"],
    title: "C-X only after X",
    display: "roles",
    fields: [],
    start: { continuations: true },
  },
  {
    keys: ["references"],
    title: "R-X only with an X",
    display: "roles",
    fields: [],
    start: { references: true },
  },
];

/** Fields that every rule may have. */
export const COMMON: Field[] = [
  { key: "name", label: "Name", kind: "line", hint: "shown in messages" },
  { key: "weight", label: "Weight", kind: "number", hint: "default: 1" },
  { key: "divide-by", label: "Divide g by", kind: "choice", choices: ["", "output", "lengths"] },
];

/** The kind of a rule; `null` for one that only TOML can express here, such as a nested list. */
export function kindOf(rule: RuleTable): Kind | null {
  const kind = KINDS.find(({ keys }) => keys.some((key) => key in rule));
  if (kind === undefined) return null;
  const known = new Set([
    ...kind.keys,
    ...kind.fields.map(({ key }) => key),
    ...COMMON.map(({ key }) => key),
  ]);
  return Object.keys(rule).every((key) => known.has(key)) ? kind : null;
}

/** Kinds that make sense for a network whose outputs are shown like this. */
export function kindsFor(display: Display): Kind[] {
  return KINDS.filter((kind) => kind.display === undefined || kind.display === display);
}

export type Join = "all" | "any";

/** The rules of a table: those of its list, or the only one. */
export function rulesOf(table: RuleTable): { join: Join; rules: RuleTable[] } {
  for (const join of ["all", "any"] as const) {
    const list = table[join];
    const isOnlyKey = Object.keys(table).length === 1;
    if (isOnlyKey && Array.isArray(list)) return { join, rules: list as RuleTable[] };
  }
  return { join: "all", rules: Object.keys(table).length === 0 ? [] : [table] };
}

/** The table of some rules. A single rule needs no list. */
export function tableOf(join: Join, rules: RuleTable[]): RuleTable {
  const [only] = rules;
  return rules.length === 1 && only !== undefined ? only : { [join]: rules };
}
