//! Results that are kept as they come, so that an experiment that was killed goes on where it was.

use std::fs;
use std::path::{Path, PathBuf};

use cajole_nn::checkpoint::write_atomically;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why results cannot be kept, or not used again.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// A file cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// A file is not what was written.
    #[error("{path} is damaged ({source}); remove it to measure again", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The folder holds the results of an experiment with other settings.
    #[error(
        "{path} belongs to an experiment with other settings; name another folder with --out, or \
         remove this one",
        path = path.display()
    )]
    OtherSettings {
        /// The file that says which.
        path: PathBuf,
    },
}

/// A folder of results; nothing is kept without one.
pub struct Kept {
    folder: Option<PathBuf>,
}

impl Kept {
    /// Opens the folder for an experiment with these settings.
    ///
    /// # Errors
    /// If it belongs to one with others, or cannot be used.
    pub fn open(folder: Option<&Path>, settings: &impl Serialize) -> Result<Self, KeptError> {
        let kept = Kept { folder: folder.map(Path::to_owned) };
        let Some(folder) = folder else { return Ok(kept) };
        let path = folder.join("settings.json");
        let io = |source| KeptError::Io { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(io)?;
        let text =
            serde_json::to_string_pretty(settings).expect("settings always serialise") + "\n";
        if path.exists() {
            if fs::read_to_string(&path).map_err(io)? != text {
                return Err(KeptError::OtherSettings { path });
            }
        } else {
            write_atomically(&path, text.as_bytes()).map_err(io)?;
        }
        Ok(kept)
    }

    /// The result called `name`: as kept, or measured now and kept.
    ///
    /// # Errors
    /// If measuring fails, or the file system does.
    pub fn get<T: Serialize + DeserializeOwned, E: From<KeptError>>(
        &self,
        name: &str,
        measure: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(folder) = &self.folder else { return measure() };
        let path = folder.join(format!("{}.json", file_name(name)));
        let io = |source| KeptError::Io { path: path.clone(), source };
        if path.exists() {
            let text = fs::read_to_string(&path).map_err(io)?;
            let damaged = |source| KeptError::Damaged { path: path.clone(), source };
            return Ok(serde_json::from_str(&text).map_err(damaged)?);
        }
        let result = measure()?;
        let text = serde_json::to_string_pretty(&result).expect("results always serialise") + "\n";
        write_atomically(&path, text.as_bytes()).map_err(io)?;
        Ok(result)
    }
}

/// What a result of this name is called as a file.
pub(super) fn file_name(name: &str) -> String {
    name.replace(['/', ' '], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_measured_once() {
        let folder = tempfile::tempdir().unwrap();
        let measure = |value: u32| move || Ok::<u32, KeptError>(value);
        for (value, expected) in [(1, 1), (2, 1)] {
            let kept = Kept::open(Some(folder.path()), &"settings").unwrap();
            assert_eq!(kept.get("a b", measure(value)).unwrap(), expected);
        }
        let other = Kept::open(Some(folder.path()), &"others");
        assert!(matches!(other, Err(KeptError::OtherSettings { .. })));
        fs::write(folder.path().join("a-b.json"), "{").unwrap();
        let kept = Kept::open(Some(folder.path()), &"settings").unwrap();
        assert!(matches!(kept.get("a b", measure(3)), Err(KeptError::Damaged { .. })));
        for name in ["net 1.5 a", "net 1.5 b"] {
            assert_eq!(kept.get(name, || Ok::<_, KeptError>(name.to_owned())).unwrap(), name);
        }
        assert_eq!(Kept::open(None, &"any").unwrap().get("a b", measure(4)).unwrap(), 4);
    }
}
