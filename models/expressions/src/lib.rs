#![doc = include_str!("../README.md")]

/// A static, because a constant would be copied into every crate that names it.
static WEIGHTS: [u8; include_bytes!("../model.safetensors").len()] =
    *include_bytes!("../model.safetensors");

/// The files of the checkpoint, by name.
pub const FILES: &[(&str, &[u8])] = &[
    ("README.md", include_bytes!("../README.md")),
    ("config.json", include_bytes!("../config.json")),
    ("model.safetensors", &WEIGHTS),
    ("vocab.source.txt", include_bytes!("../vocab.source.txt")),
    ("vocab.target.txt", include_bytes!("../vocab.target.txt")),
];

/// The licences of this package, as an SPDX expression.
pub const LICENCE: &str = env!("CARGO_PKG_LICENSE");

/// The data that its weights and vocabularies were made from, with its licence.
pub const DATA: &str = "generated";
