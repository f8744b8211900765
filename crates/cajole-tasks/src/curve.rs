//! The development curve of a training run: what was measured after every epoch, kept beside the
//! checkpoint as `curve.json`.

use std::path::Path;

use cajole_files::Folder;
use cajole_files::limits::MOST_SETTINGS_BYTES;
use cajole_files::text_of;
use serde::{Deserialize, Serialize};

use crate::checkpoint::LoadError;

pub(crate) const CURVE_FILE: &str = "curve.json";

/// One epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Its number, from 1; by default, its place in the curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<usize>,
    /// The score on the dev set, in per cent.
    pub f1: f64,
    /// The mean training loss, if it was kept.
    #[serde(default)]
    pub loss: Option<f64>,
}

/// Reads the curve in a checkpoint folder; empty if it has none.
///
/// # Errors
/// If the file cannot be read.
pub fn read(folder: &Path) -> Result<Vec<Epoch>, LoadError> {
    let path = folder.join(CURVE_FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = text_of(&path, MOST_SETTINGS_BYTES)?;
    serde_json::from_str(&text).map_err(|source| LoadError::Config { path, source })
}

/// Adds the epoch of this number, from 1. Later epochs, which a killed run has written, are
/// dropped.
pub(crate) fn add(folder: &Folder, number: usize, epoch: Epoch) -> Result<(), LoadError> {
    let mut curve = if number == 1 { Vec::new() } else { read(folder.path())? };
    curve.truncate(number.saturating_sub(1));
    curve.push(epoch);
    let text = serde_json::to_string(&curve).expect("numbers always serialise") + "\n";
    Ok(folder.replace(CURVE_FILE, text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_run_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let epoch = |f1| Epoch { epoch: None, f1, loss: Some(1.0) };
        assert_eq!(read(folder.path()).unwrap(), []);
        let into = Folder::create(folder.path()).unwrap();
        for (number, f1) in [(1, 10.0), (2, 20.0), (3, 30.0), (3, 31.0), (4, 40.0)] {
            add(&into, number, epoch(f1)).unwrap();
        }
        assert_eq!(read(folder.path()).unwrap(), [10.0, 20.0, 31.0, 40.0].map(epoch));
        add(&into, 1, epoch(5.0)).unwrap();
        assert_eq!(read(folder.path()).unwrap(), [epoch(5.0)], "begun anew");
        std::fs::write(folder.path().join(CURVE_FILE), r#"[{"epoch": 5, "f1": 7.0, "failed": 1}]"#)
            .unwrap();
        assert_eq!(read(folder.path()).unwrap(), [Epoch { epoch: Some(5), f1: 7.0, loss: None }]);
        std::fs::write(folder.path().join(CURVE_FILE), "[{").unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains(CURVE_FILE));
    }
}
