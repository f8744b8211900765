//! Beam search: the `width` most probable prefixes, extended together as rows of one batch.
//!
//! Prefixes are ranked by their log-probability; all of them have the same length. Finished
//! hypotheses have different lengths and are ranked as [`Ranking`] says. A prefix never scores less
//! than its extensions, so the search may stop once no unfinished hypothesis can overtake the
//! finished ones.
//!
//! A hypothesis that ends takes a place of the width, so the search is over when none is left.
//! [`Ranking::Generate`] differs: twice as many extensions are looked at, those among the best `width`
//! of them that end are finished, and the best `width` of the others go on. At the length limit all
//! are finished.

use super::{Buffers, Ranking, Stopping};
use crate::backend_error::BackendError;
use crate::constraints::{Automaton, State};
use crate::decoder::{Decoder, Found, Session};
use crate::model::{Mark, Pass, Symbol};
use crate::stepper::{Recording, Stepper};

/// Keeps the `width` most probable prefixes at every step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beam {
    /// Beam width; 1 is greedy decoding.
    pub width: usize,
    /// How finished hypotheses are ranked.
    pub ranking: Ranking,
}

impl Beam {
    /// A beam of this width that ranks by log-probability.
    pub fn of(width: usize) -> Self {
        Beam { width, ranking: Ranking::default() }
    }

    /// Ranks finished hypotheses in another way.
    #[must_use]
    pub fn ranked(self, ranking: Ranking) -> Self {
        Beam { ranking, ..self }
    }
}

impl From<usize> for Beam {
    fn from(width: usize) -> Self {
        Beam::of(width)
    }
}

impl<M: Stepper> Decoder<M> for Beam {
    fn decode(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        search(at, set, *self, &|_| None, &|_| false, Recording::Kept, found)
    }

    fn skim(
        &self,
        at: &mut Session<'_, M>,
        set: &[Pass<'_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        search(at, set, *self, &|_| None, &|_| false, Recording::None, found)
    }
}

/// The beam of one input.
#[derive(Default)]
pub(crate) struct Hypotheses {
    /// A tree of all kept prefixes.
    nodes: Vec<Node>,
    /// The unfinished hypotheses, one per row of the batch.
    rows: Vec<Row>,
    next_rows: Vec<Row>,
    extensions: Vec<Extension>,
    finished: Vec<Finished>,
    /// The last symbol of each row, and its parent row, among this input's rows.
    previous: Vec<Symbol>,
    parents: Vec<u32>,
    /// This input's first row in the batch.
    first: u32,
    /// Hypotheses still unfinished when the search ended.
    cut: Vec<Row>,
}

/// One symbol of a prefix.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    symbol: Symbol,
    mark: Mark,
}

/// An unfinished hypothesis; `node` is its last symbol, `None` at the start.
#[derive(Clone, Copy)]
struct Row {
    node: Option<u32>,
    score: f32,
    state: Option<State>,
}

/// A hypothesis plus one symbol.
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
    rank: f32,
    is_capped: bool,
}

/// Searches with one beam per input; under a mask, only prefixes of its language are kept. The rows
/// of all inputs run through the network together.
pub(super) fn search<'a, M: Stepper>(
    at: &mut Session<'_, M>,
    set: &[Pass<'_, M>],
    Beam { width, ranking }: Beam,
    mask: &dyn Fn(usize) -> Option<&'a dyn Automaton>,
    is_late: &dyn Fn(usize) -> bool,
    recording: Recording,
    found: &mut [Found],
) -> Result<(), BackendError> {
    let Session { model, scratch, buffers } = at;
    let Buffers { beams, log_probs, symbols, rows, .. } = &mut **buffers;
    let (n, end, width) = (model.n_symbols(), model.end(), width.max(1));
    if beams.len() < set.len() {
        beams.resize_with(set.len(), Hypotheses::default);
    }
    let beams = &mut beams[..set.len()];
    beams.iter_mut().enumerate().for_each(|(i, beam)| beam.start(end, mask(i), i as u32));
    model.begin(scratch, set, recording)?;
    for t in 0.. {
        // Active rows: those of undecided inputs below their length limit.
        rows.clear();
        symbols.clear();
        for (i, beam) in beams.iter_mut().enumerate() {
            let is_late = || (0 < t && set[i].is_late()) || is_late(i);
            let cap = model.cap(set[i].input);
            beam.drop_hopeless(width, ranking, cap);
            let is_over = beam.is_decided(width, ranking, (t, cap)) || cap <= t || is_late();
            if is_over {
                beam.cut_off();
            }
            rows.extend(beam.parents.iter().map(|parent| beam.first + parent));
            symbols.extend_from_slice(&beam.previous);
        }
        if rows.is_empty() {
            break;
        }
        model.reorder(scratch, rows)?;
        model.step(scratch, set, symbols, log_probs)?; // (R, V)
        let mut first = 0;
        for (i, beam) in beams.iter_mut().enumerate().filter(|(_, beam)| !beam.rows.is_empty()) {
            beam.first = first as u32;
            let own = &log_probs[first * n..][..beam.rows.len() * n];
            let (mask, left) = (mask(i), model.cap(set[i].input) - t - 1);
            let ends_apart = matches!(ranking, Ranking::Generate { .. });
            beam.extend(own, n, end, mask, left, if ends_apart { 2 * width } else { width });
            first += beam.rows.len();
            let at = beam.first as usize;
            let rank = |log_prob| ranking.rank(log_prob, t + 1);
            let mark = |row: u32, symbol| match recording {
                Recording::Kept => model.mark(scratch, at + row as usize, symbol),
                Recording::None => Mark(0),
            };
            match ends_apart {
                true => beam.keep_apart(width, end, left == 0, mask, rank, mark),
                false => beam.keep(width, end, mask, rank, mark),
            }
        }
    }
    for (i, (beam, found)) in beams.iter_mut().zip(found).enumerate() {
        found.clear();
        found.passes = width;
        beam.report(width, mask(i).is_some(), recording, found);
    }
    Ok(())
}

impl Hypotheses {
    fn start(&mut self, end: Symbol, mask: Option<&dyn Automaton>, row: u32) {
        self.nodes.clear();
        self.finished.clear();
        self.cut.clear();
        self.rows.clear();
        self.rows.push(Row { node: None, score: 0.0, state: mask.map(Automaton::start) });
        self.previous.clear();
        self.previous.push(end);
        self.parents.clear();
        self.parents.push(0);
        self.first = row;
    }

    /// Ends the search, setting unfinished hypotheses aside.
    fn cut_off(&mut self) {
        if !self.rows.is_empty() {
            self.cut.clear();
            self.cut.append(&mut self.rows);
        }
        self.parents.clear();
        self.previous.clear();
    }

    /// Whether `width` hypotheses are finished and no unfinished one can become better. By
    /// log-probability, none can enter the `width` best. Per symbol, none can overtake the best: at
    /// most `cap` symbols share its log-probability. The others would stay open until the cap. As in
    /// `generate`, after `t` symbols, it depends on how the search is to stop.
    fn is_decided(&self, width: usize, ranking: Ranking, (t, cap): (usize, usize)) -> bool {
        let to_beat = match ranking {
            Ranking::Generate { penalty, stopping } => {
                let Some(worst) = self.finished.get(width - 1) else { return false };
                let length = match stopping {
                    Stopping::Early => return true,
                    Stopping::Never if 0.0 < penalty => cap,
                    Stopping::Never | Stopping::Likely => t,
                };
                let best = self.rows.first();
                return best.is_none_or(|best| ranking.rank(best.score, length) <= worst.rank);
            }
            Ranking::Total => self.finished.get(width - 1),
            Ranking::PerSymbol => self.finished.first().filter(|_| width <= self.finished.len()),
        };
        let Some(to_beat) = to_beat else { return false };
        self.rows.iter().all(|row| ranking.rank(row.score, cap) <= to_beat.rank)
    }

    /// Drops the hypotheses that can no longer be among the `width` best finished ones. They are the
    /// last rows, because rows are in order of their scores. What is reported does not change: an
    /// extension that loses its place to one of theirs scores no higher, and is hopeless too.
    fn drop_hopeless(&mut self, width: usize, ranking: Ranking, cap: usize) {
        if matches!(ranking, Ranking::Generate { .. }) {
            return; // it stops by other rules
        }
        let Some(last) = self.finished.get(width - 1) else { return };
        let hopeful = |row: &Row| last.rank < ranking.rank(row.score, cap);
        let n = self.rows.partition_point(hopeful);
        self.rows.truncate(n);
        self.parents.truncate(n);
        self.previous.truncate(n);
    }

    /// Collects the `width` best allowed extensions of all rows, best first.
    fn extend(
        &mut self,
        log_probs: &[f32],
        n_symbols: usize,
        end: Symbol,
        mask: Option<&dyn Automaton>,
        left: usize,
        width: usize,
    ) {
        self.extensions.clear();
        let rows = self.rows.iter().zip(log_probs.chunks_exact(n_symbols));
        for (i, (row, log_probs)) in (0..).zip(rows) {
            each_allowed(row.state, n_symbols, end, mask, left, &mut |symbol| {
                let log_prob = log_probs[symbol as usize];
                if log_prob == f32::NEG_INFINITY {
                    return; // the network never writes it
                }
                let log_prob = if log_prob.is_nan() { f32::NEG_INFINITY } else { log_prob };
                self.extensions.push(Extension { row: i, symbol, score: row.score + log_prob });
            });
        }
        // Ties go to the earlier row, then the smaller symbol. (A stable sort would allocate.)
        let order = |a: &Extension, b: &Extension| {
            b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)).then(a.symbol.cmp(&b.symbol))
        };
        if width < self.extensions.len() {
            self.extensions.select_nth_unstable_by(width, order);
            self.extensions.truncate(width);
        }
        self.extensions.sort_unstable_by(order);
    }

    /// Keeps the `width` best extensions: those that end are finished, the others are the new rows.
    fn keep(
        &mut self,
        width: usize,
        end: Symbol,
        mask: Option<&dyn Automaton>,
        rank: impl Fn(f32) -> f32,
        mark: impl Fn(u32, Symbol) -> Mark,
    ) {
        self.parents.clear();
        self.previous.clear();
        self.next_rows.clear();
        for i in 0..self.extensions.len().min(width) {
            let extension = self.extensions[i];
            match extension.symbol == end {
                true => self.finish(extension, false, &rank, &mark),
                false => self.go_on(extension, mask, &mark),
            }
        }
        std::mem::swap(&mut self.rows, &mut self.next_rows);
    }

    /// The same as in `generate`: the best `width` of the extensions that do not end are the new rows,
    /// and what ends is finished if it is among the best `width` of all. At the limit all end.
    fn keep_apart(
        &mut self,
        width: usize,
        end: Symbol,
        is_last: bool,
        mask: Option<&dyn Automaton>,
        rank: impl Fn(f32) -> f32,
        mark: impl Fn(u32, Symbol) -> Mark,
    ) {
        self.parents.clear();
        self.previous.clear();
        self.next_rows.clear();
        for i in 0..self.extensions.len() {
            let extension = self.extensions[i];
            let has_ended = extension.symbol == end;
            if !(has_ended || is_last) {
                if self.next_rows.len() < width {
                    self.go_on(extension, mask, &mark);
                }
            } else if i < width {
                self.finish(extension, !has_ended, &rank, &mark);
            }
        }
        self.finished.truncate(width);
        std::mem::swap(&mut self.rows, &mut self.next_rows);
    }

    /// Adds the last symbol of an extension to the tree.
    fn grow(&mut self, extension: Extension, mark: impl Fn(u32, Symbol) -> Mark) -> u32 {
        let Extension { row, symbol, .. } = extension;
        let parent = self.rows[row as usize].node.unwrap_or(u32::MAX);
        self.nodes.push(Node { parent, symbol, mark: mark(row, symbol) });
        self.nodes.len() as u32 - 1
    }

    fn finish(
        &mut self,
        extension: Extension,
        is_capped: bool,
        rank: impl Fn(f32) -> f32,
        mark: impl Fn(u32, Symbol) -> Mark,
    ) {
        let (node, score) = (Some(self.grow(extension, mark)), extension.score);
        let rank = rank(score);
        let place = self.finished.partition_point(|f| rank <= f.rank);
        self.finished.insert(place, Finished { node, score, rank, is_capped });
    }

    fn go_on(
        &mut self,
        extension: Extension,
        mask: Option<&dyn Automaton>,
        mark: impl Fn(u32, Symbol) -> Mark,
    ) {
        let Extension { row, symbol, score } = extension;
        let node = Some(self.grow(extension, mark));
        let state = self.rows[row as usize].state;
        let state = state.and_then(|s| mask.and_then(|m| m.next(s, symbol)));
        self.next_rows.push(Row { node, score, state });
        self.parents.push(row);
        self.previous.push(symbol);
    }

    /// Reports the finished hypotheses, best first, or else the unfinished ones, marked as capped.
    fn report(&mut self, width: usize, is_masked: bool, recording: Recording, found: &mut Found) {
        if self.finished.is_empty() && !is_masked {
            let cut = |row: &Row| {
                let Row { node, score, .. } = *row;
                Finished { node, score, rank: score, is_capped: true }
            };
            self.finished.extend(self.cut.iter().map(cut));
        }
        for finished in self.finished.iter().take(width) {
            let candidate = found.add();
            candidate.log_prob = finished.score;
            candidate.capped = finished.is_capped;
            let mut at = finished.node;
            while let Some(&node) = at.and_then(|at| self.nodes.get(at as usize)) {
                candidate.output.push(node.symbol);
                if recording == Recording::Kept {
                    candidate.marks.push(node.mark);
                }
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

/// Calls `found` with the symbols that may extend a hypothesis in `state`, if `left` more steps
/// follow.
pub(super) fn each_allowed(
    state: Option<State>,
    n_symbols: usize,
    end: Symbol,
    mask: Option<&dyn Automaton>,
    left: usize,
    found: &mut dyn FnMut(Symbol),
) {
    let Some(mask) = mask else { return (0..n_symbols as Symbol).for_each(found) };
    let Some(state) = state else { return };
    if mask.accepts(state) {
        found(end);
    }
    // Many symbols in a row may lead to the same state.
    let mut known = None;
    mask.each_next(state, &mut |symbol, to| {
        let ends = match known {
            Some((state, ends)) if state == to => ends,
            // It must be able to end within the limit; ending itself takes a step.
            _ => mask.distance_to_accept(to).is_some_and(|far| far < left),
        };
        known = Some((to, ends));
        if symbol != end && (symbol as usize) < n_symbols && ends {
            found(symbol);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A beam with finished hypotheses of these ranks and open ones of these scores, best first.
    fn beam(ranks: &[f32], scores: &[f32]) -> Hypotheses {
        let finished = |&rank| Finished { node: None, score: rank, rank, is_capped: false };
        Hypotheses {
            finished: ranks.iter().map(finished).collect(),
            rows: scores.iter().map(|&score| Row { node: None, score, state: None }).collect(),
            previous: vec![0; scores.len()],
            parents: (0..scores.len() as u32).collect(),
            ..Hypotheses::default()
        }
    }

    #[test]
    fn only_hypotheses_that_can_still_be_among_the_best_go_on() {
        let cases: [(Ranking, &[f32], usize); 5] = [
            // Fewer are finished than asked for.
            (Ranking::Total, &[-1.0], 4),
            (Ranking::Total, &[-1.0, -3.0], 2),
            (Ranking::Total, &[-1.0, -9.0], 4),
            // Ten symbols share a log-probability, and a tie does not overtake.
            (Ranking::PerSymbol, &[-0.1, -0.4], 3),
            (Ranking::PerSymbol, &[-0.1, -0.2, -0.6], 1),
        ];
        for (ranking, ranks, left) in cases {
            let mut beam = beam(ranks, &[-1.0, -2.0, -3.0, -4.0]);
            beam.drop_hopeless(2, ranking, 10);
            let counts = [beam.rows.len(), beam.previous.len(), beam.parents.len()];
            assert_eq!(counts, [left; 3], "{ranking:?}, finished {ranks:?}");
        }
    }
}
