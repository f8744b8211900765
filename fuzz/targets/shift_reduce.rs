//! Arbitrary shift-reduce commands: those that build no tree are recognised, and repaired into one.
//!
//! The first byte is the number of tokens, every other a symbol.
#![no_main]

use cajole_core::Symbol;
use cajole_core::constraint::Constraint;
use cajole_treebank::shift_reduce::commands::{Commands, Invalid};
use cajole_treebank::shift_reduce::constraint::ShiftReduce;
use cajole_treebank::shift_reduce::repair::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&n_tokens, bytes)) = bytes.split_first() else { return };
    let commands = Commands::new(["S", "NP", "VP"].map(str::to_owned).to_vec());
    // One symbol more than exist, including the end.
    let symbols = bytes.iter().map(|byte| Symbol::from(*byte) % (commands.end() + 2));
    let y: Vec<Symbol> = symbols.collect();
    let x = vec![0; usize::from(n_tokens % 40)];
    check(&commands, &x, &y);
});

fn check(commands: &Commands, x: &[Symbol], y: &[Symbol]) {
    let leaves = vec![("NN", "word"); x.len()];
    let decoded = commands.decode(y, &leaves);
    let (repaired, repairs) = repair(commands, y, &leaves);
    assert_eq!(repaired.leaves(), leaves, "a tree over the leaves");
    if let Ok(tree) = &decoded {
        assert_eq!(commands.encode(tree).as_deref(), Ok(y), "one sequence for each tree");
        assert_eq!((tree, repairs.total()), (&repaired, 0), "what is valid stays as it is");
        assert_eq!(commands.parse(&commands.text(y).to_string()).as_deref(), Ok(y));
    }

    let constraint = ShiftReduce::new(commands);
    let violation = constraint.check(x, y);
    // Depth is not a fault: see the constraint.
    let too_deep = matches!(decoded, Err(Invalid::TooDeep { .. }));
    if !too_deep {
        assert_eq!(violation.total() == 0.0, decoded.is_ok(), "{decoded:?}");
    }
    let explained: f32 = constraint.explain(x, y).iter().map(|fault| fault.cost).sum();
    assert!((explained - violation.total()).abs() <= 1e-4 * violation.total().max(1.0));

    let language = constraint.automaton(x).expect("trees over a sentence are a language");
    if !too_deep {
        assert_eq!(language.contains(y), decoded.is_ok(), "the language is that of trees");
    }
}
