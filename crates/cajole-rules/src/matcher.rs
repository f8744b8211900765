//! The matching of several phrases at once, by Aho and Corasick.
//!
//! A node is the longest end of what has been written that a phrase begins with: nothing else can
//! matter later. Where no phrase goes on, its *fallback* does: the longest proper end of it that
//! some phrase begins with.
//!
//! ```text
//! δ(u, s) = us           if a phrase begins with us
//!         = δ(f(u), s)   otherwise;  δ(ε, s) = ε      f(us) = δ(f(u), s)
//! ```

use std::collections::VecDeque;

/// Phrases over the symbols `0..n_symbols`.
pub(crate) struct Matcher {
    n_symbols: usize,
    next: Vec<usize>, // (nodes, n_symbols)
    /// The phrases that end with each node.
    ends: Vec<Vec<usize>>,
}

impl Matcher {
    /// The node of nothing.
    pub(crate) const START: usize = 0;

    /// The matcher of these phrases, unless it has more than `max_nodes`.
    pub(crate) fn new(n_symbols: usize, phrases: &[Vec<usize>], max_nodes: usize) -> Option<Self> {
        let (next, ends) = (vec![Self::START; n_symbols], vec![Vec::new()]);
        let mut matcher = Matcher { n_symbols, next, ends };
        for (number, phrase) in phrases.iter().enumerate() {
            let end = phrase
                .iter()
                .try_fold(Self::START, |node, &symbol| matcher.child(node, symbol, max_nodes))?;
            matcher.ends[end].push(number);
        }
        matcher.fall_back();
        Some(matcher)
    }

    /// Where `symbol` leads.
    pub(crate) fn next(&self, node: usize, symbol: usize) -> usize {
        self.next[node * self.n_symbols + symbol]
    }

    /// The phrases that what has been written ends with.
    pub(crate) fn ends(&self, node: usize) -> &[usize] {
        &self.ends[node]
    }

    /// The node behind this one, which is made if there is none. Until there are fallbacks, only
    /// missing ones lead to the start.
    fn child(&mut self, node: usize, symbol: usize, max_nodes: usize) -> Option<usize> {
        match self.next(node, symbol) {
            Self::START if self.ends.len() < max_nodes => {
                let child = self.ends.len();
                self.next[node * self.n_symbols + symbol] = child;
                self.next.resize(self.next.len() + self.n_symbols, Self::START);
                self.ends.push(Vec::new());
                Some(child)
            }
            Self::START => None,
            child => Some(child),
        }
    }

    /// Completes `δ`, short nodes first.
    fn fall_back(&mut self) {
        let mut queue = VecDeque::from([(Self::START, Self::START)]);
        while let Some((node, fallback)) = queue.pop_front() {
            if node != Self::START {
                let shorter = self.ends[fallback].clone();
                self.ends[node].extend(shorter);
            }
            for symbol in 0..self.n_symbols {
                let (child, other) = (self.next(node, symbol), self.next(fallback, symbol));
                match child {
                    Self::START => self.next[node * self.n_symbols + symbol] = other,
                    child if node == Self::START => queue.push_back((child, Self::START)),
                    child => queue.push_back((child, other)),
                }
            }
        }
    }
}
