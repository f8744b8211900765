//! How outputs are generated: `generation_config.json`, or `config.json` in older folders.

use super::super::ImportError;
use super::{Config, Folder};
use crate::models::transformer::{EncoderDecoderConfig, Generation};

/// The most beams that are taken over from a folder.
const MOST_BEAMS: usize = 16;

/// The beam search that `generate` runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beams {
    /// The number of beams; 1 is greedy.
    pub width: usize,
    /// The power of the length that log-probabilities are divided by.
    pub length_penalty: f32,
}

impl Folder {
    /// The settings that have `key`: those of generation come first.
    fn said(&self, key: &str) -> &Config {
        self.generation.as_ref().filter(|own| own.get(key).is_some()).unwrap_or(&self.config)
    }

    /// The beam search that `generate` runs with this folder, unless told otherwise.
    ///
    /// # Errors
    /// If a setting is not what it should be.
    pub fn beams(&self) -> Result<Beams, ImportError> {
        let width = self.said("num_beams").count_if("num_beams")?.unwrap_or(1).min(MOST_BEAMS);
        let length_penalty = self.said("length_penalty").number_or("length_penalty", 1.0)?;
        Ok(Beams { width, length_penalty })
    }

    /// The symbol that the decoder reads first.
    pub(super) fn start(&self, n: usize) -> Result<u32, ImportError> {
        self.said("decoder_start_token_id").symbol("decoder_start_token_id", n)
    }

    /// What may be written, and how much of it.
    pub(super) fn generation(
        &self,
        config: &mut EncoderDecoderConfig,
    ) -> Result<Generation, ImportError> {
        let n = config.writes.symbols;
        // `generate` counts the symbol that is read first.
        if let Some(most) = self.said("max_length").count_if("max_length")? {
            config.cap = config.cap.min(most.saturating_sub(1).max(1));
        }
        let first = self.said("forced_bos_token_id").symbol_if("forced_bos_token_id", n)?;
        let mut never = self.said("bad_words_ids").symbols("bad_words_ids", n)?;
        never.extend(self.said("suppress_tokens").symbols("suppress_tokens", n)?);
        Ok(Generation { first, never })
    }
}
