//! Outputs of killed runs: whatever they hold, their complete records stay, and a run resumes after
//! them. The bytes are the file, plain or gzipped, or are put into a gzip member.
#![no_main]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use cajole_files::Reads;
use cajole_infer::sink::{Existing, Opened, Sink};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Record {
    line: u64,
}

const NEXT: &[u8] = b"{\"line\":7}\n";

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    plain(&folder.path().join("out.jsonl"), bytes);
    let path = folder.path().join("out.jsonl.gz");
    packed(&path, bytes);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    let member = encoder.finish().expect("memory");
    // A complete member, and one that was being written.
    packed(&path, &[&member[..], &member[..member.len() / 2]].concat());
});

fn plain(path: &Path, bytes: &[u8]) {
    let Some((last, after)) = go_on(path, bytes) else { return };
    let kept = after.strip_suffix(NEXT).expect("the new record comes last");
    assert!(bytes.starts_with(kept) && (kept.is_empty() || kept.ends_with(b"\n")));
    assert!(!bytes[kept.len()..].contains(&b'\n'), "a whole line was lost");
    assert_eq!(last, last_line(kept));
}

fn packed(path: &Path, bytes: &[u8]) {
    let Some((last, after)) = go_on(path, bytes) else { return };
    let mut text = Vec::new();
    MultiGzDecoder::new(&after[..]).read_to_end(&mut text).expect("whole members");
    let kept = text.strip_suffix(NEXT).expect("the new record comes last");
    assert!(kept.is_empty() || kept.ends_with(b"\n"), "the last record is whole");
    assert_eq!(last, last_line(kept));
}

/// The last line according to a resumed run, and the file after the run has added a record. `None`
/// if it refuses to resume; the file is then unchanged.
fn go_on(path: &Path, bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
    let open =
        |existing| Sink::open(path, existing, &json!({"rule": "r"}), &Reads::default(), None);
    // A run that leaves its note, and is killed before its first record.
    drop(open(Existing::Replace).expect("room for it"));
    fs::write(path, bytes).expect("room for it");
    let opened = open(Existing::Resume);
    let Ok(Opened { mut sink, last, .. }) = opened else {
        assert_eq!(fs::read(path).expect("it is there"), bytes, "what is refused is left alone");
        return None;
    };
    sink.write(NEXT).expect("room for it");
    sink.finish().expect("room for it");
    Some((last, fs::read(path).expect("it is there")))
}

fn last_line(records: &[u8]) -> u64 {
    let Some(last) = records.split(|&byte| byte == b'\n').rev().nth(1) else { return 0 };
    serde_json::from_slice::<Record>(last).expect("a record").line
}
