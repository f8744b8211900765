//! A tree annotated with the grammar symbols of its phrases.

use std::ops::Range;

use crate::Tree;
use crate::generated::Origin;

/// A phrase or a word of a sentence.
#[derive(Debug)]
pub(super) struct Phrase<'t> {
    /// The grammar symbol of a phrase, such as `PP.tool`; the POS tag of a word.
    pub symbol: &'t str,
    /// The words it covers.
    pub span: Range<usize>,
    /// Its children; none for a word.
    pub parts: Vec<Phrase<'t>>,
    /// The first word, and the words that are direct children.
    words: Vec<&'t str>,
    /// The class and base form of a word from the lexicon.
    pub lexeme: Option<(&'t str, &'t str)>,
}

impl<'t> Phrase<'t> {
    /// Joins a tree with the origins of its phrases and words, given in preorder.
    ///
    /// # Panics
    /// If there are fewer origins than phrases and words.
    pub(super) fn new(tree: &'t Tree, origins: &'t [Origin<'_>]) -> Self {
        Self::join(tree, &mut origins.iter(), 0)
    }

    fn join(
        tree: &'t Tree,
        origins: &mut impl Iterator<Item = &'t Origin<'t>>,
        start: usize,
    ) -> Self {
        let origin = origins.next().expect("every phrase and word has an origin");
        match tree {
            Tree::Leaf { tag, word } => {
                let lexeme = match origin {
                    Origin::Word { class, lemma } => Some((*class, lemma.as_str())),
                    Origin::Phrase(_) | Origin::Spelled => None,
                };
                let (span, words) = (start..start + 1, vec![word.as_str()]);
                Phrase { symbol: tag, span, parts: Vec::new(), words, lexeme }
            }
            Tree::Node { label, children } => {
                let mut end = start;
                let mut parts = Vec::new();
                for child in children {
                    let part = Self::join(child, origins, end);
                    end = part.span.end;
                    parts.push(part);
                }
                let own = parts.iter().enumerate().filter(|(i, p)| *i == 0 || p.is_word());
                let words = own.filter_map(|(_, part)| part.words.first().copied()).collect();
                let symbol =
                    if let Origin::Phrase(symbol) = origin { symbol } else { label.as_str() };
                Phrase { symbol, span: start..end, parts, words, lexeme: None }
            }
        }
    }

    /// The label of a phrase, or the POS tag of a word.
    pub(super) fn label(&self) -> &'t str {
        self.symbol.split('.').next().unwrap_or(self.symbol)
    }

    /// Whether it is a word.
    pub(super) fn is_word(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether it is a verb other than a modal.
    pub(super) fn is_verb(&self) -> bool {
        self.is_word() && self.symbol.starts_with('V')
    }

    /// Whether it begins with a word or has it as a direct child, ignoring case.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own.eq_ignore_ascii_case(word))
    }

    /// Its first child with this label.
    pub(super) fn part(&self, label: &str) -> Option<&Phrase<'t>> {
        self.parts.iter().find(|part| part.label() == label)
    }

    /// Whether its symbol begins with these dot-separated components.
    pub(super) fn is(&self, symbol: &str) -> bool {
        self.symbol.strip_prefix(symbol).is_some_and(|r| r.is_empty() || r.starts_with('.'))
    }
}
