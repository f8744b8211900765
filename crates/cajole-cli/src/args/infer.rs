//! What can be said to the commands that run users' own lines and rules.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;

use super::Preset;

/// Which network, under which rules.
#[derive(clap::Args, Debug)]
pub(crate) struct Ruled {
    /// A checkpoint folder of any task, or a network that is built in: transducer, parser,
    /// tagger, expressions
    #[arg(long, value_name = "FOLDER|NAME", default_value = "transducer")]
    pub(crate) model: String,

    /// A constraint file [default: what the task demands]
    ///
    /// A few lines of TOML, such as
    ///
    ///     arithmetic = 'count(out, "a") = 3 * count(in, "a")'
    ///
    /// See rules/ for examples, and `cajole infer --help` for all kinds of rules.
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub(crate) constraint: Option<PathBuf>,

    /// Settings of gradient-based inference
    #[arg(long, value_enum, default_value_t = Preset::Best)]
    pub(crate) preset: Preset,

    /// Override one setting of it, such as `--set schedule.step-size=0.01`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// Give up on an input after this long and keep the best there is, in milliseconds
    #[arg(long, value_name = "N")]
    pub(crate) deadline_ms: Option<u64>,

    /// Nudges for one input, at most, in each descent
    #[arg(long, value_name = "N")]
    pub(crate) max_steps: Option<usize>,

    /// Width of the beam that the network decodes with; 1 is greedy decoding
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) width: NonZeroUsize,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineName {
    /// Gradient-based inference: nudge a copy of the weights until the output obeys
    Gbi,
    /// Ever wider beams, until something in them obeys
    Beam,
    /// Decode only what the rules allow; for rules that can be followed symbol by symbol
    Masked,
    /// Best-first search with a limit
    Astar,
    /// The most probable output that obeys, proven to be, with a limit
    Exact,
    /// Samples of the network's own distribution
    Sample,
    /// What can promise to obey first, then the others; of these the most probable output
    Auto,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Infer {
    /// Lines to answer; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,

    /// Where records go; gzipped, if it ends in .gz [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) ruled: Ruled,

    /// How outputs are made to obey
    #[arg(long, value_enum, default_value_t = EngineName::Gbi)]
    pub(crate) engine: EngineName,

    /// Go on with an output that a killed run left behind
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,

    /// Begin anew, though the output is there
    #[arg(long, requires = "out", conflicts_with = "resume")]
    pub(crate) overwrite: bool,

    /// Stop at the first bad line, instead of reporting it and going on
    #[arg(long)]
    pub(crate) strict: bool,

    /// Leave milliseconds out of records: the same lines then give the same bytes
    #[arg(long)]
    pub(crate) no_times: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Compare {
    /// Lines to answer, with right outputs if there are any; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,

    #[command(flatten)]
    pub(crate) ruled: Ruled,

    /// Only these engines [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) engines: Vec<EngineName>,

    /// Only the first so many lines
    #[arg(long, value_name = "N")]
    pub(crate) lines: Option<usize>,

    /// How many failures are shown one by one
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) shown: usize,

    /// Where compare.json, compare.md and compare.html go
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Lint {
    /// The constraint file
    #[arg(value_name = "CONSTRAINT")]
    pub(crate) constraint: PathBuf,

    /// Files of JSON lines with right outputs: "output", "gold", or "srl" with "bio"
    #[arg(value_name = "GOLD", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The field whose values are counted apart
    #[arg(long, value_name = "FIELD", default_value = "genre")]
    pub(crate) by: String,

    /// Leave out predicates that are no verbs
    #[arg(long)]
    pub(crate) verbs: bool,

    /// Every character of a text is a symbol; else words are
    #[arg(long)]
    pub(crate) characters: bool,

    /// Examples shown of each rule
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) examples: usize,
}
