//! The experiment: train or load the parsers, find their failures, repair them by every method.

use std::path::Path;

use cajole_report::{CaseStudy, Figure, Report, Row};
use cajole_tasks::Watch;
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::corpora::CorpusError;
use cajole_tasks::parsing::{Card, NetworkConfig, Parser, Recipe, Splits, train};
use cajole_treebank::Sentence;
use serde::{Deserialize, Serialize};

use super::case_study::case_study;
use super::config::ParsingConfig;
use super::methods::{Failures, Method, decoder_name};
use super::tables;
use crate::{Experiment, ExperimentError, Kept, UnknownCorpus, best_of, converted_steps};

/// The measurements for one parser, one beam width and one set of sentences.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The sentences: `test`, or the name of a domain.
    pub(super) data: String,
    pub(super) width: usize,
    /// One per method, the untouched outputs first.
    pub(super) rows: Vec<Row>,
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
}

/// Runs the experiment. Parsers and results are saved under `out`, if given, and reused.
///
/// # Errors
/// If a treebank cannot be read, a preset does not fit, or something cannot be saved.
pub fn reproduce(
    config: &ParsingConfig,
    data: Option<&Path>,
    out: Option<&Path>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    crate::reproduce(config, data, out, watch)
}

impl Experiment for ParsingConfig {
    type Network = NetworkConfig;
    type Recipe<'a> = Recipe<'a>;
    type Sentence = Sentence;
    type Trained = Parser;
    type Measured = OfNetwork;

    fn networks(&self) -> &[NetworkConfig] {
        &self.networks
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

    fn load(recipe: &Recipe<'_>, data: Option<&Path>) -> Result<Splits, CorpusError> {
        Splits::load(recipe.treebank, data, recipe.seed)
    }

    fn train(
        recipe: &Recipe<'_>,
        splits: &Splits,
        folder: Option<&Path>,
        watch: &dyn Watch,
    ) -> Result<(Parser, Card), LoadError> {
        train(recipe, splits, folder, watch)
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
        let run = Run { name: &network.name, parser, config: self, kept, watch };
        let measured = run.measure(network, card.dev_f1, splits)?;
        let case = kept.get(&format!("{} case", network.name), || {
            let found = case_study(parser, self, measured.step_size, &splits.test)?;
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
    parser: &'a Parser,
    config: &'a ParsingConfig,
    kept: &'a Kept,
    watch: &'a dyn Watch,
}

impl Run<'_> {
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
        Ok(OfNetwork { config: network.clone(), dev_f1, step_size, test, domains })
    }

    /// The step size of plain SGD with the best F1 on dev failures of greedy decoding.
    fn step_size(&self, dev: &[Sentence]) -> Result<f32, ExperimentError> {
        let tuning = &self.config.tuning;
        let failures = Failures::find(self.parser, self.config.beam(1), dev, self.watch)
            .truncated(tuning.failures);
        let best = best_of(tuning.step_sizes.iter().copied(), |size| {
            self.watch.begin(&format!("step size {size}"), failures.cases.len() as u64);
            let repairs = failures.repair(Method::Paper(size), self.config, self.watch)?;
            self.watch.end();
            Ok::<_, ExperimentError>(failures.score(&repairs).f1())
        })?;
        Ok(best.unwrap_or(self.config.gbi.paper.schedule.step_size))
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
                Failures::find(self.parser, self.config.beam(width), sentences, self.watch);
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
        let (config, watch) = (self.config, self.watch);
        let untouched = decoder_name(failures.beam.width);
        let mut rows = vec![failures.row(self.name, &untouched, data, &failures.untouched())];
        let mut steps = Vec::new();
        let beam = (failures.beam.width < config.rivals.beam_width).then_some(Method::Beam);
        let methods = [Method::Constrained, Method::MaskedGreedy, Method::MaskedBeam];
        let nudging = [Method::Paper(step_size), Method::Small, Method::Best];
        for method in methods.into_iter().chain(beam).chain(nudging) {
            let name = method.name(&config.rivals);
            watch.begin(&name, failures.cases.len() as u64);
            let repairs = failures.repair(method, config, watch)?;
            watch.end();
            rows.push(failures.row(self.name, &name, data, &repairs));
            if repairs.iter().any(|r| r.steps.is_some()) {
                steps.push((name, converted_steps(&repairs)));
            }
        }
        Ok(Measured { data: data.to_owned(), width: failures.beam.width, rows, steps })
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
