//! Whole treebanks, if available: every tree can be read, written and read back.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cajole_core::{Constraint, Symbol};
use cajole_treebank::shift_reduce::{Commands, ShiftReduce};
use cajole_treebank::{Corpus, Tree, clean, penn, read};

use cajole_testing::outside::find;

/// Reads a file that must have no problems.
fn read_whole(path: &Path) -> Corpus {
    let corpus = read(path).unwrap();
    assert!(corpus.problems.is_empty(), "{}", corpus.problems[0]);
    let mut ids = BTreeSet::new();
    for sentence in &corpus.sentences {
        assert!(ids.insert(&sentence.id), "{} occurs once", sentence.id);
        assert!(!sentence.genre.is_empty());
        let text = sentence.tree.to_string();
        assert_eq!(penn::parse_tree(&text).unwrap(), sentence.tree, "{}", sentence.id);
        assert_eq!(clean(sentence.tree.clone()).as_ref(), Some(&sentence.tree), "{}", sentence.id);
    }
    corpus
}

/// Reads the files of a folder, and counts files, sentences and words.
fn read_folder(path: &Path) -> (usize, usize, usize) {
    let files: BTreeSet<_> = fs::read_dir(path).unwrap().map(|file| file.unwrap().path()).collect();
    let mut counts = (files.len(), 0, 0);
    for file in files {
        let corpus = read_whole(&file);
        counts.1 += corpus.sentences.len();
        counts.2 += corpus.sentences.iter().map(|s| s.tree.leaves().len()).sum::<usize>();
    }
    counts
}

#[test]
fn english_web_treebank() {
    let Some(folder) = find("ewt") else { return };
    for (split, expected) in [("train", 12_523), ("dev", 1_966), ("test", 2_055)] {
        let corpus = read_whole(&folder.join(format!("ewt.{split}.jsonl.gz")));
        assert_eq!(corpus.sentences.len(), expected, "{split}");
        let genres: BTreeSet<_> = corpus.sentences.iter().map(|s| s.genre.as_str()).collect();
        assert_eq!(genres.len(), 5, "{genres:?}");
    }
    assert_eq!(read_folder(&folder), (3, 16_544, 254_034));
}

#[test]
fn masc() {
    let Some(folder) = find("masc") else { return };
    assert_eq!(read_folder(&folder), (1, 5_945, 98_216));
}

#[test]
fn gum() {
    let Some(folder) = find("gum") else { return };
    assert_eq!(read_folder(&folder), (10, 9_384, 166_546));
    let news = read_whole(&folder.join("GUM_news.ptb.gz"));
    assert!(news.sentences.iter().all(|s| s.genre == "news"));
    assert_eq!(news.sentences[0].id, "GUM_news/0");
}

#[test]
fn ontonotes() {
    let Some(folder) = find("ontonotes_delex") else { return };
    assert_eq!(read_folder(&folder), (24, 137_812, 2_605_364));
}

#[test]
fn penn_fixtures_of_other_readers() {
    let Some(file) = find("../fixtures/allennlp_constituency/example_ptb.trees") else { return };
    let corpus = read_whole(&file);
    assert_eq!(corpus.sentences.len(), 2);
    let lengths = corpus.sentences.iter().map(|s| s.tree.leaves().len());
    assert_eq!(lengths.collect::<Vec<_>>(), [38, 17]);
    let expected = "(S (NP DT) (VP MD (VP VB (NP PRP) (NP DT NN (S (VP TO (VP (VP VB (NP DT NN)) \
                    CC (VP (ADVP RB) VB (NP DT VBG NN)))))))) .)";
    assert_eq!(shape(&corpus.sentences[1].tree), expected);
}

#[test]
fn conll_fixtures_of_other_readers() {
    let Some(folder) = find("../fixtures/allennlp_srl/conll_2012") else { return };
    let expected = "(S CC (NP DT NN) (VP VBZ (ADVP RB) (PP IN (NP PRP)) , (SBAR IN (S (NP PRP) \
                    (VP VBZ (PP IN (NP DT NNS)))))) .)";
    for (file, lengths) in [
        ("subdomain/example.gold_conll", [11, 13, 5, 15].as_slice()),
        ("subdomain2/example.gold_conll", &[15]),
    ] {
        let Corpus { sentences, .. } = read_whole(&folder.join(file));
        let found: Vec<_> = sentences.iter().map(|s| s.tree.leaves().len()).collect();
        assert_eq!(found, lengths);
        let last = &sentences[lengths.len() - 1];
        assert_eq!(last.id, "test/test/04/test_004/0/0");
        assert_eq!(shape(&last.tree), expected);
    }
}

/// A tree without its words.
fn shape(tree: &Tree) -> String {
    match tree {
        Tree::Leaf { tag, .. } => tag.clone(),
        Tree::Node { label, children } => {
            format!("({label} {})", children.iter().map(shape).collect::<Vec<_>>().join(" "))
        }
    }
}

/// Every tree in a folder round-trips through commands that satisfy the constraint.
fn check_corpus(name: &str) {
    let Some(folder) = find(name) else { return };
    let files: BTreeSet<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    let corpora: Vec<_> = files.iter().map(|file| read(file).unwrap()).collect();
    let trees = || corpora.iter().flat_map(|corpus| &corpus.sentences).map(|s| &s.tree);
    let commands = Commands::of_trees(trees());
    let constraint = ShiftReduce::new(&commands);
    for tree in trees() {
        let (leaves, y) = (tree.leaves(), commands.encode(tree).unwrap());
        let tokens = vec![0 as Symbol; leaves.len()];
        assert!(constraint.check(tokens.as_slice(), &y).is_satisfied(), "{tree}");
        assert_eq!(commands.decode(&y, &leaves).as_ref(), Ok(tree));
    }
    assert!(trees().next().is_some());
}

#[test]
fn english_web_treebank_trees_round_trip() {
    check_corpus("ewt");
}

#[test]
fn masc_trees_round_trip() {
    check_corpus("masc");
}

#[test]
fn gum_trees_round_trip() {
    check_corpus("gum");
}

#[test]
fn ontonotes_trees_round_trip() {
    check_corpus("ontonotes_delex");
}
