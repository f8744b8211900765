//! Converts AllenNLP's tensors to our parameters.
//!
//! Alphabet: `D` total input size, `H` hidden units, `V` tags; `X` and `S` are the blocks of a
//! cell's input and state matrices: 4 and 4, or 6 and 5 with highway connections. The blocks have
//! the same order on both sides: `i, f, g, o`, the highway gate, the linear input. PyTorch's
//! matrices are `(out, in)`, ours `(in, out)`.

use std::collections::BTreeMap;
use std::path::Path;

use cajole_nn::Tagger;
use cajole_nn::import::{ImportError, Tensor, missing};
use cajole_nn::models::elmo::Mix;
use cajole_nn::models::{CellKind, Features, LstmTagger, TaggerConfig};

use super::settings::{Embedding, EncoderKind, Settings};
use crate::{allennlp, expect};

/// The tensors of an archive, and which of them are still unused.
pub(super) struct Tensors<'a> {
    path: &'a Path,
    all: &'a crate::Tensors,
    left: BTreeMap<&'a str, &'a Tensor>,
}

impl<'a> Tensors<'a> {
    pub(super) fn new(path: &'a Path, all: &'a crate::Tensors) -> Self {
        let left = all.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        Tensors { path, all, left }
    }

    /// Takes the values of a tensor, checking its shape.
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<&'a [f32], ImportError> {
        let tensor = expect(self.all, self.path, name, shape)?;
        self.left.remove(name);
        Ok(&tensor.values)
    }

    /// Looks at a tensor without taking it.
    pub(super) fn get(&self, name: &str) -> Result<&'a Tensor, ImportError> {
        self.all.get(name).ok_or_else(|| missing(self.path, name))
    }

    /// The ELMo layer mix.
    pub(super) fn mix(&mut self, prefix: &str, layers: usize) -> Result<Mix, ImportError> {
        let mix = allennlp::mix(self.path, self.all, prefix, layers)?;
        self.pass_over(&format!("{prefix}."));
        Ok(mix)
    }

    /// Ignores all tensors with this prefix.
    pub(super) fn pass_over(&mut self, prefix: &str) {
        self.left.retain(|name, _| !name.starts_with(prefix));
    }

    /// # Errors
    /// If an unused tensor is left.
    pub(super) fn expect_none(&self) -> Result<(), ImportError> {
        match self.left.first_key_value() {
            None => Ok(()),
            Some((name, tensor)) => Err(ImportError::Surplus {
                path: self.path.to_owned(),
                name: (*name).to_owned(),
                found: tensor.shape.clone(),
            }),
        }
    }
}

/// The weights of the network, in our order.
pub(super) fn weights(
    tensors: &mut Tensors<'_>,
    settings: &Settings,
    network: &TaggerConfig,
) -> Result<Vec<f32>, ImportError> {
    let mut found = BTreeMap::new();
    for (name, embedding) in &settings.embedders {
        if let Embedding::Words { size, .. } = embedding {
            let name = format!("text_field_embedder.token_embedder_{name}.weight");
            let table = tensors.take(&name, &[network.words, *size])?;
            found.insert("input.words".to_owned(), table.to_vec());
        }
    }
    // Row 0 is for all words but the predicate, as in AllenNLP's indicator.
    let indicator = tensors.take("binary_feature_embedding.weight", &[2, network.indicator])?;
    found.insert("input.indicator".to_owned(), indicator.to_vec());
    let h = network.hidden;
    let mut order = order(settings, network); // (D)
    for i in 0..network.layers {
        let cell = match settings.encoder.kind {
            EncoderKind::Lstm => lstm(tensors, i, &order, h)?,
            EncoderKind::Alternating { cell, input_bias } => {
                alternating(tensors, i, &order, h, cell, input_bias)?
            }
        };
        for (part, values) in ["w_x", "w_h", "b"].into_iter().zip(cell) {
            found.insert(format!("layer{i}.{part}"), values);
        }
        order = (0..h).collect();
    }
    let name = "tag_projection_layer._module";
    let w = tensors.take(&format!("{name}.weight"), &[network.tags, h])?;
    let b = tensors.take(&format!("{name}.bias"), &[network.tags])?;
    found.insert("output.w".to_owned(), transposed(w, &order));
    found.insert("output.b".to_owned(), b.to_vec());

    let net = LstmTagger::<Features>::new(network.clone());
    let mut weights = vec![0.0; net.layout().len()];
    for entry in net.layout().entries() {
        weights[entry.param.range()].copy_from_slice(&found[&entry.name]);
    }
    Ok(weights)
}

/// For each of our inputs, its position in AllenNLP, which concatenates words and ELMo in name
/// order, where we put words first.
fn order(settings: &Settings, network: &TaggerConfig) -> Vec<usize> {
    let (mut words, mut elmo, mut at) = (0..0, 0..0, 0);
    for (_, embedding) in &settings.embedders {
        let (part, size) = match embedding {
            Embedding::Words { size, .. } => (&mut words, *size),
            Embedding::Elmo => (&mut elmo, network.dense),
        };
        *part = at..at + size;
        at += size;
    }
    words.chain(elmo).chain(at..at + network.indicator).collect()
}

/// A layer of PyTorch's `nn.LSTM`: `w_x`, `w_h`, `b`.
fn lstm(
    tensors: &mut Tensors<'_>,
    i: usize,
    order: &[usize],
    h: usize,
) -> Result<[Vec<f32>; 3], ImportError> {
    let mut take =
        |part: &str, shape: &[usize]| tensors.take(&format!("encoder._module.{part}_l{i}"), shape);
    let w_x = take("weight_ih", &[4 * h, order.len()])?;
    let w_h = take("weight_hh", &[4 * h, h])?;
    let (b_x, b_h) = (take("bias_ih", &[4 * h])?, take("bias_hh", &[4 * h])?);
    let b = b_x.iter().zip(b_h).map(|(x, h)| x + h).collect();
    Ok([transposed(w_x, order), transposed(w_h, &(0..h).collect::<Vec<_>>()), b])
}

/// A layer of AllenNLP's alternating LSTM: `w_x`, `w_h`, `b`.
fn alternating(
    tensors: &mut Tensors<'_>,
    i: usize,
    order: &[usize],
    h: usize,
    cell: CellKind,
    input_bias: bool,
) -> Result<[Vec<f32>; 3], ImportError> {
    let (n_x, n_h) = (cell.inputs(), cell.gates());
    // Since version 1.0 the cell is a module inside the layer.
    let mut layer = format!("encoder._module.layer_{i}");
    if tensors.all.contains_key(&format!("{layer}.cell.input_linearity.weight")) {
        layer += ".cell";
    }
    let mut take = |part: &str, shape: &[usize]| tensors.take(&format!("{layer}.{part}"), shape);
    let w_x = take("input_linearity.weight", &[n_x * h, order.len()])?;
    let w_h = take("state_linearity.weight", &[n_h * h, h])?;
    let b_h = take("state_linearity.bias", &[n_h * h])?;
    let mut b = vec![0.0; n_x * h];
    if input_bias {
        b.copy_from_slice(take("input_linearity.bias", &[n_x * h])?);
    }
    // The linear input has no recurrent part.
    b.iter_mut().zip(b_h).for_each(|(b, b_h)| *b += b_h);
    Ok([transposed(w_x, order), transposed(w_h, &(0..h).collect::<Vec<_>>()), b])
}

/// Transposes `(out, in)` to `(in, out)`, with row `i` from column `order[i]`.
fn transposed(w: &[f32], order: &[usize]) -> Vec<f32> {
    let columns = order.iter();
    columns.flat_map(|&column| w.chunks_exact(order.len()).map(move |row| row[column])).collect()
}
