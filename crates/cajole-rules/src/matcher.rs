//! Matches several phrases at once (Aho and Corasick).
//!
//! A node is the longest suffix of the output so far that is a prefix of some phrase: nothing else
//! matters later. If no phrase continues, matching resumes at the *fallback*: the longest proper
//! suffix of the node that is a prefix of some phrase.
//!
//! ```text
//! δ(u, s) = us           if a phrase begins with us
//!         = δ(f(u), s)   otherwise;  δ(ε, s) = ε      f(us) = δ(f(u), s)
//! ```

use std::collections::VecDeque;

/// Matches phrases over the symbols `0..n_symbols`.
pub(crate) struct Matcher {
    n_symbols: usize,
    next: Vec<usize>, // (nodes, n_symbols)
    /// For each node, the phrases that end there.
    ends: Vec<Vec<usize>>,
}

impl Matcher {
    /// The node of the empty output.
    pub(crate) const START: usize = 0;

    /// Builds the matcher, unless it needs more than `max_nodes` nodes.
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

    /// The successor of `node`.
    pub(crate) fn next(&self, node: usize, symbol: usize) -> usize {
        self.next[node * self.n_symbols + symbol]
    }

    /// The phrases that the output so far ends with.
    pub(crate) fn ends(&self, node: usize) -> &[usize] {
        &self.ends[node]
    }

    /// The child of a node, created if it is missing. Before fallbacks are filled in, a transition
    /// to the start means missing.
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

    /// Fills in `δ`, shortest nodes first.
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
