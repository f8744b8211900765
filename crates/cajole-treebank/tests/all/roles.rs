//! Tests with third-party role files, if available: what other programs printed for them, and whole
//! corpora.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use cajole_treebank::roles::conll2012::Document;
use cajole_treebank::roles::eval::{Evaluation, Score};
use cajole_treebank::roles::{Proposition, Reading, Sentence, bio, conll2012, nodes, props, read};
use flate2::read::GzDecoder;
use serde_json::Value;

use cajole_testing::outside::find;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn scores_match_srl_eval_on_a_thousand_propositions() {
    let Some(folder) = find("../fixtures/srl_eval_oracle") else { return };
    let (gold, test) = (folder.join("gold.props"), folder.join("test.props"));
    let ours = Evaluation::of_files(&gold, &test).unwrap();
    assert_eq!(ours.to_string(), text(&folder.join("srl-eval.out")));
    assert_eq!(ours.mismatches, []);

    let lines = |name: &str| text(&folder.join(name)).lines().map(str::to_owned).collect();
    let (gold, test): (Vec<String>, Vec<String>) = (lines("gold_bio.txt"), lines("test_bio.txt"));
    let arguments = |line: &str| {
        let tags: Vec<_> = line.split(' ').skip(1).map(str::to_owned).collect();
        bio::arguments(&tags).unwrap()
    };
    let scores = gold.iter().zip(&test).map(|(g, t)| Score::of(&arguments(g), &arguments(t)));
    assert_eq!(scores.sum::<Score>(), ours.score);
}

#[test]
fn props_agree_with_their_tags() {
    let Some(folder) = find("../fixtures/srl_eval_oracle") else { return };
    for side in ["gold", "test"] {
        let rows = text(&folder.join(format!("{side}.props")));
        let read: Vec<_> = props::sentences(&rows).map(|found| found.unwrap().item).collect();
        assert_eq!(read.len(), 400);
        let written: String = read.iter().map(|props| props.text().unwrap() + "\n").collect();
        assert_eq!(written, rows);
        let propositions = read.iter().flat_map(|props| &props.propositions);
        let line = |p: &Proposition| format!("{} {}\n", p.predicate, p.tags.join(" "));
        let tags: String = propositions.map(line).collect();
        assert_eq!(tags, text(&folder.join(format!("{side}_bio.txt"))));
    }
}

#[test]
fn fixtures_of_other_readers_round_trip() {
    let Some(folder) = find("../fixtures/allennlp_srl/conll_2012") else { return };
    for name in ["subdomain/example.gold_conll", "subdomain2/example.gold_conll"] {
        let rows = text(&folder.join(name));
        let (document, errors) = Document::read(&rows);
        assert_eq!(errors, []);
        assert_eq!(document.to_string(), rows, "{name}");
        for table in document.tables() {
            let sentence = table.sentence().unwrap();
            let again = conll2012::Table::new(&sentence, &table.rows[0].document, "0").unwrap();
            assert_eq!(again.sentence().unwrap(), sentence);
        }
    }
}

/// The expected values were read off the file by hand.
#[test]
fn fixtures_of_other_readers_are_understood() {
    let Some(file) = find("../fixtures/allennlp_srl/conll_2012/subdomain/example.gold_conll")
    else {
        return;
    };
    let corpus = read(&file).unwrap();
    assert!(corpus.problems.is_empty());
    let [first, second, third, _] = corpus.sentences.as_slice() else {
        panic!("four sentences, not {}", corpus.sentences.len());
    };
    let show = |p: &Proposition| format!("{} {} {}", p.predicate, p.roleset, p.tags.join(" "));
    assert_eq!(first.tokens[..3], ["Mali", "government", "officials"]);
    assert_eq!(
        first.propositions.iter().map(show).collect::<Vec<_>>(),
        [
            "3 say.01 B-ARG0 I-ARG0 I-ARG0 B-V B-ARG1 I-ARG1 I-ARG1 I-ARG1 I-ARG1 I-ARG1 O",
            "8 be.01 O O O O B-ARG1 I-ARG1 I-ARG1 I-ARG1 B-V B-ARG2 O",
        ]
    );
    assert_eq!(
        second.propositions.iter().map(show).collect::<Vec<_>>(),
        [
            "2 rest.01 B-ARG0 I-ARG0 B-V B-ARG1 I-ARG1 B-ARGM-TMP I-ARGM-TMP B-ARGM-TMP \
             I-ARGM-TMP I-ARGM-TMP I-ARGM-TMP I-ARGM-TMP O",
            "11 hearing.01 O O O O O O O O O O O B-V O",
        ]
    );
    assert_eq!((third.propositions.len(), third.genre.as_str()), (0, "test"));
    assert_eq!(third.tree.as_ref().unwrap().leaves().len(), 5);
}

/// Writes a whole corpus as columns and reads it back. Rolesets are not compared: columns hold only
/// their number, and some are not named after the lemma (`look`, `look_forward.03`).
#[test]
fn the_english_web_treebank_fits_columns() {
    let Some(file) = find("ewt/ewt.dev.jsonl.gz") else { return };
    let sentences = read(&file).unwrap().sentences;
    let bare = |sentence: &Sentence| -> Vec<_> {
        let of = |p: &Proposition| Proposition { roleset: String::new(), ..p.clone() };
        sentence.propositions.iter().map(of).collect()
    };
    let rows = |s: &Sentence| conll2012::Table::new(s, "ewt/dev", "0").unwrap().to_string() + "\n";
    let text: String = sentences.iter().map(rows).collect();
    let read: Vec<_> = conll2012::sentences(&text).map(|found| found.unwrap().item).collect();
    let props = |s: &Sentence| props::Props { words: s.tokens.len(), propositions: bare(s) };
    let text: String = sentences.iter().map(|s| props(s).text().unwrap() + "\n").collect();
    let read_props: Vec<_> = props::sentences(&text).map(|found| found.unwrap().item).collect();
    assert_eq!((read.len(), read_props.len()), (sentences.len(), sentences.len()));
    for ((sentence, read), read_props) in sentences.iter().zip(&read).zip(read_props) {
        assert_eq!((&read.tokens, &read.pos), (&sentence.tokens, &sentence.pos));
        assert_eq!(read.tree, sentence.tree);
        assert_eq!(bare(read), bare(sentence));
        assert_eq!(read_props, props(sentence));
    }
}

/// The counts of a file.
#[derive(Default)]
struct Counts {
    sentences: usize,
    tokens: usize,
    predicates: usize,
    verbal: usize,
}

/// Reads a file that must have no problems. Whether arguments are constituents must agree with the
/// file: `cons` for all nodes, `cons_phr` for phrases.
fn check_file(path: &Path) -> Counts {
    let corpus = read(path).unwrap();
    assert!(corpus.problems.is_empty(), "{}", corpus.problems[0]);
    let mut lines = String::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut lines).unwrap();
    assert_eq!(lines.lines().count(), corpus.sentences.len());
    let mut counts = Counts::default();
    for (sentence, line) in corpus.sentences.iter().zip(lines.lines()) {
        let said: Value = serde_json::from_str(line).unwrap();
        assert_eq!(said["id"], sentence.id);
        assert_eq!(said["srl"].as_array().unwrap().len(), sentence.propositions.len());
        for (i, proposition) in sentence.propositions.iter().enumerate() {
            for (reading, flag) in [(Reading::All, "cons"), (Reading::Phrasal, "cons_phr")] {
                let ours = all_are_nodes(sentence, proposition, reading);
                assert_eq!(said["srl"][i][flag], ours, "{} {proposition:?}", sentence.id);
            }
            counts.verbal += usize::from(sentence.is_verbal(proposition));
        }
        counts.sentences += 1;
        counts.tokens += sentence.tokens.len();
        counts.predicates += sentence.propositions.len();
    }
    counts
}

fn all_are_nodes(sentence: &Sentence, proposition: &Proposition, reading: Reading) -> bool {
    let nodes = nodes(sentence.tree.as_ref().unwrap(), reading);
    let arguments = proposition.arguments().unwrap();
    let mut arguments = arguments.iter().filter(|argument| !argument.is_predicate());
    arguments.all(|argument| nodes.binary_search(&(argument.at.start, argument.at.end)).is_ok())
}

/// The counts of each file by name.
fn check_folder(path: &Path) -> BTreeMap<String, Counts> {
    let files = fs::read_dir(path).unwrap().map(|file| file.unwrap());
    let counts =
        |file: fs::DirEntry| (file.file_name().into_string().unwrap(), check_file(&file.path()));
    files.map(counts).collect()
}

/// The total of sentences, tokens and predicates.
fn total(files: &BTreeMap<String, Counts>) -> (usize, usize, usize) {
    let sum = |count: fn(&Counts) -> usize| files.values().map(count).sum();
    (sum(|c| c.sentences), sum(|c| c.tokens), sum(|c| c.predicates))
}

#[test]
fn english_web_treebank() {
    let Some(folder) = find("ewt") else { return };
    let splits = check_folder(&folder);
    let predicates = |name: &str| (splits[name].predicates, splits[name].verbal);
    assert_eq!(predicates("ewt.train.jsonl.gz"), (40_427, 31_134));
    assert_eq!(predicates("ewt.dev.jsonl.gz"), (4_961, 3_797));
    assert_eq!(predicates("ewt.test.jsonl.gz"), (4_792, 3_649));
    assert_eq!(total(&splits), (16_544, 254_034, 50_180));
}

#[test]
fn masc() {
    let Some(folder) = find("masc") else { return };
    assert_eq!(total(&check_folder(&folder)), (5_945, 98_216, 14_178));
}

#[test]
fn ontonotes() {
    let Some(folder) = find("ontonotes_delex") else { return };
    let files = check_folder(&folder);
    assert_eq!(files["nw-wsj.train.jsonl.gz"].predicates, 106_352);
    assert_eq!(total(&files), (137_812, 2_605_364, 390_266));
}
