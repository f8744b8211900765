//! evalb: a line of gold's trees, a line of trees to score, and a parameter file.
#![no_main]

use cajole_treebank::Tree;
use cajole_treebank::evalb::{Params, Status, read_line, score_forests};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut parts = text.splitn(3, '\n');
    let mut line = || parts.next().unwrap_or_default();
    let (gold, test, params) = (line(), line(), line());
    let params = Params::parse(params).unwrap_or_default();
    let (Ok(gold), Ok(test)) = (read_line(gold), read_line(test)) else { return };
    for trees in [&gold, &test] {
        let written: Vec<String> = trees.iter().map(Tree::to_string).collect();
        assert_eq!(read_line(&written.join(" ")).as_ref(), Ok(trees), "what is written is read");
    }
    let one = score_forests(&gold, &test, &params).score;
    assert!(one.matched <= one.gold.min(one.test));
    assert!(one.correct_tags <= one.words && one.crossing <= one.test);
    let same = score_forests(&gold, &gold, &params);
    if same.status == Status::Valid {
        assert_eq!((same.score.matched, same.score.complete), (same.score.gold, 1));
        assert_eq!((same.score.crossing, same.score.correct_tags), (0, same.score.words));
    }
});
