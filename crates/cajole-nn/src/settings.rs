//! What all settings files share: numbers that must not be zero, refused where they are read, with
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
