//! `y = x · Eᵀ + b`: scores of symbols against a table with a row for each, such as the embeddings
//! they were read with (Press and Wolf 2017).

use crate::backward::Backward;
use crate::kernels;
use crate::layout::Param;
use crate::tape::{Graph, Op, Tape, Var};

pub(crate) struct Scores {
    pub(crate) x: Var,
    pub(crate) table: Param,
    bias: Option<Param>,
    y: Var,
}

impl Graph<'_> {
    /// `y (R, V) = x (R, N) · tableᵀ + b (V)`, with `table (V, N)`.
    pub fn scores(&mut self, x: Var, table: Param, bias: Option<Param>) -> Var {
        let (rows, symbols, width) = (x.rows as usize, table.rows as usize, table.cols as usize);
        assert!(x.cols == table.cols, "{} columns for a table of {width}", x.cols);
        let at = self.tape.open(rows * symbols);
        let Tape { values, owners, indices, way_back, .. } = &mut *self.tape;
        let (before, y) = values.split_at_mut(at);
        let y = &mut y[..rows * symbols];
        match bias {
            Some(b) => {
                y.chunks_exact_mut(symbols).for_each(|y| y.copy_from_slice(b.of(self.w)));
                if let Some(shifts) = self.shifts {
                    shifts.add_to(b, y, |row| owners.of(row, indices));
                }
            }
            None => y.fill(0.0),
        }
        let (x_values, table_values) = (&before[x.range()], table.of(self.w));
        let panel = &mut way_back.panel;
        kernels::add_product_transposed(y, x_values, table_values, symbols, width, panel);
        let op = self.tape.next_op();
        let y = Var { op, at: at as u32, rows: x.rows, cols: table.rows };
        self.tape.record(Op::Scores(Scores { x, table, bias, y }), at);
        y
    }
}

impl Scores {
    pub(crate) fn params(&self) -> impl Iterator<Item = Param> {
        [self.table].into_iter().chain(self.bias)
    }

    /// `dx += dy · E`, `dE += dyᵀ · x`, `db += Σ_rows dy`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let Scores { x, table, bias, y } = *self;
        let (symbols, width) = (table.rows as usize, table.cols as usize);
        if pass.wants(x) {
            let w = table.of(pass.w);
            let (before, dy) = pass.split(y.at as usize);
            let dy = &dy[..y.rows as usize * symbols];
            kernels::add_product(&mut before[x.range()], dy, w, symbols, width);
        }
        for i in 0..y.rows as usize {
            pass.note_transposed_use(table, x.row_at(i), y.row_at(i));
        }
        if let Some(b) = bias {
            pass.note_bias(b, y);
        }
    }
}
