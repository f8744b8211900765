//! Vocabularies of pieces, from `tokenizer.json`.
//!
//! Each piece contributes bytes to the decoded text. The tokenizer's decoder determines which:
//!
//! | decoder               | `"▁the"`, `"Ġthe"`, `"the"`                   | `"##ing"` | `"<0xE2>"` |
//! |-----------------------|-----------------------------------------------|-----------|------------|
//! | `ByteLevel`           | letters stand for bytes: `Ġthe` is `" the"`   |           |            |
//! | `Metaspace`, `Replace`| `▁` is a blank, but not where the text begins |           | one byte, with `ByteFallback` |
//! | `WordPiece`           | a blank before it, but not where the text begins | `"ing"`|            |
//! | none                  | a blank before it, but not where the text begins |        |            |
//!
//! So what a piece contributes depends on whether it begins the text, and on nothing else. Decoders
//! for which that is not true are refused: `BPEDecoder` and `CTC`, which look ahead, `Strip` at the
//! end or of more than one character, and `Replace` behind `Fuse`.
//!
//! The text is what the tokenizer's own `decode` yields, without special pieces, in all but one
//! respect: if bytes are not UTF-8, `ByteFallback` writes a `�` for each byte of the run, and this
//! crate one for each broken character. What Python's `clean_up_tokenization_spaces` does
//! afterwards is not part of the tokenizer, and is not done here.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use cajole_core::constraints::{Spelling, Trie};
use cajole_files::limits::MOST_VOCABULARY_BYTES;
use cajole_files::{TextError, text_of};
use serde_json::Value;
use tokenizers::{Decoder, DecoderWrapper, Tokenizer};

use crate::vocabulary::Vocabulary;

/// Why a tokenizer cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// Its file cannot be read.
    #[error(transparent)]
    Read(#[from] TextError),
    /// It is not a tokenizer.
    #[error("{}: {reason}; export it again with `tokenizer.save_pretrained`", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Its decoder does more than join pieces.
    #[error("the tokenizer's decoder has {part}, with which pieces have no text of their own")]
    Decoder {
        /// The part of it.
        part: String,
    },
    /// A piece has a number that no network has.
    #[error("the tokenizer numbers {name:?} {number}, but the network has {n_symbols} symbols")]
    TooMany {
        /// The piece.
        name: String,
        /// Its number.
        number: u32,
        /// The network's symbols.
        n_symbols: usize,
    },
}

/// Reads a `tokenizer.json`.
///
/// # Errors
/// If it cannot be read, or is not a tokenizer.
pub fn read_tokenizer(path: &Path) -> Result<Tokenizer, TokenizerError> {
    tokenizer_of(path, &text_of(path, MOST_VOCABULARY_BYTES)?)
}

/// A tokenizer from the text of its `tokenizer.json`, or what such a text was made of.
///
/// # Errors
/// If it is not a tokenizer.
pub fn tokenizer_of(path: &Path, text: &str) -> Result<Tokenizer, TokenizerError> {
    let invalid = |reason: String| TokenizerError::Invalid { path: path.to_owned(), reason };
    // The tokenizers crate panics at broken JSON, and if a file violates some of its assumptions.
    serde_json::from_str::<Value>(text).map_err(|error| invalid(error.to_string()))?;
    // `parse` is compiled in its crate; `from_bytes` would be compiled again in this one, a third of it.
    let read = catch_unwind(AssertUnwindSafe(|| text.parse::<Tokenizer>()));
    let read = read.map_err(|_| invalid("it contradicts itself".to_owned()))?;
    read.map_err(|error| invalid(error.to_string()))
}

impl Vocabulary {
    /// The pieces of a tokenizer, for a network with `n_symbols` outputs. Outputs without a piece
    /// contribute nothing, as special pieces do.
    ///
    /// # Errors
    /// If its decoder does more than join pieces, or if there are more pieces than outputs.
    pub fn of_tokenizer(
        tokenizer: &Tokenizer,
        n_symbols: usize,
    ) -> Result<Vocabulary, TokenizerError> {
        let decoder = Pieces::new(tokenizer.get_decoder())?;
        let mut names = vec![String::new(); n_symbols];
        let mut silent = vec![true; n_symbols];
        // Sorted, so that errors do not depend on the order of a hash map.
        let mut pieces: Vec<(String, u32)> = tokenizer.get_vocab(true).into_iter().collect();
        pieces.sort_unstable_by_key(|(_, number)| *number);
        for (name, number) in pieces {
            let Some(place) = names.get_mut(number as usize) else {
                return Err(TokenizerError::TooMany { name, number, n_symbols });
            };
            let name = tokenizer.id_to_token(number).unwrap_or(name);
            silent[number as usize] = tokenizer.get_added_vocabulary().is_special_token(&name);
            *place = name;
        }
        let spelled = |is_first: bool| {
            let bytes = |s: usize| match silent[s] {
                true => Vec::new(),
                false => decoder.bytes(&names[s], is_first),
            };
            (0..n_symbols).map(bytes).collect::<Vec<Vec<u8>>>()
        };
        let (first, later) = (spelled(true), spelled(false));
        let first = (first != later).then(|| Trie::new(first));
        let spelling = Spelling { later: Trie::new(later), first, silent };
        Ok(Vocabulary::of_pieces(names, spelling))
    }
}

/// How pieces are decoded.
enum Pieces<'t> {
    /// Each letter stands for a byte.
    Letters(HashMap<char, u8>),
    /// The decoder treats each piece on its own.
    Alone { decoder: &'t DecoderWrapper, has_bytes: bool },
    /// Blanks between pieces.
    Blanks,
}

/// Stands before a piece that is not the first. No decoder treats it specially.
const BEFORE: &str = "a";

impl<'t> Pieces<'t> {
    fn new(decoder: Option<&'t DecoderWrapper>) -> Result<Self, TokenizerError> {
        let Some(decoder) = decoder else { return Ok(Pieces::Blanks) };
        let written = serde_json::to_value(decoder).unwrap_or_default();
        let parts = match written.get("decoders").and_then(Value::as_array) {
            Some(parts) => parts.clone(),
            None => vec![written],
        };
        let kind = |part: &Value| part["type"].as_str().unwrap_or("?").to_owned();
        let (mut has_bytes, mut is_fused) = (false, false);
        for part in &parts {
            let refused = |part: String| Err(TokenizerError::Decoder { part });
            match kind(part).as_str() {
                "ByteLevel" if parts.len() == 1 => return Ok(Pieces::Letters(letters())),
                "ByteFallback" => has_bytes = true,
                "Fuse" => is_fused = true,
                "Replace" if !is_fused => {}
                "Strip" if part["stop"] == 0 && part["start"].as_u64() <= Some(1) => {}
                "WordPiece" | "Metaspace" if !is_fused => {}
                other => return refused(other.to_owned()),
            }
        }
        Ok(Pieces::Alone { decoder, has_bytes })
    }

    /// What a piece contributes.
    fn bytes(&self, name: &str, is_first: bool) -> Vec<u8> {
        match self {
            Pieces::Letters(letters) => {
                let bytes: Option<Vec<u8>> =
                    name.chars().map(|c| letters.get(&c).copied()).collect();
                bytes.unwrap_or_else(|| name.as_bytes().to_vec())
            }
            Pieces::Blanks if is_first => name.as_bytes().to_vec(),
            Pieces::Blanks => format!(" {name}").into_bytes(),
            Pieces::Alone { decoder, has_bytes } => {
                if let Some(byte) = byte_of(name).filter(|byte| *has_bytes && !byte.is_ascii()) {
                    return vec![byte];
                }
                let decoded = |before: Option<&str>| {
                    let tokens = before.into_iter().chain([name]).map(str::to_owned).collect();
                    decoder.decode(tokens).unwrap_or_default()
                };
                if is_first {
                    return decoded(None).into_bytes();
                }
                let both = decoded(Some(BEFORE));
                both.strip_prefix(BEFORE).unwrap_or(&both).as_bytes().to_vec()
            }
        }
    }
}

/// The byte that a piece such as `<0xE2>` stands for.
fn byte_of(name: &str) -> Option<u8> {
    let digits = name.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// The letters of byte-level BPE: printable ones stand for themselves, the others come after all of
/// Latin-1.
fn letters() -> HashMap<char, u8> {
    let is_seen = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let seen = (0..=u8::MAX).filter(is_seen).map(|byte| (char::from(byte), byte));
    let unseen = (0..=u8::MAX).filter(|byte| !is_seen(byte)).zip(0x100u32..);
    seen.chain(unseen.filter_map(|(byte, c)| Some((char::from_u32(c)?, byte)))).collect()
}
