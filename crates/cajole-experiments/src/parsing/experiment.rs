//! The experiment: train or load the parsers, find their failures, repair them by every method.

use std::cell::OnceCell;
use std::path::Path;

use cajole_core::UnknownParameter;
use cajole_files::Folder;
use cajole_infer::Parsing;
use cajole_nn::models::{SequenceConfig, SequenceNetwork};
use cajole_report::{CaseStudy, Figure, Report, Row};
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::corpora::CorpusError;
use cajole_tasks::parsing::{Architecture, Card, NetworkConfig, Parser, Recipe, Splits, train};
use cajole_tasks::{Presets, Watch};
use cajole_treebank::Sentence;
use serde::{Deserialize, Serialize};

use super::case_study::{case_study, side_by_side};
use super::config::ParsingConfig;
use super::methods::{Failures, Method, decoder_name};
use super::tables;
use crate::{
    Experiment, ExperimentError, Kept, Places, Repair, SideBySide, Study, Tallies, UnknownCorpus,
    best_of, converted_steps,
};

/// The measurements for one parser, one beam width and one set of sentences.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The sentences: `test`, or the name of a domain.
    pub(super) data: String,
    pub(super) width: usize,
    /// Which of the sentences are failures, by their place in the data.
    pub(super) inputs: Vec<usize>,
    /// One per method, the untouched outputs first.
    pub(super) rows: Vec<Row>,
    /// The tallies of each method, failure by failure.
    pub(super) tallies: Tallies,
    /// Variants of the best preset that lack a part.
    pub(super) parts: Vec<Row>,
    /// The steps of each conversion, by nudging method.
    pub(super) steps: Vec<(String, Vec<usize>)>,
}

/// All measurements of one parser.
pub(crate) struct OfNetwork {
    pub(super) config: NetworkConfig,
    /// Dev F1 of greedy decoding.
    pub(super) dev_f1: f64,
    /// The tuned step size of plain SGD.
    pub(super) step_size: f32,
    pub(super) test: Vec<Measured>,
    pub(super) domains: Vec<Measured>,
    /// By study, one row per variant.
    pub(super) studies: Vec<Vec<Row>>,
    /// Single failures, with every method's output.
    pub(super) outputs: Vec<SideBySide>,
}

/// Runs the experiment. Parsers and results are saved under `places.out`, if given, and reused.
///
/// # Errors
/// If a treebank cannot be read, a preset does not fit, or something cannot be saved.
pub fn reproduce(
    config: &ParsingConfig,
    places: &Places<'_>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    crate::reproduce(config, places, watch)
}

impl Experiment for ParsingConfig {
    type Network = NetworkConfig;
    type Recipe<'a> = Recipe<'a>;
    type Sentence = Sentence;
    type Trained = Parser;
    type Measured = OfNetwork;

    fn networks(&self) -> Vec<NetworkConfig> {
        self.seeded()
    }

    fn names(network: &NetworkConfig) -> (&String, &String) {
        (&network.name, &network.treebank)
    }

    fn describe(network: &NetworkConfig) -> String {
        tables::describe(network)
    }

    fn recipe<'a>(&'a self, network: &'a NetworkConfig) -> Result<Recipe<'a>, UnknownCorpus> {
        self.recipe(network)
    }

    fn seed(recipe: &Recipe<'_>) -> u64 {
        recipe.seed
    }

    fn load(recipe: &Recipe<'_>, data: Option<&Path>) -> Result<Splits, CorpusError> {
        Splits::load(recipe.treebank, data, recipe.seed)
    }

    fn train(
        recipe: &Recipe<'_>,
        splits: &Splits,
        folder: Option<&Folder>,
        watch: &dyn Watch,
    ) -> Result<(Parser, Card), LoadError> {
        train(recipe, splits, folder, watch)
    }

    fn differs(network: &NetworkConfig, card: &Card) -> Option<String> {
        let found = match &card.network {
            SequenceConfig::Lstm(of) => {
                let architecture = Architecture::from(of.architecture);
                (architecture, of.layers, of.hidden, of.pointer.is_some())
            }
            SequenceConfig::Transformer(of) => {
                (Architecture::Transformer, of.encoder.layers, of.encoder.width, false)
            }
        };
        let wanted = (network.architecture, network.layers, network.hidden, network.pointer);
        let text = |(kind, layers, hidden, pointer): (Architecture, usize, usize, bool)| {
            format!("{}, {layers} × {hidden} units, pointer {pointer}", kind.name())
        };
        (found != wanted).then(|| format!("{}, configured {}", text(found), text(wanted)))
    }

    fn dev_f1(card: &Card) -> f64 {
        card.dev_f1
    }

    fn measure(
        &self,
        network: &NetworkConfig,
        (parser, card): &(Parser, Card),
        splits: &Splits,
        kept: &Kept,
        watch: &dyn Watch,
    ) -> Result<(OfNetwork, Option<CaseStudy>), ExperimentError> {
        let task = Parsing::new(parser.clone());
        let run = Run { name: &network.name, task: &task, config: self, kept, watch };
        let measured = run.measure(network, card.dev_f1, splits)?;
        let case = kept.get(&format!("{} case", network.name), || {
            let found = case_study(&task, self, measured.step_size, &splits.test, watch)?;
            Ok::<Option<CaseStudy>, ExperimentError>(found)
        })?;
        Ok((measured, case))
    }

    fn report(&self, measured: &[OfNetwork]) -> Report {
        tables::report(self, measured)
    }
}

/// A parser being measured.
struct Run<'a> {
    name: &'a str,
    task: &'a Parsing,
    config: &'a ParsingConfig,
    kept: &'a Kept,
    watch: &'a dyn Watch,
}

impl Run<'_> {
    fn presets(&self) -> &Presets {
        self.config.presets(&self.task.parser().model.net)
    }

    fn measure(
        &self,
        network: &NetworkConfig,
        dev_f1: f64,
        splits: &Splits,
    ) -> Result<OfNetwork, ExperimentError> {
        let step_size =
            self.kept.get(&format!("{} step size", self.name), || self.step_size(&splits.dev))?;
        let test = self.config.widths.iter();
        let test = test.map(|&width| self.block("test", width, step_size, &splits.test));
        let test = test.collect::<Result<_, _>>()?;
        let domains = splits.domains.iter().filter(|_| network.domains);
        let domains = domains.map(|(name, sentences)| self.block(name, 1, step_size, sentences));
        let domains = domains.collect::<Result<_, _>>()?;
        let studies = self.studies(step_size, &splits.dev)?;
        let outputs = self.kept.get(&format!("{} side by side", self.name), || {
            let found = side_by_side(self.task, self.config, step_size, &splits.test, self.watch);
            found.map_err(ExperimentError::from)
        })?;
        let config = network.clone();
        Ok(OfNetwork { config, dev_f1, step_size, test, domains, studies, outputs })
    }

    /// The studies of this network, on dev failures of greedy decoding.
    fn studies(&self, step_size: f32, dev: &[Sentence]) -> Result<Vec<Vec<Row>>, ExperimentError> {
        let (config, watch) = (self.config, self.watch);
        let failures = OnceCell::new();
        let found = || match failures.get() {
            Some(known) => Ok(known),
            None => {
                let found = Failures::find(self.task, config.beam(1), dev, watch)?;
                Ok::<_, UnknownParameter>(failures.get_or_init(|| found))
            }
        };
        let of_one = |study: &Study| {
            if !study.is_about(self.name) {
                return Ok(Vec::new());
            }
            study.measure(self.name, self.presets(), step_size, self.kept, |name, preset| {
                let some = found()?.first(study.failures);
                watch.begin(name, some.cases.len() as u64);
                let repairs = some.gbi(preset, watch)?;
                watch.end();
                Ok(some.row(self.name, name, "dev", &repairs))
            })
        };
        config.studies.iter().map(of_one).collect()
    }

    /// The step size of plain SGD with the best F1 on dev failures of greedy decoding.
    fn step_size(&self, dev: &[Sentence]) -> Result<f32, ExperimentError> {
        let tuning = &self.config.tuning;
        let failures = Failures::find(self.task, self.config.beam(1), dev, self.watch)?
            .truncated(tuning.failures);
        let best = best_of(tuning.step_sizes.iter().copied(), |size| {
            self.watch.begin(&format!("step size {size}"), failures.cases.len() as u64);
            let repairs = failures.repair(Method::Paper(size), self.config, self.watch)?;
            self.watch.end();
            Ok::<_, ExperimentError>(failures.score(&repairs).f1())
        })?;
        Ok(best.unwrap_or(self.presets().paper.schedule.step_size))
    }

    /// Measures every method on the failures among `sentences`, or loads saved results.
    fn block(
        &self,
        data: &str,
        width: usize,
        step_size: f32,
        sentences: &[Sentence],
    ) -> Result<Measured, ExperimentError> {
        let name = format!("{} {data} {}", self.name, decoder_name(width));
        let measured = self.kept.get(&name, || {
            let failures =
                Failures::find(self.task, self.config.beam(width), sentences, self.watch)?;
            self.repair_all(data, &failures, step_size)
        })?;
        self.tell(&measured);
        Ok(measured)
    }

    fn repair_all(
        &self,
        data: &str,
        failures: &Failures<'_>,
        step_size: f32,
    ) -> Result<Measured, ExperimentError> {
        let config = self.config;
        let untouched = decoder_name(failures.beam.width);
        let mut measured = Measured {
            data: data.to_owned(),
            width: failures.beam.width,
            inputs: failures.cases.iter().map(|case| case.index).collect(),
            rows: Vec::new(),
            tallies: Tallies::default(),
            parts: Vec::new(),
            steps: Vec::new(),
        };
        self.add(&mut measured, failures, &untouched, &failures.untouched());
        let is_narrower = |width: usize| failures.beam.width < width;
        let inner = self.presets().best.width;
        let inner = is_narrower(inner).then_some(Method::Beam(inner));
        let wide = config.rivals.beam_width;
        let wide = is_narrower(wide).then_some(Method::Beam(wide));
        let methods = [Method::Constrained, Method::MaskedGreedy, Method::MaskedBeam];
        let nudging = [Method::Paper(step_size), Method::Small, Method::Best];
        for method in methods.into_iter().chain(inner).chain(wide).chain(nudging) {
            let name = method.name(&config.rivals);
            let repairs =
                self.watched(&name, failures, || failures.repair(method, config, self.watch))?;
            self.add(&mut measured, failures, &name, &repairs);
        }
        // The parts name parameters of LSTMs.
        let has_parts = matches!(self.task.parser().model.net, SequenceNetwork::Lstm(_));
        let has_parts = has_parts && failures.beam.width == 1 && data == "test";
        let parts = config.parts.iter().filter(|_| has_parts);
        for part in parts {
            let preset = part.config(self.presets(), step_size)?;
            let repairs =
                self.watched(&part.name, failures, || failures.gbi(preset, self.watch))?;
            measured.parts.push(failures.row(self.name, &part.name, data, &repairs));
            measured.tallies.push(&part.name, failures.tallies(&repairs));
        }
        Ok(measured)
    }

    fn watched<E>(
        &self,
        name: &str,
        failures: &Failures<'_>,
        repair: impl FnOnce() -> Result<Vec<Repair>, E>,
    ) -> Result<Vec<Repair>, E> {
        self.watch.begin(name, failures.cases.len() as u64);
        let repairs = repair();
        self.watch.end();
        repairs
    }

    /// Adds the figures of a method.
    fn add(&self, to: &mut Measured, failures: &Failures<'_>, method: &str, repairs: &[Repair]) {
        to.rows.push(failures.row(self.name, method, &to.data, repairs));
        to.tallies.push(method, failures.tallies(repairs));
        if repairs.iter().any(|repair| repair.steps.is_some()) {
            to.steps.push((method.to_owned(), converted_steps(repairs)));
        }
    }

    /// Reports one line per method.
    fn tell(&self, measured: &Measured) {
        let Some(first) = measured.rows.first() else { return };
        self.watch.say(&format!(
            "  {}, {}: {} of {} outputs are not trees; F1 of all {:.2}",
            measured.data,
            first.method,
            first.failures,
            first.total,
            first.figure(Figure::WholeF1Before)
        ));
        for row in measured.rows[1..].iter().filter(|row| 0 < row.failures) {
            self.watch.say(&format!(
                "    {:<20} converts {:>5.1} %, F1 on failures {:.1} → {:.1}",
                row.method,
                row.figure(Figure::Conversion),
                row.figure(Figure::F1Before),
                row.figure(Figure::F1After)
            ));
        }
    }
}
