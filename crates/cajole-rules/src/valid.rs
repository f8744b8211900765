//! Spans whose text is valid: it matches a pattern, passes a checksum, or a program approves of it.
//!
//! A card number has a digit that checks the others, and an address has an `@`. A span that is
//! labelled as one and is not one is wrong, whatever the network thinks:
//!
//! ```text
//! g_i = 1 / len(i)  for each span i that is not valid      g = Σ_i g_i
//! ```
//!
//! Which spans are valid depends on the input alone. So the feasible set is known before anything
//! is labelled: spans of these roles must be among the valid ones.

use cajole_core::constraints::{Automaton, Brackets, RoleSet, Span, SpansInTree, TagSet};
use cajole_core::{Constraint, Fault, Part, Symbol, Violation};
use regex::Regex;
use serde::Deserialize;

use crate::checker::{Checker, CheckerConfig};
use crate::pattern::{SEARCH_BYTES, searching};
use crate::subject::Subject;
use crate::vocabulary::Vocabulary;

/// Which spans must be valid, and how.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ValidConfig {
    /// The roles of these spans.
    pub roles: Vec<String>,
    /// What goes between the words of a span; by default, a blank.
    pub join: Option<String>,
    /// A regular expression that the whole text matches.
    pub pattern: Option<String>,
    /// A checksum.
    pub checksum: Option<Checksum>,
    /// A program that judges the text.
    pub checker: Option<CheckerConfig>,
}

/// A checksum over digits and letters; blanks and hyphens do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Checksum {
    /// Card numbers: every second digit from the right is doubled, and the digits add up to a multiple
    /// of 10.
    Luhn,
    /// Account numbers (ISO 13616): with the first four characters moved to the end and letters
    /// read as numbers, it is 1 modulo 97.
    Iban,
    /// Numbers with check digits at the end (ISO 7064): with letters read as numbers, it is 1
    /// modulo 97.
    #[serde(rename = "mod-97")]
    Mod97,
}

impl Checksum {
    /// Whether a text passes.
    pub fn holds(self, text: &str) -> bool {
        let is_counted = |c: &char| !matches!(c, ' ' | '-');
        let characters: Vec<char> = text.chars().filter(is_counted).collect();
        match self {
            Checksum::Luhn => luhn(&characters),
            Checksum::Mod97 => mod_97(&characters),
            Checksum::Iban => {
                let is_country = characters.iter().take(2).all(char::is_ascii_uppercase);
                let has_digits = characters.iter().skip(2).take(2).all(char::is_ascii_digit);
                let (first, rest) = characters.split_at(characters.len().min(4));
                (15..=34).contains(&characters.len())
                    && is_country
                    && has_digits
                    && mod_97(&[rest, first].concat())
            }
        }
    }
}

fn luhn(digits: &[char]) -> bool {
    let Some(digits) = digits.iter().map(|c| c.to_digit(10)).collect::<Option<Vec<u32>>>() else {
        return false;
    };
    let doubled = |(k, digit): (usize, &u32)| match k % 2 {
        0 => *digit,
        _ => 2 * digit - if *digit < 5 { 0 } else { 9 },
    };
    let sum = digits.iter().rev().enumerate().map(doubled).fold(0, |sum, digit| (sum + digit) % 10);
    1 < digits.len() && sum == 0
}

fn mod_97(characters: &[char]) -> bool {
    let add = |rest: u32, c: &char| {
        let value = c.to_ascii_uppercase().to_digit(36)?;
        Some((rest * if value < 10 { 10 } else { 100 } + value) % 97)
    };
    2 < characters.len() && characters.iter().try_fold(0, add) == Some(1)
}

/// The longest spans, in words, that are tried for the automaton.
const MAX_WORDS: usize = 64;

/// Spans of some roles must be valid.
#[derive(Debug)]
pub struct Valid {
    /// All other roles are free.
    spans: SpansInTree,
    join: String,
    pattern: Option<Regex>,
    checksum: Option<Checksum>,
    checker: Option<Checker>,
}

impl Valid {
    /// The rule of `config` about spans with these roles.
    ///
    /// # Errors
    /// If it requires nothing, or the pattern or the checker is invalid.
    pub fn new(config: ValidConfig, tags: &TagSet, roles: &RoleSet) -> Result<Self, String> {
        let ValidConfig { join, pattern, checksum, checker, .. } = config;
        if pattern.is_none() && checksum.is_none() && checker.is_none() {
            return Err(
                "nothing says what is valid; give a pattern, a checksum or a checker".into()
            );
        }
        let whole = |pattern: String| searching(&format!(r"\A(?:{pattern})\z"));
        let pattern = pattern.map(whole).transpose()?;
        let checker = checker.map(|config| Checker::new(config, Vocabulary::bytes()));
        let checker = checker.transpose().map_err(|error| error.to_string())?;
        let join = join.unwrap_or_else(|| " ".to_owned());
        let free = tags.roles().filter(|role| !roles.contains(*role)).collect();
        let spans = SpansInTree { tags: tags.clone(), free };
        Ok(Valid { spans, join, pattern, checksum, checker })
    }

    /// The memory that its pattern may take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.pattern.as_ref().map_or(0, |_| SEARCH_BYTES)
    }

    /// What is wrong with a text, and by how much: 1, or NaN if the checker could not say.
    fn objection(&self, x: &Subject, text: &str) -> Option<(f32, String)> {
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(text)) {
            return Some((1.0, "does not match the pattern".to_owned()));
        }
        if let Some(checksum) = self.checksum.filter(|checksum| !checksum.holds(text)) {
            return Some((1.0, format!("fails the checksum {checksum:?}")));
        }
        let bytes: Vec<Symbol> = text.bytes().map(Symbol::from).collect();
        match self.checker.as_ref()?.judge(x, &bytes).as_ref() {
            Ok(verdict) if verdict.loss == 0.0 => None,
            Ok(verdict) if verdict.message.is_empty() => Some((1.0, "is refused".to_owned())),
            Ok(verdict) => Some((1.0, format!("is refused: {}", verdict.message))),
            Err(trouble) => Some((f32::NAN, trouble.to_string())),
        }
    }

    fn text(&self, x: &Subject, start: usize, end: usize) -> String {
        x.symbols[start..end].join(&self.join)
    }

    /// The spans that are not valid.
    fn faults<'a>(
        &'a self,
        x: &'a Subject,
        y: &'a [Symbol],
    ) -> impl Iterator<Item = (Span, f32, String)> + 'a {
        let SpansInTree { tags, free } = &self.spans;
        tags.iter_spans(y).filter(|span| !free.contains(span.role)).filter_map(move |span| {
            let (at, role) = (span.at(), tags.role_name(span.role));
            if x.symbols.len() < span.end {
                let message = format!("{role} at positions {at:?} reaches beyond the input");
                return Some((span, 1.0 / at.len() as f32, message));
            }
            let text = self.text(x, span.start, span.end);
            let (cost, objection) = self.objection(x, &text)?;
            let message = format!("{text:?} at positions {at:?} is no {role}: it {objection}");
            Some((span, cost / at.len() as f32, message))
        })
    }
}

impl Constraint<Subject> for Valid {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        let part = |(span, cost, _): (Span, f32, String)| Part { at: span.at(), cost };
        Violation::Parts(self.faults(x, y).map(part).collect())
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let faults = self.faults(x, y);
        faults.map(|(span, cost, message)| Fault { at: span.at(), cost, message }).collect()
    }

    /// `None` with a checker, which cannot be asked about every span, and for long inputs.
    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        let n = x.symbols.len();
        if self.checker.is_some() || MAX_WORDS < n {
            return None;
        }
        let spans = (0..n).flat_map(|start| (start + 1..=n).map(move |end| (start, end)));
        let is_valid =
            |&(start, end): &(usize, usize)| self.objection(x, &self.text(x, start, end)).is_none();
        let valid: Brackets = spans.filter(is_valid).collect();
        self.spans.automaton(&Some(valid))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{check_automaton, letters, strings};

    fn tags() -> TagSet {
        TagSet::new(["O", "B-CARD", "I-CARD", "B-X"]).unwrap()
    }

    fn valid(config: &str, tags: &TagSet) -> Valid {
        let roles = [tags.role("CARD").unwrap()].into_iter().collect();
        Valid::new(toml::from_str(config).unwrap(), tags, &roles).unwrap()
    }

    #[test]
    fn checksums_of_published_examples() {
        for text in ["4111 1111 1111 1111", "79927398713", "5500-0000-0000-0004", "00"] {
            assert!(Checksum::Luhn.holds(text), "{text}");
        }
        for text in ["79927398710", "4111 1111 1111 1112", "", "0", "41a1", "4111.1111"] {
            assert!(!Checksum::Luhn.holds(text), "{text}");
        }
        for text in ["GB82 WEST 1234 5698 7654 32", "DE89370400440532013000", "NO93 8601 1117 947"]
        {
            assert!(Checksum::Iban.holds(text), "{text}");
        }
        for text in ["GB82 WEST 1234 5698 7654 33", "82GBWEST12345698765432", "GB82", "", "GB82 é"]
        {
            assert!(!Checksum::Iban.holds(text), "{text}");
        }
        assert!(Checksum::Mod97.holds("098") && Checksum::Mod97.holds("A-68"), "1 modulo 97");
        assert!(!Checksum::Mod97.holds("100") && !Checksum::Mod97.holds(""));
    }

    #[test]
    fn spans_are_judged_by_their_text() {
        let tags = tags();
        let rule = valid("checksum = 'luhn'\njoin = ''\npattern = '\\d{3,}'", &tags);
        let x = letters("a075b");
        assert!(rule.check(&x, &[0, 1, 2, 2, 3]).is_satisfied());
        let [fault] = &rule.explain(&x, &[0, 0, 1, 2, 0])[..] else { panic!("one") };
        assert_eq!((fault.at.clone(), fault.cost), (2..4, 0.5));
        assert_eq!(
            fault.message,
            r#""75" at positions 2..4 is no CARD: it does not match the pattern"#
        );
        let [fault] = &rule.explain(&letters("123"), &[1, 2, 2])[..] else { panic!("one") };
        assert!(fault.message.ends_with("it fails the checksum Luhn"), "{}", fault.message);
    }

    #[test]
    fn the_automaton_has_exactly_the_feasible_outputs() {
        let tags = tags();
        for (config, words) in
            [("pattern = '0 .*'", "0a0"), ("checksum = 'luhn'", "0118"), ("pattern = 'x'", "")]
        {
            let (rule, x) = (valid(config, &tags), letters(words));
            let is_feasible = |y: &[Symbol]| rule.check(&x, y).is_satisfied();
            let automaton = rule.automaton(&x).unwrap();
            check_automaton(&*automaton, 4, is_feasible);
            for y in strings(4, 4) {
                let told: f32 = rule.explain(&x, &y).iter().map(|fault| fault.cost).sum();
                assert!((told - rule.check(&x, &y).total()).abs() < 1e-5);
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn programs_may_judge() {
        let tags = tags();
        let config = "[checker]\ncommand = ['grep', '-qx', '0 a']\nmode = 'exit-code'";
        let (rule, x) = (valid(config, &tags), letters("0ab"));
        assert!(rule.check(&x, &[1, 2, 0]).is_satisfied());
        assert_eq!(rule.check(&x, &[0, 1, 2]).total(), 0.5);
        assert!(rule.automaton(&x).is_none());
        let rule = valid("[checker]\ncommand = ['no-such-program']", &tags);
        assert!(rule.check(&x, &[1, 2, 0]).total().is_nan());
        assert!(rule.check(&x, &[0, 0, 0]).is_satisfied());
    }

    #[test]
    fn settings_must_say_what_is_valid() {
        let tags = tags();
        let refused = |config: &str| {
            Valid::new(toml::from_str(config).unwrap(), &tags, &RoleSet::default()).unwrap_err()
        };
        assert!(refused("").contains("nothing says what is valid"));
        assert!(refused("pattern = '('").contains("unclosed group"));
        assert!(refused("[checker]\ncommand = []").contains("no program"));
    }

    proptest! {
        /// Against the textbook: digits doubled from the right, their digits summed.
        #[test]
        fn luhn_follows_its_definition(number in 0..10_000_000u64) {
            let text = format!("{number:02}");
            let digits: Vec<u64> = text.bytes().rev().map(|b| u64::from(b - b'0')).collect();
            let sum: u64 = digits.iter().enumerate().map(|(k, d)| {
                let d = if k % 2 == 1 { d * 2 } else { *d };
                d / 10 + d % 10
            }).sum();
            prop_assert_eq!(Checksum::Luhn.holds(&text), sum.is_multiple_of(10));
        }

        #[test]
        fn mod_97_follows_its_definition(number in 100..u64::MAX) {
            prop_assert_eq!(Checksum::Mod97.holds(&number.to_string()), number % 97 == 1);
        }
    }
}
