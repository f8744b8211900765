//! Weights and states of training runs, as safetensors.
#![no_main]

use std::path::Path;

use cajole_nn::AutoRegressive;
use cajole_nn::checkpoint::{from_bytes, training_from_bytes};
use cajole_nn::models::{StartState, Transducer, TransducerConfig};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let net = Transducer::new(TransducerConfig {
        input_symbols: 1,
        output_symbols: 1,
        embedding: 1,
        hidden: 1,
        start_state: StartState::Zero,
        dropout: 0.0,
        cap_factor: 1,
    });
    let (path, layout) = (Path::new("weights"), net.layout());
    if let Ok(weights) = from_bytes(path, bytes, layout) {
        assert_eq!(weights.len(), layout.len());
    }
    if let Ok(state) = training_from_bytes(path, bytes, layout) {
        assert_eq!((state.weights.len(), state.best_weights.len()), (layout.len(), layout.len()));
    }
});
