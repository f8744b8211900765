//! Parses formulas.
//!
//! ```text
//! formula    = comparison { "and" comparison }
//! comparison = sum ( "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum
//! sum        = product { ( "+" | "-" ) product }
//! product    = factor { "*" factor }
//! factor     = "-" factor | "(" sum ")" | number
//!            | "len" "(" side ")" | "count" "(" side "," quoted ")"
//! side       = "in" | "out"
//! ```
//!
//! Inside quotes, a backslash escapes a quote or a backslash.

use super::lex::{Lexeme, column, lexemes};
use super::linear::Term;
use super::{Comparison, FormulaError, Relation};
use crate::{Subject, UnknownSymbol, Vocabulary};

/// The maximum nesting depth of parentheses and signs.
const MAX_DEPTH: usize = 64;

/// The comparisons of `text`, joined by `and`.
pub(super) fn comparisons(
    text: &str,
    vocabulary: &Vocabulary,
) -> Result<Vec<Comparison>, FormulaError> {
    let mut parser = Parser { text, vocabulary, lexemes: lexemes(text)?, next: 0, depth: 0 };
    let mut comparisons = vec![parser.comparison()?];
    while parser.accept("and") {
        comparisons.push(parser.comparison()?);
    }
    match parser.peek() {
        None => Ok(comparisons),
        Some(_) => Err(parser.unexpected("an operator, `and`, or the end")),
    }
}

/// What a formula counts in: the input or the output.
#[derive(Clone, Copy)]
enum Side {
    In,
    Out,
}

struct Parser<'t> {
    text: &'t str,
    vocabulary: &'t Vocabulary,
    lexemes: Vec<Lexeme>,
    /// The index of the next lexeme.
    next: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn comparison(&mut self) -> Result<Comparison, FormulaError> {
        let begin = self.offset();
        let left = self.side_of_comparison()?;
        let relation = match self.peek() {
            Some("=" | "==") => Relation::Equal,
            Some("!=") => Relation::Unequal,
            Some("<") => Relation::Less,
            Some("<=") => Relation::AtMost,
            Some(">") => Relation::More,
            Some(">=") => Relation::AtLeast,
            _ => return Err(self.unexpected("an operator or a comparison")),
        };
        self.next += 1;
        let right = self.side_of_comparison()?;
        Ok(Comparison { text: self.since(begin).to_owned(), left, relation, right })
    }

    /// A sum whose constants alone do not overflow.
    fn side_of_comparison(&mut self) -> Result<Term, FormulaError> {
        let begin = self.offset();
        let term = self.sum()?;
        match term.of(&Subject::default()) {
            Some(_) => Ok(term),
            None => Err(FormulaError::TooLarge {
                column: self.column(begin),
                text: self.since(begin).to_owned(),
            }),
        }
    }

    fn sum(&mut self) -> Result<Term, FormulaError> {
        let mut terms = vec![self.product()?];
        loop {
            if self.accept("+") {
                terms.push(self.product()?);
            } else if self.accept("-") {
                terms.push(Term::Negated(Box::new(self.product()?)));
            } else {
                return Ok(single_or(Term::Sum, terms));
            }
        }
    }

    fn product(&mut self) -> Result<Term, FormulaError> {
        let begin = self.offset();
        let mut factors = vec![self.factor()?];
        let mut depends_on_output = factors[0].depends_on_output();
        while self.accept("*") {
            let factor = self.factor()?;
            if depends_on_output && factor.depends_on_output() {
                let (column, text) = (self.column(begin), self.since(begin).to_owned());
                return Err(FormulaError::Nonlinear { column, text });
            }
            depends_on_output |= factor.depends_on_output();
            factors.push(factor);
        }
        Ok(single_or(Term::Product, factors))
    }

    fn factor(&mut self) -> Result<Term, FormulaError> {
        if self.depth == MAX_DEPTH {
            let column = self.column(self.offset());
            return Err(FormulaError::TooDeep { column, limit: MAX_DEPTH });
        }
        self.depth += 1;
        let term = if self.accept("-") {
            Term::Negated(Box::new(self.factor()?))
        } else if self.accept("(") {
            let term = self.sum()?;
            self.expect(")", "an operator or `)`")?;
            term
        } else {
            self.quantity()?
        };
        self.depth -= 1;
        Ok(term)
    }

    fn quantity(&mut self) -> Result<Term, FormulaError> {
        if let Some(Lexeme::Number { value, .. }) = self.lexemes.get(self.next) {
            let number = Term::Number(*value);
            self.next += 1;
            return Ok(number);
        }
        let is_len = self.accept("len");
        if !is_len && !self.accept("count") {
            return Err(self.unexpected("a number, `len`, `count`, `-` or `(`"));
        }
        self.expect("(", "`(`")?;
        let side = self.side()?;
        let term = match (side, is_len) {
            (Side::In, true) => Term::InputLen,
            (Side::Out, true) => Term::OutputLen,
            (side, false) => {
                self.expect(",", "`,` and a symbol in quotes")?;
                self.count(side)?
            }
        };
        self.expect(")", "`)`")?;
        Ok(term)
    }

    fn count(&mut self, side: Side) -> Result<Term, FormulaError> {
        let column = self.column(self.offset());
        let Some(Lexeme::Quoted { name, .. }) = self.lexemes.get(self.next) else {
            return Err(self.unexpected("a symbol in double quotes"));
        };
        let name = name.clone();
        self.next += 1;
        match (side, self.vocabulary.symbol(&name)) {
            (Side::In, _) => Ok(Term::InputCount(name)),
            (Side::Out, Some(symbol)) => Ok(Term::OutputCount(symbol)),
            (Side::Out, None) => {
                Err(FormulaError::Unknown { column, source: UnknownSymbol { name } })
            }
        }
    }

    fn side(&mut self) -> Result<Side, FormulaError> {
        if self.accept("in") {
            Ok(Side::In)
        } else if self.accept("out") {
            Ok(Side::Out)
        } else {
            Err(self.unexpected("`in` or `out`"))
        }
    }

    /// The source text of the next lexeme.
    fn peek(&self) -> Option<&'t str> {
        self.lexemes.get(self.next).map(|lexeme| &self.text[lexeme.at()])
    }

    fn accept(&mut self, text: &str) -> bool {
        let is_next = self.peek() == Some(text);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, text: &str, expected: &'static str) -> Result<(), FormulaError> {
        if self.accept(text) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> FormulaError {
        let found = self.peek().map_or("the end".to_owned(), |text| format!("`{text}`"));
        FormulaError::Unexpected { column: self.column(self.offset()), expected, found }
    }

    /// The offset of the next lexeme.
    fn offset(&self) -> usize {
        self.lexemes.get(self.next).map_or(self.text.len(), |lexeme| lexeme.at().start)
    }

    /// The source text since the offset `begin`.
    fn since(&self, begin: usize) -> &'t str {
        let read = &self.lexemes[..self.next];
        read.last().map_or("", |last| &self.text[begin..last.at().end])
    }

    fn column(&self, offset: usize) -> usize {
        column(self.text, offset)
    }
}

/// Unwraps a single term; joins several.
fn single_or(join: impl Fn(Vec<Term>) -> Term, mut terms: Vec<Term>) -> Term {
    match (terms.pop(), terms.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            terms.extend(last);
            join(terms)
        }
    }
}
