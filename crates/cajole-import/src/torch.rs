//! PyTorch checkpoints: a pickle that describes the tensors, and their raw storages.
//!
//! Since version 1.6 `torch.save` writes a zip file, with the pickle in `data.pkl` and every
//! storage in a file under `data/`. Before that it wrote a sequence of pickles (a magic number, a
//! version, type sizes, the object, its storage keys), followed by the storages.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;

use cajole_files::read_regular;
use cajole_nn::import::{ImportError, Tensor, damaged, missing};
use cajole_nn::numbers::NumberType;
use zip::ZipArchive;

use crate::pickle::{self, Cursor, Fault, Heap, Strided, Value};
use crate::tensors::Tensors;

/// Magic bytes of the zip format.
const ZIP: &[u8] = b"PK\x03\x04";
/// Magic number of the legacy format.
const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
/// Version of the legacy format.
const VERSION: i128 = 1001;
/// Limits on the nesting of dictionaries and on the length of a tensor's full name.
const MAX_DEPTH: usize = 16;
const MAX_NAME: usize = 1024;

/// Reads the tensors of a checkpoint.
///
/// Names in nested dictionaries and lists are joined by dots. Numbers of any type become `f32`,
/// which rounds integers beyond 2²⁴. Anything that is not a tensor (such as an epoch) is skipped.
///
/// # Errors
/// If the file cannot be read, is damaged, or holds objects other than tensors and containers.
pub fn read(path: &Path) -> Result<Tensors, ImportError> {
    from_bytes(path, &read_regular(path)?)
}

/// Reads the tensors of a checkpoint from its bytes; `path` is used in error messages.
///
/// # Errors
/// As [`read`].
pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Tensors, ImportError> {
    if bytes.starts_with(ZIP) {
        from_zip(path, bytes)
    } else {
        from_legacy(bytes).map_err(|fault| fault.in_file(path))
    }
}

fn from_zip(path: &Path, bytes: &[u8]) -> Result<Tensors, ImportError> {
    let mut zip = ZipArchive::new(io::Cursor::new(bytes)).map_err(|e| damaged(path, e))?;
    // All files are in one folder, named after the checkpoint.
    let suffix = "/data.pkl";
    let pickle = zip.file_names().flatten().find(|name| name.ends_with(suffix));
    let pickle = pickle.ok_or_else(|| missing(path, "data.pkl"))?.into_owned();
    let folder = pickle[..pickle.len() - suffix.len()].to_owned();
    if let Some(order) = stored(path, bytes, &mut zip, &format!("{folder}/byteorder"))?
        && order != b"little"
    {
        return Err(damaged(path, format!("byte order {:?}", String::from_utf8_lossy(order))));
    }
    let program = stored(path, bytes, &mut zip, &pickle)?.ok_or_else(|| missing(path, &pickle))?;
    let (root, heap) =
        pickle::read(&mut Cursor { bytes: program, at: 0 }).map_err(|fault| fault.in_file(path))?;
    let mut storages = HashMap::new();
    for storage in &heap.storages {
        let name = format!("{folder}/data/{}", storage.key);
        if !storages.contains_key(storage.key) {
            let numbers = stored(path, bytes, &mut zip, &name)?;
            storages.insert(storage.key, numbers.ok_or_else(|| missing(path, &name))?);
        }
    }
    collect(root, &heap, &storages, bytes.len()).map_err(|fault| fault.in_file(path))
}

/// The bytes of a zip entry, in place: PyTorch does not compress.
fn stored<'b>(
    path: &Path,
    bytes: &'b [u8],
    zip: &mut ZipArchive<io::Cursor<&[u8]>>,
    name: &str,
) -> Result<Option<&'b [u8]>, ImportError> {
    let Some(index) = zip.index_for_name(name) else { return Ok(None) };
    let file = zip.by_index_raw(index).map_err(|e| damaged(path, e))?;
    if file.compression() != zip::CompressionMethod::Stored {
        return Err(damaged(path, format!("{name:?} is compressed: {}", file.compression())));
    }
    let span = file.data_start().and_then(|start| {
        let start = usize::try_from(start).ok()?;
        let len = usize::try_from(file.size()).ok()?;
        bytes.get(start..start.checked_add(len)?)
    });
    span.map(Some).ok_or_else(|| damaged(path, format!("{name:?} is cut short")))
}

fn from_legacy(bytes: &[u8]) -> Result<Tensors, Fault> {
    let mut cursor = Cursor { bytes, at: 0 };
    let magic = pickle::read(&mut cursor);
    if !matches!(magic, Ok((Value::Int(MAGIC), _))) {
        return fault("it does not begin as a PyTorch checkpoint");
    }
    match pickle::read(&mut cursor)? {
        (Value::Int(VERSION), _) => {}
        (other, _) => return fault(format!("version {other:?}, not {VERSION}")),
    }
    let (_sizes_of_types, _) = pickle::read(&mut cursor)?;
    let (root, heap) = pickle::read(&mut cursor)?;
    let (keys, kept) = pickle::read(&mut cursor)?;
    let Value::List(keys) = keys else {
        return fault("no list of storages after the tensors");
    };
    let types: HashMap<&str, NumberType> =
        heap.storages.iter().map(|s| (s.key, s.numbers)).collect();
    let mut storages = HashMap::new();
    for key in &kept.lists[keys] {
        let Value::Text(key) = *key else {
            return fault(format!("a storage with the key {key:?}"));
        };
        let Some(numbers) = types.get(key) else {
            return fault(format!("no tensor uses the storage {key:?}"));
        };
        let len = u64::from_le_bytes(cursor.array()?);
        let size = usize::try_from(len).ok().and_then(|len| len.checked_mul(numbers.size()));
        storages.insert(key, cursor.take(size.unwrap_or(usize::MAX))?);
    }
    collect(root, &heap, &storages, bytes.len())
}

/// The tensors in `root` and its nested containers, by full name.
fn collect(
    root: Value<'_>,
    heap: &Heap<'_>,
    storages: &HashMap<&str, &[u8]>,
    file_len: usize,
) -> Result<Tensors, Fault> {
    if !matches!(root, Value::Dict(_)) {
        return fault(format!("{root:?} where a dictionary of tensors should be"));
    }
    // Containers and numbers may be shared, or repeated by a stride of zero, but within a limit.
    let mut budget = Budget(file_len.saturating_mul(4).saturating_add(1 << 16));
    let mut tensors = Tensors::new();
    let mut open = vec![(String::new(), root, 0)];
    while let Some((name, value, depth)) = open.pop() {
        let inner: Vec<(Cow<'_, str>, Value<'_>)> = match value {
            Value::Dict(dict) => {
                heap.dicts[dict].iter().filter_map(|&(k, v)| Some((key(k)?, v))).collect()
            }
            Value::List(list) => numbered(&heap.lists[list]),
            Value::Tuple(tuple) => numbered(&heap.tuples[tuple]),
            Value::Tensor(tensor) => {
                let tensor = numbers(&name, &heap.tensors[tensor], heap, storages, &mut budget)?;
                tensors.insert(name, tensor);
                continue;
            }
            _ => continue,
        };
        for (key, value) in inner {
            let name = if depth == 0 { key.into_owned() } else { format!("{name}.{key}") };
            if depth == MAX_DEPTH || MAX_NAME < name.len() {
                return fault(format!("names nested too deeply, at {name:.40}…"));
            }
            budget.spend(1 + name.len(), &name)?;
            open.push((name, value, depth + 1));
        }
    }
    Ok(tensors)
}

/// How much more a file may allocate, in proportion to its own length.
struct Budget(usize);

impl Budget {
    fn spend(&mut self, amount: usize, name: &str) -> Result<(), Fault> {
        match self.0.checked_sub(amount) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => fault(format!("{name:?} is larger than a file of this length can hold")),
        }
    }
}

fn key(key: Value<'_>) -> Option<Cow<'_, str>> {
    match key {
        Value::Text(text) => Some(Cow::Borrowed(text)),
        Value::Int(n) => Some(Cow::Owned(n.to_string())),
        _ => None,
    }
}

fn numbered<'b>(items: &[Value<'b>]) -> Vec<(Cow<'b, str>, Value<'b>)> {
    items.iter().enumerate().map(|(i, &item)| (Cow::Owned(i.to_string()), item)).collect()
}

/// The values of one tensor, row-major whatever its strides.
fn numbers(
    name: &str,
    tensor: &Strided,
    heap: &Heap<'_>,
    storages: &HashMap<&str, &[u8]>,
    budget: &mut Budget,
) -> Result<Tensor, Fault> {
    let Strided { offset, shape, strides, .. } = tensor;
    let storage = &heap.storages[tensor.storage];
    let Some(bytes) = storages.get(storage.key) else {
        return fault(format!("the storage {:?} of {name:?} is missing", storage.key));
    };
    let end = storage.start.saturating_add(storage.len);
    let size = storage.numbers.size();
    let bytes = end.checked_mul(size).and_then(|end| bytes.get(storage.start * size..end));
    let len = shape.iter().try_fold(1_usize, |len, &n| len.checked_mul(n));
    let last = shape.iter().zip(strides).try_fold(*offset, |last, (&n, &stride)| {
        last.checked_add(n.saturating_sub(1).checked_mul(stride)?)
    });
    let (Some(bytes), Some(len), Some(last)) = (bytes, len, last) else {
        return fault(format!("{name:?} reaches beyond its storage {:?}", storage.key));
    };
    if 0 < len && storage.len <= last {
        return fault(format!("{name:?} ends at {last} of {} numbers", storage.len));
    }
    budget.spend(len, name)?;
    let mut values = Vec::with_capacity(len);
    if len > 0 {
        gather(bytes, storage.numbers, *offset, shape, strides, &mut values);
    }
    Ok(Tensor { shape: shape.clone(), values })
}

/// Recurses over dimensions.
fn gather(
    bytes: &[u8],
    numbers: NumberType,
    first: usize,
    shape: &[usize],
    strides: &[usize],
    values: &mut Vec<f32>,
) {
    match (shape, strides) {
        ([n, shape @ ..], [stride, strides @ ..]) => {
            for i in 0..*n {
                gather(bytes, numbers, first + i * stride, shape, strides, values);
            }
        }
        _ => {
            values.push(0.0);
            let last = values.len() - 1;
            numbers.decode(&bytes[first * numbers.size()..], &mut values[last..]);
        }
    }
}

fn fault<T>(problem: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Damaged(problem.into()))
}
