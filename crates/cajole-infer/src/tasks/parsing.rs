//! Parsing: sentences in, shift-reduce commands and their trees out.

use cajole_files::fingerprint;
use std::sync::Arc;

use cajole_core::decoders::{Beam, Sampled};
use cajole_core::{Search, Symbol};
use cajole_nn::models::{SequenceNetwork, Token};
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use cajole_tasks::parsing::input::Sentence;
use cajole_tasks::parsing::{Net, Parser, USUAL_RULES, metric};
use cajole_treebank::Tree;
use cajole_treebank::evalb::Params;
use serde_json::{Map, Value, json};

use super::sequences;
use crate::case::{Case, Output};
use crate::line::{Line, LineError};
use crate::solver::{Network, Solver, solver};
use crate::task::{Display, Task};

/// Width of the beam that sentences are parsed with.
const WIDTH: usize = 5;

/// Width of the masked beam, as in the experiment.
const MASKED_WIDTH: usize = 9;

/// The task's name in checkpoints.
pub(crate) const NAME: &str = "parsing";

/// A parser.
pub struct Parsing {
    parser: Parser,
    vocabulary: Arc<Vocabulary>,
    presets: Presets,
}

/// A sentence as it is kept: for the network, and for the tree.
#[derive(Clone, Debug)]
pub struct Read {
    tokens: Vec<Token>,
    sentence: Sentence,
}

impl std::borrow::Borrow<[Token]> for Read {
    fn borrow(&self) -> &[Token] {
        &self.tokens
    }
}

impl Parsing {
    /// With its network.
    pub fn new(parser: Parser) -> Self {
        let closes = parser.commands.labels.iter().map(|label| format!("!{label}"));
        let names = ["s".to_owned(), "r".to_owned()].into_iter().chain(closes);
        let presets = Presets::built_in(match parser.model.net {
            SequenceNetwork::Lstm(_) => Presets::PARSING,
            SequenceNetwork::Transformer(_) => Presets::PARSING_TRANSFORMER,
        });
        Parsing { vocabulary: Arc::new(Vocabulary::new(names, " ")), parser, presets }
    }
}

impl Parsing {
    /// A sentence with its right tree, as a case.
    pub fn case(&self, tree: &Tree) -> Case {
        let leaves = tree.leaves();
        let own = |(tag, word): &(&str, &str)| ((*tag).to_owned(), (*word).to_owned());
        let sentence =
            Sentence { leaves: leaves.iter().map(own).collect(), gold: Some(tree.clone()) };
        self.case_of(sentence)
    }

    fn case_of(&self, sentence: Sentence) -> Case {
        let tokens = self.parser.lexicon.tokens(&sentence.leaves());
        let words: Vec<String> = sentence.leaves.iter().map(|(_, word)| word.clone()).collect();
        // The network cannot write a label that it does not know: such a tree has no right output.
        let gold = sentence.gold.as_ref().and_then(|tree| self.parser.commands.encode(tree).ok());
        let subject = Subject::new(words.clone(), json!(words)).with_tree(sentence.gold.clone());
        Case::new(Read { tokens, sentence }, subject).with_gold(gold)
    }

    /// The parser.
    pub fn parser(&self) -> &Parser {
        &self.parser
    }
}

impl Network for Parsing {
    type Model = Net;
    type Input = Read;

    fn model(&self) -> &Self::Model {
        &self.parser.model
    }
}

impl Task for Parsing {
    fn name(&self) -> &'static str {
        NAME
    }

    fn display(&self) -> Display {
        Display::Tree
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
        fingerprint(self.parser.model.weights())
    }

    fn beam(&self) -> Beam {
        Beam::of(WIDTH)
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let Some(sentence) = line.sentence(Sentence::from_fields, Sentence::parse)? else {
            return Ok(Vec::new());
        };
        line.check_length(&sentence.leaves)?;
        Ok(vec![self.case_of(sentence)])
    }

    fn record(&self, case: &Case, y: &[Symbol]) -> Map<String, Value> {
        let (tree, repairs) = self.parser.tree(y, &case.input::<Read>().sentence.leaves());
        Map::from_iter([
            ("output".to_owned(), json!(self.vocabulary.text(y))),
            ("tree".to_owned(), json!(tree.to_string())),
            ("mended".to_owned(), json!(repairs.total())),
        ])
    }

    fn searches(&self) -> Vec<Search> {
        sequences::searches(MASKED_WIDTH, sequences::EXPANSIONS, Sampled::default())
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }

    /// evalb's F1.
    fn score(&self, outputs: &[Output<'_>]) -> (&'static str, f64) {
        let params = Params::collins();
        let scores = outputs.iter().filter_map(|(case, y)| {
            let gold = case.input::<Read>().sentence.gold.as_ref()?;
            Some(metric::score(&self.parser, y, gold, &params))
        });
        ("F1", scores.sum::<metric::Score>().f1())
    }
}
