//! Context-free grammars, for nested structure.
//!
//! Balanced brackets, expressions and markup are not regular. A [`Grammar`] is `(V, Σ, P, S)` with
//! arbitrary productions `P`: they may be left-recursive, empty, ambiguous or cyclic.
//!
//! Parsers walk through the bodies of productions, and only the remainder of a body matters. So the
//! grammar is stored as *tails*: a tail is an element and the tail after it, and equal tails are
//! shared between productions:
//!
//! ```text
//! sum → sum + term | term          t₁ = term      t₂ = + t₁      t₃ = sum t₂
//!                                  sum → t₃ | t₁
//! ```

mod cells;
mod chart;
mod context_free;
#[cfg(test)]
mod oracle;
mod prefixes;
mod shortest;

use std::collections::HashMap;

pub use context_free::ContextFree;
use shortest::shortest_yields;

use crate::model::Symbol;

/// One element of a production's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// This symbol.
    Symbol(Symbol),
    /// Any one symbol from the first to the last of these.
    Range(Symbol, Symbol),
    /// Any one symbol.
    Any,
    /// Any string this variable derives.
    Variable(usize),
}

/// `A → body`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Production {
    /// `A`.
    pub head: usize,
    /// The right-hand side, possibly empty.
    pub body: Vec<Element>,
}

/// Why productions are not a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// A symbol outside the alphabet.
    #[error("production {production} has symbol {symbol}, and there are only {n_symbols}")]
    UnknownSymbol {
        /// The index of the production, from 0.
        production: usize,
        /// The symbol.
        symbol: Symbol,
        /// `|Σ|`.
        n_symbols: usize,
    },
    /// A variable in a body that heads no production.
    #[error("production {production} has variable {variable}, which has no production")]
    UnknownVariable {
        /// The index of the production, from 0.
        production: usize,
        /// The variable.
        variable: usize,
    },
    /// The start variable heads no production.
    #[error("the start variable {0} has no production")]
    UnknownStart(usize),
    /// The shortest member is too long to be practical, as with productions that repeatedly double.
    #[error("the shortest member has {length} symbols, more than {MAX_SHORTEST}")]
    TooLong {
        /// Its length, or a lower bound.
        length: usize,
    },
}

/// Limit on the length of a grammar's shortest member.
const MAX_SHORTEST: usize = 1 << 14;

/// A context-free grammar over the symbols `0..n_symbols`, without useless productions.
///
/// ```
/// use cajole_core::constraints::{ContextFree, Element, Grammar, Production};
/// use cajole_core::{Constraint, Violation};
///
/// let [open, close] = [0, 1].map(Element::Symbol);
/// let list = Element::Variable(0);
/// let nested = Production { head: 0, body: vec![open, list, close, list] };
/// let empty = Production { head: 0, body: vec![] };
/// let balanced = ContextFree::new(Grammar::new(2, 0, vec![nested, empty])?);
/// assert_eq!(balanced.check(&(), &[0, 0, 1, 1, 0, 1]), Violation::NONE);
/// assert_eq!(balanced.check(&(), &[0, 1, 1, 0]).total(), 2.0);
/// # Ok::<(), cajole_core::constraints::GrammarError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Grammar {
    n_symbols: usize,
    /// The bodies of each variable. The start is variable 0.
    alternatives: Vec<Vec<TailId>>,
    tails: Vec<Tail>,
    /// The length of the shortest string each variable derives.
    shortest: Vec<usize>,
}

/// Index of a tail; 0 is the empty one.
type TailId = usize;

/// The remainder of a body: an element, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tail {
    first: Element,
    rest: TailId,
    /// The length of the shortest string it derives.
    shortest: usize,
}

impl Grammar {
    /// The strings over `0..n_symbols` that `start` derives.
    ///
    /// Useless productions are removed.
    ///
    /// # Errors
    /// If a production has a symbol outside the alphabet or a variable without productions, or if
    /// the shortest member is too long.
    pub fn new(
        n_symbols: usize,
        start: usize,
        productions: Vec<Production>,
    ) -> Result<Grammar, GrammarError> {
        let n_variables = productions.iter().map(|p| p.head + 1).max().unwrap_or(0);
        let mut has_production = vec![false; n_variables];
        productions.iter().for_each(|p| has_production[p.head] = true);
        let is_known = |variable: usize| has_production.get(variable) == Some(&true);
        if !is_known(start) {
            return Err(GrammarError::UnknownStart(start));
        }
        for (production, Production { body, .. }) in productions.iter().enumerate() {
            for &element in body {
                match element {
                    Element::Symbol(symbol) | Element::Range(_, symbol)
                        if n_symbols <= symbol as usize =>
                    {
                        return Err(GrammarError::UnknownSymbol { production, symbol, n_symbols });
                    }
                    Element::Variable(variable) if !is_known(variable) => {
                        return Err(GrammarError::UnknownVariable { production, variable });
                    }
                    _ => {}
                }
            }
        }
        let shortest = shortest_yields(n_symbols, n_variables, &productions);
        match shortest[start] {
            Some(length) if MAX_SHORTEST < length => Err(GrammarError::TooLong { length }),
            _ => Ok(trimmed(n_symbols, start, &productions, &shortest)),
        }
    }

    /// `|Σ|`; every symbol is below it.
    pub fn n_symbols(&self) -> usize {
        self.n_symbols
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let bodies = self.alternatives.iter().map(|bodies| size_of_val(&**bodies));
        size_of_val(&*self.alternatives)
            + bodies.sum::<usize>()
            + size_of_val(&*self.tails)
            + size_of_val(&*self.shortest)
    }

    /// Number of productions, without useless ones.
    pub fn n_productions(&self) -> usize {
        self.alternatives.iter().map(Vec::len).sum()
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.alternatives[START].is_empty()
    }

    /// The tail with this index; `None` for the empty one.
    fn tail(&self, tail: TailId) -> Option<&Tail> {
        self.tails.get(tail.checked_sub(1)?)
    }

    /// The length of the shortest string a tail derives.
    fn shortest(&self, tail: TailId) -> usize {
        self.tail(tail).map_or(0, |tail| tail.shortest)
    }

    /// Whether `terminal` matches `symbol`.
    fn reads(&self, terminal: Element, symbol: Symbol) -> bool {
        match terminal {
            Element::Symbol(s) => s == symbol,
            Element::Range(first, last) => (first..=last).contains(&symbol),
            Element::Any => (symbol as usize) < self.n_symbols,
            Element::Variable(_) => false,
        }
    }
}

/// The start variable of a trimmed grammar.
const START: usize = 0;

/// The empty tail.
const NOTHING: TailId = 0;

/// The grammar without useless productions; variables are numbered in order of discovery.
fn trimmed(
    n_symbols: usize,
    start: usize,
    productions: &[Production],
    shortest: &[Option<usize>],
) -> Grammar {
    let of_element = |element: &Element| match *element {
        Element::Variable(variable) => shortest[variable],
        _ => Some(1).filter(|_| 0 < n_symbols),
    };
    let mut by_head = vec![Vec::new(); shortest.len()];
    for Production { head, body } in productions {
        if body.iter().all(|element| of_element(element).is_some()) {
            by_head[*head].push(body);
        }
    }
    let mut numbers = HashMap::from([(start, START)]);
    let mut met = vec![start];
    let (mut ids, mut tails) = (HashMap::new(), Vec::new());
    let mut alternatives: Vec<Vec<TailId>> = Vec::new();
    while let Some(&variable) = met.get(alternatives.len()) {
        let mut own = Vec::new();
        for body in &by_head[variable] {
            let mut rest = NOTHING;
            let mut length = 0usize;
            for element in body.iter().rev() {
                length = length.saturating_add(of_element(element).unwrap_or(usize::MAX));
                let first = match *element {
                    Element::Variable(v) => {
                        Element::Variable(*numbers.entry(v).or_insert_with(|| {
                            met.push(v);
                            met.len() - 1
                        }))
                    }
                    terminal => terminal,
                };
                rest = *ids.entry((first, rest)).or_insert_with(|| {
                    tails.push(Tail { first, rest, shortest: length });
                    tails.len()
                });
            }
            if !own.contains(&rest) {
                own.push(rest);
            }
        }
        alternatives.push(own);
    }
    let shortest = met.iter().map(|&v| shortest[v].unwrap_or(usize::MAX)).collect();
    Grammar { n_symbols, alternatives, tails, shortest }
}

#[cfg(test)]
mod tests {
    use super::oracle::written;
    use super::*;
    use crate::Constraint;

    fn n_productions(rules: &[&str]) -> usize {
        let productions = written(2, rules).productions;
        Grammar::new(2, 0, productions).unwrap().n_productions()
    }

    #[test]
    fn useless_productions_are_removed() {
        assert_eq!(n_productions(&["A=aA|b"]), 2);
        assert_eq!(n_productions(&["A=aA|b", "B=a"]), 2, "B is never reached");
        assert_eq!(n_productions(&["A=aB|b", "B=aB"]), 1, "B never ends");
        assert_eq!(n_productions(&["A=BC|b", "B=bB", "C=a"]), 1, "C is reached only beside B");
        assert_eq!(n_productions(&["A=aA"]), 0, "there are no members");
        assert_eq!(n_productions(&["A=a|a|b"]), 2, "the same twice");
    }

    #[test]
    fn invalid_grammars_are_rejected() {
        let refused = |n_symbols, start, rules: &[&str]| {
            Grammar::new(n_symbols, start, written(n_symbols, rules).productions).unwrap_err()
        };
        let unknown = GrammarError::UnknownSymbol { production: 1, symbol: 2, n_symbols: 2 };
        assert_eq!(refused(2, 0, &["A=a|bc"]), unknown);
        let unknown = GrammarError::UnknownVariable { production: 0, variable: 1 };
        assert_eq!(refused(2, 0, &["A=aB", "C=a"]), unknown);
        assert_eq!(refused(2, 1, &["A=a", "C=b"]), GrammarError::UnknownStart(1));
        assert_eq!(refused(2, 7, &["A=a"]), GrammarError::UnknownStart(7));
    }

    #[test]
    fn a_range_is_any_of_its_symbols() {
        let range = Element::Range(1, 2);
        let body = |body: &[Element]| Production { head: 0, body: body.to_vec() };
        let grammar = |n| Grammar::new(n, 0, vec![body(&[range, Element::Variable(0)]), body(&[])]);
        let grammar = ContextFree::new(grammar(4).unwrap());
        let g = |y: &[Symbol]| grammar.check(&(), y).total();
        assert_eq!((g(&[1, 2, 2]), g(&[0, 1, 3]), g(&[])), (0.0, 2.0, 0.0));
        let automaton = Constraint::<()>::automaton(&grammar, &()).unwrap();
        assert!(automaton.contains(&[2, 1]) && !automaton.contains(&[2, 3]));
        let unknown = Grammar::new(2, 0, vec![body(&[range])]);
        assert!(matches!(unknown, Err(GrammarError::UnknownSymbol { symbol: 2, .. })));
    }

    #[test]
    fn grammars_with_only_huge_members_are_rejected() {
        let double = |head| Production { head, body: vec![Element::Variable(head + 1); 2] };
        let one = |head| Production { head, body: vec![Element::Symbol(0)] };
        let doubled = |n| Grammar::new(1, 0, (0..n).map(double).chain([one(n)]).collect());
        assert!(doubled(14).is_ok());
        assert_eq!(doubled(15).unwrap_err(), GrammarError::TooLong { length: 1 << 15 });
        assert!(matches!(doubled(200), Err(GrammarError::TooLong { .. })));
    }
}
