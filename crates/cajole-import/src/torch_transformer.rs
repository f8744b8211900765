//! Networks around PyTorch's `nn.Transformer`: embeddings, the transformer, a linear layer on top.
//!
//! A state dict has the weights but not how they are used, and embeddings have no fixed names. A few
//! [`Names`] and [`Ends`] say what is missing; sizes follow from the tensors.

use std::collections::BTreeSet;
use std::path::Path;

use cajole_core::model::Symbol;
use cajole_nn::Trainable;
use cajole_nn::import::placing::{Placing, Rows, Source};
use cajole_nn::import::{ImportError, check_finite, check_shape, missing};
use cajole_nn::layers::activation::Nonlinearity;
use cajole_nn::layers::norm::NormKind;
use cajole_nn::layers::positions::Waves;
use cajole_nn::models::transformer::{
    EmbeddingConfig, EncoderDecoder, EncoderDecoderConfig, Positions, StackConfig,
};
use cajole_nn::settings::{dropout, size};
use serde::{Deserialize, Serialize};

use crate::tensors::Tensors;

/// What a state dict does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Names {
    /// The `nn.Transformer`, such as `transformer`.
    pub transformer: String,
    /// The `nn.Embedding` of what is read.
    pub reads: String,
    /// The `nn.Embedding` of what is written.
    pub writes: String,
    /// The `nn.Linear` on top.
    pub output: String,
    /// Tensors of learned positions, of what is read and of what is written; without them, positions
    /// are sinusoids.
    #[serde(default)]
    pub positions: Option<(String, String)>,
    /// Tensors that the network does without, such as stored sinusoids.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// Longest sequence, where positions are sinusoids.
    #[serde(default = "longest", deserialize_with = "size")]
    pub longest: usize,
    /// Whether embeddings are multiplied with the square root of their size.
    #[serde(default)]
    pub scales: bool,
    /// Attention heads.
    #[serde(deserialize_with = "size")]
    pub heads: usize,
    /// `norm_first` of the transformer.
    #[serde(default)]
    pub norm_first: bool,
    /// `activation` of the transformer.
    #[serde(default = "relu")]
    pub activation: Nonlinearity,
    /// Dropout rate in training.
    #[serde(default, deserialize_with = "dropout")]
    pub dropout: f32,
}

/// How outputs begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ends {
    /// The symbol that the decoder reads first.
    pub start: Symbol,
    /// The symbol that ends an output.
    pub end: Symbol,
    /// Length limit of outputs, including the end symbol.
    #[serde(deserialize_with = "size")]
    pub cap: usize,
}

fn longest() -> usize {
    1024
}

fn relu() -> Nonlinearity {
    Nonlinearity::Relu
}

/// The most positions: sinusoids are computed.
const MOST_POSITIONS: usize = 1 << 16;

/// A state dict in memory.
struct StateDict<'a> {
    path: &'a Path,
    tensors: &'a Tensors,
}

impl Source for StateDict<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn find(&self, names: &[String]) -> Result<Option<&str>, ImportError> {
        let found = names.iter().find_map(|name| self.tensors.get_key_value(name));
        Ok(found.map(|(name, _)| name.as_str()))
    }

    fn check(&self, name: &str, shape: &[usize]) -> Result<(), ImportError> {
        check_shape(self.path, name, self.shape(name)?, shape)
    }

    fn each_row(&self, name: &str, each: &mut dyn FnMut(usize, &[f32])) -> Result<(), ImportError> {
        let tensor = self.tensors.get(name).ok_or_else(|| missing(self.path, name))?;
        check_finite(self.path, name, &tensor.values)?;
        let cols = tensor.shape.last().copied().unwrap_or(1).max(1);
        tensor.values.chunks_exact(cols).enumerate().for_each(|(i, row)| each(i, row));
        Ok(())
    }
}

impl StateDict<'_> {
    fn shape(&self, name: &str) -> Result<&[usize], ImportError> {
        let tensor = self.tensors.get(name);
        Ok(&tensor.ok_or_else(|| missing(self.path, name))?.shape)
    }

    /// The shape of a matrix.
    fn matrix(&self, name: &str) -> Result<(usize, usize), ImportError> {
        match self.shape(name)? {
            &[rows, cols] if 0 < rows && 0 < cols => Ok((rows, cols)),
            found => Err(self.problem(format!("{name:?} has shape {found:?}, which is no matrix"))),
        }
    }

    /// Checks that the network uses every tensor, or is told to ignore it.
    fn check_all_placed(
        &self,
        placed: &BTreeSet<&str>,
        ignored: &[String],
    ) -> Result<(), ImportError> {
        let is_known = |name: &str| placed.contains(name) || ignored.iter().any(|i| i == name);
        match self.tensors.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, tensor)) => Err(ImportError::Surplus {
                path: self.path.to_owned(),
                name: name.clone(),
                found: tensor.shape.clone(),
            }),
        }
    }

    fn problem(&self, problem: String) -> ImportError {
        ImportError::Options { path: self.path.to_owned(), problem }
    }
}

/// The network that a state dict holds, and its weights; `path` is used in error messages.
///
/// # Errors
/// If a tensor is missing, of another shape, not finite, or has no place in the network, or the names
/// do not fit.
pub fn read(
    path: &Path,
    tensors: &Tensors,
    names: &Names,
    ends: Ends,
) -> Result<(EncoderDecoder, Vec<f32>), ImportError> {
    let source = StateDict { path, tensors };
    let config = config(&source, names, ends)?;
    config.check().map_err(|problem| source.problem(problem))?;
    let net = EncoderDecoder::new(config);
    let width = net.config.encoder.width;
    let mut to = Placing::new(&source, net.layout(), &[""]);
    // PyTorch joins queries, keys and values in one layer.
    let joined = |first: usize, n: usize| Rows { first, n, of: 3 * width };
    to.table("reads.symbols", &[&format!("{}.weight", names.reads)])?;
    to.table("writes.symbols", &[&format!("{}.weight", names.writes)])?;
    if let Some((reads, writes)) = &names.positions {
        to.table("reads.positions", &[reads])?;
        to.table("writes.positions", &[writes])?;
    }
    to.table("output.symbols", &[&format!("{}.weight", names.output)])?;
    to.vector("output.b", &format!("{}.bias", names.output), &[net.config.writes.symbols])?;
    for (stack, layers) in
        [("encoder", net.config.encoder.layers), ("decoder", net.config.decoder.layers)]
    {
        let all = format!("{}.{stack}", names.transformer);
        to.norm(&format!("{stack}.norm"), &format!("{all}.norm"))?;
        let (cross_norm, last_norm) = ("norm2", if stack == "encoder" { "norm2" } else { "norm3" });
        for i in 0..layers {
            let from = |part: &str| format!("{all}.layers.{i}.{part}");
            let own = |part: &str| format!("{stack}.{i}.{part}");
            let projected = |part: &str| from(&format!("{part}.in_proj_"));
            let same = projected("self_attn");
            to.part(&own("attention.qkv"), &[&same, ""], joined(0, 3 * width), 0)?;
            to.linear(&own("attention.out"), &[from("self_attn.out_proj")])?;
            to.norm(&own("attention.norm"), &from("norm1"))?;
            let cross = projected("multihead_attn");
            to.part(&own("cross.q"), &[&cross, ""], joined(0, width), 0)?;
            to.part(&own("cross.kv"), &[&cross, ""], joined(width, 2 * width), 0)?;
            to.linear(&own("cross.out"), &[from("multihead_attn.out_proj")])?;
            to.norm(&own("cross.norm"), &from(cross_norm))?;
            to.linear(&own("feed.up"), &[from("linear1")])?;
            to.linear(&own("feed.down"), &[from("linear2")])?;
            to.norm(&own("feed.norm"), &from(last_norm))?;
        }
    }
    source.check_all_placed(&to.tensors(), &names.ignored)?;
    let weights = to.read(&[], |layout| vec![0.0; layout.len()])?;
    Ok((net, weights))
}

fn config(
    source: &StateDict<'_>,
    names: &Names,
    ends: Ends,
) -> Result<EncoderDecoderConfig, ImportError> {
    let (read, width) = source.matrix(&format!("{}.weight", names.reads))?;
    let (written, _) = source.matrix(&format!("{}.weight", names.writes))?;
    if !width.is_multiple_of(names.heads) {
        let problem = format!("{} heads do not divide embeddings of {width}", names.heads);
        return Err(source.problem(problem));
    }
    for (name, symbol) in [("start", ends.start), ("end", ends.end)] {
        if written <= symbol as usize {
            let problem = format!("{name} is {symbol}, and {written} symbols are written");
            return Err(source.problem(problem));
        }
    }
    if MOST_POSITIONS < names.longest {
        let problem = format!("longest is {}; it may be {MOST_POSITIONS}", names.longest);
        return Err(source.problem(problem));
    }
    let scale = if names.scales { (width as f32).sqrt() } else { 1.0 };
    let embedding = |symbols: usize, learned: Option<&String>| {
        let positions = match learned {
            Some(name) => {
                Positions::Learned { rows: source.matrix(name)?.0, offset: 0, padding: None }
            }
            None => Positions::Sinusoidal { rows: names.longest, waves: Waves::InTurn },
        };
        Ok::<_, ImportError>(EmbeddingConfig {
            symbols,
            positions,
            types: 0,
            has_norm: false,
            scale,
        })
    };
    let learned = names.positions.as_ref();
    Ok(EncoderDecoderConfig {
        reads: embedding(read, learned.map(|(reads, _)| reads))?,
        encoder: stack(source, names, "encoder", width)?,
        writes: embedding(written, learned.map(|(_, writes)| writes))?,
        decoder: stack(source, names, "decoder", width)?,
        shares_symbols: false,
        ties_output: false,
        has_output_bias: source.tensors.contains_key(&format!("{}.bias", names.output)),
        output_scale: 1.0,
        start: ends.start,
        end: ends.end,
        cap: ends.cap,
        cap_factor: 0,
        reads_end: false,
        vectors: None,
    })
}

fn stack(
    source: &StateDict<'_>,
    names: &Names,
    stack: &str,
    width: usize,
) -> Result<StackConfig, ImportError> {
    let all = format!("{}.{stack}", names.transformer);
    let first = |i: usize| format!("{all}.layers.{i}.linear1.weight");
    let layers = (0..).take_while(|&i| source.tensors.contains_key(&first(i))).count();
    let (inner, _) = source.matrix(&first(0))?;
    let head_size = width / names.heads;
    Ok(StackConfig {
        layers,
        width,
        heads: names.heads,
        head_size,
        scale: 1.0 / (head_size as f32).sqrt(),
        inner,
        activation: names.activation,
        is_gated: false,
        norm: NormKind::Layer,
        epsilon: 1e-5,
        is_norm_first: names.norm_first,
        has_last_norm: source.tensors.contains_key(&format!("{all}.norm.weight")),
        has_biases: source.tensors.contains_key(&format!("{all}.layers.0.linear1.bias")),
        dropout: names.dropout,
    })
}
