//! The experiment: train or reuse the taggers, find their failures, repair them by every method.

use std::path::Path;

use cajole::UnknownGroup;
use cajole::corpus::decode_all;
use cajole::report::{Report, Row};
use cajole_nn::checkpoint::Precision;
use cajole_nn::decoders::Greedy;
use cajole_nn::models::Token;
use serde::{Deserialize, Serialize};

use super::case_study::case_study;
use super::config::{CorpusConfig, NetworkConfig, SrlConfig, UnknownCorpus};
use super::corpora::Splits;
use super::instance::{Instance, Noise};
use super::methods::Failures;
use super::nodes::Reading;
use super::sentence::Sentence;
use super::tables;
use super::tagger::{self, RoleTagger};
use super::training::{propositions, train};
use crate::checkpoint::{self, LoadError};
use crate::experiment::{
    CorpusError, Kept, KeptError, Repair, Watch, converted_steps, finish, mean_milliseconds,
};
use crate::parsing::parser;
use crate::treebank::Tree;
use crate::words::Reads;

/// Why the experiment could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A checkpoint could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] LoadError),
    /// A corpus could not be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A network is for none.
    #[error(transparent)]
    Unknown(#[from] UnknownCorpus),
    /// A preset does not fit a network.
    #[error(transparent)]
    Preset(#[from] UnknownGroup),
    /// A result could not be kept.
    #[error(transparent)]
    Kept(#[from] KeptError),
}

/// What was measured with one tagger, one set of sentences and one kind of constraint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The sentences: `test`, or the name of a domain.
    pub(super) data: String,
    pub(super) reading: Reading,
    pub(super) noise: Noise,
    /// One per method, the untouched outputs first.
    pub(super) rows: Vec<Row>,
    /// Algorithm 1 stopped early: one row per preset and limit.
    pub(super) limits: Vec<Row>,
    /// Steps of each conversion, by method that nudges.
    pub(super) steps: Vec<(String, Vec<usize>)>,
    /// By role: how many there are, F1 of all outputs before, and after the best preset.
    pub(super) roles: Vec<(String, usize, f64, f64)>,
}

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

/// Settings that depend on the network, chosen on development data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chosen {
    /// The step size of plain SGD.
    pub(super) step_size: f32,
    /// How far to trust each kind of constraint.
    pub(super) trust: Vec<Trust>,
}

/// How far a kind of constraint is to be trusted: a right one always, one that is wrong at times
/// only where the network does not insist.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trust {
    pub(super) noise: Noise,
    pub(super) reading: Reading,
    /// A*'s penalty for an argument that is no node; none forbids it.
    pub(super) penalty: Option<f32>,
    /// Steps that the best preset takes before it lets an output be.
    pub(super) limit: usize,
}

impl Chosen {
    fn trust(&self, noise: Noise, reading: Reading) -> Trust {
        let mut known = self.trust.iter();
        let found = known.find(|trust| (trust.noise, trust.reading) == (noise, reading));
        found.copied().unwrap_or(Trust { noise, reading, penalty: None, limit: usize::MAX })
    }
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
        let (tagger, card) = match &folder {
            Some(folder) if checkpoint::exists(folder) => tagger::load(folder)?,
            _ => {
                let trained = train(network, config, corpus, &splits, folder.as_deref(), watch)?;
                if let Some(folder) = &folder {
                    tagger::save(folder, &trained.0, &trained.1, Precision::F32)?;
                    finish(folder)?;
                }
                trained
            }
        };
        watch.say(&format!("  F1 {:.2} on the development data", card.dev_f1));
        let run = Run { name: &network.name, tagger: &tagger, config, corpus, kept: &kept, watch };
        let measured = run.measure(network, card.dev_f1, &splits)?;
        let paper = run.paper(measured.chosen.step_size);
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
struct Run<'a> {
    name: &'a str,
    tagger: &'a RoleTagger,
    config: &'a SrlConfig,
    corpus: &'a CorpusConfig,
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
        // A parser of words is no use where there are none; and its trees are for networks that are
        // tested in the open.
        let has_parser = network.domains && self.corpus.reads == Reads::Words;
        let kinds = self.config.noise.iter().copied();
        let kinds: Vec<Noise> = kinds.filter(|&n| n != Noise::Predicted || has_parser).collect();
        let choose = || self.choose(&kinds, &splits.dev);
        let chosen = self.kept.get(&format!("{} chosen", self.name), choose)?;
        let mut test = Vec::new();
        for &noise in &kinds {
            for &reading in &self.config.readings {
                test.push(self.block("test", reading, noise, &chosen, &splits.test)?);
            }
        }
        let (reading, noise) = (self.config.readings[0], self.config.noise[0]);
        let domains = splits.domains.iter().filter(|_| network.domains);
        let domains = domains.map(|(name, some)| self.block(name, reading, noise, &chosen, some));
        let domains = domains.collect::<Result<_, _>>()?;
        Ok(OfNetwork { config: network.clone(), dev_f1, chosen, test, domains })
    }

    /// The inputs of one block.
    fn instances(&self, sentences: &[Sentence], reading: Reading, noise: Noise) -> Vec<Instance> {
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
        let parser = parser::built_in();
        let leaves: Vec<Vec<(&str, &str)>> = sentences.iter().map(Sentence::leaves).collect();
        let tokens: Vec<Vec<Token>> = leaves.iter().map(|l| parser.lexicon.tokens(l)).collect();
        let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
        let decoded = decode_all(&parser.model, &Greedy, &xs);
        let trees = decoded.iter().zip(&leaves).map(|(y, leaves)| parser.tree(&y.output, leaves).0);
        let trees = trees.collect();
        self.watch.end();
        trees
    }

    /// Chooses settings by F1 on development failures.
    fn choose(&self, kinds: &[Noise], dev: &[Sentence]) -> Result<Chosen, ExperimentError> {
        let (tuning, reading) = (&self.config.tuning, self.config.readings[0]);
        let instances = self.instances(dev, reading, self.config.noise[0]);
        let failures =
            Failures::find(self.tagger, &instances, self.watch).truncated(tuning.failures);
        let mut best = (f64::NEG_INFINITY, self.config.gbi.paper.schedule.step_size);
        for &step_size in &tuning.step_sizes {
            self.watch.begin(&format!("step size {step_size}"), failures.cases.len() as u64);
            let outcomes = failures.gbi(self.paper(step_size), self.watch)?;
            self.watch.end();
            let f1 = failures.score(outcomes.iter().map(|o| o.output.as_slice())).f1();
            if best.0 < f1 {
                best = (f1, step_size);
            }
        }
        let readings = &self.config.readings;
        let kinds = kinds.iter().flat_map(|noise| readings.iter().map(move |r| (*noise, *r)));
        let trust = kinds.map(|(noise, reading)| self.trust(noise, reading, dev));
        Ok(Chosen { step_size: best.1, trust: trust.collect::<Result<_, _>>()? })
    }

    /// Chooses how far to trust constraints of this kind.
    fn trust(
        &self,
        noise: Noise,
        reading: Reading,
        dev: &[Sentence],
    ) -> Result<Trust, ExperimentError> {
        let instances = self.instances(dev, reading, noise);
        let failures = Failures::find(self.tagger, &instances, self.watch);
        let failures = failures.truncated(self.config.tuning.failures);
        let f1 =
            |repairs: &[Repair]| failures.score(repairs.iter().map(|r| r.output.as_slice())).f1();
        let mut penalty = (f64::NEG_INFINITY, f32::INFINITY);
        for &candidate in &self.config.tuning.penalties {
            self.watch.begin(&format!("A*, penalty {candidate}"), failures.cases.len() as u64);
            let limit = self.config.rivals.agenda_limit;
            let f1 = f1(&failures.a_star(candidate, limit, self.watch));
            self.watch.end();
            if penalty.0 < f1 {
                penalty = (f1, candidate);
            }
        }
        self.watch.begin("gbi best", failures.cases.len() as u64);
        let outcomes = failures.gbi(self.config.gbi.best.clone(), self.watch)?;
        self.watch.end();
        let mut limit = (f64::NEG_INFINITY, usize::MAX);
        for candidate in self.config.gbi.limits.iter().copied().chain([usize::MAX]) {
            let stopped = outcomes.iter().map(|o| Repair::within(o, candidate));
            let f1 = f1(&stopped.collect::<Vec<Repair>>());
            // Of equals, the longest: a conversion is worth something.
            if limit.0 <= f1 {
                limit = (f1, candidate);
            }
        }
        let penalty = Some(penalty.1).filter(|penalty| penalty.is_finite());
        Ok(Trust { noise, reading, penalty, limit: limit.1 })
    }

    /// The paper's preset, up to the largest step limit that is reported.
    fn paper(&self, step_size: f32) -> cajole::Config {
        let mut paper = self.config.gbi.paper.clone();
        paper.schedule.step_size = step_size;
        paper
    }

    /// Every method on the failures among `sentences`, as kept or measured now.
    fn block(
        &self,
        data: &str,
        reading: Reading,
        noise: Noise,
        chosen: &Chosen,
        sentences: &[Sentence],
    ) -> Result<Measured, ExperimentError> {
        let name = format!("{} {data} {} {}", self.name, noise.name(), reading.name());
        let measured = self.kept.get(&name, || {
            let instances = self.instances(sentences, reading, noise);
            let failures = Failures::find(self.tagger, &instances, self.watch);
            let viterbi = mean_milliseconds(&self.tagger.model, &self.tagger.viterbi(), &instances);
            let measured = Measured {
                data: data.to_owned(),
                reading,
                noise,
                rows: Vec::new(),
                limits: Vec::new(),
                steps: Vec::new(),
                roles: Vec::new(),
            };
            self.repair_all(measured, &failures, viterbi, chosen)
        })?;
        self.tell(&measured);
        Ok(measured)
    }

    fn repair_all(
        &self,
        mut measured: Measured,
        failures: &Failures<'_>,
        viterbi: f64,
        chosen: &Chosen,
    ) -> Result<Measured, ExperimentError> {
        let (config, watch) = (self.config, self.watch);
        let data = measured.data.clone();
        let is_first = (measured.reading, measured.noise) == (config.readings[0], config.noise[0]);
        // `more` is what a repair costs beyond the one pass that every input takes.
        let row = |method: &str, repairs: &[Repair], more: f64| {
            let row = failures.row(self.name, method, &data, repairs);
            row.with("viterbi_ms", viterbi).with("repair_cost", more / viterbi)
        };
        let spent = |repairs: &[Repair]| {
            repairs.iter().map(|r| r.milliseconds).sum::<f64>() / repairs.len() as f64
        };
        let timed = |name: &str, repair: &dyn Fn() -> Vec<Repair>| {
            watch.begin(name, failures.cases.len() as u64);
            let repairs = repair();
            watch.end();
            let more = spent(&repairs);
            (row(name, &repairs, more), repairs)
        };
        measured.rows.push(row("viterbi", &failures.untouched(), 0.0));
        let trust = chosen.trust(measured.noise, measured.reading);
        let (penalty, limit) = (trust.penalty.unwrap_or(f32::INFINITY), config.rivals.agenda_limit);
        measured.rows.push(timed("A*", &|| failures.a_star(penalty, limit, watch)).0);
        measured.rows.push(timed("exact MAP", &|| failures.exact(watch)).0);
        let (paper, best) = (self.paper(chosen.step_size), config.gbi.best.clone());
        for (name, preset) in [("gbi paper", paper), ("gbi best", best)] {
            let own_limit = preset.schedule.max_steps;
            let mut longer = preset;
            // How step limits trade off is shown once, under the first kind of constraint.
            let limits: &[usize] = match is_first {
                true => &config.gbi.limits,
                false => &[],
            };
            let most = limits.iter().copied().max().unwrap_or(0);
            longer.schedule.max_steps = own_limit.max(most);
            watch.begin(name, failures.cases.len() as u64);
            let outcomes = failures.gbi(longer, watch)?;
            watch.end();
            let first = outcomes.iter().filter_map(|o| o.trace.steps().first());
            let first = first.map(|s| s.elapsed.as_secs_f64() * 1e3).sum::<f64>();
            let first = first / outcomes.len() as f64;
            for &limit in limits {
                let stopped: Vec<_> = outcomes.iter().map(|o| Repair::within(o, limit)).collect();
                let row = row(name, &stopped, spent(&stopped) - first).with("limit", limit as f64);
                measured.limits.push(row);
            }
            let within = |limit: usize| -> Vec<Repair> {
                outcomes.iter().map(|o| Repair::within(o, limit)).collect()
            };
            if name == "gbi paper" {
                let repairs = within(own_limit);
                measured.rows.push(row(name, &repairs, spent(&repairs) - first));
                measured.steps.push((name.to_owned(), converted_steps(&repairs)));
                continue;
            }
            if trust.noise != Noise::Free {
                let repairs = within(trust.limit);
                measured.rows.push(row("gbi cautious", &repairs, spent(&repairs) - first));
            }
            let repairs = within(usize::MAX);
            measured.rows.push(row(name, &repairs, spent(&repairs) - first));
            measured.steps.push((name.to_owned(), converted_steps(&repairs)));
            measured.roles = failures.by_role(&repairs);
        }
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
            first.get("whole_f1_before").unwrap_or(f64::NAN)
        ));
        for row in measured.rows[1..].iter().filter(|row| 0 < row.failures) {
            let figure = |name: &str| row.get(name).unwrap_or(f64::NAN);
            self.watch.say(&format!(
                "    {:<10} converts {:>5.1} %, on failures F1 {:.1} → {:.1}, exact {:.1} → {:.1}",
                row.method,
                figure("conversion"),
                figure("f1_before"),
                figure("f1_after"),
                figure("exact_before"),
                figure("exact_after"),
            ));
        }
    }
}
