//! Trees as shift-reduce commands, and back.
//!
//! The network does not output a tree but the commands of a parser that builds one bottom-up, on a
//! stack:
//!
//! ```text
//! s      shift: push the next token
//! r      reduce: pop the top item into the pending constituent
//! !NP    close: push the pending constituent as a phrase of that type
//! ```
//!
//! `(S (NP the ball) (VP is (NP red)))` is `s s r r !NP s s r !NP r r !VP r r !S`: the phrases in
//! post-order, each preceded by its children. POS tags are not nodes, so a one-word sentence may be
//! `s` alone. Valid command sequences and trees correspond one to one.

use std::collections::BTreeMap;
use std::fmt;

use cajole_core::Symbol;
use serde::{Deserialize, Serialize};

use crate::Tree;
use crate::limits::MOST_DEPTH;

/// `s`
pub const SHIFT: Symbol = 0;
/// `r`
pub(super) const REDUCE: Symbol = 1;
/// The first `!`; the others follow in label order.
pub(super) const FIRST_CLOSE: Symbol = 2;

/// What a symbol tells the parser to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Push the next token.
    Shift,
    /// Pop the top item into the pending constituent.
    Reduce,
    /// Push the pending constituent as a phrase with this label index.
    Close(usize),
}

impl Command {
    /// The command of `symbol`, given the number of labels; `None` for the end and beyond.
    pub fn of(symbol: Symbol, n_labels: usize) -> Option<Command> {
        match symbol {
            SHIFT => Some(Command::Shift),
            REDUCE => Some(Command::Reduce),
            _ => {
                let label = (symbol - FIRST_CLOSE) as usize;
                (label < n_labels).then_some(Command::Close(label))
            }
        }
    }
}

/// The output vocabulary: shift, reduce, one close per label, and the end symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Commands {
    /// The phrase labels, most frequent first.
    pub labels: Vec<String>,
}

/// A tree contains a label that is not in the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no command closes phrases with the label {label:?}")]
pub struct UnknownLabel {
    /// The label.
    pub label: String,
}

/// A text contains a word that is not a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?}, at position {at}, is no command")]
pub struct UnknownCommand {
    /// The word.
    pub word: String,
    /// Its position, from 0.
    pub at: usize,
}

/// Why commands do not build exactly one tree over the tokens. Positions are 0-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The end symbol, or a symbol outside the vocabulary.
    #[error("position {at}: symbol {symbol} is no command")]
    NoCommand {
        /// Where.
        at: usize,
        /// The symbol.
        symbol: Symbol,
    },
    /// More shifts than tokens.
    #[error("position {at}: shift past the last of {n_tokens} tokens")]
    PastTheTokens {
        /// Where.
        at: usize,
        /// How many tokens there are.
        n_tokens: usize,
    },
    /// A reduce with nothing to pop.
    #[error("position {at}: reduce on an empty stack")]
    EmptyStack {
        /// Where.
        at: usize,
    },
    /// A close without a preceding reduce.
    #[error("position {at}: close with nothing reduced")]
    NothingReduced {
        /// Where.
        at: usize,
    },
    /// A shift or the end while the pending constituent is still open.
    #[error("position {at}: reduced items are not closed")]
    NotClosed {
        /// Where.
        at: usize,
    },
    /// Fewer shifts than tokens.
    #[error("{shifted} of {n_tokens} tokens are shifted")]
    TokensLeft {
        /// How many were shifted.
        shifted: usize,
        /// How many tokens there are.
        n_tokens: usize,
    },
    /// Nothing, or several items, on the stack at the end.
    #[error("{items} items on the stack at the end")]
    NotOneTree {
        /// How many.
        items: usize,
    },
    /// The tree is deeper than [`MOST_DEPTH`].
    #[error("position {at}: deeper than {MOST_DEPTH} levels")]
    TooDeep {
        /// Where.
        at: usize,
    },
}

impl Commands {
    /// The vocabulary for these labels, which must be distinct.
    pub fn new(labels: Vec<String>) -> Self {
        Commands { labels }
    }

    /// The vocabulary of these trees: most frequent label first, ties by name.
    pub fn of_trees<'t>(trees: impl IntoIterator<Item = &'t Tree>) -> Self {
        let mut counts = BTreeMap::new();
        trees.into_iter().for_each(|tree| count_labels(tree, &mut counts));
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        Commands { labels: counts.into_iter().map(|(label, _)| label.to_owned()).collect() }
    }

    /// The end symbol, which is the last.
    pub fn end(&self) -> Symbol {
        FIRST_CLOSE + self.labels.len() as Symbol
    }

    /// The number of symbols, including the end.
    pub fn n_symbols(&self) -> usize {
        self.end() as usize + 1
    }

    /// What `symbol` means, if it is a command.
    pub fn command(&self, symbol: Symbol) -> Option<Command> {
        Command::of(symbol, self.labels.len())
    }

    /// The command that closes a phrase with this label.
    pub fn close(&self, label: &str) -> Option<Symbol> {
        let at = self.labels.iter().position(|known| known == label)?;
        Some(FIRST_CLOSE + at as Symbol)
    }

    /// Encodes a tree as commands.
    ///
    /// # Errors
    /// If a label is not in the vocabulary.
    pub fn encode(&self, tree: &Tree) -> Result<Vec<Symbol>, UnknownLabel> {
        let mut y = Vec::new();
        self.encode_into(tree, &mut y)?;
        Ok(y)
    }

    fn encode_into(&self, tree: &Tree, y: &mut Vec<Symbol>) -> Result<(), UnknownLabel> {
        match tree {
            Tree::Leaf { .. } => y.push(SHIFT),
            Tree::Node { label, children } => {
                children.iter().try_for_each(|child| self.encode_into(child, y))?;
                y.extend(children.iter().map(|_| REDUCE));
                y.push(self.close(label).ok_or_else(|| UnknownLabel { label: label.clone() })?);
            }
        }
        Ok(())
    }

    /// Builds the tree over `leaves`, given as (tag, word).
    ///
    /// # Errors
    /// If the commands do not build exactly one tree, or it is too deep.
    pub fn decode(&self, y: &[Symbol], leaves: &[(&str, &str)]) -> Result<Tree, Invalid> {
        let mut stack: Vec<Item> = Vec::new();
        let mut pending = 0; // how many items on top belong to the pending constituent
        let (mut shifted, n_tokens) = (0, leaves.len());
        for (at, &symbol) in y.iter().enumerate() {
            match self.command(symbol) {
                Some(Command::Shift) if 0 < pending => return Err(Invalid::NotClosed { at }),
                Some(Command::Shift) => {
                    let leaf =
                        leaves.get(shifted).ok_or(Invalid::PastTheTokens { at, n_tokens })?;
                    stack.push(Item::leaf(leaf));
                    shifted += 1;
                }
                Some(Command::Reduce) if pending == stack.len() => {
                    return Err(Invalid::EmptyStack { at });
                }
                Some(Command::Reduce) => pending += 1,
                Some(Command::Close(_)) if pending == 0 => {
                    return Err(Invalid::NothingReduced { at });
                }
                Some(Command::Close(label)) => {
                    let parts = stack.split_off(stack.len() - pending);
                    let phrase = Item::phrase(&self.labels[label], parts);
                    stack.push(phrase.map_err(|_| Invalid::TooDeep { at })?);
                    pending = 0;
                }
                None => return Err(Invalid::NoCommand { at, symbol }),
            }
        }
        if 0 < pending {
            return Err(Invalid::NotClosed { at: y.len() });
        }
        if shifted < n_tokens {
            return Err(Invalid::TokensLeft { shifted, n_tokens });
        }
        match (stack.pop(), stack.len()) {
            (Some(root), 0) => Ok(root.tree),
            (root, below) => {
                Err(Invalid::NotOneTree { items: below + usize::from(root.is_some()) })
            }
        }
    }

    /// Formats commands as text: `s s r r !NP`.
    pub fn text<'a>(&'a self, y: &'a [Symbol]) -> Text<'a> {
        Text { commands: self, y }
    }

    /// Formats commands as the paper prints them, without labels: `ssrr!`.
    pub fn untyped(&self, y: &[Symbol]) -> String {
        let letter = |&symbol| match self.command(symbol) {
            Some(Command::Shift) => 's',
            Some(Command::Reduce) => 'r',
            Some(Command::Close(_)) => '!',
            None => '?',
        };
        y.iter().map(letter).collect()
    }

    /// Parses the output of [`text`](Commands::text).
    ///
    /// # Errors
    /// If a word is not a command.
    pub fn parse(&self, text: &str) -> Result<Vec<Symbol>, UnknownCommand> {
        let symbol = |word: &str| match word {
            "s" => Some(SHIFT),
            "r" => Some(REDUCE),
            _ => self.close(word.strip_prefix('!')?),
        };
        let words = text.split_whitespace().zip(0..);
        words.map(|(word, at)| symbol(word).ok_or_else(|| unknown(word, at))).collect()
    }

    /// Parses the output of [`untyped`](Commands::untyped); every phrase gets the first label.
    ///
    /// # Errors
    /// If a letter is not a command.
    pub fn parse_untyped(&self, text: &str) -> Result<Vec<Symbol>, UnknownCommand> {
        let symbol = |letter: char| match letter {
            's' => Some(SHIFT),
            'r' => Some(REDUCE),
            '!' if !self.labels.is_empty() => Some(FIRST_CLOSE),
            _ => None,
        };
        let letters = text.chars().zip(0..);
        letters.map(|(l, at)| symbol(l).ok_or_else(|| unknown(&l.to_string(), at))).collect()
    }
}

/// Commands formatted as text; see [`Commands::text`].
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    commands: &'a Commands,
    y: &'a [Symbol],
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, &symbol) in self.y.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            match self.commands.command(symbol) {
                Some(Command::Shift) => write!(f, "{space}s")?,
                Some(Command::Reduce) => write!(f, "{space}r")?,
                Some(Command::Close(label)) => {
                    write!(f, "{space}!{}", self.commands.labels[label])?;
                }
                None if symbol == self.commands.end() => write!(f, "{space}</s>")?,
                None => write!(f, "{space}?{symbol}")?,
            }
        }
        Ok(())
    }
}

/// A tree on the stack, with its depth.
pub(super) struct Item {
    pub(super) tree: Tree,
    pub(super) depth: usize,
}

impl Item {
    pub(super) fn leaf(&(tag, word): &(&str, &str)) -> Item {
        Item { tree: Tree::Leaf { tag: tag.to_owned(), word: word.to_owned() }, depth: 1 }
    }

    /// Builds a phrase; if it would be too deep, returns the parts.
    pub(super) fn phrase(label: &str, parts: Vec<Item>) -> Result<Item, Vec<Item>> {
        let depth = 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0);
        if MOST_DEPTH < depth {
            return Err(parts);
        }
        let children = parts.into_iter().map(|part| part.tree).collect();
        Ok(Item { tree: Tree::Node { label: label.to_owned(), children }, depth })
    }
}

fn count_labels<'t>(tree: &'t Tree, counts: &mut BTreeMap<&'t str, usize>) {
    if let Tree::Node { label, children } = tree {
        *counts.entry(label).or_default() += 1;
        children.iter().for_each(|child| count_labels(child, counts));
    }
}

fn unknown(word: &str, at: usize) -> UnknownCommand {
    UnknownCommand { word: word.to_owned(), at }
}
