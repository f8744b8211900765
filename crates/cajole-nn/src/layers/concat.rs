//! `y = [x₁ x₂ …]`: concatenation of columns.

use crate::backward::Backward;
use crate::tape::{Graph, Op, Var};

/// Maximum number of parts.
const PARTS: usize = 5;

pub(crate) struct Concat {
    parts: [Var; PARTS],
    n_parts: u32,
    y: Var,
}

impl Graph<'_> {
    /// `y (B, Σ Kᵢ)` from up to five `xᵢ (B, Kᵢ)`.
    pub fn concat(&mut self, parts: impl Iterator<Item = Var>) -> Var {
        let mut kept: [Option<Var>; PARTS] = [None; PARTS];
        let mut n_parts = 0;
        for part in parts {
            assert!(n_parts < PARTS, "more than {PARTS} parts");
            kept[n_parts] = Some(part);
            n_parts += 1;
        }
        let Some(first) = kept[0] else { panic!("concat needs at least one part") };
        let kept = kept.map(|part| part.unwrap_or(first));
        let (parts, rows) = (&kept[..n_parts], first.rows);
        assert!(parts.iter().all(|part| part.rows == rows), "parts differ in their number of rows");
        let cols = parts.iter().map(|part| part.cols).sum();
        let at = self.tape.open((rows * cols) as usize);
        let (before, own) = self.tape.split(at);
        for (i, y) in own.chunks_exact_mut(cols as usize).enumerate() {
            let mut to = 0;
            for part in parts {
                let n = part.cols as usize;
                y[to..to + n].copy_from_slice(&before[part.at as usize + i * n..][..n]);
                to += n;
            }
        }
        let y = Var { op: self.tape.next_op(), at: at as u32, rows, cols };
        let record = Concat { parts: kept, n_parts: n_parts as u32, y };
        self.tape.record(Op::Concat(record), at);
        y
    }
}

impl Concat {
    pub(crate) fn parts(&self) -> &[Var] {
        &self.parts[..self.n_parts as usize]
    }

    /// `dxᵢ += ` its columns of `dy`.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        let mut from = 0;
        for &part in self.parts() {
            let n = part.cols as usize;
            if pass.wants(part) {
                let (before, dy) = pass.split(self.y.at as usize);
                let rows = before[part.range()].chunks_exact_mut(n);
                for (dx, dy) in rows.zip(dy.chunks_exact(self.y.cols as usize)) {
                    crate::kernels::add_to(dx, &dy[from..from + n]);
                }
            }
            from += n;
        }
    }
}
