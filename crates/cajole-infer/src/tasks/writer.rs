//! Encoder-decoders that write text: BART, Marian, T5. Rules apply to the text.

use std::ops::Range;
use std::path::Path;

use cajole_core::Symbol;
use cajole_core::decoders::Ranking;
use cajole_nn::Trained;
use cajole_nn::import::huggingface::Folder;
use cajole_nn::models::Token;
use cajole_nn::models::transformer::EncoderDecoder;
use cajole_report::Piece;
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::pairs::Score;
use cajole_tasks::words::Tokens;
use cajole_tasks::writer::TextWriter;
use cajole_tasks::{Checkpoint, Presets};
use serde_json::{Map, Value, json};

use super::{huggingface, sequences};
use crate::engine::{Engine, Limits, Rival};
use crate::fingerprint;
use crate::line::{Line, LineError, list};
use crate::study;
use crate::task::{Case, Output, Search, Task};

/// A network that reads a text and writes another.
pub struct Writer {
    model: Trained<EncoderDecoder>,
    tokens: Tokens,
    vocabulary: Vocabulary,
    presets: Presets,
    limits: Limits,
}

/// A text as it is kept: for the network, and for comparison.
#[derive(Clone, Debug)]
pub struct Read {
    pieces: Vec<Token>,
    /// The right output.
    gold: Option<String>,
}

impl std::borrow::Borrow<[Token]> for Read {
    fn borrow(&self) -> &[Token] {
        &self.pieces
    }
}

impl Writer {
    /// Opens a checkpoint, or a Hugging Face folder, whose `generation_config.json` says how wide the
    /// network's own beam is.
    ///
    /// # Errors
    /// If a file is missing, damaged, or another network's.
    pub fn open(path: &Path) -> Result<Writer, LoadError> {
        if huggingface::task_of(path).is_none() {
            return Writer::new(TextWriter::load(path)?.0.model, path);
        }
        let folder = Folder::open(path)?;
        let (net, weights) = folder.encoder_decoder()?;
        let beams = folder.beams()?;
        let mut writer = Writer::new(Trained::new(net, weights), path)?;
        writer.limits.width = beams.width;
        if 1 < beams.width && 0.0 < beams.length_penalty {
            writer.rank(Ranking::PerSymbol);
        }
        Ok(writer)
    }

    /// A network whose `tokenizer.json` is in this folder.
    ///
    /// # Errors
    /// If the tokenizer is missing, damaged, or another network's.
    pub fn new(model: Trained<EncoderDecoder>, folder: &Path) -> Result<Writer, LoadError> {
        let config = &model.net.config;
        let tokens = Tokens::open(folder, config.writes.symbols)?;
        tokens.check(config.reads.symbols)?;
        let vocabulary = tokens.vocabulary(config.writes.symbols)?;
        let presets = Presets::built_in(Presets::WRITER);
        Ok(Writer { model, tokens, vocabulary, presets, limits: Limits::default() })
    }

    /// Ranks outputs of different lengths in this way.
    fn rank(&mut self, ranking: Ranking) {
        self.limits.ranking = ranking;
        let Presets { paper, best, small, .. } = &mut self.presets;
        [paper, best, small].into_iter().for_each(|preset| preset.ranking = ranking);
    }

    /// The pieces that write a text, without those that write nothing.
    fn written(&self, text: &str) -> Option<Vec<Symbol>> {
        let spelling = self.vocabulary.spelling()?;
        let pieces = self.tokens.read(text).ok()?;
        let pieces = pieces.into_iter().filter(|&symbol| !spelling.is_silent(symbol));
        let pieces: Vec<Symbol> = pieces.collect();
        (self.vocabulary.text(&pieces) == text).then_some(pieces)
    }
}

/// A field as text; words of a list are joined by blanks.
fn text(field: &'static str, value: &Value) -> Result<String, LineError> {
    let words = list(field, value)?;
    Ok(words.map_or_else(|| value.as_str().unwrap_or_default().to_owned(), |words| words.join(" ")))
}

impl Task for Writer {
    const NAME: &'static str = "writer";
    type Model = Trained<EncoderDecoder>;
    type Input = Read;

    fn model(&self) -> &Self::Model {
        &self.model
    }

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn limits(&self) -> Limits {
        self.limits.clone()
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.model.weights())
    }

    fn cases(&self, line: &Line, _: &Rules<'_>) -> Result<Vec<Case<Read>>, LineError> {
        let text_of = |value: &Value| text("input", value);
        let input = match line.fields.get("text") {
            Some(text) if !line.fields.contains_key("input") => text_of(text)?,
            _ => text_of(&line.input()?)?,
        };
        let pieces = self.tokens.read(&input).map_err(LineError::other)?;
        let pieces: Vec<Token> = pieces.into_iter().map(Token::from).collect();
        line.check_length(&pieces)?;
        self.model.net.check(&pieces).map_err(LineError::other)?;
        let right = line.gold().map(|gold| text("output", gold)).transpose()?;
        let gold = right.as_deref().and_then(|gold| self.written(gold));
        let words: Vec<String> = input.split_whitespace().map(str::to_owned).collect();
        let subject = Subject::new(words, Value::String(input));
        Ok(vec![Case { input: Read { pieces, gold: right }, subject, gold }])
    }

    fn record(&self, _: &Case<Read>, y: &[Symbol]) -> Map<String, Value> {
        Map::from_iter([("output".to_owned(), json!(self.vocabulary.text(y)))])
    }

    fn pieces(&self, case: &Case<Read>, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        study::runs(y, case.gold.as_deref(), blamed)
            .into_iter()
            .map(|(at, wrong)| {
                let before = self.vocabulary.text(&y[..at.start]).len();
                let text = self.vocabulary.text(&y[..at.end]);
                Piece { text: text.get(before..).unwrap_or("�").to_owned(), wrong }
            })
            .collect()
    }

    fn engines(&self) -> Vec<Engine> {
        sequences::engines()
    }

    fn rival<'a>(
        &'a self,
        rival: Rival,
        _: &'a Rules<'_>,
        limits: &Limits,
    ) -> Option<Search<'a, Self::Model>> {
        Some(sequences::rival(rival, limits))
    }

    /// The same text may be written in other pieces.
    fn is_right(&self, case: &Case<Read>, y: &[Symbol]) -> Option<bool> {
        Some(self.vocabulary.text(y) == *case.input.gold.as_ref()?)
    }

    /// The share of characters that need no edit.
    fn score(&self, outputs: &[Output<'_, Read>]) -> (&'static str, f64) {
        let mut total = Score::default();
        for (case, y) in outputs {
            let Some(gold) = &case.input.gold else { continue };
            let gold: Vec<String> = gold.chars().map(String::from).collect();
            let text = self.vocabulary.text(y);
            let ends = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
            total += Score::of(&ends.collect::<Vec<_>>(), &gold);
        }
        ("characters", total.symbols_right())
    }
}
