//! What a transformer reads: a row for each symbol, and for where it stands.

use std::sync::Arc;

use cajole_core::model::Symbol;
use serde::{Deserialize, Serialize};

use super::counted;
use super::stack::StackConfig;
use crate::layers::norm::Scaling;
use crate::layers::positions::{Waves, sinusoids};
use crate::layout::{Init, Layout, Param};
use crate::settings::{optional_size, size};
use crate::tape::{Graph, Var};

/// How positions are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Positions {
    /// By a table with a row for each; position 0 has row `offset`.
    Learned {
        /// Rows of the table.
        #[serde(deserialize_with = "size")]
        rows: usize,
        /// Rows before that of position 0.
        #[serde(deserialize_with = "optional_size")]
        offset: usize,
        /// A symbol that has the row before that of position 0 wherever it stands, and no position.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        padding: Option<Symbol>,
    },
    /// By sines and cosines.
    Sinusoidal {
        /// Positions there are.
        #[serde(deserialize_with = "size")]
        rows: usize,
        /// Their order.
        waves: Waves,
    },
    /// By a bias of attention for each distance.
    Relative {
        /// Distances told apart.
        #[serde(deserialize_with = "size")]
        buckets: usize,
        /// The distance beyond which they are not.
        #[serde(deserialize_with = "size")]
        furthest: usize,
    },
}

impl Positions {
    /// The longest sequence, if there is a limit.
    pub fn most(self) -> Option<usize> {
        match self {
            Positions::Learned { rows, offset, .. } => Some(rows.saturating_sub(offset)),
            Positions::Sinusoidal { rows, .. } => Some(rows),
            Positions::Relative { .. } => None,
        }
    }
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EmbeddingConfig {
    /// Number of symbols.
    #[serde(deserialize_with = "size")]
    pub symbols: usize,
    /// How positions are told apart.
    pub positions: Positions,
    /// Types of pieces: the first is that of all but marked pieces, the second theirs; 0 for none.
    #[serde(deserialize_with = "optional_size")]
    pub types: usize,
    /// Whether a norm follows.
    pub has_norm: bool,
    /// The factor of a symbol's row.
    pub scale: f32,
}

/// The tables.
#[derive(Clone, Debug)]
pub(super) struct Embedding {
    pub(super) config: EmbeddingConfig,
    pub(super) symbols: Param,           // (symbols, D)
    pub(super) positions: Option<Param>, // (rows, D)
    types: Option<Param>,                // (types, D)
    norm: Option<Scaling>,               // (D)
    waves: Arc<[f32]>,                   // (rows, D)
    dropout: f32,
}

impl Embedding {
    /// Declares the tables; symbols may have one already.
    pub(super) fn new(
        l: &mut Layout,
        name: &str,
        config: EmbeddingConfig,
        stack: &StackConfig,
        symbols: Option<Param>,
    ) -> Self {
        let width = stack.width;
        let init = Init::Uniform((3.0 / width as f32).sqrt());
        let mut table = |part: &str, rows| l.matrix(&format!("{name}.{part}"), rows, width, init);
        let symbols = symbols.unwrap_or_else(|| table("symbols", config.symbols));
        let (positions, waves) = match config.positions {
            Positions::Learned { rows, .. } => (Some(table("positions", rows)), [].into()),
            Positions::Sinusoidal { rows, waves } => (None, sinusoids(rows, width, waves)),
            Positions::Relative { .. } => (None, [].into()),
        };
        let types = (0 < config.types).then(|| table("types", config.types));
        let norm = config.has_norm.then(|| stack.norm(l, &format!("{name}.norm")));
        let dropout = stack.dropout;
        Embedding { config, symbols, positions, types, norm, waves, dropout }
    }

    /// `(R, D)`: rows of `n` symbols, each with its position, and with other rows `(R, D)` if there
    /// are any. Positions beyond the last are read as the last.
    pub(super) fn read(
        &self,
        g: &mut Graph<'_>,
        rows: impl Iterator<Item = (Symbol, usize)> + Clone,
        others: Option<Var>,
        n: usize,
    ) -> Var {
        self.read_typed(g, rows.clone(), rows.map(|_| 0), others, n)
    }

    /// The same, with the type of each row.
    pub(super) fn read_typed(
        &self,
        g: &mut Graph<'_>,
        rows: impl Iterator<Item = (Symbol, usize)> + Clone,
        types: impl Iterator<Item = u32>,
        others: Option<Var>,
        n: usize,
    ) -> Var {
        let x = g.embed(self.symbols, counted(rows.clone().map(|(symbol, _)| symbol), n));
        let mut x = g.scale(x, self.config.scale); // (R, D)
        let types = self.types.map(|table| g.embed(table, counted(types, n)));
        for more in [types, others].into_iter().flatten() {
            x = g.sum(x, more);
        }
        let last = self.config.positions.most().unwrap_or(1).saturating_sub(1);
        match (self.config.positions, self.positions) {
            (Positions::Learned { offset, padding, .. }, Some(table)) => {
                let mut skipped = 0;
                let at = rows.map(|(symbol, t)| {
                    skipped = if t == 0 { 0 } else { skipped };
                    if Some(symbol) == padding {
                        skipped += 1;
                        return offset.saturating_sub(1) as u32;
                    }
                    ((t - skipped).min(last) + offset) as u32
                });
                let positions = g.embed(table, counted(at, n));
                x = g.sum(x, positions);
            }
            (Positions::Sinusoidal { .. }, _) => {
                let at = counted(rows.map(|(_, t)| t.min(last) as u32), n);
                let positions = g.constant_rows(&self.waves, x.cols as usize, at);
                x = g.sum(x, positions);
            }
            _ => {}
        }
        let x = self.norm.map_or(x, |norm| g.norm(x, norm));
        g.dropout(x, self.dropout)
    }
}
