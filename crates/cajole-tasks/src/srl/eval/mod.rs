//! srl-eval: the scorer by which role labelers have been compared since 2005.
//!
//! Figures of different papers can be compared only because all of them come from one program,
//! CoNLL-2005's `srl-eval.pl` (Carreras and Màrquez). This does the same:
//!
//! - an argument is right if its role and all of its words are;
//! - `C-ARG1` continues the last `ARG1` before it, and counts only together with it; without one it
//!   is an `ARG1` itself;
//! - `R-ARG1` is a role of its own;
//! - `V`, the predicate, has a row in the table but no part in the overall figures, nor in whether a
//!   proposition is perfect;
//! - what is predicted for a predicate that gold does not have counts nowhere; where it names
//!   another lemma, or nothing is predicted, all of gold's arguments are missed.
//!
//! [`Score`] is additive and needs no files; [`Evaluation`] compares two, and displays as that
//! program's table.
//!
//! ```
//! use cajole_tasks::srl::bio;
//! use cajole_tasks::srl::eval::Score;
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
mod score;
mod table;

pub use evaluation::{Evaluation, EvaluationError, Extent, Mismatch};
pub use score::{Counts, Score};
