//! evalb, the bracket scorer used to compare constituency parsers since 1997.
//!
//! Scores from different papers are comparable only because one program printed all of them, and
//! its choices are easy to miss: punctuation is deleted, `ADVP` equals `PRT`, and a sentence whose
//! words differ is left out of the totals. This module reimplements the behaviour of that program
//! (Sekine and Collins, with Ellis's repair of mistagged quotation marks): same counts, same table.
//!
//! - [`Params`]: a parameter file; the default is Collins's, the one used in the literature.
//! - [`score`]: compares two trees. A [`Score`] holds counts and can be summed; ratios come last.
//! - [`Evaluation`]: two files, or many trees. It displays as evalb's table.
//!
//! ```
//! use cajole_treebank::evalb::{Params, read_line, score};
//!
//! let gold = read_line("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))")?;
//! let test = read_line("(TOP (S (NP (DT the) (NN dog)) (VBZ barks) (. .)))")?;
//! let score = score(&gold[0], &test[0], &Params::collins()).score;
//! assert_eq!((score.matched, score.gold, score.test), (2, 3, 2));
//! assert_eq!(score.precision(), 100.0);
//! # Ok::<(), cajole_treebank::evalb::Malformed>(())
//! ```

mod brackets;
mod evaluation;
mod json;
mod outline;
mod params;
mod read;
mod score;
mod table;

pub use brackets::{Bracket, Brackets, bare};
pub use evaluation::{Evaluation, EvaluationError};
pub use params::{Params, ParamsError};
pub use read::{Malformed, read_line};
pub use score::{Score, SentenceScore, Status, score, score_forests};
