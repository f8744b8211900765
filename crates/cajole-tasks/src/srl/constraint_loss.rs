//! Training with a constraint loss (Mehta et al. 2018), which also learns from unlabelled
//! sentences.
//!
//! A labelled example teaches its tags. A sentence with a parse but no roles is decoded with the
//! current network, and the decoded output is made less probable where it violates the constraint:
//!
//! ```text
//! loss = −Σ log p(y*)  over labelled  +  weight · Σ g_i · log p(span i of ŷ)  over unlabelled
//! ```
//!
//! Gradient-based inference lowers the second term, so training teaches the weights what they would
//! otherwise be nudged towards at inference.

use cajole_core::constraints::SpansInTree;
use cajole_core::decoders::tags::{Space, Suffixes, TagScores, Viterbi};
use cajole_core::model::Mark;
use cajole_core::{Constraint, Symbol};
use cajole_nn::layout::Layout;
use cajole_nn::tape::Graph;
use cajole_nn::{Example, Tagger, Tagging, Trainable};

use super::instance::Instance;
use super::network::RoleNetwork;
use super::tagger::RoleTagger;

/// What an example teaches.
#[derive(Clone, Copy, Debug)]
pub enum Lesson<'a> {
    /// Its gold tags.
    Labelled(&'a Instance),
    /// To satisfy the constraint.
    Unlabelled(&'a Instance),
}

impl<'a> Lesson<'a> {
    fn instance(&self) -> &'a Instance {
        match self {
            Lesson::Labelled(instance) | Lesson::Unlabelled(instance) => instance,
        }
    }
}

/// A tagger trained on both kinds of lessons.
pub struct ConstraintLoss<'a> {
    net: &'a Tagging<RoleNetwork>,
    constraint: SpansInTree,
    /// The weight of the second term.
    weight: f32,
}

impl<'a> ConstraintLoss<'a> {
    /// Trains `net`; `tagger` decodes its outputs.
    pub fn new(net: &'a Tagging<RoleNetwork>, tagger: &'a RoleTagger, weight: f32) -> Self {
        ConstraintLoss { net, constraint: tagger.constraint(), weight }
    }
}

impl<'a> Trainable for ConstraintLoss<'a> {
    type Input = Lesson<'a>;

    fn layout(&self) -> &Layout {
        self.net.layout()
    }

    fn size(&self, x: &Lesson<'a>) -> usize {
        self.net.size(x.instance())
    }

    fn n_terms(&self, y: &[Symbol]) -> usize {
        self.net.n_terms(y)
    }

    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, Lesson<'a>>],
        weight: f32,
        blame: &mut Vec<(Mark, f32)>,
    ) -> f64 {
        let xs: Vec<&Instance> = examples.iter().map(|example| example.input.instance()).collect();
        let log_probs = self.net.net.log_probs(g, &xs); // (T·B, V)
        let (tags, viterbi) = (&self.constraint.tags, Viterbi { space: Space::Log });
        let (mut suffixes, mut y, mut rows) = (Suffixes::default(), Vec::new(), Vec::new());
        let mut loss = 0.0;
        for (b, example) in examples.iter().enumerate() {
            let row = |t: usize| t * xs.len() + b;
            let costs = match example.input {
                Lesson::Labelled(_) => {
                    y.clear();
                    y.extend_from_slice(example.output);
                    vec![-1.0; y.len()]
                }
                Lesson::Unlabelled(x) => {
                    rows.clear();
                    for t in 0..x.features.tokens.len() {
                        rows.extend_from_slice(g.tape.value(log_probs.row(row(t))));
                    }
                    viterbi.tag(&TagScores::new(tags, &rows), &mut suffixes, &mut y);
                    let mut costs = vec![0.0; y.len()];
                    self.constraint.check(*x, &y).spread(self.weight, &mut costs);
                    costs
                }
            };
            for (t, (&tag, cost)) in y.iter().zip(costs).enumerate().filter(|(_, c)| c.1 != 0.0) {
                let log_prob = g.tape.value(log_probs.row(row(t)))[tag as usize];
                loss += f64::from(cost) * f64::from(log_prob);
                blame.push((g.tape.mark(log_probs, row(t), tag as usize), weight * cost));
            }
        }
        loss
    }
}
