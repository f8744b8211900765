//! Semantic role labeling: sentences in, tags for each predicate out.

use std::ops::Range;

use cajole_core::decoders::tags::{
    AStar, DoublingTags, Exact, Heuristic, MaskedTags, Penalties, SamplingTags, Tagged,
};
use cajole_core::decoders::{Beam, InTurn};
use cajole_core::{Config, Decoder, Symbol};
use cajole_report::Piece;
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::srl::tagger::Net;
use cajole_tasks::srl::{Instance, Noise, Query, RoleTagger, USUAL_RULES};
use cajole_treebank::roles::eval::Score;
use cajole_treebank::roles::show::Bracketing;
use cajole_treebank::roles::{Argument, Proposition, Sentence};
use serde_json::{Map, Value, json};

use crate::engine::{Engine, Limits, Rival};
use crate::fingerprint;
use crate::line::{Line, LineError};
use crate::task::{Case, Display, Output, Search, Task};

/// Prefixes that A* may make for one input before it gives up, as in the experiment.
const AGENDA_LIMIT: usize = 200_000;

/// A role tagger.
pub struct Roles {
    tagger: RoleTagger,
    vocabulary: Vocabulary,
    presets: Presets,
}

impl Roles {
    /// With its network.
    pub fn new(tagger: RoleTagger) -> Self {
        let vocabulary = Vocabulary::new(tagger.vocabulary.tags.names(), " ");
        Roles { tagger, vocabulary, presets: Presets::built_in(Presets::SRL) }
    }

    /// One predicate of a sentence, whose tree is from `tree_from`.
    fn case(
        &self,
        sentence: &Sentence,
        proposition: &Proposition,
        tree_from: Option<&str>,
        rules: &Rules<'_>,
    ) -> Case<Instance> {
        let mut input = Instance::new(&self.tagger, sentence, proposition);
        if let (Some((reading, _)), Some(tree)) = (rules.only_spans(), &sentence.tree) {
            input = input.within(tree, reading, Noise::Noisy);
        }
        let predicate = proposition.predicate;
        let subject = Subject::of_predicate(sentence.tokens.clone(), predicate)
            .with_tree(sentence.tree.clone());
        let gold = Some(&proposition.tags).filter(|tags| !tags.is_empty());
        let gold = gold.and_then(|tags| self.tagger.vocabulary.symbols(tags));
        let about = [
            ("predicate", Some(json!(predicate))),
            ("lemma", Some(json!(proposition.lemma))),
            ("tokens", Some(json!(sentence.tokens))),
            ("tree_from", tree_from.map(|from| json!(from))),
        ];
        let about = about.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Case { input, subject, gold, about: about.collect() }
    }
}

impl Task for Roles {
    const NAME: &'static str = "srl";
    const DISPLAY: Display = Display::Roles;
    const IS_ONE_A_LINE: bool = false;
    type Model = Net;
    type Input = Instance;

    fn model(&self) -> &Net {
        &self.tagger.model
    }

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn usual_rules(&self) -> Option<&'static str> {
        Some(USUAL_RULES)
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.tagger.model.weights())
    }

    /// AllenNLP's taggers add up probabilities, not their logarithms.
    fn decoder(&self, _: Beam) -> Box<dyn Decoder<Net> + '_> {
        Box::new(self.tagger.viterbi())
    }

    fn cases(&self, line: &Line, rules: &Rules<'_>) -> Result<Vec<Case<Instance>>, LineError> {
        let Some(query) = Query::parse(&line.text)? else { return Ok(Vec::new()) };
        line.check_length(&query.tokens)?;
        let sentence = query.asked(&self.tagger.vocabulary)?;
        // Whoever puts a tree into a line may say where it is from.
        let tree_from = line.fields.get("tree_from").and_then(Value::as_str).unwrap_or("input");
        let tree_from = sentence.tree.as_ref().map(|_| tree_from);
        let propositions = sentence.propositions.iter();
        Ok(propositions.map(|p| self.case(&sentence, p, tree_from, rules)).collect())
    }

    fn record(&self, case: &Case<Instance>, y: &[Symbol]) -> Map<String, Value> {
        let tokens = &case.subject.symbols;
        let arguments = self.tagger.vocabulary.arguments(y).into_iter();
        let arguments: Vec<Value> = arguments
            .map(|Argument { at, role }| {
                let text = tokens.get(at.clone()).unwrap_or_default().join(" ");
                json!({"role": role, "start": at.start, "end": at.end, "text": text})
            })
            .collect();
        Map::from_iter([
            ("output".to_owned(), json!(self.vocabulary.text(y))),
            ("arguments".to_owned(), json!(arguments)),
        ])
    }

    fn pieces(&self, case: &Case<Instance>, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        let arguments = self.tagger.vocabulary.arguments(y);
        let predicate = case.input.features.predicate;
        let shown = Bracketing {
            tokens: &case.subject.symbols,
            predicate,
            arguments: &arguments,
            wrong: blamed,
        };
        shown.pieces().into_iter().map(|(text, wrong)| Piece { text, wrong }).collect()
    }

    fn engines(&self) -> Vec<Engine> {
        let rivals = [Rival::Beam, Rival::Masked, Rival::Astar, Rival::Exact, Rival::Sample];
        let rivals = rivals.map(Engine::Rival).into_iter();
        [Engine::Gbi].into_iter().chain(rivals).chain([Engine::Auto]).collect()
    }

    /// All are searches over one matrix of log-probabilities.
    fn rival<'a>(
        &'a self,
        rival: Rival,
        rules: &'a Rules<'_>,
        limits: &Limits,
    ) -> Option<Search<'a, Net>> {
        let tags = &self.tagger.vocabulary.tags;
        let lists = DoublingTags { from: limits.beam_from, to: limits.beam_to };
        Some(match (rival, rules.only_spans()) {
            (Rival::Exact | Rival::Masked, Some((_, free))) => {
                Box::new(Tagged { tags, search: Exact { free } })
            }
            (Rival::Astar, Some(_)) => {
                let penalties = Penalties { syntax: f32::INFINITY, ..Penalties::default() };
                let mut search = AStar::new(tags, penalties);
                search.agenda_limit = AGENDA_LIMIT;
                search.heuristic = Heuristic::Viterbi;
                Box::new(Tagged { tags, search })
            }
            (Rival::Astar, None) => return None,
            (Rival::Masked, None) => Box::new(Tagged { tags, search: MaskedTags::default() }),
            // The best there is, where the rules are an automaton; else the best on a long list.
            (Rival::Exact, None) => {
                let masked = Tagged { tags, search: MaskedTags::default() };
                let searches: Vec<Search<'a, Net>> =
                    vec![Box::new(masked), Box::new(Tagged { tags, search: lists })];
                Box::new(InTurn { searches })
            }
            (Rival::Beam, _) => Box::new(Tagged { tags, search: lists }),
            (Rival::Sample, _) => {
                let samples = limits.samples;
                let search = SamplingTags { samples, temperature: 1.0, seed: 1 };
                Box::new(Tagged { tags, search })
            }
        })
    }

    /// The best output that satisfies, under the weights of the moment.
    fn sources<'a>(
        &'a self,
        config: &Config,
        rules: &'a Rules<'_>,
    ) -> Option<Vec<Search<'a, Net>>> {
        let exact = self.rival(Rival::Exact, rules, &Limits::default());
        (!config.sources.is_empty()).then(|| exact.into_iter().collect())
    }

    /// srl-eval's F1.
    fn score(&self, outputs: &[Output<'_, Instance>]) -> (&'static str, f64) {
        let mut total = Score::default();
        for (case, y) in outputs.iter().filter(|(case, _)| case.gold.is_some()) {
            total += Score::of(&case.input.gold, &self.tagger.vocabulary.arguments(y));
        }
        ("F1", total.f1())
    }
}
