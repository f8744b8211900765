//! Results for machines: one flat JSON object per net, method and constraint.
//!
//! Experiments measure different things, so a row contains just the figures that were added. They
//! keep their order, also in JSON, and sit next to the names and counts rather than in a nested
//! object, so a row loads directly into a data frame.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// One measured combination of net, method and constraint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// The trained network.
    pub net: String,
    /// The decoding or repair method.
    pub method: String,
    /// The constraint.
    pub constraint: String,
    /// The number of inputs.
    pub total: usize,
    /// How many of them violated the constraint when first decoded: the failure set.
    pub failures: usize,
    /// The measurements, in the order they were added.
    #[serde(flatten, with = "figures")]
    pub figures: Vec<(Figure, f64)>,
}

impl Row {
    /// A row without counts or figures.
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

    /// Sets the number of inputs and the size of the failure set.
    pub fn counted(mut self, total: usize, failures: usize) -> Row {
        (self.total, self.failures) = (total, failures);
        self
    }

    /// Adds or replaces a figure.
    pub fn with(mut self, figure: Figure, value: f64) -> Row {
        match self.figures.iter_mut().find(|(known, _)| *known == figure) {
            Some((_, known)) => *known = value,
            None => self.figures.push((figure, value)),
        }
        self
    }

    /// A figure; NaN if it was not measured, as tables want it.
    pub fn figure(&self, figure: Figure) -> f64 {
        self.get(figure).unwrap_or(f64::NAN)
    }

    /// A figure, if it was measured.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        self.figures.iter().find(|(known, _)| *known == figure).map(|(_, value)| *value)
    }
}

/// Figures as fields of their row. One that is not finite is `null`, which reads back as NaN.
mod figures {
    use std::fmt;

    use serde::de::{Deserializer, MapAccess, Visitor};
    use serde::ser::Serializer;

    use crate::figure::Figure;

    pub(super) fn serialize<S: Serializer>(
        figures: &[(Figure, f64)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let finite = |value: f64| value.is_finite().then_some(value);
        serializer.collect_map(figures.iter().map(|(figure, value)| (figure, finite(*value))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Figure, f64)>, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Vec<(Figure, f64)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("figures")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut figures = Vec::new();
                while let Some((figure, value)) = map.next_entry::<Figure, Option<f64>>()? {
                    figures.push((figure, value.unwrap_or(f64::NAN)));
                }
                Ok(figures)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Figure, Row};

    fn row() -> Row {
        Row::new("net 1", "gbi", "counts")
            .counted(1500, 312)
            .with(Figure::Steps25, 1.0)
            .with(Figure::Conversion, 98.25)
            .with(Figure::WholeF1After, f64::NAN)
            .with(Figure::Steps25, 2.0)
    }

    #[test]
    fn json_is_flat_and_keeps_the_order() {
        let json = serde_json::to_string(&row()).unwrap();
        assert_eq!(
            json,
            r#"{"net":"net 1","method":"gbi","constraint":"counts","total":1500,"failures":312,"#
                .to_owned()
                + r#""steps_25":2.0,"conversion":98.25,"whole_f1_after":null}"#
        );
    }

    #[test]
    fn json_reads_back() {
        let json: Value = serde_json::from_str(&serde_json::to_string(&row()).unwrap()).unwrap();
        assert!(json.as_object().unwrap().values().all(|value| !value.is_object()));
        assert_eq!(json["conversion"].as_f64(), row().get(Figure::Conversion));
        assert_eq!(json["total"], 1500);
        let text = serde_json::to_string(&row()).unwrap();
        let again: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{again:?}"), format!("{:?}", row()), "NaN and order included");
        let misspelt = serde_json::from_str::<Row>(&text.replace("conversion", "convresion"));
        assert!(misspelt.unwrap_err().to_string().contains("`convresion`"));
    }

    #[test]
    fn a_figure_is_found_by_name() {
        assert_eq!(row().get(Figure::Steps25), Some(2.0));
        assert_eq!(row().get(Figure::ExactAfter), None);
        assert!(row().figure(Figure::ExactAfter).is_nan() && row().figure(Figure::Steps25) == 2.0);
    }
}
