//! A reader of Python pickles that runs nothing.
//!
//! A pickle is a program for a stack machine, and in Python it may call any function there is. A
//! file of tensors needs a dozen and a half instructions and a handful of functions, all of which
//! only put data together; these are understood, and everything else is refused by its name.
//!
//! Containers live in an arena and are named by index. So values are plain copies, a container
//! that holds itself or is nested a million deep costs no recursion, and every instruction takes a
//! bounded amount of memory.

use std::collections::HashMap;
use std::path::Path;

use super::{ImportError, damaged};

/// More than any network has use for; a tensor takes some forty instructions.
const MAX_INSTRUCTIONS: usize = 1 << 22;
const MAX_RANK: usize = 16;

/// Why a pickle was not read, before it is known which file it came from.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    Damaged(String),
    Refused(String),
}

impl Fault {
    pub(super) fn in_file(self, path: &Path) -> ImportError {
        match self {
            Fault::Damaged(problem) => damaged(path, problem),
            Fault::Refused(what) => ImportError::Refused { path: path.to_owned(), what },
        }
    }
}

type Result<T> = std::result::Result<T, Fault>;

fn fault<T>(problem: impl Into<String>) -> Result<T> {
    Err(Fault::Damaged(problem.into()))
}

/// How the numbers of a storage are written, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dtype {
    F16,
    Bf16,
    F32,
    F64,
    U8,
    I32,
    I64,
}

impl Dtype {
    /// The type of the numbers in PyTorch's class of storages `name`.
    fn of_storage(name: &str) -> Option<Dtype> {
        Some(match name {
            "HalfStorage" => Dtype::F16,
            "BFloat16Storage" => Dtype::Bf16,
            "FloatStorage" => Dtype::F32,
            "DoubleStorage" => Dtype::F64,
            "BoolStorage" | "ByteStorage" => Dtype::U8,
            "IntStorage" => Dtype::I32,
            "LongStorage" => Dtype::I64,
            _ => return None,
        })
    }

    /// Bytes of one number.
    pub(super) fn size(self) -> usize {
        match self {
            Dtype::U8 => 1,
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::F32 | Dtype::I32 => 4,
            Dtype::F64 | Dtype::I64 => 8,
        }
    }
}

/// A Python name that a file of tensors may mention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Storage(Dtype),
}

impl Global {
    fn named(module: &str, name: &str) -> Result<Global> {
        match (module, name) {
            ("collections", "OrderedDict") => Ok(Global::OrderedDict),
            ("torch._utils", "_rebuild_tensor_v2" | "_rebuild_tensor") => Ok(Global::RebuildTensor),
            ("torch._utils", "_rebuild_parameter") => Ok(Global::RebuildParameter),
            ("torch" | "torch.cuda", _) => Dtype::of_storage(name)
                .map(Global::Storage)
                .ok_or_else(|| Fault::Refused(format!("{module}.{name}"))),
            _ => Err(Fault::Refused(format!("{module}.{name}"))),
        }
    }
}

/// A Python value; containers are indices into the [`Heap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'b> {
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

/// A run of numbers that tensors look into; its bytes are elsewhere in the file.
#[derive(Clone, Debug)]
pub(super) struct Storage<'b> {
    pub(super) dtype: Dtype,
    /// The name under which the file keeps it.
    pub(super) key: &'b str,
    /// Where in the kept numbers this view of them begins.
    pub(super) start: usize,
    /// How many numbers it spans.
    pub(super) len: usize,
}

/// How a tensor lies in its storage.
#[derive(Clone, Debug)]
pub(super) struct Strided {
    pub(super) storage: usize,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// Everything that values refer to.
#[derive(Default)]
pub(super) struct Heap<'b> {
    pub(super) tuples: Vec<Vec<Value<'b>>>,
    pub(super) lists: Vec<Vec<Value<'b>>>,
    pub(super) dicts: Vec<Vec<(Value<'b>, Value<'b>)>>,
    pub(super) storages: Vec<Storage<'b>>,
    pub(super) tensors: Vec<Strided>,
}

/// Bytes, and how many have been consumed.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) at: usize,
}

impl<'b> Cursor<'b> {
    pub(super) fn take(&mut self, n: usize) -> Result<&'b [u8]> {
        let taken = self.at.checked_add(n).and_then(|end| self.bytes.get(self.at..end));
        let Some(taken) = taken else {
            return fault(format!("it ends at byte {}, before it is complete", self.bytes.len()));
        };
        self.at += n;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// A length in `N` bytes, little-endian.
    fn length<const N: usize>(&mut self) -> Result<usize> {
        let bytes = self.array::<N>()?;
        let length = bytes.iter().rev().fold(0, |length, &b| length << 8 | u64::from(b));
        usize::try_from(length).or_else(|_| fault(format!("a length of {length}")))
    }

    fn line(&mut self) -> Result<&'b str> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        let line = self.text(end)?;
        self.take(1)?;
        Ok(line)
    }

    fn text(&mut self, n: usize) -> Result<&'b str> {
        let at = self.at;
        std::str::from_utf8(self.take(n)?)
            .or_else(|_| fault(format!("the text at byte {at} is no UTF-8")))
    }
}

/// Reads one pickle, and leaves the cursor after it.
pub(super) fn read<'b>(cursor: &mut Cursor<'b>) -> Result<(Value<'b>, Heap<'b>)> {
    let mut machine = Machine {
        cursor: *cursor,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        heap: Heap::default(),
    };
    for _ in 0..MAX_INSTRUCTIONS {
        let at = machine.cursor.at;
        if machine.step().map_err(|f| located(f, at))? == Turn::Stop {
            let value = machine.pop()?;
            *cursor = machine.cursor;
            return Ok((value, machine.heap));
        }
    }
    fault(format!("a pickle of more than {MAX_INSTRUCTIONS} instructions"))
}

fn located(fault: Fault, at: usize) -> Fault {
    match fault {
        Fault::Damaged(problem) => Fault::Damaged(format!("{problem} (pickle, byte {at})")),
        refused => refused,
    }
}

#[derive(PartialEq)]
enum Turn {
    Next,
    Stop,
}

struct Machine<'b> {
    cursor: Cursor<'b>,
    stack: Vec<Value<'b>>,
    /// How high the stack was at each mark.
    marks: Vec<usize>,
    memo: HashMap<usize, Value<'b>>,
    heap: Heap<'b>,
}

impl<'b> Machine<'b> {
    /// One instruction: scalars and the memo here, what takes values off the stack below.
    fn step(&mut self) -> Result<Turn> {
        let op = self.cursor.byte()?;
        let pushed = match op {
            b'.' => return Ok(Turn::Stop),
            b'N' => Value::None,
            0x88 | 0x89 => Value::Bool,
            b'K' => Value::Int(self.cursor.byte()?.into()),
            b'M' => Value::Int(u16::from_le_bytes(self.cursor.array()?).into()),
            b'J' => Value::Int(i32::from_le_bytes(self.cursor.array()?).into()),
            0x8a => self.long()?,
            b'G' => {
                self.cursor.take(8)?;
                Value::Float
            }
            b'X' | b'T' => self.text::<4>()?,
            0x8c | b'U' => self.text::<1>()?,
            0x8d => self.text::<8>()?,
            b'}' => self.dict(),
            b']' => {
                self.heap.lists.push(Vec::new());
                Value::List(self.heap.lists.len() - 1)
            }
            b')' => self.tuple(Vec::new()),
            b'c' => {
                let (module, name) = (self.cursor.line()?, self.cursor.line()?);
                Value::Global(Global::named(module, name)?)
            }
            b'h' => self.recall::<1>()?,
            b'j' => self.recall::<4>()?,
            _ => return self.work(op).map(|()| Turn::Next),
        };
        self.stack.push(pushed);
        Ok(Turn::Next)
    }

    /// The instructions that work on what is already there.
    fn work(&mut self, op: u8) -> Result<()> {
        match op {
            // The protocol's number, and how long a frame is: both are only hints.
            0x80 => self.cursor.take(1).map(drop),
            0x95 => self.cursor.take(8).map(drop),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'q' => self.remember::<1>(),
            b'r' => self.remember::<4>(),
            0x94 => {
                let top = self.top()?;
                self.memo.insert(self.memo.len(), top);
                Ok(())
            }
            b't' => {
                let items = self.since_mark()?;
                self.push_tuple(items)
            }
            0x85..=0x87 => {
                let items = self.pop_many(usize::from(op - 0x84))?;
                self.push_tuple(items)
            }
            b'a' | b'e' => self.append(op == b'e'),
            b's' | b'u' => self.set_items(op == b'u'),
            0x93 => self.stack_global(),
            b'Q' => self.persistent(),
            b'R' => self.reduce(),
            b'b' => self.build(),
            _ => Err(Fault::Refused(format!("the pickle instruction {op:#04x}"))),
        }
    }

    fn long(&mut self) -> Result<Value<'b>> {
        let n = self.cursor.length::<1>()?;
        let bytes = self.cursor.take(n)?;
        if n > 16 {
            return fault(format!("an integer of {n} bytes"));
        }
        // Two's complement: the last byte's sign fills the rest.
        let sign = if bytes.last().is_some_and(|b| *b >= 0x80) { 0xff } else { 0 };
        let mut wide = [sign; 16];
        wide[..n].copy_from_slice(bytes);
        Ok(Value::Int(i128::from_le_bytes(wide)))
    }

    fn text<const N: usize>(&mut self) -> Result<Value<'b>> {
        let n = self.cursor.length::<N>()?;
        self.cursor.text(n).map(Value::Text)
    }

    fn remember<const N: usize>(&mut self) -> Result<()> {
        let slot = self.cursor.length::<N>()?;
        let top = self.top()?;
        self.memo.insert(slot, top);
        Ok(())
    }

    fn recall<const N: usize>(&mut self) -> Result<Value<'b>> {
        let slot = self.cursor.length::<N>()?;
        self.memo.get(&slot).copied().map_or_else(|| fault(format!("nothing in slot {slot}")), Ok)
    }

    fn append(&mut self, many: bool) -> Result<()> {
        let items = if many { self.since_mark()? } else { self.pop_many(1)? };
        match self.top()? {
            Value::List(list) => self.heap.lists[list].extend(items),
            other => return fault(format!("items for {other:?}, which is no list")),
        }
        Ok(())
    }

    fn set_items(&mut self, many: bool) -> Result<()> {
        let items = if many { self.since_mark()? } else { self.pop_many(2)? };
        let (pairs, []) = items.as_chunks::<2>() else {
            return fault("a key without a value");
        };
        match self.top()? {
            Value::Dict(dict) => self.heap.dicts[dict].extend(pairs.iter().map(|&[k, v]| (k, v))),
            other => return fault(format!("items for {other:?}, which is no dictionary")),
        }
        Ok(())
    }

    fn stack_global(&mut self) -> Result<()> {
        match *self.pop_many(2)? {
            [Value::Text(module), Value::Text(name)] => {
                self.stack.push(Value::Global(Global::named(module, name)?));
                Ok(())
            }
            _ => fault("a global whose name is no text"),
        }
    }

    /// `("storage", class, key, device, length[, view])`: a reference to numbers kept elsewhere.
    fn persistent(&mut self) -> Result<()> {
        let id = self.pop()?;
        let (class, key, length, view) = match *self.items_of(id)? {
            [Value::Text("storage"), class, key, _, length] => (class, key, length, Value::None),
            [Value::Text("storage"), class, key, _, length, view] => (class, key, length, view),
            _ => return fault("a reference that is not to a storage"),
        };
        let (Value::Global(Global::Storage(dtype)), Value::Text(key)) = (class, key) else {
            return fault("a storage without a type or a key");
        };
        let (start, len) = match view {
            Value::None => (0, size_of(length)?),
            view => match *self.items_of(view)? {
                [_, start, len] => (size_of(start)?, size_of(len)?),
                _ => return fault("a view of a storage that is no triple"),
            },
        };
        self.heap.storages.push(Storage { dtype, key, start, len });
        self.stack.push(Value::Storage(self.heap.storages.len() - 1));
        Ok(())
    }

    /// A call, of one of the few functions that only put data together.
    fn reduce(&mut self) -> Result<()> {
        let arguments = self.pop()?;
        let Value::Global(function) = self.pop()? else {
            return fault("a call of what is no function");
        };
        let made = match (function, self.items_of(arguments)?) {
            (Global::OrderedDict, []) => self.dict(),
            (Global::RebuildTensor, &[storage, offset, shape, strides, ..]) => {
                self.tensor(storage, offset, shape, strides)?
            }
            (Global::RebuildParameter, &[tensor @ Value::Tensor(_), ..]) => tensor,
            (_, other) => return fault(format!("{function:?} of {} arguments", other.len())),
        };
        self.stack.push(made);
        Ok(())
    }

    fn tensor(
        &mut self,
        storage: Value<'b>,
        offset: Value<'b>,
        shape: Value<'b>,
        strides: Value<'b>,
    ) -> Result<Value<'b>> {
        let Value::Storage(storage) = storage else {
            return fault("a tensor without a storage");
        };
        let (shape, strides) = (self.sizes(shape)?, self.sizes(strides)?);
        if shape.len() != strides.len() {
            return fault(format!("a tensor of shape {shape:?} with strides {strides:?}"));
        }
        let strided = Strided { storage, offset: size_of(offset)?, shape, strides };
        self.heap.tensors.push(strided);
        Ok(Value::Tensor(self.heap.tensors.len() - 1))
    }

    fn sizes(&self, value: Value<'b>) -> Result<Vec<usize>> {
        let items = self.items_of(value)?;
        if items.len() > MAX_RANK {
            return fault(format!("a tensor of {} dimensions", items.len()));
        }
        items.iter().map(|&n| size_of(n)).collect()
    }

    /// Attributes of an object. A dictionary of weights carries the versions of its modules so,
    /// which change no number.
    fn build(&mut self) -> Result<()> {
        self.pop()?;
        match self.top()? {
            Value::Dict(_) => Ok(()),
            other => fault(format!("attributes for {other:?}")),
        }
    }

    fn dict(&mut self) -> Value<'b> {
        self.heap.dicts.push(Vec::new());
        Value::Dict(self.heap.dicts.len() - 1)
    }

    fn tuple(&mut self, items: Vec<Value<'b>>) -> Value<'b> {
        self.heap.tuples.push(items);
        Value::Tuple(self.heap.tuples.len() - 1)
    }

    fn push_tuple(&mut self, items: Vec<Value<'b>>) -> Result<()> {
        let tuple = self.tuple(items);
        self.stack.push(tuple);
        Ok(())
    }

    fn items_of(&self, value: Value<'b>) -> Result<&[Value<'b>]> {
        match value {
            Value::Tuple(tuple) => Ok(&self.heap.tuples[tuple]),
            Value::List(list) => Ok(&self.heap.lists[list]),
            other => fault(format!("{other:?} where a tuple should be")),
        }
    }

    fn top(&self) -> Result<Value<'b>> {
        match self.stack.last() {
            Some(&top) if self.stack.len() > self.floor() => Ok(top),
            _ => fault("nothing on the stack"),
        }
    }

    fn pop(&mut self) -> Result<Value<'b>> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn pop_many(&mut self, n: usize) -> Result<Vec<Value<'b>>> {
        match self.stack.len().checked_sub(n) {
            Some(at) if self.floor() <= at => Ok(self.stack.split_off(at)),
            _ => fault("too little on the stack"),
        }
    }

    fn since_mark(&mut self) -> Result<Vec<Value<'b>>> {
        match self.marks.pop() {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => fault("no mark on the stack"),
        }
    }

    /// What lies below the last mark is out of reach.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }
}

fn size_of(value: Value<'_>) -> Result<usize> {
    let Value::Int(n) = value else {
        return fault(format!("{value:?} where a size should be"));
    };
    usize::try_from(n).or_else(|_| fault(format!("a size of {n}")))
}
