//! Parses tokens into expressions, by recursive descent with a depth limit.

use cajole_files::Place;

use super::scan::{Kind, Token, tokens};
use super::{EbnfError, MAX_DEPTH, Problem};

/// `name = body`.
#[derive(Debug)]
pub(super) struct Rule<'t> {
    pub(super) place: Place,
    pub(super) name: &'t str,
    pub(super) body: Expression<'t>,
}

/// The right-hand side of a rule, or a pattern.
#[derive(Debug)]
pub(super) enum Expression<'t> {
    Rule(Place, &'t str),
    Quoted(Place, &'t str),
    Pattern(Place, &'t str),
    Any,
    Seq(Vec<Expression<'t>>),
    Alt(Vec<Expression<'t>>),
    Repeat(Box<Expression<'t>>, Times),
}

/// A repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Times {
    AtMostOnce,
    AtLeastOnce,
    AnyNumber,
}

/// Parses the rules of `text`; there is at least one.
pub(super) fn rules(text: &str) -> Result<Vec<Rule<'_>>, EbnfError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let mut rules = Vec::new();
    while parser.kind() != Kind::End || rules.is_empty() {
        let place = parser.place();
        let Kind::Name(name) = parser.kind() else {
            return Err(parser.expected("a rule name"));
        };
        parser.at += 1;
        if parser.kind() != Kind::Defines {
            return Err(parser.expected("\"=\""));
        }
        parser.at += 1;
        let body = parser.alternatives(0)?;
        if !parser.takes(';') && !parser.is_at_rule() && parser.kind() != Kind::End {
            return Err(parser.expected("\";\" or more of the rule"));
        }
        rules.push(Rule { place, name, body });
    }
    Ok(rules)
}

/// Parses `text` as a single expression.
pub(super) fn expression(text: &str) -> Result<Expression<'_>, EbnfError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let expression = parser.alternatives(0)?;
    match parser.kind() {
        Kind::End => Ok(expression),
        _ => Err(parser.expected("more of the pattern")),
    }
}

impl<'t> Expression<'t> {
    /// The texts in quotes, in order.
    pub(super) fn quoted(&self, into: &mut Vec<&'t str>) {
        match self {
            Expression::Quoted(_, text) => into.push(text),
            Expression::Seq(all) | Expression::Alt(all) => {
                all.iter().for_each(|inner| inner.quoted(into));
            }
            Expression::Repeat(inner, _) => inner.quoted(into),
            Expression::Rule(..) | Expression::Pattern(..) | Expression::Any => {}
        }
    }
}

struct Parser<'t> {
    /// The last token is the end, and is never consumed.
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn alternatives(&mut self, depth: usize) -> Result<Expression<'t>, EbnfError> {
        let mut choices = vec![self.sequence(depth)?];
        while self.takes('|') {
            choices.push(self.sequence(depth)?);
        }
        Ok(single(choices).unwrap_or_else(Expression::Alt))
    }

    fn sequence(&mut self, depth: usize) -> Result<Expression<'t>, EbnfError> {
        let mut parts = Vec::new();
        while let Some(part) = self.element(depth)? {
            parts.push(part);
            if self.takes(',') && !self.is_at_element() {
                return Err(self.expected("an expression after \",\""));
            }
        }
        Ok(single(parts).unwrap_or_else(Expression::Seq))
    }

    /// Parses a rule name, terminal or bracket with its repetition; `None` if there is none here.
    fn element(&mut self, depth: usize) -> Result<Option<Expression<'t>>, EbnfError> {
        if !self.is_at_element() {
            return Ok(None);
        }
        let Token { place, kind } = self.tokens[self.at];
        self.at += 1;
        let element = match kind {
            Kind::Name(name) => Expression::Rule(place, name),
            Kind::Quoted(text) => Expression::Quoted(place, text),
            Kind::Pattern(text) => Expression::Pattern(place, text),
            Kind::Sign('(') => self.group(place, depth, ')', "\")\"")?,
            Kind::Sign('[') => {
                let inner = self.group(place, depth, ']', "\"]\"")?;
                Expression::Repeat(Box::new(inner), Times::AtMostOnce)
            }
            Kind::Sign('{') => {
                let inner = self.group(place, depth, '}', "\"}\"")?;
                Expression::Repeat(Box::new(inner), Times::AnyNumber)
            }
            _ => Expression::Any,
        };
        Ok(Some(self.repeated(element)))
    }

    fn group(
        &mut self,
        place: Place,
        depth: usize,
        close: char,
        expected: &'static str,
    ) -> Result<Expression<'t>, EbnfError> {
        if MAX_DEPTH <= depth {
            return Err(Problem::TooDeep.at(place));
        }
        let inner = self.alternatives(depth + 1)?;
        if self.takes(close) { Ok(inner) } else { Err(self.expected(expected)) }
    }

    /// Applies all repetition signs that follow, merged into one: `x+?` and `x?*` are `x*`.
    fn repeated(&mut self, element: Expression<'t>) -> Expression<'t> {
        let mut all: Option<Times> = None;
        loop {
            let times = match self.kind() {
                Kind::Sign('?') => Times::AtMostOnce,
                Kind::Sign('+') => Times::AtLeastOnce,
                Kind::Sign('*') => Times::AnyNumber,
                _ => break,
            };
            self.at += 1;
            let is_other = all.is_some_and(|all| all != times);
            all = Some(if is_other { Times::AnyNumber } else { times });
        }
        match all {
            Some(times) => Expression::Repeat(Box::new(element), times),
            None => element,
        }
    }

    fn kind(&self) -> Kind<'t> {
        self.tokens[self.at].kind
    }

    fn place(&self) -> Place {
        self.tokens[self.at].place
    }

    /// Whether a rule begins here: a name followed by `=`.
    fn is_at_rule(&self) -> bool {
        let next = self.tokens.get(self.at + 1).map(|token| token.kind);
        matches!(self.kind(), Kind::Name(_)) && next == Some(Kind::Defines)
    }

    fn is_at_element(&self) -> bool {
        match self.kind() {
            Kind::Name(_) => !self.is_at_rule(),
            Kind::Quoted(_) | Kind::Pattern(_) | Kind::Sign('.' | '(' | '[' | '{') => true,
            _ => false,
        }
    }

    fn takes(&mut self, sign: char) -> bool {
        let is_here = self.kind() == Kind::Sign(sign);
        self.at += usize::from(is_here);
        is_here
    }

    fn expected(&self, expected: &'static str) -> EbnfError {
        Problem::Expected { expected, found: self.kind().describe() }.at(self.place())
    }
}

/// Unwraps a single expression; otherwise returns all of them.
fn single<'t>(mut all: Vec<Expression<'t>>) -> Result<Expression<'t>, Vec<Expression<'t>>> {
    match all.pop() {
        Some(only) if all.is_empty() => Ok(only),
        last => {
            all.extend(last);
            Err(all)
        }
    }
}
