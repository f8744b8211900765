//! What was found, in the format that was asked for.

use cajole_core::{Stop, Symbol};
use cajole_tasks::srl::show::{Bracketing, bio_columns, conll2012, props};
use cajole_tasks::srl::{
    Proposition, RoleFault, RoleTagger, Sentence, faults_in_words, trace_of, wrong_spans,
};
use serde_json::{Value, json};

use super::{Asked, Found};
use crate::args::Format;
use crate::screen;

pub(super) struct Printer<'a> {
    pub(super) tagger: &'a RoleTagger,
    pub(super) format: Format,
    pub(super) explain: bool,
}

impl Printer<'_> {
    /// The lines of one sentence.
    ///
    /// # Errors
    /// If the format cannot hold it.
    pub(super) fn show(&self, asked: &Asked, found: &[Found]) -> Result<String, RoleFault> {
        match self.format {
            Format::Text => Ok(self.text(&asked.sentence, found)),
            Format::Json => Ok(self.json(asked, found)),
            Format::Bio => Ok(bio_columns(&self.answered(&asked.sentence, found))),
            Format::Conll => conll2012(&self.answered(&asked.sentence, found)),
            Format::Props => props(&self.answered(&asked.sentence, found)),
        }
    }

    /// The sentence with the tags that were found.
    fn answered(&self, sentence: &Sentence, found: &[Found]) -> Sentence {
        let propositions = sentence.propositions.iter().zip(found);
        let propositions = propositions.map(|(asked, found)| Proposition {
            tags: self.tags(&found.outcome.output),
            ..asked.clone()
        });
        Sentence { propositions: propositions.collect(), ..sentence.clone() }
    }

    fn tags(&self, y: &[Symbol]) -> Vec<String> {
        let name = |&symbol: &Symbol| self.tagger.vocabulary.tags.name(symbol).unwrap_or("O");
        y.iter().map(|symbol| name(symbol).to_owned()).collect()
    }

    fn text(&self, Sentence { tokens, .. }: &Sentence, found: &[Found]) -> String {
        if found.is_empty() {
            return tokens.join(" ");
        }
        let (width, colour) = (screen::width(), screen::has_colour());
        let mut lines = Vec::new();
        for Found { x, outcome } in found {
            if self.explain {
                let title = format!("{}, step by step", tokens[x.features.predicate]);
                lines.push(trace_of(title, self.tagger, tokens, x, outcome).to_text(width, colour));
            }
            let shown = Bracketing {
                tokens,
                predicate: x.features.predicate,
                arguments: &self.tagger.vocabulary.arguments(&outcome.output),
                wrong: &wrong_spans(self.tagger, x, &outcome.output),
            };
            lines.push(if colour { shown.in_colour() } else { shown.to_string() });
        }
        lines.join("\n")
    }

    /// A line for each predicate, or one that says that there is none.
    fn json(&self, asked: &Asked, found: &[Found]) -> String {
        let Asked { source, line, sentence, tree_of } = asked;
        let about = json!({
            "source": source,
            "line": line,
            "id": Some(&sentence.id).filter(|id| !id.is_empty()),
            "tokens": sentence.tokens,
            "tree": tree_of,
            "predicate": null,
            "arguments": [],
        });
        if found.is_empty() {
            return about.to_string();
        }
        let propositions = sentence.propositions.iter().zip(found);
        let lines = propositions.map(|(proposition, found)| {
            let mut line = about.clone();
            self.answer(&mut line, sentence, proposition, found);
            line.to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn answer(
        &self,
        line: &mut Value,
        Sentence { tokens, .. }: &Sentence,
        proposition: &Proposition,
        Found { x, outcome }: &Found,
    ) {
        let arguments = self.tagger.vocabulary.arguments(&outcome.output).into_iter();
        let arguments = arguments.map(|argument| {
            json!({
                "role": argument.role,
                "start": argument.at.start,
                "end": argument.at.end,
                "text": tokens[argument.at].join(" "),
            })
        });
        line["predicate"] = json!(proposition.predicate);
        line["lemma"] = json!(proposition.lemma);
        line["arguments"] = arguments.collect();
        line["tags"] = json!(self.tags(&outcome.output));
        line["status"] = json!(match outcome.stop {
            _ if x.brackets.is_none() => "unconstrained",
            Stop::AlreadySatisfied => "satisfied",
            Stop::Satisfied => "converted",
            _ => "unsatisfied",
        });
        line["stop"] = json!(outcome.stop);
        line["g_before"] = json!(outcome.g_before);
        line["g_after"] = json!(outcome.g_after);
        line["steps"] = json!(outcome.steps);
        line["passes"] = json!(outcome.passes);
        if self.explain {
            let case = trace_of(String::new(), self.tagger, tokens, x, outcome);
            let steps = case.steps.iter().zip(outcome.trace.changes()).map(|(shown, step)| {
                let y = outcome.trace.output(step);
                let mut value = json!(shown);
                value["tags"] = json!(self.tags(y));
                value["faults"] = json!(faults_in_words(self.tagger, tokens, x, y));
                value
            });
            line["trace"] = steps.collect();
        }
    }
}
