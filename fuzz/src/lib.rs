//! What holds for every rule.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cajole_core::constraints::{Automaton, Spelling, Trie};
use cajole_core::{Constraint, Symbol};
use cajole_rules::{Subject, Vocabulary};

/// Passes `read` a file with this name and content.
pub fn with_file<T>(name: &str, bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("room for it");
    read(&path)
}

/// The bytes before the first NUL byte, and those after it.
pub fn at_nul(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|&byte| byte == 0);
    at.map_or((bytes, &[]), |at| (&bytes[..at], &bytes[at + 1..]))
}

/// Letters without anything between them, as transducers write them; one name is part of another.
pub fn letters() -> Arc<Vocabulary> {
    Arc::new(Vocabulary::new(["a", "b", "ab", "é"], ""))
}

/// Words with blanks between them.
pub fn words() -> Arc<Vocabulary> {
    Arc::new(Vocabulary::new(["the", "cat", "(", ")", "+"], " "))
}

/// BIO tags, with continuations and references.
pub fn tags() -> Arc<Vocabulary> {
    let names = ["O", "B-V", "B-ARG0", "I-ARG0", "B-C-ARG0", "I-C-ARG0", "B-R-ARG0", "I-R-ARG0"];
    Arc::new(Vocabulary::new(names, " "))
}

/// Shift-reduce commands.
pub fn commands() -> Arc<Vocabulary> {
    Arc::new(Vocabulary::new(["s", "r", "!NP", "!S"], " "))
}

/// Pieces of text, with halves of a character, a blank that is not written where the text begins, and
/// one that writes nothing.
pub fn pieces() -> Arc<Vocabulary> {
    let later: [&[u8]; 6] = [b"a", b" b", b"\xc3", b"\xa9", b"12", b""];
    let first: [&[u8]; 6] = [b"a", b"b", b"\xc3", b"\xa9", b"12", b""];
    let names = later.iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
    let silent = later.iter().map(|piece| piece.is_empty()).collect();
    let (later, first) = (Trie::new(later), Some(Trie::new(first)));
    Arc::new(Vocabulary::of_pieces(names, Spelling { later, first, silent }))
}

/// Outputs of up to five of these symbols, and of one that does not exist.
pub fn outputs(vocabulary: &Vocabulary) -> Vec<Vec<Symbol>> {
    let n = vocabulary.len() as Symbol;
    let short = (0..=n).flat_map(|first| [vec![first], vec![first, first], vec![0, first, 1]]);
    let long = [vec![0, 0, 1, 2], vec![0, 1, 2, 3, 1], vec![2, 0, 3], vec![1, 2, 3]];
    std::iter::once(Vec::new()).chain(short).chain(long).collect()
}

/// Checks that faults add up to the cost, and exist exactly if the output is infeasible, and that
/// outputs are feasible exactly if the automaton accepts them.
pub fn check(rule: &dyn Constraint<Subject>, x: &Subject, outputs: &[Vec<Symbol>]) {
    let automaton = rule.automaton(x);
    for y in outputs {
        let violation = rule.check(x, y);
        let (g, faults) = (violation.total(), rule.explain(x, y));
        assert!(0.0 <= g, "{y:?} costs {g}");
        assert_eq!(violation.is_satisfied(), faults.is_empty(), "{y:?}: {violation:?}, {faults:?}");
        let told = faults.iter().fold(0.0, |sum, fault| sum + fault.cost);
        let is_same = told == g || (told - g).abs() <= 1e-4 * g.max(1e-30);
        assert!(is_same, "{y:?}: {faults:?} are {told}, not {g}");
        for fault in &faults {
            let at = &fault.at;
            assert!(at.start < at.end && at.end <= y.len() + 1, "{y:?}: {fault:?}");
        }
        // An automaton knows nothing about symbols that a network cannot write.
        let is_known = |n_symbols| y.iter().all(|&symbol| (symbol as usize) < n_symbols);
        if let Some(automaton) = automaton.as_ref().filter(|a| is_known(a.n_symbols())) {
            check_member(&**automaton, y, violation.is_satisfied());
        }
    }
}

fn check_member(automaton: &dyn Automaton, y: &[Symbol], is_feasible: bool) {
    assert_eq!(automaton.contains(y), is_feasible, "{y:?}");
    let mut state = automaton.start();
    for (t, &symbol) in y.iter().enumerate() {
        if is_feasible {
            let rest = automaton.distance_to_accept(state);
            assert!(rest.is_some_and(|rest| rest <= y.len() - t), "{y:?} at {t}: {rest:?}");
        }
        let Some(next) = automaton.next(state, symbol) else { break };
        state = next;
    }
}
