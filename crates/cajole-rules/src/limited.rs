//! Rule files and grammars are short. A file that is not is refused before it is read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a constraint file or a grammar, at most.
pub const MAX_RULE_BYTES: u64 = 1 << 20;

/// Reads a constraint file or a grammar.
///
/// # Errors
/// If it cannot be read, is not text, or has more than [`MAX_RULE_BYTES`].
pub fn read_rules(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_RULE_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 <= MAX_RULE_BYTES {
        true => Ok(text),
        false => {
            let problem = format!("more than {MAX_RULE_BYTES} bytes, the limit for rules");
            Err(io::Error::new(io::ErrorKind::FileTooLarge, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_end_is_refused() {
        let error = read_rules(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("more than 1048576 bytes"), "{error}");
    }
}
