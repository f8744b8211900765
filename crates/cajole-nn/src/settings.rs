//! Validation shared by all settings files. Values that are zero, empty or out of range are
//! rejected on parsing, with a line number, rather than by a division somewhere in the engine.

use serde::de::{Deserialize, Deserializer, Error};

/// For `#[serde(deserialize_with)]`: a count, from 1 to [`MOST_SIZE`].
///
/// # Errors
/// If it is out of range or not an integer.
pub fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    size(deserializer)
}

/// No sane network has a larger dimension, no sane run a larger batch or more epochs, and products
/// of two of them do not overflow.
pub const MOST_SIZE: usize = 1 << 24;

/// For `#[serde(deserialize_with)]`: a dimension of a network, from 1 to [`MOST_SIZE`].
///
/// # Errors
/// If it is out of range or not an integer.
pub fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match optional_size(deserializer)? {
        0 => Err(D::Error::custom("this must be at least 1")),
        n => Ok(n),
    }
}

/// For `#[serde(deserialize_with)]`: the dimension of an optional part, from 0 to [`MOST_SIZE`].
///
/// # Errors
/// If it is too large or not an integer.
pub fn optional_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        n if n <= MOST_SIZE => Ok(n),
        n => Err(D::Error::custom(format!("{n} is more than {MOST_SIZE}"))),
    }
}

/// For `#[serde(deserialize_with)]`: a number of layers, from 1 to 1000.
///
/// # Errors
/// If it is out of range or not an integer.
pub fn depth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        n @ 1..=1000 => Ok(n),
        n => Err(D::Error::custom(format!("{n} layers; there must be 1 to 1000"))),
    }
}

/// For `#[serde(deserialize_with)]`: a dropout rate, in `[0, 1)`.
///
/// # Errors
/// If it is out of range or not a number.
pub fn dropout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    fraction(deserializer)
}

/// For `#[serde(deserialize_with)]`: a part of a whole, in `[0, 1)`.
///
/// # Errors
/// If it is out of range or not a number.
pub fn fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    match f32::deserialize(deserializer)? {
        share if (0.0..1.0).contains(&share) => Ok(share),
        share => Err(D::Error::custom(format!("{share} is not at least 0 and less than 1"))),
    }
}

/// For `#[serde(deserialize_with)]`: a non-empty list.
///
/// # Errors
/// If it is empty or not a list of `T`.
pub fn non_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    match Vec::deserialize(deserializer)? {
        list if list.is_empty() => Err(D::Error::custom("there must be at least one")),
        list => Ok(list),
    }
}

/// For `#[serde(deserialize_with)]`: a list of integers of at least 1, at least one of them.
///
/// # Errors
/// If it is empty, or one of them is zero or not an integer.
pub fn positives<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
    match non_empty::<D, usize>(deserializer)? {
        list if list.contains(&0) => Err(D::Error::custom("each must be at least 1")),
        list => Ok(list),
    }
}

/// For `#[serde(deserialize_with)]`: an integer of at least 1, or nothing.
///
/// # Errors
/// If it is zero or not an integer.
pub fn optional_positive<'de, D: Deserializer<'de>>(d: D) -> Result<Option<usize>, D::Error> {
    positive(d).map(Some)
}

/// For `#[serde(deserialize_with)]`: a finite number above 0, such as a step size.
///
/// # Errors
/// If it is out of range, infinite or not a number.
pub fn positive_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    check_number(f32::deserialize(deserializer)?)
}

/// For `#[serde(deserialize_with)]`: a list of finite numbers above 0, at least one of them.
///
/// # Errors
/// If it is empty, or one of them is out of range, infinite or not a number.
pub fn positive_numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    non_empty::<D, f32>(deserializer)?.into_iter().map(check_number).collect()
}

/// For `#[serde(deserialize_with)]`: a number above 0, which may be infinite, such as a limit.
///
/// # Errors
/// If it is out of range or not a number.
pub fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    match f32::deserialize(deserializer)? {
        number if 0.0 < number => Ok(number),
        number => Err(D::Error::custom(format!("{number} is not above 0"))),
    }
}

/// For `#[serde(deserialize_with)]`: a list of penalties, which may be infinite, at least one of
/// them.
///
/// # Errors
/// If it is empty, or one of them is negative or not a number.
pub fn penalties<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    let list = non_empty::<D, f32>(deserializer)?;
    match list.iter().find(|number| number.is_nan() || **number < 0.0) {
        Some(number) => Err(D::Error::custom(format!("{number} is not at least 0"))),
        None => Ok(list),
    }
}

fn check_number<E: Error>(number: f32) -> Result<f32, E> {
    match 0.0 < number && number.is_finite() {
        true => Ok(number),
        false => Err(E::custom(format!("{number} is not a finite number above 0"))),
    }
}

#[cfg(test)]
mod tests {
    use crate::models::{TaggerConfig, TransducerConfig};

    const TAGGER: &str = r#"{"words": 6, "embedding": 5, "vectors": 0, "vector-size": 5, "dense": 0,
        "lemmas": 2, "lemma-embedding": 5, "indicator": 5, "tags": 11, "cell": "highway",
        "reading": "alternating", "layers": 4, "hidden": 20, "input-dropout": 0.2,
        "recurrent-dropout": 0.1, "dropout": 0.1}"#;

    /// The parse error of a tagger config with one setting replaced, if any.
    fn error(setting: &str, replaced: &str) -> Option<String> {
        assert!(TAGGER.contains(setting));
        let text = TAGGER.replace(setting, replaced);
        serde_json::from_str::<TaggerConfig>(&text).err().map(|e| e.to_string())
    }

    #[test]
    fn dimensions_out_of_range_are_rejected() {
        assert_eq!(error("\"words\": 6", "\"words\": 16777216"), None);
        for (setting, replaced, expected) in [
            ("\"words\": 6", "\"words\": 16777217", "16777217 is more than 16777216"),
            ("\"hidden\": 20", "\"hidden\": 4611686018427387904", "4611686018427387904 is more"),
            ("\"hidden\": 20", "\"hidden\": 0", "this must be at least 1"),
            ("\"layers\": 4", "\"layers\": 1000000000000", "1000000000000 layers"),
        ] {
            let error = error(setting, replaced).unwrap();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn an_overflowing_cap_factor_is_rejected() {
        let read = |factor: &str| {
            let text = format!(
                r#"{{"input-symbols": 2, "output-symbols": 2, "embedding": 1, "hidden": 1,
                    "start-state": "zero", "dropout": 0.0, "cap-factor": {factor}}}"#
            );
            serde_json::from_str::<TransducerConfig>(&text).map_err(|e| e.to_string())
        };
        assert_eq!(read("3").unwrap().cap_factor, 3);
        let error = read("18446744073709551615").unwrap_err();
        assert!(error.starts_with("18446744073709551615 is more than 16777216"), "{error}");
    }
}
