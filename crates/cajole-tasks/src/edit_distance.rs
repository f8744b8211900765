//! The distance between two sequences.

/// The number of insertions, deletions and substitutions that turn `a` into `b`.
pub fn edit_distance<A: PartialEq<B>, B>(a: &[A], b: &[B]) -> usize {
    // costs[j]: from the symbols of `a` so far to the first j of `b`.
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = costs[0];
        costs[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = costs[j + 1];
            costs[j + 1] = substituted.min(costs[j] + 1).min(diagonal + 1);
        }
    }
    costs[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshteins() {
        let distance = |a: &str, b: &str| edit_distance(a.as_bytes(), b.as_bytes());
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "abc"), distance("abc", ""), distance("ab", "ab")), (3, 3, 0));
    }
}
