//! Search algorithms, one per file.
//!
//! [`Greedy`] and [`Beam`] are a network's own inference and know nothing of constraints. The
//! others are baselines for gradient-based inference and sources of satisfying candidates: they
//! follow the constraint's automaton ([`MaskedBeam`]) or check what they find ([`DoublingBeam`],
//! [`Sampling`]); [`BestFirst`] does both and finds the optimum. All work with any
//! [`Stepper`], stop at its length limit, and flag outputs truncated there.
//!
//! Taggers score all tags at once; their searches are in [`tags`].

mod beam;
mod best_first;
mod doubling;
mod frontier;
mod greedy;
mod in_turn;
mod masked;
mod ranking;
mod relaxation;
mod sampling;
pub mod tags;

pub use beam::Beam;
pub use best_first::BestFirst;
pub use doubling::DoublingBeam;
pub use greedy::Greedy;
pub use in_turn::InTurn;
pub use masked::MaskedBeam;
pub use ranking::{Ranking, Stopping};
pub use relaxation::Relaxation;
pub use sampling::{Sampled, Sampling};

use crate::decoder::{ConstrainedDecoder, Decoder};
use crate::model::Symbol;
use crate::search::{DoesNotFit, Search};
use crate::stepper::Stepper;

/// Written by searches, reused between calls.
#[derive(Default)]
pub struct Buffers {
    pub(crate) beams: Vec<beam::Hypotheses>,
    pub(crate) log_probs: Vec<f32>,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) rows: Vec<u32>,
    pub(crate) owners: Vec<u32>,
    pub(crate) tags: tags::TagBuffers,
}

/// A stepper's own inference procedure: greedy, or a beam.
pub fn own<'a, M: Stepper>(beam: Beam) -> Box<dyn Decoder<M> + 'a> {
    if beam.width <= 1 { Box::new(Greedy) } else { Box::new(beam) }
}

/// The searches of steppers, whose beams rank in this way.
///
/// # Errors
/// If the search is for networks of another kind.
pub fn search<'a, M: Stepper>(
    search: &Search,
    ranking: Ranking,
) -> Result<Box<dyn ConstrainedDecoder<M> + 'a>, DoesNotFit> {
    let best_first = |limit, only_black_boxes| BestFirst {
        max_expansions: limit,
        only_black_boxes,
        ..BestFirst::default()
    };
    Ok(match *search {
        Search::Beam { from, to } => Box::new(DoublingBeam { from, to, ranking }),
        Search::Masked { width } => Box::new(MaskedBeam { width, ranking }),
        // A* has no better heuristic than zero here.
        Search::Astar { limit, .. } | Search::Exact { limit } => Box::new(best_first(limit, false)),
        Search::BlackBox { limit } => Box::new(best_first(limit, true)),
        Search::Relaxation { rounds, rate } => Box::new(Relaxation { rounds, rate }),
        Search::Sample { n, from, seed } => Box::new(Sampling { samples: n, sampled: from, seed }),
        Search::Spans { .. } => {
            return Err(
                search.does_not_fit("the network writes symbol by symbol, and tags no spans")
            );
        }
        Search::Gbi(_) | Search::Network => return Err(search.does_not_fit(NO_DECODER)),
    })
}

/// Why gradient-based inference and the network's own inference are no constrained decoders.
pub(crate) const NO_DECODER: &str = "it is no decoder that knows the rules";

/// The index of the largest value; ties go to the first. NaN never wins; if all are NaN, `else_`.
fn argmax(values: &[f32], else_: usize) -> usize {
    let mut best = (else_, f32::NEG_INFINITY);
    for (i, &v) in values.iter().enumerate() {
        if best.1 < v {
            best = (i, v);
        }
    }
    best.0
}
