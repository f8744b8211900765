//! The spans that an input allows, such as the nodes of its parse tree.

/// A set of half-open spans of positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brackets {
    /// Sorted, each once.
    spans: Vec<(usize, usize)>,
}

impl Brackets {
    /// No spans at all.
    pub const NONE: Brackets = Brackets { spans: Vec::new() };

    /// Whether `start..end` is in the set.
    pub fn contains(&self, start: usize, end: usize) -> bool {
        self.starting_at(start).binary_search(&(start, end)).is_ok()
    }

    /// The spans that start at `start`, shortest first, as pairs of start and end.
    pub(crate) fn starting_at(&self, start: usize) -> &[(usize, usize)] {
        let first = self.spans.partition_point(|span| span.0 < start);
        let spans = &self.spans[first..];
        // Few spans share a start, so a scan is as fast as another binary search.
        &spans[..spans.iter().take_while(|span| span.0 == start).count()]
    }

    /// All spans, as sorted pairs of start and end.
    pub fn as_pairs(&self) -> &[(usize, usize)] {
        &self.spans
    }
}

/// From pairs of start and end in any order; empty spans (`end <= start`) are dropped.
impl FromIterator<(usize, usize)> for Brackets {
    fn from_iter<I: IntoIterator<Item = (usize, usize)>>(pairs: I) -> Brackets {
        let mut spans: Vec<_> = pairs.into_iter().filter(|(start, end)| start < end).collect();
        spans.sort_unstable();
        spans.dedup();
        Brackets { spans }
    }
}

/// An input that may restrict the spans of its output.
pub trait Bracketed {
    /// The allowed spans; `None` if unknown, which allows every span.
    fn brackets(&self) -> Option<&Brackets>;
}

impl Bracketed for Brackets {
    fn brackets(&self) -> Option<&Brackets> {
        Some(self)
    }
}

impl Bracketed for Option<Brackets> {
    fn brackets(&self) -> Option<&Brackets> {
        self.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_spans_are_dropped() {
        let brackets = Brackets::from_iter([(2, 2), (3, 1)]);
        assert_eq!(brackets, Brackets::NONE);
        assert!(!brackets.contains(2, 2));
    }

    proptest! {
        #[test]
        fn brackets_are_a_set(pairs in prop::collection::vec((0..6usize, 0..7usize), 0..20)) {
            let set: BTreeSet<_> = pairs.iter().copied().filter(|(s, e)| s < e).collect();
            let brackets: Brackets = pairs.into_iter().collect();
            prop_assert!(brackets.as_pairs().iter().eq(&set));
            for start in 0..8 {
                let here = set.iter().filter(|span| span.0 == start);
                prop_assert!(brackets.starting_at(start).iter().eq(here));
                for end in 0..8 {
                    prop_assert_eq!(brackets.contains(start, end), set.contains(&(start, end)));
                }
            }
        }
    }
}
