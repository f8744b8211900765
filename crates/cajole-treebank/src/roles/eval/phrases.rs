//! The arguments of a proposition as `srl-eval.pl` sees them.
//!
//! Arguments may lie within one another. That program then keeps the inner ones as parts of the
//! outer one, just as it keeps the parts of a discontinuous argument, so they count only together.
//! It also forgets an argument if a later one has the same first and last word. Scores are
//! comparable only if these choices agree, so this module follows them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::Fault;
use crate::limits::MOST_DEPTH;
use crate::roles::bio::Argument;
use crate::roles::error::{RoleError, RoleFault};

/// The arguments of one proposition, continuations joined.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    all: Vec<Phrase>,
    /// Those that are arguments of their own, left to right and outer ones first.
    arguments: Vec<usize>,
}

#[derive(Debug)]
struct Phrase {
    start: usize,
    /// One past its last word; for a discontinuous argument, of its last part.
    end: usize,
    role: String,
    /// The parts of a discontinuous argument, and the phrases within this one.
    parts: Vec<usize>,
}

impl Phrases {
    /// Reads a column of arguments. An error's line is the row, from 1.
    pub(super) fn read<'c>(bits: impl IntoIterator<Item = &'c str>) -> Result<Self, RoleError> {
        let mut all: Vec<Phrase> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for (at, bit) in bits.into_iter().enumerate() {
            let fault = |fault: RoleFault| fault.on(at + 1);
            let odd = || RoleFault::OddBit { bit: bit.to_owned() }.on(at + 1);
            let (before, after) = bit.split_once('*').ok_or_else(odd)?;
            for role in opened(before).ok_or_else(odd)? {
                open.push(all.len());
                all.push(Phrase { start: at, end: at, role: role.to_owned(), parts: Vec::new() });
            }
            if MOST_DEPTH < open.len() {
                return Err(fault(Fault::TooDeep.into()));
            }
            for role in closed(after).ok_or_else(odd)? {
                let unopened = || fault(RoleFault::Unopened { bit: bit.to_owned() });
                let phrase = open.pop().ok_or_else(unopened)?;
                if !role.is_empty() && role != all[phrase].role {
                    return Err(odd());
                }
                all[phrase].end = at + 1;
                if let Some(&outer) = open.last() {
                    all[outer].parts.push(phrase);
                }
            }
        }
        match open.first() {
            None => Ok(Phrases::join(all)),
            Some(&phrase) => {
                let Phrase { start, role, .. } = &all[phrase];
                Err(RoleFault::Unclosed { role: role.clone() }.on(start + 1))
            }
        }
    }

    /// Arguments that do not overlap.
    pub(super) fn flat(arguments: &[Argument]) -> Self {
        let phrase = |Argument { at, role }: &Argument| {
            let (start, end, role) = (at.start, at.end, role.clone());
            Phrase { start, end, role, parts: Vec::new() }
        };
        Phrases::join(arguments.iter().map(phrase).collect())
    }

    /// Phrases are in the order they open, so of two with the same words the inner one is kept.
    fn join(all: Vec<Phrase>) -> Self {
        let spans = all.iter().map(|phrase| (phrase.start, Reverse(phrase.end)));
        let in_order: BTreeMap<_, usize> = spans.zip(0..).collect();
        let mut joined = Phrases { all, arguments: Vec::new() };
        let mut begun = BTreeMap::<String, usize>::new();
        for phrase in in_order.into_values() {
            let role = joined.all[phrase].role.clone();
            let continued = role.strip_prefix("C-");
            if let Some(&head) = continued.and_then(|role| begun.get(role)) {
                joined.extend(head, phrase);
                continue;
            }
            let role = continued.unwrap_or(&role).to_owned();
            joined.all[phrase].role.clone_from(&role);
            joined.arguments.push(phrase);
            begun.insert(role, phrase);
        }
        joined
    }

    /// Makes `phrase` a part of the argument `head`.
    fn extend(&mut self, head: usize, phrase: usize) {
        let Phrase { start, end, ref role, ref parts } = self.all[head];
        if parts.is_empty() {
            let first = Phrase { start, end, role: role.clone(), parts: Vec::new() };
            self.all.push(first);
            let first = self.all.len() - 1;
            self.all[head].parts.push(first);
        }
        self.all[head].parts.push(phrase);
        self.all[head].end = self.all[phrase].end;
    }

    /// The verdict on each argument, by its role.
    pub(super) fn compare<'a>(gold: &'a Self, predicted: &'a Self) -> Vec<(&'a str, Verdict)> {
        let mut verdicts = Vec::new();
        let by_span = gold.arguments.iter().map(|&argument| (gold.all[argument].span(), argument));
        // Of two arguments with the same span, the later one is kept.
        let mut left: BTreeMap<_, usize> = by_span.collect();
        for &argument in &predicted.arguments {
            let Phrase { role, parts, .. } = &predicted.all[argument];
            let (span, spans) = (predicted.all[argument].span(), predicted.parts(argument));
            let is_right = left.get(&span).is_some_and(|&other| {
                let same_parts = gold.parts(other) == spans && spans.len() == parts.len();
                gold.all[other].role == *role && same_parts
            });
            if is_right {
                left.remove(&span);
            }
            let verdict = if is_right { Verdict::Correct } else { Verdict::Excess };
            verdicts.push((role.as_str(), verdict));
        }
        let missed = left.into_values().map(|argument| gold.all[argument].role.as_str());
        verdicts.extend(missed.map(|role| (role, Verdict::Missed)));
        verdicts
    }

    fn parts(&self, argument: usize) -> BTreeSet<(usize, usize)> {
        self.all[argument].parts.iter().map(|&part| self.all[part].span()).collect()
    }
}

/// The verdict on an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Predicted and in gold.
    Correct,
    /// Predicted, but not in gold.
    Excess,
    /// In gold, but not predicted.
    Missed,
}

impl Phrase {
    fn span(&self) -> (usize, usize) {
        (self.start, self.end)
    }
}

/// The roles that begin, from what precedes the star: `(A(B`.
fn opened(before: &str) -> Option<Vec<&str>> {
    let Some(roles) = before.strip_prefix('(') else {
        return before.is_empty().then(Vec::new);
    };
    let roles: Vec<&str> = roles.split('(').collect();
    roles.iter().all(|role| !role.is_empty() && !role.contains(')')).then_some(roles)
}

/// The roles that end, from what follows the star: `))` or `B)A)`. An empty one ends whatever is open.
fn closed(after: &str) -> Option<Vec<&str>> {
    let Some(roles) = after.strip_suffix(')') else { return after.is_empty().then(Vec::new) };
    Some(roles.split(')').collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Correct, Excess, Missed};

    fn read(bits: &str) -> Phrases {
        Phrases::read(bits.split(' ')).unwrap()
    }

    /// The expected verdicts agree with the counts that srl-eval.pl prints.
    #[track_caller]
    fn check(gold: &str, predicted: &str, want: &[(&str, Verdict)]) {
        assert_eq!(Phrases::compare(&read(gold), &read(predicted)), want);
    }

    #[test]
    fn arguments_within_others_are_arguments() {
        check("(A* (B*) *)", "(A* (B*) *)", &[("A", Correct), ("B", Correct)]);
        check("(A(B*) *)", "(A(B*) *)", &[("A", Correct), ("B", Correct)]);
    }

    #[test]
    fn an_outer_argument_is_right_only_with_what_lies_in_it() {
        check("(A* (B*) *)", "(A* * *)", &[("A", Excess), ("A", Missed), ("B", Missed)]);
        check("(A* (B*) *)", "(A* (C*) *)", &[("A", Correct), ("C", Excess), ("B", Missed)]);
    }

    #[test]
    fn of_two_with_the_same_words_the_inner_one_stays() {
        check("(A(B*))", "(B*)", &[("B", Correct)]);
        check("(A(B*))", "(A*)", &[("A", Excess), ("B", Missed)]);
    }

    #[test]
    fn an_argument_with_a_continuation_within_it_is_never_right() {
        // It has that part twice, which no list of parts equals.
        check("(A* (C-A*) *)", "(A* (C-A*) *)", &[("A", Excess), ("A", Missed)]);
    }

    #[test]
    fn roles_may_be_named_again_where_they_end() {
        check("(A* (B*B) *A)", "(A* (B*) *)", &[("A", Correct), ("B", Correct)]);
    }

    #[test]
    fn faults_report_their_row() {
        let deep = format!("* {}*", "(A".repeat(MOST_DEPTH + 1));
        for (bits, expected) in [
            ("* -", "line 2: the argument bit \"-\" is none of"),
            ("(*)", "line 1: the argument bit \"(*)\" is none of"),
            ("(A*B)", "line 1: the argument bit \"(A*B)\" is none of"),
            ("(A*) *)", "line 2: the argument bit \"*)\" closes an argument that was not opened"),
            ("* (A* (B*", "line 2: the argument \"A\" that begins here is not closed"),
            (&deep, "line 2: more than 1000 brackets within one another"),
        ] {
            let error = Phrases::read(bits.split(' ')).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
