//! A Python pickle reader that executes nothing.
//!
//! A pickle is a program for a stack machine, and in Python it may call any function. A file of
//! tensors needs a dozen and a half opcodes and a handful of functions, which only assemble data.
//! These are supported; everything else is refused by name.
//!
//! Containers live in an arena and are referenced by index. Values are therefore plain copies, a
//! container that holds itself or is nested a million deep needs no recursion, and every opcode
//! takes bounded memory.

mod values;

use std::collections::HashMap;

use values::{Global, Result, fault};

pub(crate) use values::{Cursor, Fault, Heap, Storage, Strided, Value};

/// More than any network needs; a tensor takes some forty opcodes.
const MAX_INSTRUCTIONS: usize = 1 << 22;
const MAX_RANK: usize = 16;

/// Reads one pickle and advances the cursor past it.
pub(crate) fn read<'b>(cursor: &mut Cursor<'b>) -> Result<(Value<'b>, Heap<'b>)> {
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
    /// Stack height at each mark.
    marks: Vec<usize>,
    memo: HashMap<usize, Value<'b>>,
    heap: Heap<'b>,
}

impl<'b> Machine<'b> {
    /// Executes one opcode: scalars and the memo here, stack operations in `work`.
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

    /// Opcodes that work on the stack.
    fn work(&mut self, op: u8) -> Result<()> {
        match op {
            // Protocol version and frame length are only hints.
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
        // Two's complement: sign-extend the last byte.
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
            other => return fault(format!("items for {other:?}, which is not a list")),
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
            other => return fault(format!("items for {other:?}, which is not a dictionary")),
        }
        Ok(())
    }

    fn stack_global(&mut self) -> Result<()> {
        match *self.pop_many(2)? {
            [Value::Text(module), Value::Text(name)] => {
                self.stack.push(Value::Global(Global::named(module, name)?));
                Ok(())
            }
            _ => fault("a global whose name is not text"),
        }
    }

    /// `("storage", class, key, device, length[, view])`: a reference to a storage.
    fn persistent(&mut self) -> Result<()> {
        let id = self.pop()?;
        let (class, key, length, view) = match *self.items_of(id)? {
            [Value::Text("storage"), class, key, _, length] => (class, key, length, Value::None),
            [Value::Text("storage"), class, key, _, length, view] => (class, key, length, view),
            _ => return fault("a reference to something other than a storage"),
        };
        let (Value::Global(Global::Storage(numbers)), Value::Text(key)) = (class, key) else {
            return fault("a storage without a type or a key");
        };
        let (start, len) = match view {
            Value::None => (0, size_of(length)?),
            view => match *self.items_of(view)? {
                [_, start, len] => (size_of(start)?, size_of(len)?),
                _ => return fault("a storage view that is not a triple"),
            },
        };
        self.heap.storages.push(Storage { numbers, key, start, len });
        self.stack.push(Value::Storage(self.heap.storages.len() - 1));
        Ok(())
    }

    /// A call of one of the few functions that only assemble data.
    fn reduce(&mut self) -> Result<()> {
        let arguments = self.pop()?;
        let Value::Global(function) = self.pop()? else {
            return fault("a call of something other than a function");
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

    /// Attributes of an object. A state dict stores its module versions this way, which change no
    /// weights.
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

    /// Height of the last mark; values below it are out of reach.
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
