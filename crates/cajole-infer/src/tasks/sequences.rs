//! What all networks that write symbol by symbol have in common: their decoders, and how outputs are
//! written and scored.

use cajole_core::Symbol;
use cajole_nn::decoders::{Beam, BestFirst, DoublingBeam, Greedy, MaskedBeam, Sampling};
use cajole_nn::{AutoRegressive, Trained};
use cajole_rules::{Bound, Rules, Vocabulary};
use cajole_tasks::transduction::Score;
use serde_json::{Map, Value, json};

use crate::engine::{Engine, Limits, Rival};
use crate::task::{Case, Decoders, Output, Search};

/// Prefixes that are extended at once by a best-first search.
const BATCH: usize = 16;

/// The decoders of networks that write symbol by symbol.
pub(super) struct Sequences;

impl<N: AutoRegressive> Decoders<Trained<N>> for Sequences {
    /// A* has no better heuristic here than zero, and is then `exact`.
    fn engines(&self) -> Vec<Engine> {
        let rivals = [Rival::Beam, Rival::Masked, Rival::Exact, Rival::Sample].map(Engine::Rival);
        [Engine::Gbi].into_iter().chain(rivals).chain([Engine::Auto]).collect()
    }

    fn own(&self, width: usize) -> Search<'_, Trained<N>> {
        if width <= 1 { Box::new(Greedy) } else { Box::new(Beam { width }) }
    }

    /// Masking fits only rules that are an automaton.
    fn rival<'a>(
        &'a self,
        rival: Rival,
        _: &'a Rules<'_>,
        constraint: &'a Bound<'a>,
        limits: &Limits,
    ) -> Option<Search<'a, Trained<N>>> {
        let Limits { beam_from: from, beam_to: to, samples, deadline, .. } = *limits;
        Some(match rival {
            Rival::Beam => Box::new(DoublingBeam { from, to, constraint, deadline }),
            Rival::Masked if !has_automaton(constraint) => return None,
            Rival::Masked => Box::new(MaskedBeam { width: limits.masked_width, constraint }),
            Rival::Astar | Rival::Exact => {
                let max_expansions = limits.expansions;
                Box::new(BestFirst { constraint, max_expansions, batch: BATCH, deadline })
            }
            Rival::Sample => Box::new(Sampling { samples, temperature: 1.0, seed: 1, constraint }),
        })
    }

    /// Masked beams, where the rules are an automaton; else the most probable output that satisfies.
    fn sources<'a>(
        &'a self,
        rules: &'a Rules<'_>,
        constraint: &'a Bound<'a>,
        limits: &Limits,
    ) -> Vec<Search<'a, Trained<N>>> {
        if !has_automaton(constraint) {
            return self.rival(Rival::Exact, rules, constraint, limits).into_iter().collect();
        }
        let masked = |&width: &usize| Box::new(MaskedBeam { width, constraint }) as Search<'a, _>;
        limits.sources.iter().map(masked).collect()
    }
}

fn has_automaton(bound: &Bound<'_>) -> bool {
    bound.rule.automaton(bound.subject).is_some()
}

/// The output in the form that the input came in: a text, or a list of symbols.
pub(super) fn record<I>(
    vocabulary: &Vocabulary,
    case: &Case<I>,
    y: &[Symbol],
) -> Map<String, Value> {
    let output = match &case.subject.value {
        Value::Array(_) => y.iter().map(|&symbol| json!(vocabulary.name(symbol))).collect(),
        _ => json!(vocabulary.text(y)),
    };
    Map::from_iter([("output".to_owned(), output)])
}

/// The share of right symbols at their place, over the longer of both outputs, as the paper's
/// accuracy is.
pub(super) fn score<I>(outputs: &[Output<'_, I>]) -> (&'static str, f64) {
    let mut score = Score::default();
    for (case, y) in outputs {
        if let Some(gold) = &case.gold {
            score.add(y, gold);
        }
    }
    ("accuracy", score.accuracy())
}
