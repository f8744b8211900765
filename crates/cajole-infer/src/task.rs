//! What inference needs from a checkpoint, whatever the network is for.
//!
//! Implement [`Task`] to run a network of your own through `infer`, `compare` and the other commands,
//! and register it with a [`Registry`](crate::Registry).

use std::borrow::Borrow;
use std::ops::Range;

use cajole_core::corpus::BATCH;
use cajole_core::decoders::Beam;
use cajole_core::{Config, ConstrainedDecoder, Decoder, Model, Symbol};
use cajole_report::Piece;
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::engine::{Engine, Limits, Rival};
use crate::limits::{TOKENS_IN_STEP, TOKENS_TOGETHER};
use crate::line::{Line, LineError};
use crate::study;
use crate::tasks::sequences;

/// One input with everything that belongs to it. A line has one; a sentence has one for each
/// predicate.
#[derive(Clone, Debug)]
pub struct Case<I> {
    /// The pieces that the network reads.
    pub input: I,
    /// What rules see of it.
    pub subject: Subject,
    /// The right output, if it was given.
    pub gold: Option<Vec<Symbol>>,
}

/// An input with an output for it.
pub type Output<'a, I> = (&'a Case<I>, &'a [Symbol]);

/// A decoder that knows the rules.
pub type Search<'a, M> = Box<dyn ConstrainedDecoder<M> + 'a>;

/// How outputs are best shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Display {
    /// As a sequence of symbols.
    Sequence,
    /// As trees; records have a `tree`.
    Tree,
    /// As labelled spans over tokens; records have `tokens` and `arguments`.
    Roles,
}

/// How much a thread works on together. Outputs do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Together {
    /// Lines that are answered together: enough that their failures fill a set.
    pub lines: usize,
    /// Inputs of one first pass.
    pub inputs: usize,
    /// Tokens of the inputs of one first pass.
    pub tokens: usize,
    /// Tokens of the inputs that are repaired in step.
    pub tokens_in_step: usize,
}

/// Sizes that suit the CPU backend's memory.
impl Default for Together {
    fn default() -> Self {
        Together {
            lines: 6 * BATCH,
            inputs: BATCH,
            tokens: TOKENS_TOGETHER,
            tokens_in_step: TOKENS_IN_STEP,
        }
    }
}

/// A network with its vocabulary and the searches that fit it.
pub trait Task: Send + Sync {
    /// The task's name in checkpoints.
    const NAME: &'static str;

    /// How its outputs are best shown.
    const DISPLAY: Display = Display::Sequence;

    /// Whether a line is one input; if not, its record has a list of answers.
    const IS_ONE_A_LINE: bool = true;

    /// The network.
    type Model: Model;

    /// An input that can be kept.
    type Input: Borrow<<Self::Model as Model>::Input> + Send + Sync;

    /// The network.
    fn model(&self) -> &Self::Model;

    /// The names of its output symbols.
    fn vocabulary(&self) -> &Vocabulary;

    /// A hash of its weights, see [`fingerprint`](cajole_files::fingerprint): a killed run resumes only
    /// with the same network.
    fn fingerprint(&self) -> u64;

    /// The rules for its outputs by default, as a constraint file.
    fn usual_rules(&self) -> Option<&'static str> {
        None
    }

    /// Remarks for users once the network is loaded, such as settings in its folder that
    /// are not obeyed: one sentence each.
    fn remarks(&self) -> &[String] {
        &[]
    }

    /// Whether searches sum log-probabilities of the network. If not, they are computed for every
    /// answer.
    fn sums_log_probs(&self) -> bool {
        true
    }

    /// The settings of gradient-based inference that are known to work for it.
    fn presets(&self) -> &Presets;

    /// `f(x; W)`: its own inference procedure, with this beam where it has one.
    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Self::Model> + '_> {
        self.model().decoder(beam)
    }

    /// How far engines go with it by default.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// How many lines and inputs go together.
    fn together(&self) -> Together {
        Together::default()
    }

    /// The inputs of a line, each of which must obey `rules`.
    ///
    /// # Errors
    /// If the network cannot read them.
    fn cases(&self, line: &Line, rules: &Rules<'_>) -> Result<Vec<Case<Self::Input>>, LineError>;

    /// The fields of a record before the output, such as the predicate. Here and in
    /// [`Task::record`], keys that every record has, such as `status`, are ignored.
    fn about(&self, case: &Case<Self::Input>) -> Map<String, Value> {
        let _ = case;
        Map::new()
    }

    /// The fields of a record for the output: its text, or its symbols if the input was a list.
    fn record(&self, case: &Case<Self::Input>, y: &[Symbol]) -> Map<String, Value> {
        sequences::record(self.vocabulary(), case, y)
    }

    /// An output as a trace shows it, in runs of sound and wrong positions; `blamed` are those that
    /// rules point at.
    fn pieces(
        &self,
        case: &Case<Self::Input>,
        y: &[Symbol],
        blamed: &[Range<usize>],
    ) -> Vec<Piece> {
        study::pieces(self.vocabulary(), y, case.gold.as_deref(), blamed)
    }

    /// The engines that make a difference for it; see [`sequences::engines`] for networks that
    /// write symbol by symbol.
    fn engines(&self) -> Vec<Engine> {
        vec![Engine::Gbi]
    }

    /// The default engine; `follows` finds out whether the rules can be followed symbol by symbol.
    fn usual_engine(&self, follows: &dyn Fn() -> bool) -> Engine {
        let _ = follows;
        Engine::Gbi
    }

    /// A search for satisfying outputs; `None` if it does not fit this network. See
    /// [`sequences::rival`].
    fn rival<'a>(
        &'a self,
        rival: Rival,
        rules: &'a Rules<'_>,
        limits: &Limits,
    ) -> Option<Search<'a, Self::Model>> {
        let _ = (rival, rules, limits);
        None
    }

    /// The sources of satisfying candidates for gradient-based inference, if they are not those
    /// that the network offers for `config.sources`.
    fn sources<'a>(
        &'a self,
        config: &Config,
        rules: &'a Rules<'_>,
    ) -> Option<Vec<Search<'a, Self::Model>>> {
        let _ = (config, rules);
        None
    }

    /// Whether an output is the right one, if that is known.
    fn is_right(&self, case: &Case<Self::Input>, y: &[Symbol]) -> Option<bool> {
        Some(case.gold.as_deref()? == y)
    }

    /// How good outputs are, in per cent, with the name of the measure: the share of right symbols,
    /// or the task's own measure.
    fn score(&self, outputs: &[Output<'_, Self::Input>]) -> (&'static str, f64) {
        sequences::score(outputs)
    }
}
