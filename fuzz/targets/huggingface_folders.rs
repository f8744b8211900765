//! Hugging Face folders: `config.json`, a NUL byte, and the header of `model.safetensors`. The
//! weights themselves are zeros, as many as the header names.
#![no_main]

use std::fs;

use cajole_nn::Trainable;
use cajole_nn::import::huggingface::{Family, Folder};
use cajole_nn::models::transformer::Pieces;
use libfuzzer_sys::fuzz_target;

/// The most bytes of weights that are written.
const MOST_BYTES: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let (config, header) = cajole_fuzz::at_nul(bytes);
    let ends = serde_json::from_slice::<serde_json::Value>(header).unwrap_or_default();
    let ends =
        ends.as_object().into_iter().flatten().filter_map(|(_, t)| t["data_offsets"][1].as_u64());
    let n_bytes = ends.max().unwrap_or(0).min(MOST_BYTES);
    let size = (header.len() as u64).to_le_bytes();
    let weights = [&size[..], header, &vec![0; n_bytes as usize]].concat();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("config.json"), config).expect("room for it");
    fs::write(folder.path().join("model.safetensors"), weights).expect("room for it");
    let network = Folder::open(folder.path()).and_then(|folder| match folder.family()? {
        Family::Encoder => folder.tagger::<Pieces>().map(|found| found.weights.len()),
        Family::EncoderDecoder => {
            folder.beams()?;
            folder.encoder_decoder().map(|(net, weights)| {
                assert_eq!(net.layout().len(), weights.len());
                weights.len()
            })
        }
    });
    match network {
        // Small tensors are padded to cache lines.
        Ok(n) => assert!(n <= 16 * (bytes.len() + n_bytes as usize), "{n} weights"),
        Err(error) => {
            assert!(error.to_string().contains(folder.path().to_str().unwrap()), "{error}");
        }
    }
});
