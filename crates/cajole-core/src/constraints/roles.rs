//! Which roles may occur together in one output.
//!
//! A predicate has one agent, and an argument that continues must have begun somewhere. He et al.,
//! "Deep Semantic Role Labeling" (ACL 2017), take three such rules from the annotation scheme. Each
//! looks at one span and the roles of others, so each blames spans:
//!
//! ```text
//! U  a core role        not if it occurred before
//! C  a continuation C-X only if X occurred before
//! R  a reference R-X    only if X occurs at all
//! ```
//!
//! They found that the third hurts; it is here to be measured.

use super::role_language::{Asks, RoleLanguage};
use super::spans::{blame, told};
use super::{Automaton, Role, RoleSet, Span, TagSet};
use crate::constraint::{Constraint, Fault, Violation};
use crate::model::Symbol;

/// PropBank's numbered arguments, of which a predicate has at most one each.
pub const CORE_ROLES: &[&str] = &["ARG0", "ARG1", "ARG2", "ARG3", "ARG4", "ARG5", "ARGA"];

/// The predicate and its parts, such as a particle. They are not arguments, so
/// [`SpansInTree`](super::SpansInTree) should leave them free.
pub const PREDICATE_ROLES: &[&str] = &["V", "C-V"];

/// No core role may occur twice; the second and later spans are blamed.
#[derive(Clone, Debug)]
pub struct UniqueRoles {
    /// The tags.
    pub tags: TagSet,
    /// The roles that may occur once, usually the [`CORE_ROLES`].
    pub core: RoleSet,
}

impl UniqueRoles {
    /// Makes the [`CORE_ROLES`] of `tags` unique.
    pub fn new(tags: &TagSet) -> Self {
        UniqueRoles { tags: tags.clone(), core: RoleSet::named(tags, CORE_ROLES) }
    }

    /// Whether `role` may occur after the roles in `before`.
    pub fn allows(&self, role: Role, before: &RoleSet) -> bool {
        !(self.core.contains(role) && before.contains(role))
    }

    /// The repeated spans of `y`.
    pub fn faults(&self, y: &[Symbol]) -> Vec<Span> {
        faults_before(&self.tags, y, |role, before| self.allows(role, before))
    }
}

impl<X: ?Sized> Constraint<X> for UniqueRoles {
    fn check(&self, _: &X, y: &[Symbol]) -> Violation {
        parts(self.faults(y))
    }

    fn explain(&self, _: &X, y: &[Symbol]) -> Vec<Fault> {
        explained(&self.tags, self.faults(y), |role| format!("there is another {role} before"))
    }

    fn automaton(&self, _: &X) -> Option<Box<dyn Automaton + '_>> {
        let asks = |role| match self.core.contains(role) {
            true => Asks { forbids: RoleLanguage::bit(role), ..Asks::default() },
            false => Asks::default(),
        };
        Some(Box::new(RoleLanguage::new(&self.tags, asks)?))
    }
}

/// `C-X` may only occur after an `X`.
#[derive(Clone, Debug)]
pub struct Continuations {
    tags: TagSet,
    needs: Vec<Need>,
}

impl Continuations {
    /// For all roles of `tags` whose names begin with `C-`.
    pub fn new(tags: &TagSet) -> Self {
        Continuations { tags: tags.clone(), needs: needs(tags, "C-") }
    }

    /// Whether `role` may occur after the roles in `before`.
    pub fn allows(&self, role: Role, before: &RoleSet) -> bool {
        self.needs[role.index()].is_met(before)
    }

    /// The spans of `y` that continue nothing.
    pub fn faults(&self, y: &[Symbol]) -> Vec<Span> {
        faults_before(&self.tags, y, |role, before| self.allows(role, before))
    }
}

impl<X: ?Sized> Constraint<X> for Continuations {
    fn check(&self, _: &X, y: &[Symbol]) -> Violation {
        parts(self.faults(y))
    }

    fn explain(&self, _: &X, y: &[Symbol]) -> Vec<Fault> {
        explained(&self.tags, self.faults(y), |role| format!("{role} continues nothing before it"))
    }

    fn automaton(&self, _: &X) -> Option<Box<dyn Automaton + '_>> {
        let asks = |role: Role| match self.needs[role.index()] {
            Need::Nothing => Asks::default(),
            Need::Role(needed) => Asks { needs: RoleLanguage::bit(needed), ..Asks::default() },
            Need::Absent => Asks { is_hopeless: true, ..Asks::default() },
        };
        Some(Box::new(RoleLanguage::new(&self.tags, asks)?))
    }
}

/// `R-X` may only occur with an `X`, before or after it.
#[derive(Clone, Debug)]
pub struct References {
    tags: TagSet,
    needs: Vec<Need>,
}

impl References {
    /// For all roles of `tags` whose names begin with `R-`.
    pub fn new(tags: &TagSet) -> Self {
        References { tags: tags.clone(), needs: needs(tags, "R-") }
    }

    /// Whether `role` may occur in an output with the roles in `all`.
    pub fn allows(&self, role: Role, all: &RoleSet) -> bool {
        self.needs[role.index()].is_met(all)
    }

    /// The spans of `y` that refer to nothing.
    pub fn faults(&self, y: &[Symbol]) -> Vec<Span> {
        let all = self.tags.iter_spans(y).map(|span| span.role).collect();
        self.tags.iter_spans(y).filter(|span| !self.allows(span.role, &all)).collect()
    }
}

impl<X: ?Sized> Constraint<X> for References {
    fn check(&self, _: &X, y: &[Symbol]) -> Violation {
        parts(self.faults(y))
    }

    fn explain(&self, _: &X, y: &[Symbol]) -> Vec<Fault> {
        explained(&self.tags, self.faults(y), |role| format!("{role} refers to nothing"))
    }
}

/// What a role requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Nothing,
    Role(Role),
    /// A role without tags, which no output can have.
    Absent,
}

impl Need {
    fn is_met(self, roles: &RoleSet) -> bool {
        match self {
            Need::Nothing => true,
            Need::Role(role) => roles.contains(role),
            Need::Absent => false,
        }
    }
}

/// By role: `X` for a role named `prefix` + `X`.
fn needs(tags: &TagSet, prefix: &str) -> Vec<Need> {
    let need = |role| match tags.role_name(role).strip_prefix(prefix) {
        None => Need::Nothing,
        Some(base) => tags.role(base).map_or(Need::Absent, Need::Role),
    };
    tags.roles().map(need).collect()
}

/// The spans that are not allowed after the roles of earlier spans.
fn faults_before(
    tags: &TagSet,
    y: &[Symbol],
    allows: impl Fn(Role, &RoleSet) -> bool,
) -> Vec<Span> {
    let mut before = RoleSet::default();
    let is_fault = |span: &Span| {
        let is_fault = !allows(span.role, &before);
        before.insert(span.role);
        is_fault
    };
    tags.iter_spans(y).filter(is_fault).collect()
}

fn parts(faults: Vec<Span>) -> Violation {
    Violation::Parts(faults.into_iter().map(blame).collect())
}

/// Each fault with its position and what is wrong with its role.
fn explained(tags: &TagSet, faults: Vec<Span>, wrong: impl Fn(&str) -> String) -> Vec<Fault> {
    let message = |s: &Span| format!("position {}: {}", s.start, wrong(tags.role_name(s.role)));
    faults.into_iter().map(|span| told(span, message(&span))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::Part;
    use crate::constraints::oracle::{self, strings};

    fn tags() -> TagSet {
        TagSet::new(["O", "B-ARG0", "I-ARG0", "B-C-ARG0", "B-R-ARG0", "B-TMP", "B-C-NONE"]).unwrap()
    }

    /// Compares with `is_fault`, given a span's name, those before it and all of them.
    fn check(
        constraint: &dyn Constraint<str>,
        tags: &TagSet,
        is_fault: impl Fn(&str, &[&str], &[&str]) -> bool,
    ) {
        for y in strings(tags.n_tags(), 5) {
            let spans = oracle::spans(tags, &y);
            let names: Vec<&str> = spans.iter().map(|s| tags.role_name(s.role)).collect();
            let faults = (0..spans.len()).filter(|&i| is_fault(names[i], &names[..i], &names));
            let cost = |s: &Span| 1.0 / (s.end - s.start) as f32;
            let parts: Vec<Part> =
                faults.map(|i| Part { at: spans[i].at(), cost: cost(&spans[i]) }).collect();
            let violation = constraint.check("", &y);
            assert_eq!(violation.is_satisfied(), parts.is_empty(), "{y:?}");
            assert_eq!(violation, Violation::Parts(parts), "{y:?}");
            if let Some(language) = constraint.automaton("") {
                assert_eq!(language.contains(&y), violation.is_satisfied(), "{y:?}");
            }
        }
    }

    #[test]
    fn core_roles_are_unique() {
        let tags = tags();
        check(&UniqueRoles::new(&tags), &tags, |name, before, _| {
            name == "ARG0" && before.contains(&"ARG0")
        });
        let core = RoleSet::named(&tags, &["TMP", "C-ARG0"]);
        check(&UniqueRoles { tags: tags.clone(), core }, &tags, |name, before, _| {
            ["TMP", "C-ARG0"].contains(&name) && before.contains(&name)
        });
    }

    #[test]
    fn rules_that_only_look_back_have_an_automaton() {
        let tags = tags();
        assert!(Constraint::<str>::automaton(&UniqueRoles::new(&tags), "").is_some());
        assert!(Constraint::<str>::automaton(&Continuations::new(&tags), "").is_some());
        assert!(Constraint::<str>::automaton(&References::new(&tags), "").is_none());
    }

    #[test]
    fn continuations_need_a_beginning() {
        let tags = tags();
        check(&Continuations::new(&tags), &tags, |name, before, _| match name {
            "C-ARG0" => !before.contains(&"ARG0"),
            "C-NONE" => true,
            _ => false,
        });
    }

    #[test]
    fn references_need_a_referent() {
        let tags = tags();
        check(&References::new(&tags), &tags, |name, _, all| {
            name == "R-ARG0" && !all.contains(&"ARG0")
        });
    }
}
