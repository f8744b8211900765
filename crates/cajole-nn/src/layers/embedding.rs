//! Rows of a parameter table by symbol: the vectors that words start as.

use crate::layout::Param;
use crate::tape::{Backward, Graph, Op, Var};

pub(crate) struct Embedding {
    pub(crate) table: Param,
    /// The symbols, in the tape's indices.
    symbols: usize,
    y: Var,
}

impl Graph<'_> {
    /// `y (B, N)`: row `symbols[i]` of `table (V, N)` for each of `B` symbols.
    pub fn embed(&mut self, table: Param, symbols: &[u32]) -> Var {
        let cols = table.cols as usize;
        let at = self.tape.open(symbols.len() * cols);
        let weights = table.of(self.w);
        for (y, &symbol) in self.tape.split(at).1.chunks_exact_mut(cols).zip(symbols) {
            y.copy_from_slice(&weights[symbol as usize * cols..][..cols]);
        }
        let kept = self.tape.indices.len();
        self.tape.indices.extend_from_slice(symbols);
        let y = Var {
            op: self.tape.next_op(),
            at: at as u32,
            rows: symbols.len() as u32,
            cols: table.cols,
        };
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
