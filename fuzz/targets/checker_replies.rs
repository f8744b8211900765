//! Replies of programs about outputs. The first byte is the number of the output's symbols.
#![no_main]

use cajole_rules::parse_reply;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

#[derive(Deserialize)]
struct Written {
    loss: f64,
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&n_symbols, line)) = bytes.split_first() else { return };
    let reply = match parse_reply(line, usize::from(n_symbols)) {
        Ok(reply) => reply,
        Err(error) => return drop(error.to_string()),
    };
    let Written { loss } = serde_json::from_slice(line).expect("a reply has a loss");
    let g = reply.verdict.violation().total();
    assert!(g.is_finite() && (g == 0.0) == (loss == 0.0), "{g} for {loss}");
    assert!((f64::from(g) - loss).abs() <= 1e-4 * loss + 1e-30, "{g} for {loss}");
    for fault in &reply.verdict.parts {
        let at = &fault.at;
        assert!(0.0 < fault.cost && at.start < at.end && at.end <= usize::from(n_symbols) + 1);
    }
});
