//! Encoders that label words: BERT, RoBERTa, DistilBERT for token classification. Rules apply to
//! the words' tags, and to the spans that BIO tags form.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use cajole_core::{Search, Symbol};
use cajole_files::fingerprint;
use cajole_nn::import::huggingface::Folder;
use cajole_nn::models::transformer::{EncoderTagger, Pieces};
use cajole_nn::{Tagging, Trained};
use cajole_report::Piece;
use cajole_rules::{Rules, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::checkpoint::LoadError;
use serde_json::{Map, Value};

use crate::case::{Case, Output};
use crate::line::{Line, LineError};
use crate::solver::{Network, Solver, solver};
use crate::task::{Display, Task};

use super::labelled_words::LabelledWords;
use super::tags;

type Net = Trained<Tagging<EncoderTagger>>;

/// The task's name in checkpoints.
pub(crate) const NAME: &str = "labels";

/// A network that gives every word a label.
pub struct Labels {
    model: Net,
    words: LabelledWords,
    presets: Presets,
}

impl Labels {
    /// Opens a Hugging Face folder.
    ///
    /// # Errors
    /// If a file is missing, damaged, or another network's.
    pub fn open(path: &Path) -> Result<Labels, LoadError> {
        let folder = Folder::open(path)?;
        let imported = folder.tagger::<Pieces>()?;
        let reads = imported.net.config.embedding.symbols;
        let words = LabelledWords::open(path, reads, &imported.labels)?;
        let tags = words.tags().clone();
        let model = Trained::new(Tagging { net: imported.net, tags }, imported.weights);
        Ok(Labels { model, words, presets: Presets::built_in(Presets::LABELS) })
    }
}

impl Network for Labels {
    type Model = Net;
    type Input = Pieces;

    fn model(&self) -> &Self::Model {
        &self.model
    }
}

impl Task for Labels {
    fn name(&self) -> &'static str {
        NAME
    }

    fn display(&self) -> Display {
        Display::Roles
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.words.vocabulary()
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.model.weights())
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let case = self.words.read(line)?;
        self.model.net.net.check(case.input::<Pieces>()).map_err(LineError::other)?;
        Ok(vec![case])
    }

    fn about(&self, case: &Case) -> Map<String, Value> {
        self.words.about(&case.subject)
    }

    fn record(&self, case: &Case, y: &[Symbol]) -> Map<String, Value> {
        self.words.record(&case.subject, y)
    }

    fn pieces(&self, case: &Case, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        self.words.pieces(case, y, blamed)
    }

    fn searches(&self) -> Vec<Search> {
        tags::searches()
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }

    fn score(&self, outputs: &[Output<'_>]) -> (&'static str, f64) {
        self.words.score(outputs)
    }
}
