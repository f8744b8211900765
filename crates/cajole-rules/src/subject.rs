//! What rules can see of an input.
//!
//! Each network has its own kind of input: symbols, tokens with word vectors, sentences with a
//! predicate. A rule that names symbols, or a checker program, needs the input as it was written.
//! So rules are constraints on a [`Subject`].

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use cajole_core::constraints::Brackets;
use cajole_treebank::Tree;
use cajole_treebank::roles::{Reading, nodes};
use cajole_treebank::shift_reduce::Tokens;
use serde_json::{Value, json};

/// An input as rules see it.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The names of its symbols: letters, words, or whatever the network reads one by one.
    pub symbols: Arc<[String]>,
    written: Written,
    /// Its parse tree, if given.
    tree: Option<Arc<Tree>>,
    /// The spans of the tree's nodes for each reading, computed on first use.
    nodes: [OnceLock<Brackets>; 2],
}

/// How checkers see an input.
#[derive(Clone, Debug)]
enum Written {
    /// As it appeared in the line.
    Value(Value),
    /// As its tokens and one of them, the predicate.
    Predicate(usize),
}

impl Default for Written {
    fn default() -> Self {
        Written::Value(Value::Null)
    }
}

impl Subject {
    /// An input with these symbols, which appeared as `value` in the line.
    pub fn new(symbols: impl Into<Arc<[String]>>, value: Value) -> Self {
        let symbols = symbols.into();
        Subject { symbols, written: Written::Value(value), ..Subject::default() }
    }

    /// A predicate of a sentence, which checkers see as `{"tokens": [...], "predicate": 1}`.
    pub fn of_predicate(tokens: impl Into<Arc<[String]>>, predicate: usize) -> Self {
        let written = Written::Predicate(predicate);
        Subject { symbols: tokens.into(), written, ..Subject::default() }
    }

    /// The input as checkers see it.
    pub fn value(&self) -> Cow<'_, Value> {
        match &self.written {
            Written::Value(value) => Cow::Borrowed(value),
            Written::Predicate(predicate) => {
                Cow::Owned(json!({"tokens": *self.symbols, "predicate": predicate}))
            }
        }
    }

    /// The input as text: as it was written, if that is text; else its symbols, joined by blanks.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.written {
            Written::Value(Value::String(text)) => Cow::Borrowed(text),
            _ => Cow::Owned(self.symbols.join(" ")),
        }
    }

    /// Adds a parse tree.
    #[must_use]
    pub fn with_tree(self, tree: Option<impl Into<Arc<Tree>>>) -> Self {
        let tree = tree.map(Into::into);
        Subject { tree, nodes: Default::default(), ..self }
    }

    /// Sets the spans that count as nodes, in place of those of a tree.
    #[must_use]
    pub fn with_nodes(mut self, reading: Reading, nodes: Brackets) -> Self {
        self.nodes[reading as usize] = OnceLock::from(nodes);
        self
    }

    /// The spans of its tree's nodes, if it has a tree.
    pub fn nodes(&self, reading: Reading) -> Option<&Brackets> {
        let place = &self.nodes[reading as usize];
        if let Some(known) = place.get() {
            return Some(known);
        }
        let tree = self.tree.as_ref()?;
        Some(place.get_or_init(|| nodes(tree, reading).into_iter().collect()))
    }
}

impl Tokens for Subject {
    fn n_tokens(&self) -> usize {
        self.symbols.len()
    }
}
