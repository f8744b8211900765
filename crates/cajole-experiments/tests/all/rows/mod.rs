//! Rows of reports, to be compared.

use serde_json::Value;

/// The rows of a report as JSON, without these figures, which may differ.
pub(crate) fn rows_without(report: &cajole_report::Report, names: &[&str]) -> Vec<Value> {
    let row = |row| {
        let mut row = serde_json::to_value(row).unwrap();
        for name in names {
            row.as_object_mut().unwrap().remove(*name).unwrap();
        }
        row
    };
    report.rows.iter().map(row).collect()
}

#[track_caller]
pub(crate) fn compare(got: &[Value], want: &[Value]) {
    assert_eq!(got.len(), want.len());
    got.iter().zip(want).for_each(|(got, want)| assert_eq!(got, want));
}
