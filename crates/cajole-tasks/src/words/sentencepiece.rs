//! SentencePiece's model files, such as `spiece.model`: which pieces there are, and how text is
//! normalised before it is split into them.
//!
//! The file is a protocol buffer, `ModelProto`. What is needed of it are five fields of three messages,
//! so a reader of the wire format in a few lines takes the place of a library and of its generated code.

use std::io;
use std::path::{Path, PathBuf};

use cajole_files::limits::MOST_VOCABULARY_BYTES;
use cajole_files::{IoError, RegularFile};
use serde_json::{Value, json};

/// A model.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) pieces: Vec<Piece>,
    pub(super) kind: Kind,
    pub(super) unknown: usize,
    pub(super) unknown_piece: String,
    pub(super) has_bytes: bool,
    /// Rules of Unicode normalisation, as SentencePiece compiles them.
    charsmap: Vec<u8>,
    pub(super) adds_blank: bool,
    pub(super) removes_blanks: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) role: Role,
}

/// The use of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Text,
    Unknown,
    /// Marks the beginning or the end.
    Control,
    /// Stands in a text as it is.
    Verbatim,
    Other,
}

/// How text is split into pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Unigram,
    Bpe,
    Other,
}

/// Why a file is no model.
#[derive(Debug, thiserror::Error)]
pub(super) enum ModelError {
    #[error(transparent)]
    Read(#[from] IoError),
    #[error("{} is no model of SentencePiece: {problem}", path.display())]
    Damaged { path: PathBuf, problem: &'static str },
    #[error("{}: {problem}", path.display())]
    Unsupported { path: PathBuf, problem: &'static str },
}

/// The most bytes of a file: the largest that are published have five million.
const MOST_BYTES: u64 = MOST_VOCABULARY_BYTES;

/// A field of a message.
enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
    Float(f32),
    Other,
}

/// The rest of a message.
struct Message<'b>(&'b [u8]);

impl<'b> Message<'b> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self, n: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The next field with its number; `None` within it if the message is broken.
    fn field(&mut self) -> Option<Option<(u64, Field<'b>)>> {
        if self.0.is_empty() {
            return None;
        }
        Some(self.read_field())
    }

    fn read_field(&mut self) -> Option<(u64, Field<'b>)> {
        let tag = self.number()?;
        let field = match tag & 7 {
            0 => Field::Number(self.number()?),
            1 => {
                self.bytes(8)?;
                Field::Other
            }
            2 => {
                let n = usize::try_from(self.number()?).ok()?;
                Field::Bytes(self.bytes(n)?)
            }
            5 => Field::Float(f32::from_le_bytes(self.bytes(4)?.try_into().ok()?)),
            _ => return None,
        };
        Some((tag >> 3, field))
    }
}

impl Model {
    /// Reads a file.
    pub(super) fn open(path: &Path) -> Result<Model, ModelError> {
        let owned = || path.to_owned();
        let file = match RegularFile::open(path) {
            Ok(file) if file.len() <= MOST_BYTES => file,
            Err(error) if error.source.kind() != io::ErrorKind::InvalidInput => {
                return Err(error.into());
            }
            _ => {
                let problem = "it is no file, or too large";
                return Err(ModelError::Damaged { path: owned(), problem });
            }
        };
        let bytes = file.read_all()?;
        let model = Model::of(&bytes).ok_or(ModelError::Damaged {
            path: owned(),
            problem: "its protocol buffer is broken",
        })?;
        if model.pieces.is_empty() {
            return Err(ModelError::Damaged { path: owned(), problem: "it has no pieces" });
        }
        if model.kind == Kind::Other {
            let problem =
                "it splits text into words or characters; only unigram and BPE models are read";
            return Err(ModelError::Unsupported { path: owned(), problem });
        }
        Ok(model)
    }

    fn of(bytes: &[u8]) -> Option<Model> {
        let mut model = Model {
            unknown_piece: "<unk>".to_owned(),
            adds_blank: true,
            removes_blanks: true,
            ..Model::default()
        };
        let mut message = Message(bytes);
        while let Some(field) = message.field() {
            match field? {
                (1, Field::Bytes(bytes)) => model.pieces.push(piece(bytes)?),
                (2, Field::Bytes(bytes)) => model.read_training(bytes)?,
                (3, Field::Bytes(bytes)) => model.read_normalization(bytes)?,
                _ => {}
            }
        }
        Some(model)
    }

    fn read_training(&mut self, bytes: &[u8]) -> Option<()> {
        let mut message = Message(bytes);
        while let Some(field) = message.field() {
            match field? {
                (3, Field::Number(kind)) => {
                    self.kind = match kind {
                        1 => Kind::Unigram,
                        2 => Kind::Bpe,
                        _ => Kind::Other,
                    }
                }
                (35, Field::Number(has)) => self.has_bytes = has != 0,
                (40, Field::Number(unknown)) => self.unknown = usize::try_from(unknown).ok()?,
                (45, Field::Bytes(name)) => {
                    self.unknown_piece = String::from_utf8(name.to_vec()).ok()?;
                }
                _ => {}
            }
        }
        Some(())
    }

    fn read_normalization(&mut self, bytes: &[u8]) -> Option<()> {
        let mut message = Message(bytes);
        while let Some(field) = message.field() {
            match field? {
                (2, Field::Bytes(charsmap)) => self.charsmap = charsmap.to_vec(),
                (3, Field::Number(adds)) => self.adds_blank = adds != 0,
                (4, Field::Number(removes)) => self.removes_blanks = removes != 0,
                _ => {}
            }
        }
        Some(())
    }

    /// Its Unicode normalisation, as `tokenizer.json` has it.
    pub(super) fn normalizer(&self) -> Option<Value> {
        let charsmap = base64(&self.charsmap);
        let is_some = !charsmap.is_empty();
        is_some.then(|| json!({"type": "Precompiled", "precompiled_charsmap": charsmap}))
    }

    /// Its pieces and scores under other numbers, as `tokenizer.json` has them.
    pub(super) fn split(&self, pieces: &[(&str, f32)], unknown: usize, has_bytes: bool) -> Value {
        if self.kind == Kind::Bpe {
            let numbers = || pieces.iter().enumerate().map(|(i, (text, _))| (*text, i));
            let vocabulary: serde_json::Map<String, Value> =
                numbers().map(|(text, i)| (text.to_owned(), json!(i))).collect();
            return json!({
                "type": "BPE", "dropout": null, "unk_token": self.unknown_piece,
                "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true,
                "byte_fallback": has_bytes, "ignore_merges": false, "vocab": vocabulary,
                "merges": merges(pieces),
            });
        }
        json!({
            "type": "Unigram", "unk_id": unknown, "byte_fallback": has_bytes,
            "vocab": pieces.iter().map(|(text, score)| json!([text, f64::from(*score)])).collect::<Vec<_>>(),
        })
    }
}

fn piece(bytes: &[u8]) -> Option<Piece> {
    let (mut piece, mut message) = (Piece::default(), Message(bytes));
    while let Some(field) = message.field() {
        match field? {
            (1, Field::Bytes(text)) => piece.text = String::from_utf8(text.to_vec()).ok()?,
            (2, Field::Float(score)) => piece.score = score,
            (3, Field::Number(role)) => {
                piece.role = match role {
                    1 => Role::Text,
                    2 => Role::Unknown,
                    3 => Role::Control,
                    4 => Role::Verbatim,
                    _ => Role::Other,
                }
            }
            _ => {}
        }
    }
    Some(piece)
}

/// All ways to put a piece together from two others. The better its score, the earlier it is merged;
/// parts whose numbers are smaller come first.
fn merges(pieces: &[(&str, f32)]) -> Vec<[String; 2]> {
    let numbers: std::collections::HashMap<&str, usize> =
        pieces.iter().enumerate().map(|(i, (text, _))| (*text, i)).collect();
    let mut all: Vec<(f32, usize, usize, [&str; 2])> = Vec::new();
    for &(text, score) in pieces {
        let cuts = text.char_indices().skip(1).map(|(at, _)| text.split_at(at));
        let mut own: Vec<(usize, usize, [&str; 2])> =
            cuts.filter_map(|(a, b)| Some((*numbers.get(a)?, *numbers.get(b)?, [a, b]))).collect();
        own.sort_unstable_by_key(|&(a, b, _)| (a, b));
        let length = |text: &str| text.chars().count();
        all.extend(own.into_iter().map(|(.., [a, b])| (score, length(a), length(b), [a, b])));
    }
    all.sort_by(|a, b| (b.0.total_cmp(&a.0)).then((b.1, b.2).cmp(&(a.1, a.2))));
    all.into_iter().map(|(.., parts)| parts.map(str::to_owned)).collect()
}

/// Bytes as text, in the alphabet of RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * i)) as usize & 63];
            text.push(if i <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    /// A field of bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    #[test]
    fn models_are_read_and_broken_ones_are_errors() {
        let score = [&[2 << 3 | 5], &(-1.5f32).to_le_bytes()[..]].concat();
        let piece = [field(1, "▁a".as_bytes()), score, vec![3 << 3, 4]].concat();
        let bytes =
            [field(1, &piece), field(2, &[3 << 3, 2]), field(3, &field(2, b"map"))].concat();
        let model = Model::of(&bytes).unwrap();
        let Piece { text, score, role } = &model.pieces[0];
        assert_eq!((text.as_str(), *score, *role), ("▁a", -1.5, Role::Verbatim));
        assert_eq!((model.kind, model.unknown, model.adds_blank), (Kind::Bpe, 0, true));
        assert_eq!(model.normalizer().unwrap()["precompiled_charsmap"], "bWFw");
        for end in 1..bytes.len() {
            let cut = Model::of(&bytes[..end]);
            assert!(cut.is_none_or(|model| model.pieces.len() <= 1), "cut off at {end}");
        }
        assert!(Model::of(&[0xff; 40]).is_none());
    }

    #[test]
    fn merges_are_in_order_of_scores() {
        let pieces = [("a", -9.0), ("b", -9.0), ("ab", -1.0), ("aba", -0.5), ("ba", -2.0)];
        let expected = [["ab", "a"], ["a", "ba"], ["a", "b"], ["b", "a"]];
        assert_eq!(merges(&pieces), expected.map(|parts| parts.map(str::to_owned)));
    }
}
