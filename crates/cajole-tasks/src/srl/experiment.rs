//! The experiment: train or reuse the taggers, find their failures, repair them by every method.

use std::path::Path;

use cajole_core::report::Report;
use cajole_nn::checkpoint::Precision;
use cajole_nn::decoders::Greedy;

use super::block::{Block, Measured};
use super::case_study::case_study;
use super::choice::{Chosen, Kind};
use super::config::{CorpusConfig, NetworkConfig, SrlConfig};
use super::corpora::Splits;
use super::instance::{Instance, Noise};
use super::methods::Failures;
use super::nodes::Reading;
use super::sentence::Sentence;
use super::tables;
use super::tagger::{self, RoleTagger};
use super::training::{propositions, train};
use crate::experiment::{ExperimentError, Kept, Watch, kept_or_trained, mean_milliseconds};
use crate::parsing::parser;
use crate::treebank::Tree;
use crate::words::Reads;

/// Everything measured with one tagger.
pub(super) struct OfNetwork {
    pub(super) config: NetworkConfig,
    /// F1 of Viterbi decoding on the development data.
    pub(super) dev_f1: f64,
    /// What was chosen there.
    pub(super) chosen: Chosen,
    pub(super) test: Vec<Measured>,
    pub(super) domains: Vec<Measured>,
}

/// Runs the experiment. Taggers and results are kept under `out`, if given, and used again.
///
/// # Errors
/// If a corpus cannot be read, a preset does not fit, or something cannot be kept.
pub fn reproduce(
    config: &SrlConfig,
    data: Option<&Path>,
    out: Option<&Path>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    ExperimentError::unless_distinct(config.networks.iter().map(|n| &n.name))?;
    let kept = Kept::open(out.map(|out| out.join("measured")).as_deref(), config)?;
    let (mut networks, mut cases) = (Vec::new(), Vec::new());
    let mut loaded: Option<(&str, Splits)> = None;
    for network in &config.networks {
        let corpus = config.corpus_of(network)?;
        let splits = match loaded.take() {
            Some((name, splits)) if name == network.corpus => splits,
            _ => {
                let splits = Splits::load(corpus, data, config.seed)?;
                splits.problems.iter().for_each(|p| watch.say(&format!("left out: {p}")));
                splits
            }
        };
        watch.say(&format!("\n{}: {}", network.name, tables::describe(network)));
        let folder = out.map(|out| out.join("nets").join(&network.name));
        let (tagger, card) = kept_or_trained(
            folder.as_deref(),
            tagger::load,
            || train(network, config, corpus, &splits, folder.as_deref(), watch),
            |folder, (tagger, card)| tagger::save(folder, tagger, card, Precision::F32),
        )?;
        watch.say(&format!("  F1 {:.2} on the development data", card.dev_f1));
        let run = Run { name: &network.name, tagger: &tagger, config, corpus, kept: &kept, watch };
        let measured = run.measure(network, card.dev_f1, &splits)?;
        let paper = config.gbi.paper_by(measured.chosen.step_size);
        cases.push(kept.get(&format!("{} case", network.name), || {
            let inputs = run.inputs(&splits.test);
            Ok::<_, ExperimentError>(case_study(&tagger, &paper, &inputs)?)
        })?);
        networks.push(measured);
        loaded = Some((&network.corpus, splits));
    }
    let mut report = tables::report(config, &networks);
    report.cases = cases.into_iter().flatten().take(1).collect();
    Ok(report)
}

/// One tagger being measured.
pub(super) struct Run<'a> {
    name: &'a str,
    pub(super) tagger: &'a RoleTagger,
    pub(super) config: &'a SrlConfig,
    corpus: &'a CorpusConfig,
    kept: &'a Kept,
    pub(super) watch: &'a dyn Watch,
}

impl Run<'_> {
    fn measure(
        &self,
        network: &NetworkConfig,
        dev_f1: f64,
        splits: &Splits,
    ) -> Result<OfNetwork, ExperimentError> {
        // A parser of words is no use where there are none; and its trees are for networks that are
        // tested in the open.
        let has_parser = network.domains && self.corpus.reads == Reads::Words;
        let kinds = self.config.noise.iter().copied();
        let kinds: Vec<Noise> = kinds.filter(|&n| n != Noise::Predicted || has_parser).collect();
        let choose = || self.choose(&kinds, &splits.dev);
        let chosen = self.kept.get(&format!("{} chosen", self.name), choose)?;
        let block = |data, kind, some| self.block(data, chosen.step_size, kind, some);
        let test = chosen.kinds.iter().map(|kind| block("test", kind, &splits.test));
        let test = test.collect::<Result<_, _>>()?;
        // Under the first kind of constraint.
        let kind = chosen.kinds.first().filter(|_| network.domains);
        let domains = kind
            .iter()
            .flat_map(|kind| splits.domains.iter().map(|(name, some)| block(name, kind, some)));
        let domains = domains.collect::<Result<_, _>>()?;
        Ok(OfNetwork { config: network.clone(), dev_f1, chosen, test, domains })
    }

    /// The inputs of one block.
    pub(super) fn instances(
        &self,
        sentences: &[Sentence],
        reading: Reading,
        noise: Noise,
    ) -> Vec<Instance> {
        let predicted = match noise {
            Noise::Predicted => self.parse(sentences),
            _ => Vec::new(),
        };
        let mut instances = Vec::new();
        for (i, sentence) in sentences.iter().enumerate() {
            let tree = predicted.get(i).or(sentence.tree.as_ref());
            let one = std::slice::from_ref(sentence);
            instances.extend(propositions(one, self.corpus).map(|(_, proposition)| {
                let instance = Instance::new(self.tagger, sentence, proposition);
                match tree {
                    Some(tree) => instance.within(tree, reading, noise),
                    None => instance,
                }
            }));
        }
        instances
    }

    /// The inputs of the first block, with the sentences they are from.
    fn inputs<'s>(&self, sentences: &'s [Sentence]) -> Vec<(&'s Sentence, Instance)> {
        let instances = self.instances(sentences, self.config.readings[0], self.config.noise[0]);
        propositions(sentences, self.corpus).map(|(s, _)| s).zip(instances).collect()
    }

    /// The trees that the parser which comes with cajole gives these sentences.
    fn parse(&self, sentences: &[Sentence]) -> Vec<Tree> {
        self.watch.begin("parsing", 1);
        let leaves: Vec<Vec<(&str, &str)>> = sentences.iter().map(Sentence::leaves).collect();
        let trees = parser::built_in().trees(&Greedy, &leaves);
        self.watch.end();
        trees
    }

    /// Every method on the failures among `sentences`, as kept or measured now.
    fn block(
        &self,
        data: &str,
        step_size: f32,
        kind: &Kind,
        sentences: &[Sentence],
    ) -> Result<Measured, ExperimentError> {
        let (noise, reading) = (kind.noise, kind.reading);
        let name = format!("{} {data} {} {}", self.name, noise.name(), reading.name());
        let measured = self.kept.get(&name, || {
            let instances = self.instances(sentences, reading, noise);
            let failures = Failures::find(self.tagger, &instances, self.watch);
            let Run { name: net, tagger, config, watch, .. } = *self;
            let viterbi = mean_milliseconds(&tagger.model, &tagger.viterbi(), &instances);
            let failures = &failures;
            let block = Block { net, data, step_size, kind, failures, viterbi, config, watch };
            Ok::<_, ExperimentError>(block.repair_all()?)
        })?;
        self.tell(&measured);
        Ok(measured)
    }

    /// A line per method for whoever watches.
    fn tell(&self, measured: &Measured) {
        let Some(first) = measured.rows.first() else { return };
        self.watch.say(&format!(
            "  {}, {} constraints, {} nodes: {} of {} outputs violate; F1 of all {:.2}",
            measured.data,
            measured.noise.name(),
            measured.reading.name(),
            first.failures,
            first.total,
            first.figure("whole_f1_before")
        ));
        for row in measured.rows[1..].iter().filter(|row| 0 < row.failures) {
            self.watch.say(&format!(
                "    {:<12} converts {:>5.1} %, on failures F1 {:.1} → {:.1}, exact {:.1} → {:.1}",
                row.method,
                row.figure("conversion"),
                row.figure("f1_before"),
                row.figure("f1_after"),
                row.figure("exact_before"),
                row.figure("exact_after"),
            ));
        }
    }
}
