//! The paper's own figures, for the columns beside ours.

/// A network of the paper's Table 2, by F1 on its test set.
pub(super) struct Network {
    pub(super) name: &'static str,
    pub(super) greedy: f64,
    pub(super) beam_9: f64,
}

/// Failures and repairs: Tables 3 and 4 by network and beam width, Table 5 by genre.
#[derive(Clone, Copy)]
pub(super) struct Repaired {
    /// The network or the genre.
    pub(super) name: &'static str,
    pub(super) width: usize,
    /// The percentage of outputs that are not trees.
    pub(super) failures: f64,
    /// The percentage of those that were converted.
    pub(super) converted: f64,
    /// F1 on the failures.
    pub(super) before: f64,
    /// F1 on the failures after repair.
    pub(super) after: f64,
}

const NETWORKS: [Network; 5] = [
    Network { name: "net1", greedy: 87.31, beam_9: 87.58 },
    Network { name: "net2", greedy: 86.54, beam_9: 86.63 },
    Network { name: "net3", greedy: 78.32, beam_9: 81.26 },
    Network { name: "net4", greedy: 74.53, beam_9: 78.14 },
    Network { name: "net5", greedy: 67.80, beam_9: 71.54 },
];

/// Of 2415 test sentences.
const REPAIRED: [Repaired; 14] = [
    of_test("net1", 1, 187, 93.58, 71.49, 77.04),
    of_test("net2", 1, 287, 89.20, 73.54, 79.68),
    of_test("net3", 1, 317, 79.81, 65.62, 68.79),
    of_test("net3", 2, 206, 87.38, 66.61, 71.15),
    of_test("net3", 5, 160, 87.50, 67.5, 71.38),
    of_test("net3", 9, 153, 91.50, 68.66, 71.69),
    of_test("net4", 1, 611, 88.05, 62.17, 64.49),
    of_test("net4", 2, 419, 94.27, 65.40, 66.65),
    of_test("net4", 5, 368, 92.66, 67.18, 69.4),
    of_test("net4", 9, 360, 93.89, 67.83, 70.64),
    of_test("net5", 1, 886, 69.86, 58.47, 60.41),
    of_test("net5", 2, 602, 82.89, 60.45, 61.35),
    of_test("net5", 5, 546, 81.50, 61.43, 63.25),
    of_test("net5", 9, 552, 80.62, 61.64, 62.98),
];

const GENRES: [Repaired; 5] = [
    of_genre("bc", 19.3, 98.8, 56.4, 59.0),
    of_genre("bn", 11.7, 98.1, 63.2, 68.8),
    of_genre("pt", 9.8, 97.8, 71.4, 75.8),
    of_genre("tc", 10.1, 86.2, 56.9, 57.6),
    of_genre("wb", 17.6, 95.3, 62.0, 63.2),
];

const fn of_test(
    name: &'static str,
    width: usize,
    failures: usize,
    converted: f64,
    before: f64,
    after: f64,
) -> Repaired {
    let failures = 100.0 * failures as f64 / 2415.0;
    Repaired { name, width, failures, converted, before, after }
}

const fn of_genre(
    name: &'static str,
    failures: f64,
    converted: f64,
    before: f64,
    after: f64,
) -> Repaired {
    Repaired { name, width: 1, failures, converted, before, after }
}

/// The paper's network of this name.
pub(super) fn network(name: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|network| network.name == name)
}

/// The paper's repairs of this network's outputs.
pub(super) fn repaired(name: &str, width: usize) -> Option<Repaired> {
    REPAIRED.into_iter().find(|row| row.name == name && row.width == width)
}

/// The paper's repairs of outputs for this genre.
pub(super) fn genre(name: &str) -> Option<Repaired> {
    GENRES.into_iter().find(|row| row.name == name)
}
