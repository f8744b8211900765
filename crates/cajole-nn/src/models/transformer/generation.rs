//! Settings of decoding beside the weights: symbols that are forced, forbidden or dearer, as the
//! settings of transformers' `generate` have it.

use cajole_core::model::Symbol;

/// Settings of decoding beside the weights. They have no gradient.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Generation {
    /// The symbol that every output begins with.
    pub first: Option<Symbol>,
    /// The symbol in the last place that the length limit allows.
    pub last: Option<Symbol>,
    /// Symbols that are never written.
    pub never: Vec<Symbol>,
    /// Symbols that are not the first to be chosen.
    pub not_first: Vec<Symbol>,
    /// Other symbols that end an output, as the network's own end symbol does.
    pub ends: Vec<Symbol>,
    /// How many symbols an output has at least, without its end.
    pub least: usize,
    /// Symbols in a row that an output does not repeat; 0 for no such rule.
    pub no_repeat: usize,
    /// The divisor of the scores of symbols that were written before; 1 for no change.
    pub repetition: Option<Repetition>,
}

/// A penalty of symbols that were read or written by the decoder before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetition {
    /// Divides positive scores and multiplies negative ones.
    pub penalty: f32,
    /// Whether it acts on scores before they are normalised, as in greedy search, or on
    /// log-probabilities, as in beam search.
    pub on_scores: bool,
}

/// Where a decoder stands: what [`Generation::apply`] has to know of a network and a prefix.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The symbol that was read first.
    pub start: Symbol,
    /// The symbol that ends outputs.
    pub end: Symbol,
    /// How many symbols were written.
    pub depth: usize,
    /// The symbols that were written; may be empty unless [`Generation::needs_prefix`].
    pub prefix: &'a [Symbol],
    /// The most symbols of an output, with its end.
    pub cap: usize,
    /// `log Σ eˣ` of the scores; 0 unless [`Generation::needs_scores`].
    pub log_sum: f32,
}

impl Generation {
    /// Changes the log-probabilities `(V)` of what follows a prefix. Rules come in the order in which
    /// `generate` has them.
    pub fn apply(&self, log_probs: &mut [f32], at: Standing<'_>) {
        let forbid = |log_probs: &mut [f32], symbols: &[Symbol]| {
            symbols.iter().for_each(|&symbol| log_probs[symbol as usize] = f32::NEG_INFINITY);
        };
        if let Some(repetition) = self.repetition {
            repetition.apply(log_probs, at);
        }
        self.forbid_repeats(log_probs, at);
        if at.depth < self.least {
            forbid(log_probs, &[at.end]);
            forbid(log_probs, &self.ends);
        }
        let last = self.last.filter(|_| at.depth + 1 == at.cap);
        if let Some(forced) = last.or(self.first.filter(|_| at.depth == 0)) {
            log_probs.fill(f32::NEG_INFINITY);
            log_probs[forced as usize] = 0.0;
        } else {
            forbid(log_probs, &self.never);
            if at.depth == usize::from(self.first.is_some()) {
                forbid(log_probs, &self.not_first);
            }
        }
        self.join_ends(log_probs, at.end);
    }

    /// The most probable of the symbols that end outputs stands for all of them.
    fn join_ends(&self, log_probs: &mut [f32], end: Symbol) {
        for &other in &self.ends {
            let log_prob = std::mem::replace(&mut log_probs[other as usize], f32::NEG_INFINITY);
            log_probs[end as usize] = log_probs[end as usize].max(log_prob);
        }
    }

    /// The symbol that ends an output most probably, given the network's own log-probabilities.
    pub fn ending(&self, end: Symbol, log_probs: &[f32]) -> Symbol {
        self.ends.iter().fold(end, |best, &other| {
            if log_probs[best as usize] < log_probs[other as usize] { other } else { best }
        })
    }

    /// A run of `no_repeat` symbols, of which the start symbol may be one, occurs once.
    fn forbid_repeats(&self, log_probs: &mut [f32], at: Standing<'_>) {
        let Some(before) = self.no_repeat.checked_sub(1) else { return };
        let read = || [at.start].into_iter().chain(at.prefix.iter().copied());
        let n = at.prefix.len() + 1;
        if n < self.no_repeat {
            return;
        }
        let all: Vec<Symbol> = read().collect();
        let tail = &all[n - before..];
        for run in all.windows(self.no_repeat).filter(|run| run[..before] == *tail) {
            log_probs[run[before] as usize] = f32::NEG_INFINITY;
        }
    }

    /// Whether the symbol at this position of outputs with this length limit is certain.
    pub fn is_certain(&self, at: usize, cap: usize) -> bool {
        (at == 0 && self.first.is_some()) || (at + 1 == cap && self.last.is_some())
    }

    /// Whether what is allowed depends on the symbols that were written.
    pub fn needs_prefix(&self) -> bool {
        0 < self.no_repeat || self.repetition.is_some()
    }

    /// Whether scores have to be known before they are normalised.
    pub fn needs_scores(&self) -> bool {
        self.repetition.is_some_and(|repetition| repetition.on_scores)
    }

    /// Whether searches sum something other than the network's log-probabilities.
    pub fn changes_log_probs(&self) -> bool {
        self.repetition.is_some()
    }
}

impl Repetition {
    fn apply(self, log_probs: &mut [f32], at: Standing<'_>) {
        let mut read: Vec<Symbol> =
            [at.start].into_iter().chain(at.prefix.iter().copied()).collect();
        read.sort_unstable();
        read.dedup();
        let log_sum = if self.on_scores { at.log_sum } else { 0.0 };
        for symbol in read {
            let log_prob = &mut log_probs[symbol as usize];
            let score = *log_prob + log_sum;
            let dearer = if score < 0.0 { score * self.penalty } else { score / self.penalty };
            *log_prob = dearer - log_sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: f32 = f32::NEG_INFINITY;

    /// The outcome for four symbols, of which 3 is the end and 0 the start.
    fn applied(generation: &Generation, prefix: &[Symbol]) -> [f32; 4] {
        let mut log_probs = [-1.0, -2.0, -3.0, -4.0];
        let depth = prefix.len();
        let at = Standing { start: 0, end: 3, depth, prefix, cap: 4, log_sum: 2.5 };
        generation.apply(&mut log_probs, at);
        log_probs
    }

    #[test]
    fn symbols_are_forced_and_forbidden_where_generate_does() {
        let none = Generation::default;
        let cases: [(Generation, &[Symbol], [f32; 4]); 10] = [
            (none(), &[1], [-1.0, -2.0, -3.0, -4.0]),
            (Generation { first: Some(2), ..none() }, &[], [NEVER, NEVER, 0.0, NEVER]),
            (Generation { last: Some(3), ..none() }, &[1, 1], [-1.0, -2.0, -3.0, -4.0]),
            (Generation { last: Some(3), ..none() }, &[1, 1, 2], [NEVER, NEVER, NEVER, 0.0]),
            (Generation { never: vec![1], ..none() }, &[1], [-1.0, NEVER, -3.0, -4.0]),
            (
                Generation { not_first: vec![1], first: Some(2), ..none() },
                &[2],
                [-1.0, NEVER, -3.0, -4.0],
            ),
            (Generation { least: 2, ..none() }, &[1], [-1.0, -2.0, -3.0, NEVER]),
            (Generation { ends: vec![1], ..none() }, &[1], [-1.0, NEVER, -3.0, -2.0]),
            // The start symbol counts: 0 1 has been, and 1 2.
            (Generation { no_repeat: 2, ..none() }, &[1, 2, 1], [-1.0, -2.0, NEVER, -4.0]),
            (
                Generation {
                    repetition: Some(Repetition { penalty: 2.0, on_scores: true }),
                    ..none()
                },
                &[2],
                // Scores are 1.5, 0.5, -0.5 and -1.5.
                [-1.75, -2.0, -3.5, -4.0],
            ),
        ];
        for (generation, prefix, expected) in cases {
            assert_eq!(applied(&generation, prefix), expected, "{generation:?} after {prefix:?}");
        }
    }
}
