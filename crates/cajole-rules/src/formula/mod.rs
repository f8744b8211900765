//! Arithmetic over counts and lengths.
//!
//! Many rules only count: three of these for each of those, as many opened as closed, no longer
//! than twice the input. A formula states that as one would on paper:
//!
//! ```text
//! count(out,"a") = 3*count(in,"a") and len(out) <= 2*len(in) + 1
//! ```
//!
//! If a network writes text, formulas count characters, words, and occurrences of phrases:
//!
//! ```text
//! len(out) <= 280 and len(words(out)) = 12 and count(out, "http") = 0 and count(words(out), "I") <= 2
//! ```
//!
//! For a given input, both sides of a comparison are linear in the symbol counts of the output,
//! which is why at most one factor of a product may depend on the output. `g` is the distance of
//! the two sides from satisfying the comparison,
//!
//! ```text
//! l = r: |l − r|      l ≤ r: max(0, l − r)      l < r: max(0, l − r + 1)      l ≠ r: 1 if l = r
//! ```
//!
//! or its square, summed over all comparisons. Numbers are 64-bit integers; a comparison that
//! overflows for an input is violated by 1.

mod automaton;
mod error;
mod feature;
mod lex;
mod linear;
mod over_text;
mod parse;

use cajole_core::constraints::Automaton;
use cajole_core::{Constraint, Fault, Symbol, Violation};

pub use self::error::FormulaError;
use self::feature::Feature;
use self::linear::{Form, Term};
use crate::{Subject, Vocabulary};

/// Comparisons of counts and lengths, all of which must hold.
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_rules::{Formula, Subject, Vocabulary};
///
/// let vocabulary = Vocabulary::new(["a", "b"], "");
/// let formula = Formula::parse(r#"count(out,"a") = 3*count(in,"a")"#, &vocabulary, false)?;
/// let x = Subject::new(vec!["a".to_owned()], "a".into());
/// assert_eq!(formula.check(&x, &[0, 1, 0]).total(), 1.0);
/// # Ok::<(), cajole_rules::FormulaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Formula {
    comparisons: Vec<Comparison>,
    squared: bool,
    n_symbols: usize,
    /// What is counted in the text, if the symbols are its bytes.
    features: Option<Vec<Feature>>,
}

impl Formula {
    /// Parses a formula over these output symbols; `squared` squares the distances.
    ///
    /// # Errors
    /// If the text is not a formula, or counts an output symbol that is not in the vocabulary.
    pub fn parse(
        text: &str,
        vocabulary: &Vocabulary,
        squared: bool,
    ) -> Result<Formula, FormulaError> {
        let (comparisons, features) = parse::comparisons(text, vocabulary)?;
        let features = vocabulary.is_text().then_some(features);
        Ok(Formula { comparisons, squared, n_symbols: vocabulary.len(), features })
    }

    /// The cost of each violated comparison, with both values unless they overflow.
    fn violated<'f>(
        &'f self,
        x: &'f Subject,
        y: &'f [Symbol],
    ) -> impl Iterator<Item = (&'f Comparison, f32, Option<(i128, i128)>)> {
        let counts = |all: &Vec<Feature>| all.iter().map(|feature| feature.count(y)).collect();
        let counts: Option<Vec<usize>> = self.features.as_ref().map(counts);
        self.comparisons.iter().filter_map(move |comparison| {
            let Some((left, right)) = comparison.sides(x) else {
                return Some((comparison, 1.0, None));
            };
            let (l, r) = match &counts {
                Some(counts) => (left.value_of(counts), right.value_of(counts)),
                None => (left.value(y), right.value(y)),
            };
            let off = comparison.relation.distance(l - r) as f32;
            let cost = if self.squared { (off * off).min(f32::MAX) } else { off };
            (cost != 0.0).then_some((comparison, cost, Some((l, r))))
        })
    }
}

impl Constraint<Subject> for Formula {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        Violation::Whole(self.violated(x, y).fold(0.0, |g, (_, cost, _)| g + cost))
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let faults = self.violated(x, y).map(|(comparison, cost, values)| {
            let told = values.map(|(l, r)| comparison.relation.told(l, r));
            let told = told.unwrap_or_else(|| "the numbers overflow".to_owned());
            let message = format!("{}: {told}", comparison.text);
            Fault { at: 0..y.len() + 1, cost, message }
        });
        faults.collect()
    }

    /// The feasible set, if few states suffice. If one symbol adds and another subtracts, another
    /// comparison must bound the difference.
    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        let automaton = match &self.features {
            Some(features) => over_text::explore(&self.comparisons, x, features),
            None => automaton::explore(&self.comparisons, x, self.n_symbols),
        };
        Some(Box::new(automaton?))
    }
}

/// Two sides and the relation between them.
#[derive(Clone, Debug)]
struct Comparison {
    /// The source text.
    text: String,
    left: Term,
    relation: Relation,
    right: Term,
}

impl Comparison {
    /// Both sides for this input; `None` on overflow.
    fn sides(&self, x: &Subject) -> Option<(Form, Form)> {
        Some((self.left.of(x)?, self.right.of(x)?))
    }
}

/// The relation between the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Relation {
    /// The distance of a difference `l − r` from satisfying the relation.
    fn distance(self, difference: i128) -> i128 {
        match self {
            Relation::Equal => difference.abs(),
            Relation::Unequal => i128::from(difference == 0),
            Relation::Less => (difference + 1).max(0),
            Relation::AtMost => difference.max(0),
            Relation::More => (1 - difference).max(0),
            Relation::AtLeast => (-difference).max(0),
        }
    }

    /// How `l` and `r` violate the relation.
    fn told(self, l: i128, r: i128) -> String {
        match self {
            Relation::Equal => format!("{l} is not {r}"),
            Relation::Unequal => format!("both are {l}"),
            Relation::Less => format!("{l} is not less than {r}"),
            Relation::AtMost => format!("{l} is more than {r}"),
            Relation::More => format!("{l} is not more than {r}"),
            Relation::AtLeast => format!("{l} is less than {r}"),
        }
    }
}

#[cfg(test)]
mod tests;
