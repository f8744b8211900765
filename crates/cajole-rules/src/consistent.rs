//! The same string, the same label.
//!
//! A tagger that finds "Ann Lee" in one sentence and overlooks it in the next is wrong once. If
//! labels serve to hide names, once is too often. Every string that is labelled somewhere in an
//! input must have that label wherever it occurs:
//!
//! ```text
//! g_i = 1 / len(i)  for each occurrence i whose label is not that of most      g = Σ_i g_i
//! ```
//!
//! An occurrence has the label of the span that it is, or is part of. If it is in no span, its
//! label is "none", which counts like any other but loses ties. Occurrences that are partly in a
//! span are ignored, because two spans cannot overlap.

use std::collections::BTreeMap;
use std::ops::Range;

use cajole_core::constraints::{Role, RoleSet, Span, TagSet};
use cajole_core::{Constraint, Fault, Part, Symbol, Violation};
use serde::Deserialize;

use crate::subject::Subject;

/// Which labels must be consistent.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected true or a list of roles")]
pub(crate) enum ConsistentConfig {
    /// All of them, if true.
    All(bool),
    /// These.
    Roles(Vec<String>),
}

/// Strings with one of these roles must have it wherever they occur.
#[derive(Clone, Debug)]
pub struct Consistent {
    /// The tags.
    pub tags: TagSet,
    /// The roles.
    pub roles: RoleSet,
}

/// The label of an occurrence: that of a span, or none.
type Label = Option<Role>;

impl Consistent {
    /// The occurrences whose label differs from that of most occurrences of the same string, with
    /// both labels.
    fn faults(&self, x: &Subject, y: &[Symbol]) -> Vec<(Range<usize>, Label, Label)> {
        let n = x.symbols.len().min(y.len());
        let spans: Vec<Span> = self.tags.iter_spans(&y[..n]).collect();
        let mut strings: Vec<&[String]> = Vec::new();
        for span in spans.iter().filter(|span| self.roles.contains(span.role)) {
            let string = &x.symbols[span.at()];
            if !strings.contains(&string) {
                strings.push(string);
            }
        }
        strings.into_iter().flat_map(|string| odd_ones(string, &x.symbols[..n], &spans)).collect()
    }

    fn message(&self, x: &Subject, (at, own, most): &(Range<usize>, Label, Label)) -> String {
        let name = |label: &Label| label.map_or("not labelled", |role| self.tags.role_name(role));
        let string = x.symbols[at.clone()].join(" ");
        format!("{string:?} at positions {at:?} is {}, and {} elsewhere", name(own), name(most))
    }
}

/// The occurrences of `string` whose label is not the most frequent one.
fn odd_ones(
    string: &[String],
    words: &[String],
    spans: &[Span],
) -> Vec<(Range<usize>, Label, Label)> {
    let places = words.windows(string.len()).enumerate().filter(|(_, window)| *window == string);
    let labelled = places.filter_map(|(start, _)| {
        let at = start..start + string.len();
        Some((label(&at, spans)?, at))
    });
    let labelled: Vec<(Label, Range<usize>)> = labelled.collect();
    let mut counts: BTreeMap<Option<usize>, (usize, Label)> = BTreeMap::new();
    for (label, _) in &labelled {
        counts.entry(label.map(Role::index)).or_insert((0, *label)).0 += 1;
    }
    // Ties go to the first role; "none" comes before all roles, and loses.
    let most = counts.values().rev().max_by_key(|(count, label)| (*count, label.is_some()));
    let Some(&(_, most)) = most else { return Vec::new() };
    let odd = labelled.into_iter().filter(|(label, _)| *label != most);
    odd.map(|(label, at)| (at, label, most)).collect()
}

/// The label of an occurrence; `None` if it is partly in a span.
fn label(at: &Range<usize>, spans: &[Span]) -> Option<Label> {
    let mut touching = spans.iter().filter(|span| span.start < at.end && at.start < span.end);
    match (touching.next(), touching.next()) {
        (None, _) => Some(None),
        (Some(span), None) if span.start <= at.start && at.end <= span.end => Some(Some(span.role)),
        _ => None,
    }
}

impl Constraint<Subject> for Consistent {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        let part = |(at, _, _): (Range<usize>, Label, Label)| {
            let cost = 1.0 / at.len() as f32;
            Part { at, cost }
        };
        Violation::Parts(self.faults(x, y).into_iter().map(part).collect())
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let fault = |fault: (Range<usize>, Label, Label)| Fault {
            message: self.message(x, &fault),
            cost: 1.0 / fault.0.len() as f32,
            at: fault.0,
        };
        self.faults(x, y).into_iter().map(fault).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::letters;

    fn tags() -> TagSet {
        TagSet::new(["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]).unwrap()
    }

    fn told(words: &str, y: &[Symbol]) -> Vec<(Range<usize>, String)> {
        let (tags, x) = (tags(), letters(words));
        let rule = Consistent { tags: tags.clone(), roles: tags.roles().collect() };
        rule.explain(&x, y).into_iter().map(|fault| (fault.at, fault.message)).collect()
    }

    #[test]
    fn the_odd_one_is_blamed() {
        assert_eq!(told("abab", &[1, 2, 1, 2]), []);
        let [(at, message)] = &told("abab", &[1, 2, 0, 0])[..] else { panic!("one") };
        assert_eq!(*at, 2..4);
        assert_eq!(message, r#""a b" at positions 2..4 is not labelled, and PER elsewhere"#);
        let ats = |words, y| {
            told(words, y).into_iter().map(|(at, _)| (at.start, at.end)).collect::<Vec<_>>()
        };
        assert_eq!(ats("axaxa", &[1, 0, 3, 0, 3]), [(0, 1)], "most are ORG");
        assert_eq!(ats("axa", &[1, 0, 3]), [(2, 3)], "of equals, the first role");
        assert_eq!(ats("axaxaxa", &[0, 0, 0, 0, 0, 0, 1]), [(6, 7)], "most are not labelled");
        assert_eq!(ats("abxb", &[1, 2, 0, 1]), [], "part of a span of the same role");
        assert_eq!(ats("aaa", &[1, 2, 0]), [], "partly in a span");
    }

    proptest! {
        /// By definition: every string with a label has it wherever it occurs on its own, or inside
        /// one span.
        #[test]
        fn zero_exactly_if_no_string_has_two_labels(
            words in "[ab]{1,7}", y in prop::collection::vec(0..5u32, 7), only in any::<bool>(),
        ) {
            let (tags, x) = (tags(), letters(&words));
            let y = &y[..x.symbols.len()];
            let per = tags.role("PER").unwrap();
            let roles: RoleSet = tags.roles().filter(|role| !only || *role == per).collect();
            let rule = Consistent { tags: tags.clone(), roles: roles.clone() };
            // For each word, the number of its span, and that span's role.
            let spans: Vec<Span> = tags.iter_spans(y).collect();
            let of = |t: usize| spans.iter().position(|span| span.at().contains(&t));
            let n = y.len();
            let mut is_consistent = true;
            for span in spans.iter().filter(|span| roles.contains(span.role)) {
                for start in 0..n {
                    let end = start + span.end - span.start;
                    if n < end || x.symbols[start..end] != x.symbols[span.at()] {
                        continue;
                    }
                    let owners: Vec<Option<usize>> = (start..end).map(of).collect();
                    if owners.iter().all(|owner| *owner == owners[0]) {
                        is_consistent &= owners[0].is_some_and(|k| spans[k].role == span.role);
                    }
                }
            }
            prop_assert_eq!(rule.check(&x, y).is_satisfied(), is_consistent);
            let told: f32 = rule.explain(&x, y).iter().map(|fault| fault.cost).sum();
            prop_assert!((told - rule.check(&x, y).total()).abs() < 1e-5);
        }
    }
}
