//! User-defined operations: supply the forward and the backward function.

use std::sync::Arc;

use crate::backward::Backward;
use crate::tape::{Graph, Op, Var};

/// Maximum number of inputs.
const INPUTS: usize = 4;

/// A differentiable function of up to four matrices.
///
/// It receives flat slices and must know their shapes itself.
pub trait Operation: Send + Sync {
    /// Writes the result into `y`, which is zeroed.
    fn forward(&self, inputs: &[&[f32]], y: &mut [f32]);

    /// Adds to `dx`, the gradient of input `which`, given the gradient `dy` of the result.
    fn backward(&self, inputs: &[&[f32]], y: &[f32], dy: &[f32], which: usize, dx: &mut [f32]);
}

pub(crate) struct Record {
    operation: Arc<dyn Operation>,
    inputs: [Var; INPUTS],
    n_inputs: usize,
    y: Var,
}

impl Graph<'_> {
    /// The result `(rows, cols)` of a user-defined operation.
    pub fn custom(
        &mut self,
        operation: &Arc<dyn Operation>,
        inputs: &[Var],
        (rows, cols): (usize, usize),
    ) -> Var {
        assert!(
            !inputs.is_empty() && inputs.len() <= INPUTS,
            "custom takes 1 to 4 inputs, not {}",
            inputs.len()
        );
        let at = self.tape.open(rows * cols);
        let (before, own) = self.tape.split(at);
        own.fill(0.0);
        let mut kept = [inputs[0]; INPUTS];
        kept[..inputs.len()].copy_from_slice(inputs);
        operation.forward(&slices(&kept, before)[..inputs.len()], own);
        let op = self.tape.next_op();
        let y = Var { op, at: at as u32, rows: rows as u32, cols: cols as u32 };
        let operation = Arc::clone(operation);
        let record = Record { operation, inputs: kept, n_inputs: inputs.len(), y };
        self.tape.record(Op::Custom(record), at);
        y
    }
}

impl Record {
    pub(crate) fn inputs(&self) -> &[Var] {
        &self.inputs[..self.n_inputs]
    }

    /// Calls the operation's backward for each input that needs a gradient.
    pub(crate) fn backward(&self, pass: &mut Backward<'_>) {
        for (which, &x) in self.inputs().iter().enumerate() {
            if pass.wants(x) {
                let values = pass.values;
                let (before, own) = pass.split(self.y.at as usize);
                let dy = &own[..(self.y.rows * self.y.cols) as usize];
                let inputs = slices(&self.inputs, values);
                let dx = &mut before[x.range()];
                let y = &values[self.y.range()];
                self.operation.backward(&inputs[..self.n_inputs], y, dy, which, dx);
            }
        }
    }
}

fn slices<'v>(vars: &[Var; INPUTS], values: &'v [f32]) -> [&'v [f32]; INPUTS] {
    vars.map(|v| &values[v.range()])
}
