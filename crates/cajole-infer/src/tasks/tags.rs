//! The searches of networks that give every position a tag. Use it for a
//! [`Task`](crate::task::Task) of your own.

use cajole_core::Search;

/// Outputs that exact search lists where rules cannot be followed tag by tag.
const LONG_LIST: usize = 64;

/// The searches that fit. All go over one matrix of log-probabilities.
pub fn searches() -> Vec<Search> {
    let usual = Search::all().into_iter();
    let fits = usual.filter(|search| !matches!(search.name(), "spans" | "relaxation" | "network"));
    fits.map(|search| match search {
        Search::Astar { .. } => Search::astar(LONG_LIST),
        Search::Exact { .. } => Search::Exact { limit: LONG_LIST },
        other => other,
    })
    .collect()
}
