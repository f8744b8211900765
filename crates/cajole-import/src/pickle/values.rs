//! The values in a pickle of tensors.

use std::path::Path;

use cajole_nn::import::{ImportError, damaged};
use cajole_nn::numbers::NumberType;

/// Why a pickle was rejected, before the file name is attached.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    Damaged(String),
    Refused(String),
}

impl Fault {
    pub(crate) fn in_file(self, path: &Path) -> ImportError {
        match self {
            Fault::Damaged(problem) => damaged(path, problem),
            Fault::Refused(what) => ImportError::Refused { path: path.to_owned(), what },
        }
    }
}

pub(super) type Result<T> = std::result::Result<T, Fault>;

pub(super) fn fault<T>(problem: impl Into<String>) -> Result<T> {
    Err(Fault::Damaged(problem.into()))
}

/// The element type of PyTorch's storage class `name`.
fn type_of_storage(name: &str) -> Option<NumberType> {
    Some(match name {
        "HalfStorage" => NumberType::F16,
        "BFloat16Storage" => NumberType::Bf16,
        "FloatStorage" => NumberType::F32,
        "DoubleStorage" => NumberType::F64,
        "BoolStorage" | "ByteStorage" => NumberType::U8,
        "IntStorage" => NumberType::I32,
        "LongStorage" => NumberType::I64,
        _ => return None,
    })
}

/// A Python name that a file of tensors may reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Storage(NumberType),
}

impl Global {
    pub(super) fn named(module: &str, name: &str) -> Result<Global> {
        match (module, name) {
            ("collections", "OrderedDict") => Ok(Global::OrderedDict),
            ("torch._utils", "_rebuild_tensor_v2" | "_rebuild_tensor") => Ok(Global::RebuildTensor),
            ("torch._utils", "_rebuild_parameter") => Ok(Global::RebuildParameter),
            ("torch" | "torch.cuda", _) => type_of_storage(name)
                .map(Global::Storage)
                .ok_or_else(|| Fault::Refused(format!("{module}.{name}"))),
            _ => Err(Fault::Refused(format!("{module}.{name}"))),
        }
    }
}

/// A Python value; containers are indices into the [`Heap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'b> {
    None,
    Bool,
    Int(i128),
    Float,
    Text(&'b str),
    Tuple(usize),
    List(usize),
    Dict(usize),
    Global(Global),
    Storage(usize),
    Tensor(usize),
}

/// A buffer that tensors are views of; its bytes are elsewhere in the file.
#[derive(Clone, Debug)]
pub(crate) struct Storage<'b> {
    pub(crate) numbers: NumberType,
    /// Its key in the file.
    pub(crate) key: &'b str,
    /// Offset of this view in the buffer, in elements.
    pub(crate) start: usize,
    /// Length of this view, in elements.
    pub(crate) len: usize,
}

/// A tensor as a strided view of a storage.
#[derive(Clone, Debug)]
pub(crate) struct Strided {
    pub(crate) storage: usize,
    pub(crate) offset: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<usize>,
}

/// The arena that values index into.
#[derive(Default)]
pub(crate) struct Heap<'b> {
    pub(crate) tuples: Vec<Vec<Value<'b>>>,
    pub(crate) lists: Vec<Vec<Value<'b>>>,
    pub(crate) dicts: Vec<Vec<(Value<'b>, Value<'b>)>>,
    pub(crate) storages: Vec<Storage<'b>>,
    pub(crate) tensors: Vec<Strided>,
}

/// Bytes, and the read position.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) at: usize,
}

impl<'b> Cursor<'b> {
    pub(crate) fn take(&mut self, n: usize) -> Result<&'b [u8]> {
        let taken = self.at.checked_add(n).and_then(|end| self.bytes.get(self.at..end));
        let Some(taken) = taken else {
            return fault(format!("it ends at byte {}, before it is complete", self.bytes.len()));
        };
        self.at += n;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// A length in `N` bytes, little-endian.
    pub(super) fn length<const N: usize>(&mut self) -> Result<usize> {
        let bytes = self.array::<N>()?;
        let length = bytes.iter().rev().fold(0, |length, &b| length << 8 | u64::from(b));
        usize::try_from(length).or_else(|_| fault(format!("a length of {length}")))
    }

    pub(super) fn line(&mut self) -> Result<&'b str> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        let line = self.text(end)?;
        self.take(1)?;
        Ok(line)
    }

    pub(super) fn text(&mut self, n: usize) -> Result<&'b str> {
        let at = self.at;
        std::str::from_utf8(self.take(n)?)
            .or_else(|_| fault(format!("the text at byte {at} is not UTF-8")))
    }
}
