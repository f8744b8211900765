//! A network that emits one symbol after another: `p(y_t = v | y_{t−1} = u, x) ∝ exp` of
//!
//! ```text
//! previous[u, v] + position[t, v] + input[x, v] + bias[v]
//! ```
//!
//! `V` symbols; the last one ends an output and stands before the first.

use cajole_core::decoders::{Beam, Ranking};
use cajole_core::random::Random;
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Force, Mark, Model, Move, Moving,
    Parameter, Pass, Recording, Search, Stepper, Symbol, decoders,
};

use super::deltas::{self, Deltas};
use super::faults::{Call, Faults};
use super::log_softmax;

/// The longest outputs, end symbols included.
pub(crate) const CAP: usize = 5;
/// How many kinds of inputs there are.
pub(crate) const KINDS: usize = 8;

/// `x`.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// A name, for faults.
    pub(crate) id: usize,
    /// Below [`KINDS`].
    pub(crate) kind: usize,
    /// At most [`CAP`].
    pub(crate) cap: usize,
}

/// The network.
#[derive(Debug)]
pub(crate) struct Bigram {
    n: usize, // V
    weights: Vec<f32>,
    pub(crate) faults: Faults,
}

/// The last pass that was kept, and the last that was not.
#[derive(Default)]
pub(crate) struct Passes {
    kept: Rows,
    other: Rows,
    is_kept: bool,
}

/// A pass: how far its rows have come, and the distributions on the way.
#[derive(Default)]
struct Rows {
    number: u64,
    inputs: Vec<(Prompt, u64)>, // with the stamps of their weights
    rows: Vec<Row>,
    said: Vec<Said>,
    saved: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    input: usize,
    /// How many symbols have been read.
    t: usize,
    /// The index of the last step's distribution.
    said: usize,
}

/// The distribution of one symbol.
struct Said {
    input: usize,
    t: usize,
    previous: Symbol,
    log_probs: Vec<f64>, // (V)
}

impl Bigram {
    /// `n` symbols, the end symbol included; weights up to `spread`, and a bias against the end.
    pub(crate) fn random(n: usize, spread: f32, seed: u64) -> Self {
        let mut random = Random::derive(seed, &[n as u64]);
        let weights = (0..(n + CAP + KINDS + 1) * n).map(|_| random.uniform(-spread, spread));
        let mut weights: Vec<f32> = weights.collect();
        weights[(n + CAP + KINDS + 1) * n - 1] -= 0.5;
        Bigram { n, weights, faults: Faults::default() }
    }

    pub(crate) fn bits(&self) -> Vec<u32> {
        self.weights.iter().map(|w| w.to_bits()).collect()
    }

    /// The rows `previous`, `position`, `input` and `bias` that score position `t` after `previous`:
    /// the parameter, and its first weight.
    fn rows(&self, x: &Prompt, t: usize, previous: Symbol) -> [(usize, usize); 4] {
        let row = [previous as usize, self.n + t, self.n + CAP + x.kind, self.n + CAP + KINDS];
        [0, 1, 2, 3].map(|parameter| (parameter, row[parameter] * self.n))
    }

    /// The log-probabilities `(V)` of the symbols at position `t` after `previous`.
    pub(crate) fn log_probs(
        &self,
        x: &Prompt,
        nudge: Option<&Deltas>,
        t: usize,
        previous: Symbol,
    ) -> Vec<f64> {
        let weight = |i: usize| f64::from(self.weights[i]) + Deltas::shift(nudge, i);
        let rows = self.rows(x, t, previous);
        let score = |v| rows.iter().map(|(_, first)| weight(first + v)).sum();
        let mut scores: Vec<f64> = (0..self.n).map(score).collect();
        log_softmax(&mut scores);
        scores
    }

    /// `log p(y | x)` under `W`, straight from the definition.
    pub(crate) fn log_prob(&self, x: &Prompt, nudge: Option<&Deltas>, y: &[Symbol]) -> f64 {
        let mut previous = self.end();
        let next = y.iter().copied().chain([self.end()]);
        next.enumerate()
            .map(|(t, v)| {
                let log_probs = self.log_probs(x, nudge, t, std::mem::replace(&mut previous, v));
                log_probs[v as usize]
            })
            .sum()
    }

    /// All outputs that end within the cap with their log-probabilities, best first.
    pub(crate) fn all(&self, x: &Prompt) -> Vec<(Vec<Symbol>, f64)> {
        let mut longest: Vec<Vec<Symbol>> = vec![Vec::new()];
        let mut all = Vec::new();
        for _ in 0..x.cap {
            all.extend(longest.iter().map(|y| (y.clone(), self.log_prob(x, None, y))));
            let next = |y: &Vec<Symbol>| {
                let y = y.clone();
                (0..self.end()).map(move |v| [&y[..], &[v]].concat())
            };
            longest = longest.iter().flat_map(next).collect();
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }
}

impl Passes {
    fn current(&mut self) -> &mut Rows {
        if self.is_kept { &mut self.kept } else { &mut self.other }
    }
}

impl Rows {
    /// Whether these are the inputs that the pass began with, under the same weights.
    fn check(&self, set: &[Pass<'_, Bigram>]) {
        let same = |((x, stamp), pass): (&(Prompt, u64), &Pass<'_, Bigram>)| {
            (x.id, *stamp) == (pass.input.id, Deltas::stamp(pass.nudge))
        };
        assert!(self.inputs.len() == set.len() && self.inputs.iter().zip(set).all(same));
    }

    fn say(&mut self, model: &Bigram, pass: &Pass<'_, Bigram>, row: Row, symbol: Symbol) -> Row {
        let Row { input, t, .. } = row;
        let log_probs = model.log_probs(pass.input, pass.nudge, t, symbol);
        self.said.push(Said { input, t, previous: symbol, log_probs });
        Row { input, t: t + 1, said: self.said.len() - 1 }
    }

    /// A mark says which recording it belongs to.
    fn mark(&self, model: &Bigram, said: usize, symbol: Symbol) -> Mark {
        Mark(self.number << 32 | (said * model.n + symbol as usize) as u64)
    }
}

impl Stepper for Bigram {
    fn n_symbols(&self) -> usize {
        self.n
    }

    fn end(&self) -> Symbol {
        self.n as Symbol - 1
    }

    fn cap(&self, x: &Prompt) -> usize {
        x.cap
    }

    fn begin(
        &self,
        scratch: &mut Passes,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), BackendError> {
        scratch.is_kept = recording == Recording::Kept;
        let call = if scratch.is_kept { Call::Decode } else { Call::Search };
        self.faults.call(call, set.iter().map(|pass| pass.input.id))?;
        let rows = scratch.current();
        let inputs = set.iter().map(|pass| (pass.input.clone(), Deltas::stamp(pass.nudge)));
        let start = |input| Row { input, t: 0, said: usize::MAX };
        *rows = Rows {
            number: rows.number + 1,
            inputs: inputs.collect(),
            rows: (0..set.len()).map(start).collect(),
            ..Rows::default()
        };
        Ok(())
    }

    fn step(
        &self,
        scratch: &mut Passes,
        set: &[Pass<'_, Self>],
        symbols: &[Symbol],
        log_probs: &mut Vec<f32>,
    ) -> Result<(), BackendError> {
        let is_kept = scratch.is_kept;
        let rows = scratch.current();
        self.faults.call(Call::Step, rows.rows.iter().map(|row| set[row.input].input.id))?;
        rows.check(set);
        assert_eq!(symbols.len(), rows.rows.len(), "a symbol for every row");
        if !is_kept {
            rows.said.clear();
        }
        log_probs.clear();
        for (i, &symbol) in symbols.iter().enumerate() {
            let row = rows.rows[i];
            rows.rows[i] = rows.say(self, &set[row.input], row, symbol);
            let said = &rows.said[rows.rows[i].said];
            log_probs.extend(said.log_probs.iter().map(|&log_prob| log_prob as f32));
        }
        Ok(())
    }

    fn reorder(&self, scratch: &mut Passes, rows: &[u32]) -> Result<(), BackendError> {
        let own = scratch.current();
        own.rows = rows.iter().map(|&row| own.rows[row as usize]).collect();
        Ok(())
    }

    fn mark(&self, scratch: &Passes, row: usize, symbol: Symbol) -> Mark {
        assert!(scratch.is_kept, "a mark in a pass that is not kept");
        scratch.kept.mark(self, scratch.kept.rows[row].said, symbol)
    }

    fn save(&self, scratch: &mut Passes) -> Result<(), BackendError> {
        assert!(!scratch.is_kept, "rows are saved in a pass that is kept");
        let own = scratch.current();
        own.saved.extend_from_slice(&own.rows);
        Ok(())
    }

    fn recall(&self, scratch: &mut Passes, saved: &[u32]) -> Result<(), BackendError> {
        let own = scratch.current();
        own.rows = saved.iter().map(|&row| own.saved[row as usize]).collect();
        Ok(())
    }
}

impl Model for Bigram {
    type Input = Prompt;
    type Scratch = Passes;
    type Nudge = Deltas;

    fn parameters(&self) -> Vec<Parameter> {
        let parameter = |name: &str, rows: usize, is_vector| Parameter {
            name: name.to_owned(),
            len: rows * self.n,
            is_vector,
        };
        vec![
            parameter("decoder.previous", self.n, false),
            parameter("decoder.position", CAP, false),
            parameter("encoder.input", KINDS, false),
            parameter("decoder.bias", 1, true),
        ]
    }

    fn scratch(&self) -> Passes {
        Passes::default()
    }

    fn size(&self, x: &Prompt) -> usize {
        x.cap
    }

    fn nudge(&self, moving: &Moving) -> Result<Deltas, BackendError> {
        self.faults.call(Call::Nudge, [])?;
        Ok(Deltas::new(moving))
    }

    fn restore(&self, nudge: &mut Deltas) {
        nudge.restore();
    }

    fn force(&self, scratch: &mut Passes, set: &mut [Force<'_, Self>]) -> Result<(), BackendError> {
        self.faults.call(Call::Force, set.iter().map(|force| force.pass.input.id))?;
        let rows = &mut scratch.kept;
        for Force { pass, output, forced, passes } in set {
            *passes = 1;
            let input = pass.place.expect("it is recorded");
            let (x, stamp) = &rows.inputs[input];
            let now = (pass.input.id, Deltas::stamp(pass.nudge));
            assert_eq!((x.id, *stamp), now, "recorded under other weights");
            forced.clear();
            forced.output.extend_from_slice(output);
            let (mut row, mut previous) = (Row { input, t: 0, said: 0 }, self.end());
            for symbol in output.iter().copied().chain([self.end()]) {
                row = rows.say(self, pass, row, previous);
                forced.log_prob += rows.said[row.said].log_probs[symbol as usize] as f32;
                forced.marks.push(rows.mark(self, row.said, symbol));
                previous = symbol;
            }
        }
        Ok(())
    }

    /// `∂ log p(y_t) / ∂ score(v) = [v = y_t] − p_t(v)`, and a score is a sum of four weights.
    fn gradient(&self, scratch: &mut Passes, set: &mut [Move<Deltas>]) -> Result<(), BackendError> {
        let rows = &scratch.kept;
        let active = set.iter().filter(|own| !own.is_over);
        self.faults.call(Call::Gradient, active.map(|own| rows.inputs[own.place].0.id))?;
        for own in set.iter_mut().filter(|own| !own.is_over) {
            own.nudge.clear_gradient();
            for &(mark, cost) in &own.blame {
                assert_eq!(mark.0 >> 32, rows.number, "a mark of an old recording");
                let at = (mark.0 & 0xffff_ffff) as usize;
                let (said, picked) = (&rows.said[at / self.n], at % self.n);
                assert_eq!(said.input, own.place, "a mark of another input");
                let x = &rows.inputs[said.input].0;
                for (parameter, first) in self.rows(x, said.t, said.previous) {
                    if own.nudge.moving.moves(parameter) {
                        for (v, log_prob) in said.log_probs.iter().enumerate() {
                            let d = f64::from(u8::from(v == picked)) - log_prob.exp();
                            own.nudge.add(first + v, f64::from(cost) * d);
                        }
                    }
                }
            }
            deltas::complete(own);
        }
        Ok(())
    }

    fn take_step(&self, set: &mut [Move<Deltas>]) -> Result<(), BackendError> {
        let active = set.iter().filter(|own| !own.is_over);
        self.faults.call(Call::TakeStep, active.map(|_| usize::MAX))?;
        set.iter_mut().filter(|own| !own.is_over).for_each(deltas::step);
        Ok(())
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
