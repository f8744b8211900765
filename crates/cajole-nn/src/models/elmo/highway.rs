//! Highway layers and the projection between the character CNN and the language model.
//!
//! A highway layer carries over part of its input: `y = g ∘ relu(x W + b) + (1 − g) ∘ x`, with the
//! gate `g = σ(x V + c)`.

use super::hdf5::Hdf5;
use super::matrix::Matrix;
use super::options::Options;
use crate::import::ImportError;
use crate::kernels::sigmoid;

/// Words `(U, F)` to words `(U, P)`.
pub(super) struct Projection {
    highways: Vec<Highway>,
    output: Affine,
}

struct Highway {
    transform: Affine,
    gate: Affine,
}

/// `x W + b`.
struct Affine {
    /// `(inputs, outputs)`.
    weights: Matrix,
    /// `(outputs)`.
    bias: Vec<f32>,
}

impl Projection {
    pub(super) fn load(options: &Options, file: &Hdf5) -> Result<Projection, ImportError> {
        let (f, p) = (options.filters(), options.lstm.projection_dim);
        let highways = (0..options.char_cnn.n_highway).map(|i| {
            let part = |name| Affine::load(file, &format!("CNN_high_{i}"), name, f, f);
            // Despite its name in the file, `carry` weighs the new part, not the one carried over.
            Ok(Highway { transform: part("transform")?, gate: part("carry")? })
        });
        Ok(Projection {
            highways: highways.collect::<Result<_, ImportError>>()?,
            output: Affine::load(file, "CNN_proj", "proj", f, p)?,
        })
    }

    pub(super) fn forward(&self, mut x: Vec<f32>) -> Vec<f32> {
        for highway in &self.highways {
            highway.forward(&mut x);
        }
        self.output.forward(&x)
    }
}

impl Highway {
    fn forward(&self, x: &mut [f32]) {
        let new = self.transform.forward(x);
        let mut gate = self.gate.forward(x);
        sigmoid(&mut gate);
        for ((x, new), g) in x.iter_mut().zip(new).zip(gate) {
            *x = g * new.max(0.0) + (1.0 - g) * *x;
        }
    }
}

impl Affine {
    fn load(
        file: &Hdf5,
        group: &str,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<Affine, ImportError> {
        let weights = file.dataset_of(&format!("{group}/W_{name}"), &[inputs, outputs])?;
        Ok(Affine {
            weights: Matrix::new(&weights, inputs, outputs),
            bias: file.dataset_of(&format!("{group}/b_{name}"), &[outputs])?,
        })
    }

    fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut y = self.bias.repeat(x.len() / self.weights.inputs());
        self.weights.add_product(&mut y, x);
        y
    }
}
