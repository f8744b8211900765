//! What all settings files share: values that must not be zero, empty or out of range, refused where
//! they are read, with the line, rather than by a division somewhere in the engine.

use serde::de::{Deserialize, Deserializer, Error};

/// For `#[serde(deserialize_with)]`: a number of at least one.
///
/// # Errors
/// If it is zero, or no number.
pub fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(D::Error::custom("this must be at least 1")),
        n => Ok(n),
    }
}

/// No size of a sane network exceeds this, and products of two of them do not overflow.
pub const MOST_SIZE: usize = 1 << 24;

/// For `#[serde(deserialize_with)]`: a size of a network, from 1 to [`MOST_SIZE`].
///
/// # Errors
/// If it is another number, or none.
pub fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match optional_size(deserializer)? {
        0 => Err(D::Error::custom("this must be at least 1")),
        n => Ok(n),
    }
}

/// For `#[serde(deserialize_with)]`: a size of what a network may do without, up to [`MOST_SIZE`].
///
/// # Errors
/// If it is larger, or no number.
pub fn optional_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        n if n <= MOST_SIZE => Ok(n),
        n => Err(D::Error::custom(format!("{n} is more than {MOST_SIZE}"))),
    }
}

/// For `#[serde(deserialize_with)]`: a number of layers, from 1 to 1000.
///
/// # Errors
/// If it is another number, or none.
pub fn depth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        n @ 1..=1000 => Ok(n),
        n => Err(D::Error::custom(format!("{n} layers; there must be 1 to 1000"))),
    }
}

/// For `#[serde(deserialize_with)]`: a share of units to silence, of which some have to be left.
///
/// # Errors
/// If it is not at least 0 and less than 1, or no number.
pub fn dropout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    match f32::deserialize(deserializer)? {
        share if (0.0..1.0).contains(&share) => Ok(share),
        share => Err(D::Error::custom(format!("{share} is not at least 0 and less than 1"))),
    }
}

/// For `#[serde(deserialize_with)]`: a list of at least one.
///
/// # Errors
/// If it is empty, or no list of such.
pub fn non_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    match Vec::deserialize(deserializer)? {
        list if list.is_empty() => Err(D::Error::custom("there must be at least one")),
        list => Ok(list),
    }
}

#[cfg(test)]
mod tests {
    use crate::models::{TaggerConfig, TransducerConfig};

    const TAGGER: &str = r#"{"words": 6, "embedding": 5, "vectors": 0, "vector-size": 5, "dense": 0,
        "lemmas": 2, "lemma-embedding": 5, "indicator": 5, "tags": 11, "cell": "highway",
        "reading": "alternating", "layers": 4, "hidden": 20, "input-dropout": 0.2,
        "recurrent-dropout": 0.1, "dropout": 0.1}"#;

    /// The error, if any, of a network's size with one setting replaced.
    fn error(setting: &str, replaced: &str) -> Option<String> {
        assert!(TAGGER.contains(setting));
        let text = TAGGER.replace(setting, replaced);
        serde_json::from_str::<TaggerConfig>(&text).err().map(|e| e.to_string())
    }

    #[test]
    fn no_network_is_larger_than_can_be_counted() {
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
    fn the_longest_output_can_be_counted() {
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
