//! Text as the pieces that a network reads, by the `tokenizer.json` of its folder.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use cajole_core::Symbol;
use cajole_nn::models::transformer::Pieces;
use cajole_rules::{TokenizerError, Vocabulary, read_tokenizer, tokenizer_of};
use serde_json::Value;
use tokenizers::{Encoding, InputSequence, Tokenizer};

use super::slow::{self, Slow, Two};
use crate::checkpoint::LoadError;

/// The file of a tokenizer.
pub(crate) const TOKENIZER: &str = "tokenizer.json";

/// Names that tokenizers have for the unknown piece.
const UNKNOWN: [&str; 2] = ["[UNK]", "<unk>"];

/// Symbols that a network may have beyond its tokenizer's pieces, whatever its size: sizes are
/// rounded up.
const MOST_UNNAMED: usize = 128;

/// A tokenizer.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    tokenizer: Tokenizer,
    /// Whether a word has other pieces after a blank than without one. Words then get a blank
    /// first.
    needs_blanks: bool,
    /// The tokenizer of outputs where it differs, and how pieces are numbered, in tokenizers of two languages.
    others: Option<Box<Others>>,
}

/// The other half of Marian's tokenizers.
#[derive(Debug)]
struct Others {
    writes: Tokenizer,
    spells: Tokenizer,
    numbers: HashMap<String, Symbol>,
    unknown: Symbol,
    end: Symbol,
}

/// Why a folder's tokenizer cannot be used.
#[derive(Debug, thiserror::Error)]
enum TokensError {
    #[error(
        "{folder} has no tokenizer.json, nor another tokenizer that is read (spiece.model, \
         sentencepiece.bpe.model, source.spm with target.spm and vocab.json, vocab.txt, or vocab.json with \
         merges.txt): write one with \
         `AutoTokenizer.from_pretrained(NAME).save_pretrained({folder:?})`",
        folder = folder.display()
    )]
    Missing { folder: PathBuf },
    #[error("{path}: {source}; is it the tokenizer of this network?", path = path.display())]
    Unfit { path: PathBuf, source: TokenizerError },
    #[error(
        "{path} has {pieces} pieces, but the network has {n_symbols} symbols: it is the tokenizer of \
         another network",
        path = path.display()
    )]
    TooFew { path: PathBuf, pieces: usize, n_symbols: usize },
}

/// Why a text has no pieces.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The tokenizer failed.
    #[error("{path}: {problem}", path = path.display())]
    Tokenizer {
        /// Its file.
        path: PathBuf,
        /// Its message.
        problem: String,
    },
    /// Nothing is left of a word.
    #[error("word {word}, {text:?}, has no piece: leave it out")]
    NoPiece {
        /// The position of the word.
        word: usize,
        /// The word.
        text: String,
    },
    /// Nothing is left of the text.
    #[error("the text has no pieces")]
    Nothing,
}

impl Others {
    fn new(folder: &Path, two: &Two) -> Result<Others, TokenizerError> {
        let Two { unknown, end, .. } = *two;
        Ok(Others {
            writes: tokenizer_of(folder, &two.writes)?,
            spells: tokenizer_of(folder, &two.spells)?,
            numbers: two.numbers.clone(),
            unknown,
            end,
        })
    }
}

impl Tokens {
    /// The tokenizer of a folder whose network has this many symbols.
    ///
    /// # Errors
    /// If there is none, or it is another network's.
    pub fn open(folder: &Path, n_symbols: usize) -> Result<Tokens, LoadError> {
        let mut path = folder.join(TOKENIZER);
        let mut others = None;
        let tokenizer = match path.exists() {
            true => read_tokenizer(&path),
            false => {
                path = folder.to_owned();
                let made = |text: &str| tokenizer_of(folder, text);
                match slow::read(folder).map_err(LoadError::other)? {
                    Some(Slow::One(text)) => made(&text),
                    Some(Slow::Two(two)) => {
                        others =
                            Some(Box::new(Others::new(folder, &two).map_err(LoadError::other)?));
                        made(&two.reads)
                    }
                    None => {
                        let folder = folder.to_owned();
                        return Err(LoadError::other(TokensError::Missing { folder }));
                    }
                }
            }
        };
        let mut tokenizer = tokenizer.map_err(LoadError::other)?;
        // Both are settings for training: here inputs are never cut or padded.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(LoadError::Other)?;
        let numbered = others.as_ref().map_or(&tokenizer, |others| &others.spells);
        let pieces = numbered.get_vocab_size(true);
        let unnamed = n_symbols.saturating_sub(pieces);
        if MOST_UNNAMED <= unnamed && n_symbols < 4 * unnamed {
            return Err(LoadError::other(TokensError::TooFew { path, pieces, n_symbols }));
        }
        let before = serde_json::to_value(tokenizer.get_pre_tokenizer()).unwrap_or_default();
        let is_byte_level = |part: &Value| part["type"] == "ByteLevel";
        let parts = before["pretokenizers"].as_array();
        let needs_blanks =
            is_byte_level(&before) || parts.is_some_and(|parts| parts.iter().any(is_byte_level));
        Ok(Tokens { path, tokenizer, needs_blanks, others })
    }

    /// The tokenizer whose pieces have the network's numbers.
    fn numbered(&self) -> &Tokenizer {
        self.others.as_ref().map_or(&self.tokenizer, |others| &others.spells)
    }

    /// The pieces as output symbols of a network.
    ///
    /// # Errors
    /// If there are more than the network has symbols, or their text depends on their neighbours.
    pub fn vocabulary(&self, n_symbols: usize) -> Result<Vocabulary, LoadError> {
        let unfit = |source| TokensError::Unfit { path: self.path.clone(), source };
        let vocabulary = Vocabulary::of_tokenizer(self.numbered(), n_symbols);
        vocabulary.map_err(|source| LoadError::other(unfit(source)))
    }

    /// Checks that a network that reads `n_symbols` knows all pieces.
    ///
    /// # Errors
    /// If there are more.
    pub fn check(&self, n_symbols: usize) -> Result<(), LoadError> {
        let pieces = self.numbered().get_vocab(true);
        let beyond = pieces.into_iter().filter(|(_, number)| n_symbols <= *number as usize);
        let Some((name, number)) = beyond.min_by_key(|(_, number)| *number) else { return Ok(()) };
        let source = TokenizerError::TooMany { name, number, n_symbols };
        Err(LoadError::other(TokensError::Unfit { path: self.path.clone(), source }))
    }

    /// The pieces of a text, with those that mark its beginning and end.
    ///
    /// # Errors
    /// If the tokenizer fails, or there are none.
    pub fn read(&self, text: &str) -> Result<Vec<Symbol>, EncodeError> {
        let pieces = match &self.others {
            Some(others) => self.read_by(others, &self.tokenizer, text)?,
            None => self.encode(text.into())?.get_ids().to_vec(),
        };
        if pieces.is_empty() { Err(EncodeError::Nothing) } else { Ok(pieces) }
    }

    /// The pieces of a text under numbers of their own. A code such as `>>fra<<` before it names the
    /// language to write.
    fn read_by(
        &self,
        others: &Others,
        by: &Tokenizer,
        text: &str,
    ) -> Result<Vec<Symbol>, EncodeError> {
        let code = text.strip_prefix(">>").and_then(|rest| rest.find("<<"));
        let (code, text) = code.map_or(("", text), |at| text.split_at(at + 4));
        let encoding = self.encode_by(by, text.into())?;
        let code = (!code.is_empty()).then_some(code);
        let names = code.into_iter().chain(encoding.get_tokens().iter().map(String::as_str));
        let number = |name: &str| others.numbers.get(name).copied().unwrap_or(others.unknown);
        Ok(names.map(number).chain([others.end]).collect())
    }

    /// The same for a text that is written.
    ///
    /// # Errors
    /// If the tokenizer fails, or there are none.
    pub fn read_output(&self, text: &str) -> Result<Vec<Symbol>, EncodeError> {
        match &self.others {
            Some(others) => self.read_by(others, &others.writes, text),
            None => self.read(text),
        }
    }

    /// The pieces of words, the first of which carries a word's label.
    ///
    /// # Errors
    /// If the tokenizer fails, or a word has no piece.
    pub fn read_words(&self, words: &[String]) -> Result<Pieces, EncodeError> {
        let (pieces, firsts) = self.encode_words(words)?;
        if let Some(word) = firsts.iter().position(Option::is_none) {
            return Err(EncodeError::NoPiece { word, text: words[word].clone() });
        }
        Ok(Pieces { pieces, firsts: firsts.into_iter().flatten().collect(), marked: None })
    }

    /// The same, with the unknown piece for words that have none. Corpora contain words of nothing
    /// but control characters.
    ///
    /// # Errors
    /// If the tokenizer fails, or has no such piece.
    pub(crate) fn read_any_words(&self, words: &[String]) -> Result<Pieces, EncodeError> {
        let (pieces, firsts) = self.encode_words(words)?;
        if let Some(firsts) = firsts.iter().copied().collect() {
            return Ok(Pieces { pieces, firsts, marked: None });
        }
        let known = |piece: &&str| self.tokenizer.token_to_id(piece).is_some();
        let unknown = UNKNOWN.into_iter().find(known);
        let all = words.iter().zip(&firsts).map(|(word, first)| match (first, unknown) {
            (None, Some(unknown)) => unknown.to_owned(),
            _ => word.clone(),
        });
        self.read_words(&all.collect::<Vec<_>>())
    }

    /// Words in pieces, and the first piece of each, if it has one.
    fn encode_words(
        &self,
        words: &[String],
    ) -> Result<(Vec<Symbol>, Vec<Option<u32>>), EncodeError> {
        let added = self.tokenizer.get_added_vocabulary();
        let own: Vec<String> = words
            .iter()
            .map(|word| match self.needs_blanks && !added.is_special_token(word) {
                true => format!(" {word}"),
                false => word.clone(),
            })
            .collect();
        let encoding = self.encode(InputSequence::from(own))?;
        let mut firsts = vec![None; words.len()];
        for (piece, word) in (0u32..).zip(encoding.get_word_ids()) {
            if let Some(first) = word.and_then(|word| firsts.get_mut(word as usize)) {
                first.get_or_insert(piece);
            }
        }
        Ok((encoding.get_ids().to_vec(), firsts))
    }

    fn encode(&self, input: InputSequence<'_>) -> Result<Encoding, EncodeError> {
        self.encode_by(&self.tokenizer, input)
    }

    fn encode_by(&self, by: &Tokenizer, input: InputSequence<'_>) -> Result<Encoding, EncodeError> {
        let failed = |problem: String| EncodeError::Tokenizer { path: self.path.clone(), problem };
        // The tokenizers crate panics if a file violates some of its assumptions.
        let encoded = catch_unwind(AssertUnwindSafe(|| by.encode(input, true)));
        let encoded = encoded.map_err(|_| failed("the tokenizer contradicts itself".to_owned()))?;
        encoded.map_err(|error| failed(error.to_string()))
    }
}
