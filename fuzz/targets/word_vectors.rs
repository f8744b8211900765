//! Word vectors in GloVe's format.
#![no_main]

use std::path::Path;

use cajole_tasks::words::Vectors;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("vectors.txt");
    let Ok(vectors) = Vectors::from_reader(path, bytes) else { return };
    let Vectors { words, values, size } = &vectors;
    assert_eq!(values.len(), words.len() * size);
    let numbers = |values: &[f32]| values.iter().map(|v| format!(" {v}")).collect::<String>();
    let lines = words.iter().zip(values.chunks(*size));
    let text: String = lines.map(|(word, values)| format!("{word}{}\n", numbers(values))).collect();
    let again = Vectors::from_reader(path, text.as_bytes()).expect("what is written is read");
    assert_eq!((&again.words, again.size), (words, *size));
    let same = |(a, b): (&f32, &f32)| a == b || a.is_nan() && b.is_nan();
    assert!(again.values.iter().zip(values).all(same));
});
