//! Encoder-decoders that write text, from elsewhere: as a checkpoint folder, they have a
//! `tokenizer.json`. The crate `cajole-import` makes such a folder from a plain PyTorch state dict.
//! Hugging Face folders need no import.

use cajole_nn::Trained;
use cajole_nn::models::transformer::{EncoderDecoder, EncoderDecoderConfig};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, Checkpoint, Files, LoadError};

/// A network with its tokenizer.
#[derive(Clone, Debug)]
pub struct TextWriter {
    /// The network.
    pub model: Trained<EncoderDecoder>,
    /// The text of its `tokenizer.json`.
    pub tokenizer: String,
}

/// The `config.json` of a network that writes text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// Always `writer`.
    pub task: String,
    /// The architecture.
    pub network: EncoderDecoderConfig,
    /// The name of the file that the weights are from.
    pub imported_from: String,
}

const TOKENIZER: &str = "tokenizer.json";

impl Checkpoint for TextWriter {
    type Card = Card;
    type Network = EncoderDecoder;
    const VOCABULARIES: &'static [&'static str] = &[TOKENIZER];
    const BUILT_IN: &'static [(&'static str, &'static [u8])] = &[];

    fn trained(&self) -> &Trained<EncoderDecoder> {
        &self.model
    }

    fn vocabularies(&self) -> Vec<(&'static str, String)> {
        vec![(TOKENIZER, self.tokenizer.clone())]
    }

    fn assemble(card: &Card, files: &Files<'_>) -> Result<TextWriter, LoadError> {
        let network = &card.network;
        let path = files.path("config.json");
        network
            .check()
            .map_err(|problem| LoadError::other(format!("{}: {problem}", path.display())))?;
        let tokenizer = files.text(TOKENIZER)?.into_owned();
        let model = files.trained(EncoderDecoder::new(network.clone()))?;
        Ok(TextWriter { model, tokenizer })
    }
}

impl checkpoint::Card for Card {
    const TASK: &'static str = "writer";

    fn to_markdown(&self) -> String {
        let EncoderDecoderConfig { reads, encoder, writes, decoder, .. } = &self.network;
        format!(
            "# A network that writes text\n\n\
             - **Architecture**: transformer, {} encoder and {} decoder layers of width {}, {} heads; \
             {} symbols are read, {} written.\n\
             - **Weights**: imported from `{}`.\n",
            encoder.layers,
            decoder.layers,
            encoder.width,
            encoder.heads,
            reads.symbols,
            writes.symbols,
            self.imported_from,
        )
    }
}
