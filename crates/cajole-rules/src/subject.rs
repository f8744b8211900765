//! What rules see of an input.
//!
//! Each network has inputs of its own kind: symbols, tokens with word vectors, sentences with a
//! predicate. A rule that names symbols, or a program that judges, wants the input as it was
//! written. So rules are constraints on a [`Subject`], and [`Bound`] puts a subject in the place of
//! whatever the network reads.

use std::sync::OnceLock;

use cajole_core::constraints::{Automaton, Brackets};
use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_tasks::parsing::Tokens;
use cajole_tasks::srl::{Reading, nodes};
use cajole_tasks::treebank::Tree;
use serde_json::Value;

/// An input as rules see it.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Its symbols, by name: letters, words, whatever the network reads one by one.
    pub symbols: Vec<String>,
    /// The input as it stood in the line, for programs that judge.
    pub value: Value,
    /// Its parse tree, if it came with one.
    tree: Option<Tree>,
    /// The spans of the tree's nodes, by reading, once they have been asked for.
    nodes: [OnceLock<Brackets>; 2],
}

impl Subject {
    /// An input of these symbols, which read `value` where they stood.
    pub fn new(symbols: Vec<String>, value: Value) -> Self {
        Subject { symbols, value, ..Subject::default() }
    }

    /// The same with its parse tree.
    #[must_use]
    pub fn with_tree(self, tree: Option<Tree>) -> Self {
        Subject { tree, nodes: Default::default(), ..self }
    }

    /// The spans of the nodes of its tree, if it has one.
    pub fn nodes(&self, reading: Reading) -> Option<&Brackets> {
        let tree = self.tree.as_ref()?;
        let place = &self.nodes[reading as usize];
        Some(place.get_or_init(|| nodes(tree, reading).into_iter().collect()))
    }
}

impl Tokens for Subject {
    fn n_tokens(&self) -> usize {
        self.symbols.len()
    }
}

/// A rule about one input, as a constraint on whatever a network reads in its place.
#[derive(Clone, Copy)]
pub struct Bound<'a> {
    /// The rule.
    pub rule: &'a dyn Constraint<Subject>,
    /// The input.
    pub subject: &'a Subject,
}

impl<X: ?Sized> Constraint<X> for Bound<'_> {
    fn check(&self, _: &X, y: &[Symbol]) -> Violation {
        self.rule.check(self.subject, y)
    }

    fn explain(&self, _: &X, y: &[Symbol]) -> Vec<Fault> {
        self.rule.explain(self.subject, y)
    }

    fn automaton(&self, _: &X) -> Option<Box<dyn Automaton + '_>> {
        self.rule.automaton(self.subject)
    }
}
