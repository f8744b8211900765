//! Constraints ready to use, and the automata behind them.
//!
//! Any closure is a constraint already. Those kept here offer more than a number: [`Regular`]
//! knows *which* positions err, and all of them can give their feasible set `Lˣ` as an
//! [`Automaton`], which is what masked decoding needs and what tests compare against.
//!
//! | constraint  | feasible when                                         | `g`                    |
//! |-------------|-------------------------------------------------------|------------------------|
//! | [`Count`]   | `y` holds `ratio` target symbols per source symbol    | `(r·x_a − y_a)²/(m+n)` |
//! | [`Length`]  | `y` has the length that `x` demands                   | `∣n − L(x)∣/(m+n)`     |
//! | [`Regular`] | `y` is a word of a fixed [`Language`]                 | edit distance          |
//! | [`All`]     | several constraints hold at once                      | their weighted sum     |
//!
//! Throughout, `m` and `n` are the lengths of input and output, without end symbols.
//!
//! ```
//! use cajole::constraints::{Automaton, Language};
//!
//! let [a, b, z] = [0, 1, 2];
//! let target = Language::any_of([Language::word(&[a, a, a]), Language::word(&[z, b])]).star();
//! let target = target.automaton(3); // (aaa|zb)*
//! assert!(target.contains(&[z, b, a, a, a]));
//! assert!(!target.contains(&[z, b, a]));
//! ```

mod all;
mod automaton;
mod count;
mod dfa;
mod language;
mod length;
#[cfg(test)]
mod oracle;
mod regular;

pub use all::All;
pub use automaton::{Automaton, State};
pub use count::Count;
pub use dfa::Dfa;
pub use language::Language;
pub use length::Length;
pub use regular::Regular;
