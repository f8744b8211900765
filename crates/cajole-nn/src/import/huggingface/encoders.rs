//! BERT, RoBERTa and DistilBERT, with or without a layer on top that classifies tokens.

use std::borrow::Borrow;

use serde_json::json;

use super::super::ImportError;
use super::super::placing::{Placing, Source};
use super::{Config, Family, Folder};
use crate::layers::norm::NormKind;
use crate::models::transformer::{
    EmbeddingConfig, EncoderTagger, EncoderTaggerConfig, Pieces, Positions, StackConfig,
};
use crate::tagging::Tagger;

/// A tagger from a folder.
#[derive(Clone, Debug)]
pub struct ImportedTagger<X = Pieces> {
    /// The network.
    pub net: EncoderTagger<X>,
    /// Its weights.
    pub weights: Vec<f32>,
    /// The names of its tags.
    pub labels: Vec<String>,
}

/// How a kind of encoder names its parts.
struct Names {
    /// What names begin with.
    prefix: &'static str,
    layer: &'static str,
    query_key_value: [&'static str; 3],
    attended: &'static str,
    attention_norm: &'static str,
    up: &'static str,
    down: &'static str,
    feed_norm: &'static str,
}

const BERT: Names = Names {
    prefix: "bert.",
    layer: "encoder.layer",
    query_key_value: ["attention.self.query", "attention.self.key", "attention.self.value"],
    attended: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    feed_norm: "output.LayerNorm",
};

const ROBERTA: Names = Names { prefix: "roberta.", ..BERT };

const DISTILBERT: Names = Names {
    prefix: "distilbert.",
    layer: "transformer.layer",
    query_key_value: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    attended: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    feed_norm: "output_layer_norm",
};

impl Folder {
    /// A network for token classification.
    ///
    /// # Errors
    /// If the folder holds another network, or a tensor is missing, of another shape, or not finite.
    pub fn tagger<X: Borrow<Pieces> + Sync>(&self) -> Result<ImportedTagger<X>, ImportError> {
        let c = &self.config;
        let others = ["SequenceClassification", "MultipleChoice", "QuestionAnswering"];
        let made_for = c.architectures().find(|name| others.iter().any(|end| name.ends_with(end)));
        if let Some(name) = made_for {
            return Err(c.problem(format!(
                "\"architectures\" has {name:?}; only networks for token classification label words"
            )));
        }
        let has_labels = c.get("id2label").is_some();
        if !has_labels && self.weights.find(&["classifier.weight".to_owned()])?.is_none() {
            return Err(c.problem(
                "there is no \"id2label\", nor a tensor \"classifier.weight\": is this a network for \
                 token classification?",
            ));
        }
        let labels = c.labels()?;
        let (net, weights) = self.encoder_with(labels.len(), None)?;
        Ok(ImportedTagger { net, weights, labels })
    }

    /// An encoder with a new layer on top, for `tags` tags: what there is to begin training with.
    ///
    /// # Errors
    /// As [`Folder::tagger`].
    pub fn encoder<X: Borrow<Pieces> + Sync>(
        &self,
        tags: usize,
        seed: u64,
    ) -> Result<(EncoderTagger<X>, Vec<f32>), ImportError> {
        self.encoder_with(tags, Some(seed))
    }

    /// An encoder; given a seed, what is on top is new.
    fn encoder_with<X: Borrow<Pieces> + Sync>(
        &self,
        tags: usize,
        seed: Option<u64>,
    ) -> Result<(EncoderTagger<X>, Vec<f32>), ImportError> {
        let c = &self.config;
        if self.family()? != Family::Encoder || tags == 0 {
            return Err(c.problem("this is no encoder that tags"));
        }
        let (names, config) = match c.model_type()? {
            "bert" => (BERT, bert(c, tags, None)?),
            "distilbert" => (DISTILBERT, distilbert(c, tags)?),
            _ => (ROBERTA, bert(c, tags, Some(c.size_or("pad_token_id", 1)?))?),
        };
        let net = EncoderTagger::new(config);
        let prefixes = [names.prefix, ""];
        let layout = Tagger::layout(&net);
        let mut to = Placing::new(&self.weights, layout, &prefixes);
        to.table("embedding.symbols", &["embeddings.word_embeddings.weight"])?;
        to.table("embedding.positions", &["embeddings.position_embeddings.weight"])?;
        to.table("embedding.types", &["embeddings.token_type_embeddings.weight"])?;
        to.norm("embedding.norm", "embeddings.LayerNorm")?;
        for i in 0..net.config.stack.layers {
            let from = |part: &str| format!("{}.{i}.{part}", names.layer);
            let own = |part: &str| format!("encoder.{i}.{part}");
            to.linear(&own("attention.qkv"), &names.query_key_value.map(from))?;
            to.linear(&own("attention.out"), &[from(names.attended)])?;
            to.norm(&own("attention.norm"), &from(names.attention_norm))?;
            to.linear(&own("feed.up"), &[from(names.up)])?;
            to.linear(&own("feed.down"), &[from(names.down)])?;
            to.norm(&own("feed.norm"), &from(names.feed_norm))?;
        }
        let new: &[&str] = match seed {
            Some(_) => &["output.w", "output.b"],
            None => {
                to.linear("output", &["classifier".to_owned()])?;
                &[]
            }
        };
        let weights = to.read(new, |layout| match seed {
            Some(seed) => layout.initial(seed),
            None => vec![0.0; layout.len()],
        })?;
        Ok((net, weights))
    }
}

/// Given the symbol of padding, positions begin after its number, and it has none, as in RoBERTa.
fn bert(
    c: &Config,
    tags: usize,
    padding: Option<usize>,
) -> Result<EncoderTaggerConfig, ImportError> {
    c.only("position_embedding_type", &json!("absolute"))?;
    c.only("is_decoder", &json!(false))?;
    let (width, heads) = c.heads("hidden_size", "num_attention_heads")?;
    Ok(EncoderTaggerConfig {
        embedding: EmbeddingConfig {
            symbols: c.size("vocab_size")?,
            positions: learned(c, "max_position_embeddings", padding)?,
            types: c.size_or("type_vocab_size", 2)?,
            has_norm: true,
            scale: 1.0,
        },
        stack: StackConfig {
            layers: c.layers("num_hidden_layers")?,
            inner: c.size("intermediate_size")?,
            activation: c.activation("hidden_act", "gelu")?,
            epsilon: c.number_or("layer_norm_eps", 1e-12)?,
            dropout: 0.1,
            ..like_bert(width, heads)
        },
        tags,
    })
}

fn distilbert(c: &Config, tags: usize) -> Result<EncoderTaggerConfig, ImportError> {
    let (width, heads) = c.heads("dim", "n_heads")?;
    Ok(EncoderTaggerConfig {
        embedding: EmbeddingConfig {
            symbols: c.size("vocab_size")?,
            positions: learned(c, "max_position_embeddings", None)?,
            types: 0,
            has_norm: true,
            scale: 1.0,
        },
        stack: StackConfig {
            layers: c.layers("n_layers")?,
            inner: c.size("hidden_dim")?,
            activation: c.activation("activation", "gelu")?,
            epsilon: 1e-12,
            dropout: 0.1,
            ..like_bert(width, heads)
        },
        tags,
    })
}

/// A table of positions. Given the symbol of padding, its number is the last row before the first
/// position.
fn learned(c: &Config, key: &str, padding: Option<usize>) -> Result<Positions, ImportError> {
    let (rows, offset) = (c.positions(key)?, padding.map_or(0, |padding| padding + 1));
    let padding = padding.map(|padding| padding as u32);
    match offset < rows {
        true => Ok(Positions::Learned { rows, offset, padding }),
        false => Err(c.problem(format!("{key:?} is {rows}, and the first position is {offset}"))),
    }
}

/// What these encoders have in common: norms after each sum, biases everywhere.
pub(super) fn like_bert(width: usize, heads: usize) -> StackConfig {
    StackConfig {
        layers: 1,
        width,
        heads,
        head_size: width / heads,
        scale: 1.0 / ((width / heads) as f32).sqrt(),
        inner: width,
        activation: crate::layers::activation::Nonlinearity::Gelu,
        is_gated: false,
        norm: NormKind::Layer,
        epsilon: 1e-5,
        is_norm_first: false,
        has_last_norm: false,
        has_biases: true,
        dropout: 0.1,
    }
}
