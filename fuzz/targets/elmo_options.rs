//! `options.json` of a published ELMo, before any weights are read.
#![no_main]

use std::path::Path;

use cajole_nn::models::elmo::Elmo;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (options, weights) = (Path::new("options.json"), Path::new("weights.hdf5"));
    let error = Elmo::from_bytes((options, bytes), (weights, Vec::new())).err();
    assert!(error.is_some(), "there are no weights");
});
