/**
 * Options of a run, over HTTP. Made from the table in crates/cajole-infer/src/options.rs: change that, then run
 * `cargo test -p cajole-cli --test all -- --ignored made_from_the_table`.
 */

export interface RunOptions {
  engine?: string;
  preset?: string;
  deadline_ms?: number;
  max_steps?: number;
  patience?: number;
  width?: number;
  times?: boolean;
  log_probs?: boolean;
}

/** Options that are numbers, with their ranges and a sentence each. */
export const NUMBERS = [
  {
    name: "deadline_ms",
    least: 0,
    most: 86400000,
    default: "none",
    about: "Give up on an input after this long and keep the best output so far, in milliseconds",
  },
  {
    name: "max_steps",
    least: 0,
    most: 1000000,
    default: "the preset's",
    about: "The most nudges for one input in each descent",
  },
  {
    name: "patience",
    least: 0,
    most: 1000000,
    default: "insist",
    about: "Accept an output after this many nudges although it violates the rules, without restarts",
  },
  {
    name: "width",
    least: 1,
    most: 1024,
    default: "the task's",
    about: "Width of the beam that the network decodes with; 1 is greedy",
  },
] as const;

export type NumberName = (typeof NUMBERS)[number]["name"];

/** What engines do. */
export const ENGINES: { [name: string]: string } = {
  usual: "auto for pairs whose rules can be followed symbol by symbol, gbi for everything else",
  gbi: "Gradient-based inference: nudge a copy of the weights until the output obeys",
  beam: "Ever wider beams, until a candidate obeys",
  masked: "Decode only what the rules allow; for rules that can be followed symbol by symbol",
  astar: "Best-first search with a limit",
  exact: "The most probable output that obeys, provably, with a limit",
  "black-box": "As exact, only for rules that cannot be followed symbol by symbol",
  spans: "Exact search over the spans that the rules allow, for role taggers",
  sample: "Samples of the network's own distribution",
  relaxation: "Greedy decoding under prices on symbols, for rules that count: Lagrangian relaxation",
  auto: "Engines that can guarantee to obey, then the others; keeps the most probable output",
  network: "No repair: the network's own output, with its faults",
};
