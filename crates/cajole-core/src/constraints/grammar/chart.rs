//! The fewest edits to a member, by chart parsing (Lyon 1974).
//!
//! [`Cells`] has the recurrences. A chart is filled by increasing length `l`, and for each length
//! over all starts `i` at once: every rule is then one branch-free loop over contiguous values, and
//! the cubic part is vectorised. Symbols after the last one of a member are deleted, so the answer
//! is
//!
//! ```text
//! g = min over l of c(S, 0, l) + (n − l)
//! ```
//!
//! The edits are found by backtracking through the chart, recomputing which rule gave each value.

use super::Grammar;
use super::cells::{Cells, Scan, Side, Split, Unit};
use crate::constraints::Edit;
use crate::model::Symbol;

/// `c(X, i, l)` for every cell and span of one output.
pub(super) struct Chart<'a> {
    cells: &'a Cells,
    /// `n`.
    n: usize,
    /// By cell: all starts for length 1, then for length 2, …
    costs: Vec<Vec<u16>>, // (cells, n (n + 1) / 2)
    /// Whether the symbol at each position differs from each terminal.
    misses: Vec<Vec<u16>>, // (terminals, n)
}

/// A cell over `y[begin..begin + len]`.
#[derive(Clone, Copy)]
struct Span {
    cell: usize,
    begin: usize,
    len: usize,
}

impl<'a> Chart<'a> {
    /// Number of entries of a chart.
    pub(super) fn size(cells: &Cells, n: usize) -> usize {
        cells.len().saturating_mul(n.saturating_mul(n + 1) / 2)
    }

    pub(super) fn new(grammar: &Grammar, cells: &'a Cells, y: &[Symbol]) -> Chart<'a> {
        let n = y.len();
        let miss = |&terminal| y.iter().map(|&s| u16::from(!grammar.reads(terminal, s))).collect();
        let misses = cells.terminals.iter().map(miss).collect();
        let costs = vec![vec![u16::MAX; n * (n + 1) / 2]; cells.len()];
        let mut chart = Chart { cells, n, costs, misses };
        for len in 1..=n {
            cells.scans.iter().for_each(|scan| chart.scan(scan, len));
            cells.splits.iter().for_each(|split| chart.split(split, len));
            chart.unite(len);
        }
        chart
    }

    /// A shortest sequence of edits to a member, left to right.
    pub(super) fn edits(&self) -> Vec<Edit> {
        let total = |&len: &usize| {
            self.cost(Span { cell: Cells::START, begin: 0, len }) as usize + self.n - len
        };
        let len = (0..=self.n).rev().min_by_key(total).unwrap_or(0);
        let mut edits: Vec<Edit> = (len..self.n).map(Edit::Misfit).collect();
        let mut open = vec![Span { cell: Cells::START, begin: 0, len }];
        while let Some(span) = open.pop() {
            if span.len == 0 {
                let n_missing = self.cells.shortest[span.cell] as usize;
                edits.extend(std::iter::repeat_n(Edit::Missing(span.begin), n_missing));
                continue;
            }
            let span = self.descend(span, &mut edits);
            self.go_back(span, &mut edits, &mut open);
        }
        edits.sort_by_key(|edit| edit.position());
        edits
    }

    /// The index range of the entries of length `len`.
    fn row(&self, len: usize) -> std::ops::Range<usize> {
        let start = (len - 1) * (2 * self.n + 2 - len) / 2;
        start..start + self.n + 1 - len
    }

    fn cost(&self, Span { cell, begin, len }: Span) -> u16 {
        match len {
            0 => self.cells.shortest[cell],
            _ => self.costs[cell][self.row(len)][begin],
        }
    }

    /// Applies keep, substitute and delete.
    fn scan(&mut self, &Scan { cell, terminal, rest }: &Scan, len: usize) {
        let (row, shorter) = (self.row(len), (1 < len).then(|| self.row(len - 1)));
        let misses = &self.misses[terminal];
        let mut costs = std::mem::take(&mut self.costs[cell]);
        match (&shorter, rest) {
            (None, rest) => {
                let behind = rest.map_or(0, |rest| self.cells.shortest[rest]);
                for (cost, miss) in costs[row].iter_mut().zip(misses) {
                    *cost = miss.saturating_add(behind);
                }
            }
            (Some(shorter), rest) => {
                let (done, open) = costs.split_at_mut(row.start);
                let open = &mut open[..row.len()];
                for (cost, &own) in open.iter_mut().zip(&done[shorter.start + 1..]) {
                    *cost = own.saturating_add(1);
                }
                let behind = rest.map(|rest| &self.costs[rest][shorter.start + 1..shorter.end]);
                for ((cost, miss), after) in open.iter_mut().zip(misses).zip(behind.unwrap_or(&[]))
                {
                    *cost = (*cost).min(miss.saturating_add(*after));
                }
            }
        }
        self.costs[cell] = costs;
    }

    /// Applies every split into two non-empty spans.
    fn split(&mut self, &Split { cell, left, right }: &Split, len: usize) {
        let row = self.row(len);
        let mut costs = std::mem::take(&mut self.costs[cell]);
        let (done, open) = costs.split_at_mut(row.start);
        let open = &mut open[..row.len()];
        for k in 1..len {
            let (first, second) = (self.row(k), self.row(len - k));
            // A tail may begin with the variable that it is the only body of.
            let of = |other: usize| if other == cell { &*done } else { &self.costs[other] };
            let firsts = &of(left)[first.start..first.start + open.len()];
            let seconds = &of(right)[second.start + k..second.start + k + open.len()];
            for ((cost, a), b) in open.iter_mut().zip(firsts).zip(seconds) {
                *cost = (*cost).min(a.saturating_add(*b));
            }
        }
        self.costs[cell] = costs;
    }

    /// Applies unit rules over spans of one length, to a fixpoint.
    fn unite(&mut self, len: usize) {
        let row = self.row(len);
        let mut changed = true;
        while changed {
            changed = false;
            for &Unit { cell, inner, insertions, .. } in &self.cells.units {
                let Ok([outer, inner]) = self.costs.get_disjoint_mut([cell, inner]) else {
                    continue;
                };
                let mut lower = 0;
                for (cost, inner) in outer[row.clone()].iter_mut().zip(&inner[row.clone()]) {
                    let through = inner.saturating_add(insertions);
                    lower |= u16::from(through < *cost);
                    *cost = (*cost).min(through);
                }
                changed |= lower != 0;
            }
        }
    }

    /// Follows unit rules from a span to one whose cost comes from shorter spans, recording the
    /// insertions on the way.
    ///
    /// Grammars may be cyclic, so no cell is entered twice.
    fn descend(&self, span: Span, edits: &mut Vec<Edit>) -> Span {
        let over = |cell| Span { cell, ..span };
        let mut came_by: Vec<Option<Unit>> = vec![None; self.cells.len()];
        let mut open = vec![span.cell];
        let mut end = span.cell;
        while let Some(cell) = open.pop() {
            if self.step(over(cell)).is_some() {
                end = cell;
                break;
            }
            for unit in self.cells.units_of(cell) {
                let through = self.cost(over(unit.inner)).saturating_add(unit.insertions);
                let is_new = unit.inner != span.cell && came_by[unit.inner].is_none();
                if is_new && through == self.cost(over(cell)) {
                    came_by[unit.inner] = Some(*unit);
                    open.push(unit.inner);
                }
            }
        }
        let mut at = end;
        while let Some(unit) = came_by[at] {
            let position = match unit.side {
                Side::Before => span.begin,
                Side::Behind => span.begin + span.len,
            };
            let missing = std::iter::repeat_n(Edit::Missing(position), unit.insertions as usize);
            edits.extend(missing);
            at = unit.cell;
        }
        over(end)
    }

    /// Records the edit by which a span follows from shorter ones, and opens those.
    fn go_back(&self, span: Span, edits: &mut Vec<Edit>, open: &mut Vec<Span>) {
        let Span { cell, begin, len } = span;
        match self.step(span) {
            Some(Step::Read { rest, is_miss }) => {
                edits.extend(is_miss.then_some(Edit::Misfit(begin)));
                open.extend(rest.map(|cell| Span { cell, begin: begin + 1, len: len - 1 }));
            }
            Some(Step::Delete) => {
                edits.push(Edit::Misfit(begin));
                open.push(Span { cell, begin: begin + 1, len: len - 1 });
            }
            Some(Step::Split { left, right, at }) => {
                open.push(Span { cell: left, begin, len: at });
                open.push(Span { cell: right, begin: begin + at, len: len - at });
            }
            None => {}
        }
    }

    /// The step by which a span's cost follows from shorter ones, if any.
    fn step(&self, span: Span) -> Option<Step> {
        let Span { cell, begin, len } = span;
        let cost = self.cost(span);
        let behind = |cell, at: usize| self.cost(Span { cell, begin: begin + at, len: len - at });
        if let Ok(at) = self.cells.scans.binary_search_by_key(&cell, |scan| scan.cell) {
            let Scan { terminal, rest, .. } = self.cells.scans[at];
            let miss = self.misses[terminal][begin];
            let read = match rest {
                Some(rest) => Some(behind(rest, 1).saturating_add(miss)),
                None => (len == 1).then_some(miss),
            };
            if read == Some(cost) {
                return Some(Step::Read { rest, is_miss: miss == 1 });
            }
            let is_deletion = 1 < len && behind(cell, 1).saturating_add(1) == cost;
            return is_deletion.then_some(Step::Delete);
        }
        let at = self.cells.splits.binary_search_by_key(&cell, |split| split.cell).ok()?;
        let Split { left, right, .. } = self.cells.splits[at];
        let first = |len| self.cost(Span { cell: left, begin, len });
        let at = (1..len).find(|&at| first(at).saturating_add(behind(right, at)) == cost)?;
        Some(Step::Split { left, right, at })
    }
}

/// How a cost follows from shorter spans.
enum Step {
    Read { rest: Option<usize>, is_miss: bool },
    Delete,
    Split { left: usize, right: usize, at: usize },
}
