//! Files of weights are read whole, so only what has an end is read: regular files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// A regular file and its length.
pub(crate) fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = cajole_files::open(path)?;
    let meta: fs::Metadata = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((file, meta.len()))
}

/// The bytes of a regular file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, len) = open(path)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(len).unwrap_or(usize::MAX))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_not_read() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "not a regular file");
    }
}
