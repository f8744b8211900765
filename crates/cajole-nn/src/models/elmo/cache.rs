//! An on-disk cache of ELMo embeddings.
//!
//! ELMo is frozen and takes much longer than the task's own network. So each sentence is embedded
//! once and stored in its own file, named by a hash of its words, in a directory named by a hash of
//! the weights. An entry holds the words and a checksum: one that is truncated, damaged, or of
//! another sentence is recomputed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cajole_files::{IoError, replace_whole};

use super::{Elmo, Layers};
use crate::import::ImportError;
use crate::numbers::NumberType;

/// Sentences embedded before results are written.
const AT_ONCE: usize = 64;

/// An ELMo with an on-disk cache.
pub struct Cache {
    elmo: Elmo,
    folder: PathBuf,
}

impl Cache {
    /// Caches the outputs of `elmo` in `folder`, which is created if needed. It may be shared:
    /// entries of different weights live in different subdirectories.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn open(folder: &Path, elmo: Elmo) -> Result<Cache, ImportError> {
        let folder = folder.join(format!("{:032x}", elmo.fingerprint));
        fs::create_dir_all(&folder).map_err(IoError::at(&folder))?;
        Ok(Cache { elmo, folder })
    }

    /// The underlying network.
    pub fn elmo(&self) -> &Elmo {
        &self.elmo
    }

    /// Embeds each sentence independently, like [`Elmo::embed`] without a state.
    ///
    /// Results are written every few sentences, so that a killed process loses little.
    ///
    /// # Errors
    /// If an entry cannot be written.
    pub fn embed<W: AsRef<str> + Sync>(
        &self,
        sentences: &[&[W]],
    ) -> Result<Vec<Layers>, ImportError> {
        let found: Vec<Option<Layers>> = sentences.iter().map(|s| self.find(s)).collect();
        // Semantic roles are labelled per predicate, so the same sentence often occurs several
        // times.
        let absent = sentences.iter().zip(&found).filter(|(_, found)| found.is_none());
        let absent: BTreeMap<Vec<u8>, &[W]> = absent.map(|(&s, _)| (spelled(s), s)).collect();
        let absent: Vec<&[W]> = absent.into_values().collect();
        let mut computed = BTreeMap::new();
        for batch in absent.chunks(AT_ONCE) {
            for (words, layers) in batch.iter().zip(self.elmo.embed(batch, None)) {
                self.keep(words, &layers)?;
                computed.insert(spelled(words), layers);
            }
        }
        let all = sentences.iter().zip(found);
        Ok(all.map(|(s, found)| found.unwrap_or_else(|| computed[&spelled(s)].clone())).collect())
    }

    fn find<W: AsRef<str>>(&self, words: &[W]) -> Option<Layers> {
        let file = fs::read(self.path(words)).ok()?;
        let (sum, body) = file.split_first_chunk::<16>()?;
        let (values, rest) = body.split_at_checked(self.size(words.len()))?;
        if *sum != hash([body]).to_le_bytes() || rest != spelled(words) {
            return None;
        }
        let mut numbers = vec![0.0; values.len() / NumberType::F32.size()];
        NumberType::F32.decode(values, &mut numbers);
        let (dim, count) = (self.elmo.dim(), self.elmo.layers());
        Some(Layers { words: words.len(), dim, values: numbers, count })
    }

    fn keep<W: AsRef<str>>(&self, words: &[W], layers: &Layers) -> Result<(), ImportError> {
        let path = self.path(words);
        let mut body: Vec<u8> = layers.values.iter().flat_map(|v| v.to_le_bytes()).collect();
        body.extend(spelled(words));
        let file = [&hash([body.as_slice()]).to_le_bytes()[..], &body].concat();
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(IoError::at(folder))?;
        match replace_whole(&path, &file) {
            // Another process may have written the same entry first.
            Err(source) if self.find(words).is_none() => Err(IoError { path, source }.into()),
            _ => Ok(()),
        }
    }

    /// Size in bytes of the values of a sentence.
    fn size(&self, words: usize) -> usize {
        self.elmo.layers() * words * self.elmo.dim() * size_of::<f32>()
    }

    /// Entries are spread over 256 directories, since some file systems are slow with large ones.
    fn path<W: AsRef<str>>(&self, words: &[W]) -> PathBuf {
        let name = format!("{:032x}", hash([spelled(words).as_slice()]));
        self.folder.join(&name[..2]).join(&name[2..])
    }
}

/// The words, each prefixed by its length, so that the encoding is unambiguous.
fn spelled<W: AsRef<str>>(words: &[W]) -> Vec<u8> {
    let word = |word: &W| {
        let word = word.as_ref().as_bytes();
        [&(word.len() as u64).to_le_bytes(), word].concat()
    };
    words.iter().flat_map(word).collect()
}

/// A 128-bit hash in the style of FNV-1a, eight bytes at a time. Unlike the standard library's, it
/// is the same on every machine and in every version. Length prefixes separate the parts.
pub(super) fn hash<const N: usize>(parts: [&[u8]; N]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let add = |hash: u128, word: u64| (hash ^ u128::from(word)).wrapping_mul(PRIME);
    parts.iter().fold(BASIS, |hash, part| {
        let (words, rest) = part.as_chunks::<8>();
        let hash = add(hash, part.len() as u64);
        let hash = words.iter().fold(hash, |hash, word| add(hash, u64::from_le_bytes(*word)));
        rest.iter().fold(hash, |hash, byte| add(hash, u64::from(*byte)))
    })
}
