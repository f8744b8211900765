//! A network in PyTorch that writes one symbol after the other.
//!
//! Decoding records prefixes, not activations: a gradient runs the blamed outputs through the
//! network once more, all positions at once, which is cheaper in PyTorch than a graph of single
//! steps.

use std::collections::HashMap;

use cajole_core::decoders::{Beam, Ranking};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Force, Mark, Model, Move, Moving,
    Parameter, Pass, Recording, Search, Stepper, Symbol, decoders,
};
use cajole_infer::{Standing, Writing};
use pyo3::prelude::*;

use super::backend::{Backend, Item, Nudge, both, floats, set_norms};

pub(crate) struct PyStepper {
    pub(super) backend: Backend,
    /// `V`.
    n_symbols: usize,
    end: Symbol,
    /// How a network of transformers writes; others are only asked for log-probabilities.
    pub(super) writing: Option<Writing>,
}

/// The last recorded pass, and the running one.
#[derive(Default)]
pub(crate) struct Passes {
    kept: Prefixes,
    other: Prefixes,
    is_kept: bool,
    rows: Vec<u32>,
    saved: Vec<u32>,
    /// Whether a step has been taken.
    is_begun: bool,
    /// Whether rows continue prefixes of different lengths, which then run from the start.
    is_recalled: bool,
    /// Python's state of the pass.
    state: Option<Py<PyAny>>,
}

/// A tree of prefixes: the first nodes are empty, one for each input.
#[derive(Default)]
struct Prefixes {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy)]
struct Node {
    parent: Option<u32>,
    symbol: Symbol,
    place: u32,
}

impl Prefixes {
    fn begin(&mut self, n: usize) {
        self.nodes.clear();
        self.nodes.extend((0..n as u32).map(|place| Node { parent: None, symbol: 0, place }));
    }

    fn extend(&mut self, node: u32, symbol: Symbol) -> u32 {
        let place = self.nodes[node as usize].place;
        self.nodes.push(Node { parent: Some(node), symbol, place });
        self.nodes.len() as u32 - 1
    }

    /// The nodes of a prefix, from its empty beginning to `node`.
    fn path(&self, node: u32) -> Vec<u32> {
        let parent = |node: &u32| self.nodes[*node as usize].parent;
        let mut path: Vec<u32> = std::iter::successors(Some(node), parent).collect();
        path.reverse();
        path
    }

    fn symbols(&self, node: u32) -> Vec<Symbol> {
        self.path(node)[1..].iter().map(|&node| self.nodes[node as usize].symbol).collect()
    }

    /// Outputs that together hold every blamed position, each with its costs.
    fn outputs(&self, blame: &[(Mark, f32)]) -> Vec<(Vec<Symbol>, Vec<f32>)> {
        let mut costs: HashMap<(u32, Symbol), f32> = HashMap::new();
        let mut ends = Vec::new();
        for &(mark, cost) in blame {
            let (node, symbol) = ((mark.0 >> 32) as u32, mark.0 as u32);
            *costs.entry((node, symbol)).or_default() += cost;
            ends.push((node, symbol));
        }
        // Longer ones come later, and contain the shorter ones.
        ends.sort_unstable();
        let mut outputs = Vec::new();
        for (node, symbol) in ends.into_iter().rev() {
            if !costs.contains_key(&(node, symbol)) {
                continue;
            }
            let path = self.path(node);
            let mut output: Vec<Symbol> =
                path[1..].iter().map(|&node| self.nodes[node as usize].symbol).collect();
            output.push(symbol);
            let positions = path.iter().zip(&output);
            let taken = positions.map(|(&node, &symbol)| costs.remove(&(node, symbol)));
            let taken = taken.map(|cost| cost.unwrap_or(0.0)).collect();
            outputs.push((output, taken));
        }
        outputs
    }
}

impl Passes {
    fn prefixes(&mut self) -> &mut Prefixes {
        if self.is_kept { &mut self.kept } else { &mut self.other }
    }
}

fn mark(node: u32, symbol: Symbol) -> Mark {
    Mark(u64::from(node) << 32 | u64::from(symbol))
}

impl PyStepper {
    /// A network with so many symbols beside the end symbol, which is the last.
    pub(super) fn new(backend: Backend, n_symbols: usize) -> Self {
        PyStepper { backend, n_symbols: n_symbols + 1, end: n_symbols as Symbol, writing: None }
    }

    /// A network of transformers, which gives scores that are not normalised.
    pub(super) fn writer(backend: Backend, writing: Writing) -> Self {
        let (n_symbols, end) = (writing.writes, writing.end);
        PyStepper { backend, n_symbols, end, writing: Some(writing) }
    }

    /// Turns the scores of each row `(R, V)` into log-probabilities, and does what generation is told.
    fn generate(&self, scratch: &mut Passes, set: &[Pass<'_, Self>], scores: &mut [f32]) {
        let Some(Writing { start, end, generation, .. }) = &self.writing else { return };
        for (i, own) in scores.chunks_exact_mut(self.n_symbols).enumerate() {
            let most = own.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = own.iter().map(|score| f64::from(score - most).exp()).sum();
            let log_sum = most + sum.ln() as f32;
            own.iter_mut().for_each(|score| *score -= log_sum);
            let node = scratch.rows[i];
            let prefixes = scratch.prefixes();
            let cap = set[prefixes.nodes[node as usize].place as usize].input.cap;
            let prefix = prefixes.symbols(node);
            let (start, end, depth) = (*start, *end, prefix.len());
            generation.apply(own, Standing { start, end, depth, prefix: &prefix, cap, log_sum });
        }
    }
}

impl Stepper for PyStepper {
    fn n_symbols(&self) -> usize {
        self.n_symbols
    }

    fn end(&self) -> Symbol {
        self.end
    }

    fn cap(&self, x: &Item) -> usize {
        x.cap
    }

    fn begin(
        &self,
        scratch: &mut Passes,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), BackendError> {
        scratch.is_kept = recording == Recording::Kept;
        scratch.prefixes().begin(set.len());
        scratch.rows = (0..set.len() as u32).collect();
        scratch.saved.clear();
        (scratch.is_begun, scratch.is_recalled) = (false, false);
        let (inputs, nudges) = both(set);
        let arguments = (inputs, nudges, scratch.is_kept);
        let state = self.backend.call("begin", arguments, |state| Ok(state.clone().unbind()))?;
        scratch.state = Some(state);
        Ok(())
    }

    fn step(
        &self,
        scratch: &mut Passes,
        set: &[Pass<'_, Self>],
        symbols: &[Symbol],
        log_probs: &mut Vec<f32>,
    ) -> Result<(), BackendError> {
        if scratch.is_begun {
            for (i, &symbol) in symbols.iter().enumerate() {
                let node = scratch.rows[i];
                scratch.rows[i] = scratch.prefixes().extend(node, symbol);
            }
        }
        let fed = scratch.is_begun.then(|| symbols.to_vec());
        scratch.is_begun = true;
        log_probs.clear();
        let read = |bytes: &Bound<'_, PyAny>| floats(bytes, log_probs);
        if scratch.is_recalled {
            let rows = scratch.rows.clone();
            let prefixes = scratch.prefixes();
            let all = rows
                .iter()
                .map(|&node| (prefixes.nodes[node as usize].place, prefixes.symbols(node)));
            let all: Vec<(u32, Vec<Symbol>)> = all.collect();
            self.backend.call("resume", (&scratch.state, all), read)?;
        } else {
            self.backend.call("step", (&scratch.state, fed), read)?;
        }
        let (n, v) = (symbols.len() * self.n_symbols(), self.n_symbols());
        match log_probs.len() == n {
            true => {
                self.generate(scratch, set, log_probs);
                Ok(())
            }
            false => Err(BackendError::new(format!(
                "the network scored {} symbols for {} rows, not {v} for each",
                log_probs.len(),
                symbols.len()
            ))),
        }
    }

    fn reorder(&self, scratch: &mut Passes, rows: &[u32]) -> Result<(), BackendError> {
        let is_same = rows.iter().copied().eq(0..scratch.rows.len() as u32);
        scratch.rows = rows.iter().map(|&row| scratch.rows[row as usize]).collect();
        if is_same || scratch.is_recalled {
            return Ok(());
        }
        self.backend.call("select", (&scratch.state, rows), |_| Ok(()))
    }

    fn mark(&self, scratch: &Passes, row: usize, symbol: Symbol) -> Mark {
        mark(scratch.rows[row], symbol)
    }

    fn save(&self, scratch: &mut Passes) -> Result<(), BackendError> {
        scratch.saved.extend_from_slice(&scratch.rows);
        Ok(())
    }

    fn recall(&self, scratch: &mut Passes, saved: &[u32]) -> Result<(), BackendError> {
        scratch.rows = saved.iter().map(|&row| scratch.saved[row as usize]).collect();
        scratch.is_recalled = true;
        Ok(())
    }
}

impl Model for PyStepper {
    type Input = Item;
    type Scratch = Passes;
    type Nudge = Nudge;

    fn parameters(&self) -> Vec<Parameter> {
        self.backend.parameters()
    }

    fn scratch(&self) -> Passes {
        Passes::default()
    }

    fn size(&self, x: &Item) -> usize {
        x.size
    }

    fn in_step(&self, _: &Moving) -> usize {
        self.backend.in_step
    }

    fn nudge(&self, moving: &Moving) -> Result<Nudge, BackendError> {
        self.backend.nudge(moving)
    }

    fn restore(&self, nudge: &mut Nudge) {
        self.backend.restore(nudge);
    }

    fn force(&self, scratch: &mut Passes, set: &mut [Force<'_, Self>]) -> Result<(), BackendError> {
        let end = self.end();
        let outputs: Vec<Vec<Symbol>> =
            set.iter().map(|force| [force.output, &[end]].concat()).collect();
        let passes: Vec<Pass<'_, Self>> = set.iter().map(|force| force.pass).collect();
        let (inputs, nudges) = both(&passes);
        let arguments = (inputs, nudges, &outputs);
        let log_probs: Vec<f32> =
            self.backend.call("force", arguments, |log_probs| log_probs.extract())?;
        for ((force, output), log_prob) in set.iter_mut().zip(outputs).zip(log_probs) {
            let mut node = force.pass.place.unwrap_or_default() as u32;
            force.passes = 1;
            force.forced.clear();
            force.forced.log_prob = log_prob;
            force.forced.output.extend_from_slice(force.output);
            for symbol in output {
                force.forced.marks.push(mark(node, symbol));
                node = scratch.kept.extend(node, symbol);
            }
        }
        Ok(())
    }

    fn gradient(&self, scratch: &mut Passes, set: &mut [Move<Nudge>]) -> Result<(), BackendError> {
        let moves = set
            .iter()
            .filter(|own| !own.is_over)
            .map(|own| (&own.nudge.0, own.place, own.pull, scratch.kept.outputs(&own.blame)));
        let arguments = (moves.collect::<Vec<_>>(),);
        let norms: Vec<f32> =
            self.backend.call("output_gradient", arguments, |norms| norms.extract())?;
        set_norms(set, &norms);
        Ok(())
    }

    fn take_step(&self, set: &mut [Move<Nudge>]) -> Result<(), BackendError> {
        self.backend.take_step(set)
    }

    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Self> + '_> {
        decoders::own(beam)
    }

    fn search(
        &self,
        search: &Search,
        ranking: Ranking,
    ) -> Result<Box<dyn ConstrainedDecoder<Self> + '_>, DoesNotFit> {
        decoders::search(search, ranking)
    }
}
