//! The experiment: train or reuse the parsers, find their failures, repair them by every method.

use std::path::Path;

use cajole_core::report::{CaseStudy, Report, Row};
use cajole_nn::checkpoint::Precision;
use serde::{Deserialize, Serialize};

use super::case_study::case_study;
use super::config::{NetworkConfig, ParsingConfig};
use super::corpora::Splits;
use super::methods::{Failures, Method, decoder_name};
use super::parser::{self, Parser};
use super::tables;
use super::training::train;
use crate::checkpoint;
use crate::experiment::{ExperimentError, Kept, Watch, best_of, converted_steps, kept_or_trained};
use crate::treebank::Sentence;

/// What was measured with one parser, one width and one set of sentences.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The sentences: `test`, or the name of a domain.
    pub(super) data: String,
    pub(super) width: usize,
    /// One per method, the untouched outputs first.
    pub(super) rows: Vec<Row>,
    /// Steps of each conversion, by method that nudges.
    pub(super) steps: Vec<(String, Vec<usize>)>,
}

/// Everything measured with one parser.
pub(super) struct OfNetwork {
    pub(super) config: NetworkConfig,
    /// F1 of greedy decoding on the development data.
    pub(super) dev_f1: f64,
    /// The step size of plain SGD that was chosen there.
    pub(super) step_size: f32,
    pub(super) test: Vec<Measured>,
    pub(super) domains: Vec<Measured>,
}

/// Runs the experiment. Parsers and results are kept under `out`, if given, and used again.
///
/// # Errors
/// If a treebank cannot be read, a preset does not fit, or something cannot be kept.
pub fn reproduce(
    config: &ParsingConfig,
    data: Option<&Path>,
    out: Option<&Path>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    ExperimentError::unless_distinct(config.networks.iter().map(|n| &n.name))?;
    let kept = Kept::open(out.map(|out| out.join("measured")).as_deref(), config)?;
    let folder_of = |n: &NetworkConfig| out.map(|out| out.join("nets").join(&n.name));
    // Those that are trained already come first.
    let mut order: Vec<usize> = (0..config.networks.len()).collect();
    order.sort_by_key(|&i| !folder_of(&config.networks[i]).is_some_and(|f| checkpoint::exists(&f)));
    let mut results: Vec<(usize, OfNetwork, Option<CaseStudy>)> = Vec::new();
    let mut loaded: Option<(&str, Splits)> = None;
    for i in order {
        let network = &config.networks[i];
        let treebank = config.treebank_of(network)?;
        let splits = match loaded.take() {
            Some((name, splits)) if name == network.treebank => splits,
            _ => {
                let splits = Splits::load(treebank, data, config.seed)?;
                splits.problems.iter().for_each(|p| watch.say(&format!("left out: {p}")));
                splits
            }
        };
        watch.say(&format!("\n{}: {}", network.name, tables::describe(network)));
        let folder = folder_of(network);
        let (parser, card) = kept_or_trained(
            folder.as_deref(),
            parser::load,
            || train(network, config, treebank, &splits, folder.as_deref(), watch),
            |folder, (parser, card)| parser::save(folder, parser, card, Precision::F32),
        )?;
        watch.say(&format!("  F1 {:.2} on the development data", card.dev_f1));
        let run = Run { name: &network.name, parser: &parser, config, kept: &kept, watch };
        let of_network = run.measure(network, card.dev_f1, &splits)?;
        let case = kept.get(&format!("{} case", network.name), || {
            let found = case_study(&parser, config, of_network.step_size, &splits.test)?;
            Ok::<Option<CaseStudy>, ExperimentError>(found)
        })?;
        results.push((i, of_network, case));
        loaded = Some((&network.treebank, splits));
    }
    results.sort_by_key(|(i, ..)| *i);
    let (networks, cases): (Vec<_>, Vec<_>) =
        results.into_iter().map(|(_, network, case)| (network, case)).unzip();
    Ok(tables::report(config, &networks, cases.into_iter().flatten().next()))
}

/// One parser being measured.
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

    /// The step size of plain SGD with the best F1 on development failures of greedy decoding.
    fn step_size(&self, dev: &[Sentence]) -> Result<f32, ExperimentError> {
        let tuning = &self.config.tuning;
        let failures = Failures::find(self.parser, 1, dev, self.watch).truncated(tuning.failures);
        let best = best_of(tuning.step_sizes.iter().copied(), |size| {
            self.watch.begin(&format!("step size {size}"), failures.cases.len() as u64);
            let repairs = failures.repair(Method::Paper(size), self.config, self.watch)?;
            self.watch.end();
            Ok::<_, ExperimentError>(failures.score(&repairs).f1())
        })?;
        Ok(best.unwrap_or(self.config.gbi.paper.schedule.step_size))
    }

    /// Every method on the failures among `sentences`, as kept or measured now.
    fn block(
        &self,
        data: &str,
        width: usize,
        step_size: f32,
        sentences: &[Sentence],
    ) -> Result<Measured, ExperimentError> {
        let name = format!("{} {data} {}", self.name, decoder_name(width));
        let measured = self.kept.get(&name, || {
            let failures = Failures::find(self.parser, width, sentences, self.watch);
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
        let untouched = decoder_name(failures.width);
        let mut rows = vec![failures.row(self.name, &untouched, data, &failures.untouched())];
        let mut steps = Vec::new();
        let beam = (failures.width < config.rivals.beam_width).then_some(Method::Beam);
        let methods = [Method::Constrained, Method::MaskedGreedy, Method::MaskedBeam];
        let nudging = [Method::Paper(step_size), Method::Best];
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
        Ok(Measured { data: data.to_owned(), width: failures.width, rows, steps })
    }

    /// A line per method for whoever watches.
    fn tell(&self, measured: &Measured) {
        let Some(first) = measured.rows.first() else { return };
        self.watch.say(&format!(
            "  {}, {}: {} of {} outputs are no tree; F1 of all {:.2}",
            measured.data,
            first.method,
            first.failures,
            first.total,
            first.figure("whole_f1_before")
        ));
        for row in measured.rows[1..].iter().filter(|row| 0 < row.failures) {
            self.watch.say(&format!(
                "    {:<20} converts {:>5.1} %, F1 on failures {:.1} → {:.1}",
                row.method,
                row.figure("conversion"),
                row.figure("f1_before"),
                row.figure("f1_after")
            ));
        }
    }
}
