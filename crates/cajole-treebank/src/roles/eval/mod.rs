//! srl-eval, the scorer used to compare semantic role labelers since 2005.
//!
//! Scores from different papers are comparable only because all of them come from one program,
//! CoNLL-2005's `srl-eval.pl` (Carreras and Màrquez). This module follows its rules:
//!
//! - An argument is correct if its role and its whole span are.
//! - `C-ARG1` continues the last `ARG1` before it and counts only together with it. Without one, it
//!   counts as an `ARG1` itself.
//! - `R-ARG1` is a role of its own.
//! - An argument within another counts as an argument of its own. The outer one is correct only if
//!   what lies in it begins and ends at the same words.
//! - Columns beyond those of the predicates are ignored.
//! - `V`, the predicate, has a row in the table but does not affect the overall scores or whether a
//!   proposition is perfect.
//! - Predictions for a predicate that gold lacks are ignored. If the predicted lemma differs, or
//!   nothing is predicted, all of the gold arguments are missed.
//!
//! A [`Score`] holds counts, can be summed and needs no files. An [`Evaluation`] compares two files
//! and displays as that program's table.
//!
//! ```
//! use cajole_treebank::roles::bio;
//! use cajole_treebank::roles::eval::Score;
//!
//! let arguments = |tags: &str| {
//!     let tags: Vec<String> = tags.split(' ').map(str::to_owned).collect();
//!     bio::arguments(&tags).unwrap()
//! };
//! let gold = arguments("B-ARG1 B-V B-C-ARG1 O");
//! let mut score = Score::of(&gold, &arguments("B-ARG1 B-V B-C-ARG1 B-ARG2"));
//! assert_eq!((score.precision(), score.recall()), (50.0, 100.0));
//! score += Score::of(&gold, &gold);
//! assert_eq!((score.propositions, score.perfect), (2, 1));
//! ```

mod evaluation;
mod json;
mod phrases;
mod rows;
mod score;
mod table;

pub use evaluation::{Evaluation, EvaluationError, Extent, Mismatch};
pub use score::{Counts, Score};
