//! Builds a tree from arbitrary commands.
//!
//! Scorers skip a sentence whose tree does not cover its words, which would reward a parser for
//! failing on hard sentences. So invalid commands are repaired before scoring, keeping as much as
//! possible of the structure they describe, and the repairs are counted.
//!
//! - A shift past the last token pushes an item without words. It can be reduced like any other, so
//!   later commands keep their meaning, and disappears at the end.
//! - A reduce on an empty stack, a close with nothing reduced, and symbols that are not commands
//!   are dropped.
//! - Reduced items that are never closed become a phrase with the most frequent label.
//! - Tokens that were not shifted are shifted at the end.
//! - Several items at the end are wrapped in a phrase with the label that was closed last.

use cajole_core::Symbol;
use serde::{Deserialize, Serialize};

use super::commands::{Command, Commands, Item};
use crate::Tree;
use crate::limits::MOST_DEPTH;

/// Counts of the repairs made to a command sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Repairs {
    /// Shifts past the last token.
    pub dropped_shifts: usize,
    /// Tokens that were not shifted.
    pub added_shifts: usize,
    /// Reduces on an empty stack.
    pub dropped_reduces: usize,
    /// Closes with nothing reduced.
    pub dropped_closes: usize,
    /// Symbols that are not commands.
    pub dropped_symbols: usize,
    /// Runs of reduced items that were not closed.
    pub added_closes: usize,
    /// Items at the end beyond one, or one if there was none.
    pub wrapped_roots: usize,
    /// Phrases dropped or flattened to stay within [`MOST_DEPTH`].
    pub cut_phrases: usize,
}

impl Repairs {
    /// The sum; zero exactly for valid commands whose tree is not too deep.
    pub fn total(&self) -> usize {
        self.dropped_shifts
            + self.added_shifts
            + self.dropped_reduces
            + self.dropped_closes
            + self.dropped_symbols
            + self.added_closes
            + self.wrapped_roots
            + self.cut_phrases
    }
}

crate::summable!(Repairs {
    dropped_shifts,
    added_shifts,
    dropped_reduces,
    dropped_closes,
    dropped_symbols,
    added_closes,
    wrapped_roots,
    cut_phrases,
});

/// The tree over exactly these `leaves` that `y` describes best, and the repairs it took.
///
/// Valid commands yield their own tree. Without leaves, the tree is a phrase without children.
pub fn repair(commands: &Commands, y: &[Symbol], leaves: &[(&str, &str)]) -> (Tree, Repairs) {
    let mut builder =
        Builder { stack: Vec::new(), pending: 0, leaves: leaves.iter(), done: Repairs::default() };
    let label = |label: usize| commands.labels[label].as_str();
    let frequent = commands.labels.first().map_or("S", String::as_str);
    for &symbol in y {
        match commands.command(symbol) {
            Some(Command::Shift) => {
                builder.close_open(frequent);
                builder.shift();
            }
            Some(Command::Reduce) => builder.reduce(),
            Some(Command::Close(n)) if 0 < builder.pending => builder.close(label(n)),
            Some(Command::Close(_)) => builder.done.dropped_closes += 1,
            None => builder.done.dropped_symbols += 1,
        }
    }
    builder.close_open(frequent);
    builder.finish(frequent)
}

struct Builder<'l> {
    /// `None` is an item without words.
    stack: Vec<Option<Item>>,
    /// How many items on top of the stack are reduced.
    pending: usize,
    leaves: std::slice::Iter<'l, (&'l str, &'l str)>,
    done: Repairs,
}

impl Builder<'_> {
    fn shift(&mut self) {
        let item = self.leaves.next().map(Item::leaf);
        self.done.dropped_shifts += usize::from(item.is_none());
        self.stack.push(item);
    }

    fn reduce(&mut self) {
        if self.pending < self.stack.len() {
            self.pending += 1;
        } else {
            self.done.dropped_reduces += 1;
        }
    }

    fn close(&mut self, label: &str) {
        let parts = self.stack.split_off(self.stack.len() - self.pending);
        let phrase = self.phrase(label, parts.into_iter().flatten().collect());
        self.stack.push(phrase);
        self.pending = 0;
    }

    fn close_open(&mut self, label: &str) {
        if 0 < self.pending {
            self.done.added_closes += 1;
            self.close(label);
        }
    }

    fn finish(mut self, frequent: &str) -> (Tree, Repairs) {
        let added = self.leaves.by_ref().map(|leaf| Some(Item::leaf(leaf)));
        self.done.added_shifts = added.len();
        self.stack.extend(added);
        let mut roots: Vec<Item> = self.stack.drain(..).flatten().collect();
        self.done.wrapped_roots = roots.len().abs_diff(1);
        if roots.len() == 1 {
            return (roots.remove(0).tree, self.done);
        }
        let last_closed = roots.iter().rev().find_map(|root| match &root.tree {
            Tree::Node { label, .. } => Some(label.clone()),
            Tree::Leaf { .. } => None,
        });
        let label = last_closed.unwrap_or_else(|| frequent.to_owned());
        let root = self.phrase(&label, roots).map(|root| root.tree);
        (root.unwrap_or(Tree::Node { label, children: Vec::new() }), self.done)
    }

    /// Builds a phrase, unless there are no parts.
    fn phrase(&mut self, label: &str, parts: Vec<Item>) -> Option<Item> {
        if parts.is_empty() {
            return None;
        }
        Item::phrase(label, parts).map_or_else(|parts| self.cut(label, parts), Some)
    }

    /// Replaces a phrase that would be too deep by its only part, or by a flat phrase.
    fn cut(&mut self, label: &str, mut parts: Vec<Item>) -> Option<Item> {
        debug_assert!(parts.iter().any(|part| part.depth == MOST_DEPTH));
        self.done.cut_phrases += 1;
        if parts.len() == 1 {
            return parts.pop();
        }
        let leaves: Vec<Item> = parts
            .iter()
            .flat_map(|part| part.tree.leaves())
            .map(|leaf| Item::leaf(&leaf))
            .collect();
        Item::phrase(label, leaves).ok()
    }
}
