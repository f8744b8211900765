//! evalb: the bracket scorer by which constituency parsers have been compared since 1997.
//!
//! Figures of different papers can be compared only because all of them were printed by one
//! program, whose choices are easily missed: punctuation is deleted, `ADVP` equals `PRT`, a
//! sentence whose words differ is left out of the totals. This is that program again, from what
//! it does (Sekine and Collins, with the repair of misquoted words by Ellis): the same counts, the
//! same table.
//!
//! - [`Params`]: a parameter file; the default is Collins's, which the literature uses.
//! - [`score`]: one tree against another. A [`Score`] is additive, ratios come last.
//! - [`Evaluation`]: two files, or many trees; it displays as evalb's table.
//!
//! ```
//! use cajole_tasks::parsing::evalb::{Params, read_line, score};
//!
//! let gold = read_line("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))")?;
//! let test = read_line("(TOP (S (NP (DT the) (NN dog)) (VBZ barks) (. .)))")?;
//! let score = score(&gold[0], &test[0], &Params::collins()).score;
//! assert_eq!((score.matched, score.gold, score.test), (2, 3, 2));
//! assert_eq!(score.precision(), 100.0);
//! # Ok::<(), cajole_tasks::parsing::evalb::Malformed>(())
//! ```

mod brackets;
mod evaluation;
mod params;
mod read;
mod score;
mod table;

pub use brackets::{Bracket, Brackets, bare};
pub use evaluation::{Evaluation, EvaluationError};
pub use params::{Params, ParamsError};
pub use read::{Malformed, read_line};
pub use score::{Score, SentenceScore, Status, score, score_forests};
