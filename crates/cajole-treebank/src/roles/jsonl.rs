//! JSON lines with roles: one sentence per line, as in [`treebank::jsonl`](crate::jsonl), plus
//! `srl`, a list with one object per predicate: its word index `p`, from 0; its `lemma` and
//! `roleset`; and `bio`, one tag per word.
//!
//! `tokens` and `pos` are optional if there is a `tree`, whose leaves they are; `tree` is optional
//! if both are given. `c12` is 1 in test documents of CoNLL-2012.

use std::borrow::Cow;

use cajole_files::Located;
use serde::Deserialize;

use super::error::{RoleError, RoleFault};
use super::sentence::{Proposition, Sentence};
use crate::clean::clean;
use crate::jsonl::{json_fault, rows, tree_over};
use crate::{Fault, Tree};

/// Iterates over the sentences of a file, skipping blank lines. A malformed line yields an error
/// and does not end the iteration.
///
/// ```
/// use cajole_treebank::roles::jsonl;
///
/// let line = r#"{"id": "a/0", "genre": "email", "tree": "(S (NP (PRP I)) (VP (VBP know)))",
///     "srl": [{"p": 1, "lemma": "know", "roleset": "know.01", "bio": "B-ARG0 B-V"}]}"#
///     .replace('\n', "");
/// let sentence = jsonl::sentences(&line).next().unwrap().unwrap().item;
/// assert_eq!(sentence.tokens, ["I", "know"]);
/// assert_eq!(sentence.propositions[0].tags, ["B-ARG0", "B-V"]);
/// ```
pub fn sentences(text: &str) -> impl Iterator<Item = Result<Located<Sentence>, RoleError>> {
    rows(text).map(|Located { line, item }| match sentence(item) {
        Ok(item) => Ok(Located { line, item }),
        Err(fault) => Err(fault.on(line)),
    })
}

#[derive(Deserialize)]
struct Row<'r> {
    id: String,
    genre: String,
    #[serde(borrow)]
    tree: Option<Cow<'r, str>>,
    tokens: Option<Vec<String>>,
    pos: Option<Vec<String>>,
    #[serde(borrow, default)]
    srl: Vec<Item<'r>>,
    #[serde(default)]
    c12: u8,
}

#[derive(Deserialize)]
struct Item<'r> {
    p: usize,
    lemma: String,
    #[serde(default)]
    roleset: String,
    #[serde(borrow)]
    bio: Cow<'r, str>,
}

fn sentence(row: &str) -> Result<Sentence, RoleFault> {
    let Row { id, genre, tree, tokens, pos, srl, c12 } =
        serde_json::from_str(row).map_err(json_fault)?;
    let tree = tree.map(|tree| tree_over(&tree, &id, tokens.as_deref(), pos.as_deref()));
    // A tree of nothing but traces is an error.
    let tree = tree.transpose()?.map(|tree| clean(tree).ok_or(Fault::OnlyTraces)).transpose()?;
    let leaves = tree.as_ref().map(Tree::leaves);
    let words = |list, given: Option<Vec<String>>, of: fn(&(&str, &str)) -> String| {
        given
            .or_else(|| leaves.as_ref().map(|leaves| leaves.iter().map(of).collect()))
            .ok_or_else(|| RoleFault::NoWords { id: id.clone(), list })
    };
    let tokens = words("tokens", tokens, |(_, word)| (*word).to_owned())?;
    let pos = words("pos", pos, |(tag, _)| (*tag).to_owned())?;
    if tokens.len() != pos.len() {
        return Err(RoleFault::PosCount { id, pos: pos.len(), tokens: tokens.len() });
    }
    let propositions = srl.into_iter().map(|item| proposition(item, tokens.len()));
    let propositions = propositions.collect::<Result<_, _>>()?;
    Ok(Sentence { id, genre, tokens, pos, tree, propositions, is_conll2012: c12 != 0 })
}

fn proposition(item: Item<'_>, words: usize) -> Result<Proposition, RoleFault> {
    let Item { p: predicate, lemma, roleset, bio } = item;
    let tags = bio.split_ascii_whitespace().map(str::to_owned).collect();
    let proposition = Proposition { predicate, lemma, roleset, tags };
    proposition.arguments_over(words)?;
    Ok(proposition)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"id":"a/0","genre":"x","tree":"(S (-NONE- *) (UH Hi))","srl":[]}"#;

    #[test]
    fn words_come_from_the_tree_or_the_lists() {
        let found = sentences(GOOD).next().unwrap().unwrap().item;
        assert_eq!((found.tokens, found.pos), (vec!["Hi".to_owned()], vec!["UH".to_owned()]));
        assert_eq!(found.tree.unwrap().to_string(), "(S (UH Hi))");
        let row = r#"{"id":"a/0","genre":"x","tokens":["("],"pos":["-LRB-"]}"#;
        let found = sentences(row).next().unwrap().unwrap().item;
        assert_eq!((found.tokens[0].as_str(), found.tree), ("(", None));
        assert!(!found.is_conll2012);
        let marked = GOOD.replace("\"srl\"", "\"c12\":1,\"srl\"");
        assert!(sentences(&marked).next().unwrap().unwrap().item.is_conll2012);
    }

    /// Puts a malformed line between two good ones, which must survive.
    #[track_caller]
    fn check(fields: &str, expected: &str) {
        let malformed = format!(r#"{{"id":"a/1","genre":"x",{fields}}}"#);
        let text = format!("{GOOD}\n\n{malformed}\r\n{GOOD}");
        let found: Vec<_> = sentences(&text).collect();
        assert_eq!(found.len(), 3);
        let [before, after] = [0, 2].map(|i| found[i].as_ref().unwrap());
        assert_eq!((before.line, after.line), (1, 4));
        assert_eq!(found[1].as_ref().unwrap_err().to_string(), format!("line 3: {expected}"));
    }

    #[test]
    fn faults_report_their_line() {
        let srl = |p: &str, bio: &str| {
            format!(r#""tree":"(S (A b) (C d))","srl":[{{"p":{p},"lemma":"be","bio":"{bio}"}}]"#)
        };
        check(&srl("2", "O O"), "the predicate \"be\" is word 2, counted from 0, of only 2");
        check(&srl("0", "B-V"), "the predicate \"be\" has 1 tags for 2 words");
        check(&srl("0", "B-V O O"), "the predicate \"be\" has 3 tags for 2 words");
        check(
            &srl("0", "B-V I-ARG1"),
            "the predicate \"be\": word 1 has the tag \"I-ARG1\" after \"B-V\"",
        );
        check(
            &srl("-1", "O O"),
            "not a sentence in JSON: invalid value: integer `-1`, expected usize, at column 63",
        );
        check(
            r#""tree":"(S (A b))","tokens":["c"]"#,
            "\"a/1\" has \"c\" among its tokens where its tree has \"b\" (word 0)",
        );
        check(r#""tree":"(-NONE- *)""#, "nothing is left of the tree without its traces");
        check(r#""tokens":["c"]"#, "\"a/1\" has neither a tree nor pos");
        check(r#""tokens":["c"],"pos":[]"#, "\"a/1\" has 0 pos for 1 tokens");
    }
}
