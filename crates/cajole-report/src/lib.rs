//! The results of an experiment, as plain data that every front end can show.
//!
//! An experiment returns a [`Report`] and prints nothing. The command line shows
//! [`Report::to_text`], the README quotes [`Report::to_markdown`], a browser opens
//! [`Report::to_html`], and programs read [`Report::to_json`], whose stable part is `rows`: one
//! flat object per net, method and constraint.
//!
//! ```
//! use cajole_report::{Cell, Figure, Report, Row, Table};
//!
//! let row = Row::new("net 1", "gbi", "counts").counted(1500, 312);
//! let report = Report {
//!     rows: vec![row.with(Figure::Conversion, 98.2)],
//!     tables: vec![
//!         Table::new("Inputs repaired, per cent", ["method", "conversion"])
//!             .row([Cell::plain("beam"), Cell::number(91.0, 1)])
//!             .row([Cell::plain("gbi"), Cell::number(98.2, 1).best()]),
//!     ],
//!     ..Report::new("Transduction")
//! };
//! assert!(report.to_json().contains(r#""conversion": 98.2"#));
//! assert!(report.to_markdown().contains("| gbi | **98.2** |"));
//! ```

mod axis;
mod case;
mod cell;
mod figure;
mod html;
mod label;
mod look;
mod markdown;
#[cfg(test)]
mod markup;
mod number;
mod plot;
mod row;
#[cfg(test)]
mod sample;
mod svg;
mod table;
mod text;

use serde::Serialize;

pub use axis::{Axis, Scale};
pub use case::{CaseStep, CaseStudy, Piece};
pub use cell::{Cell, Emphasis};
pub use figure::Figure;
pub use html::escape;
pub use plot::{Plot, Series, SeriesStyle};
pub use row::Row;
pub use table::{Align, Table};

/// The results of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// A short title.
    pub title: String,
    /// Introductory paragraphs of plain text.
    pub intro: Vec<String>,
    /// The figures for machines.
    pub rows: Vec<Row>,
    /// The figures for people.
    pub tables: Vec<Table>,
    /// The figures as plots.
    pub plots: Vec<Plot>,
    /// Single inputs, followed iteration by iteration.
    pub cases: Vec<CaseStudy>,
    /// Settings, caveats and departures from the paper.
    pub notes: Vec<String>,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Report {
        Report { title: title.into(), ..Report::default() }
    }

    /// The whole report as indented JSON. Non-finite numbers become `null`.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers always serialise")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::sample;

    #[test]
    fn json_holds_every_part() {
        let json: Value = serde_json::from_str(&sample::report().to_json()).unwrap();
        for part in ["intro", "rows", "tables", "plots", "cases", "notes"] {
            assert!(!json[part].as_array().unwrap().is_empty(), "{part} is empty");
        }
        assert_eq!(json["title"], "Transduction");
        assert_eq!(json["rows"][0]["method"], "greedy");
    }
}
