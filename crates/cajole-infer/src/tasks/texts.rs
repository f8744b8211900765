//! Shared by all networks that read and write text, wherever they are computed: how lines become
//! pieces, and how outputs are written and scored.

use std::ops::Range;
use std::sync::Arc;

use cajole_core::Symbol;
use cajole_report::Piece;
use cajole_rules::{Subject, Vocabulary};
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::pairs::Score;
use cajole_tasks::words::Tokens;
use serde_json::{Map, Value, json};

use crate::case::{Case, Output};
use crate::line::{Line, LineError, list};
use crate::study;

/// A tokenizer, and what its pieces write.
pub struct Texts {
    tokens: Tokens,
    vocabulary: Arc<Vocabulary>,
}

/// A line as text and pieces.
pub struct ReadText {
    /// The pieces that the network reads.
    pub pieces: Vec<Symbol>,
    /// The input as rules see it.
    pub subject: Subject,
    /// The right output, as it was given.
    pub right: Option<String>,
    /// The same in pieces, if it can be written.
    pub gold: Option<Vec<Symbol>>,
}

impl Texts {
    /// The tokenizer of a network that reads and writes so many symbols.
    ///
    /// # Errors
    /// If it is another network's, or its pieces have no text of their own.
    pub fn new(tokens: Tokens, reads: usize, writes: usize) -> Result<Texts, LoadError> {
        tokens.check(reads)?;
        let vocabulary = Arc::new(tokens.vocabulary(writes)?);
        Ok(Texts { tokens, vocabulary })
    }

    /// The text that pieces write.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Reads a line.
    ///
    /// # Errors
    /// If it has no text, or the text no pieces or too many.
    pub fn read(&self, line: &Line) -> Result<ReadText, LineError> {
        let text_of = |value: &Value| text("input", value);
        let input = match line.fields.get("text") {
            Some(text) if !line.fields.contains_key("input") => text_of(text)?,
            // Blanks may change the pieces: a line that is a text has those that the field would have.
            None if line.fields.is_empty() && !line.text.trim_start().starts_with('{') => {
                line.text.clone()
            }
            _ => text_of(&line.input()?)?,
        };
        let pieces = self.tokens.read(&input).map_err(LineError::other)?;
        line.check_length(&pieces)?;
        let right = line.gold().map(|gold| text("output", gold)).transpose()?;
        let gold = right.as_deref().and_then(|gold| self.written(gold));
        let words: Vec<String> = input.split_whitespace().map(str::to_owned).collect();
        let subject = Subject::new(words, Value::String(input));
        Ok(ReadText { pieces, subject, right, gold })
    }

    /// The pieces that write a text, without those that write nothing.
    fn written(&self, text: &str) -> Option<Vec<Symbol>> {
        let spelling = self.vocabulary.spelling()?;
        let pieces = self.tokens.read_output(text).ok()?;
        let pieces = pieces.into_iter().filter(|&symbol| !spelling.is_silent(symbol));
        let pieces: Vec<Symbol> = pieces.collect();
        (self.vocabulary.text(&pieces) == text).then_some(pieces)
    }

    /// An output.
    pub fn record(&self, y: &[Symbol]) -> Map<String, Value> {
        Map::from_iter([("output".to_owned(), json!(self.vocabulary.text(y)))])
    }

    /// An output in runs that are right, wrong or blamed.
    pub fn pieces(
        &self,
        y: &[Symbol],
        gold: Option<&[Symbol]>,
        blamed: &[Range<usize>],
    ) -> Vec<Piece> {
        study::runs(y, gold, blamed)
            .into_iter()
            .map(|(at, wrong)| {
                let before = self.vocabulary.text(&y[..at.start]).len();
                let text = self.vocabulary.text(&y[..at.end]);
                Piece { text: text.get(before..).unwrap_or("�").to_owned(), wrong }
            })
            .collect()
    }

    /// The share of characters that need no edit. `right` finds the right output of a case, if it is known.
    pub fn score<'c>(
        &self,
        outputs: &[Output<'c>],
        right: impl Fn(&'c Case) -> Option<&'c str>,
    ) -> (&'static str, f64) {
        let mut total = Score::default();
        for (case, y) in outputs {
            let Some(gold) = right(case) else { continue };
            let gold: Vec<String> = gold.chars().map(String::from).collect();
            let text = self.vocabulary.text(y);
            let ends = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
            total += Score::of(&ends.collect::<Vec<_>>(), &gold);
        }
        ("characters", total.symbols_right())
    }

    /// Whether an output is the right text: it may be written in other pieces.
    pub fn is_right(&self, right: Option<&str>, y: &[Symbol]) -> Option<bool> {
        Some(self.vocabulary.text(y) == right?)
    }
}

/// A field as text; words of a list are joined by blanks.
fn text(field: &'static str, value: &Value) -> Result<String, LineError> {
    let words = list(field, value)?;
    Ok(words.map_or_else(|| value.as_str().unwrap_or_default().to_owned(), |words| words.join(" ")))
}
