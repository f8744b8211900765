//! The source and target languages, the transducer between them, and the paper's splits.

use cajole_core::Symbol;
use cajole_nn::random::Random;

/// `a`.
pub const A: Symbol = 0;
/// `b`.
pub const B: Symbol = 1;
/// `z`.
pub const Z: Symbol = 2;
/// The end symbol.
pub const END: Symbol = 3;
/// The number of output symbols, including the end.
pub const N_SYMBOLS: usize = 4;
/// The letters, by symbol.
pub const ALPHABET: [char; 3] = ['a', 'b', 'z'];

/// `T`: each `az` becomes `aaa`, each `bz` becomes `zb`.
pub fn transduce(x: &[Symbol]) -> Vec<Symbol> {
    let pieces = x.chunks(2).map(|pair| if pair[0] == A { [A, A, A].as_slice() } else { &[Z, B] });
    pieces.collect::<Vec<_>>().concat()
}

/// Displays symbols as letters.
pub struct Text<'a>(pub &'a [Symbol]);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = |s: &Symbol| ALPHABET.get(*s as usize).copied().unwrap_or('.');
        self.0.iter().try_for_each(|s| write!(f, "{}", letter(s)))
    }
}

/// Why a text is not an input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// A letter outside the alphabet.
    #[error("{text:?} has {letter:?} at position {at}; inputs are made of az and bz")]
    Letter {
        /// The text.
        text: String,
        /// The letter.
        letter: char,
        /// Its position, from 0.
        at: usize,
    },
    /// A letter sequence that is not in the source language.
    #[error("{text:?} is not made of az and bz: see position {at}")]
    Pair {
        /// The text.
        text: String,
        /// The position of the first letter that does not fit, from 0.
        at: usize,
    },
}

/// Parses an input such as `azbz`.
///
/// # Errors
/// If it does not match `(az|bz)*`.
pub fn parse(text: &str) -> Result<Vec<Symbol>, InputError> {
    let mut x = Vec::new();
    for (i, letter) in text.chars().enumerate() {
        let symbol = ALPHABET
            .iter()
            .position(|&l| l == letter)
            .ok_or_else(|| InputError::Letter { text: text.to_owned(), letter, at: i })?
            as Symbol;
        if (symbol == Z) != (i % 2 == 1) {
            return Err(InputError::Pair { text: text.to_owned(), at: i });
        }
        x.push(symbol);
    }
    if x.len() % 2 == 1 {
        return Err(InputError::Pair { text: text.to_owned(), at: x.len() });
    }
    Ok(x)
}

/// Every input with `pairs` pairs, in binary order.
fn inputs(pairs: usize) -> impl Iterator<Item = Vec<Symbol>> {
    (0..1usize << pairs).map(move |bits| {
        (0..pairs).rev().flat_map(|i| [if bits >> i & 1 == 0 { A } else { B }, Z]).collect()
    })
}

/// The data of the experiment.
#[derive(Clone, Debug)]
pub struct Splits {
    /// 1934 of the 2046 inputs with 2 to 20 symbols.
    pub train: Vec<Vec<Symbol>>,
    /// The remaining 112 inputs of those lengths.
    pub dev: Vec<Vec<Symbol>>,
    /// All 6144 inputs with 21 to 24 symbols, that is 22 or 24.
    pub test: Vec<Vec<Symbol>>,
    /// Inputs of 26 symbols, for tuning step sizes.
    pub tune: Vec<Vec<Symbol>>,
}

impl Splits {
    /// The paper's number of training inputs.
    pub const TRAIN: usize = 1934;

    /// The splits, with `tune` inputs to tune on.
    pub fn new(tune: usize) -> Self {
        // The split has its own seed, independent of the network's.
        let mut random = Random::derive(0, &[0x7261_6e64]);
        let mut short: Vec<_> = (1..=10).flat_map(inputs).collect();
        random.shuffle(&mut short);
        let dev = short.split_off(Splits::TRAIN);
        let mut longer: Vec<_> = inputs(13).collect();
        random.shuffle(&mut longer);
        longer.truncate(tune);
        Splits { train: short, dev, test: (11..=12).flat_map(inputs).collect(), tune: longer }
    }

    /// Keeps only `n` test inputs, evenly spaced.
    #[must_use]
    pub fn with_test_inputs(mut self, n: usize) -> Self {
        let every = self.test.len().div_ceil(n.max(1)).max(1);
        self.test = self.test.into_iter().step_by(every).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_example() {
        let x = parse("bzazbz").unwrap();
        assert_eq!(Text(&transduce(&x)).to_string(), "zbaaazb");
    }

    #[test]
    fn the_papers_splits() {
        let splits = Splits::new(100);
        assert_eq!((splits.train.len(), splits.dev.len()), (1934, 112));
        assert_eq!((splits.test.len(), splits.tune.len()), (2048 + 4096, 100));
        let mut all: Vec<_> = [splits.train, splits.dev, splits.test, splits.tune].concat();
        all.sort();
        let n = all.len();
        all.dedup();
        assert_eq!(all.len(), n, "no input is in two splits");
    }

    #[test]
    fn invalid_inputs_are_reported() {
        for (text, want) in [
            ("azbx", "\"azbx\" has 'x' at position 3; inputs are made of az and bz"),
            ("azza", "\"azza\" is not made of az and bz: see position 2"),
            ("azb", "\"azb\" is not made of az and bz: see position 3"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), want);
        }
        assert_eq!(parse(""), Ok(vec![]));
    }
}
