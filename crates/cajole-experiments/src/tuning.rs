//! Tunes a setting on the dev set.

/// The candidate with the highest score, ties to the first; `None` if no score is a number.
///
/// # Errors
/// If scoring one fails.
pub(crate) fn best_of<T: Copy, E>(
    candidates: impl IntoIterator<Item = T>,
    score: impl FnMut(T) -> Result<f64, E>,
) -> Result<Option<T>, E> {
    nearly_best_of(candidates, 0.0, score)
}

/// The first candidate within `margin` of the highest score; `None` if no score is a number.
///
/// # Errors
/// If scoring one fails.
pub(crate) fn nearly_best_of<T: Copy, E>(
    candidates: impl IntoIterator<Item = T>,
    margin: f64,
    mut score: impl FnMut(T) -> Result<f64, E>,
) -> Result<Option<T>, E> {
    let mut scored = Vec::new();
    for candidate in candidates {
        scored.push((score(candidate)?, candidate));
    }
    let most = scored.iter().map(|(score, _)| *score).fold(f64::NAN, f64::max);
    Ok(scored.into_iter().find(|(score, _)| most - margin <= *score).map(|(_, c)| c))
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

    #[test]
    fn the_first_candidate_within_the_margin_wins() {
        let first = |scores: &[f64]| {
            nearly_best_of(0..scores.len(), 0.5, |i| Ok::<_, String>(scores[i])).unwrap()
        };
        assert_eq!(first(&[1.0, 2.5, f64::NAN, 3.0, 2.9]), Some(1));
        assert_eq!(first(&[1.0, 2.4, 3.0, 2.9]), Some(2));
        assert_eq!(first(&[f64::NAN]), None);
    }
}
