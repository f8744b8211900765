//! The fields of a line that is a JSON object. Its `id` is kept as it was written.
//!
//! Numbers are read as 64 bits wide, so an `id` of more digits would come back as another one, and
//! two lines could get the same. So the text of an `id` is kept, and nothing computes with it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// All of them. A number that is too large for 64 bits is rounded here, also as `id`.
    pub all: Map<String, Value>,
    /// The `id`, as it was written.
    pub id: Option<Id>,
    /// Whether a key comes twice.
    pub repeats: bool,
}

/// The `id` of a line, as it was written: any JSON value, on one line.
#[derive(Clone)]
pub struct Id(Box<RawValue>);

impl Id {
    /// Its JSON text.
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// As a value. A whole number that is too large for 64 bits is rounded; one that is too large
    /// for any float is its text.
    pub fn to_value(&self) -> Value {
        let text = self.as_json();
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    }

    /// The text of a JSON value, with the value: it must be one that can be read again.
    fn read(text: &RawValue) -> Result<(Id, Value), serde_json::Error> {
        let value = match serde_json::from_str(text.get()) {
            Ok(value) => value,
            Err(_) if is_number(text.get()) => Value::String(text.get().to_owned()),
            Err(error) => return Err(error),
        };
        // Records are one line each. Only lists and objects can have line ends inside.
        let text = match text.get().contains(['\n', '\r']) {
            true => RawValue::from_string(value.to_string())?,
            false => text.to_owned(),
        };
        Ok((Id(text), value))
    }
}

/// Whether this JSON value is a number.
fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Eq for Id {}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields, D::Error> {
        from.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some(key) = map.next_key::<String>()? {
            // Of two fields with the same key, the last counts.
            let value = match key.as_str() {
                "id" => {
                    let text = map.next_value::<Box<RawValue>>()?;
                    let (id, value) = Id::read(&text).map_err(A::Error::custom)?;
                    fields.id = Some(id);
                    value
                }
                _ => map.next_value()?,
            };
            fields.repeats |= fields.all.insert(key, value).is_some();
        }
        Ok(fields)
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.all.len()))?;
        for (key, value) in &self.all {
            match self.id.as_ref().filter(|_| key == "id") {
                Some(id) => map.serialize_entry(key, id)?,
                None => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Result<Fields, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn ids_keep_their_text() {
        for id in [
            "7",
            "-0",
            "18446744073709551616",
            "123456789012345678901234567890",
            "1.00",
            "1.0",
            "1e400",
            "-1E-400",
            r#""a""#,
            r#""\u00e9\/""#,
            r#""é""#,
            "null",
            "[18446744073709551616, 1.50]",
            r#"{"a":  1}"#,
        ] {
            let read = fields(&format!(r#"{{"a": [1], "id" : {id} , "z": "y"}}"#)).unwrap();
            assert_eq!(read.id.as_ref().unwrap().as_json(), id);
            assert_eq!(read.all.keys().collect::<Vec<_>>(), ["a", "id", "z"]);
            let written = serde_json::to_string(&read).unwrap();
            assert_eq!(written, format!(r#"{{"a":[1],"id":{id},"z":"y"}}"#));
        }
    }

    #[test]
    fn of_two_ids_the_last_counts_and_none_breaks_a_record() {
        let twice = fields(r#"{"id": 1, "x": 2, "id": 2.0}"#).unwrap();
        assert_eq!((twice.id.unwrap().as_json(), &twice.all["id"]), ("2.0", &Value::from(2.0)));
        let folded = fields("{\"id\": [\n1,\r\n {\"a\": 2}]}").unwrap();
        assert_eq!(folded.id.unwrap().as_json(), r#"[1,{"a":2}]"#);
        assert!(fields("{}").unwrap().id.is_none());
        let deep = format!(r#"{{"id": {}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
        let half = r#"{"id": "\ud800"}"#.to_owned();
        for bad in [deep, half, r#"{"id": 01}"#.to_owned(), r#"{"id": }"#.to_owned()] {
            assert!(fields(&bad).is_err(), "{bad:.40}");
        }
    }
}
