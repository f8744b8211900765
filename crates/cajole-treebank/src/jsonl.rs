//! JSON lines: one sentence per line, an object with `id`, `genre` and `tree`.
//!
//! `tokens` and `pos` are optional and must agree with the leaves of the tree. Other fields, such
//! as roles, are ignored.

use std::borrow::Cow;

use cajole_files::{Located, without_place};
use serde::Deserialize;

use super::clean::TRACE;
use super::corpus::Sentence;
use super::error::{Fault, TreeError};
use super::penn::parse_tree;
use super::tree::Tree;

/// Iterates over the sentences of a file, skipping blank lines. A malformed line yields an error
/// and does not end the iteration.
///
/// ```
/// use cajole_treebank::jsonl;
///
/// let line = r#"{"id": "a/0", "genre": "email", "tokens": ["Hi"], "tree": "(INTJ (UH Hi))"}"#;
/// let sentence = jsonl::sentences(line).next().unwrap().unwrap().item;
/// assert_eq!(sentence.genre, "email");
/// assert_eq!(sentence.tree.leaves(), [("UH", "Hi")]);
/// ```
pub fn sentences(text: &str) -> impl Iterator<Item = Result<Located<Sentence>, TreeError>> {
    rows(text).map(|Located { line, item }| match sentence(item) {
        Ok(item) => Ok(Located { line, item }),
        Err(fault) => Err(fault.on(line)),
    })
}

/// The non-blank lines of a file.
pub fn rows(text: &str) -> impl Iterator<Item = Located<&str>> {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    let rows = (1..).zip(lines).filter(|(_, row)| !row.trim_ascii().is_empty());
    rows.map(|(line, item)| Located { line, item })
}

#[derive(Deserialize)]
struct Row<'r> {
    #[serde(borrow)]
    id: Cow<'r, str>,
    #[serde(borrow)]
    genre: Cow<'r, str>,
    #[serde(borrow)]
    tree: Cow<'r, str>,
    tokens: Option<Vec<String>>,
    pos: Option<Vec<String>>,
}

fn sentence(row: &str) -> Result<Sentence, Fault> {
    let Row { id, genre, tree, tokens, pos } = serde_json::from_str(row).map_err(json_fault)?;
    let tree = tree_over(&tree, &id, tokens.as_deref(), pos.as_deref())?;
    Ok(Sentence { id: id.into_owned(), genre: genre.into_owned(), tree })
}

/// Parses the tree of a sentence and checks its leaves against the given words and tags.
pub(crate) fn tree_over(
    tree: &str,
    id: &str,
    tokens: Option<&[String]>,
    pos: Option<&[String]>,
) -> Result<Tree, Fault> {
    let tree = parse_tree(tree).map_err(|error| error.fault)?;
    // Word lists omit traces.
    let leaves = tree.leaves().into_iter().filter(|&(tag, _)| tag != TRACE);
    let (tags, words): (Vec<_>, Vec<_>) = leaves.unzip();
    agree(id, "tokens", tokens, &words)?;
    agree(id, "pos", pos, &tags)?;
    Ok(tree)
}

/// Checks an optional list against the leaves.
fn agree(
    id: &str,
    list: &'static str,
    given: Option<&[String]>,
    leaves: &[&str],
) -> Result<(), Fault> {
    let Some(given) = given else { return Ok(()) };
    if given.len() != leaves.len() {
        let (found, leaves) = (given.len(), leaves.len());
        return Err(Fault::Lengths { id: id.to_owned(), list, found, leaves });
    }
    match given.iter().zip(leaves).position(|(given, leaf)| given != leaf) {
        None => Ok(()),
        Some(at) => Err(Fault::Disagreement {
            id: id.to_owned(),
            list,
            found: given[at].clone(),
            leaf: leaves[at].to_owned(),
            at,
        }),
    }
}

/// Drops the line that `serde_json` reports: it is relative to the row, not the file.
pub(crate) fn json_fault(error: serde_json::Error) -> Fault {
    Fault::Json { message: without_place(&error), column: error.column() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = r#"{"id":"a/0","genre":"x","tree":"(UH Hi)","srl":[{"p":0}],"c12":1}"#;

    #[test]
    fn tokens_are_raw_and_leaves_escaped() {
        let row = r#"{"id":"a\"/1","genre":"x","split":"dev","tokens":["(","Hi",":)"],
            "pos":["-LRB-","UH","NFP"],"tree":"(X (-LRB- -LRB-) (-NONE- *) (UH Hi) (NFP :-RRB-))"}"#
            .replace('\n', "");
        let found = sentences(&row).next().unwrap().unwrap().item;
        assert_eq!(found.id, "a\"/1");
        assert_eq!(found.tree.leaves().last(), Some(&("NFP", ":)")));
    }

    /// Puts a malformed line between two good ones, which must survive.
    #[track_caller]
    fn check(malformed: &str, expected: &str) {
        let text = format!("{GOOD}\n\n{malformed}\r\n{GOOD}");
        let found: Vec<_> = sentences(&text).collect();
        assert_eq!(found.len(), 3);
        let [before, after] = [0, 2].map(|i| found[i].as_ref().unwrap());
        assert_eq!((before.line, after.line), (1, 4));
        assert_eq!(before.item, after.item);
        assert_eq!(found[1].as_ref().unwrap_err().to_string(), format!("line 3: {expected}"));
    }

    /// A row with a tree and one more field.
    fn row(tree: &str, field: &str) -> String {
        format!(r#"{{"id":"a/1","genre":"x","tree":"{tree}"{field}}}"#)
    }

    #[test]
    fn faults_report_their_line() {
        check("{", "not a sentence in JSON: EOF while parsing an object, at column 1");
        check(r#"{"id":"a"}"#, "not a sentence in JSON: missing field `genre`, at column 10");
        check(&row("(NP", ""), {
            "the tree that begins here is never closed: 1 of its brackets are still open"
        });
        check(&row("", ""), "no tree, only blanks");
        check(&row("(A b) (C d)", ""), "one tree was expected, but \"(C d)\" follows it");
        check(&row("(A b)", r#","tokens":["b","c"]"#), "\"a/1\" has 2 tokens, but a tree over 1");
        check(
            &row("(X (A b) (C d))", r#","tokens":["b","c"]"#),
            "\"a/1\" has \"c\" among its tokens where its tree has \"d\" (word 1)",
        );
        check(
            &row("(A b)", r#","pos":["B"]"#),
            "\"a/1\" has \"B\" among its pos where its tree has \"A\" (word 0)",
        );
    }

    #[test]
    fn deep_trees_do_not_overflow_the_stack() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        let ignored = row("(A b)", &format!(r#","srl":{}"#, deep(100_000)));
        assert!(sentences(&ignored).next().unwrap().is_ok());
        let nested = row("(A b)", &format!(r#","tokens":{}"#, deep(100_000)));
        assert!(sentences(&nested).next().unwrap().is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_rejected_without_panic(tree in "[()a ]{0,20}", any in ".{0,60}") {
            prop_assert_eq!(sentences(&row(&tree, "")).count(), 1);
            prop_assert!(sentences(&any).count() <= 60);
        }
    }
}
