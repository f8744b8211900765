//! Encoders that label words: BERT, RoBERTa, DistilBERT for token classification. Rules apply to
//! the words' tags, and to the spans that BIO tags form.

use std::ops::Range;
use std::path::Path;

use cajole_core::Symbol;
use cajole_core::constraints::{Span, TagSet, TagSetError};
use cajole_nn::import::huggingface::Folder;
use cajole_nn::models::transformer::{EncoderTagger, Pieces};
use cajole_nn::{Tagging, Trained};
use cajole_report::Piece;
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::words::Tokens;
use cajole_treebank::tokenize;
use serde_json::{Map, Value, json};

use crate::engine::{Engine, Limits, Rival};
use crate::fingerprint;
use crate::line::{Line, LineError, list};
use crate::study;
use crate::task::{Case, Display, Output, Search, Task};

use super::tags;

type Net = Trained<Tagging<EncoderTagger>>;

/// A network that gives every word a label.
pub struct Labels {
    model: Net,
    tokens: Tokens,
    vocabulary: Vocabulary,
    presets: Presets,
}

/// Why the right labels of a line cannot be used.
#[derive(Debug, thiserror::Error)]
enum GoldError {
    #[error("there are {tags} labels for {words} words")]
    Length { tags: usize, words: usize },
    #[error("the network has no label {name:?}")]
    Unknown { name: String },
}

impl Labels {
    /// Opens a Hugging Face folder.
    ///
    /// # Errors
    /// If a file is missing, damaged, or another network's.
    pub fn open(path: &Path) -> Result<Labels, LoadError> {
        let folder = Folder::open(path)?;
        let imported = folder.tagger::<Pieces>()?;
        let n_symbols = imported.net.config.embedding.symbols;
        let tokens = Tokens::open(path, n_symbols)?;
        tokens.check(n_symbols)?;
        let vocabulary = Vocabulary::new(imported.labels.iter().cloned(), " ");
        let tags = tag_set(&imported.labels).map_err(|source| {
            let path = path.join("config.json");
            LoadError::Tags { path, source }
        })?;
        let model = Trained::new(Tagging { net: imported.net, tags }, imported.weights);
        Ok(Labels { model, tokens, vocabulary, presets: Presets::built_in(Presets::LABELS) })
    }

    fn tags(&self) -> &TagSet {
        &self.model.net.tags
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
}

/// Labels as tags for decoders. If they are not BIO tags, any label may follow any other: each is a
/// span of its own, and the first stands for `O`.
fn tag_set(labels: &[String]) -> Result<TagSet, TagSetError> {
    TagSet::new(labels.iter().cloned()).or_else(|_| {
        let others = labels.iter().skip(1).map(|label| format!("B-{label}"));
        TagSet::new(["O".to_owned()].into_iter().chain(others))
    })
}

impl Task for Labels {
    const NAME: &'static str = "labels";
    const DISPLAY: Display = Display::Roles;
    type Model = Net;
    type Input = Pieces;

    fn model(&self) -> &Net {
        &self.model
    }

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.model.weights())
    }

    fn cases(&self, line: &Line, _: &Rules<'_>) -> Result<Vec<Case<Pieces>>, LineError> {
        let words = self.words(line)?;
        line.check_length(&words)?;
        let input = self.tokens.read_words(&words).map_err(LineError::other)?;
        line.check_length(&input.pieces)?;
        self.model.net.net.check(&input).map_err(LineError::other)?;
        let gold = line.gold().map(|gold| self.gold(gold, words.len())).transpose()?;
        let value = json!(words);
        Ok(vec![Case { input, subject: Subject::new(words, value), gold }])
    }

    fn about(&self, case: &Case<Pieces>) -> Map<String, Value> {
        Map::from_iter([("tokens".to_owned(), json!(*case.subject.symbols))])
    }

    fn record(&self, case: &Case<Pieces>, y: &[Symbol]) -> Map<String, Value> {
        let tokens = &case.subject.symbols;
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
    fn pieces(&self, case: &Case<Pieces>, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
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

    fn engines(&self) -> Vec<Engine> {
        tags::engines()
    }

    fn rival<'a>(
        &'a self,
        rival: Rival,
        _: &'a Rules<'_>,
        limits: &Limits,
    ) -> Option<Search<'a, Net>> {
        Some(tags::rival(self.tags(), rival, limits))
    }

    /// F1 of labelled spans.
    fn score(&self, outputs: &[Output<'_, Pieces>]) -> (&'static str, f64) {
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
