//! Files that appear when they are complete: a reader, or a run after a kill, sees the old contents
//! or the new ones, never a part.
//!
//! On Linux such a file has no name until then, so a kill leaves nothing behind. Elsewhere, and on file
//! systems that cannot do that, it has a name of its own that no other file has.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is being written, and appears when it is complete.
pub(crate) struct Whole {
    file: File,
    /// Where it is to appear.
    target: PathBuf,
    /// The name that it has meanwhile, if it has one. It is removed if the file is given up.
    name: Option<PathBuf>,
}

impl Whole {
    /// Begins a file that is to appear as `target`. Links are followed.
    ///
    /// # Errors
    /// If nothing can be written in that folder.
    pub(crate) fn begin(target: &Path) -> io::Result<Whole> {
        let target = resolved(target)?;
        if let Some(file) = nameless(folder_of(&target)) {
            return Ok(Whole { file, target, name: None });
        }
        loop {
            let name = beside(&target);
            match OpenOptions::new().read(true).write(true).create_new(true).open(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => return Ok(Whole { file: file?, target, name: Some(name) }),
            }
        }
    }

    /// Lets the file appear.
    ///
    /// # Errors
    /// If there is a file of that name already ([`io::ErrorKind::AlreadyExists`]), or the file
    /// cannot be completed.
    pub(crate) fn create(self) -> io::Result<()> {
        self.file.sync_data()?;
        self.link(&self.target)
    }

    /// Completes the file, so that only [`Whole::replace`] is left to do.
    ///
    /// # Errors
    /// If the file cannot be completed.
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        if let Ok(before) = fs::metadata(&self.target) {
            // Not all file systems have permissions.
            let _ = self.file.set_permissions(before.permissions());
        }
        self.file.sync_data()?;
        while self.name.is_none() {
            let name = beside(&self.target);
            match self.link(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                linked => {
                    linked?;
                    self.name = Some(name);
                }
            }
        }
        Ok(())
    }

    /// Lets the file appear in the place of the one that is there, with its permissions.
    ///
    /// # Errors
    /// If the file cannot be completed.
    pub(crate) fn replace(mut self) -> io::Result<()> {
        self.prepare()?;
        let name = self.name.take().unwrap_or_default();
        let renamed = fs::rename(&name, &self.target);
        if renamed.is_err() {
            self.name = Some(name);
        }
        renamed
    }

    /// Whether a file has the same contents.
    pub(crate) fn holds_what(&mut self, path: &Path) -> io::Result<bool> {
        self.file.seek(SeekFrom::Start(0))?;
        are_equal(&self.file, File::open(path)?)
    }

    /// Gives the file a name that no other file has.
    fn link(&self, name: &Path) -> io::Result<()> {
        match &self.name {
            Some(own) => fs::hard_link(own, name),
            None => link_nameless(&self.file, name),
        }
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing can be done if it cannot be removed.
            let _ = fs::remove_file(name);
        }
    }
}

/// Writes a file that appears when it is complete, in the place of the one that is there.
///
/// # Errors
/// On any I/O error.
pub fn replace_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Whole::begin(path)?;
    file.write_all(bytes)?;
    file.replace()
}

/// Whether two readers have the same contents.
fn are_equal(a: impl Read, b: impl Read) -> io::Result<bool> {
    const BLOCK: u64 = 1 << 16;
    let (mut a, mut b) = (BufReader::new(a), BufReader::new(b));
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    loop {
        of_a.clear();
        of_b.clear();
        a.by_ref().take(BLOCK).read_to_end(&mut of_a)?;
        b.by_ref().take(BLOCK).read_to_end(&mut of_b)?;
        if of_a != of_b || of_a.is_empty() {
            return Ok(of_a == of_b);
        }
    }
}

/// The file that a name leads to through links, whether or not it exists.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => return path.canonicalize().or(Ok(path)),
        }
    }
    Err(io::Error::other("too many links"))
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A name beside the target that hardly any other file has: hidden, with the process in it.
fn beside(target: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // A name has 255 bytes at most.
    let short: String = name.chars().take(40).collect();
    folder_of(target).join(format!(".{short}.{}-{count}.partial", std::process::id()))
}

/// A file without a name, if the file system has such files and can give them one later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).ok()?);
    fs::symlink_metadata(own_path(&file)).is_ok().then_some(file)
}

#[cfg(target_os = "linux")]
fn own_path(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(target_os = "linux")]
fn link_nameless(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    linkat(CWD, own_path(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn nameless(_folder: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn link_nameless(_file: &File, _name: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The file as Linux begins it, and as other systems do.
    const WAYS: [fn(&Path) -> Whole; 2] = [
        |path| Whole::begin(path).unwrap(),
        |path| {
            let target = resolved(path).unwrap();
            let name = beside(&target);
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&name);
            Whole { file: file.unwrap(), target, name: Some(name) }
        },
    ];

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        for begin in WAYS {
            let mut file = begin(&path);
            file.write_all(b"contents").unwrap();
            assert!(!path.exists());
            file.create().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"contents");
            assert_eq!(names(folder.path()), ["new"]);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn what_is_there_is_replaced_only_on_purpose() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old");
        for begin in WAYS {
            fs::write(&path, "precious").unwrap();
            assert_eq!(begin(&path).create().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"precious");
            assert_eq!(names(folder.path()), ["old"]);
        }
        for (i, begin) in WAYS.into_iter().enumerate() {
            let mut file = begin(&path);
            file.write_all(&[b'0' + i as u8]).unwrap();
            file.replace().unwrap();
            assert_eq!(fs::read(&path).unwrap(), [b'0' + i as u8]);
            assert_eq!(names(folder.path()), ["old"]);
        }
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for begin in WAYS {
            let mut file = begin(&folder.path().join("new"));
            file.write_all(b"contents").unwrap();
            drop(file);
        }
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_leads_to_the_new_file() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "old").unwrap();
        fs::set_permissions(path("file"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("file", path("link")).unwrap();
        replace_whole(&path("link"), b"new").unwrap();
        assert_eq!(fs::read(path("file")).unwrap(), b"new");
        assert!(path("link").is_symlink());
        let mode = fs::metadata(path("file")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        symlink("circle", path("circle")).unwrap();
        assert!(Whole::begin(&path("circle")).is_err());
    }
}
