//! What the card of an imported tagger says beside the usual.
//!
//! Networks of AllenNLP are imported by the crate `cajole-import`. They open as all others do; those with
//! ELMo need the feature `hdf5` of `cajole-nn`.

use cajole_core::decoders::tags::Space;
use cajole_nn::models::elmo::Mix;
use serde::{Deserialize, Serialize};

use crate::words::Lookup;

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
