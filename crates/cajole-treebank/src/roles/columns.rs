//! What the CoNLL formats share: one column of arguments per predicate, in word order.
//!
//! A column has one bit per word: `(ARG0*` begins an argument, `*)` ends it, `(ARG0*)` is an
//! argument of one word, `*` is everything else.

use super::bio::{self, Argument};
use super::error::{RoleError, RoleFault};
use super::sentence::Proposition;

/// Decodes a column into arguments, left to right. An error's line is the row, from 1.
pub(super) fn arguments<'c>(
    bits: impl IntoIterator<Item = &'c str>,
) -> Result<Vec<Argument>, RoleError> {
    let mut arguments = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (at, bit) in bits.into_iter().enumerate() {
        let fault = |fault: RoleFault| fault.on(at + 1);
        let (role, closes) = split(bit).map_err(fault)?;
        open = match (open, role) {
            (Some((start, other)), Some(_)) => {
                let (bit, open, ago) = (bit.to_owned(), other.to_owned(), at - start);
                return Err(fault(RoleFault::Nested { bit, open, ago }));
            }
            (open, role) => role.map(|role| (at, role)).or(open),
        };
        if closes {
            let unopened = || fault(RoleFault::Unopened { bit: bit.to_owned() });
            let (start, role) = open.take().ok_or_else(unopened)?;
            arguments.push(Argument { at: start..at + 1, role: role.to_owned() });
        }
    }
    match open {
        None => Ok(arguments),
        Some((start, role)) => Err(RoleFault::Unclosed { role: role.to_owned() }.on(start + 1)),
    }
}

/// The role that begins at a bit, if any, and whether one ends there.
fn split(bit: &str) -> Result<(Option<&str>, bool), RoleFault> {
    let odd = || RoleFault::OddBit { bit: bit.to_owned() };
    let (before, after) = bit.split_once('*').ok_or_else(odd)?;
    let role = match before {
        "" => None,
        _ => Some(before.strip_prefix('(').ok_or_else(odd)?),
    };
    let is_role = role.is_none_or(|role| !role.is_empty() && !role.contains(['(', ')']));
    match after {
        "" | ")" if is_role => Ok((role, after == ")")),
        _ => Err(odd()),
    }
}

/// The proposition of a predicate, given its column. An error's line is the row, from 1.
pub(super) fn proposition<'c>(
    predicate: usize,
    lemma: &str,
    bits: impl ExactSizeIterator<Item = &'c str>,
) -> Result<Proposition, RoleError> {
    let words = bits.len();
    let tags = bio::tags(&arguments(bits)?, words);
    Ok(Proposition { predicate, lemma: lemma.to_owned(), roleset: String::new(), tags })
}

/// Encodes disjoint arguments as a column; the inverse of [`arguments`].
pub(super) fn bits(arguments: &[Argument], len: usize) -> Result<Vec<String>, RoleFault> {
    let mut bits = vec!["*".to_owned(); len];
    for Argument { at, role } in arguments {
        bits[at.start].insert_str(0, &opening(role)?);
        bits[at.end - 1].push(')');
    }
    Ok(bits)
}

/// The opening bracket of an argument with this role, or of a phrase with this label.
pub(super) fn opening(label: &str) -> Result<String, RoleFault> {
    match label.contains(['(', '*', ')']) {
        true => Err(RoleFault::Unbracketable { label: label.to_owned() }),
        false => Ok(format!("({}", cell(label)?)),
    }
}

/// Propositions sorted by predicate position, the order of the columns.
pub(super) fn in_order(propositions: &[Proposition]) -> Result<Vec<&Proposition>, RoleFault> {
    let mut ordered: Vec<_> = propositions.iter().collect();
    ordered.sort_by_key(|proposition| proposition.predicate);
    match ordered.windows(2).find(|pair| pair[0].predicate == pair[1].predicate) {
        Some(pair) => Err(RoleFault::SamePredicate { predicate: pair[0].predicate }),
        None => Ok(ordered),
    }
}

/// A value that must not be `-`, which means none.
pub(super) fn name(value: &str) -> Result<String, RoleFault> {
    if value == "-" { Err(RoleFault::Unwritable { value: value.to_owned() }) } else { cell(value) }
}

/// A value checked for use in a column.
pub(super) fn cell(value: &str) -> Result<String, RoleFault> {
    if value.is_empty() || value.contains(|c: char| c.is_ascii_whitespace()) {
        return Err(RoleFault::Unwritable { value: value.to_owned() });
    }
    Ok(value.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::roles::bio::tests::sentence;

    proptest! {
        #[test]
        fn arguments_round_trip((arguments, len) in sentence()) {
            let bits = bits(&arguments, len).unwrap();
            prop_assert_eq!(bits.len(), len);
            prop_assert_eq!(super::arguments(bits.iter().map(String::as_str)), Ok(arguments));
        }

        #[test]
        fn bits_round_trip(bits in prop::collection::vec("\\(?A?\\*?\\)?|\\*", 0..5)) {
            if let Ok(arguments) = arguments(bits.iter().map(String::as_str)) {
                prop_assert_eq!(super::bits(&arguments, bits.len()), Ok(bits));
            }
        }
    }

    #[test]
    fn faults_report_their_row() {
        let odd = "is none of \"*\", \"(ROLE*\", \"*)\" and \"(ROLE*)\"";
        for (bits, expected) in [
            ("* -", format!("line 2: the argument bit \"-\" {odd}")),
            ("(*)", format!("line 1: the argument bit \"(*)\" {odd}")),
            ("A*)", format!("line 1: the argument bit \"A*)\" {odd}")),
            ("(A(B*))", format!("line 1: the argument bit \"(A(B*))\" {odd}")),
            ("(A*A)", format!("line 1: the argument bit \"(A*A)\" {odd}")),
            (
                "(A* * (B*) *)",
                "line 3: the argument that begins at \"(B*)\" is within another, \"A\", begun 2 \
                 rows before"
                    .to_owned(),
            ),
            (
                "(A*) *)",
                "line 2: the argument bit \"*)\" closes an argument that was not opened".to_owned(),
            ),
            ("* (A* *", "line 2: the argument \"A\" that begins here is not closed".to_owned()),
        ] {
            assert_eq!(arguments(bits.split(' ')).unwrap_err().to_string(), expected);
        }
    }
}
