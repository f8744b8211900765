//! Inputs whose own outputs violate the rules of the built-in networks, to try things with.

use serde_json::Value;

/// By network.
const EXAMPLES: &str = include_str!("../examples.json");

/// Those of a built-in network; none, if there are none.
pub fn of(network: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(EXAMPLES).unwrap_or_default();
    all.get(network).and_then(Value::as_array).cloned().unwrap_or_default()
}
