//! Reads lines of bracketed trees as evalb does: words verbatim, zero or more trees per line.

use cajole_files::column;

use crate::Tree;
use crate::limits::MOST_DEPTH;

/// Why a line is not a sequence of trees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// A word or label outside brackets.
    #[error("column {column}: {text:?} is outside brackets")]
    Outside {
        /// The column in characters, from 1.
        column: usize,
        /// The text found there.
        text: String,
    },
    /// A bracket with more than a tag and a word, or mixing words and phrases.
    #[error("column {column}: {text:?} is one element too many in its bracket")]
    TooMany {
        /// The column in characters, from 1.
        column: usize,
        /// The text found there.
        text: String,
    },
    /// An unmatched closing bracket.
    #[error("column {column}: a closing bracket too many")]
    Closed {
        /// The column in characters, from 1.
        column: usize,
    },
    /// Unclosed brackets at the end of the line.
    #[error("{open} brackets are not closed")]
    Open {
        /// How many.
        open: usize,
    },
    /// A tree deeper than [`MOST_DEPTH`].
    #[error("column {column}: more than {MOST_DEPTH} brackets are open")]
    Deep {
        /// The column in characters, from 1.
        column: usize,
    },
}

/// The trees of a line; none if it is blank.
///
/// A label is what follows a bracket at once. `(NP)` has no words and is dropped, but `(NP )` is an
/// empty word with the tag `NP`, and `( a)` a word without a tag.
///
/// # Errors
/// If brackets do not match, or contain anything but a tag with its word or phrases.
pub fn read_line(line: &str) -> Result<Vec<Tree>, Malformed> {
    let mut trees = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    for (at, text) in pieces(line) {
        let column = || column(line, at);
        let too_many = || Malformed::TooMany { column: column(), text: text.to_owned() };
        match text {
            "(" => {
                if open.last().is_some_and(|parent| parent.word.is_some()) {
                    return Err(too_many());
                }
                if open.len() == MOST_DEPTH {
                    return Err(Malformed::Deep { column: column() });
                }
                if let Some(parent) = open.last_mut() {
                    // A bracket with children can no longer get a label.
                    parent.label.get_or_insert("");
                    parent.is_phrase = true;
                }
                open.push(Open::default());
            }
            ")" => {
                let done = open.pop().ok_or_else(|| Malformed::Closed { column: column() })?;
                let place = open.last_mut().map_or(&mut trees, |parent| &mut parent.children);
                place.extend(done.into_tree(ends_in_blank(&line[..at])));
            }
            _ => match open.last_mut() {
                None => {
                    return Err(Malformed::Outside { column: column(), text: text.to_owned() });
                }
                Some(parent) if parent.label.is_none() => {
                    let is_word = ends_in_blank(&line[..at]) && closes(&line[at + text.len()..]);
                    (parent.label, parent.word) =
                        if is_word { (Some(""), Some(text)) } else { (Some(text), None) };
                }
                Some(parent) if parent.word.is_none() && !parent.is_phrase => {
                    parent.word = Some(text);
                }
                Some(_) => return Err(too_many()),
            },
        }
    }
    match open.len() {
        0 => Ok(trees),
        open => Err(Malformed::Open { open }),
    }
}

/// A bracket that is still open.
#[derive(Default)]
struct Open<'a> {
    label: Option<&'a str>,
    word: Option<&'a str>,
    /// Whether brackets opened in it.
    is_phrase: bool,
    children: Vec<Tree>,
}

impl Open<'_> {
    /// `has_blank`: whether a blank precedes the closing bracket.
    fn into_tree(self, has_blank: bool) -> Option<Tree> {
        let label = self.label.unwrap_or_default().to_owned();
        match self.word {
            Some(word) => Some(Tree::Leaf { tag: label, word: word.to_owned() }),
            None if !self.is_phrase && has_blank => {
                Some(Tree::Leaf { tag: label, word: String::new() })
            }
            None if self.children.is_empty() => None,
            None => Some(Tree::Node { label, children: self.children }),
        }
    }
}

/// What C calls a space: ASCII blanks, and the vertical tab.
fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

fn ends_in_blank(text: &str) -> bool {
    text.ends_with(is_blank)
}

fn closes(text: &str) -> bool {
    text.trim_start_matches(is_blank).starts_with(')')
}

/// Brackets and the text between them, each with its offset. Only ASCII blanks separate: others,
/// such as the ideographic space, are part of words.
fn pieces(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_end = |c: char| is_blank(c) || c == '(' || c == ')';
    let mut at = 0;
    std::iter::from_fn(move || {
        at += line[at..].find(|c: char| !is_blank(c))?;
        let rest = &line[at..];
        // A piece that starts with a delimiter is a bracket, one byte long.
        let length = rest.find(is_end).map_or(rest.len(), |length| length.max(1));
        let start = at;
        at += length;
        Some((start, &rest[..length]))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn trees_are_read() {
        for (line, want) in [
            (
                "(S (NP (DT the)\t(NN dog) ) (VP(VBZ barks)))\r",
                "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
            ),
            ("( (S (X -LRB-)))", "( (S (X -LRB-)))"),
            ("(S (NP) () (NP (A a)) (NP (X) ) )", "(S (NP (A a)))"),
            ("(S (X ) ( ) (A\t))", "(S (X ) ( ) (A ))"),
            ("(S ( a) ( b ) ( NP (A c)))", "(S ( a) ( b) (NP (A c)))"),
            ("(A\u{b}b)", "(A b)"),
            ("(P this) (Q is)", "(P this) (Q is)"),
            ("(X a\u{3000}b)", "(X a\u{3000}b)"),
            (" \t", ""),
        ] {
            let trees = read_line(line).unwrap();
            let text: Vec<String> = trees.iter().map(Tree::to_string).collect();
            assert_eq!(text.join(" "), want);
        }
    }

    #[test]
    fn malformed_lines_are_reported() {
        let deep = "(X ".repeat(MOST_DEPTH + 1);
        for (line, want) in [
            ("é (S", "column 1: \"é\" is outside brackets"),
            ("(É a b)", "column 6: \"b\" is one element too many in its bracket"),
            ("(NP the (NN dog))", "column 9: \"(\" is one element too many in its bracket"),
            ("(NP (DT the) dog)", "column 14: \"dog\" is one element too many in its bracket"),
            ("((DT the) dog)", "column 11: \"dog\" is one element too many in its bracket"),
            ("(DT the))", "column 9: a closing bracket too many"),
            ("(S (NP (DT the)", "2 brackets are not closed"),
            (&deep, "column 3001: more than 1000 brackets are open"),
        ] {
            assert_eq!(read_line(line).unwrap_err().to_string(), want);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(line in "([()]|[()] ?|[a-cé=-]| |\u{3000}|\\PC){0,60}") {
            if let Ok(trees) = read_line(&line) {
                let text: Vec<String> = trees.iter().map(Tree::to_string).collect();
                prop_assert_eq!(read_line(&text.join(" ")), Ok(trees));
            }
        }
    }
}
