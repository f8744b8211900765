//! Penn bracketing: `( (S (NP (DT the) (NN ball)) (VP (VBZ is) (ADJP (JJ red)))))`.
//!
//! A tree may span lines, and a line may hold several trees. Between trees, lines that begin with
//! `#` are comments; inside a tree, `#` is an ordinary word. Only ASCII blanks separate words,
//! because web text has other blanks inside words.
//!
//! Real files are damaged. A malformed tree whose brackets balance is skipped as a whole. If they
//! do not balance, reading resumes at the next line that begins with a bracket, because treebanks
//! indent the continuation lines of a tree.

use cajole_files::{Located, excerpt};

use super::error::{Fault, TreeError};
use super::limits::MOST_DEPTH;
use super::scan::{Scan, Token};
use super::tree::{Tree, unescape};

/// An iterator over the trees of a file; see [`trees`].
#[derive(Clone, Debug)]
pub struct Trees<'t> {
    scan: Scan<'t>,
    /// Whether every line that begins with a bracket starts a new tree. Off until a tree turns out
    /// to swallow the rest of the file: scanning that far for every unclosed tree would be
    /// quadratic.
    lines_tell: bool,
}

/// Iterates over the trees of a file. A malformed tree yields an error and does not end the
/// iteration; to stop at the first one, collect into a `Result`.
///
/// ```
/// use cajole_treebank::{TreeError, penn};
///
/// let text = "( (S (NP (PRP I))\n  (VP (VBP am))))";
/// let trees: Result<Vec<_>, TreeError> = penn::trees(text).collect();
/// assert_eq!(trees.unwrap()[0].item.to_string(), "( (S (NP (PRP I)) (VP (VBP am))))");
///
/// let mut trees = penn::trees("(NP (DT the\n(NP (PRP I))");
/// let error = trees.next().unwrap().unwrap_err();
/// assert_eq!(error.line, 1);
/// assert!(trees.next().unwrap().is_ok());
/// ```
pub fn trees(text: &str) -> Trees<'_> {
    // Some editors write a byte order mark.
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    Trees { scan: Scan { rest, line: 1 }, lines_tell: false }
}

/// Parses a text that consists of one tree.
///
/// # Errors
/// If the tree is malformed, or the text contains anything else.
pub fn parse_tree(text: &str) -> Result<Tree, TreeError> {
    let mut trees = trees(text);
    let tree = trees.next().unwrap_or(Err(Fault::Blank.on(1)))?.item;
    let Scan { rest, line } = trees.scan.skip_blanks();
    if rest.is_empty() { Ok(tree) } else { Err(Fault::AfterTree { text: excerpt(rest) }.on(line)) }
}

impl Iterator for Trees<'_> {
    type Item = Result<Located<Tree>, TreeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.scan.skip_comments();
        let line = start.line;
        let first = start.rest.chars().next()?;
        if first != '(' {
            self.scan = start.skip_line();
            let text = excerpt(start.rest);
            let stray = first == ')';
            let fault = if stray { Fault::Unopened { text } } else { Fault::Outside { text } };
            return Some(Err(fault.on(line)));
        }
        let mut scan = if self.lines_tell { start.until_bracket_line() } else { start };
        let bound = scan.rest.len();
        let item = match tree(&mut scan) {
            Ok(item) => item,
            Err(error) => return Some(Err(self.resume(start, error))),
        };
        let read = bound - scan.rest.len();
        self.scan = Scan { rest: &start.rest[read..], line: scan.line };
        // An extra closing bracket on the same line: it could belong anywhere in the tree.
        let after = self.scan.skip_blanks();
        if after.line == self.scan.line && after.rest.starts_with(')') {
            self.scan = after.skip_line();
            return Some(Err(Fault::Unopened { text: excerpt(after.rest) }.on(after.line)));
        }
        Some(Ok(Located { line, item }))
    }
}

impl<'t> Trees<'t> {
    /// Skips past a malformed tree and returns its error.
    fn resume(&mut self, start: Scan<'t>, error: TreeError) -> TreeError {
        let (after, open) = start.skip_tree();
        self.scan = after;
        let more = 0 < open && after.rest.starts_with('(');
        // A fault on a later line that starts a tree comes from reading too far.
        if more && (after.line <= error.line || matches!(error.fault, Fault::Unfinished { .. })) {
            self.lines_tell = true;
            return Fault::Unfinished { open }.on(start.line);
        }
        error
    }
}

/// A bracket that is still open.
#[derive(Default)]
struct Open<'t> {
    label: Option<&'t str>,
    word: Option<&'t str>,
    children: Vec<Tree>,
}

/// Parses the tree that begins here. Open brackets are kept on the heap, so no file can overflow
/// the stack.
fn tree(scan: &mut Scan) -> Result<Tree, TreeError> {
    let start = *scan;
    let mut open: Vec<Open> = Vec::new();
    while let Some(token) = scan.token() {
        let closed = take(token, &mut open).map_err(|fault| fault.on(scan.line))?;
        match (closed, open.last_mut()) {
            (Some(tree), Some(parent)) => parent.children.push(tree),
            (Some(tree), None) => return Ok(tree),
            (None, _) => {}
        }
    }
    Err(Fault::Unfinished { open: open.len() }.on(start.line))
}

/// Applies a token to the open brackets; a closing one completes a tree.
fn take<'t>(token: Token<'t>, open: &mut Vec<Open<'t>>) -> Result<Option<Tree>, Fault> {
    let depth = open.len();
    match (token, open.last_mut()) {
        (Token::Open, Some(Open { word: Some(word), .. })) => {
            Err(Fault::NoTag { word: unescape(word) })
        }
        (Token::Open, _) if depth == MOST_DEPTH => Err(Fault::TooDeep),
        (Token::Open, _) => {
            open.push(Open::default());
            Ok(None)
        }
        (Token::Word(word), Some(bracket)) => bracket.take(word).map(|()| None),
        (Token::Word(word), None) => Err(Fault::Outside { text: word.to_owned() }),
        (Token::Close, _) => match open.pop() {
            Some(bracket) => bracket.close(open.is_empty()).map(Some),
            None => Err(Fault::Unopened { text: ")".to_owned() }),
        },
    }
}

impl<'t> Open<'t> {
    fn take(&mut self, word: &'t str) -> Result<(), Fault> {
        match (self.label, self.word) {
            _ if !self.children.is_empty() => Err(Fault::NoTag { word: unescape(word) }),
            (None, _) => {
                self.label = Some(word);
                Ok(())
            }
            (Some(_), None) => {
                self.word = Some(word);
                Ok(())
            }
            (Some(tag), Some(first)) => Err(Fault::SeveralWords {
                tag: tag.to_owned(),
                first: unescape(first),
                second: unescape(word),
            }),
        }
    }

    fn close(self, is_root: bool) -> Result<Tree, Fault> {
        match (self.label, self.word) {
            (None, _) if self.children.is_empty() => Err(Fault::EmptyBrackets),
            (None, _) if !is_root => Err(Fault::NoLabel),
            (Some(tag), Some(word)) => Ok(Tree::Leaf { tag: tag.to_owned(), word: unescape(word) }),
            (Some(label), None) if self.children.is_empty() => {
                Err(Fault::NoContent { label: label.to_owned() })
            }
            (label, _) => Ok(Tree::Node {
                label: label.unwrap_or_default().to_owned(),
                children: self.children,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::escape;

    /// What a text parses to: each tree or error, with its line.
    fn read(text: &str) -> Vec<String> {
        let show = |tree: Result<Located<Tree>, TreeError>| match tree {
            Ok(Located { line, item: tree }) => format!("{line} {tree}"),
            Err(error) => error.to_string(),
        };
        trees(text).map(show).collect()
    }

    #[test]
    fn trees_span_lines_and_share_them() {
        assert_eq!(
            read(
                "\u{feff}# newdoc\n( (S\r\n    (NP-SBJ (# #) (CD 5))\n#\n\n (VP(VBZ is))))\
                 (X (Y z)) (UH Yes)\n"
            ),
            // The lone # is read as a word without a tag, so this tree is malformed.
            ["line 4: the word \"#\" has no tag", "6 (X (Y z))", "6 (UH Yes)"]
        );
        assert_eq!(
            read("( (S\n    (NP-SBJ (# #) (CD 5))\n (VP(VBZ is))))\n  # b\n(NP=2 (-NONE- *T*-1))"),
            ["1 ( (S (NP-SBJ (# #) (CD 5)) (VP (VBZ is))))", "5 (NP=2 (-NONE- *T*-1))"]
        );
        assert_eq!(read("(S\n(NP (PRP I))\n(VP (VBP am)))"), ["1 (S (NP (PRP I)) (VP (VBP am)))"]);
        assert!(read("").is_empty());
        assert!(read("\n# only a comment").is_empty());
    }

    #[test]
    fn brackets_are_words_too() {
        let tree = parse_tree("(PRN (-LRB- -LRB-) (NFP :--RRB-) (NN a\u{a0}b))").unwrap();
        assert_eq!(tree.leaves(), [("-LRB-", "("), ("NFP", ":-)"), ("NN", "a\u{a0}b")]);
        assert_eq!(tree.to_string(), "(PRN (-LRB- -LRB-) (NFP :--RRB-) (NN a\u{a0}b))");
    }

    /// Puts a malformed text between good trees, which must survive.
    #[track_caller]
    fn check(malformed: &str, line: usize, expected: &str) {
        let text = format!("(A (B c))\n{malformed}\n(D (E f))\n(G h)\n");
        let found = read(&text);
        assert_eq!(found[0], "1 (A (B c))");
        assert_eq!(found[1], format!("line {line}: {expected}"));
        let after = 2 + malformed.lines().count();
        let survivors = [format!("{after} (D (E f))"), format!("{} (G h)", after + 1)];
        assert_eq!(found[2..], survivors, "after {malformed:?}");
    }

    #[test]
    fn a_malformed_tree_does_not_affect_its_neighbours() {
        check("()", 2, "empty brackets, \"()\"");
        check("(S\n ( ))", 3, "empty brackets, \"()\"");
        check("(S (NP) (VP (VB go)))", 2, "(NP) has neither a word nor children");
        check("(S (DT the) dog)", 2, "the word \"dog\" has no tag");
        check("(NP dog (DT the))", 2, "the word \"dog\" has no tag");
        check("(S ((DT the)))", 2, "a phrase within the tree has no label, only parts");
        check("(DT the dog)", 2, "several words under the tag \"DT\": \"the\" and \"dog\"");
        check("dog (DT the)", 2, "text outside brackets: \"dog (DT the)\"");
        check(") (X y)", 2, "unbalanced: a closing bracket has no opening one, at \") (X y)\"");
        check("(X y)) )", 2, "unbalanced: a closing bracket has no opening one, at \") )\"");
        let unfinished = "the tree that begins here is never closed: ";
        check("(S\n  (X y)", 2, &format!("{unfinished}1 of its brackets are still open"));
        check("(S (NP (DT the)", 2, &format!("{unfinished}2 of its brackets are still open"));
        check("(S (DT the", 2, &format!("{unfinished}2 of its brackets are still open"));
        let deep = "more than 1000 brackets within one another";
        check(&("(X ".repeat(100_000) + "y" + &")".repeat(100_000)), 2, deep);
        check(&"(".repeat(100_000), 2, deep);
    }

    #[test]
    fn unclosed_trees_take_linear_time() {
        // Quadratic time would take minutes.
        let text = "(S (A b)\n".repeat(50_000) + "(C d) (E f)\n  (G\n  h)\n";
        let found: Vec<_> = trees(&text).collect();
        for (line, found) in found[..50_000].iter().enumerate() {
            assert_eq!(found, &Err(Fault::Unfinished { open: 1 }.on(line + 1)));
        }
        assert_eq!(read(&text)[50_000..], ["50001 (C d)", "50001 (E f)", "50002 (G h)"]);
    }

    #[test]
    fn depth_is_bounded_exactly() {
        let deep = |n: usize| "(X ".repeat(n) + "y" + &")".repeat(n);
        assert_eq!(parse_tree(&deep(MOST_DEPTH)).unwrap().to_string(), deep(MOST_DEPTH));
        assert_eq!(parse_tree(&deep(MOST_DEPTH + 1)), Err(Fault::TooDeep.on(1)));
    }

    #[test]
    fn parse_tree_accepts_exactly_one_tree() {
        assert_eq!(parse_tree(" \n"), Err(Fault::Blank.on(1)));
        assert_eq!(
            parse_tree("(A b)\n (C d)").unwrap_err().to_string(),
            "line 2: one tree was expected, but \"(C d)\" follows it"
        );
    }

    /// A symbol as a treebank might contain it; with literal brackets if `raw`.
    fn symbol(raw: &'static str) -> impl Strategy<Value = String> {
        // A word that spells out an escape is indistinguishable from an escaped bracket.
        let ambiguous = |s: &String| unescape(&escape(s)) == *s;
        proptest::string::string_regex(&format!("[a-zA-Z0-9#*$=.,é\u{a0}'`{raw}-]{{1,5}}"))
            .expect("the pattern is one")
            .prop_filter("spells an escape out", ambiguous)
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let leaf = (symbol(""), symbol("()")).prop_map(|(tag, word)| Tree::Leaf { tag, word });
        let inner = leaf.prop_recursive(6, 40, 4, |child| {
            (symbol(""), prop::collection::vec(child, 1..4))
                .prop_map(|(label, children)| Tree::Node { label, children })
        });
        (inner, any::<bool>()).prop_map(|(tree, wrap)| match wrap {
            true => Tree::Node { label: String::new(), children: vec![tree] },
            false => tree,
        })
    }

    proptest! {
        #[test]
        fn written_trees_read_back(
            trees in prop::collection::vec(tree(), 0..4),
            gap in "[ \n\t]{0,2}",
        ) {
            let text: Vec<_> = trees.iter().map(Tree::to_string).collect();
            let read: Result<Vec<_>, _> = super::trees(&text.join(&gap)).collect();
            let read: Vec<_> = read.unwrap().into_iter().map(|found| found.item).collect();
            prop_assert_eq!(read, trees);
        }

        #[test]
        fn blanks_do_not_matter(tree in tree()) {
            let spread = tree.to_string().replace(' ', "\n  ").replace(')', " )");
            prop_assert_eq!(parse_tree(&spread).unwrap(), tree);
        }

        #[test]
        fn a_damaged_line_does_not_affect_the_others(
            trees in prop::collection::vec(tree(), 1..6),
            at in 0..6usize,
            damage in "[()a# ]{0,12}",
        ) {
            let mut lines: Vec<_> = trees.iter().map(Tree::to_string).collect();
            let at = at.min(lines.len());
            lines.insert(at, damage);
            let found = super::trees(&lines.join("\n")).filter_map(Result::ok).collect::<Vec<_>>();
            let others = found.into_iter().filter(|found| found.line != at + 1);
            prop_assert_eq!(others.map(|found| found.item).collect::<Vec<_>>(), trees);
        }

        #[test]
        fn garbage_is_rejected_without_panic(text in "[()a# \n\u{e9}]{0,40}", any in ".{0,40}") {
            for text in [text, any] {
                // Every step consumes input, so there are at most as many items as characters.
                prop_assert!(trees(&text).count() <= text.chars().count());
                let _ = parse_tree(&text);
            }
        }
    }
}
