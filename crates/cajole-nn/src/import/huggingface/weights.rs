//! The tensors of a folder: `model.safetensors`, or shards that `model.safetensors.index.json` names.
//!
//! Headers are read and checked at first, tensors when they are asked for, a few rows at a time. So
//! memory is bounded by the headers, whatever sizes a file claims. Files are read rather than mapped:
//! a mapped file that another process truncates kills this one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cajole_files::{IoError, RegularFile};
use safetensors::tensor::{Dtype, Metadata};
use serde::Deserialize;

use super::super::placing::Source;
use super::super::{ImportError, check_shape, damaged, missing};
use super::json_of;
use crate::numbers::NumberType;

/// The file of a network that has only one.
const SINGLE: &str = "model.safetensors";
/// The file that says which shard holds which tensor.
const INDEX: &str = "model.safetensors.index.json";

/// Bytes of a header, beyond which a file is refused.
const MOST_HEADER_BYTES: u64 = 1 << 25;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// The tensors of a folder, not read yet.
#[derive(Debug)]
pub struct Weights {
    /// The folder's file that lists all tensors.
    path: PathBuf,
    files: Vec<PathBuf>,
    places: BTreeMap<String, Place>,
    /// Names that stand for another tensor.
    ties: BTreeMap<String, String>,
}

/// Where a tensor lies.
#[derive(Clone, Debug)]
struct Place {
    file: usize,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Offset in the file.
    at: u64,
}

/// The index of shards.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Weights {
    /// Reads the headers of a folder's tensors.
    ///
    /// # Errors
    /// If there are none, or a file is missing, truncated or otherwise damaged.
    pub(super) fn open(folder: &Path) -> Result<Weights, ImportError> {
        let index = folder.join(INDEX);
        let single = folder.join(SINGLE);
        let path = if single.exists() || !index.exists() { single } else { index };
        let mut weights =
            Weights { path, files: Vec::new(), places: BTreeMap::new(), ties: BTreeMap::new() };
        if weights.path.ends_with(SINGLE) {
            if !weights.path.exists() {
                return Err(ImportError::Options {
                    path: folder.to_owned(),
                    problem: format!(
                        "there is no {SINGLE}, nor {INDEX}: save the network with \
                         save_pretrained(..., safe_serialization=True)"
                    ),
                });
            }
            weights.add(weights.path.clone())?;
            return Ok(weights);
        }
        let Index { weight_map } = json_of(&weights.path)?;
        let shards: BTreeSet<&String> = weight_map.values().collect();
        for &shard in &shards {
            if Path::new(shard).file_name().is_none_or(|name| name != shard.as_str()) {
                let problem = format!("{shard:?} is not the name of a file in this folder");
                return Err(damaged(&weights.path, problem));
            }
            weights.add(folder.join(shard))?;
        }
        for (name, shard) in &weight_map {
            let place = weights.places.get(name);
            if place.is_none_or(|place| !weights.files[place.file].ends_with(shard)) {
                return Err(missing(&folder.join(shard), name));
            }
        }
        Ok(weights)
    }

    /// Whether two tensors hold the same values. A tensor that does not exist equals nothing.
    ///
    /// # Errors
    /// If a file cannot be read, or a value is not finite.
    pub(super) fn are_equal(&self, a: &str, b: &str) -> Result<bool, ImportError> {
        let shape = |name: &str| self.places.get(name).map(|place| &place.shape);
        if shape(a).is_none() || shape(a) != shape(b) {
            return Ok(false);
        }
        let (mut values, mut at, mut is_equal) = (Vec::new(), 0, true);
        self.each_row(a, &mut |_, row| values.extend_from_slice(row))?;
        self.each_row(b, &mut |_, row| {
            is_equal &= values.get(at..at + row.len()) == Some(row);
            at += row.len();
        })?;
        Ok(is_equal && at == values.len())
    }

    /// Reads the header of one file.
    fn add(&mut self, path: PathBuf) -> Result<(), ImportError> {
        let mut file = RegularFile::open(&path)?;
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(|_| damaged(&path, "it ends within its header"))?;
        let size = u64::from_le_bytes(size);
        if MOST_HEADER_BYTES < size {
            let problem = format!("a header of {size} bytes; at most {MOST_HEADER_BYTES} are read");
            return Err(damaged(&path, problem));
        }
        if file.len().saturating_sub(8) < size {
            return Err(damaged(&path, "it ends within its header"));
        }
        let mut header = vec![0; size as usize];
        file.read_exact(&mut header).map_err(IoError::at(&path))?;
        let header: Metadata = serde_json::from_slice(&header).map_err(|e| damaged(&path, e))?;
        let data = file.len() - 8 - size;
        for (name, info) in header.tensors().into_iter().collect::<BTreeMap<_, _>>() {
            let (start, end) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
            let count = info.shape.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim));
            let bits = count.and_then(|count| count.checked_mul(info.dtype.bitsize()));
            if end < start || bits.map(|bits| bits as u64 / 8) != Some(end - start) {
                let problem = format!("{name:?} has bytes {start} to {end} for {:?}", info.shape);
                return Err(damaged(&path, problem));
            }
            if data < end {
                let problem =
                    format!("{name:?} ends at byte {end} of {data}: the file is truncated");
                return Err(damaged(&path, problem));
            }
            let (dtype, shape) = (info.dtype, info.shape.clone());
            let place = Place { file: self.files.len(), dtype, shape, at: 8 + size + start };
            self.places.insert(name, place);
        }
        // `safetensors.torch.save_model` lists the names of shared tensors that it left out.
        let ties = header.metadata().clone().unwrap_or_default();
        self.ties.extend(ties);
        self.files.push(path);
        Ok(())
    }
}

impl Source for Weights {
    fn path(&self) -> &Path {
        &self.path
    }

    fn find(&self, names: &[String]) -> Result<Option<&str>, ImportError> {
        for name in names {
            let (mut at, mut steps) = (name, 0);
            loop {
                if let Some((found, _)) = self.places.get_key_value(at) {
                    return Ok(Some(found));
                }
                let Some(next) = self.ties.get(at) else { break };
                steps += 1;
                if self.ties.len() < steps {
                    let problem = format!("{name:?} is tied to itself, by way of {at:?}");
                    return Err(damaged(&self.path, problem));
                }
                at = next;
            }
        }
        Ok(None)
    }

    fn check(&self, name: &str, shape: &[usize]) -> Result<(), ImportError> {
        let place = self.places.get(name).ok_or_else(|| missing(&self.path, name))?;
        let path = &self.files[place.file];
        check_shape(path, name, &place.shape, shape)?;
        match type_of_weights(place.dtype) {
            Some(_) => Ok(()),
            None => {
                let problem = format!("{name:?} holds {:?}, which are not weights", place.dtype);
                Err(damaged(path, problem))
            }
        }
    }

    fn each_row(&self, name: &str, each: &mut dyn FnMut(usize, &[f32])) -> Result<(), ImportError> {
        let place = self.places.get(name).ok_or_else(|| missing(&self.path, name))?;
        let path = &self.files[place.file];
        let cols = place.shape.last().copied().unwrap_or(1);
        let rows = place.shape.iter().rev().skip(1).product::<usize>();
        let Some(numbers) = type_of_weights(place.dtype).filter(|_| cols > 0) else {
            return Ok(());
        };
        let size = numbers.size();
        let mut file = cajole_files::open(path).map_err(IoError::at(path))?;
        file.seek(SeekFrom::Start(place.at)).map_err(IoError::at(path))?;
        let at_once = (CHUNK_BYTES / (cols * size)).clamp(1, rows.max(1));
        let mut bytes = vec![0; at_once * cols * size];
        let mut row = vec![0.0; cols];
        for i in 0..rows {
            let k = i % at_once;
            if k == 0 {
                let n = at_once.min(rows - i) * cols * size;
                file.read_exact(&mut bytes[..n]).map_err(IoError::at(path))?;
            }
            numbers.decode(&bytes[k * cols * size..][..cols * size], &mut row);
            if let Some(j) = row.iter().position(|v| !v.is_finite()) {
                let (path, name) = (path.clone(), name.to_owned());
                return Err(ImportError::NotFinite { path, name, at: i * cols + j, value: row[j] });
            }
            each(i, &row);
        }
        Ok(())
    }
}

/// The type of numbers that are weights; `None` for others.
fn type_of_weights(dtype: Dtype) -> Option<NumberType> {
    match dtype {
        Dtype::F64 => Some(NumberType::F64),
        Dtype::F32 => Some(NumberType::F32),
        Dtype::F16 => Some(NumberType::F16),
        Dtype::BF16 => Some(NumberType::Bf16),
        _ => None,
    }
}
