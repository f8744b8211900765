//! Embedding lookup: rows of a parameter table by symbol.

use crate::backward::Backward;
use crate::layout::Param;
use crate::tape::{Graph, Op, Var};

pub(crate) struct Embedding {
    pub(crate) table: Param,
    /// Offset of the symbols in the tape's indices.
    symbols: usize,
    y: Var,
}

impl Graph<'_> {
    /// `y (B, N)`: row `symbols[i]` of `table (V, N)` for each of `B` symbols.
    pub fn embed(&mut self, table: Param, symbols: impl ExactSizeIterator<Item = u32>) -> Var {
        let (rows, cols) = (symbols.len(), table.cols as usize);
        let kept = self.tape.indices.len();
        self.tape.indices.extend(symbols);
        let at = self.tape.open(rows * cols);
        let weights = table.of(self.w);
        let own = self.tape.values[at..at + rows * cols].chunks_exact_mut(cols);
        for (y, &symbol) in own.zip(&self.tape.indices[kept..]) {
            y.copy_from_slice(&weights[symbol as usize * cols..][..cols]);
        }
        let op = self.tape.next_op();
        let y = Var { op, at: at as u32, rows: rows as u32, cols: table.cols };
        self.tape.record(Op::Embedding(Embedding { table, symbols: kept, y }), at);
        y
    }
}

impl Embedding {
    /// `dtable[symbols[i]] += dy[i]`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        for i in 0..self.y.rows as usize {
            let symbol = pass.indices[self.symbols + i];
            pass.note_lookup(self.table, symbol, self.y.row_at(i));
        }
    }
}
