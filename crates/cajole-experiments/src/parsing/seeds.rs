//! What differs between seeds: networks of one family, summed up.

use cajole_report::{Cell, Figure, Table};
use cajole_tasks::seeds::families;

use super::experiment::OfNetwork;
use crate::{OURS, Summary};

/// Means and ranges over the seeds of every family that has several, greedy decoding.
pub(super) fn seeds_table(networks: &[OfNetwork]) -> Option<Table> {
    let measured = networks.iter().filter_map(|n| {
        let greedy = n.test.iter().find(|m| m.width == 1)?;
        Some((n.config.name.as_str(), &greedy.rows))
    });
    let families = families(measured);
    let methods = ["masked greedy", "masked beam 9", "gbi paper", OURS];
    let first = ["net", "seeds", "test F1", "failures", "mended"];
    let caption = "Seeds, greedy decoding: means (and ranges) of test F1, of the percentage of outputs \
                   that are no trees, and of F1 on these failures";
    let mut table = Table::new(caption, first.into_iter().chain(methods));
    for (name, members) in &families {
        let over = |method: Option<&str>, figure: Figure| {
            let rows = members.iter().filter_map(|rows| match method {
                Some(method) => rows.iter().find(|row| row.method == method),
                None => rows.first(),
            });
            Cell::plain(Summary::of(rows.map(|row| row.figure(figure))).with_range())
        };
        let cells = [
            Cell::plain(*name),
            Cell::plain(members.len().to_string()),
            over(None, Figure::WholeF1Before),
            over(None, Figure::FailureRate),
            over(None, Figure::F1Before),
        ];
        let of_methods = methods.map(|method| over(Some(method), Figure::F1After));
        table = table.row(cells.into_iter().chain(of_methods));
    }
    (!families.is_empty()).then_some(table)
}
