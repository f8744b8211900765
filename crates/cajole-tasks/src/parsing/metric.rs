//! Scores outputs by evalb F1 of their trees, and counts the repairs needed for that.

use cajole_core::Symbol;
use cajole_core::corpus::in_parallel;
use cajole_treebank::evalb::{self, Params};
use cajole_treebank::shift_reduce::repair::Repairs;
use cajole_treebank::{Tree, percent};

use super::parser::Parser;

/// Counts summed over outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// evalb's counts.
    pub brackets: evalb::Score,
    /// The repairs made before evalb could score.
    pub repairs: Repairs,
    /// Outputs that equal the gold commands.
    pub exact: usize,
}

impl Score {
    /// F1 in per cent.
    pub fn f1(&self) -> f64 {
        self.brackets.f1()
    }

    /// The percentage of outputs that match exactly.
    pub fn exact_match(&self) -> f64 {
        percent(self.exact, self.brackets.sentences)
    }
}

cajole_treebank::summable!(Score { brackets, repairs, exact });

/// The score of one output.
pub fn score(parser: &Parser, y: &[Symbol], gold: &Tree, params: &Params) -> Score {
    let (tree, repairs) = parser.tree(y, &gold.leaves());
    let brackets = evalb::score(gold, &tree, params).score;
    Score { brackets, repairs, exact: usize::from(tree == *gold && repairs.total() == 0) }
}

/// The scores of many outputs, computed on all cores.
pub fn scores(
    parser: &Parser,
    outputs: &[&[Symbol]],
    golds: &[&Tree],
    params: &Params,
) -> Vec<Score> {
    in_parallel(outputs.len(), || (), |(), i| score(parser, outputs[i], golds[i], params))
}
