//! The limits that SECURITY.md lists are those of the code.

use std::path::Path;

use cajole_infer::limits::*;
use cajole_nn::settings::MOST_SIZE;
use cajole_treebank::limits as files;

#[test]
fn the_table_of_limits_is_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let text = std::fs::read_to_string(path).unwrap();
    let limits = [
        ("MAX_TOKENS", MAX_TOKENS as u64),
        ("MAX_LINE_BYTES", MAX_LINE_BYTES as u64),
        ("MOST_TOKENS", MOST_TOKENS as u64),
        ("MOST_LINE_BYTES", MOST_LINE_BYTES as u64),
        ("ENDLESS_LINE_BYTES", ENDLESS_LINE_BYTES as u64),
        ("LOT_BYTES", LOT_BYTES as u64),
        ("BYTES_IN_FLIGHT", BYTES_IN_FLIGHT as u64),
        ("TOKENS_TOGETHER", TOKENS_TOGETHER as u64),
        ("MOST_THREADS", MOST_THREADS as u64),
        ("MOST_WIDTH", MOST_WIDTH as u64),
        ("MOST_STEPS", MOST_STEPS as u64),
        ("MOST_DEADLINE_MS", MOST_DEADLINE_MS),
        ("TOKENS_IN_STEP", TOKENS_IN_STEP as u64),
        ("MOST_SETTINGS_BYTES", files::MOST_SETTINGS_BYTES),
        ("MOST_CORPUS_BYTES", files::MOST_CORPUS_BYTES),
        ("MOST_VOCABULARY_BYTES", files::MOST_VOCABULARY_BYTES),
        ("MOST_VECTORS_BYTES", files::MOST_VECTORS_BYTES),
        ("MOST_DEPTH", files::MOST_DEPTH as u64),
        ("MOST_SENTENCES", files::MOST_SENTENCES as u64),
        ("MOST_WORDS", files::MOST_WORDS as u64),
        ("MOST_EXPANSION", files::MOST_EXPANSION),
        ("MOST_SIZE", MOST_SIZE as u64),
    ];
    for (name, value) in limits {
        assert!(text.contains(&format!("| `{name}` | {value} |")), "{name} is {value}");
    }
    let rows = text.lines().filter(|line| line.starts_with("| `M") || line.contains("_BYTES` |"));
    assert!(rows.count() <= limits.len(), "no row without a constant");
}
