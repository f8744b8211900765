#![doc = include_str!("../README.md")]

/// The files of the checkpoint, by name.
pub const FILES: &[(&str, &[u8])] = &[
    ("README.md", include_bytes!("../README.md")),
    ("config.json", include_bytes!("../config.json")),
    ("model.safetensors", include_bytes!("../model.safetensors")),
    ("vocab.source.txt", include_bytes!("../vocab.source.txt")),
    ("vocab.target.txt", include_bytes!("../vocab.target.txt")),
];
