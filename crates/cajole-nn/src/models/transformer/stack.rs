//! A stack of layers of one size.

use serde::{Deserialize, Serialize};

use super::embedding::{EmbeddingConfig, Positions};
use super::layer::{Layer, Look};
use crate::layers::activation::Nonlinearity;
use crate::layers::multi_head::{Columns, Heads, Relative, Sources, Spans};
use crate::layers::norm::{NormKind, Scaling};
use crate::layers::positions::Buckets;
use crate::layout::{Init, Layout, Param};
use crate::settings::{depth, dropout, size};
use crate::tape::{Graph, Var};

/// The size of a stack, and what its layers are made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StackConfig {
    /// Number of layers.
    #[serde(deserialize_with = "depth")]
    pub layers: usize,
    /// `D`.
    #[serde(deserialize_with = "size")]
    pub width: usize,
    /// `H`.
    #[serde(deserialize_with = "size")]
    pub heads: usize,
    /// `d`.
    #[serde(deserialize_with = "size")]
    pub head_size: usize,
    /// The factor of the products of queries and keys.
    pub scale: f32,
    /// `F`.
    #[serde(deserialize_with = "size")]
    pub inner: usize,
    /// The activation of the feed-forward layers.
    pub activation: Nonlinearity,
    /// Whether a second projection gates it.
    pub is_gated: bool,
    /// The kind of norm.
    pub norm: NormKind,
    /// `ε` of the norms.
    pub epsilon: f32,
    /// Whether norms stand before what they feed rather than after each sum.
    pub is_norm_first: bool,
    /// Whether a norm follows the last layer.
    pub has_last_norm: bool,
    /// Whether projections have biases.
    pub has_biases: bool,
    /// Dropout rate.
    #[serde(deserialize_with = "dropout")]
    pub dropout: f32,
}

impl StackConfig {
    /// Declares a norm.
    pub(super) fn norm(&self, l: &mut Layout, name: &str) -> Scaling {
        let gain = l.gain(&format!("{name}.gain"), self.width);
        let bias = (self.norm == NormKind::Layer)
            .then(|| l.bias(&format!("{name}.bias"), self.width, Init::Zero));
        Scaling { kind: self.norm, epsilon: self.epsilon, gain, bias }
    }

    /// A part of a layer with its norm, added to what it reads.
    pub(super) fn around(
        &self,
        g: &mut Graph<'_>,
        x: Var,
        norm: Scaling,
        part: impl FnOnce(&mut Graph<'_>, Var) -> Var,
    ) -> Var {
        let read = if self.is_norm_first { g.norm(x, norm) } else { x };
        let y = part(g, read);
        let y = g.dropout(y, self.dropout);
        let sum = g.sum(x, y);
        if self.is_norm_first { sum } else { g.norm(sum, norm) }
    }

    /// The heads of attention to the sequence itself, or to the input.
    pub(super) fn heads(&self, is_causal: bool) -> Heads {
        Heads { n: self.heads, size: self.head_size, scale: self.scale, is_causal }
    }
}

/// The layers.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    pub(super) config: StackConfig,
    pub(super) layers: Vec<Layer>,
    last_norm: Option<Scaling>,
    pub(super) relative: Option<(Param, Buckets)>, // (buckets, H)
    is_decoder: bool,
}

impl Stack {
    /// Declares the layers.
    pub(super) fn new(
        l: &mut Layout,
        name: &str,
        config: &StackConfig,
        reads: &EmbeddingConfig,
        is_decoder: bool,
    ) -> Self {
        let relative = match reads.positions {
            Positions::Relative { buckets, furthest } => Some((
                l.matrix(&format!("{name}.distances"), buckets, config.heads, Init::Uniform(0.1)),
                Buckets::new(buckets, furthest, !is_decoder),
            )),
            _ => None,
        };
        let layer = |i| Layer::new(l, &format!("{name}.{i}"), config, is_decoder);
        let layers = (0..config.layers).map(layer).collect();
        let last_norm = config.has_last_norm.then(|| config.norm(l, &format!("{name}.norm")));
        Stack { config: config.clone(), layers, last_norm, relative, is_decoder }
    }

    /// Attention to all positions at once, with memory `(S, 2I)` for each layer of a decoder. Lists
    /// queries, keys and values `(R, 3I)` of each layer, if asked to.
    pub(super) fn whole<'m>(
        &self,
        g: &mut Graph<'_>,
        own: Spans,
        memory: Option<(Spans, &'m [Var])>,
        list: Option<&'m mut Vec<Var>>,
    ) -> Whole<'m> {
        let relative = self.relative.as_ref();
        let relative = relative
            .map(|(table, buckets)| Relative { table: g.param(*table), buckets: buckets.clone() });
        let heads = self.config.heads(self.is_decoder);
        Whole { heads, own, relative, memory, list }
    }

    /// `(R, D)`: what comes out at the top, given what the embedding reads. If the deadline passes
    /// on the way, the rest is left out.
    pub(super) fn run(&self, g: &mut Graph<'_>, mut x: Var, look: &mut impl Look) -> Var {
        for (i, layer) in self.layers.iter().enumerate() {
            if g.is_late() {
                return x;
            }
            x = layer.run(g, i, x, &self.config, look);
        }
        self.last_norm.map_or(x, |norm| g.norm(x, norm))
    }
}

/// Attention to all positions at once.
pub(super) struct Whole<'m> {
    heads: Heads,
    own: Spans,
    relative: Option<Relative>,
    memory: Option<(Spans, &'m [Var])>,
    list: Option<&'m mut Vec<Var>>,
}

impl Look for Whole<'_> {
    fn own(&mut self, g: &mut Graph<'_>, _: usize, qkv: Var) -> Var {
        if let Some(list) = &mut self.list {
            list.push(qkv);
        }
        let columns = |from| Columns { of: qkv, from };
        let width = self.heads.width();
        let from = Sources { q: columns(0), k: columns(width), v: columns(2 * width) };
        g.multi_head(from, self.heads, self.own, self.relative.clone())
    }

    fn input(&mut self, g: &mut Graph<'_>, i: usize, q: Var) -> Var {
        let (spans, memory) = self.memory.expect("a decoder has a memory");
        let columns = |from| Columns { of: memory[i], from };
        let from = Sources {
            q: Columns { of: q, from: 0 },
            k: columns(0),
            v: columns(self.heads.width()),
        };
        g.multi_head(from, Heads { is_causal: false, ..self.heads }, spans, None)
    }
}
