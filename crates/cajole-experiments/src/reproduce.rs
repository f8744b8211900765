//! Runs a corpus experiment: trains or loads each network, measures it, and reports on all.

use std::fs::File;
use std::path::{Path, PathBuf};

use cajole_files::{Folder, fingerprint_of};
use cajole_nn::checkpoint::{MODEL_FILE, Precision};
use cajole_report::{Axis, CaseStudy, Plot, Report, Series};
use cajole_tasks::checkpoint::{self, Checkpoint, LoadError};
use cajole_tasks::corpora::{CorpusError, Splits};
use cajole_tasks::training::finish;
use cajole_tasks::{Watch, curve};
use serde::Serialize;
use serde_json::json;

use crate::{ExperimentError, Kept, KeptError, UnknownCorpus};

/// Where an experiment finds things and keeps them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// The folder of the corpora.
    pub data: Option<&'a Path>,
    /// Where networks and results are kept, and reused.
    pub out: Option<&'a Folder>,
    /// A folder of trained networks, each a checkpoint folder of its name. With it, nothing is
    /// trained, and networks that it does not hold are left out.
    pub nets: Option<&'a Path>,
    /// Names of the networks to measure; all if empty.
    pub only: &'a [String],
}

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

    /// The networks, in report order, one for every seed.
    fn networks(&self) -> Vec<Self::Network>;

    /// The names of a network and of its corpus.
    fn names(network: &Self::Network) -> (&String, &String);

    /// A short description of a network.
    fn describe(network: &Self::Network) -> String;

    /// The training recipe of a network.
    fn recipe<'a>(&'a self, network: &'a Self::Network) -> Result<Self::Recipe<'a>, UnknownCorpus>;

    /// The seed of a recipe.
    fn seed(recipe: &Self::Recipe<'_>) -> u64;

    /// Whether the recipe is all that training needs.
    fn can_train(_network: &Self::Network) -> bool {
        true
    }

    /// Loads the corpus of a network.
    fn load(
        recipe: &Self::Recipe<'_>,
        data: Option<&Path>,
    ) -> Result<Splits<Self::Sentence>, CorpusError>;

    /// Trains a network, keeping its state in the folder.
    fn train(
        recipe: &Self::Recipe<'_>,
        splits: &Splits<Self::Sentence>,
        folder: Option<&Folder>,
        watch: &dyn Watch,
    ) -> Result<Trained<Self>, LoadError>;

    /// How the checkpoint differs from what is configured, if it was trained elsewhere.
    fn differs(
        network: &Self::Network,
        card: &<Self::Trained as Checkpoint>::Card,
    ) -> Option<String>;

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

/// Runs the experiment. Networks and results are saved under `places.out`, if given, and reused.
pub(crate) fn reproduce<E: Experiment>(
    config: &E,
    places: &Places<'_>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    let all = config.networks();
    ExperimentError::unless_distinct(all.iter().map(|network| E::names(network).0))?;
    let measured = places.out.map(|out| out.within("measured")).transpose();
    let kept = Kept::open(measured.map_err(KeptError::from)?, config)?;
    let (networks, absent) = chosen::<E>(&all, places)?;
    let mut results = Vec::new();
    let mut notes = Vec::new();
    let mut curves = Vec::new();
    let mut loaded: Option<(String, u64, Splits<E::Sentence>)> = None;
    for (i, network) in networks {
        let (name, corpus) = E::names(network);
        let recipe = config.recipe(network)?;
        let seed = E::seed(&recipe);
        let splits = match loaded.take() {
            Some((other, of, splits)) if other == *corpus && of == seed => splits,
            _ => {
                let splits = E::load(&recipe, places.data)?;
                splits.problems.iter().for_each(|p| watch.say(&format!("left out: {p}")));
                splits
            }
        };
        watch.say(&format!("\n{name}: {}", E::describe(network)));
        let at = folder_of::<E>(network, places);
        let trained = match &at {
            Some(at) if checkpoint::exists(at) => E::Trained::load(at)?,
            _ => trained::<E>(name, &recipe, &splits, places, watch)?,
        };
        if let Some(difference) = E::differs(network, &trained.1) {
            notes.push(format!("The checkpoint of {name} is not as configured: {difference}."));
            watch.say(&format!("  not as configured: {difference}"));
        }
        watch.say(&format!("  F1 {:.2} on the dev set", E::dev_f1(&trained.1)));
        let curve = at.as_deref().map(curve::read).transpose()?.unwrap_or_default();
        let points = (1..).zip(curve).map(|(i, at)| (at.epoch.unwrap_or(i) as f64, at.f1));
        curves.push((i, Series::line(name.as_str(), points.collect())));
        let weights = at.map(|folder| folder.join(MODEL_FILE));
        let weights = weights.and_then(|path| File::open(path).and_then(fingerprint_of).ok());
        let inputs = json!({ "files": splits.contents, "weights": weights });
        kept.claim(&format!("{name} inputs"), &inputs)?;
        let (measured, case) = config.measure(network, &trained, &splits, &kept, watch)?;
        results.push((i, measured, case));
        loaded = Some((corpus.clone(), seed, splits));
    }
    results.sort_by_key(|(i, ..)| *i);
    let (measured, cases): (Vec<_>, Vec<_>) =
        results.into_iter().map(|(_, measured, case)| (measured, case)).unzip();
    let mut report = config.report(&measured);
    report.cases = cases.into_iter().flatten().collect();
    report.plots.extend(curve_plot(curves));
    if !absent.is_empty() {
        notes.push(format!("Left out, because there is no checkpoint: {}.", absent.join(", ")));
    }
    report.notes.extend(notes);
    Ok(report)
}

/// Trains a network, and saves it where the experiment keeps its networks, if anywhere.
fn trained<E: Experiment>(
    name: &str,
    recipe: &E::Recipe<'_>,
    splits: &Splits<E::Sentence>,
    places: &Places<'_>,
    watch: &dyn Watch,
) -> Result<Trained<E>, LoadError> {
    let folder = places.out.map(|out| out.within(Path::new("nets").join(name))).transpose()?;
    let (network, card) = E::train(recipe, splits, folder.as_ref(), watch)?;
    if let Some(folder) = &folder {
        network.save(folder, &card, Precision::F32)?;
        finish(folder)?;
    }
    Ok((network, card))
}

/// The development curves of the networks, by their places in the report; `None` if none was kept.
fn curve_plot(mut curves: Vec<(usize, Series)>) -> Option<Plot> {
    curves.sort_by_key(|(i, _)| *i);
    curves.retain(|(_, curve)| !curve.points.is_empty());
    let title = "Training: F1 on the dev set after every epoch";
    let mut plot = Plot::new(title, Axis::linear("epochs"), Axis::linear("dev F1, per cent"));
    plot.series = curves.into_iter().map(|(_, curve)| curve).collect();
    (!plot.series.is_empty()).then_some(plot)
}

fn folder_of<E: Experiment>(network: &E::Network, places: &Places<'_>) -> Option<PathBuf> {
    let name = E::names(network).0;
    match places.nets {
        Some(nets) => Some(nets.join(name)),
        None => places.out.map(|out| out.path().join("nets").join(name)),
    }
}

/// The networks to measure, with their places in the report, already trained ones first; and the
/// names of those left out because they are not trained.
#[allow(clippy::type_complexity)] // a name for it would say no more
fn chosen<'n, E: Experiment>(
    all: &'n [E::Network],
    places: &Places<'_>,
) -> Result<(Vec<(usize, &'n E::Network)>, Vec<String>), ExperimentError> {
    let names = || all.iter().map(|network| E::names(network).0.clone()).collect::<Vec<_>>();
    if let Some(name) = places.only.iter().find(|name| !names().contains(name)) {
        let known = names().join(", ");
        return Err(ExperimentError::NoNetwork { name: name.clone(), known });
    }
    let is_meant =
        |network: &E::Network| places.only.is_empty() || places.only.contains(E::names(network).0);
    let meant = all.iter().enumerate().filter(|(_, network)| is_meant(network));
    let is_trained = |network: &E::Network| {
        folder_of::<E>(network, places).is_some_and(|folder| checkpoint::exists(&folder))
    };
    let (mut chosen, others): (Vec<_>, Vec<_>) =
        meant.partition(|(_, network)| is_trained(network));
    let names = |networks: &[(usize, &E::Network)]| -> Vec<String> {
        networks.iter().map(|(_, network)| E::names(network).0.clone()).collect()
    };
    let Some(folder) = places.nets else {
        let (trainable, others): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(_, network)| E::can_train(network));
        chosen.extend(trainable);
        return Ok((chosen, names(&others)));
    };
    let absent = names(&others);
    match chosen.is_empty() {
        true => {
            Err(ExperimentError::NoNets { folder: folder.to_owned(), names: absent.join(", ") })
        }
        false => Ok((chosen, absent)),
    }
}
