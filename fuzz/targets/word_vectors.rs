//! Word vectors in GloVe's format, plain and gzipped.
#![no_main]

use cajole_fuzz::with_file;
use cajole_tasks::words::Vectors;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = with_file("vectors.txt.gz", bytes, Vectors::read);
    let Ok(vectors) = with_file("vectors.txt", bytes, Vectors::read) else { return };
    let Vectors { words, values, size } = &vectors;
    assert_eq!(values.len(), words.len() * size);
    let numbers = |values: &[f32]| values.iter().map(|v| format!(" {v}")).collect::<String>();
    let lines = words.iter().zip(values.chunks(*size));
    let text: String = lines.map(|(word, values)| format!("{word}{}\n", numbers(values))).collect();
    let again = with_file("vectors.txt", text.as_bytes(), Vectors::read);
    assert_eq!(again.expect("what is written is read"), vectors);
});
