//! Everything that inference needs of a network, for any task.
//!
//! Implement [`Task`] to run a network of your own through `infer`, `compare` and the other commands,
//! and register it with a [`Registry`](crate::Registry).

use std::ops::Range;
use std::sync::Arc;

use cajole_core::corpus::BATCH;
use cajole_core::decoders::Beam;
use cajole_core::{Search, Symbol};
use cajole_report::Piece;
use cajole_rules::{Rules, Vocabulary};
use cajole_tasks::Presets;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::case::{Case, Output};
use crate::limits::{TOKENS_IN_STEP, TOKENS_TOGETHER};
use crate::line::{Line, LineError};
use crate::plan::{Plan, Plans};
use crate::settings::Settings;
use crate::solver::Solver;
use crate::study;
use crate::tasks::sequences;

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

/// A network with its vocabulary: what lines, records and reports need of it. Commands, a service and
/// Python handle all networks as this.
pub trait Task: Send + Sync {
    /// The task's name in checkpoints.
    fn name(&self) -> &'static str;

    /// How its outputs are best shown.
    fn display(&self) -> Display {
        Display::Sequence
    }

    /// Whether a line is one input; if not, its record has a list of answers.
    fn is_one_a_line(&self) -> bool {
        true
    }

    /// The names of its output symbols.
    fn vocabulary(&self) -> &Arc<Vocabulary>;

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

    /// The settings of gradient-based inference that are known to work for it.
    fn presets(&self) -> &Presets;

    /// The beam that it decodes with by default.
    fn beam(&self) -> Beam {
        Beam::of(1)
    }

    /// The searches that fit it, with the numbers that suit it; see [`sequences::searches`] for
    /// networks that write symbol by symbol.
    fn searches(&self) -> Vec<Search> {
        vec![Search::Gbi(Box::default())]
    }

    /// The searches that make a difference for it, in the order in which they are compared.
    fn rivals(&self) -> Vec<Search> {
        let is_other = |search: &Search| {
            let others = ["astar", "black-box", "spans", "relaxation"];
            !others.contains(&search.name())
        };
        self.searches().into_iter().filter(is_other).collect()
    }

    /// The plans that are tried by default.
    fn usual_plans(&self, settings: &Settings) -> Plans {
        Plans::all(Plan::gbi(settings))
    }

    /// Whether searches sum log-probabilities of the network. If not, they are computed for every
    /// answer.
    fn sums_log_probs(&self) -> bool {
        true
    }

    /// How many lines and inputs go together.
    fn together(&self) -> Together {
        Together::default()
    }

    /// One thread's searches, with their memory: [`solver(self)`](crate::solver::solver) for a
    /// [`Network`](crate::solver::Network).
    fn solver(&self) -> Box<dyn Solver + '_>;

    /// The inputs of a line, each of which must obey `rules`.
    ///
    /// # Errors
    /// If the network cannot read them.
    fn cases(&self, line: &Line, rules: &Rules) -> Result<Vec<Case>, LineError>;

    /// The fields of a record before the output, such as the predicate. Here and in
    /// [`Task::record`], keys that every record has, such as `status`, are ignored.
    fn about(&self, case: &Case) -> Map<String, Value> {
        let _ = case;
        Map::new()
    }

    /// The fields of a record for the output: its text, or its symbols if the input was a list.
    fn record(&self, case: &Case, y: &[Symbol]) -> Map<String, Value> {
        sequences::record(self.vocabulary(), case, y)
    }

    /// An output as a trace shows it, in runs of sound and wrong positions; `blamed` are those that
    /// rules point at.
    fn pieces(&self, case: &Case, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        study::pieces(self.vocabulary(), y, case.gold.as_deref(), blamed)
    }

    /// An output as people read it.
    fn text(&self, y: &[Symbol]) -> String {
        self.vocabulary().text(y)
    }

    /// Whether an output is the right one, if that is known.
    fn is_right(&self, case: &Case, y: &[Symbol]) -> Option<bool> {
        Some(case.gold.as_deref()? == y)
    }

    /// The name of the measure of [`Task::score`].
    fn measure(&self) -> &'static str {
        self.score(&[]).0
    }

    /// How good outputs are, in per cent, with the name of the measure: the share of right symbols,
    /// or the task's own measure.
    fn score(&self, outputs: &[Output<'_>]) -> (&'static str, f64) {
        sequences::score(outputs)
    }
}
