//! Whole treebanks, where they are at hand: every tree reads, and reads again as written.

mod corpora;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cajole_tasks::treebank::{Corpus, Tree, clean, penn, read};

use corpora::find;

/// Reads a file in which nothing may be wrong.
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
fn trees_of_other_readers_tests() {
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
fn rows_of_other_readers_tests() {
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
