//! One predicate of one sentence: the tagger's input, the allowed spans, and the gold arguments.

use std::borrow::Borrow;
use std::sync::Arc;

use cajole_core::constraints::{Bracketed, Brackets};
use cajole_nn::models::Features;
use cajole_nn::models::transformer::Pieces;
use cajole_treebank::Tree;
use cajole_treebank::roles::bio::Argument;
use cajole_treebank::roles::nodes::{Reading, nodes};
use cajole_treebank::roles::sentence::{Proposition, Sentence};

use super::splitter::SplitError;
use super::tagger::RoleTagger;

/// An input of the task.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// What LSTMs read.
    pub features: Features,
    /// What an encoder reads; empty for other networks.
    pub pieces: Pieces,
    /// The spans that arguments may have; `None` means unconstrained. Predicates of one sentence
    /// share them.
    pub brackets: Option<Arc<Brackets>>,
    /// The gold arguments, including `V`.
    pub gold: Vec<Argument>,
}

impl Borrow<Features> for Instance {
    fn borrow(&self) -> &Features {
        &self.features
    }
}

impl Borrow<Pieces> for Instance {
    fn borrow(&self) -> &Pieces {
        &self.pieces
    }
}

impl Bracketed for Instance {
    fn brackets(&self) -> Option<&Brackets> {
        self.brackets.as_deref()
    }
}

/// Which sentences are constrained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// Those whose gold arguments are all constituents, so the constraint is free of noise.
    Free,
    /// All that have a gold tree.
    Noisy,
    /// All, with trees predicted by a parser.
    Predicted,
}

impl Noise {
    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Noise::Free => "noise-free",
            Noise::Noisy => "noisy",
            Noise::Predicted => "predicted",
        }
    }
}

impl Instance {
    /// A predicate as `tagger` sees it, unconstrained.
    ///
    /// # Errors
    /// If the sentence is longer than its network reads.
    pub fn new(
        tagger: &RoleTagger,
        sentence: &Sentence,
        proposition: &Proposition,
    ) -> Result<Self, SplitError> {
        Ok(tagger.vocabulary.unmarked(sentence)?.marked(tagger, proposition))
    }

    /// One predicate of a sentence, from what they all have in common.
    #[must_use]
    pub fn marked(&self, tagger: &RoleTagger, proposition: &Proposition) -> Self {
        let marked = self.pieces.firsts.get(proposition.predicate).copied();
        Instance {
            features: tagger.vocabulary.marked(&self.features, proposition),
            pieces: Pieces { marked, ..self.pieces.clone() },
            brackets: None,
            // Readers return valid tags only; others have no arguments.
            gold: proposition.arguments().unwrap_or_default(),
        }
    }

    /// Requires arguments to be constituents of `tree`.
    #[must_use]
    pub fn within(self, tree: &Tree, reading: Reading, noise: Noise) -> Self {
        self.among(&Arc::new(nodes(tree, reading).into_iter().collect()), noise)
    }

    /// Requires arguments to be among these spans.
    #[must_use]
    pub fn among(mut self, brackets: &Arc<Brackets>, noise: Noise) -> Self {
        if noise != Noise::Free || agrees(&self.gold, brackets) {
            self.brackets = Some(Arc::clone(brackets));
        }
        self
    }
}

/// Whether all arguments except the predicate itself are among the brackets.
pub fn agrees(arguments: &[Argument], brackets: &Brackets) -> bool {
    let mut others = arguments.iter().filter(|argument| !argument.is_predicate());
    others.all(|argument| brackets.contains(argument.at.start, argument.at.end))
}
