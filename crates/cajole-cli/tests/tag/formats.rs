//! The printed output, as the readers of each format understand it.

use cajole_treebank::roles::{Proposition, conll2012, props};

use super::*;

/// Every format says what JSON says, as the readers of these formats understand it.
#[test]
fn formats_say_the_same() {
    let file = corpus("formats.jsonl");
    let answers = tagged_as_json(&[&file]);
    let expected: Vec<String> = answers
        .iter()
        .map(|answer| format!("{} {}", answer["predicate"], answer["output"].as_str().unwrap()))
        .collect();
    let shown = |p: &Proposition| format!("{} {}", p.predicate, p.tags.join(" "));

    let text = tagged(&[&file, "--format=conll"]);
    let read: Vec<_> = conll2012::sentences(&text).map(|found| found.unwrap().item).collect();
    assert_eq!(read.iter().flat_map(|s| &s.propositions).map(shown).collect::<Vec<_>>(), expected);
    for (read, given) in read.iter().zip(sentences()) {
        assert_eq!((&read.tokens, &read.pos, &read.tree), (&given.tokens, &given.pos, &given.tree));
    }

    let text = tagged(&[&file, "--format=props"]);
    let found: Vec<_> = props::sentences(&text).map(|found| found.unwrap().item).collect();
    assert_eq!(found.iter().flat_map(|s| &s.propositions).map(shown).collect::<Vec<_>>(), expected);
    write("found.props", &text);
    let gold: String = sentences()
        .into_iter()
        .map(|s| props::Props { words: s.tokens.len(), propositions: s.propositions })
        .map(|props| props.text().unwrap() + "\n")
        .collect();
    write("gold.props", &gold);
    let scored = command(folder(), &["srl-eval", "gold.props", "found.props"]).output().unwrap();
    assert!(scored.status.success() && scored.stderr.is_empty(), "{}", said(&scored));

    let text = tagged(&[&file, "--format=bio"]);
    let mut columns = Vec::new();
    for (block, sentence) in text.split_terminator("\n\n").zip(sentences()) {
        let rows: Vec<Vec<&str>> = block.lines().map(|row| row.split('\t').collect()).collect();
        assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), sentence.tokens);
        for (i, p) in (1..).zip(&sentence.propositions) {
            let tags: Vec<&str> = rows.iter().map(|row| row[i]).collect();
            columns.push(format!("{} {}", p.predicate, tags.join(" ")));
        }
    }
    assert_eq!(columns, expected);

    let text = tagged(&[&file, "--format=text"]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), answers.len());
    for (line, answer) in lines.iter().zip(&answers) {
        for argument in answer["arguments"].as_array().unwrap() {
            let (role, text) = (argument["role"].as_str(), argument["text"].as_str());
            let bracket = format!("[{} {}]", role.unwrap(), text.unwrap());
            assert!(line.contains(&bracket), "{bracket} in {line}");
        }
    }
    assert!(!text.contains('\x1b'), "no colours but on a terminal");

    // Columns that were written can be tagged again.
    write("again.gold_conll", &tagged(&[&file, "--format=conll"]));
    assert_eq!(tagged(&["again.gold_conll"]), text);
    write("twice", r#"{"tokens": ["Owners", "left"], "predicates": [1, 1]}"#);
    let twice = ["tag", "--model=words", "twice"];
    check_error(&twice, &["twice:1", "predicate 1, counted from 0", "more than once"]);
}
