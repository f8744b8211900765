//! Shared by all networks that write symbol by symbol: their searches, and how outputs are written and
//! scored. Use it for a [`Task`](crate::task::Task) of your own.

use cajole_core::decoders::Sampled;
use cajole_core::{Search, Symbol};
use cajole_rules::Vocabulary;
use cajole_tasks::transduction::Score;
use serde_json::{Map, Value, json};

use crate::case::{Case, Output};

/// The usual width of masked beams.
pub const MASKED_WIDTH: usize = 5;

/// The most prefixes that exact search usually extends.
pub const EXPANSIONS: usize = 4096;

/// The searches that fit, with a masked beam of this width and exact search within this limit. A* has
/// no better heuristic than zero here, which makes it `exact`.
pub fn searches(masked_width: usize, limit: usize, sampled: Sampled) -> Vec<Search> {
    let usual = Search::all().into_iter();
    let fits = usual.filter(|search| !matches!(search, Search::Spans { .. } | Search::Network));
    fits.map(|search| match search {
        Search::Masked { .. } => Search::Masked { width: masked_width },
        Search::Astar { .. } => Search::astar(limit),
        Search::Exact { .. } => Search::Exact { limit },
        Search::BlackBox { .. } => Search::BlackBox { limit },
        Search::Sample { n, seed, .. } => Search::Sample { n, from: sampled, seed },
        other => other,
    })
    .collect()
}

/// The searches with their usual numbers.
pub fn usual_searches() -> Vec<Search> {
    searches(MASKED_WIDTH, EXPANSIONS, Sampled::default())
}

/// The output in the form that the input came in: a text, or a list of symbols.
pub fn record(vocabulary: &Vocabulary, case: &Case, y: &[Symbol]) -> Map<String, Value> {
    let output = match &*case.subject.value() {
        Value::Array(_) => y.iter().map(|&symbol| json!(vocabulary.name(symbol))).collect(),
        _ => json!(vocabulary.text(y)),
    };
    Map::from_iter([("output".to_owned(), output)])
}

/// The share of symbols that are right at their place, relative to the longer of both outputs: the
/// paper's accuracy.
pub fn score(outputs: &[Output<'_>]) -> (&'static str, f64) {
    let mut score = Score::default();
    for (case, y) in outputs {
        if let Some(gold) = &case.gold {
            score.add(y, gold);
        }
    }
    ("accuracy", score.accuracy())
}
