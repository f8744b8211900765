//! Choosing a setting on development data.

/// The candidate with the highest score, and of equals the first; none, if none has a score.
///
/// # Errors
/// If scoring one fails.
pub fn best_of<T: Copy, E>(
    candidates: impl IntoIterator<Item = T>,
    mut score: impl FnMut(T) -> Result<f64, E>,
) -> Result<Option<T>, E> {
    let mut best: Option<(f64, T)> = None;
    for candidate in candidates {
        let score = score(candidate)?;
        if best.map_or(f64::NEG_INFINITY, |(most, _)| most) < score {
            best = Some((score, candidate));
        }
    }
    Ok(best.map(|(_, candidate)| candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_best() {
        let best = |scores: &[f64]| best_of(0..scores.len(), |i| Ok::<_, String>(scores[i]));
        assert_eq!(best(&[1.0, 3.0, f64::NAN, 3.0, 2.0]), Ok(Some(1)));
        assert_eq!(best(&[f64::NAN, 0.0]), Ok(Some(1)));
        assert_eq!(best(&[]), Ok(None));
        assert_eq!(best_of([1], |_| Err("it fails")), Err("it fails"));
    }
}
