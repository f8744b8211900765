//! AllenNLP's archives: the bytes of a tar file, which is gzipped here so that they are reached.
#![no_main]

use std::io::Write;
use std::path::Path;

use cajole_import::allennlp::Archive;
use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("model.tar.gz");
    assert!(Archive::from_bytes(path, &bytes[..bytes.len().min(64)]).is_err(), "far too short");
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory takes all");
    let packed = packed.finish().expect("memory takes all");
    if let Ok(archive) = Archive::from_bytes(path, &packed) {
        let words: usize = archive.vocabulary.values().flatten().map(String::len).sum();
        assert!(words <= bytes.len());
    }
});
