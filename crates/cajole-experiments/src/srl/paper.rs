//! The paper's own figures, for the columns beside ours.

/// A method on one network's failures: a row of the paper's Table 1.
#[derive(Clone, Copy)]
pub(super) struct Method {
    network: &'static str,
    method: &'static str,
    /// The percentage of outputs that violate the constraint.
    pub(super) failures: f64,
    /// The percentage of those that were converted.
    pub(super) converted: f64,
    /// The percentage of arguments that are not constituents, averaged over the failures.
    pub(super) disagreement: f64,
    /// F1 on the failures.
    pub(super) f1: f64,
    /// Exact match on the failures.
    pub(super) exact: f64,
    /// F1 on the whole test set.
    pub(super) whole: f64,
}

/// A genre of Table 5.
#[derive(Clone, Copy)]
pub(super) struct Genre {
    name: &'static str,
    pub(super) failures: f64,
    pub(super) converted: f64,
    pub(super) before: f64,
    pub(super) after: f64,
}

/// Precision, recall, F1 and exact match of the whole test set: Table 7, for SRL-100.
pub(super) type Whole = [f64; 4];

/// SRL-40's A* is printed as 46.53 (+2.88), which must be 49.41.
const METHODS: [Method; 15] = [
    row("srl-100", "viterbi", [9.82, 0.0, 44.85, 48.00, 0.0, 84.40]),
    row("srl-100", "gbi paper", [9.82, 42.25, 24.92, 59.70, 19.90, 85.63]),
    row("srl-100", "A*", [9.82, 40.40, 33.91, 48.83, 13.79, 84.51]),
    row("srl-70", "viterbi", [10.54, 0.0, 45.54, 47.81, 0.0, 83.55]),
    row("srl-70", "gbi paper", [10.54, 46.22, 23.02, 59.37, 19.57, 84.83]),
    row("srl-70", "A*", [10.54, 44.42, 32.32, 50.49, 16.12, 83.90]),
    row("srl-40", "viterbi", [11.06, 0.0, 45.71, 46.53, 0.0, 82.57]),
    row("srl-40", "gbi paper", [11.06, 47.89, 22.42, 58.83, 19.45, 84.03]),
    row("srl-40", "A*", [11.06, 44.74, 32.17, 49.41, 15.15, 82.98]),
    row("srl-10", "viterbi", [14.15, 0.0, 47.14, 44.19, 0.0, 78.56]),
    row("srl-10", "gbi paper", [14.15, 44.28, 24.88, 54.78, 15.28, 80.18]),
    row("srl-10", "A*", [14.15, 43.66, 32.80, 45.93, 12.28, 78.87]),
    row("srl-1", "viterbi", [21.90, 0.0, 50.38, 37.90, 0.0, 67.28]),
    row("srl-1", "gbi paper", [21.90, 52.85, 21.45, 49.00, 12.83, 69.97]),
    row("srl-1", "A*", [21.90, 48.96, 30.28, 41.59, 11.25, 67.97]),
];

const GENRES: [Genre; 5] = [
    genre_row("bc", [26.86, 53.88, 39.72, 52.40]),
    genre_row("bn", [18.51, 55.19, 39.28, 50.58]),
    genre_row("pt", [10.01, 62.34, 47.19, 63.69]),
    genre_row("tc", [19.09, 54.62, 47.70, 58.04]),
    genre_row("wb", [20.32, 44.13, 47.60, 57.39]),
];

const WHOLE: [(&str, &str, Whole); 5] = [
    ("noise-free", "viterbi", [84.03, 84.78, 84.40, 69.37]),
    ("noise-free", "A*", [84.19, 84.83, 84.51, 70.52]),
    ("noise-free", "gbi paper", [85.39, 85.88, 85.63, 71.04]),
    ("noisy", "A*", [78.13, 76.85, 77.48, 58.30]),
    ("noisy", "gbi paper", [85.51, 84.25, 84.87, 68.45]),
];

/// Minutes of Viterbi decoding, GBI and A*, by data.
const MINUTES: [(&str, [f64; 3]); 6] = [
    ("test", [109.0, 288.0, 377.0]),
    ("bc", [23.0, 110.0, 117.0]),
    ("bn", [18.0, 64.0, 100.0]),
    ("pt", [8.0, 19.0, 15.0]),
    ("tc", [5.0, 23.0, 20.0]),
    ("wb", [12.0, 49.0, 69.0]),
];

const fn row(network: &'static str, method: &'static str, of: [f64; 6]) -> Method {
    let [failures, converted, disagreement, f1, exact, whole] = of;
    Method { network, method, failures, converted, disagreement, f1, exact, whole }
}

const fn genre_row(name: &'static str, of: [f64; 4]) -> Genre {
    let [failures, converted, before, after] = of;
    Genre { name, failures, converted, before, after }
}

/// A method on a network's failures.
pub(super) fn method(network: &str, method: &str) -> Option<Method> {
    METHODS.into_iter().find(|row| row.network == network && row.method == method)
}

/// The SRL half of Table 5.
pub(super) fn genre(name: &str) -> Option<Genre> {
    GENRES.into_iter().find(|genre| genre.name == name)
}

/// A method on the whole test set under this kind of constraint.
pub(super) fn whole(noise: &str, method: &str) -> Option<Whole> {
    let found = WHOLE.into_iter().find(|row| row.0 == noise && row.1 == method);
    found.map(|(_, _, figures)| figures)
}

/// The run times of GBI and A* relative to Viterbi decoding.
pub(super) fn times(data: &str) -> Option<[f64; 2]> {
    let found = MINUTES.into_iter().find(|(name, _)| *name == data);
    found.map(|(_, [viterbi, gbi, a_star])| [gbi / viterbi, a_star / viterbi])
}
