//! Inputs whose own outputs violate the usual rules of the built-in networks, for trying things
//! out.

use serde_json::Value;

/// By network.
const EXAMPLES: &str = include_str!("../examples.json");

/// The examples of a built-in network; empty if it has none.
pub fn of(network: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(EXAMPLES).unwrap_or_default();
    all.get(network).and_then(Value::as_array).cloned().unwrap_or_default()
}
