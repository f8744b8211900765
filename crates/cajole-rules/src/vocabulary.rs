//! The names of output symbols, and the text that they write.
//!
//! The symbols of most networks are what rules are about: letters, words, tags, commands. A network
//! over text writes *pieces*, such as `▁trans`, `former` or half of a character, and nobody writes
//! rules about these. Its rules are about the text, and are compiled over the vocabulary of
//! [bytes](Vocabulary::bytes).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use cajole_core::Symbol;
use cajole_core::constraints::{Spelling, TagSet};
use cajole_treebank::shift_reduce::Commands;

use crate::text::{Text, spelled};

/// The names of a network's output symbols, without the end symbol.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    names: Vec<String>,
    numbers: HashMap<String, Symbol>,
    /// Separates symbols in text.
    separator: String,
    /// The length in bytes of the longest name, which bounds lookups.
    longest: usize,
    tags: Option<TagSet>,
    commands: Option<Commands>,
    unit: Unit,
}

/// What a symbol is.
#[derive(Clone, Debug)]
enum Unit {
    /// What rules are about.
    Symbol,
    /// A byte of a text, which rules are about.
    Byte,
    /// A word of a text, which a rule is about.
    Word,
    /// A piece of a text.
    Piece(Arc<Spelling>),
}

/// All bytes, so that a slice of them is one.
static ALL_BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..=u8::MAX).collect());

static BYTES: LazyLock<Arc<Vocabulary>> = LazyLock::new(|| {
    let names = (0..=u8::MAX).map(|byte| byte.escape_ascii().to_string());
    Arc::new(Vocabulary { unit: Unit::Byte, ..Vocabulary::new(names, "") })
});

/// A name that is not an output symbol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the network has no output symbol {name:?}")]
pub struct UnknownSymbol {
    /// The name, or the rest of the text from the first point where no symbol matches.
    pub name: String,
}

impl Vocabulary {
    /// Symbols with these names, numbered from 0; `separator` goes between them in text.
    ///
    /// If all names are BIO tags, or all are `s`, `r` and `!LABEL`, they are recognised as such.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>, separator: &str) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let numbers = names.iter().cloned().zip(0..).collect();
        let tags = TagSet::new(names.iter().cloned()).ok();
        let commands = commands(&names);
        let longest = names.iter().map(String::len).max().unwrap_or(0);
        let (separator, unit) = (separator.to_owned(), Unit::Symbol);
        Vocabulary { names, numbers, separator, longest, tags, commands, unit }
    }

    /// The bytes of a text: what rules are about if a network writes text.
    pub fn bytes() -> &'static Arc<Vocabulary> {
        &BYTES
    }

    /// Pieces of text with these names, numbered from 0, and this spelling.
    pub fn of_pieces(names: Vec<String>, spelling: Spelling) -> Self {
        let numbers = names.iter().cloned().zip(0..).collect();
        let (separator, unit) = (String::new(), Unit::Piece(Arc::new(spelling)));
        Vocabulary { names, numbers, separator, longest: 0, tags: None, commands: None, unit }
    }

    /// Words of a text.
    pub(crate) fn of_words(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let words = Vocabulary::new(names, " ");
        Vocabulary { unit: Unit::Word, tags: None, commands: None, ..words }
    }

    /// Whether its symbols are the bytes of a text.
    pub fn is_text(&self) -> bool {
        matches!(self.unit, Unit::Byte)
    }

    /// The vocabulary that rules are compiled over: its own symbols, or the bytes of what they write.
    pub(crate) fn of_rules(self: &Arc<Self>) -> &Arc<Vocabulary> {
        if self.spelling().is_some() { Vocabulary::bytes() } else { self }
    }

    /// What its symbols stand for, if they are pieces of text.
    pub fn spelling(&self) -> Option<&Arc<Spelling>> {
        match &self.unit {
            Unit::Piece(spelling) => Some(spelling),
            _ => None,
        }
    }

    /// The bytes of a symbol, without the separator.
    pub(crate) fn spelled(&self, symbol: Symbol) -> &[u8] {
        match &self.unit {
            Unit::Byte => ALL_BYTES.get(symbol as usize..symbol as usize + 1).unwrap_or_default(),
            Unit::Piece(spelling) => spelling.bytes(symbol, false),
            Unit::Symbol | Unit::Word => self.name(symbol).as_bytes(),
        }
    }

    /// The length of an output: its number of symbols, or of characters if the symbols are bytes.
    pub(crate) fn length(&self, y: &[Symbol]) -> usize {
        match self.unit {
            Unit::Byte => y.iter().filter(|&&byte| is_first_of_character(byte)).count(),
            _ => y.len(),
        }
    }

    /// The place of some symbols of `y`, for messages: `position 3`, `characters 2..4`.
    pub(crate) fn place(&self, y: &[Symbol], at: &Range<usize>) -> String {
        let (unit, Range { start, end }) = match self.unit {
            Unit::Byte => {
                let before = |at: usize| self.length(&y[..at.min(y.len())]);
                let (start, end) = (before(at.start), before(at.end));
                let is_inside = y.get(at.start).is_some_and(|&byte| !is_first_of_character(byte));
                let start = start - usize::from(is_inside && 0 < start);
                ("character", start..end.max(start + 1))
            }
            Unit::Word => ("word", at.clone()),
            Unit::Symbol | Unit::Piece(_) => ("position", at.clone()),
        };
        match end - start {
            1 => format!("{unit} {start}"),
            _ => format!("{unit}s {start}..{end}"),
        }
    }

    /// The symbol of `y` at a position, as messages show it; over text, the whole character.
    pub(crate) fn shown(&self, y: &[Symbol], at: usize) -> String {
        if !self.is_text() {
            return y.get(at).map_or("", |&symbol| self.name(symbol)).to_owned();
        }
        let is_first = |at: &usize| y.get(*at).is_none_or(|&byte| is_first_of_character(byte));
        let start = (0..=at).rev().find(is_first).unwrap_or(at).min(y.len());
        let end = (at + 1..=y.len()).find(is_first).unwrap_or(y.len());
        self.text(&y[start..end])
    }

    /// The memory that it takes, roughly: names are in two tables, and again in those of tags.
    pub(crate) fn n_bytes(&self) -> usize {
        self.names.iter().map(|name| 3 * (name.len() + size_of::<String>())).sum()
    }

    /// How many symbols there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names, indexed by symbol.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a symbol; `?` if there is no such symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.get(symbol as usize).map_or("?", String::as_str)
    }

    /// The symbol with this name.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.numbers.get(name).copied()
    }

    /// The separator between symbols in text.
    pub fn separator(&self) -> &str {
        &self.separator
    }

    /// Formats an output as text.
    pub fn text(&self, y: &[Symbol]) -> String {
        self.written(y).into()
    }

    /// An output as text, and which symbols wrote what.
    pub fn written(&self, y: &[Symbol]) -> Text {
        match &self.unit {
            Unit::Piece(spelling) => Text::new(spelled(spelling, y)),
            Unit::Byte => Text::new(y.iter().map(|&symbol| self.spelled(symbol))),
            Unit::Symbol | Unit::Word => {
                Text::joined(&self.separator, y.iter().map(|&s| self.name(s)))
            }
        }
    }

    /// Parses `text` as an output. Without a separator, matching is greedy: the longest symbol
    /// wins.
    ///
    /// # Errors
    /// If part of the text is not a symbol.
    pub fn read(&self, text: &str) -> Result<Vec<Symbol>, UnknownSymbol> {
        let unknown = |name: &str| UnknownSymbol { name: name.to_owned() };
        match &self.unit {
            Unit::Byte => return Ok(text.bytes().map(Symbol::from).collect()),
            Unit::Piece(spelling) => return read_pieces(spelling, text),
            Unit::Symbol | Unit::Word => {}
        }
        if !self.separator.is_empty() {
            let names = text.split(self.separator.as_str()).filter(|name| !name.is_empty());
            return names.map(|name| self.symbol(name).ok_or_else(|| unknown(name))).collect();
        }
        let (mut y, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
            let ends = ends.take_while(|&end| end <= self.longest);
            let longest = ends.filter_map(|end| Some((end, self.symbol(&rest[..end])?))).last();
            let (end, symbol) = longest.ok_or_else(|| unknown(rest))?;
            y.push(symbol);
            rest = &rest[end..];
        }
        Ok(y)
    }

    /// The symbols as BIO tags, if they are tags.
    pub fn tags(&self) -> Option<&TagSet> {
        self.tags.as_ref()
    }

    /// The symbols as shift-reduce commands, if they are commands.
    pub fn commands(&self) -> Option<&Commands> {
        self.commands.as_ref()
    }
}

/// The pieces that write a text, the longest first.
fn read_pieces(spelling: &Spelling, text: &str) -> Result<Vec<Symbol>, UnknownSymbol> {
    let (mut y, mut rest) = (Vec::new(), text.as_bytes());
    while !rest.is_empty() {
        let piece = spelling.trie(y.is_empty()).longest_prefix(rest);
        let unknown = || UnknownSymbol { name: String::from_utf8_lossy(rest).into_owned() };
        let (symbol, len) = piece.ok_or_else(unknown)?;
        y.push(symbol);
        rest = &rest[len..];
    }
    Ok(y)
}

/// Whether a character of UTF-8 begins with this byte.
pub(crate) fn is_first_of_character(byte: Symbol) -> bool {
    byte & 0xc0 != 0x80
}

/// Recognises `s`, `r` and a close for each label.
fn commands(names: &[String]) -> Option<Commands> {
    let [shift, reduce, closes @ ..] = names else { return None };
    let label = |close: &String| close.strip_prefix('!').map(str::to_owned);
    let labels: Option<Vec<String>> = closes.iter().map(label).collect();
    labels.filter(|_| shift == "s" && reduce == "r").map(Commands::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_commands_are_recognised_by_name() {
        let letters = Vocabulary::new(["a", "b"], "");
        assert_eq!((letters.symbol("b"), letters.symbol("c")), (Some(1), None));
        assert_eq!(letters.text(&[0, 1, 7]), "ab?");
        assert_eq!(letters.read("ba"), Ok(vec![1, 0]));
        assert_eq!(letters.read("bca").unwrap_err().name, "ca");
        assert_eq!(Vocabulary::new(["a", "ab", "b"], "").read("aabb"), Ok(vec![0, 1, 2]));
        assert!(letters.tags().is_none() && letters.commands().is_none());
        let tags = Vocabulary::new(["O", "B-V", "I-V"], " ");
        assert_eq!(tags.text(&[0, 1]), "O B-V");
        assert_eq!(tags.read("  O B-V"), Ok(vec![0, 1]));
        assert_eq!(tags.read("O B").unwrap_err().name, "B");
        assert!(tags.tags().is_some() && tags.commands().is_none());
        let commands = Vocabulary::new(["s", "r", "!NP", "!VP"], " ");
        assert_eq!(commands.commands().map(|c| c.labels.len()), Some(2));
        assert!(Vocabulary::new(["s", "r", "NP"], " ").commands().is_none());
    }
}
