//! Texts that are JSON, and valid by a JSON Schema.
//!
//! ```text
//! g = the number of errors that a validator finds, or 10 if the text is no JSON
//! ```
//!
//! An error blames the value that it is about: its instance path leads to a place in the text. A
//! text that is not JSON is blamed where the parser stopped.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use cajole_core::{Constraint, Fault, Part, Symbol, Violation};
use cajole_files::Place;
use jsonschema::paths::LocationSegment;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::{MOST_JSON_ERRORS, MOST_JSON_PATTERN_BYTES};
use crate::subject::Subject;
use crate::text::Text;
use crate::vocabulary::Vocabulary;

/// `g` of a text that is not JSON: more than that of most JSON texts.
const NOT_JSON: f32 = 10.0;

/// Size limit of each pattern of a schema.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The output must be JSON that is valid by a schema.
#[derive(Clone, Debug)]
pub struct JsonSchema {
    vocabulary: Arc<Vocabulary>,
    validator: Validator,
    pattern_bytes: usize,
}

impl JsonSchema {
    /// The rule that outputs are valid by `schema`. Patterns in it are matched in linear time, without
    /// look-around; references lead to the schema itself, never to files or hosts.
    ///
    /// # Errors
    /// If it is not a schema.
    pub fn new(schema: &Value, vocabulary: &Arc<Vocabulary>) -> Result<Self, String> {
        let n_patterns = n_patterns(schema);
        let size = (MOST_JSON_PATTERN_BYTES / n_patterns.max(1)).min(MAX_PATTERN_BYTES);
        let patterns = PatternOptions::regex().size_limit(size).dfa_size_limit(size);
        let options = jsonschema::options().with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| error.to_string())?;
        // Each pattern itself, and what it remembers while it searches.
        let pattern_bytes = 2 * size * n_patterns;
        Ok(JsonSchema { vocabulary: Arc::clone(vocabulary), validator, pattern_bytes })
    }

    /// The memory that its patterns may take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.pattern_bytes
    }

    /// The first keyword of a schema that refers to another schema, if there is one. Such
    /// references can multiply the work exponentially, so untrusted schemas may not use them.
    pub fn reference(schema: &Value) -> Option<&str> {
        let mut found = None;
        walk(schema, &mut |key, _| {
            if matches!(key, "$ref" | "$dynamicRef" | "$recursiveRef") {
                found = found.or(Some(key));
            }
        });
        found
    }

    /// What is wrong with a text, and where.
    fn errors(&self, text: &str) -> Vec<(Range<usize>, f32, String)> {
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                let at = match error.is_eof() {
                    true => text.len(),
                    false => Place::from(&error).byte_by_bytes(text),
                };
                return vec![(at..at + 1, NOT_JSON, format!("this is no JSON: {error}"))];
            }
        };
        let errors = self.validator.iter_errors(&value).take(MOST_JSON_ERRORS);
        let told = errors.map(|error| {
            let path = error.instance_path();
            let place = match path.as_str() {
                "" => String::new(),
                path => format!("{path}: "),
            };
            (locate(text, path.into_iter()), 1.0, format!("{place}{error}"))
        });
        let mut told: Vec<(Range<usize>, f32, String)> = told.collect();
        told.sort_by(|(a, _, one), (b, _, other)| (a.start, one).cmp(&(b.start, other)));
        told
    }
}

impl Constraint<Subject> for JsonSchema {
    fn check(&self, _: &Subject, y: &[Symbol]) -> Violation {
        let text = self.vocabulary.written(y);
        let part =
            |(at, cost, _): (Range<usize>, f32, String)| Part { at: text.symbols(&at), cost };
        Violation::Parts(self.errors(text.as_str()).into_iter().map(part).collect())
    }

    fn explain(&self, _: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let text: Text = self.vocabulary.written(y);
        let fault = |(at, cost, message): (Range<usize>, f32, String)| Fault {
            at: text.symbols(&at),
            cost,
            message,
        };
        self.errors(text.as_str()).into_iter().map(fault).collect()
    }
}

/// How many regular expressions a schema has.
fn n_patterns(schema: &Value) -> usize {
    let mut n = 0;
    walk(schema, &mut |key, value| match (key, value) {
        ("pattern", _) => n += 1,
        ("patternProperties", Value::Object(all)) => n += all.len(),
        _ => {}
    });
    n
}

/// Calls `found` with every key of a schema, at any depth, and its value.
fn walk<'s>(schema: &'s Value, found: &mut dyn FnMut(&'s str, &'s Value)) {
    match schema {
        Value::Object(all) => all.iter().for_each(|(key, value)| {
            found(key, value);
            walk(value, found);
        }),
        Value::Array(all) => all.iter().for_each(|value| walk(value, found)),
        _ => {}
    }
}

/// The bytes of the value that a path leads to in a JSON text.
fn locate<'p>(text: &str, path: impl Iterator<Item = LocationSegment<'p>>) -> Range<usize> {
    let mut value = text.trim();
    for segment in path {
        let inner = match segment {
            LocationSegment::Property(name) => {
                let all: Result<HashMap<String, &RawValue>, _> = serde_json::from_str(value);
                all.ok().and_then(|all| all.get(&*name).copied())
            }
            LocationSegment::Index(index) => {
                let all: Result<Vec<&RawValue>, _> = serde_json::from_str(value);
                all.ok().and_then(|all| all.get(index).copied())
            }
        };
        let Some(inner) = inner else { break };
        value = inner.get();
    }
    // Both are parts of the same text.
    let start = value.as_ptr() as usize - text.as_ptr() as usize;
    start..start + value.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::oracle::letters;

    fn told(schema: &Value, text: &str) -> Vec<(String, String)> {
        let rule = JsonSchema::new(schema, Vocabulary::bytes()).unwrap();
        let y: Vec<Symbol> = text.bytes().map(Symbol::from).collect();
        let faults = rule.explain(&letters(""), &y).into_iter();
        let blamed = |at: Range<usize>| text.get(at).unwrap_or("the end").to_owned();
        faults.map(|fault| (blamed(fault.at), fault.message)).collect()
    }

    #[test]
    fn errors_are_where_the_values_are() {
        let schema = json!({"type": "object", "required": ["id"], "properties": {
            "id": {"type": "integer"}, "tags": {"items": {"enum": ["x", "y"]}}}});
        assert_eq!(told(&schema, r#" {"id": 1, "tags": ["x"]} "#), []);
        let text = r#"{"tags": ["x", "é", "y", "z"], "id": {"a": "]}"} }"#;
        let blamed: Vec<String> = told(&schema, text).into_iter().map(|(at, _)| at).collect();
        assert_eq!(blamed, [r#""é""#, r#""z""#, r#"{"a": "]}"}"#]);
        let [(at, message)] = &told(&schema, " {} ")[..] else { panic!("one error") };
        assert_eq!((at.as_str(), message.as_str()), ("{}", r#""id" is a required property"#));
        let twice = told(&schema, r#"{"id": 1, "id": "a"}"#);
        assert_eq!(twice[0].0, r#""a""#, "the last of two counts");
        let escaped = told(&json!({"properties": {"a/b~": {"type": "null"}}}), r#"{"a\/b~": 1}"#);
        assert_eq!(escaped[0].0, "1");
    }

    #[test]
    fn what_is_no_json_is_blamed_where_it_ends() {
        let anything = json!(true);
        for (text, blamed) in
            [("", "the end"), ("{\"a\":", "the end"), ("[1, }", "}"), ("[1] x", "x")]
        {
            let [(at, message)] = &told(&anything, text)[..] else { panic!("{text}") };
            assert_eq!(at, blamed, "{text}: {message}");
            assert!(message.starts_with("this is no JSON"), "{message}");
        }
        let deep = "[".repeat(200_000);
        assert_eq!(told(&anything, &deep).len(), 1);
    }

    #[test]
    fn schemas_are_checked_and_stay_by_themselves() {
        let refused = |schema: Value| JsonSchema::new(&schema, Vocabulary::bytes()).unwrap_err();
        assert!(refused(json!({"type": "strin"})).contains("strin"));
        assert!(!refused(json!({"$ref": "file:///etc/hostname"})).is_empty());
        assert!(!refused(json!({"$ref": "http://localhost/schema"})).is_empty());
        assert!(!refused(json!({"pattern": "(?=a)b"})).is_empty(), "look-around is refused");
        let large = json!({"properties": {"a": {"pattern": "\\p{L}{3000}"}}});
        assert!(!refused(large).is_empty(), "large patterns are refused");
        let cycle = json!({"allOf": [{"$ref": "#"}]});
        assert_eq!(JsonSchema::reference(&cycle), Some("$ref"));
        assert_eq!(JsonSchema::reference(&json!({"type": "object"})), None);
        assert_eq!(told(&cycle, "1"), []);
        let nested = format!("{}1{}", "{\"a\":".repeat(100), "}".repeat(100));
        let recursive = json!({"anyOf": [{"properties": {"a": {"$ref": "#"}}}]});
        assert_eq!(told(&recursive, &nested), []);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-5..5i64).prop_map(Value::from),
            "[ab\"é]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map("[ab]", inner, 0..3)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    fn schema() -> impl Strategy<Value = Value> {
        let kind = prop_oneof![
            Just("null"),
            Just("boolean"),
            Just("integer"),
            Just("string"),
            Just("array"),
            Just("object")
        ];
        let leaf = prop_oneof![
            kind.prop_map(|kind| json!({"type": kind})),
            (0..3u8).prop_map(|n| json!({"minLength": n, "minimum": n, "maxItems": n})),
            Just(json!({"required": ["a"]})),
            Just(json!({"additionalProperties": false, "properties": {"a": true}})),
        ];
        leaf.prop_recursive(2, 6, 2, |inner| {
            prop_oneof![
                inner.clone().prop_map(|s| json!({"properties": {"a": s}})),
                inner.clone().prop_map(|s| json!({"items": s})),
                inner.clone().prop_map(|s| json!({"not": s})),
                (inner.clone(), inner).prop_map(|(s, t)| json!({"anyOf": [s, t]})),
            ]
        })
    }

    proptest! {
        #[test]
        fn zero_exactly_for_what_is_valid(schema in schema(), value in value(), broken in any::<bool>()) {
            let rule = JsonSchema::new(&schema, Vocabulary::bytes()).unwrap();
            let mut text = value.to_string();
            if broken {
                text.pop();
            }
            let y: Vec<Symbol> = text.bytes().map(Symbol::from).collect();
            let is_valid = serde_json::from_str::<Value>(&text)
                .is_ok_and(|value| jsonschema::is_valid(&schema, &value));
            let (x, g) = (letters(""), rule.check(&letters(""), &y));
            prop_assert_eq!(g.is_satisfied(), is_valid, "{}", text);
            let faults = rule.explain(&x, &y);
            prop_assert_eq!(faults.iter().map(|fault| fault.cost).sum::<f32>(), g.total());
            for fault in faults {
                prop_assert!(fault.at.start < fault.at.end && fault.at.end <= y.len() + 1);
            }
        }
    }
}
