//! PyTorch checkpoints: zip files, and pickles one after the other.
#![no_main]

use std::path::Path;

use cajole_import::torch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(tensors) = torch::from_bytes(Path::new("weights.th"), bytes) else { return };
    for (name, tensor) in &tensors {
        assert_eq!(tensor.values.len(), tensor.shape.iter().product::<usize>(), "{name}");
    }
    let numbers: usize = tensors.values().map(|tensor| tensor.values.len()).sum();
    assert!(numbers <= 4 * bytes.len() + (1 << 16), "a small file holds few numbers");
});
