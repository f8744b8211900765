//! Lots of inputs that go through the network together, so that long ones do not add up.

/// Inputs that may go through the network together: of these, a set of `n` has no more than `most`
/// tokens, or there is one input only.
pub(crate) fn lots(
    mut inputs: Vec<usize>,
    (n, most): (usize, usize),
    tokens: impl Fn(usize) -> usize,
) -> Vec<Vec<usize>> {
    inputs.sort_by_key(|&i| (std::cmp::Reverse(tokens(i)), i));
    let mut lots: Vec<Vec<usize>> = Vec::new();
    for i in inputs {
        let fits = |lot: &Vec<usize>| {
            n.min(lot.len() + 1) * tokens(lot[0]) <= most // its longest comes first
        };
        match lots.last_mut().filter(|lot| fits(lot)) {
            Some(lot) => lot.push(i),
            None => lots.push(vec![i]),
        }
    }
    lots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_inputs_are_repaired_in_smaller_sets() {
        let sizes = [10, 300, 1500, 250, 20, 250, 260];
        let lots = lots((0..sizes.len()).collect(), (20, 1024), |i| sizes[i]);
        assert_eq!(lots, [vec![2], vec![1, 6, 3], vec![5, 4, 0]]);
        assert_eq!(super::lots((0..500).collect(), (20, 1024), |_| 51).len(), 1);
        assert!(super::lots(Vec::new(), (20, 1024), |_| 1).is_empty());
    }
}
