//! What can be said on the command line.

pub(crate) mod infer;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use cajole_tasks::pairs::generated::Operands;
use clap::{Parser, Subcommand, ValueEnum};

/// Make a trained network's output obey hard constraints, without retraining.
///
/// cajole decodes with the network's own decoder and measures how far the output violates the
/// constraints. If it does, it nudges a private copy of the weights so that what was decoded
/// becomes less probable, decodes again, and goes on until the constraints hold.
///
/// Start with `cajole reproduce transduction`, then `cajole explain` to watch single inputs.
#[derive(Parser, Debug)]
#[command(name = "cajole", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Threads to use [default: all cores]; results do not depend on it
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run an experiment of the paper: train, find failures, repair them by every method, report
    Reproduce(Reproduce),
    /// Train a network and write its checkpoint; a run that was killed goes on where it was
    Train(Train),
    /// Measure a network on a whole split, before and after gradient-based inference
    Eval(Eval),
    /// Watch gradient-based inference repair single inputs, step by step
    Explain(Explain),
    /// Parse sentences into trees, each of them a tree over its sentence
    ///
    /// One sentence a line: plain text, or a JSON object with "tokens" (and "pos", "tree") or "text".
    ///
    /// A tree comes out for every line, in order; a blank line for a blank or a bad one, which is
    /// reported and passed over. Trees are drawn on a terminal and written in brackets elsewhere.
    Parse(Parse),
    /// Tag who did what to whom, such that every argument is a phrase of its sentence
    ///
    /// One sentence a line: plain text, or a JSON object with "tokens", "text" or a bracketed "tree":
    ///
    ///     echo "The dog chased the cat." | cajole tag
    ///     [ARG0 The dog] [V chased] [ARG1 the cat] .
    ///
    ///     {"tokens": ["Dogs", "bark"], "pos": ["NNS", "VBP"], "predicates": [1]}
    ///     {"tree": "(S (NP (NNS Dogs)) (VP (VBP bark)))", "id": "dogs/1"}
    ///
    /// A file whose name ends in .conll or _conll is read as CoNLL-2012; any may be gzipped.
    ///
    /// Each predicate is tagged by itself. Predicates are those that are given, as "predicates",
    /// words counted from 0, or as "srl", objects with "p", "lemma" and the right "bio" as corpora have
    /// them. Otherwise they are the words whose "pos" begins with V, or without tags those that were
    /// predicates more often than not in training.
    ///
    /// Arguments have to be nodes of a tree. Where the network's output has one that is none, its
    /// weights are nudged for this predicate alone until all are; --explain shows how. The tree is the
    /// input's, or else one that the built-in parser predicts, which may be wrong itself: with
    /// --trees you say which trees to trust.
    ///
    /// Answers come in the order of the lines, with a blank line after each sentence. A bad line is
    /// reported and passed over; in the end the command then fails.
    #[command(verbatim_doc_comment)]
    Tag(Tag),
    /// Run your own lines through a network, such that every output obeys your own rules
    ///
    /// One input a line: text, or a JSON object with "input" ("tokens", "text" or "tree" for parsers
    /// and taggers), and if you like an "id", the right "output", and a "constraint" of its own:
    ///
    ///     echo '{"id": 1, "input": "azbz"}' | cajole infer --constraint count.toml
    ///     {"line":1,"id":1,"output":"aaazb","status":"satisfied","g_before":0.0,...}
    ///
    /// A constraint file is a few lines of TOML. A rule is a table with one of these keys:
    ///
    ///     arithmetic = 'count(out,"a") = 3*count(in,"a") and len(out) <= 2*len(in)'
    ///     pattern = "(aaa|zb)*"                 # a regular expression over characters
    ///     symbols = '("a" "a" "a" | "z" "b")*'  # the same over symbols
    ///     grammar = 'e = "x" | "(" e ")" ;'     # context-free; or grammar-file = "e.ebnf"
    ///     must-have = ["a"]                     # and must-not-have
    ///     shift-reduce = "full"                 # commands that build one tree
    ///     bio = true                            # and other rules about tags:
    ///     unique-roles = ["ARG0", "ARG1"]       # continuations, references = true,
    ///     spans-in-tree = "phrasal"             # "phrasal" or "all" nodes
    ///     checker = { command = ["python3", "check.py"] }
    ///     all = [{ ... }, { ... }]              # or any; a rule may have name and weight
    ///
    /// Records come in the order of the lines: output, status (satisfied, improved, unchanged,
    /// timed-out, unmeasured, bad-line), g before and after, steps, passes, milliseconds, and for an
    /// output that does not satisfy the faults, with positions and costs. A run that is killed goes on
    /// with --resume, and loses nothing.
    #[command(verbatim_doc_comment)]
    Infer(infer::Infer),
    /// Compare all ways of making outputs obey on one file: satisfaction, quality, cost
    Compare(infer::Compare),
    /// Ask how often right outputs violate a rule, before you insist on it
    ///
    ///     cajole lint rules/spans.toml ewt.dev.jsonl.gz --verbs
    #[command(verbatim_doc_comment)]
    Lint(infer::Lint),
    /// Score parse trees as evalb does: brackets, crossings and tags, in evalb's own table
    Evalb(Evalb),
    /// Score semantic roles as srl-eval.pl does: arguments of each role, in its own table
    ///
    /// Both files have a row for each word: the lemma of a predicate or -, and a column of arguments
    /// for each predicate, in their order; blank lines are between sentences:
    ///
    ///     -     (ARG0*)
    ///     know  (V*)
    ///     -     (ARG1*
    ///     -     *)
    ///
    /// An argument is right if its role and all its words are. C-ARG1 continues the ARG1 before it and
    /// counts only together with it. V, the predicate, is left out of the overall figures. Predicates
    /// that only one of the files has are reported; those that only gold has are counted as missed.
    #[command(verbatim_doc_comment)]
    SrlEval(SrlEval),
    /// Make a checkpoint of a network that was trained elsewhere
    Import(Import),
    /// Write data to try things out with, as JSON Lines
    Generate(Generate),
}

/// Which experiment of the paper.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Experiment {
    /// The paper's synthetic sequence transduction
    Transduction,
    /// Constituency parsing by shift-reduce commands
    Parsing,
    /// Semantic role labeling by tags
    Srl,
}

/// What a network is trained for.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// The paper's synthetic sequence transduction
    Transduction,
    /// Constituency parsing by shift-reduce commands
    Parsing,
    /// Semantic role labeling by tags
    Srl,
    /// Your own inputs and outputs, given with --train and --dev
    Pairs,
}

/// Where corpora are.
#[derive(clap::Args, Debug)]
pub(crate) struct Data {
    /// The folder that holds the corpora
    #[arg(long = "data", value_name = "FOLDER", env = "CAJOLE_DATA")]
    pub(crate) folder: Option<PathBuf>,

    /// Work on generated sentences, with small networks: needs no data, takes minutes
    #[arg(long)]
    pub(crate) quick: bool,
}

/// Settings that come from a file and can be overridden.
#[derive(clap::Args, Debug)]
pub(crate) struct Settings {
    /// A TOML file instead of the built-in settings (see configs/)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Override one setting, such as `--set training.epochs=50`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Reproduce {
    /// Which experiment
    pub(crate) task: Experiment,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Where report.json, report.md, report.html and the networks go
    #[arg(long, value_name = "FOLDER", default_value = "report")]
    pub(crate) out: PathBuf,

    /// Train one network per kind from this seed, instead of the configured ones
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Train {
    /// For which task
    pub(crate) task: Task,

    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Where the checkpoint goes [default: runs/NAME]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,

    /// Pairs to learn from (pairs): JSON Lines with "input" and "output", each of them text or a list
    /// of symbols; may be gzipped
    #[arg(long, value_name = "FILE", required_if_eq("task", "pairs"))]
    pub(crate) train: Option<PathBuf>,

    /// Pairs to be judged by after every epoch (pairs)
    #[arg(long, value_name = "FILE", required_if_eq("task", "pairs"))]
    pub(crate) dev: Option<PathBuf>,

    /// Write the weights in half precision (parsing, srl, pairs)
    #[arg(long)]
    pub(crate) half: bool,

    /// Which of the configured networks (parsing, srl) [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) network: Option<String>,

    #[command(flatten)]
    pub(crate) data: Data,

    /// The seed to train from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Which network, how it is to be cajoled, and into what.
#[derive(clap::Args, Debug)]
pub(crate) struct Cajoling {
    /// A checkpoint folder [default: the transducer that is built in]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) model: Option<PathBuf>,

    /// Settings of gradient-based inference
    #[arg(long, value_enum, default_value_t = Preset::Best)]
    pub(crate) preset: Preset,

    /// What outputs have to satisfy
    #[arg(long, value_enum, default_value_t = Demand::Count)]
    pub(crate) constraint: Demand,

    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    /// Algorithm 1 as printed: one output, plain SGD on all weights
    Paper,
    /// Steps of set length towards outputs that satisfy, with restarts
    Best,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Three times as many a in the output as in the input
    Count,
    /// Count, target grammar and length
    Full,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// 1934 inputs of 2 to 20 symbols
    Train,
    /// The other 112 of these lengths
    Dev,
    /// Inputs of 26 symbols, for choosing settings
    Tune,
    /// All 6144 inputs of 22 and 24 symbols
    Test,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Eval {
    #[command(flatten)]
    pub(crate) cajoling: Cajoling,

    /// Which inputs
    #[arg(long, value_enum, default_value_t = Split::Test)]
    pub(crate) split: Split,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Parse {
    /// Files to parse; standard input, if none are given
    pub(crate) files: Vec<PathBuf>,

    /// A checkpoint folder [default: the English parser that is built in]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) model: Option<PathBuf>,

    /// Settings of gradient-based inference
    #[arg(long, value_enum, default_value_t = Preset::Best)]
    pub(crate) preset: Preset,

    /// Width of the beam to decode with; 1 is greedy decoding
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) width: NonZeroUsize,

    /// Give up nudging a sentence after this long and mend what there is, in seconds
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) deadline: u64,

    /// Show what was decoded at every step, and why it is no tree
    #[arg(long)]
    pub(crate) explain: bool,

    /// Draw trees even where the output is no terminal
    #[arg(long)]
    pub(crate) pretty: bool,

    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Tag {
    /// Files to tag; standard input, if none are given
    pub(crate) files: Vec<PathBuf>,

    /// A checkpoint folder, as `cajole train srl` writes it [default: the English tagger that is
    /// built in]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) model: Option<PathBuf>,

    /// Whose nodes arguments have to be: auto, input, parser, none or a file
    ///
    /// auto: the input's trees, and the parser's where it has none;
    /// input: the input's, and a line without one is bad;
    /// parser: those that the built-in parser predicts;
    /// none: arguments may be any words;
    /// FILE: a treebank (.ptb, .mrg, .trees, .jsonl, _conll) with a tree for each sentence of the
    /// input, in order.
    #[arg(long, value_name = "WHICH", default_value = "auto", verbatim_doc_comment)]
    pub(crate) trees: Trees,

    /// What counts as a node
    #[arg(long, value_enum, default_value_t = Nodes::All)]
    pub(crate) nodes: Nodes,

    /// How answers are written; --json is short for --format json
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,

    /// Settings of gradient-based inference
    #[arg(long, value_enum, default_value_t = Preset::Best)]
    pub(crate) preset: Preset,

    /// Let an output be after so many nudges, though it violates
    ///
    /// A tree may be wrong where the network is right. What a network does not give up within a few
    /// nudges had better stay. By default, given trees are insisted on, and predicted ones for 1.
    #[arg(long, value_name = "N")]
    pub(crate) patience: Option<usize>,

    /// Give up nudging for a predicate after this long and keep the best there is, in seconds
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) deadline: u64,

    /// Show what was decoded at every step, and which arguments are no nodes
    #[arg(long)]
    pub(crate) explain: bool,

    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Whose nodes arguments have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trees {
    Auto,
    Input,
    Parser,
    None,
    File(PathBuf),
}

impl From<&str> for Trees {
    fn from(text: &str) -> Self {
        match text {
            "auto" => Trees::Auto,
            "input" => Trees::Input,
            "parser" => Trees::Parser,
            "none" => Trees::None,
            path => Trees::File(path.into()),
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// Phrases only, as the paper reads it; then no modal, negation or other bare word is an argument
    Phrasal,
    /// Phrases, and every word by itself, since bare words are arguments in most corpora and predicted
    /// trees lack small phrases
    All,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// [ARG0 The dog] [V chased] [ARG1 the cat] . -- a line for each predicate
    Text,
    /// A word a row, with a BIO tag for each predicate
    Bio,
    /// An object a line for each predicate: words, arguments, tags, how they were found
    Json,
    /// The rows of CoNLL-2012
    Conll,
    /// The rows of CoNLL-2005, as cajole srl-eval reads them
    Props,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Explain {
    /// Inputs such as azbzbzaz; without any, a few that the network gets wrong
    pub(crate) inputs: Vec<String>,

    #[command(flatten)]
    pub(crate) cajoling: Cajoling,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Evalb {
    /// The right trees, one sentence per line
    pub(crate) gold: PathBuf,

    /// The trees to score, line by line; a blank line is a sentence without a parse
    pub(crate) test: PathBuf,

    /// A parameter file of evalb [default: Collins's, which is built in]
    #[arg(long, value_name = "FILE")]
    pub(crate) param: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct SrlEval {
    /// The right propositions; may be gzipped
    pub(crate) gold: PathBuf,

    /// The propositions to score, for the same sentences
    pub(crate) test: PathBuf,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) from: Origin,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Origin {
    /// A semantic role labeler of AllenNLP's, as a tagger for role labeling
    ///
    /// ARCHIVE is a model.tar.gz, or the folder of a training run with config.json, best.th and
    /// vocabulary/ in it. Its model has to be of type srl: word embeddings, ELMo's vectors or both,
    /// and an lstm or alternating_lstm encoder. The checkpoint computes the same probabilities,
    /// looks up words and decodes as AllenNLP does:
    ///
    ///     cajole import allennlp model.tar.gz --out srl
    ///
    /// A network that reads ELMo's vectors needs the two files that its ELMo is published in; they
    /// are checked against the archive and copied into the checkpoint:
    ///
    ///     cajole import allennlp model.tar.gz --options options.json --weights weights.hdf5 --out srl
    #[command(verbatim_doc_comment)]
    Allennlp(Allennlp),
}

#[derive(clap::Args, Debug)]
pub(crate) struct Allennlp {
    /// The archive or folder
    pub(crate) archive: PathBuf,

    /// Where the checkpoint goes
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,

    /// The options of the ELMo that the network reads
    #[arg(long, value_name = "FILE", requires = "weights")]
    pub(crate) options: Option<PathBuf>,

    /// The weights of that ELMo
    #[arg(long, value_name = "FILE", requires = "options")]
    pub(crate) weights: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Generate {
    #[command(subcommand)]
    pub(crate) what: Kind,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Kind {
    /// Arithmetic expressions, and where their brackets go: pairs for `cajole train pairs`
    ///
    ///     {"id":"train-1-0","input":"a + b * c - d","output":"( ( a + ( b * c ) ) - d )"}
    ///
    /// No split shares an expression with another. A network that was trained on short ones can be
    /// tried on longer ones, where it errs now and then:
    ///
    ///     cajole generate expressions --operands 2..=8 > train.jsonl
    ///     cajole generate expressions --operands 2..=8 --split dev --n 500 > dev.jsonl
    ///     cajole generate expressions --operands 9..=12 --split test --n 500 > test.jsonl
    ///     cajole train pairs --train train.jsonl --dev dev.jsonl --out runs/expressions
    #[command(verbatim_doc_comment)]
    Expressions(Expressions),
}

#[derive(clap::Args, Debug)]
pub(crate) struct Expressions {
    /// How many pairs
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) n: usize,

    /// How many operands expressions have: a number, or a range of them
    #[arg(long, value_name = "RANGE", default_value = "2..=8")]
    pub(crate) operands: Operands,

    /// Which of the expressions
    #[arg(long, value_enum, default_value_t = PairsSplit::Train)]
    pub(crate) split: PairsSplit,

    /// The seed they are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairsSplit {
    /// Eight of ten
    Train,
    /// One of ten
    Dev,
    /// One of ten
    Test,
}
