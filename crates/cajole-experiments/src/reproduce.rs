//! Runs a corpus experiment: trains or loads each network, measures it, and reports on all.

use std::fs::File;
use std::path::Path;

use cajole_nn::checkpoint::MODEL_FILE;
use cajole_report::{CaseStudy, Report};
use cajole_tasks::checkpoint::{self, Checkpoint, LoadError};
use cajole_tasks::corpora::{CorpusError, Splits};
use cajole_tasks::training::kept_or_trained;
use cajole_tasks::{Watch, fingerprint_of};
use serde::Serialize;
use serde_json::json;

use crate::{ExperimentError, Kept, UnknownCorpus};

/// An experiment, defined by its settings.
pub(crate) trait Experiment: Serialize {
    /// The settings of one network.
    type Network;
    /// Its training recipe.
    type Recipe<'a>
    where
        Self: 'a;
    /// The sentences of its corpora.
    type Sentence;
    /// A trained network.
    type Trained: Checkpoint;
    /// All measurements of a network.
    type Measured;

    /// The networks, in report order.
    fn networks(&self) -> &[Self::Network];

    /// The names of a network and of its corpus.
    fn names(network: &Self::Network) -> (&String, &String);

    /// A short description of a network.
    fn describe(network: &Self::Network) -> String;

    /// The training recipe of a network.
    fn recipe<'a>(&'a self, network: &'a Self::Network) -> Result<Self::Recipe<'a>, UnknownCorpus>;

    /// Loads the corpus of a network.
    fn load(
        recipe: &Self::Recipe<'_>,
        data: Option<&Path>,
    ) -> Result<Splits<Self::Sentence>, CorpusError>;

    /// Trains a network, keeping its state in the folder.
    fn train(
        recipe: &Self::Recipe<'_>,
        splits: &Splits<Self::Sentence>,
        folder: Option<&Path>,
        watch: &dyn Watch,
    ) -> Result<Trained<Self>, LoadError>;

    /// Dev F1.
    fn dev_f1(card: &<Self::Trained as Checkpoint>::Card) -> f64;

    /// Measures a network, and picks a failure to show.
    fn measure(
        &self,
        network: &Self::Network,
        trained: &Trained<Self>,
        splits: &Splits<Self::Sentence>,
        kept: &Kept,
        watch: &dyn Watch,
    ) -> Result<(Self::Measured, Option<CaseStudy>), ExperimentError>;

    /// Builds the tables and plots.
    fn report(&self, measured: &[Self::Measured]) -> Report;
}

/// A network with its card.
pub(crate) type Trained<E> =
    (<E as Experiment>::Trained, <<E as Experiment>::Trained as Checkpoint>::Card);

/// Runs the experiment. Networks and results are saved under `out`, if given, and reused.
pub(crate) fn reproduce<E: Experiment>(
    config: &E,
    data: Option<&Path>,
    out: Option<&Path>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    let networks = config.networks();
    ExperimentError::unless_distinct(networks.iter().map(|network| E::names(network).0))?;
    let kept = Kept::open(out.map(|out| out.join("measured")).as_deref(), config)?;
    let folder_of = |network| out.map(|out| out.join("nets").join(E::names(network).0));
    // Networks that are already trained go first.
    let mut order: Vec<usize> = (0..networks.len()).collect();
    order.sort_by_key(|&i| !folder_of(&networks[i]).is_some_and(|f| checkpoint::exists(&f)));
    let mut results = Vec::new();
    let mut loaded: Option<(&String, Splits<E::Sentence>)> = None;
    for i in order {
        let network = &networks[i];
        let (name, corpus) = E::names(network);
        let recipe = config.recipe(network)?;
        let splits = match loaded.take() {
            Some((other, splits)) if other == corpus => splits,
            _ => {
                let splits = E::load(&recipe, data)?;
                splits.problems.iter().for_each(|p| watch.say(&format!("left out: {p}")));
                splits
            }
        };
        watch.say(&format!("\n{name}: {}", E::describe(network)));
        let folder = folder_of(network);
        let folder = folder.as_deref();
        let trained = kept_or_trained(folder, || E::train(&recipe, &splits, folder, watch))?;
        watch.say(&format!("  F1 {:.2} on the dev set", E::dev_f1(&trained.1)));
        let weights = folder.map(|folder| folder.join(MODEL_FILE));
        let weights = weights.and_then(|path| File::open(path).and_then(fingerprint_of).ok());
        let inputs = json!({ "files": splits.contents, "weights": weights });
        kept.claim(&format!("{name} inputs"), &inputs)?;
        let (measured, case) = config.measure(network, &trained, &splits, &kept, watch)?;
        results.push((i, measured, case));
        loaded = Some((corpus, splits));
    }
    results.sort_by_key(|(i, ..)| *i);
    let (measured, cases): (Vec<_>, Vec<_>) =
        results.into_iter().map(|(_, measured, case)| (measured, case)).unzip();
    let mut report = config.report(&measured);
    report.cases = cases.into_iter().flatten().take(1).collect();
    Ok(report)
}
