//! The cells of a grammar's edit-distance chart, and the rules between them.
//!
//! `c(X, i, l)` is the fewest edits from `y[i..i + l]` to a string that `X` derives; there is a
//! cell for each variable and each tail. Over an empty span everything is inserted:
//! `c(X, i, 0) = |X|`, the length of the shortest string that `X` derives. A deleted symbol is
//! attached to the symbol that follows it, if there is one. Then, for `l > 0`,
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
    /// The distinct terminals.
    pub(super) terminals: Vec<Element>,
    /// `|X|` of each cell, saturating.
    pub(super) shortest: Vec<u16>,
    pub(super) scans: Vec<Scan>,
    pub(super) splits: Vec<Split>,
    /// Sorted by cell.
    pub(super) units: Vec<Unit>,
}

/// `cell = terminal rest`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan {
    pub(super) cell: usize,
    /// Its index.
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

/// `cell` over the same span as `inner`, with this many insertions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) cell: usize,
    pub(super) inner: usize,
    pub(super) insertions: u16,
    pub(super) side: Side,
}

/// Which side of a span the insertions are on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    Before,
    Behind,
}

impl Cells {
    /// The start variable's cell.
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

    /// The memory that they take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.terminals)
            + size_of_val(&*self.shortest)
            + size_of_val(&*self.scans)
            + size_of_val(&*self.splits)
            + size_of_val(&*self.units)
    }

    /// Number of cells per span.
    pub(super) fn len(&self) -> usize {
        self.shortest.len()
    }

    /// The rules from cells over the same span to `cell`.
    pub(super) fn units_of(&self, cell: usize) -> &[Unit] {
        let first = self.units.partition_point(|unit| unit.cell < cell);
        let end = self.units.partition_point(|unit| unit.cell <= cell);
        &self.units[first..end]
    }

    fn add_tail(&mut self, grammar: &Grammar, tail: TailId, cell_of: &[Option<usize>]) {
        let (Some(cell), Some(own)) = (cell_of[tail], grammar.tail(tail)) else { return };
        if cell < self.len() {
            return; // the cell of a variable
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

/// The cell of each tail. A tail of one variable shares that variable's cell; the empty tail has
/// none.
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
