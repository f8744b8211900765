//! Large constant weight matrices, laid out for their products.
//!
//! A product walks down a few columns at a time. In a matrix of 16,384 columns, like ELMo's gates,
//! each row is on another page and maps to the same cache set. So the columns are split into
//! contiguous panels.

use crate::kernels::add_product;

/// Columns per panel: as many as the kernels keep in registers for a single row.
const PANEL: usize = 64;

/// A matrix `(K, N)`.
pub(super) struct Matrix {
    /// Panels `(K, 64)`, contiguous; the last may be narrower.
    panels: Vec<f32>,
    k: usize,
    n: usize,
}

impl Matrix {
    /// From a row-major matrix.
    pub(super) fn new(values: &[f32], k: usize, n: usize) -> Matrix {
        assert_eq!(values.len(), k * n, "number of values in the matrix");
        let mut panels = Vec::with_capacity(values.len());
        for at in (0..n).step_by(PANEL) {
            let width = PANEL.min(n - at);
            for row in values.chunks_exact(n) {
                panels.extend(&row[at..at + width]);
            }
        }
        Matrix { panels, k, n }
    }

    /// `K`.
    pub(super) fn inputs(&self) -> usize {
        self.k
    }

    /// `Y (B, N) += X (B, K) · W`.
    pub(super) fn add_product(&self, y: &mut [f32], x: &[f32]) {
        let (k, n) = (self.k, self.n);
        let mut part = Vec::with_capacity(x.len() / k * PANEL); // (B, 64)
        for (i, panel) in self.panels.chunks(k * PANEL).enumerate() {
            let (at, width) = (i * PANEL, panel.len() / k);
            part.clear();
            y.chunks_exact(n).for_each(|row| part.extend(&row[at..at + width]));
            add_product(&mut part, x, panel, k, width);
            for (row, part) in y.chunks_exact_mut(n).zip(part.chunks_exact(width)) {
                row[at..at + width].copy_from_slice(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_give_the_same_product_as_the_plain_matrix() {
        for (b, k, n) in [(1, 3, 1), (5, 7, 64), (4, 2, 65), (3, 10, 200), (0, 4, 70)] {
            let fill = |len: usize, step: f32| -> Vec<f32> {
                (0..len).map(|i| (i as f32 * step).sin()).collect()
            };
            let (x, w, start) = (fill(b * k, 0.7), fill(k * n, 0.3), fill(b * n, 0.1));
            let (mut expected, mut y) = (start.clone(), start);
            add_product(&mut expected, &x, &w, k, n);
            Matrix::new(&w, k, n).add_product(&mut y, &x);
            assert_eq!(y, expected, "{b} rows, {k} to {n}");
        }
    }
}
