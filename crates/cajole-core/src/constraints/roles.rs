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

use super::role_language::RoleLanguage;
use super::spans::{blame, told};
use super::{Automaton, Role, RoleSet, Span, TagSet};
use crate::constraint::{Constraint, Fault, Violation};
use crate::model::Symbol;

/// PropBank's numbered arguments, of which a predicate has at most one each.
pub const CORE_ROLES: &[&str] = &["ARG0", "ARG1", "ARG2", "ARG3", "ARG4", "ARG5", "ARGA"];

/// The predicate and its parts, such as a particle. They are not arguments, so
/// [`SpansInTree`](super::SpansInTree) should leave them free.
pub const PREDICATE_ROLES: &[&str] = &["V", "C-V"];

/// A rule about which roles may occur together, made by one of its constructors.
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_core::constraints::{RoleRule, TagSet};
///
/// let tags = TagSet::new(["O", "B-ARG0", "B-C-ARG0", "B-V"])?;
/// assert_eq!(RoleRule::unique(&tags).check("", &[1, 3, 1]).total(), 1.0);
/// assert!(RoleRule::continuations(&tags).check("", &[1, 3, 2]).is_satisfied());
/// # Ok::<(), cajole_core::constraints::TagSetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RoleRule {
    tags: TagSet,
    kind: Kind,
    /// By role.
    needs: Vec<Need>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unique,
    Continuations,
    References,
}

/// What a role requires of the roles before it, or of all roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// This role is among them.
    With(Role),
    /// This role is not among them.
    Without(Role),
    /// A role without tags, which no output can have.
    Absent,
}

impl Need {
    pub(super) fn is_met(self, is_there: impl Fn(Role) -> bool) -> bool {
        match self {
            Need::Nothing => true,
            Need::With(needed) => is_there(needed),
            Need::Without(forbidden) => !is_there(forbidden),
            Need::Absent => false,
        }
    }
}

impl RoleRule {
    /// No [core role](CORE_ROLES) may occur twice; the second and later spans are blamed.
    pub fn unique(tags: &TagSet) -> Self {
        RoleRule::unique_among(tags, &RoleSet::named(tags, CORE_ROLES))
    }

    /// None of these roles may occur twice.
    pub fn unique_among(tags: &TagSet, core: &RoleSet) -> Self {
        RoleRule::new(tags, Kind::Unique, |role| match core.contains(role) {
            true => Need::Without(role),
            false => Need::Nothing,
        })
    }

    /// `C-X` may only occur after an `X`, for all roles whose names begin with `C-`.
    pub fn continuations(tags: &TagSet) -> Self {
        RoleRule::new(tags, Kind::Continuations, |role| base(tags, role, "C-"))
    }

    /// `R-X` may only occur with an `X`, before or after it.
    pub fn references(tags: &TagSet) -> Self {
        RoleRule::new(tags, Kind::References, |role| base(tags, role, "R-"))
    }

    fn new(tags: &TagSet, kind: Kind, need: impl Fn(Role) -> Need) -> Self {
        RoleRule { tags: tags.clone(), kind, needs: tags.roles().map(need).collect() }
    }

    /// Whether `role` may occur with `others`: for references all roles of the output, otherwise
    /// those before it.
    pub fn allows(&self, role: Role, others: &RoleSet) -> bool {
        self.needs[role.index()].is_met(|role| others.contains(role))
    }

    /// The spans of `y` that break the rule.
    pub fn faults(&self, y: &[Symbol]) -> Vec<Span> {
        let mut others = RoleSet::default();
        if self.kind == Kind::References {
            others = self.tags.iter_spans(y).map(|span| span.role).collect();
        }
        let mut faults = Vec::new();
        for span in self.tags.iter_spans(y) {
            if !self.allows(span.role, &others) {
                faults.push(span);
            }
            others.insert(span.role);
        }
        faults
    }

    fn message(&self, fault: Span) -> String {
        let (at, role) = (fault.start, self.tags.role_name(fault.role));
        match self.kind {
            Kind::Unique => format!("position {at}: there is another {role} before"),
            Kind::Continuations => format!("position {at}: {role} continues nothing before it"),
            Kind::References => format!("position {at}: {role} refers to nothing"),
        }
    }
}

/// The role `X` that a role named `prefix` + `X` needs.
fn base(tags: &TagSet, role: Role, prefix: &str) -> Need {
    match tags.role_name(role).strip_prefix(prefix) {
        None => Need::Nothing,
        Some(base) => tags.role(base).map_or(Need::Absent, Need::With),
    }
}

impl<X: ?Sized> Constraint<X> for RoleRule {
    fn check(&self, _: &X, y: &[Symbol]) -> Violation {
        Violation::Parts(self.faults(y).into_iter().map(blame).collect())
    }

    fn explain(&self, _: &X, y: &[Symbol]) -> Vec<Fault> {
        self.faults(y).into_iter().map(|fault| told(fault, self.message(fault))).collect()
    }

    /// An automaton reads from left to right, so references have none.
    fn automaton(&self, _: &X) -> Option<Box<dyn Automaton + '_>> {
        if self.kind == Kind::References {
            return None;
        }
        Some(Box::new(RoleLanguage::new(&self.tags, &self.needs)?))
    }
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
        check(&RoleRule::unique(&tags), &tags, |name, before, _| {
            name == "ARG0" && before.contains(&"ARG0")
        });
        let core = RoleSet::named(&tags, &["TMP", "C-ARG0"]);
        check(&RoleRule::unique_among(&tags, &core), &tags, |name, before, _| {
            ["TMP", "C-ARG0"].contains(&name) && before.contains(&name)
        });
    }

    #[test]
    fn rules_that_only_look_back_have_an_automaton() {
        let tags = tags();
        assert!(Constraint::<str>::automaton(&RoleRule::unique(&tags), "").is_some());
        assert!(Constraint::<str>::automaton(&RoleRule::continuations(&tags), "").is_some());
        assert!(Constraint::<str>::automaton(&RoleRule::references(&tags), "").is_none());
    }

    #[test]
    fn continuations_need_a_beginning() {
        let tags = tags();
        check(&RoleRule::continuations(&tags), &tags, |name, before, _| match name {
            "C-ARG0" => !before.contains(&"ARG0"),
            "C-NONE" => true,
            _ => false,
        });
    }

    #[test]
    fn references_need_a_referent() {
        let tags = tags();
        check(&RoleRule::references(&tags), &tags, |name, _, all| {
            name == "R-ARG0" && !all.contains(&"ARG0")
        });
    }
}
