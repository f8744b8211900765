//! Saves results as they are measured, so that a killed experiment can be resumed.

use std::path::PathBuf;

use cajole_files::limits::MOST_CORPUS_BYTES;
use cajole_files::{FileError, Folder, TextError, text_of};
use cajole_tasks::changes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why results cannot be saved or reused.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] TextError),
    /// A file cannot be written.
    #[error(transparent)]
    Files(#[from] FileError),
    /// A file is damaged.
    #[error("{path} is damaged ({source}); remove it to measure again", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The JSON error.
        source: serde_json::Error,
    },
    /// The folder contains results measured with other settings.
    #[error(
        "{path} belongs to an experiment, and this has changed since: {what}; name another folder with \
         --out, or remove this one",
        path = path.display()
    )]
    OtherSettings {
        /// The file with those settings.
        path: PathBuf,
        /// The names of what has changed.
        what: String,
    },
}

/// A folder of results; without a folder, nothing is saved.
pub(crate) struct Kept {
    folder: Option<Folder>,
}

impl Kept {
    /// Opens the folder for an experiment with these settings.
    ///
    /// # Errors
    /// If it contains results measured with other settings, or cannot be used.
    pub(crate) fn open(
        folder: Option<Folder>,
        settings: &impl Serialize,
    ) -> Result<Self, KeptError> {
        let kept = Kept { folder };
        kept.claim("settings", settings)?;
        Ok(kept)
    }

    /// Records what results depend on, as `name`.
    ///
    /// # Errors
    /// If that differs from before, or I/O fails.
    pub(crate) fn claim(&self, name: &str, of: &impl Serialize) -> Result<(), KeptError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let file = format!("{}.json", file_name(name));
        let path = folder.join(&file);
        let now = serde_json::to_value(of).expect("settings always serialise");
        if !path.exists() {
            return Ok(folder.put(&file, format!("{now:#}\n").as_bytes())?);
        }
        let text = text_of(&path, MOST_CORPUS_BYTES)?;
        let damaged = |source| KeptError::Damaged { path: path.clone(), source };
        let changed = changes(&serde_json::from_str(&text).map_err(damaged)?, &now);
        match changed.is_empty() {
            true => Ok(()),
            false => Err(KeptError::OtherSettings { path, what: changed.join(", ") }),
        }
    }

    /// Loads the result called `name`; if there is none, measures and saves it.
    ///
    /// # Errors
    /// If measuring or I/O fails.
    pub(crate) fn get<T: Serialize + DeserializeOwned, E: From<KeptError>>(
        &self,
        name: &str,
        measure: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(folder) = &self.folder else { return measure() };
        let file = format!("{}.json", file_name(name));
        let path = folder.join(&file);
        if path.exists() {
            let text = text_of(&path, MOST_CORPUS_BYTES).map_err(KeptError::from)?;
            let damaged = |source| KeptError::Damaged { path: path.clone(), source };
            return Ok(serde_json::from_str(&text).map_err(damaged)?);
        }
        let result = measure()?;
        let text = serde_json::to_string_pretty(&result).expect("results always serialise") + "\n";
        folder.put(&file, text.as_bytes()).map_err(KeptError::from)?;
        Ok(result)
    }
}

/// The file name of a result.
pub(super) fn file_name(name: &str) -> String {
    name.replace(['/', ' '], "-")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cajole_files::Reads;

    use super::*;

    #[test]
    fn a_result_is_measured_once() {
        let folder = tempfile::tempdir().unwrap();
        let measure = |value: u32| move || Ok::<u32, KeptError>(value);
        let open = || Folder::open(folder.path(), Reads::default(), false).ok();
        for (value, expected) in [(1, 1), (2, 1)] {
            let kept = Kept::open(open(), &"settings").unwrap();
            assert_eq!(kept.get("a b", measure(value)).unwrap(), expected);
        }
        let other = Kept::open(open(), &"others");
        assert!(matches!(other, Err(KeptError::OtherSettings { .. })));
        fs::write(folder.path().join("a-b.json"), "{").unwrap();
        let kept = Kept::open(open(), &"settings").unwrap();
        assert!(matches!(kept.get("a b", measure(3)), Err(KeptError::Damaged { .. })));
        for name in ["net 1.5 a", "net 1.5 b"] {
            assert_eq!(kept.get(name, || Ok::<_, KeptError>(name.to_owned())).unwrap(), name);
        }
        assert_eq!(Kept::open(None, &"any").unwrap().get("a b", measure(4)).unwrap(), 4);
    }
}
