//! Imports AllenNLP role labelers as taggers.
//!
//! AllenNLP's `srl` model and our tagger are both the tagger of He et al. 2017: words and a
//! predicate indicator go through LSTMs to one tag per word. So importing an archive only renames
//! and transposes tensors, and the result computes the same. Every tensor must have a place and
//! every place a tensor; an archive with more or less in it is another network, and an error.
//!
//! Three things are specific to AllenNLP and recorded on the card: how words are looked up, that
//! decoding sums probabilities instead of their logarithms, and the ELMo layer mix. ELMo itself is
//! read from its published files. Here it starts every sentence with a fresh state, where AllenNLP
//! carries the state over from the previous sentence.
//!
//! Archives are read with the feature `import`; networks that were imported open without it, except
//! those with ELMo.

#[cfg(feature = "import")]
mod archive;
#[cfg(feature = "import")]
mod settings;
#[cfg(feature = "import")]
mod weights;

use cajole_core::decoders::tags::Space;
use cajole_nn::models::elmo::Mix;
use serde::{Deserialize, Serialize};

use crate::words::Lookup;
#[cfg(feature = "import")]
pub use archive::{allennlp, from_archive};

/// Additional card fields of an imported tagger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Imported {
    /// The archive's name.
    pub archive: String,
    /// How words are looked up in its vocabulary.
    #[serde(default)]
    pub lookup: Lookup,
    /// What its decoder maximises.
    #[serde(default)]
    pub space: Space,
    /// How it mixes the layers of ELMo, if it uses ELMo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elmo: Option<Mix>,
}

impl Imported {
    /// Its part of the model card.
    pub(super) fn to_markdown(&self, corpus: &str) -> String {
        let lookup = match self.lookup {
            Lookup::Classes => "by their spelling or their class",
            Lookup::AsSpelled => "as they are spelled",
            Lookup::LowerCase => "in lower case",
        };
        let space = match self.space {
            Space::Log => "log-probabilities",
            Space::Probability => "probabilities, as AllenNLP does",
        };
        let elmo = match self.elmo {
            None => "",
            Some(_) => {
                "- **ELMo**: in `elmo/`, stateless across sentences. Create a folder `elmo/cache` \
                 to cache its outputs; it will be large.\n"
            }
        };
        format!(
            "- **Origin**: the AllenNLP archive `{archive}`, imported by `cajole import \
             allennlp`. Its settings say that it was trained on `{corpus}`. See there for its \
             licence and scores; nothing was measured here.\n\
             - **Words** are looked up {lookup}.\n\
             - **Decoding**: Viterbi over {space}.\n\
             {elmo}",
            archive = self.archive,
        )
    }
}
