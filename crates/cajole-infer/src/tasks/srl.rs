//! Semantic role labeling: sentences in, tags for each predicate out.

use cajole_core::{Config, Symbol};
use cajole_nn::decoders::{
    AStar, DoublingTags, Exact, Heuristic, MaskedTags, Penalties, SamplingTags, Tagged,
};
use cajole_rules::{Bound, Rules, Subject, Vocabulary};
use cajole_tasks::srl::eval::Score;
use cajole_tasks::srl::tagger::Net;
use cajole_tasks::srl::{Instance, Noise, Proposition, Query, RoleTagger, Sentence, SrlConfig};
use serde_json::{Map, Value, json};

use crate::engine::{Engine, Limits, Preset, Rival};
use crate::line::{Line, LineError, check_length};
use crate::task::{Case, Decoders, Output, Search, Task};

/// States and roles, over all positions, that exact search may look at for one predicate.
const MOST_STATES: usize = 1 << 18;

/// A role tagger.
pub struct Roles {
    tagger: RoleTagger,
    vocabulary: Vocabulary,
    config: SrlConfig,
}

impl Roles {
    /// With its network.
    pub fn new(tagger: RoleTagger) -> Self {
        let vocabulary = Vocabulary::new(tagger.vocabulary.tags.names(), " ");
        let config = toml::from_str(SrlConfig::DEFAULT).expect("the built-in file is tested");
        Roles { tagger, vocabulary, config }
    }

    /// One predicate of a sentence.
    fn case(
        &self,
        sentence: &Sentence,
        proposition: &Proposition,
        rules: &Rules<'_>,
    ) -> Case<Instance> {
        let mut input = Instance::new(&self.tagger, sentence, proposition);
        if let (Some((reading, _)), Some(tree)) = (rules.only_spans(), &sentence.tree) {
            input = input.within(tree, reading, Noise::Noisy);
        }
        let predicate = proposition.predicate;
        let value = json!({"tokens": sentence.tokens, "predicate": predicate});
        let subject = Subject::new(sentence.tokens.clone(), value).with_tree(sentence.tree.clone());
        let gold = Some(&proposition.tags).filter(|tags| !tags.is_empty());
        let gold = gold.and_then(|tags| self.tagger.vocabulary.symbols(tags));
        let about = [("predicate", json!(predicate)), ("lemma", json!(proposition.lemma))];
        let about = about.map(|(key, value)| (key.to_owned(), value));
        Case { input, subject, gold, about: Map::from_iter(about) }
    }
}

impl Task for Roles {
    const NAME: &'static str = "srl";
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
        Some("name = \"arguments are nodes\"\nspans-in-tree = \"all\"\n")
    }

    fn gbi(&self, preset: Preset) -> Config {
        match preset {
            Preset::Paper => self.config.gbi.paper.clone(),
            Preset::Best => self.config.gbi.best.clone(),
        }
    }

    fn cases(&self, line: &Line, rules: &Rules<'_>) -> Result<Vec<Case<Instance>>, LineError> {
        let Some(query) = Query::parse(&line.text)? else { return Ok(Vec::new()) };
        check_length(query.tokens.len())?;
        let sentence = query.asked(&self.tagger.vocabulary)?;
        let propositions = sentence.propositions.iter();
        Ok(propositions.map(|p| self.case(&sentence, p, rules)).collect())
    }

    fn record(&self, _: &Case<Instance>, y: &[Symbol]) -> Map<String, Value> {
        Map::from_iter([("output".to_owned(), json!(self.vocabulary.text(y)))])
    }

    fn decoders(&self) -> &dyn Decoders<Net> {
        self
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

/// All are searches over one matrix of log-probabilities.
impl Decoders<Net> for Roles {
    fn engines(&self) -> Vec<Engine> {
        let rivals = [Rival::Beam, Rival::Masked, Rival::Astar, Rival::Exact, Rival::Sample];
        let rivals = rivals.map(Engine::Rival).into_iter();
        [Engine::Gbi].into_iter().chain(rivals).chain([Engine::Auto]).collect()
    }

    fn own(&self, _: usize) -> Search<'_, Net> {
        Box::new(self.tagger.viterbi())
    }

    fn rival<'a>(
        &'a self,
        rival: Rival,
        rules: &'a Rules<'_>,
        bound: &'a Bound<'a>,
        limits: &Limits,
    ) -> Option<Search<'a, Net>> {
        let tags = &self.tagger.vocabulary.tags;
        let has_automaton = || bound.rule.automaton(bound.subject).is_some();
        let Limits { samples, deadline, beam_from: from, beam_to: to, .. } = *limits;
        let constraint = bound;
        Some(match (rival, rules.only_spans()) {
            (Rival::Exact | Rival::Masked, Some((_, free))) => {
                Box::new(Tagged { tags, search: Exact { free } })
            }
            (Rival::Astar, Some(_)) => {
                let penalties = Penalties { syntax: f32::INFINITY, ..Penalties::default() };
                let mut search = AStar::new(tags, penalties);
                search.agenda_limit = self.config.rivals.agenda_limit;
                search.heuristic = Heuristic::Viterbi;
                Box::new(Tagged { tags, search })
            }
            (Rival::Exact | Rival::Masked, None) if has_automaton() => Box::new(Tagged {
                tags,
                search: MaskedTags { constraint, max_states: MOST_STATES },
            }),
            (Rival::Beam | Rival::Exact, _) => {
                Box::new(Tagged { tags, search: DoublingTags { from, to, constraint, deadline } })
            }
            (Rival::Sample, _) => {
                let search = SamplingTags { samples, temperature: 1.0, seed: 1, constraint };
                Box::new(Tagged { tags, search })
            }
            (Rival::Masked | Rival::Astar, None) => return None,
        })
    }

    fn sources<'a>(
        &'a self,
        rules: &'a Rules<'_>,
        bound: &'a Bound<'a>,
        limits: &Limits,
    ) -> Vec<Search<'a, Net>> {
        self.rival(Rival::Exact, rules, bound, limits).into_iter().collect()
    }
}
