//! The machine's view of a result: one flat JSON object per net, method and constraint.
//!
//! Experiments differ in what they measure, so the figures are named by whoever adds them. They
//! keep that order, in the JSON too, and stand beside the names and counts rather than in an
//! object of their own: a row loads as a row of a data frame.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// One measured combination of net, method and constraint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The trained network.
    pub net: String,
    /// How its outputs were found or repaired.
    pub method: String,
    /// What they had to satisfy.
    pub constraint: String,
    /// How many inputs there were.
    pub total: usize,
    /// How many of them violated the constraint as first decoded: the ones to repair.
    pub failures: usize,
    /// Named figures, in per cent or in units, in the order they were added.
    pub figures: Vec<(String, f64)>,
}

impl Row {
    const NAMES: [&str; 5] = ["net", "method", "constraint", "total", "failures"];

    /// A row without counts and figures.
    pub fn new(
        net: impl Into<String>,
        method: impl Into<String>,
        constraint: impl Into<String>,
    ) -> Row {
        Row {
            net: net.into(),
            method: method.into(),
            constraint: constraint.into(),
            ..Row::default()
        }
    }

    /// Sets how many inputs there were, and how many were to be repaired.
    pub fn counted(mut self, total: usize, failures: usize) -> Row {
        (self.total, self.failures) = (total, failures);
        self
    }

    /// Adds a figure, or replaces the one of that name.
    ///
    /// # Panics
    ///
    /// If `name` is that of one of the row's own fields, which the flat object already has.
    pub fn with(mut self, name: impl Into<String>, value: f64) -> Row {
        let name = name.into();
        assert!(!Row::NAMES.contains(&name.as_str()), "`{name}` is a field of every row");
        match self.figures.iter_mut().find(|(known, _)| *known == name) {
            Some((_, figure)) => *figure = value,
            None => self.figures.push((name, value)),
        }
        self
    }

    /// The figure of that name, as tables want it: NaN, if there is none.
    pub fn figure(&self, name: &str) -> f64 {
        self.get(name).unwrap_or(f64::NAN)
    }

    /// The figure of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [net, method, constraint, total, failures] = Row::NAMES;
        let mut map = serializer.serialize_map(Some(Row::NAMES.len() + self.figures.len()))?;
        map.serialize_entry(net, &self.net)?;
        map.serialize_entry(method, &self.method)?;
        map.serialize_entry(constraint, &self.constraint)?;
        map.serialize_entry(total, &self.total)?;
        map.serialize_entry(failures, &self.failures)?;
        for (name, value) in &self.figures {
            map.serialize_entry(name, &value.is_finite().then_some(*value))?;
        }
        map.end()
    }
}

/// Reads what [`Row`] writes; a figure that is null is NaN.
impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Row, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Row;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with net, method, constraint, counts and figures")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
                let mut row = Row::default();
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "net" => row.net = map.next_value()?,
                        "method" => row.method = map.next_value()?,
                        "constraint" => row.constraint = map.next_value()?,
                        "total" => row.total = map.next_value()?,
                        "failures" => row.failures = map.next_value()?,
                        _ => {
                            let figure = map.next_value::<Option<f64>>()?;
                            row.figures.push((name, figure.unwrap_or(f64::NAN)));
                        }
                    }
                }
                Ok(row)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::Row;

    fn row() -> Row {
        Row::new("net 1", "gbi", "counts")
            .counted(1500, 312)
            .with("zeal", 1.0)
            .with("conversion", 98.25)
            .with("accuracy_after", f64::NAN)
            .with("zeal", 2.0)
    }

    #[test]
    fn json_is_flat_and_keeps_the_order() {
        let json = serde_json::to_string(&row()).unwrap();
        assert_eq!(
            json,
            r#"{"net":"net 1","method":"gbi","constraint":"counts","total":1500,"failures":312,"#
                .to_owned()
                + r#""zeal":2.0,"conversion":98.25,"accuracy_after":null}"#
        );
    }

    #[test]
    fn json_reads_back() {
        let json: Value = serde_json::from_str(&serde_json::to_string(&row()).unwrap()).unwrap();
        assert!(json.as_object().unwrap().values().all(|value| !value.is_object()));
        assert_eq!(json["conversion"].as_f64(), row().get("conversion"));
        assert_eq!(json["total"], 1500);
        assert!(json["accuracy_after"].is_null());
        let text = serde_json::to_string(&row()).unwrap();
        let again: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{again:?}"), format!("{:?}", row()), "NaN and order included");
    }

    #[test]
    fn a_figure_is_found_by_name() {
        assert_eq!(row().get("zeal"), Some(2.0));
        assert_eq!(row().get("exact_after"), None);
        assert!(row().figure("exact_after").is_nan() && row().figure("zeal") == 2.0);
    }

    #[test]
    #[should_panic(expected = "`total` is a field of every row")]
    fn a_figure_cannot_shadow_a_field() {
        let _ = row().with("total", 3.0);
    }
}
