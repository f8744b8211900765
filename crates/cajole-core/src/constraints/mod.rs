//! Constraints ready to use, and the automata behind them.
//!
//! Any closure is already a constraint. Those here offer more than a number: [`Regular`] knows
//! *which* positions err, and most can return their feasible set `Lˣ` as an [`Automaton`], which
//! masked decoding needs and tests compare against.
//!
//! | constraint      | feasible when                                      | `g`                    |
//! |-----------------|----------------------------------------------------|------------------------|
//! | [`Count`]       | `y` holds `ratio` target symbols per source symbol | `(r·x_a − y_a)²/(m+n)` |
//! | [`Length`]      | `y` has the length that `x` demands                | `∣n − L(x)∣/(m+n)`     |
//! | [`Regular`]     | `y` is a word of a fixed [`Language`]              | edit distance          |
//! | [`ContextFree`] | `y` is a member of a fixed [`Grammar`]             | edit distance          |
//! | [`All`]         | all of several constraints hold                    | their weighted sum     |
//! | [`Any`]         | one of several constraints holds                   | their weighted minimum |
//!
//! Outputs that label spans with tags ([`TagSet`]) have their own constraints. All but the first
//! blame whole spans, each with `1/len` per position:
//!
//! | constraint                  | feasible when                                 |
//! |-----------------------------|-----------------------------------------------|
//! | [`Bio`]                     | every span begins with `B-`                   |
//! | [`SpansInTree`]             | every span is one of the input's [`Brackets`] |
//! | [`RoleRule::unique`]        | no core role occurs twice                     |
//! | [`RoleRule::continuations`] | every `C-X` comes after an `X`                |
//! | [`RoleRule::references`]    | every `R-X` has an `X` somewhere              |
//!
//! Throughout, `m` and `n` are the lengths of input and output, without end symbols.
//!
//! ```
//! use cajole_core::constraints::{Automaton, Language};
//!
//! let [a, b, z] = [0, 1, 2];
//! let target = Language::any_of([Language::word(&[a, a, a]), Language::word(&[z, b])]).star();
//! let target = target.automaton(3); // (aaa|zb)*
//! assert!(target.contains(&[z, b, a, a, a]));
//! assert!(!target.contains(&[z, b, a]));
//! ```

mod all;
mod any;
mod automaton;
mod bio;
mod brackets;
mod count;
mod dfa;
mod edit;
mod grammar;
mod language;
mod length;
#[cfg(test)]
mod oracle;
mod product;
mod regular;
mod role_language;
mod role_set;
mod roles;
mod span_language;
mod spans;
mod spelled;
mod tag_set;
mod trie;
mod weighted;

pub use all::{All, Sum};
pub use any::{Any, Minimum};
pub use automaton::{Automaton, State};
pub use bio::Bio;
pub use brackets::{Bracketed, Brackets};
pub use count::Count;
pub use dfa::Dfa;
pub use edit::{Edit, EditDistance};
pub use grammar::{ContextFree, Element, Grammar, GrammarError, Production};
pub use language::Language;
pub use length::Length;
pub use product::Product;
pub use regular::Regular;
pub use role_set::RoleSet;
pub use roles::{CORE_ROLES, PREDICATE_ROLES, RoleRule};
pub use spans::SpansInTree;
pub use spelled::{MOST_FOLLOWED, Spelled, Spelling};
pub use tag_set::{Role, Span, Tag, TagSet, TagSetError};
pub use trie::Trie;
pub use weighted::Weighted;
