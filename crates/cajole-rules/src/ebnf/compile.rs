//! Compiles expressions to grammars and languages over symbols.

use std::collections::HashMap;

use cajole_core::Symbol;
use cajole_core::constraints::{Automaton, Element, Grammar, Language, Production, State};
use cajole_files::Place;

use super::parse::{Expression, Rule, Times};
use super::{EbnfError, Problem};
use crate::limits::MOST_PATTERN_STATES;
use crate::pattern;
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
            return Err(Problem::DefinedTwice(rule.name.to_owned()).at(rule.place));
        }
    }
    let start = match start {
        None => 0,
        Some(name) => *numbers
            .get(name)
            .ok_or_else(|| Problem::UndefinedRule(name.to_owned()).at(Place::START))?,
    };
    let n_variables = rules.len();
    let productions = Vec::new();
    let mut compiler =
        Compiler { vocabulary, numbers, n_variables, productions, character: None, n_states: 0 };
    for (head, rule) in rules.iter().enumerate() {
        compiler.choices(head, &rule.body)?;
    }
    let place = rules[start].place;
    let grammar = Grammar::new(vocabulary.len(), start, compiler.productions);
    grammar.map_err(|problem| Problem::from(problem).at(place))
}

struct Compiler<'a> {
    vocabulary: &'a Vocabulary,
    numbers: HashMap<&'a str, usize>,
    n_variables: usize,
    productions: Vec<Production>,
    /// The variable of all characters, once there is one.
    character: Option<usize>,
    /// The states of all regular expressions so far.
    n_states: usize,
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
                None => return Err(Problem::UndefinedRule((*name).to_owned()).at(*place)),
            },
            Expression::Quoted(place, text) => {
                let word = self.vocabulary.read(text).map_err(|e| Problem::from(e).at(*place))?;
                body.extend(word.into_iter().map(Element::Symbol));
            }
            Expression::Pattern(place, text) => body.push(self.pattern(*place, text)?),
            Expression::Any if self.vocabulary.is_text() => body.push(self.any_character()),
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

    /// A variable for any one character.
    fn any_character(&mut self) -> Element {
        let head = match self.character {
            Some(head) => head,
            None => {
                let head = self.variable();
                let element = |&(first, last): &(u8, u8)| Element::Range(first.into(), last.into());
                let bodies = CHARACTERS.iter().map(|bytes| bytes.iter().map(element).collect());
                self.productions.extend(bodies.map(|body| Production { head, body }));
                *self.character.insert(head)
            }
        };
        Element::Variable(head)
    }

    /// A variable for all texts that match a regular expression: one for each of its states.
    fn pattern(&mut self, place: Place, text: &str) -> Result<Element, EbnfError> {
        if !self.vocabulary.is_text() {
            return Err(Problem::NoText(text.to_owned()).at(place));
        }
        let dfa = pattern::over_symbols(text, pattern::Text::Unicode, self.vocabulary)
            .map_err(|error| Problem::from(error).at(place))?;
        if MOST_PATTERN_STATES < self.n_states + dfa.n_states() {
            return Err(Problem::TooLarge(MOST_PATTERN_STATES, "states").at(place));
        }
        let first = self.n_variables;
        self.n_variables += dfa.n_states();
        self.n_states += dfa.n_states();
        for state in dfa.states() {
            let head = first + state.index();
            if dfa.accepts(state) {
                self.productions.push(Production { head, body: Vec::new() });
            }
            let mut ranges: Vec<(Symbol, Symbol, State)> = Vec::new();
            for (symbol, to) in dfa.symbols(state) {
                match ranges.last_mut() {
                    Some((_, last, same)) if *last + 1 == symbol && *same == to => *last = symbol,
                    _ => ranges.push((symbol, symbol, to)),
                }
            }
            self.productions.extend(ranges.into_iter().map(|(from, last, to)| Production {
                head,
                body: vec![Element::Range(from, last), Element::Variable(first + to.index())],
            }));
        }
        Ok(Element::Variable(first + dfa.start().index()))
    }

    fn variable(&mut self) -> usize {
        self.n_variables += 1;
        self.n_variables - 1
    }
}

/// The characters of UTF-8, as ranges of bytes.
const CHARACTERS: [&[(u8, u8)]; 9] = [
    &[(0x00, 0x7f)],
    &[(0xc2, 0xdf), (0x80, 0xbf)],
    &[(0xe0, 0xe0), (0xa0, 0xbf), (0x80, 0xbf)],
    &[(0xe1, 0xec), (0x80, 0xbf), (0x80, 0xbf)],
    &[(0xed, 0xed), (0x80, 0x9f), (0x80, 0xbf)],
    &[(0xee, 0xef), (0x80, 0xbf), (0x80, 0xbf)],
    &[(0xf0, 0xf0), (0x90, 0xbf), (0x80, 0xbf), (0x80, 0xbf)],
    &[(0xf1, 0xf3), (0x80, 0xbf), (0x80, 0xbf), (0x80, 0xbf)],
    &[(0xf4, 0xf4), (0x80, 0x8f), (0x80, 0xbf), (0x80, 0xbf)],
];

/// Any one character.
fn any_character() -> Language {
    let range = |&(first, last): &(u8, u8)| Language::Range(first.into(), last.into());
    let bytes = |bytes: &&[(u8, u8)]| Language::Seq(bytes.iter().map(range).collect());
    Language::Alt(CHARACTERS.iter().map(bytes).collect())
}

/// The maximum number of elements in a pattern; `a+` counts twice.
const MAX_ELEMENTS: usize = 20_000;

/// The language of a pattern.
pub(super) fn language(
    pattern: &Expression<'_>,
    vocabulary: &Vocabulary,
) -> Result<Language, EbnfError> {
    let any = if vocabulary.is_text() { CHARACTERS.len() } else { 1 };
    match size(pattern, any) <= MAX_ELEMENTS {
        true => strings(pattern, vocabulary),
        false => Err(Problem::TooLarge(MAX_ELEMENTS, "elements").at(Place::START)),
    }
}

fn strings(pattern: &Expression<'_>, vocabulary: &Vocabulary) -> Result<Language, EbnfError> {
    let all = |parts: &[Expression<'_>]| -> Result<Vec<Language>, EbnfError> {
        parts.iter().map(|part| strings(part, vocabulary)).collect()
    };
    Ok(match pattern {
        Expression::Rule(place, name) => {
            return Err(Problem::RuleInPattern((*name).to_owned()).at(*place));
        }
        Expression::Quoted(place, text) => {
            Language::word(&vocabulary.read(text).map_err(|e| Problem::from(e).at(*place))?)
        }
        Expression::Pattern(place, text) => {
            return Err(Problem::NoText((*text).to_owned()).at(*place));
        }
        Expression::Any if vocabulary.is_text() => any_character(),
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

/// An upper bound on the number of elements in a pattern's language, where any symbol is `any`.
fn size(pattern: &Expression<'_>, any: usize) -> usize {
    let all = |parts: &[Expression<'_>]| {
        parts.iter().map(|p| size(p, any)).fold(1, usize::saturating_add)
    };
    match pattern {
        Expression::Rule(..) | Expression::Pattern(..) => 1,
        Expression::Any => any,
        Expression::Quoted(_, text) => text.len() + 1,
        Expression::Seq(parts) | Expression::Alt(parts) => all(parts),
        Expression::Repeat(inner, Times::AtLeastOnce) => {
            size(inner, any).saturating_mul(2).saturating_add(2)
        }
        Expression::Repeat(inner, _) => size(inner, any).saturating_add(2),
    }
}
