//! The names of a network's symbols.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use cajole_core::Symbol;

/// A two-way mapping between symbols and names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    names: Vec<String>,
    numbers: HashMap<String, Symbol>,
}

/// The input symbol for everything unseen in training.
pub const UNKNOWN: &str = "<unknown>";

impl Symbols {
    /// Symbols with these names, numbered from 0.
    pub fn new(names: Vec<String>) -> Self {
        let numbers = names.iter().cloned().zip(0..).collect();
        Symbols { names, numbers }
    }

    /// The input vocabulary: [`UNKNOWN`], and the symbols that occur at least `often` times.
    pub fn of_inputs<'a>(inputs: impl IntoIterator<Item = &'a [String]>, often: usize) -> Self {
        let known = by_frequency(inputs, often).filter(|name| name != UNKNOWN);
        Symbols::new(std::iter::once(UNKNOWN.to_owned()).chain(known).collect())
    }

    /// The output vocabulary: every symbol that occurs.
    pub fn of_outputs<'a>(outputs: impl IntoIterator<Item = &'a [String]>) -> Self {
        Symbols::new(by_frequency(outputs, 1).collect())
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
}

/// Symbols by decreasing frequency, ties in alphabetical order.
fn by_frequency<'a>(
    sequences: impl IntoIterator<Item = &'a [String]>,
    often: usize,
) -> impl Iterator<Item = String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in sequences.into_iter().flatten() {
        *counts.entry(name).or_default() += 1;
    }
    let mut known: Vec<_> = counts.into_iter().filter(|&(_, n)| often <= n).collect();
    known.sort_by_key(|&(_, n)| Reverse(n));
    known.into_iter().map(|(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequences(texts: &[&str]) -> Vec<Vec<String>> {
        texts.iter().map(|text| text.split(' ').map(str::to_owned).collect()).collect()
    }

    #[test]
    fn frequent_symbols_come_first_and_rare_inputs_are_unknown() {
        let all = sequences(&["c a b", "c b d <unknown> <unknown>"]);
        let lists = || all.iter().map(Vec::as_slice);
        assert_eq!(Symbols::of_inputs(lists(), 2).names(), [UNKNOWN, "b", "c"]);
        let outputs = Symbols::of_outputs(lists());
        assert_eq!(outputs.names(), [UNKNOWN, "b", "c", "a", "d"]);
        assert_eq!((outputs.symbol("c"), outputs.symbol("e")), (Some(2), None));
        assert_eq!((outputs.name(3), outputs.name(9)), ("a", "?"));
    }
}
