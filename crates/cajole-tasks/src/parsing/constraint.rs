//! Commands must build one tree over the input.
//!
//! The paper names three ways to fail and prints a formula for two of them. Here every way is
//! counted, so that `g = 0` exactly when there is a tree:
//!
//! ```text
//! g(y, Lˣ) = { |m − #shifts|                        tokens left out, or made up
//!            + reduces on an empty stack
//!            + |items on the stack at the end − 1|
//!            + closes with nothing reduced
//!            + reduces not closed before a shift or the end
//!            + symbols that are no commands         } / (m + n)
//! ```
//!
//! `m` is the number of tokens, `n` that of commands. A fault must not make faults of all that
//! follows it: what cannot be done is passed over, a shift without a token pushes an item all the
//! same, and what is not closed counts as if it were.
//!
//! Phrases of one part may be stacked without end, and depth is nobody's fault: the decoder's cap on
//! the length of outputs bounds it.

use std::ops::Range;

use cajole_core::Symbol;
use cajole_core::constraint::{Constraint, Part, Violation};
use cajole_core::constraints::Automaton;
use serde::{Deserialize, Serialize};

use super::commands::{Command, Commands, Invalid};
use super::language::ShiftReduceLanguage;

/// An input that knows how many tokens it has.
pub trait Tokens {
    /// How many.
    fn n_tokens(&self) -> usize;
}

impl Tokens for [Symbol] {
    fn n_tokens(&self) -> usize {
        self.len()
    }
}

/// What `g` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// Every way to fail.
    #[default]
    Full,
    /// The two terms that the paper prints: `|m − #s|`, and at every position how many more
    /// reduces than shifts and closes there have been. Zero for some outputs that are no tree.
    Paper,
}

/// Which positions bear the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// All alike, as in the paper.
    #[default]
    Whole,
    /// Those where a fault shows: an impossible command, a shift past the tokens, or, where
    /// something is missing, the last command and the end.
    Parts,
}

/// The output must be commands that build one tree over the tokens of the input.
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_tasks::parsing::{Commands, ShiftReduce};
///
/// let commands = Commands::new(vec!["NP".into()]);
/// let one_tree = ShiftReduce::new(&commands);
/// let the_ball: &[u32] = &[7, 8];
/// assert!(one_tree.check(the_ball, &commands.parse("s s r r !NP")?).is_satisfied());
/// let faults = one_tree.faults(2, &commands.parse("s r r !NP s")?);
/// assert_eq!(faults[0].message, "position 3: reduce on an empty stack");
/// assert_eq!(faults[1].message, "2 items on the stack at the end");
/// # Ok::<(), cajole_tasks::parsing::commands::UnknownCommand>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftReduce {
    /// How many labels the commands have.
    pub n_labels: usize,
    /// What is counted.
    pub formula: Formula,
    /// Who is blamed.
    pub blame: Blame,
}

/// One reason why commands do not build a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: Invalid,
    /// The index of the command where it shows; that of the end is the number of commands.
    pub at: usize,
    /// The same for people, who count positions from 1.
    pub message: String,
}

impl ShiftReduce {
    /// Everything counted, all positions blamed.
    pub fn new(commands: &Commands) -> Self {
        let n_labels = commands.labels.len();
        ShiftReduce { n_labels, formula: Formula::Full, blame: Blame::Whole }
    }

    /// Every reason why `y` is no tree over so many tokens, from left to right.
    pub fn faults(&self, n_tokens: usize, y: &[Symbol]) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.each_fault(n_tokens, y, |at, kind| {
            faults.push(Fault { kind, at, message: kind.to_string() });
        });
        faults
    }

    fn each_fault(&self, n_tokens: usize, y: &[Symbol], mut found: impl FnMut(usize, Invalid)) {
        let (mut shifted, mut items, mut is_open) = (0, 0, false);
        for (i, &symbol) in y.iter().enumerate() {
            let at = i + 1;
            match Command::of(symbol, self.n_labels) {
                Some(Command::Shift) => {
                    if is_open {
                        found(i, Invalid::NotClosed { at });
                        (items, is_open) = (items + 1, false);
                    }
                    if n_tokens <= shifted {
                        found(i, Invalid::PastTheTokens { at, n_tokens });
                    }
                    (shifted, items) = (shifted + 1, items + 1);
                }
                Some(Command::Reduce) if items == 0 => found(i, Invalid::EmptyStack { at }),
                Some(Command::Reduce) => (items, is_open) = (items - 1, true),
                Some(Command::Close(_)) if !is_open => found(i, Invalid::NothingReduced { at }),
                Some(Command::Close(_)) => (items, is_open) = (items + 1, false),
                None => found(i, Invalid::NoCommand { at, symbol }),
            }
        }
        let end = y.len();
        if is_open {
            found(end, Invalid::NotClosed { at: end + 1 });
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

    /// The language of trees over `x`; none for the paper's formula, whose zeros are other outputs.
    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        let language = ShiftReduceLanguage { n_tokens: x.n_tokens(), n_labels: self.n_labels };
        (self.formula == Formula::Full).then(|| Box::new(language) as Box<_>)
    }
}

/// How much a fault counts.
fn weight(kind: Invalid) -> usize {
    match kind {
        Invalid::TokensLeft { shifted, n_tokens } => n_tokens - shifted,
        Invalid::NotOneTree { items } => items.abs_diff(1),
        _ => 1,
    }
}

/// The positions that bear the cost of a fault at `at`, of `n` commands.
///
/// What is missing at the end is blamed on the last command too: an output that was cut off has no
/// end symbol, and would otherwise be blamed nowhere.
fn blamed(at: usize, n: usize) -> Range<usize> {
    if at == n { n.saturating_sub(1)..n + 1 } else { at..at + 1 }
}
