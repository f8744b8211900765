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
