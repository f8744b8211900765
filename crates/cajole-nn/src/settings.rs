//! What all settings files share: what must not be zero or empty, refused where it is read, with
//! the line, rather than by a division somewhere in the engine.

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
