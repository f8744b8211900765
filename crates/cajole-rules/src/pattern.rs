//! Regular expressions over the text of outputs.
//!
//! Users write patterns over characters, but networks emit symbols, which may be words. The pattern
//! becomes an automaton over bytes, and then one over symbols: each symbol is the path of its
//! name's bytes, with the separator before all but the first. From there on it is a language like
//! any other, with an edit distance in symbols.

use std::error::Error;
use std::sync::Arc;

use cajole_core::Symbol;
use cajole_core::constraints::{Dfa, Regular};
use regex::{Regex, RegexBuilder};
use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};

use crate::limits::MOST_SEARCH_BYTES;
use crate::named::{Named, NamedRegular};
use crate::vocabulary::Vocabulary;

/// Size limit of the byte automaton: enough for thousands of states, and reached within a fraction
/// of a second.
const MAX_BYTES: usize = 2 << 20;
/// Size limit of the symbol automaton: bounds the search for the fewest edits.
const MAX_STATES: usize = 1 << 12;
const MAX_ARCS: usize = 1 << 22;

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It is not a regular expression, or uses features that no automaton supports.
    #[error("pattern {pattern:?}: {reason}")]
    Invalid {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Its automaton would be too large.
    #[error("pattern {pattern:?} needs more than {max_states} states over {n_symbols} symbols")]
    TooLarge {
        /// The pattern.
        pattern: String,
        /// The maximum number of states.
        max_states: usize,
        /// The number of output symbols.
        n_symbols: usize,
    },
}

impl NamedRegular {
    /// The rule that the output's whole text matches a regular expression.
    ///
    /// The syntax is that of the `regex` crate. `g` is the edit distance, in symbols, to the
    /// nearest matching output.
    ///
    /// # Errors
    /// If it is not a regular expression, or is too large. Word boundaries must be ASCII:
    /// `(?-u:\b)`.
    pub fn matching(text: &str, vocabulary: &Arc<Vocabulary>) -> Result<Self, PatternError> {
        let dfa = over_symbols(text, Text::Unicode, vocabulary)?;
        Ok(Named::new(Regular::new(&dfa), vocabulary))
    }
}

/// The units of a pattern.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Text {
    /// Characters: what is not UTF-8 does not match.
    Unicode,
    /// Any bytes.
    Bytes,
}

/// The outputs whose text matches.
pub(crate) fn over_symbols(
    pattern: &str,
    text: Text,
    vocabulary: &Vocabulary,
) -> Result<Dfa, PatternError> {
    let invalid = |reason: String| PatternError::Invalid { pattern: pattern.to_owned(), reason };
    let utf8 = text == Text::Unicode;
    let bytes = dense::Builder::new()
        .configure(
            dense::Config::new()
                // Every match counts, not only the one a search would prefer.
                .match_kind(MatchKind::All)
                .start_kind(StartKind::Anchored)
                .accelerate(false)
                .dfa_size_limit(Some(MAX_BYTES))
                .determinize_size_limit(Some(MAX_BYTES)),
        )
        .syntax(syntax::Config::new().utf8(utf8))
        .thompson(thompson::Config::new().utf8(utf8).nfa_size_limit(Some(MAX_BYTES)))
        .build(pattern)
        .map_err(|error| invalid(root_cause(&error)))?;
    let begin = bytes.start_state(&start::Config::new().anchored(Anchored::Yes));
    let begin = begin.map_err(|error| invalid(error.to_string()))?;
    let n_symbols = vocabulary.len();
    let max_states = MAX_STATES.min(MAX_ARCS / n_symbols.max(1));
    let too_large =
        || PatternError::TooLarge { pattern: pattern.to_owned(), max_states, n_symbols };
    Ok(explore(&bytes, begin, vocabulary, max_states).ok_or_else(too_large)?.trim())
}

/// The outputs whose text leads from `begin` to a match.
///
/// A state is the byte automaton's state, or `None` before the first symbol, which has no separator
/// before it. Without a separator, the two are the same.
fn explore(
    bytes: &dense::DFA<Vec<u32>>,
    begin: StateID,
    vocabulary: &Vocabulary,
    max_states: usize,
) -> Option<Dfa> {
    let walk = |from: StateID, text: &[u8]| {
        let to = text.iter().fold(from, |state, &byte| bytes.next_state(state, byte));
        (!bytes.is_dead_state(to) && !bytes.is_quit_state(to)).then_some(to)
    };
    let separator = vocabulary.separator().as_bytes();
    let next = |state: &Option<StateID>, symbol: Symbol| {
        let from = state.map_or(Some(begin), |state| walk(state, separator))?;
        Some(Some(walk(from, vocabulary.spelled(symbol))?))
    };
    let accepts = |state: &Option<StateID>| {
        bytes.is_match_state(bytes.next_eoi_state(state.unwrap_or(begin)))
    };
    let start = if separator.is_empty() { Some(begin) } else { None };
    Dfa::explore_within(max_states, vocabulary.len(), start, next, accepts)
}

/// A regular expression that is searched for.
///
/// # Errors
/// If it is not one, or is too large.
pub(crate) fn searching(pattern: &str) -> Result<Regex, String> {
    let builder = |size| RegexBuilder::new(pattern).size_limit(size).dfa_size_limit(size).build();
    builder(MOST_SEARCH_BYTES).map_err(|error| error.to_string())
}

/// The memory that such a pattern may take: itself, and what it remembers while it searches.
pub(crate) const SEARCH_BYTES: usize = 2 * MOST_SEARCH_BYTES;

/// The innermost error, which says what is wrong in the pattern and where.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use cajole_core::Constraint;

    use super::*;
    use crate::oracle::{check_automaton, check_cost, letters, strings};

    /// Checks membership against the `regex` crate, and edit distances against all members.
    fn check(pattern: &str, names: &[&str], separator: &str) {
        let vocabulary = Arc::new(Vocabulary::new(names.iter().copied(), separator));
        let ours = NamedRegular::matching(pattern, &vocabulary).unwrap();
        let regex = Regex::new(&format!(r"\A(?:{pattern})\z")).unwrap();
        let matches = |y: &[Symbol]| regex.is_match(&vocabulary.text(y));
        let x = letters("");
        let members: Vec<_> = strings(names.len(), 7).filter(|y| matches(y)).collect();
        for y in strings(names.len(), 4) {
            // Members that are too long to list are at least 4 edits away.
            let g = members.iter().map(|w| levenshtein(&y, w)).min().unwrap_or(y.len() + 1);
            assert!(g <= 4 || members.is_empty(), "{pattern}: {y:?} needs longer members");
            check_cost(&ours, &x, &y, g as f32);
        }
        check_automaton(&*ours.automaton(&x).unwrap(), 6, matches);
    }

    fn levenshtein(a: &[Symbol], b: &[Symbol]) -> usize {
        let first: Vec<usize> = (0..=b.len()).collect();
        let last = a.iter().fold(first, |above, s| {
            let mut row = vec![above[0] + 1];
            for (j, t) in b.iter().enumerate() {
                let substituted = above[j] + usize::from(s != t);
                row.push(substituted.min(above[j + 1] + 1).min(row[j] + 1));
            }
            row
        });
        last[b.len()]
    }

    #[test]
    fn patterns_over_letters() {
        for pattern in
            ["", "a*", "(aaa|cb)*", "a|ab", "[^b]+", "(?i)A.?B", "a{2,3}?c*", "^a$|^$", "a.*b"]
        {
            check(pattern, &["a", "b", "c"], "");
        }
    }

    #[test]
    fn patterns_over_words() {
        let names = ["the", "cat", "at"];
        for pattern in
            ["the cat( at the cat)?", r"(\w+ ?)*at", "(the )*cat", ".*t t.*", "[a-z ]{3,7}"]
        {
            check(pattern, &names, " ");
        }
        check("the, cat|at", &names, ", ");
        check("(the)?c?at", &names, "");
        check(r"(?-u:\b)at(?-u:\b).*", &names, " ");
    }

    #[test]
    fn patterns_over_bytes_of_characters() {
        let names = ["ä", "ß", "日本"];
        for pattern in ["ä+ß?", r"\p{Greek}*|\w\w", ".日.", "[ß-ü]*", "[^ä]"] {
            check(pattern, &names, "");
            check(pattern, &names, "→");
        }
    }

    #[test]
    fn a_pattern_may_match_nothing() {
        check("[a&&b]", &["a", "b"], "");
        check("x", &["a", "b"], " ");
        let vocabulary = Arc::new(Vocabulary::new(["a"], ""));
        let nothing = NamedRegular::matching("x", &vocabulary).unwrap();
        let [fault] = &nothing.explain(&letters(""), &[0])[..] else { panic!("one reason") };
        assert_eq!((fault.cost, fault.message.as_str()), (2.0, "no output satisfies this rule"));
    }

    #[test]
    fn faults_name_symbols_and_positions() {
        let vocabulary = Arc::new(Vocabulary::new(["the", "cat", "sat"], " "));
        let pattern = NamedRegular::matching("the cat sat", &vocabulary).unwrap();
        let told = |y: &[Symbol]| -> Vec<String> {
            pattern.explain(&letters(""), y).into_iter().map(|fault| fault.message).collect()
        };
        assert_eq!(told(&[0, 1, 2]), [""; 0]);
        assert_eq!(told(&[0, 0, 2]), [r#"position 1: "the" does not fit here"#]);
        assert_eq!(told(&[0, 2]), ["something is missing before position 1"]);
        assert_eq!(told(&[0, 1]), ["something is missing at the end"]);
        assert_eq!(told(&[0, 1, 9]), [r#"position 2: "?" does not fit here"#]);
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        let vocabulary = Arc::new(Vocabulary::new(["a", "b"], ""));
        let error = |pattern: &str| NamedRegular::matching(pattern, &vocabulary).unwrap_err();
        for pattern in ["(", "a{2", "[b", r"\p{Klingon}", r"(?-u:\xff)", r"\bé"] {
            let error = error(pattern);
            let PatternError::Invalid { pattern: named, reason } = &error else {
                panic!("{error}")
            };
            assert!(named == pattern && !reason.is_empty(), "{error}");
        }
        assert!(error("(").to_string().contains("unclosed group"));
        assert!(matches!(error("[ab]{1000}{1000}"), PatternError::Invalid { .. }));
        assert!(matches!(error("(a|b)*a(a|b){13}"), PatternError::TooLarge { n_symbols: 2, .. }));
    }
}
