//! Rules over the same symbols: a network's own, or the bytes of the text that these write.

use std::sync::Arc;

use cajole_core::constraints::{All, Automaton, Spelled, Spelling};
use cajole_core::{Constraint, Fault, Symbol, Violation};

use crate::subject::Subject;
use crate::text::Bytes;

/// Rules, all of which must hold.
#[derive(Default)]
pub(super) struct Group {
    members: Vec<Member>,
    /// The same rules.
    pub(super) all: All<'static, Subject>,
}

/// A rule of a group.
#[derive(Clone)]
struct Member {
    name: String,
    /// Whether it is the same rule for all inputs.
    is_fixed: bool,
    weight: f32,
    rule: Shared,
}

/// A rule that may be in several groups.
#[derive(Clone)]
struct Shared(Arc<dyn Constraint<Subject> + Send + Sync>);

impl Constraint<Subject> for Shared {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        self.0.check(x, y)
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        self.0.explain(x, y)
    }

    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        self.0.automaton(x)
    }
}

impl Group {
    /// Adds a rule with a weight; `is_fixed` if it is the same for all inputs.
    pub(super) fn add(
        &mut self,
        name: String,
        is_fixed: bool,
        weight: f32,
        rule: impl Constraint<Subject> + Send + 'static,
    ) {
        self.push(Member { name, is_fixed, weight, rule: Shared(Arc::new(rule)) });
    }

    fn push(&mut self, member: Member) {
        self.all = std::mem::take(&mut self.all).with(member.weight, member.rule.clone());
        self.members.push(member);
    }

    /// These rules and others.
    pub(super) fn and(&self, other: &Group) -> Group {
        let mut both = Group::default();
        self.members.iter().chain(&other.members).for_each(|member| both.push(member.clone()));
        both
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether each of them is the same rule for all inputs.
    pub(super) fn fixed(&self) -> impl Iterator<Item = bool> {
        self.members.iter().map(|member| member.is_fixed)
    }

    /// Each rule with its name and weight.
    pub(super) fn iter<'a>(
        &'a self,
        spelling: Option<&'a Spelling>,
    ) -> impl Iterator<Item = (&'a str, f32, OneRule<'a>)> {
        self.members.iter().map(move |member| {
            let rule: &dyn Constraint<Subject> = &*member.rule.0;
            (member.name.as_str(), member.weight, OneRule { rule, spelling })
        })
    }

    /// All of them as one rule.
    pub(super) fn whole<'a>(&'a self, spelling: Option<&'a Spelling>) -> OneRule<'a> {
        OneRule { rule: &self.all, spelling }
    }
}

/// One rule of several.
#[derive(Clone, Copy)]
pub struct OneRule<'a> {
    rule: &'a dyn Constraint<Subject>,
    /// What symbols stand for, if the rule is over text.
    spelling: Option<&'a Spelling>,
}

impl<'a> OneRule<'a> {
    /// Its feasible set as an automaton, if it has one.
    pub fn automaton(self, x: &Subject) -> Option<Box<dyn Automaton + 'a>> {
        Some(spelled(self.rule.automaton(x)?, self.spelling))
    }
}

impl Constraint<Subject> for OneRule<'_> {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        let Some(spelling) = self.spelling else { return self.rule.check(x, y) };
        let text = Bytes::new(spelling, y);
        text.violation(self.rule.check(x, &text.bytes))
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let Some(spelling) = self.spelling else { return self.rule.explain(x, y) };
        let text = Bytes::new(spelling, y);
        let faults = self.rule.explain(x, &text.bytes).into_iter();
        faults.map(|fault| text.fault(fault)).collect()
    }

    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        OneRule::automaton(*self, x)
    }
}

/// An automaton over bytes as one over the symbols that spell them.
pub(super) fn spelled<'a>(
    text: Box<dyn Automaton + 'a>,
    spelling: Option<&'a Spelling>,
) -> Box<dyn Automaton + 'a> {
    match spelling {
        Some(spelling) => Box::new(Spelled::new(text, spelling)),
        None => text,
    }
}
