//! Batches of inputs that go through the network together, with a bound on their tokens.

/// Batches of inputs that may go through the network together: any `n` of a batch have at most `most`
/// tokens, padded, unless the batch is a single input.
pub(crate) fn batches(
    mut inputs: Vec<usize>,
    n: usize,
    most: usize,
    tokens: impl Fn(usize) -> usize,
) -> Vec<Vec<usize>> {
    inputs.sort_by_key(|&i| (std::cmp::Reverse(tokens(i)), i));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for i in inputs {
        let fits = |batch: &Vec<usize>| {
            n.min(batch.len() + 1) * tokens(batch[0]) <= most // its longest comes first
        };
        match batches.last_mut().filter(|batch| fits(batch)) {
            Some(batch) => batch.push(i),
            None => batches.push(vec![i]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_inputs_are_repaired_in_smaller_sets() {
        let sizes = [10, 300, 1500, 250, 20, 250, 260];
        let found = batches((0..sizes.len()).collect(), 20, 1024, |i| sizes[i]);
        assert_eq!(found, [vec![2], vec![1, 6, 3], vec![5, 4, 0]]);
        assert_eq!(batches((0..500).collect(), 20, 1024, |_| 51).len(), 1);
        assert!(batches(Vec::new(), 20, 1024, |_| 1).is_empty());
    }
}
