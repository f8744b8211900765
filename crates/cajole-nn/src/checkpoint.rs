//! Weights on disk: safetensors, one tensor per named parameter, f32 or f16.
//!
//! A checkpoint is a directory. This module handles its two tensor files: `model.safetensors` and,
//! during training, `training.safetensors`, from which a run resumes. Files are written to a
//! temporary name and renamed, so a killed process never leaves a partial file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cajole_files::{IoError, read_regular, replace_whole};
use half::f16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, View};

use crate::layout::{Entry, Layout};
use crate::numbers::NumberType;
use crate::train::{Progress, TrainState};

/// The file with a model's weights.
pub const MODEL_FILE: &str = "model.safetensors";
/// The file with the state of a training run.
pub const TRAINING_FILE: &str = "training.safetensors";

/// Storage precision of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Single precision, lossless.
    F32,
    /// Half precision, for release.
    F16,
}

/// Why a checkpoint could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Not a safetensors file, or truncated.
    #[error("{path} is damaged or not a safetensors file: {problem}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The tensors do not match the network.
    #[error("{path} does not fit this network: {problem}", path = path.display())]
    Misfit {
        /// The file.
        path: PathBuf,
        /// The missing or mismatched tensor.
        problem: String,
    },
    /// A weight is not a finite number, or would not be one in half precision.
    #[error(
        "{path}: the tensor {tensor:?} has {value} at {at}; weights must be finite",
        path = path.display()
    )]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The position of the first such weight, row after row.
        at: usize,
        /// The weight.
        value: f32,
    },
}

type Result<T> = std::result::Result<T, CheckpointError>;

/// Writes the weights `w` of a network with this layout.
///
/// # Errors
/// If the file cannot be written, or a weight is not finite in this precision.
pub fn save(path: &Path, layout: &Layout, w: &[f32], precision: Precision) -> Result<()> {
    write(path, &to_bytes(path, layout, w, precision)?)
}

/// The weights `w` of a network with this layout as the bytes of a file.
///
/// # Errors
/// If a weight is not finite in this precision; `path` is used in the message.
pub fn to_bytes(path: &Path, layout: &Layout, w: &[f32], precision: Precision) -> Result<Vec<u8>> {
    check_finite(path, layout, w, precision)?;
    let tensors =
        layout.entries().iter().map(|entry| (entry.name.clone(), tensor(entry, w, precision)));
    serialized(path, tensors)
}

/// Reads the weights of a network with this layout.
///
/// # Errors
/// If the file is missing, damaged, or for another network, or a weight is not finite.
pub fn load(path: &Path, layout: &Layout) -> Result<Vec<f32>> {
    from_bytes(path, &read_regular(path)?, layout)
}

/// Reads the weights of a network with this layout from the bytes of a file.
///
/// # Errors
/// If the bytes are damaged or for another network, or a weight is not finite; `path` is used in
/// error messages.
pub fn from_bytes(path: &Path, bytes: &[u8], layout: &Layout) -> Result<Vec<f32>> {
    let file = parse(path, bytes)?;
    let w = weights(path, &file, layout, "")?;
    let known = |name: &str| layout.entries().iter().any(|entry| entry.name == name);
    match file.names().into_iter().find(|name| !known(name)) {
        Some(name) => Err(misfit(path, format!("unexpected tensor {name:?}"))),
        None => Ok(w),
    }
}

/// Writes the state of a training run.
///
/// # Errors
/// If the file cannot be written, or a weight is not finite.
pub fn save_training(path: &Path, layout: &Layout, state: &TrainState) -> Result<()> {
    write(path, &training_to_bytes(path, layout, state)?)
}

/// The state of a training run as the bytes of a file.
///
/// # Errors
/// If a weight is not finite; `path` is used in the message.
pub fn training_to_bytes(path: &Path, layout: &Layout, state: &TrainState) -> Result<Vec<u8>> {
    check_finite(path, layout, &state.weights, Precision::F32)?;
    let Progress { epoch, step, best_score, best_epoch, batch, loss, symbols } = state.progress;
    let [epoch, step, best_epoch] = [epoch, step, best_epoch].map(|n| n as f64);
    let numbers = [epoch, step, best_score, best_epoch, batch as f64, loss, symbols as f64];
    let progress = Owned {
        dtype: Dtype::F64,
        shape: vec![numbers.len()],
        data: numbers.iter().flat_map(|v| v.to_le_bytes()).collect(),
    };
    let all = [
        ("now/", &*state.weights),
        ("best/", &*state.best_weights),
        ("first/", state.momenta.first.as_slice()),
        ("second/", state.momenta.second.as_slice()),
    ];
    let tensors = all.iter().filter(|(_, w)| !w.is_empty()).flat_map(|(prefix, w)| {
        let entries = layout.entries().iter();
        entries.map(move |e| (format!("{prefix}{}", e.name), tensor(e, w, Precision::F32)))
    });
    serialized(path, tensors.chain([("progress".to_owned(), progress)]))
}

/// Reads the state of a training run.
///
/// # Errors
/// If the file is missing, damaged, or for another network.
pub fn load_training(path: &Path, layout: &Layout) -> Result<TrainState> {
    training_from_bytes(path, &read_regular(path)?, layout)
}

/// Reads the state of a training run from the bytes of a file.
///
/// # Errors
/// If the bytes are damaged or for another network; `path` is used in error messages.
pub fn training_from_bytes(path: &Path, bytes: &[u8], layout: &Layout) -> Result<TrainState> {
    let file = parse(path, bytes)?;
    let numbers = file.tensor("progress").map_err(|e| damaged(path, &e))?;
    let numbers: Vec<f64> =
        numbers.data().as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let &[epoch, step, best_score, best_epoch, batch, loss, symbols] = numbers.as_slice() else {
        return Err(misfit(path, format!("progress has {} numbers, not 7", numbers.len())));
    };
    let mut state = TrainState {
        progress: Progress {
            epoch: epoch as usize,
            step: step as usize,
            best_score,
            best_epoch: best_epoch as usize,
            batch: batch as usize,
            loss,
            symbols: symbols as usize,
        },
        ..TrainState::default()
    };
    let has = |prefix: &str| file.names().iter().any(|name| name.starts_with(prefix));
    let read = |prefix: &str| weights(path, &file, layout, prefix);
    state.weights = read("now/")?.into();
    state.best_weights = read("best/")?.into();
    if has("first/") {
        state.momenta.first = read("first/")?;
    }
    if has("second/") {
        state.momenta.second = read("second/")?;
    }
    Ok(state)
}

/// A tensor that owns its bytes.
struct Owned {
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl View for Owned {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.data)
    }

    fn data_len(&self) -> usize {
        self.data.len()
    }
}

fn tensor(entry: &Entry, w: &[f32], precision: Precision) -> Owned {
    let values = entry.param.of(w).iter();
    let (dtype, data) = match precision {
        Precision::F32 => (Dtype::F32, values.flat_map(|v| v.to_le_bytes()).collect()),
        Precision::F16 => {
            (Dtype::F16, values.flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect())
        }
    };
    Owned { dtype, shape: shape(entry), data }
}

/// Vectors are stored with one dimension, matrices with two.
fn shape(entry: &Entry) -> Vec<usize> {
    let (rows, cols) = (entry.param.rows as usize, entry.param.cols as usize);
    if rows == 1 { vec![cols] } else { vec![rows, cols] }
}

/// The tensors of `layout`, with `prefix` before each name. Checks that all are present before
/// allocating, so that a small file for a large network costs nothing.
fn weights(path: &Path, file: &SafeTensors<'_>, layout: &Layout, prefix: &str) -> Result<Vec<f32>> {
    if layout.is_too_large() {
        return Err(misfit(path, format!("{} weights are more than 2³²", layout.len())));
    }
    let mut found = Vec::with_capacity(layout.entries().len());
    for entry in layout.entries() {
        let name = format!("{prefix}{}", entry.name);
        let tensor = file
            .tensor(&name)
            .map_err(|_| misfit(path, format!("the tensor {name:?} is missing")))?;
        // A one-row matrix may be stored as a vector.
        let flat = |shape: &[usize]| shape.iter().copied().filter(|&d| d != 1).collect::<Vec<_>>();
        if flat(tensor.shape()) != flat(&shape(entry)) {
            let problem = format!(
                "the tensor {name:?} has shape {:?}, not {:?}",
                tensor.shape(),
                shape(entry)
            );
            return Err(misfit(path, problem));
        }
        found.push((name, tensor));
    }
    let mut w = vec![0.0; layout.len()];
    for (entry, (name, tensor)) in layout.entries().iter().zip(&found) {
        copy(path, name, tensor, &mut w[entry.param.range()])?;
    }
    Ok(w)
}

fn copy(path: &Path, name: &str, found: &TensorView<'_>, w: &mut [f32]) -> Result<()> {
    let numbers = match found.dtype() {
        Dtype::F32 => NumberType::F32,
        Dtype::F16 => NumberType::F16,
        other => {
            let problem = format!("the tensor {name:?} is of type {other:?}, not F32 or F16");
            return Err(misfit(path, problem));
        }
    };
    numbers.decode(found.data(), w);
    match w.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(not_finite(path, name, at, w[at])),
        None => Ok(()),
    }
}

/// The first weight that is not finite, as an error.
///
/// # Errors
/// If there is one.
pub fn check_finite(path: &Path, layout: &Layout, w: &[f32], precision: Precision) -> Result<()> {
    let is_finite = |v: f32| match precision {
        Precision::F32 => v.is_finite(),
        Precision::F16 => f16::from_f32(v).is_finite(),
    };
    for entry in layout.entries() {
        let values = entry.param.of(w);
        if let Some(at) = values.iter().position(|&v| !is_finite(v)) {
            return Err(not_finite(path, &entry.name, at, values[at]));
        }
    }
    Ok(())
}

fn not_finite(path: &Path, tensor: &str, at: usize, value: f32) -> CheckpointError {
    CheckpointError::NotFinite { path: path.to_owned(), tensor: tensor.to_owned(), at, value }
}

fn parse<'b>(path: &Path, bytes: &'b [u8]) -> Result<SafeTensors<'b>> {
    SafeTensors::deserialize(bytes).map_err(|e| damaged(path, &e))
}

fn serialized(path: &Path, tensors: impl Iterator<Item = (String, Owned)>) -> Result<Vec<u8>> {
    safetensors::serialize(tensors, None).map_err(|e| damaged(path, &e))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    Ok(replace_whole(path, bytes).map_err(IoError::at(path))?)
}

fn damaged(path: &Path, problem: &dyn std::fmt::Display) -> CheckpointError {
    CheckpointError::Damaged { path: path.to_owned(), problem: problem.to_string() }
}

fn misfit(path: &Path, problem: String) -> CheckpointError {
    CheckpointError::Misfit { path: path.to_owned(), problem }
}
