//! One layer: attention to the sequence itself, in decoders attention to the input, and a
//! feed-forward network, each with a norm and added to what it read.

use super::stack::StackConfig;
use crate::layers::norm::Scaling;
use crate::layout::{Init, Layout, Param};
use crate::tape::{Graph, Var};

/// `x · w + b`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear {
    pub(super) w: Param,
    pub(super) b: Option<Param>,
}

impl Linear {
    fn new(l: &mut Layout, name: &str, (k, n): (usize, usize), has_bias: bool) -> Self {
        let w = l.matrix(&format!("{name}.w"), k, n, Init::Glorot { blocks: (n / k).max(1) });
        let b = has_bias.then(|| l.bias(&format!("{name}.b"), n, Init::Zero));
        Linear { w, b }
    }

    pub(super) fn apply(&self, g: &mut Graph<'_>, x: Var) -> Var {
        g.affine(&[(x, self.w)], self.b)
    }
}

/// How a layer attends: to all positions at once, or to those of a cache.
pub(super) trait Look {
    /// What the heads of layer `i` see in the sequence itself, `(R, I)`, from `qkv (R, 3I)`.
    fn own(&mut self, g: &mut Graph<'_>, i: usize, qkv: Var) -> Var;

    /// What they see in the input, from `q (R, I)`.
    fn input(&mut self, g: &mut Graph<'_>, i: usize, q: Var) -> Var;
}

/// The weights of a layer.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    own: Attention,
    pub(super) input: Option<Cross>,
    feed: Feed,
}

#[derive(Clone, Debug)]
struct Attention {
    qkv: Linear, // (D, 3I)
    out: Linear, // (I, D)
    norm: Scaling,
}

/// Attention to the input.
#[derive(Clone, Debug)]
pub(super) struct Cross {
    q: Linear,             // (D, I)
    pub(super) kv: Linear, // (D, 2I)
    out: Linear,           // (I, D)
    norm: Scaling,
}

#[derive(Clone, Debug)]
struct Feed {
    up: Linear,   // (D, F), gated (D, 2F)
    down: Linear, // (F, D)
    norm: Scaling,
}

impl Layer {
    /// Declares the weights of a layer; a decoder's also attends to the input.
    pub(super) fn new(l: &mut Layout, name: &str, config: &StackConfig, is_decoder: bool) -> Self {
        let (width, inner) = (config.width, config.heads * config.head_size);
        let mut linear =
            |part: &str, k, n| Linear::new(l, &format!("{name}.{part}"), (k, n), config.has_biases);
        let qkv = linear("attention.qkv", width, 3 * inner);
        let out = linear("attention.out", inner, width);
        let cross = is_decoder.then(|| {
            let q = linear("cross.q", width, inner);
            (q, linear("cross.kv", width, 2 * inner), linear("cross.out", inner, width))
        });
        let up = linear("feed.up", width, config.inner * if config.is_gated { 2 } else { 1 });
        let down = linear("feed.down", config.inner, width);
        let mut norm = |part: &str| config.norm(l, &format!("{name}.{part}.norm"));
        Layer {
            own: Attention { qkv, out, norm: norm("attention") },
            input: cross.map(|(q, kv, out)| Cross { q, kv, out, norm: norm("cross") }),
            feed: Feed { up, down, norm: norm("feed") },
        }
    }

    /// `y (R, D)` of layer `i` for `x (R, D)`.
    pub(super) fn run(
        &self,
        g: &mut Graph<'_>,
        i: usize,
        x: Var,
        config: &StackConfig,
        look: &mut impl Look,
    ) -> Var {
        let x = config.around(g, x, self.own.norm, |g, x| {
            let qkv = self.own.qkv.apply(g, x); // (R, 3I)
            let seen = look.own(g, i, qkv); // (R, I)
            self.own.out.apply(g, seen)
        });
        let x = match &self.input {
            None => x,
            Some(cross) => config.around(g, x, cross.norm, |g, x| {
                let q = cross.q.apply(g, x); // (R, I)
                let seen = look.input(g, i, q); // (R, I)
                cross.out.apply(g, seen)
            }),
        };
        config.around(g, x, self.feed.norm, |g, x| {
            let z = self.feed.up.apply(g, x); // (R, F) or (R, 2F)
            let z = match config.is_gated {
                true => g.gate(z, config.activation),
                false => g.activate(z, config.activation),
            }; // (R, F)
            let z = g.dropout(z, config.dropout);
            self.feed.down.apply(g, z)
        })
    }
}
