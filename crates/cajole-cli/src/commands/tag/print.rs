//! Prints what was found, in the requested format.

use cajole_core::Symbol;
use cajole_infer::record::{Answered, Record};
use cajole_rules::Vocabulary;
use cajole_tasks::srl::Query;
use cajole_treebank::roles::show::{Bracketing, bio_columns, conll2012, props};
use cajole_treebank::roles::{Argument, Proposition, RoleFault};
use serde_json::Value;

use super::Format;
use super::trees::Sentence;
use crate::commands::parse::with_source;
use crate::screen;

pub(super) struct Printer<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) format: Format,
    /// Whether there are several sources.
    pub(super) several: bool,
}

impl Printer<'_> {
    /// The lines of one sentence; empty if it is bad, except as JSON.
    ///
    /// # Errors
    /// If the format cannot hold it.
    pub(super) fn show(
        &self,
        name: &str,
        sentence: Sentence,
        record: &Record,
    ) -> Result<Option<String>, RoleFault> {
        if self.format == Format::Json {
            return Ok(Some(with_source(record, self.several.then_some(name))));
        }
        let (Some(query), Ok(answers)) = (sentence.query, &record.answers) else { return Ok(None) };
        let tree = query.tree.clone();
        let tagged = || {
            let mut tagged = query.clone().sentence(self.propositions(&query, answers));
            tagged.tree = tree;
            tagged
        };
        let text = match self.format {
            Format::Text | Format::Json => text(&query, answers),
            Format::Bio => bio_columns(&tagged()),
            Format::Conll => conll2012(&tagged())?,
            Format::Props => props(&tagged())?,
        };
        Ok(Some(text))
    }

    /// The predicates with the tags that were found.
    fn propositions(&self, query: &Query, answers: &[Answered]) -> Vec<Proposition> {
        let name = |&symbol: &Symbol| self.vocabulary.name(symbol).to_owned();
        let proposition = |(i, answer): (usize, &Answered)| {
            let given = query.predicates.as_ref().and_then(|given| given.get(i));
            Proposition {
                predicate: predicate(answer),
                lemma: text_of(answer.fields.get("lemma")),
                roleset: given.map(|given| given.roleset.clone()).unwrap_or_default(),
                tags: answer.answer.output.iter().map(name).collect(),
            }
        };
        answers.iter().enumerate().map(proposition).collect()
    }
}

fn text(Query { tokens, tree, .. }: &Query, answers: &[Answered]) -> String {
    if answers.is_empty() {
        return tokens.join(" ");
    }
    let (width, colour) = (screen::width(), screen::has_colour());
    let mut lines = Vec::new();
    for answer in answers {
        let predicate = predicate(answer);
        if let Some(trace) = &answer.trace {
            let mut study = trace.study.clone();
            study.title = format!("{}, step by step", tokens[predicate]);
            if tree.is_none() {
                study.note = "There is no tree, so arguments may be any words.".to_owned();
            }
            lines.push(study.to_text(width, colour));
        }
        let wrong: Vec<_> = answer.answer.faults.iter().map(|fault| fault.at.clone()).collect();
        let arguments = arguments(answer);
        let shown = Bracketing { tokens, predicate, arguments: &arguments, wrong: &wrong };
        lines.push(if colour { shown.in_colour() } else { shown.to_string() });
    }
    lines.join("\n")
}

fn predicate(answer: &Answered) -> usize {
    let predicate = answer.fields.get("predicate").and_then(Value::as_u64);
    predicate.map_or(0, |predicate| predicate as usize)
}

fn arguments(answer: &Answered) -> Vec<Argument> {
    let place = |value: &Value, key: &str| value[key].as_u64().map(|n| n as usize);
    let argument = |value: &Value| {
        let at = place(value, "start")?..place(value, "end")?;
        Some(Argument { at, role: text_of(value.get("role")) })
    };
    let arguments = answer.fields.get("arguments").and_then(Value::as_array);
    arguments.into_iter().flatten().filter_map(argument).collect()
}

fn text_of(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
