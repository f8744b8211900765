//! Encoder-decoders that write text: BART, Marian, T5. Rules apply to the text.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use cajole_core::decoders::{Beam, Ranking, Sampled};
use cajole_core::{Search, Symbol};
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

use super::texts::{ReadText, Texts};
use super::{huggingface, sequences};
use crate::case::{Case, Output};
use crate::line::{Line, LineError};
use crate::solver::{Network, Solver, solver};
use crate::task::Task;

/// The task's name in checkpoints.
pub(crate) const NAME: &str = "writer";

/// A network that reads a text and writes another.
pub struct Writer {
    model: Trained<EncoderDecoder>,
    texts: Texts,
    presets: Presets,
    beam: Beam,
    sampled: Sampled,
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

/// The right output of a case.
fn right(case: &Case) -> Option<&str> {
    case.input::<Read>().gold.as_deref()
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
        let beams = folder.beams()?;
        rank_by(beams.ranking, &mut writer.presets);
        (writer.beam, writer.sampled) = (beam(beams), beams.sampled);
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
        let (beam, sampled) = (Beam::of(1), Sampled::default());
        Ok(Writer { model, texts, presets, beam, sampled, remarks: Vec::new() })
    }
}

/// The beam with which `generate` searches in a folder.
pub fn beam(Beams { width, ranking, .. }: Beams) -> Beam {
    Beam { width, ranking }
}

/// Ranks outputs in this way in all presets.
pub fn rank_by(ranking: Ranking, presets: &mut Presets) {
    let Presets { paper, best, small, .. } = presets;
    [paper, best, small].into_iter().for_each(|preset| preset.ranking = ranking);
}

impl Network for Writer {
    type Model = Trained<EncoderDecoder>;
    type Input = Read;

    fn model(&self) -> &Self::Model {
        &self.model
    }
}

impl Task for Writer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
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

    fn beam(&self) -> Beam {
        self.beam
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.model.weights())
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let ReadText { pieces, subject, right: gold, gold: written } = self.texts.read(line)?;
        let pieces: Vec<Token> = pieces.into_iter().map(Token::from).collect();
        self.model.net.check(&pieces).map_err(LineError::other)?;
        Ok(vec![Case::new(Read { pieces, gold }, subject).with_gold(written)])
    }

    fn record(&self, _: &Case, y: &[Symbol]) -> Map<String, Value> {
        self.texts.record(y)
    }

    fn pieces(&self, case: &Case, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        self.texts.pieces(y, case.gold.as_deref(), blamed)
    }

    fn searches(&self) -> Vec<Search> {
        sequences::searches(sequences::MASKED_WIDTH, sequences::EXPANSIONS, self.sampled)
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }

    /// The same text may be written in other pieces.
    fn is_right(&self, case: &Case, y: &[Symbol]) -> Option<bool> {
        self.texts.is_right(right(case), y)
    }

    fn score(&self, outputs: &[Output<'_>]) -> (&'static str, f64) {
        self.texts.score(outputs, right)
    }
}
