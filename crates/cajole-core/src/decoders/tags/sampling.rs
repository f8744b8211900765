//! Samples tags from the network's own distribution and keeps the best that satisfies.
//!
//! Each position is drawn from the tags that may follow the previous one, so every sample is valid.

use crate::Symbol;
use crate::random::Random;
use crate::wanted::Wanted;

use super::{ConstrainedTagSearch, SoughtTags, TagBuffers, TagScores};

/// The most probable satisfying sample.
#[derive(Clone, Copy, Debug)]
pub struct SamplingTags {
    /// Number of samples.
    pub samples: usize,
    /// Softmax temperature; 1 is the network's own distribution.
    pub temperature: f32,
    /// Every input is sampled from the same stream, so results do not depend on their order.
    pub seed: u64,
}

impl SamplingTags {
    /// Writes the most probable satisfying sample into `y` and returns its log-probability; `None`
    /// if none satisfies. Ties go to the lexicographically smallest one.
    pub fn tag(&self, scores: &TagScores, wanted: &Wanted<'_>, y: &mut Vec<Symbol>) -> Option<f32> {
        y.clear();
        let mut random = Random::new(self.seed);
        let mut drawn: Vec<(f64, Vec<Symbol>)> =
            (0..self.samples).filter_map(|_| self.draw(scores, &mut random)).collect();
        // Best first and deduplicated: each is checked once, and none below the first that
        // satisfies.
        drawn.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        drawn.dedup();
        let (sum, best) = drawn.into_iter().find(|(_, y)| wanted.check(y).is_satisfied())?;
        y.extend_from_slice(&best);
        Some(sum as f32)
    }

    /// One valid sequence and its log-probability; `None` if it reaches a point where no tag is
    /// possible.
    fn draw(&self, scores: &TagScores, random: &mut Random) -> Option<(f64, Vec<Symbol>)> {
        let tags = scores.tags();
        let (mut sum, mut y) = (0.0, Vec::with_capacity(scores.n_positions()));
        for t in 0..scores.n_positions() {
            let before = y.last().copied();
            let log_prob = |symbol| match tags.may_follow(before, symbol) {
                true => scores.log_prob(t, symbol),
                false => f64::NEG_INFINITY,
            };
            let u = f64::from(random.uniform(0.0, 1.0));
            let symbol = choose(tags.n_tags(), log_prob, f64::from(self.temperature), u)?;
            sum += log_prob(symbol);
            y.push(symbol);
        }
        Some((sum, y))
    }
}

impl<X: ?Sized> ConstrainedTagSearch<X> for SamplingTags {
    fn search(&self, sought: &SoughtTags<'_, '_, X>, buffers: &mut TagBuffers) -> Option<f32> {
        self.tag(&sought.scores, sought.wanted, &mut buffers.y)
    }
}

/// Inverse transform sampling over the possible symbols, at `u` of the cumulative distribution.
fn choose(
    n_symbols: usize,
    log_prob: impl Fn(Symbol) -> f64,
    temperature: f64,
    u: f64,
) -> Option<Symbol> {
    let possible = || {
        let all = (0..n_symbols as Symbol).map(|symbol| (symbol, log_prob(symbol)));
        all.filter(|&(_, log_prob)| log_prob != f64::NEG_INFINITY)
    };
    let most = possible().map(|(_, log_prob)| log_prob).fold(f64::NEG_INFINITY, f64::max);
    let weight = |log_prob: f64| ((log_prob - most) / temperature).exp();
    let mut height = u * possible().map(|(_, log_prob)| weight(log_prob)).sum::<f64>();
    let mut last = None;
    for (symbol, log_prob) in possible() {
        last = Some(symbol);
        height -= weight(log_prob);
        if height < 0.0 {
            break;
        }
    }
    last
}
