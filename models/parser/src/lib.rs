#![doc = include_str!("../README.md")]

/// The files of the checkpoint, by name.
pub const FILES: &[(&str, &[u8])] = &[
    ("README.md", include_bytes!("../README.md")),
    ("config.json", include_bytes!("../config.json")),
    ("model.safetensors", include_bytes!("../model.safetensors")),
    ("vocab.labels.txt", include_bytes!("../vocab.labels.txt")),
    ("vocab.vectors.txt", include_bytes!("../vocab.vectors.txt")),
    ("vocab.words.txt", include_bytes!("../vocab.words.txt")),
];
