//! What differs between seeds: taggers of one family, summed up.

use cajole_report::{Cell, Figure, Table};
use cajole_tasks::seeds::families;

use super::block::Measured;
use super::experiment::OfNetwork;
use super::tables::failure_set;
use crate::{FailureSet, OURS, Score, Summary, Tally, Verdict, ahead_on_all};

/// The rivals over which the lead is shown.
const RIVALS: [&str; 2] = ["exact MAP", "A*"];

/// For every family of several seeds, under the first kind of constraint: means and ranges, and how far
/// the best preset is ahead on the failures of all seeds.
pub(super) fn seeds_table(networks: &[OfNetwork]) -> Option<Table> {
    let measured = networks.iter().filter_map(|n| {
        let first: &Measured = n.test.first()?;
        Some((n.config.name.as_str(), (n, first)))
    });
    let families = families(measured);
    let caption = "Seeds: means (and ranges) of test F1, of the percentage of outputs that violate the \
                   constraint, and of F1 on these failures; then how far “gbi best” is ahead on the \
                   failures of all seeds together, F1 and exact match, with 95 % intervals from draws \
                   of the predicates";
    let methods = ["exact MAP", "A*", "gbi paper", "gbi small", OURS];
    let leads = RIVALS
        .iter()
        .flat_map(|rival| ["F1", "exact"].map(|figure| format!("{figure}, above {rival}")));
    let first = ["net", "seeds", "test F1", "failures"].into_iter().chain(methods);
    let header: Vec<String> = first.map(str::to_owned).chain(leads).collect();
    let mut table = Table::new(caption, header);
    for (name, members) in &families {
        let over = |method: &str, figure: Figure| {
            let rows =
                members.iter().filter_map(|(_, m)| m.rows.iter().find(|r| r.method == method));
            Cell::plain(Summary::of(rows.map(|row| row.figure(figure))).with_range())
        };
        let sets: Vec<FailureSet<'_>> = members.iter().map(|(n, m)| failure_set(n, m)).collect();
        let sets: Vec<&FailureSet<'_>> = sets.iter().collect();
        let figures: [Score; 2] = [Tally::f1, Tally::exact];
        let leads = RIVALS.iter().flat_map(|rival| {
            figures.map(|figure| {
                let lead = ahead_on_all(&sets, OURS, rival, figure);
                let cell = Cell::plain(lead.signed());
                if lead.verdict() == Verdict::Won { cell.best() } else { cell }
            })
        });
        let cells = [
            Cell::plain(*name),
            Cell::plain(members.len().to_string()),
            over("viterbi", Figure::WholeF1Before),
            over("viterbi", Figure::FailureRate),
        ];
        let of_methods = methods.map(|method| over(method, Figure::F1After));
        table = table.row(cells.into_iter().chain(of_methods).chain(leads));
    }
    (!families.is_empty()).then_some(table)
}
