//! Semantic role labeling: sentences in, tags for each predicate out.

use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

use cajole_core::constraints::Brackets;
use cajole_core::decoders::{Beam, Ranking};
use cajole_core::{ConstrainedDecoder, Decoder, DoesNotFit, Search, Symbol};
use cajole_files::fingerprint;
use cajole_report::Piece;
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::srl::tagger::Net;
use cajole_tasks::srl::{Instance, Noise, Query, RoleNetwork, RoleTagger, SplitError, USUAL_RULES};
use cajole_treebank::roles::eval::Score;
use cajole_treebank::roles::show::Bracketing;
use cajole_treebank::roles::{Argument, Proposition, Reading, Sentence, nodes};
use serde_json::{Map, Value, json};

use super::tags;
use crate::case::{Case, Output};
use crate::line::{Line, LineError};
use crate::solver::{Network, Solver, solver};
use crate::task::{Display, Task};

/// The most prefixes that A* makes for one input before it gives up, as in the experiment.
const AGENDA_LIMIT: usize = 200_000;

/// The task's name in checkpoints.
pub(crate) const NAME: &str = "srl";

/// A predicate whose arguments are wanted.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The input as the network reads it.
    pub instance: Instance,
    lemma: String,
    /// Where the sentence's tree is from, if it has one.
    tree_from: Option<Arc<str>>,
}

impl Borrow<Instance> for Asked {
    fn borrow(&self) -> &Instance {
        &self.instance
    }
}

/// A role tagger.
pub struct Roles {
    tagger: RoleTagger,
    vocabulary: Arc<Vocabulary>,
    presets: Presets,
}

impl Roles {
    /// With its network.
    pub fn new(tagger: RoleTagger) -> Self {
        let vocabulary = Arc::new(Vocabulary::new(tagger.vocabulary.tags.names(), " "));
        let presets = Presets::built_in(match tagger.model.net.net {
            RoleNetwork::Lstm(_) => Presets::SRL,
            RoleNetwork::Encoder(_) => Presets::LABELS,
        });
        Roles { tagger, vocabulary, presets }
    }

    /// One predicate, whose arguments are to be among the brackets of its instance.
    pub fn case(instance: &Instance, reading: Reading) -> Case {
        let tokens = vec![String::new(); instance.features.tokens.len()];
        let mut subject = Subject::of_predicate(tokens, instance.features.predicate);
        if let Some(brackets) = instance.brackets.as_deref() {
            subject = subject.with_nodes(reading, brackets.clone());
        }
        let asked = Asked { instance: instance.clone(), lemma: String::new(), tree_from: None };
        Case::new(asked, subject)
    }

    /// The tagger.
    pub fn tagger(&self) -> &RoleTagger {
        &self.tagger
    }

    /// The predicates of a sentence, whose tree is from `tree_from`. They share as much as
    /// possible: a long sentence has hundreds.
    fn cases_of(
        &self,
        sentence: Sentence,
        tree_from: Option<&str>,
        rules: &Rules,
    ) -> Result<Vec<Case>, SplitError> {
        let unmarked = self.tagger.vocabulary.unmarked(&sentence)?;
        let Sentence { tokens, tree, propositions, .. } = sentence;
        let brackets = rules.only_spans().zip(tree.as_ref()).map(|((reading, _), tree)| {
            Arc::new(nodes(tree, reading).into_iter().collect::<Brackets>())
        });
        let (tokens, tree): (Arc<[String]>, _) = (tokens.into(), tree.map(Arc::new));
        let tree_from: Option<Arc<str>> = tree_from.map(Arc::from);
        let case = |proposition: Proposition| {
            let mut instance = unmarked.marked(&self.tagger, &proposition);
            if let Some(brackets) = &brackets {
                instance = instance.among(brackets, Noise::Noisy);
            }
            let Proposition { predicate, lemma, tags, .. } = proposition;
            let subject = Subject::of_predicate(Arc::clone(&tokens), predicate);
            let subject = subject.with_tree(tree.clone());
            let gold = Some(&tags).filter(|tags| !tags.is_empty());
            let gold = gold.and_then(|tags| self.tagger.vocabulary.symbols(tags));
            Case::new(Asked { instance, lemma, tree_from: tree_from.clone() }, subject)
                .with_gold(gold)
        };
        Ok(propositions.into_iter().map(case).collect())
    }
}

impl Network for Roles {
    type Model = Net;
    type Input = Asked;

    fn model(&self) -> &Self::Model {
        &self.tagger.model
    }

    /// AllenNLP's taggers add up probabilities, not their logarithms.
    fn decoder(&self, _: Beam) -> Box<dyn Decoder<Net> + '_> {
        Box::new(self.tagger.viterbi())
    }

    fn search<'a>(
        &'a self,
        search: &Search,
        _: Ranking,
        rules: &'a Rules,
    ) -> Result<Box<dyn ConstrainedDecoder<Net> + 'a>, DoesNotFit> {
        self.tagger.search(search, rules.only_spans().map(|(_, free)| free))
    }
}

impl Task for Roles {
    fn name(&self) -> &'static str {
        NAME
    }

    fn display(&self) -> Display {
        Display::Roles
    }

    fn is_one_a_line(&self) -> bool {
        false
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
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

    fn cases(&self, line: &Line, rules: &Rules) -> Result<Vec<Case>, LineError> {
        let Some(query) = line.sentence(Query::from_fields, Query::parse)? else {
            return Ok(Vec::new());
        };
        line.check_length(&query.tokens)?;
        let sentence = query.asked(&self.tagger.vocabulary)?;
        // A line with a tree may say where the tree is from.
        let tree_from = line.fields.get("tree_from").and_then(Value::as_str).unwrap_or("input");
        let tree_from = sentence.tree.as_ref().map(|_| tree_from);
        self.cases_of(sentence, tree_from, rules).map_err(LineError::other)
    }

    fn about(&self, case: &Case) -> Map<String, Value> {
        let Asked { instance, lemma, tree_from } = case.input();
        let fields = [
            ("predicate", Some(json!(instance.features.predicate))),
            ("lemma", Some(json!(lemma))),
            ("tokens", Some(json!(*case.subject.symbols))),
            ("tree_from", tree_from.as_ref().map(|from| json!(**from))),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    fn record(&self, case: &Case, y: &[Symbol]) -> Map<String, Value> {
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

    fn pieces(&self, case: &Case, y: &[Symbol], blamed: &[Range<usize>]) -> Vec<Piece> {
        let arguments = self.tagger.vocabulary.arguments(y);
        let predicate = case.input::<Asked>().instance.features.predicate;
        let shown = Bracketing {
            tokens: &case.subject.symbols,
            predicate,
            arguments: &arguments,
            wrong: blamed,
        };
        shown.pieces().into_iter().map(|(text, wrong)| Piece { text, wrong }).collect()
    }

    fn searches(&self) -> Vec<Search> {
        let usual = tags::searches().into_iter();
        let spans = [Search::Spans { repeated: 0.0 }];
        let own = |search| match search {
            Search::Astar { .. } => Search::astar(AGENDA_LIMIT),
            other => other,
        };
        usual.map(own).chain(spans).collect()
    }

    /// A* has a heuristic here.
    fn rivals(&self) -> Vec<Search> {
        let is_other = |s: &Search| !matches!(s, Search::BlackBox { .. } | Search::Spans { .. });
        self.searches().into_iter().filter(is_other).collect()
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }

    /// srl-eval's F1.
    fn score(&self, outputs: &[Output<'_>]) -> (&'static str, f64) {
        let mut total = Score::default();
        for (case, y) in outputs.iter().filter(|(case, _)| case.gold.is_some()) {
            total += Score::of(
                &case.input::<Asked>().instance.gold,
                &self.tagger.vocabulary.arguments(y),
            );
        }
        ("F1", total.f1())
    }
}
