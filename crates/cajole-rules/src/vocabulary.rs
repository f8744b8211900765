//! The names of output symbols.

use std::collections::HashMap;

use cajole_core::Symbol;
use cajole_core::constraints::TagSet;
use cajole_treebank::shift_reduce::Commands;

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
}

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
        Vocabulary { names, numbers, separator: separator.to_owned(), longest, tags, commands }
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
        let names: Vec<&str> = y.iter().map(|&symbol| self.name(symbol)).collect();
        names.join(&self.separator)
    }

    /// Parses `text` as an output. Without a separator, matching is greedy: the longest symbol
    /// wins.
    ///
    /// # Errors
    /// If part of the text is not a symbol.
    pub fn read(&self, text: &str) -> Result<Vec<Symbol>, UnknownSymbol> {
        let unknown = |name: &str| UnknownSymbol { name: name.to_owned() };
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
