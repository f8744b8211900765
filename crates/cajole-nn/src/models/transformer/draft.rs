//! Outputs of the last pass as drafts of the next.
//!
//! A step of a descent is short, and most of an output stays as it was. So what was decoded for an
//! input last time is forced through the network, all positions at once, and as long as the search
//! chooses the symbols of that draft, its log-probabilities are there already. The first symbol that
//! differs ends the draft. Log-probabilities have the same bits either way, so outputs do not depend
//! on drafts; and where a draft holds to its end, it is also what is differentiated.

use cajole_core::model::Symbol;

use super::cache::{Cache, Node, ROOT};
use super::decoding::OWN;
use super::encoder_decoder::{EncoderDecoder, Memory};
use crate::models::Token;
use crate::tape::{Graph, Var};

/// The drafts of a lane.
#[derive(Default)]
pub(super) struct Drafts {
    /// The inputs of this pass, and what was decoded for each last time; empty if nothing.
    inputs: Vec<Vec<Token>>,
    drafts: Vec<Vec<Symbol>>,
    /// The same of the last pass.
    inputs_before: Vec<Vec<Token>>,
    outputs_before: Vec<Vec<Symbol>>,
    /// By input: the node that this pass has come to.
    reached: Vec<u32>,
    /// By node: the node that follows it in its draft, or [`ROOT`].
    next: Vec<u32>,
    /// By node: its row in the recording, or [`ROOT`].
    places: Vec<u32>,
    /// Inputs whose drafts are used.
    used: Vec<u32>,
    /// By input: whether its search has left the draft, which is then not what is differentiated.
    is_left: Vec<bool>,
    /// What the recording holds, `(R, V)`, and each layer's `(R, 3I)`.
    recorded: Option<Var>,
    layers: Vec<Var>,
    /// Whether drafts were looked at in this pass.
    is_over: bool,
}

impl Drafts {
    /// Begins a pass over these inputs; remembers what the last pass has come to.
    pub(super) fn begin<'x>(
        &mut self,
        cache: &Cache,
        xs: impl ExactSizeIterator<Item = &'x [Token]>,
        is_recorded: bool,
    ) {
        std::mem::swap(&mut self.inputs, &mut self.inputs_before);
        self.outputs_before.resize_with(self.reached.len(), Vec::new);
        for (output, &node) in self.outputs_before.iter_mut().zip(&self.reached) {
            output.clear();
            cache.path(node, output);
        }
        let n = if is_recorded { xs.len() } else { 0 };
        self.inputs.resize_with(n, Vec::new);
        self.drafts.resize_with(n, Vec::new);
        for (b, x) in xs.enumerate().take(n) {
            self.inputs[b].clear();
            self.inputs[b].extend_from_slice(x);
            self.drafts[b].clear();
            let mut before = self.inputs_before.iter().zip(&self.outputs_before);
            if let Some((_, output)) = before.find(|(before, _)| *before == x) {
                self.drafts[b].extend_from_slice(output);
            }
        }
        self.reached.clear();
        self.reached.resize(n, ROOT);
        self.is_left.clear();
        self.is_left.resize(n, false);
        self.next.clear();
        self.places.clear();
        self.recorded = None;
        self.is_over = !is_recorded;
    }

    /// Notes what a row of an input has come to.
    pub(super) fn reach(&mut self, input: u32, node: u32) {
        if let Some(reached) = self.reached.get_mut(input as usize) {
            *reached = node;
        }
    }

    /// Before the second step: records the drafts that begin with what was chosen, of inputs that have
    /// one row. (A beam's hypotheses soon leave any draft.)
    pub(super) fn record(
        &mut self,
        net: &EncoderDecoder,
        g: &mut Graph<'_>,
        (memory, cache): (&Memory, &mut Cache),
        (rows, inputs, symbols): (&[u32], &[u32], &[Symbol]),
    ) {
        if self.is_over || rows.first().is_none_or(|&row| row == ROOT) {
            return;
        }
        self.is_over = true;
        let Drafts { drafts, used, layers, .. } = self;
        used.clear();
        let chosen = inputs.iter().copied().zip(symbols);
        let begun = chosen.filter(|&(b, symbol)| {
            let n_rows = inputs.iter().filter(|&&other| other == b).count();
            n_rows == 1 && drafts[b as usize].first() == Some(symbol)
        });
        used.extend(begun.map(|(b, _)| b));
        if used.is_empty() {
            return;
        }
        layers.clear();
        g.level(OWN);
        let outputs = used.iter().map(|&b| (b as usize, drafts[b as usize].as_slice()));
        let said = net.force(g, memory, outputs, Some(layers)); // (R, V)
        g.level(0);
        self.recorded = Some(said);
        self.add_nodes(g, cache, (rows, inputs));
    }

    /// Adds the nodes of recorded drafts to the tree, with their keys and values.
    fn add_nodes(&mut self, g: &Graph<'_>, cache: &mut Cache, (rows, inputs): (&[u32], &[u32])) {
        let Drafts { drafts, used, next, places, layers, .. } = self;
        let mut place = 0;
        for &input in &*used {
            let Some(row) = inputs.iter().position(|&b| b == input) else { continue };
            let (mut parent, draft) = (rows[row], &drafts[input as usize]);
            next.resize(cache.nodes.len(), ROOT);
            places.resize(cache.nodes.len(), ROOT);
            places[parent as usize] = place;
            for (&symbol, depth) in draft.iter().zip(1..) {
                let node = cache.nodes.len() as u32;
                next[parent as usize] = node;
                next.push(ROOT);
                places.push(place + depth);
                cache.nodes.push(Node { parent, symbol, input, depth });
                let keys = layers.iter().map(|qkv| {
                    let row = g.tape.value(qkv.row((place + depth) as usize)); // (3I)
                    &row[row.len() / 3..]
                });
                cache.fill(node, keys);
                parent = node;
            }
            place += draft.len() as u32 + 1;
        }
    }

    /// The node of a draft that follows `node` with `symbol`.
    pub(super) fn follow(&self, cache: &Cache, node: u32, symbol: Symbol) -> Option<u32> {
        let next = *self.next.get(node as usize)?;
        (next != ROOT && cache.nodes[next as usize].symbol == symbol).then_some(next)
    }

    /// Keeps the drafts of inputs of which no other nodes are blamed than those of the draft.
    pub(super) fn keep(&mut self, cache: &Cache, blamed: impl Iterator<Item = u32>) {
        for node in
            blamed.filter(|&node| self.places.get(node as usize).is_none_or(|&at| at == ROOT))
        {
            let input = cache.nodes[node as usize].input as usize;
            if let Some(is_left) = self.is_left.get_mut(input) {
                *is_left = true;
            }
        }
    }

    /// The recording that holds `node`, and its row.
    pub(super) fn place(&self, cache: &Cache, node: u32) -> Option<(Var, usize)> {
        let row = *self.places.get(node as usize)?;
        let is_left = self.is_left.get(cache.nodes[node as usize].input as usize)?;
        self.recorded.filter(|_| row != ROOT && !is_left).map(|said| (said, row as usize))
    }
}
