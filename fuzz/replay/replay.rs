//! Every fuzz target on its seeds. The targets are the files that libFuzzer runs; here `fuzz_target!` makes a
//! plain function of each.
#![allow(unused_attributes, reason = "targets begin with no_main, which is for their own binaries")]

// The crate that targets import from.
extern crate self as cajole_fuzz;
extern crate self as libfuzzer_sys;

use std::fs;
use std::path::Path;

#[path = "../src/lib.rs"]
mod shared;

pub use shared::*;

#[path = "../targets/allennlp_archive.rs"]
mod allennlp_archive;
#[path = "../targets/allennlp_settings.rs"]
mod allennlp_settings;
#[path = "../targets/cards.rs"]
mod cards;
#[path = "../targets/checker_replies.rs"]
mod checker_replies;
#[path = "../targets/checkpoint.rs"]
mod checkpoint;
#[path = "../targets/conll2012_roles.rs"]
mod conll2012_roles;
#[path = "../targets/conll2012_trees.rs"]
mod conll2012_trees;
#[path = "../targets/constraint_files.rs"]
mod constraint_files;
#[path = "../targets/elmo_options.rs"]
mod elmo_options;
#[path = "../targets/evalb.rs"]
mod evalb;
#[path = "../targets/formulas.rs"]
mod formulas;
#[path = "../targets/grammars.rs"]
mod grammars;
#[path = "../targets/hdf5.rs"]
mod hdf5;
#[path = "../targets/huggingface_folders.rs"]
mod huggingface_folders;
#[path = "../targets/infer_lines.rs"]
mod infer_lines;
#[path = "../targets/json_schemas.rs"]
mod json_schemas;
#[path = "../targets/pairs.rs"]
mod pairs;
#[path = "../targets/patterns.rs"]
mod patterns;
#[path = "../targets/presets.rs"]
mod presets;
#[path = "../targets/props.rs"]
mod props;
#[path = "../targets/records.rs"]
mod records;
#[path = "../targets/request_bodies.rs"]
mod request_bodies;
#[path = "../targets/rule_files.rs"]
mod rule_files;
#[path = "../targets/scored_files.rs"]
mod scored_files;
#[path = "../targets/sentence_lines.rs"]
mod sentence_lines;
#[path = "../targets/sentencepiece_models.rs"]
mod sentencepiece_models;
#[path = "../targets/settings.rs"]
mod settings;
#[path = "../targets/shift_reduce.rs"]
mod shift_reduce;
#[path = "../targets/sql.rs"]
mod sql;
#[path = "../targets/srl_jsonl.rs"]
mod srl_jsonl;
#[path = "../targets/tokenizers.rs"]
mod tokenizers;
#[path = "../targets/torch.rs"]
mod torch;
#[path = "../targets/torch_mappings.rs"]
mod torch_mappings;
#[path = "../targets/treebank_files.rs"]
mod treebank_files;
#[path = "../targets/treebank_jsonl.rs"]
mod treebank_jsonl;
#[path = "../targets/trees.rs"]
mod trees;
#[path = "../targets/vocabularies.rs"]
mod vocabularies;
#[path = "../targets/word_vectors.rs"]
mod word_vectors;

/// The targets, and a test for each.
macro_rules! replayed {
    ($($name:ident)*) => {
        const TARGETS: &[&str] = &[$(stringify!($name)),*];

        mod seeds {
            $(#[test] fn $name() { super::replay(stringify!($name), super::$name::run); })*
        }
    };
}

replayed! {
    allennlp_archive allennlp_settings cards checker_replies
    checkpoint conll2012_roles conll2012_trees constraint_files
    elmo_options evalb formulas grammars
    hdf5 huggingface_folders infer_lines json_schemas
    pairs patterns presets props
    records request_bodies rule_files scored_files
    sentence_lines sentencepiece_models settings shift_reduce sql
    srl_jsonl tokenizers torch torch_mappings
    treebank_files treebank_jsonl trees vocabularies
    word_vectors
}

/// Runs a target on each of its seeds, and on each cut short and with a byte changed.
fn replay(name: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../seeds").join(name);
    let mut n_seeds = 0;
    for entry in fs::read_dir(&folder).expect("seeds") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("a seed");
        run(&bytes);
        run(&bytes[..bytes.len() / 2]);
        let mut changed = bytes;
        if let Some(byte) = changed.last_mut() {
            *byte ^= 1;
        }
        run(&changed);
        n_seeds += 1;
    }
    assert!(0 < n_seeds, "{} has no seeds", folder.display());
}

#[test]
fn every_target_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../targets");
    let files = fs::read_dir(folder).expect("targets").map(|entry| entry.expect("an entry").path());
    let mut names: Vec<String> = files
        .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, TARGETS);
}

/// A target as a function of bytes: those of text take valid UTF-8 only, as libFuzzer has it.
#[macro_export]
macro_rules! fuzz_target {
    (init: $init:expr, $($target:tt)*) => { $crate::fuzz_target!($($target)*); };
    (|$input:ident: &str| $body:expr) => {
        pub(crate) fn run(bytes: &[u8]) {
            let Ok($input) = std::str::from_utf8(bytes) else { return };
            $body
        }
    };
    (|$input:ident: &[u8]| $body:expr) => {
        pub(crate) fn run($input: &[u8]) {
            $body
        }
    };
}
