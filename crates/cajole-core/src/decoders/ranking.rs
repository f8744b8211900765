//! How finished hypotheses of different lengths compare.
//!
//! A log-probability falls with every symbol, so a wide beam that ranks by it prefers outputs that
//! end too early: the wider, the more. Ranked per symbol, lengths are on a par. That is how
//! machine translation systems such as GNMT rank, and most likely what the paper did: its failures
//! become fewer as its beams become wider.

use serde::{Deserialize, Serialize};

/// What the outputs of a beam are ranked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// The log-probability, `Ψ`.
    #[default]
    Total,
    /// The log-probability per symbol; the end counts as one.
    PerSymbol,
    /// As `generate` of transformers does. Outputs that end take no place of the width, and at the
    /// length limit those that have not ended are ranked with them.
    Generate {
        /// The power of the number of symbols that the log-probability is divided by.
        penalty: f32,
        /// When the search stops.
        stopping: Stopping,
    },
}

/// When a beam search as in `generate` stops, once as many outputs as the width have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopping {
    /// At once: `early_stopping=True`.
    Early,
    /// If the best open hypothesis would rank below all of them if it ended where it is:
    /// `early_stopping=False`.
    Likely,
    /// If it would at any length: `early_stopping="never"`.
    Never,
}

impl Ranking {
    /// The rank of a finished output of `n_symbols`, its end included; larger is better.
    pub(super) fn rank(self, log_prob: f32, n_symbols: usize) -> f32 {
        match self {
            Ranking::Total => log_prob,
            Ranking::PerSymbol => log_prob / n_symbols.max(1) as f32,
            Ranking::Generate { penalty, .. } => {
                log_prob / (n_symbols.max(1) as f64).powf(penalty.into()) as f32
            }
        }
    }
}
