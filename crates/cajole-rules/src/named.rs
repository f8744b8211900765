//! Languages as rules, with messages that name symbols.

use std::sync::Arc;

use cajole_core::constraints::{Automaton, ContextFree, Edit, EditDistance, Regular};
use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_files::Place;

use crate::ebnf::{self, EbnfError, Problem};
use crate::subject::Subject;
use crate::vocabulary::Vocabulary;

/// A language whose faults name symbols.
#[derive(Clone, Debug)]
pub struct Named<L> {
    language: L,
    vocabulary: Arc<Vocabulary>,
}

/// The output must belong to a context-free grammar.
pub type NamedGrammar = Named<ContextFree>;

/// The output must match a pattern as a whole.
pub type NamedRegular = Named<Regular>;

/// The most states of a pattern's automaton, and states times symbols.
const MAX_STATES: usize = 10_000;
const MAX_ARCS: usize = 1 << 22;

impl NamedGrammar {
    /// Parses a grammar; see [`ebnf::grammar`].
    ///
    /// # Errors
    /// If the text is not a valid grammar.
    pub fn read(
        text: &str,
        start: Option<&str>,
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<Self, EbnfError> {
        let grammar = ebnf::grammar(text, start, vocabulary)?;
        Ok(Named::new(ContextFree::new(grammar), vocabulary))
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.language.bytes()
    }
}

impl NamedRegular {
    /// Parses a pattern; see [`ebnf::language`].
    ///
    /// # Errors
    /// If the text is not a valid pattern, or its automaton is too large.
    pub fn read(text: &str, vocabulary: &Arc<Vocabulary>) -> Result<Self, EbnfError> {
        let language = ebnf::language(text, vocabulary)?;
        let max_states = MAX_STATES.min(MAX_ARCS / vocabulary.len().max(1));
        let dfa = language.automaton_within(vocabulary.len(), max_states);
        let too_large = || Problem::TooLarge(max_states, "states").at(Place::START);
        Ok(Named::new(Regular::new(&dfa.ok_or_else(too_large)?), vocabulary))
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.language.bytes()
    }
}

impl<L> Named<L> {
    /// The rule that outputs belong to `language`, over symbols with these names.
    pub fn new(language: L, vocabulary: &Arc<Vocabulary>) -> Self {
        Named { language, vocabulary: Arc::clone(vocabulary) }
    }

    fn message(&self, edit: Edit, y: &[Symbol]) -> String {
        let place = |at: usize| self.vocabulary.place(y, &(at..at + 1));
        match edit {
            Edit::Missing(at) if at == y.len() => "something is missing at the end".to_owned(),
            Edit::Missing(at) => format!("something is missing before {}", place(at)),
            Edit::Misfit(at) => {
                format!("{}: {:?} does not fit here", place(at), self.vocabulary.shown(y, at))
            }
        }
    }
}

impl<L: EditDistance + Constraint<Subject>> Constraint<Subject> for Named<L> {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        self.language.check(x, y)
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let Some(edits) = self.language.edits(y) else {
            let message = |_: &_| "no output satisfies this rule".to_owned();
            return self.check(x, y).into_faults(y.len() + 1, message);
        };
        let fault = |edit: Edit| {
            let at = edit.position();
            Fault { at: at..at + 1, cost: 1.0, message: self.message(edit, y) }
        };
        edits.into_iter().map(fault).collect()
    }

    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        self.language.automaton(x)
    }
}
