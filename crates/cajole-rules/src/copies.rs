//! What must be copied: numbers, names, placeholders and terms of the input appear in the output.
//!
//! ```text
//! g = how many of the input's items are missing in the output
//! ```
//!
//! An item must *stand alone*: `12` is not in `512`, `12.5` or `1,200`, and `Ann` is not in `Anna`.
//! Beside a digit at either end of an item, there may be no other digit, not even across a point or
//! comma. Beside an ASCII letter at either end, there may be no ASCII letter and no digit.
//!
//! The items of an input are known before anything is written, so the rule is an automaton: the
//! texts that have each of them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cajole_core::constraints::{Automaton, Dfa, Product};
use cajole_core::{Constraint, Fault, Symbol, Violation};
use regex::Regex;
use serde::Deserialize;

use crate::limits::MOST_ITEMS;
use crate::pattern::{SEARCH_BYTES, Text, over_symbols, searching};
use crate::subject::Subject;
use crate::vocabulary::Vocabulary;

/// What must be copied.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct CopiesConfig {
    /// Numbers: digits, with points or commas between them.
    pub numbers: bool,
    /// Words with a capital letter that do not begin a sentence.
    pub names: bool,
    /// Whatever matches a regular expression, such as placeholders.
    pub pattern: Option<String>,
    /// What the output must have for terms of the input.
    pub glossary: BTreeMap<String, String>,
    /// The same in a file: a line for each term, a tab, and what the output must have.
    pub glossary_file: Option<String>,
}

/// Limit on the states of an automaton that are listed.
const MAX_STATES: usize = 1 << 10;

/// Items of the input must appear in the output.
#[derive(Clone, Debug)]
pub struct Copies {
    vocabulary: Arc<Vocabulary>,
    patterns: Vec<Regex>,
    names: bool,
    glossary: Vec<(String, String)>,
}

impl Copies {
    /// What `config` says must be copied; `glossary` is the text of its file.
    ///
    /// # Errors
    /// If nothing has to be copied, the pattern is invalid, or a line of the glossary is.
    pub fn new(
        config: CopiesConfig,
        glossary: Option<&str>,
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<Self, String> {
        let mut patterns = Vec::new();
        let numbers = config.numbers.then_some(r"[0-9]+(?:[.,][0-9]+)*");
        for pattern in numbers.into_iter().chain(config.pattern.as_deref()) {
            patterns.push(searching(pattern)?);
        }
        let mut terms: Vec<(String, String)> = config.glossary.into_iter().collect();
        for (number, line) in (1..).zip(glossary.unwrap_or_default().lines()) {
            match line.split_once('\t') {
                Some((term, copy)) => terms.push((term.to_owned(), copy.to_owned())),
                None if line.trim().is_empty() => {}
                None => return Err(format!("line {number} of the glossary has no tab: {line:?}")),
            }
        }
        if let Some((term, _)) =
            terms.iter().find(|(term, copy)| term.is_empty() || copy.is_empty())
        {
            return Err(format!("the term {term:?} of the glossary, or what to write, is empty"));
        }
        if patterns.is_empty() && !config.names && terms.is_empty() {
            return Err(
                "nothing is to be copied; give numbers, names, a pattern or a glossary".into()
            );
        }
        Ok(Copies {
            vocabulary: Arc::clone(vocabulary),
            patterns,
            names: config.names,
            glossary: terms,
        })
    }

    /// The memory that its patterns may take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.patterns.len() * SEARCH_BYTES
    }

    /// What the output for `x` must have, without duplicates.
    pub fn required(&self, x: &Subject) -> Vec<String> {
        let text = x.text();
        let matched = self.patterns.iter().flat_map(|p| p.find_iter(&text)).map(|m| m.as_str());
        let named = self.names.then(|| names(&text)).into_iter().flatten();
        let in_text =
            |(term, _): &&(String, String)| stands_alone(text.as_bytes(), term.as_bytes());
        let terms = self.glossary.iter().filter(in_text).map(|(_, copy)| copy.as_str());
        let mut known = HashSet::new();
        let items = matched.chain(named).chain(terms);
        let new = items.filter(|item| !item.is_empty() && known.insert(*item));
        new.map(str::to_owned).collect()
    }

    fn missing(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let bytes = match self.vocabulary.is_text() {
            true => y.iter().map(|&byte| byte as u8).collect(),
            false => self.vocabulary.text(y).into_bytes(),
        };
        let is_missing = |item: &String| !stands_alone(&bytes, item.as_bytes());
        let fault = |item: String| Fault {
            at: 0..y.len() + 1,
            cost: 1.0,
            message: format!("{item:?} of the input is missing"),
        };
        self.required(x).into_iter().filter(is_missing).map(fault).collect()
    }
}

impl Constraint<Subject> for Copies {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        Violation::Whole(self.missing(x, y).len() as f32)
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        self.missing(x, y)
    }

    /// The texts that have each item, unless there are many.
    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        let required = self.required(x);
        if MOST_ITEMS < required.len() {
            return None;
        }
        let with =
            |item: &String| over_symbols(&containing(item), Text::Bytes, &self.vocabulary).ok();
        let with: Vec<Dfa> = required.iter().map(with).collect::<Option<_>>()?;
        let any = || over_symbols("(?s-u:.*)", Text::Bytes, &self.vocabulary).ok();
        let mut all: Box<dyn Automaton + '_> = Box::new(any()?);
        for next in with {
            let listed = all.is_finite().then(|| all.intersect_within(MAX_STATES, &next)).flatten();
            all = match listed {
                Some(both) => Box::new(both),
                None => Box::new(Product::new(all, Box::new(next))),
            };
        }
        Some(all)
    }
}

/// The words of a text that begin with a capital letter and do not begin a sentence.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut begins = true;
    text.split_whitespace().filter_map(move |word| {
        let begins_sentence = std::mem::replace(&mut begins, word.ends_with(['.', '!', '?', ':']));
        let name = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = name.chars().count() > 1 && name.starts_with(char::is_uppercase);
        (is_name && !begins_sentence).then_some(name)
    })
}

/// Whether `item` is in a text and stands alone there.
fn stands_alone(text: &[u8], item: &[u8]) -> bool {
    let (Some(&first), Some(&last)) = (item.first(), item.last()) else { return true };
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let point = |byte: Option<&u8>| matches!(byte, Some(b'.' | b','));
    let is_free = |edge: u8, beside: Option<&u8>, behind: Option<&u8>| match edge {
        b'0'..=b'9' => !(digit(beside) || point(beside) && digit(behind)),
        b'A'..=b'Z' | b'a'..=b'z' => !letter(beside),
        _ => true,
    };
    let places = text.windows(item.len()).enumerate().filter(|(_, window)| *window == item);
    places.into_iter().any(|(start, _)| {
        let end = start + item.len();
        let before = |n: usize| start.checked_sub(n).and_then(|at| text.get(at));
        is_free(first, before(1), before(2)) && is_free(last, text.get(end), text.get(end + 1))
    })
}

/// A regular expression for the texts in which `item` stands alone.
fn containing(item: &str) -> String {
    let before = match item.bytes().next() {
        Some(b'0'..=b'9') => "(?:(?:.*[^0-9])?[.,]|.*[^0-9.,])?",
        Some(b'A'..=b'Z' | b'a'..=b'z') => "(?:.*[^0-9A-Za-z])?",
        _ => ".*",
    };
    let after = match item.bytes().last() {
        Some(b'0'..=b'9') => "(?:[.,](?:[^0-9].*)?|[^0-9.,].*)?",
        Some(b'A'..=b'Z' | b'a'..=b'z') => "(?:[^0-9A-Za-z].*)?",
        _ => ".*",
    };
    format!("(?s-u:{before})(?:{})(?s-u:{after})", regex::escape(item))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn input(text: &str) -> Subject {
        Subject::new(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), text.into())
    }

    fn copies(config: &str) -> Copies {
        Copies::new(toml::from_str(config).unwrap(), None, Vocabulary::bytes()).unwrap()
    }

    #[test]
    fn items_are_found_in_the_input() {
        let numbers = copies("numbers = true");
        assert_eq!(numbers.required(&input("1,200 of 12 by 3.5%, 12.")), ["1,200", "12", "3.5"]);
        let names = copies("names = true");
        let text = "We met Ann Lee. She knew (Bob) and I did: No. 5 of Köln";
        assert_eq!(names.required(&input(text)), ["Ann", "Lee", "Bob", "Köln"]);
        let slots = copies(r"pattern = '\{\w+\}|%s'");
        assert_eq!(slots.required(&input("{user} has %s of {user}")), ["{user}", "%s"]);
        let terms = copies("glossary = { Haus = 'house', Auto = 'car' }");
        assert_eq!(terms.required(&input("das Haus, die Autobahn")), ["house"]);
    }

    #[test]
    fn items_must_stand_alone() {
        let check = |text: &str, item: &str, expected: bool| {
            assert_eq!(
                stands_alone(text.as_bytes(), item.as_bytes()),
                expected,
                "{item} in {text}"
            );
        };
        for text in ["12", "a12b", "12.", "x,12", "12, 5", "(12)", "512 12", "日12日"] {
            check(text, "12", true);
        }
        for text in ["", "512", "123", "12.5", "1,12", "12,5"] {
            check(text, "12", false);
        }
        check("Anna", "Ann", false);
        check("Ann's", "Ann", true);
        check("x{a}y", "{a}", true);
    }

    #[test]
    fn missing_items_are_named() {
        let numbers = copies("numbers = true");
        let y: Vec<Symbol> = "12 of 3".bytes().map(Symbol::from).collect();
        let faults = numbers.explain(&input("12 of 30"), &y);
        let [fault] = &faults[..] else { panic!("{faults:?}") };
        assert_eq!(
            (fault.at.clone(), fault.message.as_str()),
            (0..8, "\"30\" of the input is missing")
        );
    }

    #[test]
    fn invalid_settings_are_refused() {
        let refused = |config: &str, glossary: Option<&str>| {
            Copies::new(toml::from_str(config).unwrap(), glossary, Vocabulary::bytes()).unwrap_err()
        };
        assert!(refused("", None).contains("nothing is to be copied"));
        assert!(refused("pattern = '('", None).contains("unclosed group"));
        assert!(
            refused("", Some("a\tb\nc d")).contains("line 2 of the glossary has no tab: \"c d\"")
        );
        assert!(refused("", Some("a\t")).contains("empty"));
        assert!(toml::from_str::<CopiesConfig>("number = true").is_err());
    }

    proptest! {
        /// Compares with a regular expression with look-around for each item.
        #[test]
        fn nothing_is_missing_exactly_if_all_items_are_there(
            x in "[0-2 ,.aB]{0,8}", y in "[0-2 ,.aBé]{0,10}",
        ) {
            let rule = copies("numbers = true\npattern = '[aB]+'");
            let (subject, bytes) = (input(&x), y.bytes().map(Symbol::from).collect::<Vec<_>>());
            let has = |item: &String| {
                let is_number = item.starts_with(|c: char| c.is_ascii_digit());
                (0..=y.len()).filter(|&at| y.is_char_boundary(at)).any(|at| {
                    let (before, rest) = y.split_at(at);
                    let Some(after) = rest.strip_prefix(item.as_str()) else { return false };
                    let edges = match is_number {
                        true => [r"[0-9][.,]?\z", r"\A[.,]?[0-9]"],
                        false => [r"[0-9A-Za-z]\z", r"\A[0-9A-Za-z]"],
                    };
                    let [left, right] = edges.map(|edge| Regex::new(edge).unwrap());
                    !left.is_match(before) && !right.is_match(after)
                })
            };
            let g = rule.required(&subject).iter().filter(|item| !has(item)).count();
            prop_assert_eq!(rule.check(&subject, &bytes).total(), g as f32);
            prop_assert_eq!(rule.explain(&subject, &bytes).len(), g);
            let automaton = rule.automaton(&subject).unwrap();
            prop_assert_eq!(automaton.contains(&bytes), g == 0);
        }
    }
}
