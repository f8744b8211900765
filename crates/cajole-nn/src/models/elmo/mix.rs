//! The scalar mix of ELMo's layers that a task reads.

use serde::{Deserialize, Serialize};

use super::Layers;
use crate::kernels::{add_scaled, softmax};

/// `γ Σ_l softmax(w)_l · layer_l`, with task-specific `w` and `γ`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// One weight per layer, before the softmax.
    pub weights: Vec<f32>,
    /// The overall scale.
    pub gamma: f32,
}

impl Mix {
    /// The mean of `layers` layers, where training starts.
    pub fn mean(layers: usize) -> Mix {
        Mix { weights: vec![0.0; layers], gamma: 1.0 }
    }

    /// One vector per word: `(T, D)`.
    ///
    /// # Panics
    /// If the mix is for another number of layers.
    pub fn apply(&self, layers: &Layers) -> Vec<f32> {
        assert_eq!(self.weights.len(), layers.count(), "number of layers in the mix");
        let mut shares = self.weights.clone();
        softmax(&mut shares);
        let mut mixed = vec![0.0; layers.words * layers.dim];
        for (l, share) in shares.iter().enumerate() {
            add_scaled(&mut mixed, self.gamma * share, layers.layer(l));
        }
        mixed
    }
}
