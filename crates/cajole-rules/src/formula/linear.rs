//! Terms, and the linear forms they become for a given input.
//!
//! ```text
//! l(x, y) = constant(x) + each(x) · |y| + Σ_s own_s(x) · #_s(y)
//! ```
//!
//! Over a text, `s` is not a symbol, but the number of a [`Feature`].

use std::collections::BTreeMap;

use cajole_core::Symbol;

use super::feature::Feature;
use crate::Subject;

/// One side of a comparison, or part of it.
#[derive(Clone, Debug)]
pub(super) enum Term {
    Number(i64),
    InputLen,
    InputCount(String),
    OutputLen,
    OutputCount(Symbol),
    /// Of the text of the input.
    InputText(Feature),
    /// Of the text of the output: the number of the feature.
    OutputText(usize),
    Negated(Box<Term>),
    // Flat, so that a long sum is not a deep tree.
    Sum(Vec<Term>),
    Product(Vec<Term>),
}

impl Term {
    /// Its linear form for this input; `None` on overflow.
    pub(super) fn of(&self, x: &Subject) -> Option<Form> {
        let constant = |n: usize| Some(Form::constant(i64::try_from(n).ok()?));
        match self {
            Term::Number(n) => Some(Form::constant(*n)),
            Term::InputLen => constant(x.symbols.len()),
            Term::InputCount(name) => constant(x.symbols.iter().filter(|s| *s == name).count()),
            Term::OutputLen => Some(Form { each: 1, ..Form::default() }),
            Term::OutputCount(symbol) => {
                Some(Form { own: BTreeMap::from([(*symbol, 1)]), ..Form::default() })
            }
            Term::InputText(feature) => {
                let text: Vec<Symbol> = x.text().bytes().map(Symbol::from).collect();
                constant(feature.count(&text))
            }
            Term::OutputText(number) => {
                let own = BTreeMap::from([(*number as Symbol, 1)]);
                Some(Form { own, ..Form::default() })
            }
            Term::Negated(term) => term.of(x)?.times(-1),
            Term::Sum(terms) => {
                terms.iter().try_fold(Form::default(), |sum, term| sum.plus(&term.of(x)?))
            }
            Term::Product(factors) => {
                factors.iter().try_fold(Form::constant(1), |product, factor| {
                    let factor = factor.of(x)?;
                    // The parser ensures that at most one factor depends on the output.
                    match factor.depends_on_output() {
                        true => factor.times(product.constant),
                        false => product.times(factor.constant),
                    }
                })
            }
        }
    }

    /// Whether it depends on the output.
    pub(super) fn depends_on_output(&self) -> bool {
        match self {
            Term::Number(_) | Term::InputLen | Term::InputCount(_) | Term::InputText(_) => false,
            Term::OutputLen | Term::OutputCount(_) | Term::OutputText(_) => true,
            Term::Negated(term) => term.depends_on_output(),
            Term::Sum(terms) | Term::Product(terms) => terms.iter().any(Term::depends_on_output),
        }
    }
}

/// A term for one input: linear in the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// The value for the empty output.
    pub(super) constant: i64,
    /// What every symbol adds.
    each: i64,
    /// What particular symbols add on top.
    own: BTreeMap<Symbol, i64>,
}

impl Form {
    /// Its value for `y`. May exceed 64 bits but never 128, since `y` fits in memory.
    pub(super) fn value(&self, y: &[Symbol]) -> i128 {
        i128::from(self.constant) + y.iter().map(|&symbol| self.weight(symbol)).sum::<i128>()
    }

    /// Its value for a text with these counts of features.
    pub(super) fn value_of(&self, counts: &[usize]) -> i128 {
        let weighted = (0..).zip(counts).map(|(s, &count)| self.weight(s) * count as i128);
        i128::from(self.constant) + weighted.sum::<i128>()
    }

    /// What one more `symbol` adds.
    pub(super) fn weight(&self, symbol: Symbol) -> i128 {
        i128::from(self.each) + self.own.get(&symbol).copied().map_or(0, i128::from)
    }

    fn constant(constant: i64) -> Form {
        Form { constant, ..Form::default() }
    }

    fn depends_on_output(&self) -> bool {
        self.each != 0 || !self.own.is_empty()
    }

    fn plus(mut self, other: &Form) -> Option<Form> {
        self.constant = self.constant.checked_add(other.constant)?;
        self.each = self.each.checked_add(other.each)?;
        for (&symbol, &more) in &other.own {
            let weight = self.own.entry(symbol).or_default();
            *weight = weight.checked_add(more)?;
        }
        Some(self)
    }

    fn times(mut self, factor: i64) -> Option<Form> {
        self.constant = self.constant.checked_mul(factor)?;
        self.each = self.each.checked_mul(factor)?;
        for weight in self.own.values_mut() {
            *weight = weight.checked_mul(factor)?;
        }
        Some(self)
    }
}
