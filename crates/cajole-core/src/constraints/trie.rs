//! The bytes that symbols stand for, as a trie.
//!
//! Networks over text write pieces of words, 30 000 to 250 000 of them. Rules are about the text. So
//! for each state of a rule one must know which pieces may come next. Most pieces share their first
//! bytes with others: in a trie, a byte that the rule forbids excludes all of these at once.
//!
//! Nodes are listed in depth-first order, each with the end of its subtree. A walk is then one scan
//! of an array, which jumps over subtrees that are excluded.

use crate::model::Symbol;

/// The bytes of symbols.
#[derive(Clone, Debug)]
pub struct Trie {
    nodes: Vec<Node>,
    /// All symbols, sorted by their bytes.
    sorted: Vec<Symbol>,
    /// Symbol `s` stands for `bytes[starts[s]..starts[s + 1]]`.
    bytes: Vec<u8>,
    starts: Vec<u32>,
    /// The most bytes of a symbol, and of the path to a node.
    longest: usize,
}

/// A prefix of some symbol's bytes.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Its last byte.
    byte: u8,
    /// How many bytes it has.
    depth: u32,
    /// The first node after its subtree.
    end: u32,
    /// The symbols whose bytes are exactly this prefix: `sorted[first..last]`.
    first: u32,
    last: u32,
}

impl Trie {
    /// The trie of symbols `0..` that stand for these bytes; several may stand for the same, or for
    /// none.
    ///
    /// # Panics
    /// If all bytes together, or all symbols, are more than 32 bits can number.
    pub fn new<B: AsRef<[u8]>>(all: impl IntoIterator<Item = B>) -> Trie {
        let (mut bytes, mut starts) = (Vec::new(), vec![0]);
        for own in all {
            bytes.extend_from_slice(own.as_ref());
            starts.push(u32::try_from(bytes.len()).expect("less than 4 GB of text"));
        }
        let n_symbols = Symbol::try_from(starts.len() - 1).expect("symbols have 32 bits");
        let of = |symbol: Symbol| {
            let at = symbol as usize;
            &bytes[starts[at] as usize..starts[at + 1] as usize]
        };
        let mut sorted: Vec<Symbol> = (0..n_symbols).collect();
        sorted.sort_by(|&a, &b| of(a).cmp(of(b)));
        let longest = sorted.iter().map(|&symbol| of(symbol).len()).max().unwrap_or(0);
        let mut trie = Trie { nodes: Vec::new(), sorted, bytes, starts, longest };
        trie.build();
        trie
    }

    /// How many symbols there are.
    pub fn n_symbols(&self) -> usize {
        self.sorted.len()
    }

    /// The bytes of a symbol; none if there is no such symbol.
    pub fn bytes(&self, symbol: Symbol) -> &[u8] {
        let at = symbol as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(&start), Some(&end)) => &self.bytes[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The most bytes that a symbol stands for.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Follows all symbols at once from `start`: `next` says where a byte leads, `found` receives
    /// symbols and where they lead. Returns the number of bytes that were followed.
    pub fn walk<S: Copy>(
        &self,
        start: S,
        mut next: impl FnMut(S, u8) -> Option<S>,
        mut found: impl FnMut(&[Symbol], S),
    ) -> usize {
        let mut path = vec![start; self.longest + 1];
        let (mut at, mut n_followed) = (1, 0);
        let root = self.nodes[0];
        found(&self.sorted[root.first as usize..root.last as usize], start);
        while let Some(node) = self.nodes.get(at) {
            n_followed += 1;
            let depth = node.depth as usize;
            match next(path[depth - 1], node.byte) {
                Some(to) => {
                    path[depth] = to;
                    if node.first < node.last {
                        found(&self.sorted[node.first as usize..node.last as usize], to);
                    }
                    at += 1;
                }
                None => at = node.end as usize,
            }
        }
        n_followed
    }

    /// The symbol whose bytes are the longest prefix of `text`, with the number of these bytes; of
    /// several the first.
    pub fn longest_prefix(&self, text: &[u8]) -> Option<(Symbol, usize)> {
        let mut best = None;
        let next = |depth: usize, byte| (text.get(depth) == Some(&byte)).then_some(depth + 1);
        self.walk(0, next, |symbols, depth| {
            best = symbols.first().filter(|_| 0 < depth).map(|&symbol| (symbol, depth)).or(best);
        });
        best
    }

    /// Lists the nodes of the sorted symbols.
    fn build(&mut self) {
        let root = Node { byte: 0, depth: 0, end: 0, first: 0, last: 0 };
        let mut nodes = vec![root];
        // The nodes on the path to the symbol before.
        let mut path = vec![0];
        for (place, &symbol) in (0..).zip(&self.sorted) {
            let bytes = self.bytes(symbol);
            let shared = |&depth: &usize| {
                bytes.get(depth - 1).is_some_and(|byte| nodes[path[depth]].byte == *byte)
            };
            let kept = (1..path.len()).take_while(shared).count();
            for closed in path.drain(kept + 1..) {
                nodes[closed].end = nodes.len() as u32;
            }
            for (depth, &byte) in bytes.iter().enumerate().skip(kept) {
                path.push(nodes.len());
                let depth = depth as u32 + 1;
                nodes.push(Node { byte, depth, end: 0, first: place, last: place });
            }
            nodes[path[bytes.len()]].last = place + 1;
        }
        for closed in path {
            nodes[closed].end = nodes.len() as u32;
        }
        self.nodes = nodes;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn symbols_are_found_by_their_bytes() {
        let trie = Trie::new(["ab", "", "a", "b", "ab", "abc"]);
        assert_eq!((trie.n_symbols(), trie.longest()), (6, 3));
        assert_eq!(
            (trie.bytes(5), trie.bytes(1), trie.bytes(9)),
            (&b"abc"[..], &b""[..], &b""[..])
        );
        assert_eq!(trie.longest_prefix(b"abd"), Some((0, 2)));
        assert_eq!(trie.longest_prefix(b"cab"), None);
        let mut seen = Vec::new();
        let n = trie.walk((), |(), byte| (byte != b'b').then_some(()), |s, ()| seen.extend(s));
        assert_eq!((n, seen), (3, vec![1, 2]), "a, and b after it and alone");
        assert_eq!(Trie::new([""; 0]).walk((), |(), _| Some(()), |_, ()| {}), 0);
    }

    proptest! {
        #[test]
        fn a_walk_finds_what_follows_byte_by_byte(
            all in prop::collection::vec(prop::collection::vec(0..4u8, 0..5), 0..40),
            table in prop::collection::vec(prop::option::of(0..6usize), 24),
        ) {
            let trie = Trie::new(&all);
            let next = |q: usize, byte: u8| table[q * 4 + usize::from(byte)];
            let mut found = vec![None; all.len()];
            trie.walk(0, next, |symbols, q| symbols.iter().for_each(|&s| found[s as usize] = Some(q)));
            for (s, bytes) in all.iter().enumerate() {
                prop_assert_eq!(trie.bytes(s as Symbol), &bytes[..]);
                prop_assert_eq!(found[s], bytes.iter().try_fold(0, |q, &byte| next(q, byte)));
            }
            let longest = all.iter().filter(|b| !b.is_empty() && [0, 1, 2, 3].starts_with(b));
            let longest = longest.map(Vec::len).max();
            prop_assert_eq!(trie.longest_prefix(&[0, 1, 2, 3]).map(|(_, n)| n), longest);
        }
    }
}
