//! Networks of transformers: lines become pieces and outputs text as they do where cajole computes the
//! network itself, so that a rule file means the same both ways.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use cajole_core::decoders::{Beam, Sampled};
use cajole_core::{Search, Symbol};
use cajole_infer::case::{Case, Output};
use cajole_infer::labelled_words::LabelledWords;
use cajole_infer::line::{Line, LineError};
use cajole_infer::solver::{Network, Solver, solver};
use cajole_infer::task::{Display, Task, Together};
use cajole_infer::texts::{ReadText, Texts};
use cajole_infer::{FolderSettings, Pieces, Tokens, Writing, beam, rank_by, sequences, tags};
use cajole_report::Piece;
use cajole_rules::{Rules, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::checkpoint::LoadError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};

use super::backend::{Backend, Item};
use super::stepper::PyStepper;
use super::tagger::PyTagger;
use super::task::{EXPANSIONS, together};

/// The settings in a folder, for the Python half.
pub(super) fn settings<'py>(
    py: Python<'py>,
    folder: &Path,
) -> Result<PyResult<Bound<'py, PyDict>>, LoadError> {
    let Writing { start, end, cap, generation, .. } = FolderSettings::open(folder)?.writing()?;
    let fill = |dict: Bound<'py, PyDict>| {
        dict.set_item("start", start)?;
        let ends: Vec<Symbol> = [end].into_iter().chain(generation.ends).collect();
        dict.set_item("ends", ends)?;
        dict.set_item("cap", cap)?;
        dict.set_item("is_first_forced", generation.first.is_some())?;
        dict.set_item("is_last_forced", generation.last.is_some())?;
        Ok(dict)
    };
    Ok(fill(PyDict::new(py)))
}

/// Presets of a task, where these parameters move and searches are shorter.
fn presets(text: &str, moves: &[String]) -> Presets {
    let mut presets = Presets::built_in(text);
    let Presets { paper, best, small, .. } = &mut presets;
    for config in [paper, best, small] {
        config.moves = moves.to_vec();
        for source in &mut config.sources {
            if let Search::BlackBox { limit } = source {
                *limit = EXPANSIONS.min(*limit);
            }
        }
    }
    presets
}

/// An input, with the right output.
pub(crate) struct Read {
    item: Item,
    gold: Option<String>,
}

impl std::borrow::Borrow<Item> for Read {
    fn borrow(&self) -> &Item {
        &self.item
    }
}

/// The right output of a case.
fn right(case: &Case) -> Option<&str> {
    case.input::<Read>().gold.as_deref()
}

/// The input of a network of PyTorch: pieces, and the first of each word.
fn item(backend: &Backend, pieces: &[Symbol], firsts: &[u32]) -> Result<Item, LineError> {
    let prepared = backend.prepare(&json!([pieces, firsts]));
    let (object, _, size, cap) =
        prepared.map_err(|failure| LineError::other(failure.to_string()))?;
    Ok(Item { object, size, cap })
}

/// A network that writes text.
pub(crate) struct TorchWriter {
    model: PyStepper,
    texts: Texts,
    presets: Presets,
    beam: Beam,
    sampled: Sampled,
    remarks: Vec<String>,
}

impl TorchWriter {
    pub(super) fn new(
        backend: Backend,
        folder: &Path,
        max_length: Option<usize>,
        moves: Vec<String>,
    ) -> Result<Self, LoadError> {
        let settings = FolderSettings::open(folder)?;
        let mut writing = settings.writing()?;
        writing.cap = max_length.unwrap_or(writing.cap).max(1);
        let texts =
            Texts::new(Tokens::open(folder, writing.writes)?, writing.reads, writing.writes)?;
        let mut presets = presets(Presets::WRITER, &moves);
        rank_by(writing.beams.ranking, &mut presets);
        let (beam, sampled) = (beam(writing.beams), writing.beams.sampled);
        let mut remarks = settings.remarks();
        remarks.retain(|remark| max_length.is_none() || !remark.contains("\"max_length\""));
        // The folder is a temporary one.
        let parent = format!("{}/", folder.display());
        remarks.iter_mut().for_each(|remark| *remark = remark.replace(&parent, ""));
        Ok(TorchWriter {
            model: PyStepper::writer(backend, writing),
            texts,
            presets,
            beam,
            sampled,
            remarks,
        })
    }
}

impl Network for TorchWriter {
    type Model = PyStepper;
    type Input = Read;

    fn model(&self) -> &Self::Model {
        &self.model
    }
}

impl Task for TorchWriter {
    fn name(&self) -> &'static str {
        "writer"
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.texts.vocabulary()
    }

    fn fingerprint(&self) -> u64 {
        self.model.backend.fingerprint
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn beam(&self) -> Beam {
        self.beam
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn sums_log_probs(&self) -> bool {
        let writing = self.model.writing.as_ref();
        !writing.is_some_and(|writing| writing.generation.changes_log_probs())
    }

    fn together(&self) -> Together {
        together(&self.model.backend)
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let ReadText { pieces, subject, right: gold, gold: written } = self.texts.read(line)?;
        let mut item = item(&self.model.backend, &pieces, &[])?;
        if let Some(writing) = &self.model.writing {
            item.cap = writing.cap;
        }
        Ok(vec![Case::new(Read { item, gold }, subject).with_gold(written)])
    }

    fn record(&self, _: &Case, y: &[Symbol]) -> Map<String, Value> {
        self.texts.record(y)
    }

    fn pieces(&self, case: &Case, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        self.texts.pieces(y, case.gold.as_deref(), blamed)
    }

    fn searches(&self) -> Vec<Search> {
        sequences::searches(sequences::MASKED_WIDTH, EXPANSIONS, self.sampled)
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }

    fn is_right(&self, case: &Case, y: &[Symbol]) -> Option<bool> {
        self.texts.is_right(right(case), y)
    }

    fn score(&self, outputs: &[Output<'_>]) -> (&'static str, f64) {
        self.texts.score(outputs, right)
    }
}

/// A network that labels words.
pub(crate) struct TorchLabels {
    model: PyTagger,
    words: LabelledWords,
    presets: Presets,
}

impl TorchLabels {
    pub(super) fn new(
        backend: Backend,
        folder: &Path,
        moves: Vec<String>,
    ) -> Result<Self, LoadError> {
        let settings = FolderSettings::open(folder)?;
        let words = LabelledWords::open(folder, settings.symbols()?, &settings.labels()?)?;
        let model = PyTagger { backend, tags: words.tags().clone() };
        Ok(TorchLabels { model, words, presets: presets(Presets::LABELS, &moves) })
    }
}

impl Network for TorchLabels {
    type Model = PyTagger;
    type Input = Item;

    fn model(&self) -> &Self::Model {
        &self.model
    }
}

impl Task for TorchLabels {
    fn name(&self) -> &'static str {
        "labels"
    }

    fn display(&self) -> Display {
        Display::Roles
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.words.vocabulary()
    }

    fn fingerprint(&self) -> u64 {
        self.model.backend.fingerprint
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn together(&self) -> Together {
        together(&self.model.backend)
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let read = self.words.read(line)?;
        let Pieces { pieces, firsts, .. } = read.input();
        let item = item(&self.model.backend, pieces, firsts)?;
        Ok(vec![Case::new(item, read.subject.clone()).with_gold(read.gold)])
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
