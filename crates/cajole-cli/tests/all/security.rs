//! The limits that SECURITY.md lists are those of the code.

use std::path::Path;

use cajole_core::constraints::MOST_FOLLOWED;
use cajole_files::limits as files;
use cajole_infer::limits::*;
use cajole_nn::settings::MOST_SIZE;
use cajole_rules::limits as rules;
use cajole_serve::limits as served;
use cajole_treebank::limits as corpora;

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
        ("MOST_SHOWN", MOST_SHOWN as u64),
        ("TOKENS_IN_STEP", TOKENS_IN_STEP as u64),
        ("MOST_SETTINGS_BYTES", files::MOST_SETTINGS_BYTES),
        ("MOST_CORPUS_BYTES", files::MOST_CORPUS_BYTES),
        ("MOST_VOCABULARY_BYTES", files::MOST_VOCABULARY_BYTES),
        ("MOST_VECTORS_BYTES", files::MOST_VECTORS_BYTES),
        ("MOST_DEPTH", corpora::MOST_DEPTH as u64),
        ("MOST_SENTENCES", corpora::MOST_SENTENCES as u64),
        ("MOST_WORDS", corpora::MOST_WORDS as u64),
        ("MOST_EXPANSION", files::MOST_EXPANSION),
        ("MOST_SIZE", MOST_SIZE as u64),
        ("MOST_COMPILED_BYTES", rules::MOST_COMPILED_BYTES as u64),
        ("MOST_SQL_TOKENS", rules::MOST_SQL_TOKENS as u64),
        ("MOST_SCHEMA_TOKENS", rules::MOST_SCHEMA_TOKENS as u64),
        ("MOST_JSON_ERRORS", rules::MOST_JSON_ERRORS as u64),
        ("MOST_JSON_PATTERN_BYTES", rules::MOST_JSON_PATTERN_BYTES as u64),
        ("MOST_SEARCH_BYTES", rules::MOST_SEARCH_BYTES as u64),
        ("MOST_ITEMS", rules::MOST_ITEMS as u64),
        ("MOST_PATTERN_STATES", rules::MOST_PATTERN_STATES as u64),
        ("MOST_FOLLOWED", MOST_FOLLOWED as u64),
    ];
    let of_service = [
        ("MAX_REQUESTS_PER_CLIENT", served::MAX_REQUESTS_PER_CLIENT as u64),
        ("MAX_DEADLINE_MS", served::MAX_DEADLINE_MS),
        ("LINES_TOGETHER", served::LINES_TOGETHER as u64),
        ("MOST_BODY_BYTES", served::MOST_BODY_BYTES as u64),
        ("MOST_BYTES_OF_BODIES", served::MOST_BYTES_OF_BODIES as u64),
        ("LARGE_BODY_BYTES", served::LARGE_BODY_BYTES as u64),
        ("MOST_INPUTS", served::MOST_INPUTS as u64),
        ("MOST_EXPLAINED", served::MOST_EXPLAINED as u64),
        ("MOST_STEPS_EXPLAINED", served::MOST_STEPS_EXPLAINED as u64),
        ("MOST_RULE_BYTES", served::MOST_RULE_BYTES as u64),
        ("MOST_COMPILING", served::MOST_COMPILING as u64),
        ("MOST_RULE_FILES", served::MOST_RULE_FILES as u64),
        ("MOST_HEAD_BYTES", served::MOST_HEAD_BYTES as u64),
        ("MOST_CONNECTIONS", served::MOST_CONNECTIONS as u64),
        ("MOST_WAITING", served::MOST_WAITING as u64),
        ("MOST_BYTES_WAITING", served::MOST_BYTES_WAITING as u64),
        ("LINES_OF_STREAM", served::LINES_OF_STREAM as u64),
        ("BYTES_OF_STREAM", served::BYTES_OF_STREAM as u64),
        ("SMALL_LINES", served::SMALL_LINES as u64),
        ("SMALL_BYTES", served::SMALL_BYTES as u64),
        ("LONG_BYTES", served::LONG_BYTES as u64),
        ("MOST_EVENTS", served::MOST_EVENTS as u64),
    ];
    let times = [
        ("HEAD_TIME", served::HEAD_TIME),
        ("BODY_TIME", served::BODY_TIME),
        ("IDLE_TIME", served::IDLE_TIME),
        ("WRITE_TIME", served::WRITE_TIME),
        ("DRAIN_TIME", served::DRAIN_TIME),
    ];
    for (name, time) in times {
        let seconds = time.as_secs();
        assert!(text.contains(&format!("| `{name}` | {seconds} s |")), "{name} is {seconds} s");
    }
    let limits: Vec<(&str, u64)> = limits.into_iter().chain(of_service).collect();
    for &(name, value) in &limits {
        assert!(text.contains(&format!("| `{name}` | {value} |")), "{name} is {value}");
    }
    let known = || limits.iter().map(|(name, _)| *name).chain(times.iter().map(|(name, _)| *name));
    let named = |line: &str| Some(line.strip_prefix("| `")?.split_once("` |")?.0.to_owned());
    let constants = text.lines().filter_map(named).filter(|name| *name == name.to_uppercase());
    for name in constants {
        assert!(known().any(|constant| constant == name), "{name} is no constant");
    }
}
