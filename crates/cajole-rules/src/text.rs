//! The text of an output, and which symbols wrote what.
//!
//! Rules over text find mistakes at bytes of the text; the gradient goes to symbols.

use std::ops::Range;

use cajole_core::constraints::Spelling;
use cajole_core::{Fault, Part, Symbol, Violation};

/// A text, and where in it each symbol of the output ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    text: String,
    ends: Ends,
}

/// Where each symbol ends in the text that they write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ends(Vec<usize>);

impl Ends {
    /// The symbols that wrote these bytes. Bytes beyond the text belong to the end of the output;
    /// all bytes of a text belong to all symbols.
    fn symbols(&self, bytes: &Range<usize>) -> Range<usize> {
        let (n, len) = (self.0.len(), self.0.last().copied().unwrap_or(0));
        let start = match bytes.start {
            0 => 0,
            start => self.0.partition_point(|&end| end <= start),
        };
        let last = match len < bytes.end {
            true => n,
            false => self.0.partition_point(|&end| end < bytes.end),
        };
        start..(last + 1).clamp(start + 1, n + 1)
    }
}

impl Text {
    /// The text of symbols that stand for these bytes. What is not UTF-8 is replaced by `�`.
    pub(crate) fn new<'b>(spelled: impl IntoIterator<Item = &'b [u8]>) -> Text {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for own in spelled {
            bytes.extend_from_slice(own);
            ends.push(bytes.len());
        }
        match String::from_utf8(bytes) {
            Ok(text) => Text { text, ends: Ends(ends) },
            Err(error) => Text::replacing(error.as_bytes(), &ends),
        }
    }

    /// The text of symbols with these names and a separator between them.
    pub(crate) fn joined<'n>(separator: &str, names: impl IntoIterator<Item = &'n str>) -> Text {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for name in names {
            if !ends.is_empty() {
                text.push_str(separator);
            }
            text.push_str(name);
            ends.push(text.len());
        }
        Text { text, ends: Ends(ends) }
    }

    fn replacing(bytes: &[u8], ends: &[usize]) -> Text {
        let (mut text, mut shifted, mut at) = (String::new(), Vec::with_capacity(ends.len()), 0);
        let mut rest = ends.iter().peekable();
        for chunk in bytes.utf8_chunks() {
            let valid = at + chunk.valid().len();
            while let Some(&end) = rest.next_if(|&&end| end <= valid) {
                shifted.push(text.len() + end - at);
            }
            text.push_str(chunk.valid());
            at = valid + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            // Symbols that end within the replaced bytes end after the replacement character.
            while rest.next_if(|&&end| end <= at).is_some() {
                shifted.push(text.len());
            }
        }
        Text { text, ends: Ends(shifted) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The symbols that wrote these bytes; the end of the output if they are past the text.
    pub fn symbols(&self, bytes: &Range<usize>) -> Range<usize> {
        self.ends.symbols(bytes)
    }
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        text.text
    }
}

/// The bytes of an output's text, and which symbols wrote them.
pub(crate) struct Bytes {
    pub(crate) bytes: Vec<Symbol>,
    ends: Ends,
}

impl Bytes {
    /// What `y` spells.
    pub(crate) fn new(spelling: &Spelling, y: &[Symbol]) -> Bytes {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for own in spelled(spelling, y) {
            bytes.extend(own.iter().map(|&byte| Symbol::from(byte)));
            ends.push(bytes.len());
        }
        Bytes { bytes, ends: Ends(ends) }
    }

    /// A violation of the text as one of the symbols. Parts on the same symbols become one.
    pub(crate) fn violation(&self, violation: Violation) -> Violation {
        let Violation::Parts(parts) = violation else { return violation };
        let mut mapped: Vec<Part> = Vec::with_capacity(parts.len());
        for part in parts {
            let at = self.ends.symbols(&part.at);
            match mapped.last_mut() {
                Some(last) if last.at == at => last.cost += part.cost,
                _ => mapped.push(Part { at, cost: part.cost }),
            }
        }
        Violation::Parts(mapped)
    }

    /// A fault of the text as one of the symbols.
    pub(crate) fn fault(&self, fault: Fault) -> Fault {
        Fault { at: self.ends.symbols(&fault.at), ..fault }
    }
}

/// The bytes that each symbol of `y` contributes.
pub(crate) fn spelled<'s>(
    spelling: &'s Spelling,
    y: &'s [Symbol],
) -> impl Iterator<Item = &'s [u8]> {
    let mut is_first = true;
    y.iter().map(move |&symbol| {
        let bytes = spelling.bytes(symbol, is_first);
        is_first &= spelling.is_silent(symbol);
        bytes
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_mapped_to_symbols() {
        let text = Text::new([&b"ab"[..], b"", b"c", b"def"]);
        assert_eq!(text.as_str(), "abcdef");
        assert_eq!(text.symbols(&(0..1)), 0..1);
        assert_eq!(text.symbols(&(1..3)), 0..3);
        assert_eq!(text.symbols(&(1..7)), 0..5);
        assert_eq!(text.symbols(&(2..2)), 2..3);
        assert_eq!(text.symbols(&(5..6)), 3..4);
        assert_eq!(text.symbols(&(6..6)), 4..5);
        assert_eq!(text.symbols(&(6..9)), 4..5);
        assert_eq!(Text::default().symbols(&(0..0)), 0..1);
    }

    #[test]
    fn characters_may_be_split_over_symbols() {
        let text = Text::new([&b"a\xe2"[..], b"\x82", b"\xac", b"b\xc3", b"c"]);
        assert_eq!(text.as_str(), "a€b\u{fffd}c");
        assert_eq!(text.symbols(&(1..4)), 0..3);
        assert_eq!(text.symbols(&(4..5)), 3..4);
        assert_eq!(text.symbols(&(8..9)), 4..5);
    }

    proptest! {
        #[test]
        fn lossy_texts_are_those_of_the_standard_library(
            all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 0..8),
        ) {
            let text = Text::new(all.iter().map(Vec::as_slice));
            let bytes = all.concat();
            prop_assert_eq!(text.as_str(), String::from_utf8_lossy(&bytes));
            let ends = &text.ends.0;
            prop_assert_eq!(ends.len(), all.len());
            prop_assert!(ends.is_sorted() && ends.last().is_none_or(|&e| e == text.text.len()));
            for at in 0..=text.text.len() {
                let symbols = text.symbols(&(at..at + 1));
                prop_assert!(symbols.start < symbols.end && symbols.end <= all.len() + 1);
            }
        }
    }
}
