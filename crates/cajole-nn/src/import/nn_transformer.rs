//! PyTorch's own `nn.Transformer` with embeddings, from a plain state dict.
//!
//! `nn.Transformer` fixes the names of its tensors; those around it are up to whoever wrote the
//! module. A [`Mapping`] names them, and says what shapes cannot: the number of heads, and what the
//! module computes between the tensors. All sizes are read off the tensors.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ImportError, Tensor, Tensors, expect, missing};
use crate::layers::activation::Nonlinearity;
use crate::layers::norm::NormKind;
use crate::layers::positions::Waves;
use crate::layout::Param;
use crate::models::transformer::{
    EmbeddingConfig, EncoderDecoder, EncoderDecoderConfig, Positions, StackConfig,
};
use crate::network::Trainable;
use crate::settings::size;

/// How many times the file's weights a network may have: small tensors are padded to cache lines.
const PADDED: usize = 16;

/// What a state dict does not say.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Mapping {
    /// What the names of `nn.Transformer`'s tensors begin with, without the dot.
    pub transformer: String,
    /// The table of what is read.
    pub reads: String,
    /// The table of what is written, as the decoder reads it.
    pub writes: String,
    /// The linear layer that scores symbols: `OUTPUT.weight`, and `OUTPUT.bias` if there is one.
    pub output: String,
    /// Tensors that the network does without, such as tables of sinusoids.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// The number of heads.
    #[serde(deserialize_with = "size")]
    pub heads: usize,
    /// Positions there are; they are told apart by sines and cosines in turn.
    #[serde(deserialize_with = "size")]
    pub positions: usize,
    /// Whether rows of symbols are multiplied by the root of their width.
    #[serde(default)]
    pub scales_symbols: bool,
    /// Whether norms stand before what they feed: `norm_first` of `nn.Transformer`.
    #[serde(default)]
    pub norm_first: bool,
    /// The activation of the feed-forward layers.
    #[serde(default = "relu")]
    pub activation: Nonlinearity,
}

fn relu() -> Nonlinearity {
    Nonlinearity::Relu
}

/// What is read first, what ends an output, and how long it may be, with its end.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// What the decoder reads first.
    pub start: u32,
    /// What ends an output.
    pub end: u32,
    /// Length limit of outputs.
    pub cap: usize,
}

/// Reads the network of a state dict; `path` is for messages.
///
/// # Errors
/// If a tensor is missing, of another shape, not finite, or has no place in the network.
pub fn read(
    tensors: &Tensors,
    path: &Path,
    mapping: &Mapping,
    ends: Ends,
) -> Result<(EncoderDecoder, Vec<f32>), ImportError> {
    let config = config(tensors, path, mapping, ends)?;
    config.check().map_err(|problem| ImportError::Options { path: path.to_owned(), problem })?;
    let net = EncoderDecoder::new(config);
    let (needed, known) =
        (net.layout().len(), tensors.values().map(|tensor| tensor.values.len()).sum::<usize>());
    if PADDED * known < needed {
        let problem = format!("the network needs {needed} weights, and the file has {known}");
        return Err(ImportError::Options { path: path.to_owned(), problem });
    }
    let weights = vec![0.0; needed];
    let mut to = Filling { tensors, path, net: &net, weights, used: BTreeSet::new() };
    to.table("reads.symbols", &mapping.reads)?;
    to.table("writes.symbols", &mapping.writes)?;
    to.table("output.symbols", &format!("{}.weight", mapping.output))?;
    to.vector("output.b", &format!("{}.bias", mapping.output), 0)?;
    for (stack, layers) in
        [("encoder", net.config.encoder.layers), ("decoder", net.config.decoder.layers)]
    {
        for i in 0..layers {
            let from = |part: &str| format!("{}.{stack}.layers.{i}.{part}", mapping.transformer);
            to.layer(&format!("{stack}.{i}"), &from, stack == "decoder")?;
        }
        to.norm(&format!("{stack}.norm"), &format!("{}.{stack}.norm", mapping.transformer))?;
    }
    let Filling { weights, used, .. } = to;
    let is_placed = |name: &&String| used.contains(*name) || mapping.ignored.contains(name);
    match tensors.keys().find(|name| !is_placed(name)) {
        Some(name) => Err(ImportError::Surplus {
            path: path.to_owned(),
            name: name.clone(),
            found: tensors[name].shape.clone(),
        }),
        None => Ok((net, weights)),
    }
}

/// The sizes, read off the tensors.
fn config(
    tensors: &Tensors,
    path: &Path,
    mapping: &Mapping,
    ends: Ends,
) -> Result<EncoderDecoderConfig, ImportError> {
    let shape = |name: &str| -> Result<(usize, usize), ImportError> {
        let tensor = tensors.get(name).ok_or_else(|| missing(path, name))?;
        match tensor.shape[..] {
            [rows, cols] => Ok((rows, cols)),
            _ => Err(ImportError::Shape {
                path: path.to_owned(),
                name: name.to_owned(),
                expected: vec![0, 0],
                found: tensor.shape.clone(),
            }),
        }
    };
    let (read, width) = shape(&mapping.reads)?;
    let (written, _) = shape(&mapping.writes)?;
    let stack = |name: &str| -> Result<StackConfig, ImportError> {
        let layer = |i: usize| format!("{}.{name}.layers.{i}.", mapping.transformer);
        let has = |i: &usize| tensors.contains_key(&format!("{}norm1.weight", layer(*i)));
        let (inner, _) = shape(&format!("{}linear1.weight", layer(0)))?;
        let head_size = width / mapping.heads;
        Ok(StackConfig {
            layers: (0..).take_while(has).count(),
            width,
            heads: mapping.heads,
            head_size,
            scale: 1.0 / (head_size.max(1) as f32).sqrt(),
            inner,
            activation: mapping.activation,
            is_gated: false,
            norm: NormKind::Layer,
            epsilon: 1e-5,
            is_norm_first: mapping.norm_first,
            has_last_norm: true,
            has_biases: true,
            dropout: 0.1,
        })
    };
    let embedding = |symbols| EmbeddingConfig {
        symbols,
        positions: Positions::Sinusoidal { rows: mapping.positions, waves: Waves::InTurn },
        types: 0,
        has_norm: false,
        scale: if mapping.scales_symbols { (width as f32).sqrt() } else { 1.0 },
    };
    Ok(EncoderDecoderConfig {
        reads: embedding(read),
        encoder: stack("encoder")?,
        writes: embedding(written),
        decoder: stack("decoder")?,
        shares_symbols: false,
        ties_output: false,
        has_output_bias: tensors.contains_key(&format!("{}.bias", mapping.output)),
        output_scale: 1.0,
        start: ends.start,
        end: ends.end,
        cap: ends.cap,
    })
}

/// Weights that are being filled.
struct Filling<'a> {
    tensors: &'a Tensors,
    path: &'a Path,
    net: &'a EncoderDecoder,
    weights: Vec<f32>,
    used: BTreeSet<String>,
}

impl<'a> Filling<'a> {
    /// The parameter of this name, if the network has it.
    fn param(&self, name: &str) -> Option<Param> {
        let entries = self.net.layout().entries();
        entries.iter().find(|entry| entry.name == name).map(|entry| entry.param)
    }

    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<&'a Tensor, ImportError> {
        self.used.insert(name.to_owned());
        expect(self.tensors, self.path, name, shape)
    }

    /// A table, row by row.
    fn table(&mut self, name: &str, from: &str) -> Result<(), ImportError> {
        let Some(to) = self.param(name) else { return Ok(()) };
        let tensor = self.tensor(from, &[to.rows as usize, to.cols as usize])?;
        self.weights[to.range()].copy_from_slice(&tensor.values);
        Ok(())
    }

    /// A vector, from as many elements of a tensor as there are from `first` on.
    fn vector(&mut self, name: &str, from: &str, first: usize) -> Result<(), ImportError> {
        let Some(to) = self.param(name) else { return Ok(()) };
        let whole = self.tensors.get(from).map_or(first, |tensor| tensor.values.len());
        let tensor = self.tensor(from, &[whole.max(first + to.cols as usize)])?;
        self.weights[to.range()].copy_from_slice(&tensor.values[first..][..to.cols as usize]);
        Ok(())
    }

    /// A matrix, transposed, from the rows of a tensor of `whole` from `first` on.
    fn matrix(
        &mut self,
        name: &str,
        from: &str,
        first: usize,
        whole: usize,
    ) -> Result<(), ImportError> {
        let Some(to) = self.param(name) else { return Ok(()) };
        let (k, n) = (to.rows as usize, to.cols as usize);
        let tensor = self.tensor(from, &[whole, k])?;
        let own = &mut self.weights[to.range()];
        for (i, row) in tensor.values.chunks_exact(k).skip(first).take(n).enumerate() {
            row.iter().enumerate().for_each(|(j, value)| own[j * n + i] = *value);
        }
        Ok(())
    }

    fn linear(&mut self, name: &str, from: &str) -> Result<(), ImportError> {
        let n = self.param(&format!("{name}.w")).map_or(0, |to| to.cols as usize);
        self.matrix(&format!("{name}.w"), &format!("{from}.weight"), 0, n)?;
        self.vector(&format!("{name}.b"), &format!("{from}.bias"), 0)
    }

    fn norm(&mut self, name: &str, from: &str) -> Result<(), ImportError> {
        self.vector(&format!("{name}.gain"), &format!("{from}.weight"), 0)?;
        self.vector(&format!("{name}.bias"), &format!("{from}.bias"), 0)
    }

    /// One layer: queries, keys and values lie in one tensor.
    fn layer(
        &mut self,
        name: &str,
        from: &dyn Fn(&str) -> String,
        is_decoder: bool,
    ) -> Result<(), ImportError> {
        let width = self.net.config.encoder.width;
        let mut projected = |part: &str, attention: &str, first: usize| {
            let (w, b) = ("in_proj_weight", "in_proj_bias");
            let tensor = |end: &str| from(&format!("{attention}.{end}"));
            self.matrix(&format!("{name}.{part}.w"), &tensor(w), first, 3 * width)?;
            self.vector(&format!("{name}.{part}.b"), &tensor(b), first)
        };
        projected("attention.qkv", "self_attn", 0)?;
        if is_decoder {
            projected("cross.q", "multihead_attn", 0)?;
            projected("cross.kv", "multihead_attn", width)?;
            self.linear(&format!("{name}.cross.out"), &from("multihead_attn.out_proj"))?;
        }
        self.linear(&format!("{name}.attention.out"), &from("self_attn.out_proj"))?;
        self.linear(&format!("{name}.feed.up"), &from("linear1"))?;
        self.linear(&format!("{name}.feed.down"), &from("linear2"))?;
        let norms: &[&str] = match is_decoder {
            true => &["attention", "cross", "feed"],
            false => &["attention", "feed"],
        };
        for (norm, i) in norms.iter().zip(1..) {
            self.norm(&format!("{name}.{norm}.norm"), &from(&format!("norm{i}")))?;
        }
        Ok(())
    }
}
