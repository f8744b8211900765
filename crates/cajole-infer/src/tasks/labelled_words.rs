//! Shared by all networks that label words, wherever they are computed: how lines become words and
//! pieces, and how labels are written and scored.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use cajole_core::Symbol;
use cajole_core::constraints::{Span, TagSet, TagSetError};
use cajole_report::Piece;
use cajole_rules::{Subject, Vocabulary};
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::words::Tokens;
use cajole_treebank::tokenize;
use serde_json::{Map, Value, json};

use crate::case::{Case, Output};
use crate::line::{Line, LineError, list};
use crate::study;

/// A tokenizer, and the labels that words get.
pub struct LabelledWords {
    tokens: Tokens,
    vocabulary: Arc<Vocabulary>,
    tags: TagSet,
}

/// Why the right labels of a line cannot be used.
#[derive(Debug, thiserror::Error)]
enum GoldError {
    #[error("there are {tags} labels for {words} words")]
    Length { tags: usize, words: usize },
    #[error("the network has no label {name:?}")]
    Unknown { name: String },
}

impl LabelledWords {
    /// The tokenizer in this folder, for a network that reads so many symbols.
    ///
    /// # Errors
    /// If it is missing, damaged, or another network's, or labels are not what they should be.
    pub fn open(folder: &Path, reads: usize, labels: &[String]) -> Result<Self, LoadError> {
        let tokens = Tokens::open(folder, reads)?;
        tokens.check(reads)?;
        let vocabulary = Arc::new(Vocabulary::new(labels.iter().cloned(), " "));
        let tags = tag_set(labels).map_err(|source| {
            let path = folder.join("config.json");
            LoadError::Tags { path, source }
        })?;
        Ok(LabelledWords { tokens, vocabulary, tags })
    }

    /// The labels.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The labels as tags for decoders.
    pub fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// Reads a line: the pieces of its words, what rules see, and the right labels.
    ///
    /// # Errors
    /// If it has no words, a word has no piece, or there are too many.
    pub fn read(&self, line: &Line) -> Result<Case, LineError> {
        let words = self.words(line)?;
        line.check_length(&words)?;
        let input = self.tokens.read_words(&words).map_err(LineError::other)?;
        line.check_length(&input.pieces)?;
        let gold = line.gold().map(|gold| self.gold(gold, words.len())).transpose()?;
        let value = json!(words);
        Ok(Case::new(input, Subject::new(words, value)).with_gold(gold))
    }

    /// The labelled spans of an output; without BIO tags, every word with a label.
    fn spans(&self, y: &[Symbol]) -> Vec<(Range<usize>, &str)> {
        match self.vocabulary.tags() {
            Some(tags) => {
                let named = |span: Span| (span.at(), tags.role_name(span.role));
                tags.iter_spans(y).map(named).collect()
            }
            None => {
                let named =
                    |(t, &symbol): (usize, &Symbol)| (t..t + 1, self.vocabulary.name(symbol));
                y.iter().enumerate().map(named).collect()
            }
        }
    }

    /// The words of a line, from `tokens`, `input` or `text`: a list, or a text that is split into
    /// words.
    fn words(&self, line: &Line) -> Result<Vec<String>, LineError> {
        let given = ["tokens", "input", "text"];
        let given = given.iter().find_map(|field| Some((*field, line.fields.get(*field)?)));
        let (field, value) = match given {
            Some((field, value)) => (field, value.clone()),
            None => ("input", line.input()?),
        };
        let words = list(field, &value)?;
        let words = words.unwrap_or_else(|| tokenize(value.as_str().unwrap_or_default()));
        match words.is_empty() {
            true => Err(LineError::NoInput),
            false => Ok(words),
        }
    }

    /// The right labels of these words.
    fn gold(&self, value: &Value, words: usize) -> Result<Vec<Symbol>, LineError> {
        let names = list("output", value)?.unwrap_or_else(|| {
            value.as_str().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
        });
        if names.len() != words {
            return Err(LineError::other(GoldError::Length { tags: names.len(), words }));
        }
        let symbol = |name: String| {
            self.vocabulary
                .symbol(&name)
                .ok_or_else(|| LineError::other(GoldError::Unknown { name }))
        };
        names.into_iter().map(symbol).collect()
    }

    /// The words of an input.
    pub fn about(&self, subject: &Subject) -> Map<String, Value> {
        Map::from_iter([("tokens".to_owned(), json!(*subject.symbols))])
    }

    /// Labels, and the spans that they form.
    pub fn record(&self, subject: &Subject, y: &[Symbol]) -> Map<String, Value> {
        let tokens = &subject.symbols;
        let spans = self.spans(y).into_iter().map(|(at, role)| {
            let text = tokens.get(at.clone()).unwrap_or_default().join(" ");
            json!({"role": role, "start": at.start, "end": at.end, "text": text})
        });
        Map::from_iter([
            ("output".to_owned(), json!(self.vocabulary.text(y))),
            ("arguments".to_owned(), spans.collect()),
        ])
    }

    /// Every word with its label.
    pub fn pieces(&self, case: &Case, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        let word = |t: usize| case.subject.symbols.get(t).map_or("", String::as_str);
        let shown = |t: usize| match self.vocabulary.name(y[t]) {
            "O" => word(t).to_owned(),
            label => format!("{}/{label}", word(t)),
        };
        let runs = study::runs(y, case.gold.as_deref(), blamed).into_iter();
        let mut pieces: Vec<Piece> = Vec::new();
        for (at, wrong) in runs {
            if let Some(last) = pieces.last_mut() {
                last.text.push(' ');
            }
            pieces.push(Piece { text: at.map(shown).collect::<Vec<_>>().join(" "), wrong });
        }
        pieces
    }

    /// F1 of labelled spans.
    pub fn score(&self, outputs: &[Output<'_>]) -> (&'static str, f64) {
        let (mut right, mut said, mut wanted) = (0, 0, 0);
        for (case, y) in outputs {
            let Some(gold) = &case.gold else { continue };
            let (own, gold) = (self.spans(y), self.spans(gold));
            right += own.iter().filter(|span| gold.contains(span)).count();
            (said, wanted) = (said + own.len(), wanted + gold.len());
        }
        ("F1", 200.0 * right as f64 / (said + wanted).max(1) as f64)
    }
}

/// Labels as tags for decoders. If they are not BIO tags, any label may follow any other: each is a
/// span of its own, and the first stands for `O`.
fn tag_set(labels: &[String]) -> Result<TagSet, TagSetError> {
    TagSet::new(labels.iter().cloned()).or_else(|_| {
        let others = labels.iter().skip(1).map(|label| format!("B-{label}"));
        TagSet::new(["O".to_owned()].into_iter().chain(others))
    })
}
