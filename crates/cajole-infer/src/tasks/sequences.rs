//! What all networks that write symbol by symbol share: their searches, and how outputs are written
//! and scored. Use it for a [`Task`](crate::task::Task) of your own.

use cajole_core::decoders::{BestFirst, DoublingBeam, MaskedBeam, Sampling};
use cajole_core::{Stepper, Symbol};
use cajole_rules::Vocabulary;
use cajole_tasks::transduction::Score;
use serde_json::{Map, Value, json};

use crate::engine::{Engine, Limits, Rival};
use crate::task::{Case, Output, Search};

/// The engines that differ. Here A* has no better heuristic than zero, which makes it `exact`.
pub fn engines() -> Vec<Engine> {
    let rivals = [Rival::Beam, Rival::Masked, Rival::Exact, Rival::Sample].map(Engine::Rival);
    [Engine::Gbi].into_iter().chain(rivals).chain([Engine::Auto]).collect()
}

/// The searches of networks that write symbol by symbol.
pub fn rival<'a, M: Stepper>(rival: Rival, limits: &Limits) -> Search<'a, M> {
    match rival {
        Rival::Beam => {
            Box::new(DoublingBeam::of(limits.beam_from, limits.beam_to).ranked(limits.ranking))
        }
        Rival::Masked => Box::new(MaskedBeam::of(limits.masked_width).ranked(limits.ranking)),
        Rival::Astar | Rival::Exact => {
            Box::new(BestFirst { max_expansions: limits.expansions, ..BestFirst::default() })
        }
        Rival::Sample => Box::new(Sampling::of(limits.samples, 1).drawn_from(limits.sampled)),
    }
}

/// The output in the form that the input came in: a text, or a list of symbols.
pub fn record<I>(vocabulary: &Vocabulary, case: &Case<I>, y: &[Symbol]) -> Map<String, Value> {
    let output = match &*case.subject.value() {
        Value::Array(_) => y.iter().map(|&symbol| json!(vocabulary.name(symbol))).collect(),
        _ => json!(vocabulary.text(y)),
    };
    Map::from_iter([("output".to_owned(), output)])
}

/// The share of symbols that are right at their place, relative to the longer of both outputs: the
/// paper's accuracy.
pub fn score<I>(outputs: &[Output<'_, I>]) -> (&'static str, f64) {
    let mut score = Score::default();
    for (case, y) in outputs {
        if let Some(gold) = &case.gold {
            score.add(y, gold);
        }
    }
    ("accuracy", score.accuracy())
}
