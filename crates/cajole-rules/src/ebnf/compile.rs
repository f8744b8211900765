//! Compiles expressions to grammars and languages over symbols.

use std::collections::HashMap;

use cajole_core::constraints::{Element, Grammar, Language, Production};

use super::parse::{Expression, Rule, Times};
use super::{EbnfError, Place, Problem};
use crate::vocabulary::Vocabulary;

/// The grammar of `rules`: one variable per rule, and one per nested choice or repetition.
pub(super) fn grammar(
    rules: &[Rule<'_>],
    start: Option<&str>,
    vocabulary: &Vocabulary,
) -> Result<Grammar, EbnfError> {
    let mut numbers = HashMap::new();
    for (number, rule) in rules.iter().enumerate() {
        if numbers.insert(rule.name, number).is_some() {
            return Err(rule.place.error(Problem::DefinedTwice(rule.name.to_owned())));
        }
    }
    let start = match start {
        None => 0,
        Some(name) => *numbers
            .get(name)
            .ok_or_else(|| Place::START.error(Problem::UndefinedRule(name.to_owned())))?,
    };
    let n_variables = rules.len();
    let mut compiler = Compiler { vocabulary, numbers, n_variables, productions: Vec::new() };
    for (head, rule) in rules.iter().enumerate() {
        compiler.choices(head, &rule.body)?;
    }
    let place = rules[start].place;
    let grammar = Grammar::new(vocabulary.len(), start, compiler.productions);
    grammar.map_err(|problem| place.error(problem.into()))
}

struct Compiler<'a> {
    vocabulary: &'a Vocabulary,
    numbers: HashMap<&'a str, usize>,
    n_variables: usize,
    productions: Vec<Production>,
}

impl Compiler<'_> {
    /// Adds a production of `head` for each alternative of `expression`.
    fn choices(&mut self, head: usize, expression: &Expression<'_>) -> Result<(), EbnfError> {
        let choices = match expression {
            Expression::Alt(choices) => choices.as_slice(),
            only => std::slice::from_ref(only),
        };
        for choice in choices {
            let mut body = Vec::new();
            self.append(choice, &mut body)?;
            self.productions.push(Production { head, body });
        }
        Ok(())
    }

    /// Appends `expression` to the body of a production.
    fn append(
        &mut self,
        expression: &Expression<'_>,
        body: &mut Vec<Element>,
    ) -> Result<(), EbnfError> {
        match expression {
            Expression::Rule(place, name) => match self.numbers.get(name) {
                Some(&number) => body.push(Element::Variable(number)),
                None => return Err(place.error(Problem::UndefinedRule((*name).to_owned()))),
            },
            Expression::Quoted(place, text) => {
                let word = self.vocabulary.read(text).map_err(|e| place.error(e.into()))?;
                body.extend(word.into_iter().map(Element::Symbol));
            }
            Expression::Any => body.push(Element::Any),
            Expression::Seq(parts) => {
                return parts.iter().try_for_each(|part| self.append(part, body));
            }
            Expression::Alt(_) => {
                let inner = self.variable();
                self.choices(inner, expression)?;
                body.push(Element::Variable(inner));
            }
            Expression::Repeat(inner, times) => {
                let repeated = self.repeat(inner, *times)?;
                body.push(Element::Variable(repeated));
            }
        }
        Ok(())
    }

    /// A variable for a repetition of `inner`; left-recursive, which keeps prefixes shortest.
    fn repeat(&mut self, inner: &Expression<'_>, times: Times) -> Result<usize, EbnfError> {
        let head = self.variable();
        if times != Times::AtLeastOnce {
            self.productions.push(Production { head, body: Vec::new() });
        }
        let mut once = Vec::new();
        self.append(inner, &mut once)?;
        if times != Times::AtMostOnce {
            let body = [&[Element::Variable(head)], once.as_slice()].concat();
            self.productions.push(Production { head, body });
        }
        if times != Times::AnyNumber {
            self.productions.push(Production { head, body: once });
        }
        Ok(head)
    }

    fn variable(&mut self) -> usize {
        self.n_variables += 1;
        self.n_variables - 1
    }
}

/// The maximum number of elements in a pattern; `a+` counts twice.
const MAX_ELEMENTS: usize = 20_000;

/// The language of a pattern.
pub(super) fn language(
    pattern: &Expression<'_>,
    vocabulary: &Vocabulary,
) -> Result<Language, EbnfError> {
    match size(pattern) <= MAX_ELEMENTS {
        true => strings(pattern, vocabulary),
        false => Err(Place::START.error(Problem::TooLarge(MAX_ELEMENTS, "elements"))),
    }
}

fn strings(pattern: &Expression<'_>, vocabulary: &Vocabulary) -> Result<Language, EbnfError> {
    let all = |parts: &[Expression<'_>]| -> Result<Vec<Language>, EbnfError> {
        parts.iter().map(|part| strings(part, vocabulary)).collect()
    };
    Ok(match pattern {
        Expression::Rule(place, name) => {
            return Err(place.error(Problem::RuleInPattern((*name).to_owned())));
        }
        Expression::Quoted(place, text) => {
            Language::word(&vocabulary.read(text).map_err(|e| place.error(e.into()))?)
        }
        Expression::Any => Language::Any,
        Expression::Seq(parts) => Language::Seq(all(parts)?),
        Expression::Alt(choices) => Language::Alt(all(choices)?),
        Expression::Repeat(inner, times) => {
            let inner = strings(inner, vocabulary)?;
            match times {
                Times::AtMostOnce => inner.optional(),
                Times::AnyNumber => inner.star(),
                Times::AtLeastOnce => inner.clone().then(inner.star()),
            }
        }
    })
}

/// An upper bound on the number of elements in a pattern's language.
fn size(pattern: &Expression<'_>) -> usize {
    let all = |parts: &[Expression<'_>]| parts.iter().map(size).fold(1, usize::saturating_add);
    match pattern {
        Expression::Rule(..) | Expression::Any => 1,
        Expression::Quoted(_, text) => text.len() + 1,
        Expression::Seq(parts) | Expression::Alt(parts) => all(parts),
        Expression::Repeat(inner, Times::AtLeastOnce) => {
            size(inner).saturating_mul(2).saturating_add(2)
        }
        Expression::Repeat(inner, _) => size(inner).saturating_add(2),
    }
}
