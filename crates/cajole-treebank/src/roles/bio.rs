//! BIO tags: `B-ARG0` begins an argument, `I-ARG0` continues it, `O` is outside any.

use std::ops::Range;

/// A labelled argument span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its words, as a half-open range from 0.
    pub at: Range<usize>,
    /// The role, such as `ARG0`; `R-ARG0` for a pronoun that refers to it, `C-ARG0` for a
    /// continuation.
    pub role: String,
}

impl Argument {
    /// Whether this is the predicate itself, `V`, or its continuation, rather than an argument.
    pub fn is_predicate(&self) -> bool {
        matches!(self.role.as_str(), "V" | "C-V")
    }
}

/// Why a tag sequence is not valid BIO.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BioFault {
    /// An `I-` tag that continues no argument.
    #[error("word {at} has the tag {tag:?} {}", after(before.as_deref()))]
    NotBegun {
        /// The index of the word, from 0.
        at: usize,
        /// Its tag.
        tag: String,
        /// The previous word's tag.
        before: Option<String>,
    },
    /// A tag that is not BIO.
    #[error("word {at} has the tag {tag:?}, which is neither O nor B- or I- and a role")]
    NoTag {
        /// The index of the word, from 0.
        at: usize,
        /// Its tag.
        tag: String,
    },
}

fn after(before: Option<&str>) -> String {
    before.map_or_else(|| "at the beginning".to_owned(), |before| format!("after {before:?}"))
}

/// Decodes tags into arguments, left to right.
///
/// ```
/// use cajole_treebank::roles::bio;
///
/// let tags = ["B-ARG0", "I-ARG0", "B-V", "O"].map(str::to_owned);
/// let arguments = bio::arguments(&tags)?;
/// assert_eq!((arguments[0].at.clone(), arguments[0].role.as_str()), (0..2, "ARG0"));
/// assert_eq!(bio::tags(&arguments, 4), tags);
/// # Ok::<(), cajole_treebank::roles::BioFault>(())
/// ```
///
/// # Errors
/// If an `I-` tag continues no argument, or a tag is not BIO.
pub fn arguments(tags: &[String]) -> Result<Vec<Argument>, BioFault> {
    let mut arguments: Vec<Argument> = Vec::new();
    for (at, tag) in tags.iter().enumerate() {
        let role = |role: &&str| !role.is_empty();
        if let Some(role) = tag.strip_prefix("B-").filter(role) {
            arguments.push(Argument { at: at..at + 1, role: role.to_owned() });
        } else if let Some(role) = tag.strip_prefix("I-").filter(role) {
            match arguments.last_mut().filter(|last| last.at.end == at && last.role == role) {
                Some(last) => last.at.end = at + 1,
                None => {
                    let before = at.checked_sub(1).map(|before| tags[before].clone());
                    return Err(BioFault::NotBegun { at, tag: tag.clone(), before });
                }
            }
        } else if tag != "O" {
            return Err(BioFault::NoTag { at, tag: tag.clone() });
        }
    }
    Ok(arguments)
}

/// Encodes disjoint arguments as the tags of a sentence of `len` words; the inverse of
/// [`arguments`].
///
/// # Panics
/// If an argument ends beyond the sentence.
pub fn tags(arguments: &[Argument], len: usize) -> Vec<String> {
    let mut tags = vec!["O".to_owned(); len];
    for Argument { at, role } in arguments {
        for (i, tag) in tags[at.clone()].iter_mut().enumerate() {
            *tag = format!("{}-{role}", if i == 0 { 'B' } else { 'I' });
        }
    }
    tags
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Disjoint arguments and the length of their sentence; often adjacent, often with the same
    /// role.
    pub(in crate::roles) fn sentence() -> impl Strategy<Value = (Vec<Argument>, usize)> {
        let role =
            prop_oneof!["(C-|R-|)ARG[01]", Just("ARGM-TMP".to_owned()), Just("V".to_owned())];
        let parts = prop::collection::vec((prop::option::of(role), 1..4usize), 0..7);
        parts.prop_map(|parts| {
            let (mut arguments, mut len) = (Vec::new(), 0);
            for (role, width) in parts {
                arguments.extend(role.map(|role| Argument { at: len..len + width, role }));
                len += width;
            }
            (arguments, len)
        })
    }

    proptest! {
        #[test]
        fn arguments_round_trip((arguments, len) in sentence()) {
            let tags = tags(&arguments, len);
            prop_assert_eq!(tags.len(), len);
            prop_assert_eq!(super::arguments(&tags), Ok(arguments));
        }

        #[test]
        fn tags_round_trip(tags in prop::collection::vec("O|[BI]-(A|C-A|B)|[A-]{0,2}", 0..6)) {
            match arguments(&tags) {
                Ok(arguments) => prop_assert_eq!(super::tags(&arguments, tags.len()), tags),
                // The fault is at the first invalid prefix.
                Err(BioFault::NotBegun { at, tag, .. } | BioFault::NoTag { at, tag }) => {
                    prop_assert_eq!(&tags[at], &tag);
                    prop_assert!(arguments(&tags[..at]).is_ok());
                    prop_assert!(arguments(&tags[..=at]).is_err());
                }
            }
        }
    }

    #[test]
    fn faults_report_the_word_and_its_tag() {
        for (tags, expected) in [
            ("I-A", "word 0 has the tag \"I-A\" at the beginning"),
            ("O I-A", "word 1 has the tag \"I-A\" after \"O\""),
            ("B-B I-A", "word 1 has the tag \"I-A\" after \"B-B\""),
            ("B-A I-C-A", "word 1 has the tag \"I-C-A\" after \"B-A\""),
            ("B-A o", "word 1 has the tag \"o\", which is neither O nor B- or I- and a role"),
            ("B-", "word 0 has the tag \"B-\", which is neither O nor B- or I- and a role"),
        ] {
            let tags: Vec<_> = tags.split(' ').map(str::to_owned).collect();
            assert_eq!(arguments(&tags).unwrap_err().to_string(), expected);
        }
    }
}
