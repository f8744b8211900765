//! One predicate of one sentence: what a tagger reads, what its output has to obey, what is right.

use std::borrow::Borrow;

use cajole_core::constraints::{Bracketed, Brackets};
use cajole_nn::models::Features;

use super::bio::Argument;
use super::nodes::{Reading, nodes};
use super::sentence::{Proposition, Sentence};
use super::tagger::RoleTagger;
use crate::treebank::Tree;

/// An input of the task.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// What the network reads.
    pub features: Features,
    /// The spans that arguments may have; anything goes without.
    pub brackets: Option<Brackets>,
    /// The right arguments, `V` among them.
    pub gold: Vec<Argument>,
}

impl Borrow<Features> for Instance {
    fn borrow(&self) -> &Features {
        &self.features
    }
}

impl Bracketed for Instance {
    fn brackets(&self) -> Option<&Brackets> {
        self.brackets.as_ref()
    }
}

/// Which sentences are constrained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// Those whose right arguments are nodes of the tree, so that no constraint is wrong.
    Free,
    /// All that have a tree.
    Noisy,
    /// All, by trees that a parser predicts.
    Predicted,
}

impl Noise {
    /// In one word.
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
    pub fn new(tagger: &RoleTagger, sentence: &Sentence, proposition: &Proposition) -> Self {
        Instance {
            features: tagger.features(sentence, proposition),
            brackets: None,
            // What readers give is valid; what is not has no arguments to be found.
            gold: proposition.arguments().unwrap_or_default(),
        }
    }

    /// Demands that arguments be nodes of `tree`.
    #[must_use]
    pub fn within(mut self, tree: &Tree, reading: Reading, noise: Noise) -> Self {
        let brackets: Brackets = nodes(tree, reading).into_iter().collect();
        if noise != Noise::Free || agrees(&self.gold, &brackets) {
            self.brackets = Some(brackets);
        }
        self
    }
}

/// Whether all arguments but the predicate itself are among the brackets.
pub fn agrees(arguments: &[Argument], brackets: &Brackets) -> bool {
    let mut others = arguments.iter().filter(|argument| !argument.is_predicate());
    others.all(|argument| brackets.contains(argument.at.start, argument.at.end))
}
