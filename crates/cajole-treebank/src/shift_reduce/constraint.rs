//! Commands must build one tree over the input.
//!
//! The paper names three kinds of failure and gives a formula for two. This loss counts every kind,
//! so `g = 0` exactly if the commands build a tree:
//!
//! ```text
//! g(y, Lˣ) = { |m − #shifts|                        tokens left out, or made up
//!            + reduces on an empty stack
//!            + |items on the stack at the end − 1|
//!            + closes with nothing reduced
//!            + reduces not closed before a shift or the end
//!            + symbols that are not commands        } / (m + n)
//! ```
//!
//! `m` is the number of tokens, `n` the number of commands. One fault should not make everything
//! after it a fault: impossible commands are skipped, a shift without a token still pushes an item,
//! and an unclosed constituent counts as closed.
//!
//! Unary phrases may be stacked without limit; depth is not a fault, because the decoder's maximum
//! output length bounds it.

use std::ops::Range;

use cajole_core::Symbol;
use cajole_core::constraint::{Constraint, Part, Violation};
use cajole_core::constraints::Automaton;
use serde::{Deserialize, Serialize};

use super::commands::{Command, Commands, Invalid};
use super::language::ShiftReduceLanguage;

/// An input with a known number of tokens.
pub trait Tokens {
    /// The number of tokens.
    fn n_tokens(&self) -> usize;
}

impl<T> Tokens for [T] {
    fn n_tokens(&self) -> usize {
        self.len()
    }
}

/// What `g` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// Every kind of failure.
    #[default]
    Full,
    /// The two terms the paper prints: `|m − #s|`, and at every position the excess of reduces over
    /// shifts and closes so far. Zero for some outputs that are not trees.
    Paper,
}

/// Which positions bear the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// All equally, as in the paper.
    #[default]
    Whole,
    /// The positions where a fault shows: an impossible command, a shift past the tokens, or, if
    /// something is missing, the last command and the end.
    Parts,
}

/// The output must be commands that build one tree over the input's tokens.
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_treebank::shift_reduce::{Commands, ShiftReduce};
///
/// let commands = Commands::new(vec!["NP".into()]);
/// let one_tree = ShiftReduce::new(&commands);
/// let the_ball: &[u32] = &[7, 8];
/// assert!(one_tree.check(the_ball, &commands.parse("s s r r !NP")?).is_satisfied());
/// let faults = one_tree.faults(2, &commands.parse("s r r !NP s")?);
/// assert_eq!(faults[0].message, "position 2: reduce on an empty stack");
/// assert_eq!(faults[1].message, "2 items on the stack at the end");
/// # Ok::<(), cajole_treebank::shift_reduce::commands::UnknownCommand>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftReduce {
    /// The number of labels in the vocabulary.
    pub n_labels: usize,
    /// What is counted.
    pub formula: Formula,
    /// Which positions are blamed.
    pub blame: Blame,
}

/// One reason why commands do not build a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: Invalid,
    /// The index of the command where it shows; the number of commands for the end.
    pub at: usize,
    /// The explanation. Positions are 0-based.
    pub message: String,
}

impl ShiftReduce {
    /// Counts everything and blames all positions.
    pub fn new(commands: &Commands) -> Self {
        let n_labels = commands.labels.len();
        ShiftReduce { n_labels, formula: Formula::Full, blame: Blame::Whole }
    }

    /// Every reason why `y` is not a tree over `n_tokens` tokens, left to right.
    pub fn faults(&self, n_tokens: usize, y: &[Symbol]) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.each_fault(n_tokens, y, |at, kind| {
            faults.push(Fault { kind, at, message: kind.to_string() });
        });
        faults
    }

    fn each_fault(&self, n_tokens: usize, y: &[Symbol], mut found: impl FnMut(usize, Invalid)) {
        let (mut shifted, mut items, mut is_open) = (0, 0, false);
        for (at, &symbol) in y.iter().enumerate() {
            match Command::of(symbol, self.n_labels) {
                Some(Command::Shift) => {
                    if is_open {
                        found(at, Invalid::NotClosed { at });
                        (items, is_open) = (items + 1, false);
                    }
                    if n_tokens <= shifted {
                        found(at, Invalid::PastTheTokens { at, n_tokens });
                    }
                    (shifted, items) = (shifted + 1, items + 1);
                }
                Some(Command::Reduce) if items == 0 => found(at, Invalid::EmptyStack { at }),
                Some(Command::Reduce) => (items, is_open) = (items - 1, true),
                Some(Command::Close(_)) if !is_open => found(at, Invalid::NothingReduced { at }),
                Some(Command::Close(_)) => (items, is_open) = (items + 1, false),
                None => found(at, Invalid::NoCommand { at, symbol }),
            }
        }
        let end = y.len();
        if is_open {
            found(end, Invalid::NotClosed { at: end });
            items += 1;
        }
        if shifted < n_tokens {
            found(end, Invalid::TokensLeft { shifted, n_tokens });
        }
        if items != 1 {
            found(end, Invalid::NotOneTree { items });
        }
    }

    /// The terms of the paper's formula, with the positions where they arise.
    fn each_term(&self, n_tokens: usize, y: &[Symbol], mut found: impl FnMut(usize, usize)) {
        let (mut shifted, mut pushed, mut popped) = (0, 0, 0usize);
        for (i, &symbol) in y.iter().enumerate() {
            match Command::of(symbol, self.n_labels) {
                Some(Command::Shift) => {
                    (shifted, pushed) = (shifted + 1, pushed + 1);
                    found(i, usize::from(n_tokens < shifted));
                }
                Some(Command::Reduce) => popped += 1,
                Some(Command::Close(_)) => pushed += 1,
                None => {}
            }
            found(i, popped.saturating_sub(pushed));
        }
        found(y.len(), n_tokens.saturating_sub(shifted));
    }
}

impl<X: Tokens + ?Sized> Constraint<X> for ShiftReduce {
    fn check(&self, x: &X, y: &[Symbol]) -> Violation {
        let (m, n) = (x.n_tokens(), y.len());
        let cost = |count: usize| count as f32 / (m + n).max(1) as f32;
        let (mut total, mut parts) = (0, Vec::new());
        let add = |at, count| {
            total += count;
            if self.blame == Blame::Parts && 0 < count {
                parts.push(Part { at: blamed(at, n), cost: cost(count) });
            }
        };
        match self.formula {
            Formula::Full => {
                let mut add = add;
                self.each_fault(m, y, |at, kind| add(at, weight(kind)));
            }
            Formula::Paper => self.each_term(m, y, add),
        }
        if parts.is_empty() { Violation::Whole(cost(total)) } else { Violation::Parts(parts) }
    }

    fn explain(&self, x: &X, y: &[Symbol]) -> Vec<cajole_core::Fault> {
        let (m, n) = (x.n_tokens(), y.len());
        let fault = |fault: Fault| cajole_core::Fault {
            at: blamed(fault.at, n),
            cost: weight(fault.kind) as f32 / (m + n).max(1) as f32,
            message: fault.message,
        };
        match self.formula {
            Formula::Full => self.faults(m, y).into_iter().map(fault).collect(),
            Formula::Paper => {
                let message =
                    |_: &Part| "not a shift for each token, or too many reduces".to_owned();
                self.check(x, y).into_faults(n + 1, message)
            }
        }
    }

    /// The language of trees over `x`. `None` for the paper's formula, which is zero for other
    /// outputs too.
    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        let language = ShiftReduceLanguage { n_tokens: x.n_tokens(), n_labels: self.n_labels };
        (self.formula == Formula::Full).then(|| Box::new(language) as Box<_>)
    }
}

/// The cost of a fault.
fn weight(kind: Invalid) -> usize {
    match kind {
        Invalid::TokensLeft { shifted, n_tokens } => n_tokens - shifted,
        Invalid::NotOneTree { items } => items.abs_diff(1),
        _ => 1,
    }
}

/// The positions that bear the cost of a fault at `at`, out of `n` commands.
///
/// Faults at the end are blamed on the last command too: a truncated output has no end symbol, so
/// nothing would be blamed otherwise.
fn blamed(at: usize, n: usize) -> Range<usize> {
    if at == n { n.saturating_sub(1)..n + 1 } else { at..at + 1 }
}
