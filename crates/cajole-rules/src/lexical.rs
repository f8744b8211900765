//! Phrases that an output must contain, and phrases that it must not.
//!
//! ```text
//! g = how many of the required phrases are missing + how often forbidden ones occur
//! ```
//!
//! An occurrence of a forbidden phrase is blamed on its span. A missing phrase could be anywhere,
//! so it is blamed on all positions.
//!
//! A state of the automaton is the set of required phrases found so far and the
//! [matcher](Matcher)'s node.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use cajole_core::constraints::Automaton;
use cajole_core::{Constraint, Fault, Part, Symbol, Violation};

use crate::classes::Classes;
use crate::matcher::Matcher;
use crate::{Subject, UnknownSymbol, Vocabulary};

/// The set of found phrases alone has 2ⁿ values.
const MAX_STATES: usize = 1 << 14;
/// The maximum of states times the symbols that occur in phrases.
const MAX_ARCS: usize = 1 << 20;

/// The output must contain each of some phrases, and none of others.
#[derive(Clone, Debug)]
pub struct Lexical {
    vocabulary: Arc<Vocabulary>,
    must: Vec<Phrase>,
    must_not: Vec<Phrase>,
    /// The feasible set, if it is small enough.
    automaton: Option<Classes>,
}

/// Why a phrase cannot be required or forbidden.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LexicalError {
    /// It contains a symbol that the network does not have.
    #[error("in the phrase {phrase:?}: {source}")]
    Unknown {
        /// The phrase.
        phrase: String,
        /// The unknown symbol.
        source: UnknownSymbol,
    },
    /// It is empty, and so would occur everywhere.
    #[error("the phrase {phrase:?} has no symbols")]
    Empty {
        /// The phrase.
        phrase: String,
    },
}

impl Lexical {
    /// The output must contain all phrases of `must` and none of `must_not`.
    ///
    /// # Errors
    /// If a phrase is empty, or has a symbol that is not in the vocabulary.
    pub fn new<S: AsRef<str>>(
        must: &[S],
        must_not: &[S],
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<Lexical, LexicalError> {
        let read = |phrases: &[S]| -> Result<Vec<Phrase>, LexicalError> {
            phrases.iter().map(|text| Phrase::read(text.as_ref(), vocabulary)).collect()
        };
        let (must, must_not) = (read(must)?, read(must_not)?);
        let automaton = automaton(&must, &must_not, vocabulary.len());
        Ok(Lexical { vocabulary: Arc::clone(vocabulary), must, must_not, automaton })
    }

    /// The memory that its automaton takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.automaton.as_ref().map_or(0, Classes::bytes)
    }

    fn faults(&self, y: &[Symbol]) -> Vec<Fault> {
        let missing = self.must.iter().filter(|phrase| !phrase.is_in(y)).map(|phrase| Fault {
            at: 0..y.len() + 1,
            cost: 1.0,
            message: format!("{:?} is missing", phrase.text),
        });
        let forbidden = self.must_not.iter().flat_map(|phrase| {
            phrase.occurrences(y).map(|at| {
                let place = self.vocabulary.place(y, &at);
                let message = format!("{:?} at {place} is forbidden", phrase.text);
                Fault { at, cost: 1.0, message }
            })
        });
        missing.chain(forbidden).collect()
    }
}

impl Constraint<Subject> for Lexical {
    fn check(&self, _: &Subject, y: &[Symbol]) -> Violation {
        let part = |fault: Fault| Part { at: fault.at, cost: fault.cost };
        Violation::Parts(self.faults(y).into_iter().map(part).collect())
    }

    fn explain(&self, _: &Subject, y: &[Symbol]) -> Vec<Fault> {
        self.faults(y)
    }

    fn automaton(&self, _: &Subject) -> Option<Box<dyn Automaton + '_>> {
        self.automaton.as_ref().map(|automaton| Box::new(automaton) as Box<_>)
    }
}

/// A sequence of one or more symbols.
#[derive(Clone, Debug)]
struct Phrase {
    text: String,
    symbols: Vec<Symbol>,
}

impl Phrase {
    fn read(text: &str, vocabulary: &Vocabulary) -> Result<Phrase, LexicalError> {
        let phrase = || text.to_owned();
        let symbols = vocabulary.read(text);
        let symbols =
            symbols.map_err(|source| LexicalError::Unknown { phrase: phrase(), source })?;
        if symbols.is_empty() {
            return Err(LexicalError::Empty { phrase: phrase() });
        }
        Ok(Phrase { text: phrase(), symbols })
    }

    fn is_in(&self, y: &[Symbol]) -> bool {
        self.occurrences(y).next().is_some()
    }

    /// Its occurrences in `y`, which may overlap.
    fn occurrences(&self, y: &[Symbol]) -> impl Iterator<Item = Range<usize>> {
        let len = self.symbols.len();
        let starts = y.windows(len).enumerate().filter(|(_, window)| *window == self.symbols);
        starts.map(move |(start, _)| start..start + len)
    }
}

/// The feasible set, if it is small enough.
fn automaton(must: &[Phrase], must_not: &[Phrase], n_symbols: usize) -> Option<Classes> {
    if u64::BITS < must.len() as u32 {
        return None;
    }
    let all = if must.is_empty() { 0 } else { u64::MAX >> (u64::BITS - must.len() as u32) };
    // Symbols that occur in no phrase are one kind: they all reset the match.
    const OTHER: usize = 0;
    let phrases = || must.iter().chain(must_not).map(|phrase| &phrase.symbols);
    let mut numbers = HashMap::new();
    for &symbol in phrases().flatten() {
        let number = numbers.len() + 1;
        numbers.entry(symbol).or_insert(number);
    }
    let max_states = MAX_STATES.min(MAX_ARCS / (numbers.len() + 1));
    let phrases: Vec<Vec<usize>> =
        phrases().map(|symbols| symbols.iter().map(|symbol| numbers[symbol]).collect()).collect();
    let matcher = Matcher::new(numbers.len() + 1, &phrases, max_states)?;
    let next = |&(found, node): &(u64, usize), &kind: &usize| {
        let node = matcher.next(node, kind);
        let found = matcher.ends(node).iter().try_fold(found, |found, &phrase| {
            (phrase < must.len()).then(|| found | 1 << phrase) // the others are forbidden
        })?;
        Some((found, node))
    };
    let kinds = (0..n_symbols as Symbol).map(|s| numbers.get(&s).copied().unwrap_or(OTHER));
    let start = (0, Matcher::START);
    Classes::explore(max_states, kinds, start, next, |(found, _)| *found == all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{check_automaton, check_cost, letters, strings};

    /// Counts `phrase` in `text` by trying every position.
    fn count(text: &str, phrase: &str) -> usize {
        (0..text.len()).filter(|&at| text[at..].starts_with(phrase)).count()
    }

    fn check(must: &[&str], must_not: &[&str]) {
        let vocabulary = Arc::new(Vocabulary::new(["a", "b", "c"], ""));
        let lexical = Lexical::new(must, must_not, &vocabulary).expect("all are letters");
        let g = |y: &[Symbol]| {
            let text = vocabulary.text(y);
            let missing = must.iter().filter(|phrase| !text.contains(**phrase)).count();
            missing + must_not.iter().map(|phrase| count(&text, phrase)).sum::<usize>()
        };
        for y in strings(3, 7) {
            check_cost(&lexical, &letters(""), &y, g(&y) as f32);
        }
        let x = letters("");
        let automaton = lexical.automaton(&x).expect("few phrases");
        check_automaton(&*automaton, 7, |y| g(y) == 0);
    }

    #[test]
    fn counts_and_automata_agree_with_brute_force() {
        check(&[], &[]);
        check(&["a"], &[]);
        check(&[], &["aa"]);
        check(&["ab", "ba"], &["bb"]);
        check(&["abab"], &["bb", "aa"]);
        check(&["aab", "ab"], &["bab"]);
        check(&["aa", "aaa"], &["aba", "ba"]);
        check(&["b"], &["ab", "b"]);
    }

    #[test]
    fn word_phrases_are_parsed_and_reported() {
        let vocabulary = Arc::new(Vocabulary::new(["the", "cat", "sat"], " "));
        let lexical = Lexical::new(&["sat"], &["the cat", "cat"], &vocabulary).unwrap();
        let faults = lexical.explain(&letters(""), &[0, 1, 0, 1]);
        let told: Vec<_> = faults.iter().map(|f| (f.at.clone(), f.message.as_str())).collect();
        let expected = [
            (0..5, r#""sat" is missing"#),
            (0..2, r#""the cat" at positions 0..2 is forbidden"#),
            (2..4, r#""the cat" at positions 2..4 is forbidden"#),
            (1..2, r#""cat" at position 1 is forbidden"#),
            (3..4, r#""cat" at position 3 is forbidden"#),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn invalid_phrases_are_rejected() {
        let vocabulary = Arc::new(Vocabulary::new(["the", "cat"], " "));
        let error = |must: &[&str]| Lexical::new(must, &[], &vocabulary).unwrap_err().to_string();
        assert_eq!(error(&["cat", " "]), r#"the phrase " " has no symbols"#);
        let unknown = r#"in the phrase "the dog": the network has no output symbol "dog""#;
        assert_eq!(error(&["the dog"]), unknown);
        assert!(Lexical::new(&[], &["cat the dog"], &vocabulary).is_err());
    }

    #[test]
    fn too_many_phrases_have_no_automaton() {
        let names: Vec<String> = (0..65).map(|k| format!("w{k}")).collect();
        let vocabulary = Arc::new(Vocabulary::new(names.iter().cloned(), " "));
        let has_automaton = |n: usize| {
            let lexical = Lexical::new(&names[..n], &[], &vocabulary).unwrap();
            lexical.automaton(&letters("")).is_some()
        };
        assert_eq!([10, 20, 64, 65].map(has_automaton), [true, false, false, false]);
        let none = Lexical::new(&[], &names, &vocabulary).unwrap();
        check_automaton(&*none.automaton(&letters("")).unwrap(), 2, <[Symbol]>::is_empty);
    }

    #[test]
    fn long_phrases_compile_quickly() {
        let vocabulary = Arc::new(Vocabulary::new(["a", "b", "c"], ""));
        let long = "a".repeat(8000) + "b";
        let begin = std::time::Instant::now();
        let lexical = Lexical::new(&[], &[&long, &"ab".repeat(4000)], &vocabulary).unwrap();
        // Searching for the longest suffix at every state, or for ever longer symbols in the
        // phrase's text, would take a minute.
        assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
        let x = letters("");
        let automaton = lexical.automaton(&x).unwrap();
        let y = vocabulary.read(&long).unwrap();
        assert!(automaton.contains(&y[1..]) && !automaton.contains(&y));
    }
}
