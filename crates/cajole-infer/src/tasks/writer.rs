//! Encoder-decoders that write text: BART, Marian, T5. Rules apply to the text.

use std::ops::Range;
use std::path::Path;

use cajole_core::Symbol;
use cajole_files::fingerprint;
use cajole_nn::Trained;
use cajole_nn::import::huggingface::{Beams, Folder};
use cajole_nn::models::Token;
use cajole_nn::models::transformer::EncoderDecoder;
use cajole_report::Piece;
use cajole_rules::{Rules, Vocabulary};
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::words::Tokens;
use cajole_tasks::writer::TextWriter;
use cajole_tasks::{Checkpoint, Presets};
use serde_json::{Map, Value};

use super::texts::{ReadText, Right, Texts};
use super::{huggingface, sequences};
use crate::engine::{Engine, Limits, Rival};
use crate::line::{Line, LineError};
use crate::task::{Case, Output, Search, Task};

/// A network that reads a text and writes another.
pub struct Writer {
    model: Trained<EncoderDecoder>,
    texts: Texts,
    presets: Presets,
    limits: Limits,
    remarks: Vec<String>,
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

impl Right for Read {
    fn right(&self) -> Option<&str> {
        self.gold.as_deref()
    }
}

impl Writer {
    /// Opens a checkpoint, or a Hugging Face folder, whose `generation_config.json` says how the
    /// network's own beam is searched.
    ///
    /// # Errors
    /// If a file is missing, damaged, or another network's.
    pub fn open(path: &Path) -> Result<Writer, LoadError> {
        if huggingface::task_of(path).is_none() {
            return Writer::new(TextWriter::load(path)?.0.model, path);
        }
        let folder = Folder::open(path)?;
        let (net, weights) = folder.encoder_decoder()?;
        let mut writer = Writer::new(Trained::new(net, weights), path)?;
        search_as(folder.beams()?, &mut writer.limits, &mut writer.presets);
        writer.remarks = folder.remarks();
        Ok(writer)
    }

    /// A network whose `tokenizer.json` is in this folder.
    ///
    /// # Errors
    /// If the tokenizer is missing, damaged, or another network's.
    pub fn new(model: Trained<EncoderDecoder>, folder: &Path) -> Result<Writer, LoadError> {
        let config = &model.net.config;
        let (reads, writes) = (config.reads.symbols, config.writes.symbols);
        let texts = Texts::new(Tokens::open(folder, writes)?, reads, writes)?;
        let presets = Presets::built_in(Presets::WRITER);
        Ok(Writer { model, texts, presets, limits: Limits::default(), remarks: Vec::new() })
    }
}

/// Searches as `generate` does with a folder.
pub fn search_as(beams: Beams, limits: &mut Limits, presets: &mut Presets) {
    let Beams { width, ranking, sampled } = beams;
    (limits.width, limits.ranking, limits.sampled) = (width, ranking, sampled);
    let Presets { paper, best, small, .. } = presets;
    [paper, best, small].into_iter().for_each(|preset| preset.ranking = ranking);
}

impl Task for Writer {
    const NAME: &'static str = "writer";
    type Model = Trained<EncoderDecoder>;
    type Input = Read;

    fn model(&self) -> &Self::Model {
        &self.model
    }

    fn vocabulary(&self) -> &Vocabulary {
        self.texts.vocabulary()
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn sums_log_probs(&self) -> bool {
        !self.model.net.generation.changes_log_probs()
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
        let ReadText { pieces, subject, right: gold, gold: written } = self.texts.read(line)?;
        let pieces: Vec<Token> = pieces.into_iter().map(Token::from).collect();
        self.model.net.check(&pieces).map_err(LineError::other)?;
        Ok(vec![Case { input: Read { pieces, gold }, subject, gold: written }])
    }

    fn record(&self, _: &Case<Read>, y: &[Symbol]) -> Map<String, Value> {
        self.texts.record(y)
    }

    fn pieces(&self, case: &Case<Read>, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        self.texts.pieces(y, case.gold.as_deref(), blamed)
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
        self.texts.is_right(case, y)
    }

    fn score(&self, outputs: &[Output<'_, Read>]) -> (&'static str, f64) {
        self.texts.score(outputs)
    }
}
