//! The experiment: train or load the taggers, find their failures, repair them by every method.

use std::cell::OnceCell;
use std::path::Path;

use cajole_core::UnknownParameter;
use cajole_core::decoders::Greedy;
use cajole_files::Folder;
use cajole_infer::Roles;
use cajole_report::{CaseStudy, Figure, Report, Row};
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::corpora::CorpusError;
use cajole_tasks::parsing::Parser;
use cajole_tasks::srl::instance::{Instance, Noise};
use cajole_tasks::srl::training::{instance, propositions, train};
use cajole_tasks::srl::{Card, CorpusConfig, NetworkConfig, Recipe, RoleTagger, Splits};
use cajole_tasks::words::Reads;
use cajole_tasks::{Checkpoint, Watch};
use cajole_treebank::Tree;
use cajole_treebank::roles::Argument;
use cajole_treebank::roles::nodes::Reading;
use cajole_treebank::roles::sentence::Sentence;
use cajole_treebank::roles::show::Bracketing;

use super::block::{Block, Measured};
use super::case_study::{LONGEST, case_study};
use super::choice::{Chosen, Kind};
use super::config::SrlConfig;
use super::methods::{Failures, Own, mean_milliseconds};
use super::tables;
use crate::{Experiment, ExperimentError, Kept, Places, SHOWN, SideBySide, Study, UnknownCorpus};

/// All measurements of one tagger.
pub(crate) struct OfNetwork {
    pub(super) config: NetworkConfig,
    /// Dev F1 of Viterbi decoding.
    pub(super) dev_f1: f64,
    /// The tuned settings.
    pub(super) chosen: Chosen,
    pub(super) test: Vec<Measured>,
    pub(super) domains: Vec<Measured>,
    /// By study, one row per variant.
    pub(super) studies: Vec<Vec<Row>>,
    /// The study of A*.
    pub(super) collapse: Vec<Row>,
    /// Single failures, with every method's output.
    pub(super) outputs: Vec<SideBySide>,
}

/// Runs the experiment. Taggers and results are saved under `places.out`, if given, and reused.
///
/// # Errors
/// If a corpus cannot be read, a preset does not fit, or something cannot be saved.
pub fn reproduce(
    config: &SrlConfig,
    places: &Places<'_>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    crate::reproduce(config, places, watch)
}

impl Experiment for SrlConfig {
    type Network = NetworkConfig;
    type Recipe<'a> = Recipe<'a>;
    type Sentence = Sentence;
    type Trained = RoleTagger;
    type Measured = OfNetwork;

    fn networks(&self) -> Vec<NetworkConfig> {
        self.seeded()
    }

    fn names(network: &NetworkConfig) -> (&String, &String) {
        (&network.name, &network.corpus)
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

    fn can_train(network: &NetworkConfig) -> bool {
        network.encoder.is_none()
    }

    fn load(recipe: &Recipe<'_>, data: Option<&Path>) -> Result<Splits, CorpusError> {
        Splits::load(recipe.corpus, data, recipe.seed)
    }

    fn train(
        recipe: &Recipe<'_>,
        splits: &Splits,
        folder: Option<&Folder>,
        watch: &dyn Watch,
    ) -> Result<(RoleTagger, Card), LoadError> {
        train(recipe, splits, folder, watch)
    }

    fn differs(network: &NetworkConfig, card: &Card) -> Option<String> {
        let found = card.network.size();
        let wanted = (network.layers, network.hidden);
        let text = |(layers, hidden)| format!("{layers} × {hidden} units");
        (found != wanted).then(|| format!("{}, configured {}", text(found), text(wanted)))
    }

    fn dev_f1(card: &Card) -> f64 {
        card.dev_f1
    }

    fn measure(
        &self,
        network: &NetworkConfig,
        (tagger, card): &(RoleTagger, Card),
        splits: &Splits,
        kept: &Kept,
        watch: &dyn Watch,
    ) -> Result<(OfNetwork, Option<CaseStudy>), ExperimentError> {
        let corpus = self.recipe(network)?.corpus;
        let config = self.measuring(network);
        let task = Roles::new(tagger.clone());
        let run = Run { name: &network.name, task: &task, config: &config, corpus, kept, watch };
        let measured = run.measure(network, card.dev_f1, splits)?;
        let case = kept.get(&format!("{} case", network.name), || {
            run.case_study(&measured.chosen, &splits.test)
        })?;
        Ok((measured, case))
    }

    fn report(&self, measured: &[OfNetwork]) -> Report {
        tables::report(self, measured)
    }
}

/// Sentences with a tagger's own outputs for their predicates, computed on demand.
pub(super) struct Tagged<'s> {
    pub(super) sentences: &'s [Sentence],
    own: OnceCell<Vec<Own>>,
}

impl<'s> Tagged<'s> {
    fn new(sentences: &'s [Sentence]) -> Self {
        Tagged { sentences, own: OnceCell::new() }
    }
}

/// A tagger being measured.
pub(super) struct Run<'a> {
    pub(super) name: &'a str,
    pub(super) task: &'a Roles,
    pub(super) config: &'a SrlConfig,
    corpus: &'a CorpusConfig,
    pub(super) kept: &'a Kept,
    pub(super) watch: &'a dyn Watch,
}

impl Run<'_> {
    fn tagger(&self) -> &RoleTagger {
        self.task.tagger()
    }

    fn measure(
        &self,
        network: &NetworkConfig,
        dev_f1: f64,
        splits: &Splits,
    ) -> Result<OfNetwork, ExperimentError> {
        // Predicted trees need words to parse, and are only used for networks that are also tested
        // on other genres.
        let has_parser = network.domains && self.corpus.reads == Reads::Words;
        let kinds = self.config.noise.iter().copied();
        let mut kinds: Vec<Noise> =
            kinds.filter(|&n| n != Noise::Predicted || has_parser).collect();
        if !self.has_every_kind() {
            kinds.truncate(1);
        }
        let dev = Tagged::new(&splits.dev);
        let chosen = self.choose(&kinds, &dev)?;
        let test = Tagged::new(&splits.test);
        let test = chosen.kinds.iter().map(|kind| self.block("test", &chosen, kind, &test));
        let test = test.collect::<Result<_, _>>()?;
        // Other genres use only the first kind of constraint.
        let kind = chosen.kinds.first().filter(|_| network.domains);
        let domains = kind.iter().flat_map(|kind| {
            let chosen = &chosen;
            let domains = splits.domains.iter();
            domains.map(move |(name, some)| self.block(name, chosen, kind, &Tagged::new(some)))
        });
        let domains = domains.collect::<Result<_, _>>()?;
        let studies = self.studies(&chosen, &dev)?;
        let collapse = self.collapse(&chosen, &dev)?;
        let outputs = self.kept.get(&format!("{} side by side", self.name), || {
            self.side_by_side(&chosen, &splits.test)
        })?;
        let config = network.clone();
        Ok(OfNetwork { config, dev_f1, chosen, test, domains, studies, collapse, outputs })
    }

    /// The studies of this network, on dev failures under the first kind of constraint.
    fn studies(&self, chosen: &Chosen, dev: &Tagged<'_>) -> Result<Vec<Vec<Row>>, ExperimentError> {
        let (config, watch) = (self.config, self.watch);
        let (reading, noise) = (config.readings[0], config.noise[0]);
        let instances = match config.studies.iter().any(|study| study.is_about(self.name)) {
            true => self.instances(dev.sentences, reading, noise)?,
            false => Vec::new(),
        };
        let found: OnceCell<Failures<'_>> = OnceCell::new();
        let of_one = |study: &Study| {
            if !study.is_about(self.name) {
                return Ok(Vec::new());
            }
            study.measure(self.name, &config.gbi, chosen.step_size, self.kept, |name, preset| {
                if found.get().is_none() {
                    let _ = found.set(self.failures(&instances, reading, dev)?);
                }
                let Some(some) = found.get().map(|found| found.first(study.failures)) else {
                    unreachable!("it has just been set")
                };
                let nudged = some.gbi(name, preset, watch)?;
                Ok(some.row(self.name, name, "dev", &some.within(&nudged, None)))
            })
        };
        config.studies.iter().map(of_one).collect()
    }

    /// The study of A*, on dev failures under every kind of constraint.
    fn collapse(&self, chosen: &Chosen, dev: &Tagged<'_>) -> Result<Vec<Row>, ExperimentError> {
        let collapse = self.config.collapse.as_ref();
        let collapse = collapse.filter(|c| c.networks.iter().any(|name| name == self.name));
        let Some(collapse) = collapse else { return Ok(Vec::new()) };
        self.kept.get(&format!("{} collapse", self.name), || {
            let mut rows = Vec::new();
            for kind in chosen.kinds.iter().filter(|k| k.reading == self.config.readings[0]) {
                let instances = self.instances(dev.sentences, kind.reading, kind.noise)?;
                let failures = self.failures(&instances, kind.reading, dev)?;
                for search in &collapse.searches {
                    self.watch.begin(&search.name, failures.cases.len() as u64);
                    let repairs = failures.a_star(search.searching(&kind.charges), self.watch)?;
                    self.watch.end();
                    rows.push(failures.row(self.name, &search.name, kind.noise.name(), &repairs));
                }
            }
            Ok(rows)
        })
    }

    /// The failures among the instances of these sentences.
    pub(super) fn failures<'i>(
        &'i self,
        instances: &'i [Instance],
        reading: Reading,
        tagged: &Tagged<'_>,
    ) -> Result<Failures<'i>, UnknownParameter> {
        let own = match tagged.own.get() {
            Some(known) => known,
            None => {
                let own = Failures::decode(self.task, instances, self.watch)?;
                tagged.own.get_or_init(|| own)
            }
        };
        Ok(Failures::among(self.task, instances, reading, own))
    }

    /// Whether this network is measured under every kind of constraint.
    pub(super) fn has_every_kind(&self) -> bool {
        let names = &self.config.every_kind;
        names.is_empty() || names.iter().any(|name| name == self.name)
    }

    /// The inputs of one block.
    pub(super) fn instances(
        &self,
        sentences: &[Sentence],
        reading: Reading,
        noise: Noise,
    ) -> Result<Vec<Instance>, LoadError> {
        let predicted = match noise {
            Noise::Predicted => self.parse(sentences),
            _ => Vec::new(),
        };
        let mut instances = Vec::new();
        for (i, sentence) in sentences.iter().enumerate() {
            let tree = predicted.get(i).or(sentence.tree.as_ref());
            for (_, proposition) in propositions(std::slice::from_ref(sentence), self.corpus) {
                let instance = instance(self.tagger(), sentence, proposition)?;
                instances.push(match tree {
                    Some(tree) => instance.within(tree, reading, noise),
                    None => instance,
                });
            }
        }
        Ok(instances)
    }

    /// The first failures among short sentences, and what every method makes of them, under the
    /// constraints of the first block.
    fn side_by_side(
        &self,
        chosen: &Chosen,
        sentences: &[Sentence],
    ) -> Result<Vec<SideBySide>, ExperimentError> {
        let Some(kind) = chosen.kinds.first() else { return Ok(Vec::new()) };
        let short = sentences.iter().filter(|s| s.tokens.len() <= LONGEST);
        let short: Vec<Sentence> = short.cloned().collect();
        let instances = self.instances(&short, kind.reading, kind.noise)?;
        let failures = Failures::find(self.task, &instances, kind.reading, self.watch)?;
        let failures = failures.truncated(SHOWN);
        let by = kind.charges.searching(self.config.rivals.agenda_limit);
        let mut methods = vec![
            ("network".to_owned(), failures.untouched()),
            ("A*".to_owned(), failures.a_star(by, self.watch)?),
            ("exact MAP".to_owned(), failures.exact(self.watch)?),
        ];
        let gbi = &self.config.gbi;
        let presets = [("paper", gbi.paper_by(chosen.step_size)), ("small", gbi.small.clone())];
        for (name, preset) in presets.into_iter().chain([("best", kind.best.clone())]) {
            let name = format!("gbi {name}");
            let nudged = failures.gbi(&name, preset, self.watch)?;
            methods.push((name, failures.within(&nudged, None)));
        }
        let sentences: Vec<&Sentence> = propositions(&short, self.corpus).map(|(s, _)| s).collect();
        let tokens = |i: usize| &sentences[failures.inputs[i]].tokens[..];
        let show = |i: usize, arguments: &[Argument]| {
            let predicate = failures.cases[i].0.features.predicate;
            Bracketing { tokens: tokens(i), predicate, arguments, wrong: &[] }.to_string()
        };
        let all = 0..failures.cases.len();
        let gold: Vec<String> = all.clone().map(|i| show(i, &failures.cases[i].0.gold)).collect();
        let inputs = all.map(|i| tokens(i).join(" ")).collect();
        Ok(SideBySide::of(inputs, &gold, &methods, |i, y| {
            show(i, &self.tagger().vocabulary.arguments(y))
        }))
    }

    /// A repair to show, among short sentences under the constraints of the first block.
    fn case_study(
        &self,
        chosen: &Chosen,
        sentences: &[Sentence],
    ) -> Result<Option<CaseStudy>, ExperimentError> {
        let (config, reading) = (self.config, self.config.readings[0]);
        let short = sentences.iter().filter(|s| s.tokens.len() <= LONGEST);
        let short: Vec<Sentence> = short.cloned().collect();
        let instances = self.instances(&short, reading, config.noise[0])?;
        let failures = Failures::find(self.task, &instances, reading, self.watch)?;
        let of_instance: Vec<&Sentence> =
            propositions(&short, self.corpus).map(|(s, _)| s).collect();
        let cases = failures.cases.iter().zip(&failures.inputs);
        let cases: Vec<_> = cases.map(|((x, decoded), &i)| (of_instance[i], *x, decoded)).collect();
        let paper = config.gbi.paper_by(chosen.step_size);
        let best = chosen.kinds.first().map_or(&config.gbi.best, |kind| &kind.best);
        let presets = [("paper", &paper), ("best", best)];
        case_study(self.task, reading, presets, &cases)
    }

    /// Parses these sentences with the built-in parser.
    fn parse(&self, sentences: &[Sentence]) -> Vec<Tree> {
        self.watch.begin("parsing", 1);
        let leaves: Vec<Vec<(&str, &str)>> = sentences.iter().map(Sentence::leaves).collect();
        let trees = Parser::built_in().trees(&Greedy, &leaves);
        self.watch.end();
        trees
    }

    /// Measures every method on the failures among `sentences`, or loads saved results.
    fn block(
        &self,
        data: &str,
        chosen: &Chosen,
        kind: &Kind,
        tagged: &Tagged<'_>,
    ) -> Result<Measured, ExperimentError> {
        /// Enough to time Viterbi decoding.
        const TIMED: usize = 500;
        let step_size = chosen.step_size;
        let (noise, reading) = (kind.noise, kind.reading);
        let name = format!("{} {data} {} {}", self.name, noise.name(), reading.name());
        let measured = self.kept.get(&name, || {
            let instances = self.instances(tagged.sentences, reading, noise)?;
            let failures = self.failures(&instances, reading, tagged)?;
            let Run { name: net, task, config, watch, .. } = *self;
            let timed = &instances[..instances.len().min(TIMED)];
            let viterbi = mean_milliseconds(task, timed)?;
            let failures = &failures;
            let first = (config.readings[0], config.noise[0]);
            let has_parts = data == "test" && (reading, noise) == first && self.has_every_kind();
            let block =
                Block { net, data, step_size, kind, failures, has_parts, viterbi, config, watch };
            block.repair_all()
        })?;
        self.tell(&measured);
        Ok(measured)
    }

    /// Reports one line per method.
    fn tell(&self, measured: &Measured) {
        let Some(first) = measured.rows.first() else { return };
        self.watch.say(&format!(
            "  {}, {} constraints, {} nodes: {} of {} outputs violate; F1 of all {:.2}",
            measured.data,
            measured.noise.name(),
            measured.reading.name(),
            first.failures,
            first.total,
            first.figure(Figure::WholeF1Before)
        ));
        for row in measured.rows[1..].iter().filter(|row| 0 < row.failures) {
            self.watch.say(&format!(
                "    {:<12} converts {:>5.1} %, on failures F1 {:.1} → {:.1}, exact {:.1} → {:.1}",
                row.method,
                row.figure(Figure::Conversion),
                row.figure(Figure::F1Before),
                row.figure(Figure::F1After),
                row.figure(Figure::ExactBefore),
                row.figure(Figure::ExactAfter),
            ));
        }
    }
}
