//! HDF5 files, as ELMo's weights are published.
#![no_main]

use std::path::Path;

use cajole_nn::models::elmo::Hdf5;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = Hdf5::from_bytes(Path::new("weights.hdf5"), bytes.to_vec()) else { return };
    for name in ["char_embed", "CNN_proj/W_proj"] {
        if let Ok(tensor) = file.dataset(name) {
            assert_eq!(tensor.values.len(), tensor.shape.iter().product::<usize>(), "{name}");
        }
    }
});
