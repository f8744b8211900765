//! Beam search: the `width` most probable prefixes, extended together as rows of one batch.
//!
//! Scores are plain log-probabilities, without a correction for length: `Ψ` is what is searched.
//! Since a prefix never scores less than what it is extended to, the search may stop as soon as
//! nothing unfinished can overtake the finished.

use cajole_core::constraints::{Automaton, State};
use cajole_core::decoder::{Decoder, Found};
use cajole_core::model::{Mark, Symbol};

use crate::autoregressive::{AutoRegressive, Scratch};
use crate::network::Trained;
use crate::tape::Graph;

/// Keeps the `width` most probable prefixes at every step.
#[derive(Clone, Copy, Debug)]
pub struct Beam {
    /// How many.
    pub width: usize,
}

impl<N: AutoRegressive> Decoder<Trained<N>> for Beam {
    fn decode(
        &self,
        model: &Trained<N>,
        w: &[f32],
        x: &N::Input,
        scratch: &mut Scratch,
        found: &mut Found,
    ) {
        search(model, w, x, self.width, None, scratch, found);
    }
}

/// What a beam search needs between calls.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Every extension ever kept: a tree of prefixes.
    nodes: Vec<Node>,
    /// The unfinished hypotheses, one per row of the batch.
    rows: Vec<Row>,
    next_rows: Vec<Row>,
    extensions: Vec<Extension>,
    finished: Vec<Finished>,
    previous: Vec<Symbol>,
    parents: Vec<u32>,
    /// All rows continue the one input.
    inputs: Vec<u32>,
}

/// One symbol of a prefix.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    symbol: Symbol,
    mark: Mark,
}

/// An unfinished hypothesis; `node` is its last symbol, none at the start.
#[derive(Clone, Copy)]
struct Row {
    node: Option<u32>,
    score: f32,
    state: Option<State>,
}

/// A hypothesis and one more symbol.
#[derive(Clone, Copy)]
struct Extension {
    row: u32,
    symbol: Symbol,
    score: f32,
}

#[derive(Clone, Copy)]
struct Finished {
    node: Option<u32>,
    score: f32,
    is_capped: bool,
}

/// Searches with a beam; under `mask`, only prefixes of its language are kept.
pub(super) fn search<N: AutoRegressive>(
    model: &Trained<N>,
    w: &[f32],
    x: &N::Input,
    width: usize,
    mask: Option<&dyn Automaton>,
    scratch: &mut Scratch,
    found: &mut Found,
) {
    let (net, width) = (&model.net, width.max(1));
    scratch.begin(net, w, &[x]);
    found.clear();
    found.passes = width;
    let Scratch { tape, encoded, beam } = scratch;
    let mut g = Graph::new(w, tape);
    beam.start(net.end(), mask);
    let mut state = encoded.state;
    let cap = net.cap(x);
    for t in 0..cap {
        if beam.rows.is_empty() || beam.is_decided(width) {
            break;
        }
        let (next, log_probs) = net.step(&mut g, encoded, &state, &beam.inputs, &beam.previous);
        let rows = g.tape.value(log_probs); // (B, V)
        beam.extend(rows, net.n_symbols(), net.end(), mask, cap - t - 1);
        beam.keep(width, net.end(), mask, |row, symbol| {
            g.tape.mark(log_probs, row as usize, symbol as usize)
        });
        beam.inputs.resize(beam.rows.len(), 0);
        state = next.rows(&mut g, &beam.parents);
    }
    beam.report(width, mask.is_some(), found);
}

impl Buffers {
    fn start(&mut self, end: Symbol, mask: Option<&dyn Automaton>) {
        self.nodes.clear();
        self.finished.clear();
        self.rows.clear();
        self.rows.push(Row { node: None, score: 0.0, state: mask.map(Automaton::start) });
        self.previous.clear();
        self.previous.push(end);
        self.inputs.clear();
        self.inputs.push(0);
    }

    /// Whether no unfinished hypothesis can still get among the `width` best.
    fn is_decided(&self, width: usize) -> bool {
        let Some(worst) = self.finished.get(width - 1) else { return false };
        self.rows.iter().all(|row| row.score <= worst.score)
    }

    /// Lists every allowed extension of every row, best first.
    fn extend(
        &mut self,
        log_probs: &[f32],
        n_symbols: usize,
        end: Symbol,
        mask: Option<&dyn Automaton>,
        left: usize,
    ) {
        self.extensions.clear();
        for (i, (row, log_probs)) in
            self.rows.iter().zip(log_probs.chunks_exact(n_symbols)).enumerate()
        {
            for (symbol, &log_prob) in (0..).zip(log_probs) {
                if is_allowed(row.state, symbol, end, mask, left) {
                    let log_prob = if log_prob.is_nan() { f32::NEG_INFINITY } else { log_prob };
                    let score = row.score + log_prob;
                    self.extensions.push(Extension { row: i as u32, symbol, score });
                }
            }
        }
        // Of equals the earlier row and smaller symbol comes first. (A stable sort would allocate.)
        self.extensions.sort_unstable_by(|a, b| {
            b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)).then(a.symbol.cmp(&b.symbol))
        });
    }

    /// Keeps the `width` best extensions: those that end are finished, the others are the new rows.
    fn keep(
        &mut self,
        width: usize,
        end: Symbol,
        mask: Option<&dyn Automaton>,
        mark: impl Fn(u32, Symbol) -> Mark,
    ) {
        self.parents.clear();
        self.previous.clear();
        self.next_rows.clear();
        for &Extension { row, symbol, score } in self.extensions.iter().take(width) {
            let from = self.rows[row as usize];
            let node = self.nodes.len() as u32;
            let parent = from.node.unwrap_or(u32::MAX);
            self.nodes.push(Node { parent, symbol, mark: mark(row, symbol) });
            if symbol == end {
                let done = Finished { node: Some(node), score, is_capped: false };
                let place = self.finished.partition_point(|f| score <= f.score);
                self.finished.insert(place, done);
            } else {
                let state = from.state.and_then(|s| mask.and_then(|m| m.next(s, symbol)));
                self.next_rows.push(Row { node: Some(node), score, state });
                self.parents.push(row);
                self.previous.push(symbol);
            }
        }
        std::mem::swap(&mut self.rows, &mut self.next_rows);
    }

    /// Hands out the finished hypotheses, best first, or else the unfinished ones, cut off.
    fn report(&mut self, width: usize, is_masked: bool, found: &mut Found) {
        if self.finished.is_empty() && !is_masked {
            let cut = |row: &Row| Finished { node: row.node, score: row.score, is_capped: true };
            self.finished.extend(self.rows.iter().map(cut));
        }
        for finished in self.finished.iter().take(width) {
            let candidate = found.add();
            candidate.log_prob = finished.score;
            candidate.capped = finished.is_capped;
            let mut at = finished.node;
            while let Some(&node) = at.and_then(|at| self.nodes.get(at as usize)) {
                candidate.output.push(node.symbol);
                candidate.marks.push(node.mark);
                at = Some(node.parent);
            }
            candidate.output.reverse();
            candidate.marks.reverse();
            if !finished.is_capped {
                candidate.output.pop();
            }
        }
    }
}

/// Whether a hypothesis in `state` may go on with `symbol`, with `left` more steps after it.
pub(super) fn is_allowed(
    state: Option<State>,
    symbol: Symbol,
    end: Symbol,
    mask: Option<&dyn Automaton>,
    left: usize,
) -> bool {
    let Some(mask) = mask else { return true };
    let Some(state) = state else { return false };
    if symbol == end {
        return mask.accepts(state);
    }
    // It must be possible to end within the cap; ending takes a step itself.
    let next = mask.next(state, symbol);
    next.and_then(|next| mask.distance_to_accept(next)).is_some_and(|far| far < left)
}
