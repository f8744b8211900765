//! Parses formulas.
//!
//! ```text
//! formula    = comparison { "and" comparison }
//! comparison = sum ( "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum
//! sum        = product { ( "+" | "-" ) product }
//! product    = factor { "*" factor }
//! factor     = "-" factor | "(" sum ")" | number
//!            | "len" "(" what ")" | "count" "(" what "," quoted ")"
//! what       = side | "words" "(" side ")"
//! side       = "in" | "out"
//! ```
//!
//! `words` is for networks that write text.
//!
//! Inside quotes, a backslash escapes a quote or a backslash.

use cajole_files::column;

use super::feature::{Feature, Phrase};
use super::lex::{Lexeme, lexemes};
use super::linear::Term;
use super::{Comparison, FormulaError, Relation};
use crate::{Subject, UnknownSymbol, Vocabulary};

/// The maximum nesting depth of parentheses and signs.
const MAX_DEPTH: usize = 64;

/// The comparisons of `text`, joined by `and`.
pub(super) fn comparisons(
    text: &str,
    vocabulary: &Vocabulary,
) -> Result<(Vec<Comparison>, Vec<Feature>), FormulaError> {
    let (lexemes, features) = (lexemes(text)?, Vec::new());
    let mut parser = Parser { text, vocabulary, lexemes, next: 0, depth: 0, features };
    let mut comparisons = vec![parser.comparison()?];
    while parser.accept("and") {
        comparisons.push(parser.comparison()?);
    }
    match parser.peek() {
        None => Ok((comparisons, parser.features)),
        Some(_) => Err(parser.unexpected("an operator, `and`, or the end")),
    }
}

/// What a formula counts in: the input or the output.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    In,
    Out,
}

/// What it counts: symbols (characters, over text) or words.
#[derive(Clone, Copy)]
enum Unit {
    Symbols,
    Words,
}

struct Parser<'t> {
    text: &'t str,
    vocabulary: &'t Vocabulary,
    lexemes: Vec<Lexeme>,
    /// The index of the next lexeme.
    next: usize,
    depth: usize,
    /// What is counted in the text of the output, if it is text.
    features: Vec<Feature>,
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
        let (side, unit) = self.what()?;
        let quoted = match is_len {
            true => None,
            false => {
                self.expect(",", "`,` and a symbol in quotes")?;
                Some(self.quoted()?)
            }
        };
        let term = match self.vocabulary.is_text() {
            true => self.in_text(side, unit, quoted)?,
            false => self.of_symbols(side, quoted)?,
        };
        self.expect(")", "`)`")?;
        Ok(term)
    }

    /// A text in quotes, and its column.
    fn quoted(&mut self) -> Result<(usize, String), FormulaError> {
        let column = self.column(self.offset());
        let Some(Lexeme::Quoted { name, .. }) = self.lexemes.get(self.next) else {
            return Err(self.unexpected("a symbol in double quotes"));
        };
        let name = name.clone();
        self.next += 1;
        Ok((column, name))
    }

    fn of_symbols(
        &self,
        side: Side,
        quoted: Option<(usize, String)>,
    ) -> Result<Term, FormulaError> {
        let symbol = |name: &str| self.vocabulary.symbol(name);
        Ok(match (side, quoted) {
            (Side::In, None) => Term::InputLen,
            (Side::Out, None) => Term::OutputLen,
            (Side::In, Some((_, name))) => Term::InputCount(name),
            (Side::Out, Some((column, name))) => match symbol(&name) {
                Some(symbol) => Term::OutputCount(symbol),
                None => {
                    return Err(FormulaError::Unknown { column, source: UnknownSymbol { name } });
                }
            },
        })
    }

    fn in_text(
        &mut self,
        side: Side,
        unit: Unit,
        quoted: Option<(usize, String)>,
    ) -> Result<Term, FormulaError> {
        let feature = match (unit, quoted) {
            (Unit::Symbols, None) => Feature::Characters,
            (Unit::Words, None) => Feature::Words,
            (_, Some((column, text))) if text.is_empty() => {
                return Err(FormulaError::Empty { column });
            }
            (Unit::Words, Some((column, text)))
                if text.contains(|c: char| c.is_ascii_whitespace()) =>
            {
                return Err(FormulaError::SeveralWords { column, text });
            }
            (Unit::Symbols, Some((_, text))) => Feature::Phrase(Phrase::new(&text)),
            (Unit::Words, Some((_, text))) => Feature::Word(text.into_bytes()),
        };
        if side == Side::In {
            return Ok(Term::InputText(feature));
        }
        let known = self.features.iter().position(|known| *known == feature);
        Ok(Term::OutputText(known.unwrap_or_else(|| {
            self.features.push(feature);
            self.features.len() - 1
        })))
    }

    /// What is counted.
    fn what(&mut self) -> Result<(Side, Unit), FormulaError> {
        let column = self.column(self.offset());
        if !self.accept("words") {
            return Ok((self.side()?, Unit::Symbols));
        }
        if !self.vocabulary.is_text() {
            return Err(FormulaError::NoText { column });
        }
        self.expect("(", "`(`")?;
        let side = self.side()?;
        self.expect(")", "`)`")?;
        Ok((side, Unit::Words))
    }

    fn side(&mut self) -> Result<Side, FormulaError> {
        if self.accept("in") {
            Ok(Side::In)
        } else if self.accept("out") {
            Ok(Side::Out)
        } else {
            let expected = match self.vocabulary.is_text() {
                true => "`in`, `out` or `words`",
                false => "`in` or `out`",
            };
            Err(self.unexpected(expected))
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
