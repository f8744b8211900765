//! What differs between the settings of an unfinished run and those of one that would resume it.

use serde_json::Value;

/// The dotted names of all values that differ, in alphabetical order.
pub fn changes(before: &Value, now: &Value) -> Vec<String> {
    let mut names = Vec::new();
    collect(before, now, "", &mut names);
    names.sort_unstable();
    names.dedup();
    names
}

fn collect(before: &Value, now: &Value, name: &str, names: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let missing = &Value::Null;
            for key in before.keys().chain(now.keys()) {
                let [was, is] = [before, now].map(|map| map.get(key).unwrap_or(missing));
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                collect(was, is, &name, names);
            }
        }
        (before, now) if before == now => {}
        _ => names.push(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changed_values_are_named() {
        let before = json!({"seed": 1, "training": {"epochs": 2, "rate": 0.1}, "old": [1, 2]});
        let now = json!({"seed": 1, "training": {"epochs": 3, "rate": 0.1}, "new": {"a": 1}});
        assert_eq!(changes(&before, &now), ["new", "old", "training.epochs"]);
        assert!(changes(&now, &now).is_empty());
        assert_eq!(changes(&json!({"a": [1]}), &json!({"a": [2]})), ["a"]);
    }
}
