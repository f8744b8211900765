//! Cached keys and values, and attention to them.
//!
//! Every prefix that was extended is a node of a tree, with the keys and values of its last symbol.
//! A hypothesis is a path to the root, so hypotheses share their common prefix, and choosing among
//! them copies nothing.

use cajole_core::model::Symbol;

use super::encoder_decoder::{EncoderDecoder, Memory};
use super::layer::Look;
use super::stack::Stack;
use crate::kernels::{self, Panel};
use crate::layers::multi_head::{Head, Heads, fill_bias};
use crate::tape::{Graph, Tape, Var};

/// The node of an empty prefix, before anything was read.
pub(super) const ROOT: u32 = u32::MAX;

/// A prefix, by its last symbol.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) parent: u32,
    pub(super) symbol: Symbol,
    /// The input.
    pub(super) input: u32,
    /// Symbols before the last.
    pub(super) depth: u32,
}

/// Keys and values of everything decoded so far.
#[derive(Default)]
pub(super) struct Cache {
    pub(super) nodes: Vec<Node>,
    /// Keys and values of each node in each layer, `(nodes, layers, 2I)`.
    own: Vec<f32>,
    /// By layer and input: heads of keys `(H, S, d)`, then heads of values.
    memory: Vec<f32>,
    /// Offset of each layer's and input's part of `memory`, `(layers, B)`.
    places: Vec<usize>,
    /// The path to the node of each row, the root's child first, one row after another.
    paths: Vec<u32>,
    spare: Spare,
}

/// Scratch for one head.
#[derive(Default)]
struct Spare {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    weights: Vec<f32>,
    y: Vec<f32>,
    panel: Panel,
}

impl Cache {
    /// Starts over with other inputs: lays out the heads of what the encoder has left on the tape.
    pub(super) fn begin(&mut self, tape: &Tape, memory: &Memory, heads: Heads) {
        let Cache { nodes, own, memory: kept, places, .. } = self;
        nodes.clear();
        own.clear();
        kept.clear();
        places.clear();
        let (size, width) = (heads.size, heads.width());
        for layer in &memory.layers {
            for rows in &memory.places {
                let at = kept.len();
                places.push(at);
                kept.resize(at + 2 * rows.len() * width, 0.0);
                let from = tape.value(layer.slice(rows.start, rows.len())); // (S, 2I)
                let parts = kept[at..].chunks_exact_mut((rows.len() * size).max(1));
                for (i, head) in parts.enumerate() {
                    kernels::gather_head(head, from, 2 * width, i * size, size, 1.0);
                }
            }
        }
    }

    /// Sets the keys and values `(2I)` of a node in each layer.
    pub(super) fn fill<'k>(&mut self, node: u32, layers: impl ExactSizeIterator<Item = &'k [f32]>) {
        let n_layers = layers.len();
        for (i, kv) in layers.enumerate() {
            let at = (node as usize * n_layers + i) * kv.len();
            self.own.resize(self.own.len().max(at + kv.len()), 0.0);
            self.own[at..][..kv.len()].copy_from_slice(kv);
        }
    }

    /// Calls `each` with every node on the path to `node`, the last first, and its depth.
    pub(super) fn each_up(&self, mut node: u32, mut each: impl FnMut(u32, u32)) {
        while let Some(at) = self.nodes.get(node as usize) {
            each(node, at.depth);
            node = at.parent;
        }
    }

    /// Appends the symbols of the path to a node, without the start symbol.
    pub(super) fn path(&self, node: u32, symbols: &mut Vec<Symbol>) {
        let start = symbols.len();
        self.each_up(node, |node, depth| {
            if 0 < depth {
                symbols.push(self.nodes[node as usize].symbol);
            }
        });
        symbols[start..].reverse();
    }

    /// Extends the row at each of `rows` by a symbol: one new node each, whose number is returned in
    /// its place.
    pub(super) fn extend(&mut self, rows: &mut [u32], inputs: &[u32], symbols: &[Symbol]) {
        self.paths.clear();
        for ((row, &input), &symbol) in rows.iter_mut().zip(inputs).zip(symbols) {
            let parent = *row;
            let depth = self.nodes.get(parent as usize).map_or(0, |node| node.depth + 1);
            *row = self.nodes.len() as u32;
            self.nodes.push(Node { parent, symbol, input, depth });
            let at = self.paths.len();
            self.paths.resize(at + depth as usize + 1, 0);
            let mut node = *row;
            for place in self.paths[at..].iter_mut().rev() {
                *place = node;
                node = self.nodes[node as usize].parent;
            }
        }
    }

    /// Floats that nodes take.
    pub(super) fn len(&self) -> usize {
        self.own.len()
    }
}

/// Attention of the newest nodes to their prefixes and inputs.
pub(super) struct Cached<'a> {
    of: &'a Stack,
    cache: &'a mut Cache,
    memory: &'a Memory,
    /// The first of the newest nodes; there is one for each row.
    first: usize,
}

impl<'a> Cached<'a> {
    /// For the newest `rows` nodes.
    pub(super) fn new(
        net: &'a EncoderDecoder,
        cache: &'a mut Cache,
        memory: &'a Memory,
        rows: usize,
    ) -> Self {
        let (of, first) = (&net.decoder, cache.nodes.len() - rows);
        let per_node = of.layers.len() * 2 * of.config.heads(true).width();
        cache.own.resize(cache.nodes.len() * per_node, 0.0);
        Cached { of, cache, memory, first }
    }
}

impl Look for Cached<'_> {
    fn own(&mut self, g: &mut Graph<'_>, i: usize, qkv: Var) -> Var {
        let heads = self.of.config.heads(true);
        let (size, width, n_layers) = (heads.size, heads.width(), self.of.layers.len());
        let y = g.zeros(qkv.rows as usize, width); // (R, I)
        let (before, seen) = g.tape.values.split_at_mut(y.at as usize);
        let Cache { nodes, own, paths, spare: Spare { q, k, v, weights, y: out, panel }, .. } =
            &mut *self.cache;
        let place = |node: usize| (node * n_layers + i) * 2 * width;
        let mut paths = paths.as_slice();
        for row in 0..qkv.rows as usize {
            let node = self.first + row;
            let (path, others) = paths.split_at(nodes[node].depth as usize + 1);
            paths = others;
            let from = &before[qkv.row_at(row)..][..3 * width];
            own[place(node)..][..2 * width].copy_from_slice(&from[width..]);
            k.resize(path.len() * size, 0.0);
            v.resize(path.len() * size, 0.0);
            weights.resize(path.len(), 0.0);
            q.resize(size, 0.0);
            out.resize(size, 0.0);
            for h in 0..heads.n {
                kernels::gather_head(q, from, 3 * width, h * size, size, heads.scale);
                for (t, &node) in path.iter().enumerate() {
                    let kv = &own[place(node as usize)..][..2 * width];
                    k[t * size..][..size].copy_from_slice(&kv[h * size..][..size]);
                    v[t * size..][..size].copy_from_slice(&kv[width + h * size..][..size]);
                }
                let bias = self.of.relative.as_ref().map(|(table, buckets)| {
                    let table = table.of(g.w);
                    (buckets, move |bucket: usize| table[bucket * heads.n + h])
                });
                fill_bias(weights, path.len(), path.len() - 1, bias);
                Head { q, k, v, size, is_causal: true }.attend(weights, out, panel);
                seen[row * width + h * size..][..size].copy_from_slice(out);
            }
        }
        y
    }

    fn input(&mut self, g: &mut Graph<'_>, i: usize, q: Var) -> Var {
        let heads = self.of.config.heads(false);
        let (size, width) = (heads.size, heads.width());
        let y = g.zeros(q.rows as usize, width); // (R, I)
        let (before, seen) = g.tape.values.split_at_mut(y.at as usize);
        let Cache { nodes, memory, places, spare, .. } = &mut *self.cache;
        let Spare { q: query, weights, y: out, panel, .. } = spare;
        query.resize(size, 0.0);
        out.resize(size, 0.0);
        for row in 0..q.rows as usize {
            let input = nodes[self.first + row].input as usize;
            let n = self.memory.places[input].len(); // S
            if n == 0 {
                continue;
            }
            let kv = &memory[places[i * self.memory.places.len() + input]..][..2 * n * width];
            weights.resize(n, 0.0);
            for h in 0..heads.n {
                let from = &before[q.row_at(row)..][..width];
                kernels::gather_head(query, from, width, h * size, size, heads.scale);
                weights.fill(0.0);
                let part = |at: usize| &kv[at * n * size..][..n * size]; // (S, d)
                let (k, v) = (part(h), part(heads.n + h));
                Head { q: query, k, v, size, is_causal: false }.attend(weights, out, panel);
                seen[row * width + h * size..][..size].copy_from_slice(out);
            }
        }
        y
    }
}
