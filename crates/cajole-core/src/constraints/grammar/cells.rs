//! What a chart has to hold of a grammar, and what follows from what.
//!
//! `c(X, i, l)` is the fewest edits that make of `y[i..i + l]` something that `X` becomes; there is
//! a cell for each variable and for each tail. Over no symbols at all, everything is inserted:
//! `c(X, i, 0) = |X|`, the fewest symbols that `X` becomes. Deleted symbols belong to the symbol
//! that comes after them, wherever there is one. Then, for `l > 0`,
//!
//! ```text
//! c(s t, i, l) = min of  [y_i ≠ s] + c(t, i + 1, l − 1)         keep or substitute    Scan
//!                        1 + c(s t, i + 1, l − 1)               delete
//!                        1 + c(t, i, l)                         insert s              Unit
//! c(A t, i, l) = min of  c(A, i, k) + c(t, i + k, l − k)        for 0 < k < l         Split
//!                        |A| + c(t, i, l)                       insert all of A       Unit
//!                        c(A, i, l) + |t|                       insert all of t       Unit
//! c(A, i, l)   = min of  c(t, i, l)                             for each body of A    Unit
//! ```

use super::{Element, Grammar, NOTHING, START, TailId};

/// The cells of a grammar.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    /// What can be read, each once.
    pub(super) terminals: Vec<Element>,
    /// `|X|` of each cell; more than counts can hold is the most they can.
    pub(super) shortest: Vec<u16>,
    pub(super) scans: Vec<Scan>,
    pub(super) splits: Vec<Split>,
    /// In the order of their cells.
    pub(super) units: Vec<Unit>,
}

/// `cell = terminal rest`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan {
    pub(super) cell: usize,
    /// Its number.
    pub(super) terminal: usize,
    pub(super) rest: Option<usize>,
}

/// `cell = left right`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    pub(super) cell: usize,
    pub(super) left: usize,
    pub(super) right: usize,
}

/// `cell` over what `inner` is over, with so many insertions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) cell: usize,
    pub(super) inner: usize,
    pub(super) insertions: u16,
    pub(super) side: Side,
}

/// On which side of a span there is something to insert.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    Before,
    Behind,
}

impl Cells {
    /// The start variable's.
    pub(super) const START: usize = START;

    pub(super) fn new(grammar: &Grammar) -> Cells {
        let cell_of = numbers(grammar);
        let mut cells = Cells {
            terminals: Vec::new(),
            shortest: grammar.shortest.iter().map(|&length| clipped(length)).collect(),
            scans: Vec::new(),
            splits: Vec::new(),
            units: Vec::new(),
        };
        for (variable, bodies) in grammar.alternatives.iter().enumerate() {
            for inner in bodies.iter().filter_map(|&body| cell_of[body]) {
                cells.add_unit(variable, inner, 0, Side::Before);
            }
        }
        for tail in 1..cell_of.len() {
            cells.add_tail(grammar, tail, &cell_of);
        }
        cells.units.sort_by_key(|unit| unit.cell);
        cells
    }

    /// How many cells there are for each span.
    pub(super) fn len(&self) -> usize {
        self.shortest.len()
    }

    /// What is over the same span as `cell`.
    pub(super) fn units_of(&self, cell: usize) -> &[Unit] {
        let first = self.units.partition_point(|unit| unit.cell < cell);
        let end = self.units.partition_point(|unit| unit.cell <= cell);
        &self.units[first..end]
    }

    fn add_tail(&mut self, grammar: &Grammar, tail: TailId, cell_of: &[Option<usize>]) {
        let (Some(cell), Some(own)) = (cell_of[tail], grammar.tail(tail)) else { return };
        if cell < self.len() {
            return; // a variable's own
        }
        self.shortest.push(clipped(own.shortest));
        let rest = cell_of[own.rest];
        match own.first {
            Element::Variable(left) => {
                let Some(right) = rest else { return };
                self.splits.push(Split { cell, left, right });
                self.add_unit(cell, right, clipped(grammar.shortest[left]), Side::Before);
                self.add_unit(cell, left, clipped(grammar.shortest(own.rest)), Side::Behind);
            }
            read => {
                let terminal = self.terminal(read);
                self.scans.push(Scan { cell, terminal, rest });
                if let Some(inner) = rest {
                    self.add_unit(cell, inner, 1, Side::Before);
                }
            }
        }
    }

    fn add_unit(&mut self, cell: usize, inner: usize, insertions: u16, side: Side) {
        if cell != inner {
            self.units.push(Unit { cell, inner, insertions, side });
        }
    }

    fn terminal(&mut self, read: Element) -> usize {
        self.terminals.iter().position(|&known| known == read).unwrap_or_else(|| {
            self.terminals.push(read);
            self.terminals.len() - 1
        })
    }
}

/// The cell of each tail. A tail of one variable has that variable's; the empty one has none.
fn numbers(grammar: &Grammar) -> Vec<Option<usize>> {
    let mut next = grammar.alternatives.len();
    let own = grammar.tails.iter().map(|tail| match tail.first {
        Element::Variable(variable) if tail.rest == NOTHING => Some(variable),
        _ => {
            next += 1;
            Some(next - 1)
        }
    });
    std::iter::once(None).chain(own).collect()
}

fn clipped(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}
