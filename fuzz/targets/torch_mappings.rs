//! Mappings of PyTorch state dicts in TOML, a NUL byte, and the shapes of the tensors in JSON.
#![no_main]

use std::collections::BTreeMap;
use std::path::Path;

use cajole_import::Tensors;
use cajole_import::torch_transformer::{self, Ends, Names};
use cajole_nn::Trainable;
use cajole_nn::import::Tensor;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

/// The most numbers of a tensor.
const MOST: usize = 1 << 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mapping {
    network: Names,
    ends: Ends,
}

fuzz_target!(|bytes: &[u8]| {
    let (mapping, shapes) = cajole_fuzz::at_nul(bytes);
    let Ok(mapping) = str::from_utf8(mapping) else { return };
    let Ok(Mapping { network, ends }) = toml::from_str(mapping) else { return };
    let shapes: BTreeMap<String, Vec<usize>> = serde_json::from_slice(shapes).unwrap_or_default();
    let tensors: Tensors = shapes
        .into_iter()
        .filter_map(|(name, shape)| {
            let n =
                shape.iter().try_fold(1, |n: usize, &d| n.checked_mul(d).filter(|&n| n <= MOST))?;
            Some((name, Tensor { shape, values: vec![0.0; n] }))
        })
        .collect();
    let path = Path::new("weights.pt");
    match torch_transformer::read(path, &tensors, &network, ends) {
        Ok((net, weights)) => assert_eq!(net.layout().len(), weights.len()),
        Err(error) => assert!(error.to_string().contains("weights.pt"), "{error}"),
    }
});
