//! Uses of parameters, collected by the backward pass and summed up at its end.
//!
//! Each matrix gets one product over all its uses, and a table only the rows that were looked up.

use crate::gradient::Gradient;
use crate::kernels::{self, Panel};
use crate::layout::Layout;
use crate::products;

/// Uses of each parameter, collected by the backward pass.
#[derive(Default)]
pub(crate) struct Uses {
    /// Per parameter: offsets of `x` in the values and of `dy` in the gradients, row by row.
    pub(crate) products: Vec<Vec<(u32, u32)>>,
    /// Per parameter: the same for uses of its transpose, `y = x · Wᵀ`.
    pub(crate) transposed: Vec<Vec<(u32, u32)>>,
    /// Per parameter: row index and offset of its gradient, for lookups and biases.
    pub(crate) lookups: Vec<Vec<(u32, u32)>>,
}

impl Uses {
    /// Forgets all uses, of so many parameters.
    pub(crate) fn clear(&mut self, params: usize) {
        for lists in [&mut self.products, &mut self.transposed, &mut self.lookups] {
            lists.resize_with(params, Vec::new);
            lists.iter_mut().for_each(Vec::clear);
        }
    }

    /// Turns the collected uses into the gradient, with one product per matrix.
    pub(crate) fn gather(
        &mut self,
        layout: &Layout,
        values: &[f32],
        grads: &[f32],
        panel: &mut Panel,
        grad: &mut Gradient,
    ) {
        grad.clear();
        let Uses { products, transposed, lookups } = self;
        for (i, p) in layout.entries().iter().map(|entry| entry.param).enumerate() {
            let (products, transposed, lookups) = (&products[i], &transposed[i], &mut lookups[i]);
            let (rows, cols) = (p.rows as usize, p.cols as usize);
            if !grad.moves(&p.range()) {
                continue;
            }
            if !(products.is_empty() && transposed.is_empty()) {
                let shape = (rows, cols);
                let uses = kernels::Uses { shape, xs: values, dys: grads, rows: products };
                let is_plain = lookups.is_empty() && transposed.is_empty();
                if is_plain && products::keep(grad, p.range(), &uses) {
                    continue;
                }
                let dw = grad.touch(p.range());
                kernels::outer_sum(dw, &uses, panel);
                if !transposed.is_empty() {
                    let uses = kernels::Uses { shape, xs: grads, dys: values, rows: transposed };
                    kernels::add_outer_sum(dw, &uses, panel);
                }
                for &(row, dy_at) in lookups.iter() {
                    let dw = &mut dw[row as usize * cols..][..cols];
                    kernels::add_to(dw, &grads[dy_at as usize..][..cols]);
                }
                continue;
            }
            // Lookups touch only their own rows, so the rest of a large embedding is skipped.
            lookups.sort_unstable();
            for same in lookups.chunk_by(|a, b| a.0 == b.0) {
                let start = p.at as usize + same[0].0 as usize * cols;
                let dw = grad.touch(start..start + cols);
                dw.copy_from_slice(&grads[same[0].1 as usize..][..cols]);
                for &(_, dy_at) in &same[1..] {
                    kernels::add_to(dw, &grads[dy_at as usize..][..cols]);
                }
            }
        }
    }
}
