//! Decoders of tags against exhaustive search over all tag sequences.
//!
//! Scores are quarters, so that every sum is exact and of equals the one that comes first is known,
//! with some that are no numbers in between. What a sequence of tags means is worked out here anew,
//! from the names of the tags.

use cajole_core::Symbol;
use cajole_core::constraints::{Brackets, RoleSet, TagSet};
use cajole_core::decoders::tags::{
    AStar, Agenda, Chart, Ended, Exact, Frontier, Heuristic, KBest, Penalties, Space, SuffixLists,
    Suffixes, TagScores, UniqueExact, Viterbi,
};
use cajole_core::random::Random;
use proptest::collection::vec;
use proptest::prelude::*;

/// In no helpful order; `V` has no `I-` in the second.
const TAG_SETS: [&[&str]; 3] =
    [&["O", "B-A", "I-A", "B-V", "I-V"], &["I-A", "B-V", "B-B", "O", "I-B", "B-A"], &["O"]];

const ROLES: &[&str] = &["B-C-ARG0", "B-ARG0", "O", "I-ARG0", "B-R-ARG0", "B-V"];

const IMPOSSIBLE: f64 = f64::NEG_INFINITY;

/// A role with its first position and the one after its last.
type Labelled<'a> = (&'a str, usize, usize);

/// The spans of a sequence of names; none if an `I-` goes on with nothing.
fn read<'a>(names: &[&'a str]) -> Option<Vec<Labelled<'a>>> {
    let mut spans: Vec<Labelled> = Vec::new();
    for (t, name) in names.iter().enumerate() {
        match name.split_at(name.len().min(2)) {
            ("B-", role) => spans.push((role, t, t + 1)),
            ("I-", role) => match spans.last_mut() {
                Some(last) if (last.0, last.2) == (role, t) => last.2 = t + 1,
                _ => return None,
            },
            _ => {}
        }
    }
    Some(spans)
}

/// A valid sequence with its spans and the sum of its scores.
struct Valid<'a> {
    y: Vec<Symbol>,
    spans: Vec<Labelled<'a>>,
    sum: f64,
}

/// Every valid sequence, in the order of their symbols.
fn all_valid<'a>(names: &[&'a str], scores: &[f32], space: Space) -> Vec<Valid<'a>> {
    let (v, n) = (names.len(), scores.len() / names.len());
    let sequences = (0..v.pow(n as u32)).map(|code| -> Vec<Symbol> {
        (0..n).map(|t| (code / v.pow((n - 1 - t) as u32) % v) as Symbol).collect()
    });
    let value = |t: usize, symbol: Symbol| {
        let score = scores[t * v + symbol as usize];
        let score = if score.is_finite() { f64::from(score) } else { IMPOSSIBLE };
        if space == Space::Log { score } else { score.exp() }
    };
    sequences
        .filter_map(|y| {
            let spans = read(&y.iter().map(|&s| names[s as usize]).collect::<Vec<_>>())?;
            let sum = y.iter().enumerate().map(|(t, &s)| value(t, s)).sum();
            Some(Valid { y, spans, sum })
        })
        .collect()
}

/// The first of the best.
fn first_best<'a, 'b>(
    all: &'b [Valid<'a>],
    objective: impl Fn(&Valid) -> f64,
) -> (&'b Valid<'a>, f64) {
    let best = all.iter().map(&objective).fold(IMPOSSIBLE, f64::max);
    let first = all.iter().find(|valid| objective(valid) == best);
    (first.expect("some sequence is valid"), best)
}

fn in_brackets(spans: &[Labelled], brackets: &[(usize, usize)]) -> bool {
    n_outside(spans, brackets) == 0
}

fn n_outside(spans: &[Labelled], brackets: &[(usize, usize)]) -> usize {
    let is_fault = |s: &&Labelled| s.0 != "V" && !brackets.contains(&(s.1, s.2));
    spans.iter().filter(is_fault).count()
}

/// The objective of A*, for the tag set `ROLES`.
fn penalised(valid: &Valid, penalties: Penalties, brackets: Option<&[(usize, usize)]>) -> f64 {
    let roles: Vec<&str> = valid.spans.iter().map(|span| span.0).collect();
    let count = |name| roles.iter().filter(|&&role| role == name).count();
    let first = roles.iter().position(|&role| role == "ARG0").unwrap_or(roles.len());
    let continuations = roles[..first].iter().filter(|&&role| role == "C-ARG0").count();
    let references = if count("ARG0") == 0 { count("R-ARG0") } else { 0 };
    let faults = [
        (penalties.unique, count("ARG0").saturating_sub(1)),
        (penalties.continuation, continuations),
        (penalties.reference, references),
        (penalties.syntax, brackets.map_or(0, |brackets| n_outside(&valid.spans, brackets))),
    ];
    let charged = faults.iter().filter(|(_, n)| 0 < *n);
    valid.sum - charged.map(|&(each, n)| f64::from(each) * n as f64).sum::<f64>()
}

/// A score: mostly quarters, so that there are ties.
fn score() -> impl Strategy<Value = f32> {
    prop_oneof![
        12 => (-12..=0i8).prop_map(|quarters| f32::from(quarters) / 4.0),
        1 => Just(f32::NEG_INFINITY),
        1 => Just(f32::NAN),
    ]
}

fn matrix(n_tags: usize, max_len: usize) -> impl Strategy<Value = Vec<f32>> {
    (0..=max_len).prop_flat_map(move |n| vec(score(), n * n_tags))
}

/// One of the tag sets and a matrix of scores for it.
fn problem() -> impl Strategy<Value = (&'static [&'static str], Vec<f32>)> {
    (0..TAG_SETS.len()).prop_flat_map(|set| {
        let names = TAG_SETS[set];
        matrix(names.len(), 4).prop_map(move |scores| (names, scores))
    })
}

fn pairs() -> impl Strategy<Value = Vec<(usize, usize)>> {
    vec((0..5usize, 0..7usize), 0..10)
}

fn tag_set(names: &[&str]) -> TagSet {
    TagSet::new(names.to_vec()).unwrap()
}

proptest! {
    #[test]
    fn viterbi_finds_the_first_of_the_best((names, scores) in problem()) {
        let (tags, all) = (tag_set(names), all_valid(names, &scores, Space::Log));
        let (mut suffixes, mut y) = (Suffixes::default(), vec![7]);
        let sum = Viterbi::default().tag(&TagScores::new(&tags, &scores), &mut suffixes, &mut y);
        let (best, best_sum) = first_best(&all, |valid| valid.sum);
        prop_assert_eq!(sum, best_sum as f32);
        if best_sum == IMPOSSIBLE {
            prop_assert!(all.iter().any(|valid| valid.y == y), "{:?} is not valid", y);
        } else {
            prop_assert_eq!(&y, &best.y);
        }
    }

    #[test]
    fn viterbi_maximises_probabilities_when_told_to((names, scores) in problem()) {
        let (tags, all) = (tag_set(names), all_valid(names, &scores, Space::Probability));
        let mut y = Vec::new();
        let viterbi = Viterbi { space: Space::Probability };
        let sum = viterbi.tag(&TagScores::new(&tags, &scores), &mut Suffixes::default(), &mut y);
        let (_, best_sum) = first_best(&all, |valid| valid.sum);
        let found = all.iter().find(|valid| valid.y == y).expect("what is found is valid");
        prop_assert!((found.sum - best_sum).abs() < 1e-9);
        prop_assert!((f64::from(sum) - best_sum).abs() < 1e-5);
    }

    #[test]
    fn the_k_best_are_the_first_k((names, scores) in problem(), k in 0..=16usize) {
        let (tags, mut all) = (tag_set(names), all_valid(names, &scores, Space::Log));
        all.sort_by(|a, b| b.sum.total_cmp(&a.sum));
        let (mut lists, mut y) = (SuffixLists::default(), Vec::new());
        let k_best = KBest { k, space: Space::Log };
        let n = k_best.tag(&TagScores::new(&tags, &scores), &mut lists);
        prop_assert_eq!(n, all.len().min(k));
        let mut seen = Vec::new();
        for rank in 0..n {
            let sum = lists.read(rank, &mut y);
            prop_assert_eq!(sum, Some(all[rank].sum as f32));
            if all[rank].sum == IMPOSSIBLE {
                prop_assert!(all.iter().any(|valid| valid.y == y && valid.sum == IMPOSSIBLE));
            } else {
                prop_assert_eq!(&y, &all[rank].y);
            }
            prop_assert!(!seen.contains(&y), "{:?} comes twice", y);
            seen.push(y.clone());
        }
        prop_assert_eq!(lists.read(n, &mut y), None);
    }

    #[test]
    fn exact_finds_the_first_of_the_best_within_the_brackets(
        (names, scores) in problem(),
        pairs in pairs(),
    ) {
        let (tags, mut all) = (tag_set(names), all_valid(names, &scores, Space::Log));
        let (free, brackets) = (RoleSet::named(&tags, &["V"]), Brackets::from_iter(pairs.clone()));
        let (mut chart, mut y) = (Chart::default(), vec![7]);
        for brackets in [None, Some(&brackets)] {
            if brackets.is_some() {
                all.retain(|valid| in_brackets(&valid.spans, &pairs));
            }
            let scores = TagScores::new(&tags, &scores);
            let sum = Exact { free: &free }.tag(&scores, brackets, &mut chart, &mut y);
            let (best, best_sum) = first_best(&all, |valid| valid.sum);
            if best_sum == IMPOSSIBLE {
                prop_assert_eq!((sum, y.len()), (None, 0));
            } else {
                prop_assert_eq!(sum, Some(best_sum as f32));
                prop_assert_eq!(&y, &best.y);
            }
        }
    }

    #[test]
    fn a_star_finds_the_best_under_every_choice_of_penalties(
        scores in matrix(ROLES.len(), 4),
        pairs in pairs(),
        each in prop_oneof![Just(0.25f32), Just(1.5), Just(f32::INFINITY)],
    ) {
        let (tags, all) = (tag_set(ROLES), all_valid(ROLES, &scores, Space::Log));
        let brackets = Brackets::from_iter(pairs.clone());
        let (mut agenda, mut y) = (Agenda::default(), Vec::new());
        for chosen in 0..32 {
            let [unique, continuation, reference, syntax] =
                std::array::from_fn(|i| if chosen >> i & 1 == 1 { each } else { 0.0 });
            let penalties = Penalties { unique, continuation, reference, syntax };
            let (brackets, pairs) =
                if chosen < 16 { (None, None) } else { (Some(&brackets), Some(&pairs[..])) };
            let (_, best) = first_best(&all, |valid| penalised(valid, penalties, pairs));
            for heuristic in [Heuristic::Maximum, Heuristic::Viterbi] {
                let a_star = AStar { heuristic, ..AStar::new(&tags, penalties) };
                let scores = TagScores::new(&tags, &scores);
                match a_star.tag(&scores, brackets, &mut agenda, &mut y) {
                    Ended::Found { score, .. } => {
                        let found = all.iter().find(|valid| valid.y == y).expect("it is valid");
                        prop_assert_eq!(penalised(found, penalties, pairs), best);
                        prop_assert_eq!(score, best as f32);
                    }
                    Ended::Impossible { .. } => prop_assert_eq!(best, IMPOSSIBLE),
                    Ended::TimedOut { .. } => prop_assert!(false, "so few prefixes fit"),
                }
            }
        }
    }

    #[test]
    fn a_star_that_forbids_spans_outside_the_brackets_is_exact(
        scores in vec(-9.0..0.0f32, 6 * 6),
        pairs in pairs(),
    ) {
        let tags = tag_set(TAG_SETS[1]);
        let (free, brackets) = (RoleSet::named(&tags, &["V"]), Brackets::from_iter(pairs));
        let scores = TagScores::new(&tags, &scores);
        let (mut exact, mut found) = (Vec::new(), Vec::new());
        let sum = Exact { free: &free }.tag(&scores, Some(&brackets), &mut Chart::default(), &mut exact);
        let penalties = Penalties { syntax: f32::INFINITY, ..Penalties::NONE };
        let search = AStar::new(&tags, penalties)
            .tag(&scores, Some(&brackets), &mut Agenda::default(), &mut found);
        let Ended::Found { score, .. } = search else { panic!("{search:?}") };
        prop_assert_eq!(Some(score), sum);
        prop_assert_eq!(found, exact);
    }

    #[test]
    fn unique_exact_finds_the_best_under_every_charge(
        scores in matrix(ROLES.len(), 4),
        pairs in pairs(),
        unique in prop_oneof![Just(0.0f32), Just(0.25), Just(1.5), Just(f32::INFINITY)],
    ) {
        let (tags, mut all) = (tag_set(ROLES), all_valid(ROLES, &scores, Space::Log));
        let (free, brackets) = (RoleSet::named(&tags, &["V"]), Brackets::from_iter(pairs.clone()));
        let (mut chart, mut frontier, mut y) = (Chart::default(), Frontier::default(), vec![7]);
        let penalties = Penalties { unique, ..Penalties::NONE };
        for brackets in [None, Some(&brackets)] {
            if brackets.is_some() {
                all.retain(|valid| in_brackets(&valid.spans, &pairs));
            }
            let (_, best) = first_best(&all, |valid| penalised(valid, penalties, None));
            let scores = TagScores::new(&tags, &scores);
            let search = UniqueExact::new(&tags, &free, unique);
            match search.tag(&scores, brackets, &mut chart, &mut frontier, &mut y) {
                Some(score) => {
                    let found = all.iter().find(|valid| valid.y == y).expect("it is allowed");
                    prop_assert_eq!(penalised(found, penalties, None), best);
                    prop_assert_eq!(score, best as f32);
                }
                None => prop_assert_eq!((best, y.len()), (IMPOSSIBLE, 0)),
            }
        }
    }

    #[test]
    fn unique_exact_is_a_star_that_forbids_spans_outside_the_brackets(
        seed in 0..u64::MAX,
        pairs in vec((0..6usize, 1..7usize), 5..20),
        unique in prop_oneof![Just(0.5f32), Just(3.0), Just(f32::INFINITY)],
    ) {
        let tags = many_tags();
        let scores = random_scores(seed, 6 * tags.n_tags());
        let (scores, brackets) = (TagScores::new(&tags, &scores), Brackets::from_iter(pairs));
        let (free, mut chart, mut frontier) = <(RoleSet, Chart, Frontier)>::default();
        let (mut y, mut found) = (Vec::new(), Vec::new());
        let search = UniqueExact::new(&tags, &free, unique);
        let score = search.tag(&scores, Some(&brackets), &mut chart, &mut frontier, &mut y);
        let penalties = Penalties { unique, syntax: f32::INFINITY, ..Penalties::NONE };
        let a_star = AStar { heuristic: Heuristic::Viterbi, ..AStar::new(&tags, penalties) };
        let search = a_star.tag(&scores, Some(&brackets), &mut Agenda::default(), &mut found);
        // Where brackets are few, A*'s heuristic knows too little, and its agenda fills up.
        prop_assume!(!matches!(search, Ended::TimedOut { .. }));
        let Ended::Found { score: expected, .. } = search else { panic!("{search:?}") };
        prop_assert_eq!(score, Some(expected));
        prop_assert_eq!(y, found);
    }

    #[test]
    fn the_agenda_is_never_larger_than_its_limit(
        scores in matrix(ROLES.len(), 4),
        agenda_limit in 0..40usize,
    ) {
        let tags = tag_set(ROLES);
        let scores = TagScores::new(&tags, &scores);
        let (mut agenda, mut y, mut limited) = (Agenda::default(), Vec::new(), Vec::new());
        let penalties = Penalties { unique: 1.0, reference: 1.0, ..Penalties::NONE };
        let a_star = AStar::new(&tags, penalties);
        let unlimited = a_star.tag(&scores, None, &mut agenda, &mut y);
        let search = AStar { agenda_limit, ..a_star }.tag(&scores, None, &mut agenda, &mut limited);
        if let Ended::TimedOut { expansions } = search {
            prop_assert!(expansions <= agenda_limit.max(1));
            prop_assert!(limited.is_empty());
        } else {
            prop_assert_eq!(search, unlimited);
            prop_assert_eq!(limited, y);
        }
    }
}

/// Sixteen roles: more than can be enumerated.
fn many_tags() -> TagSet {
    let of_role = |i: usize| [format!("I-ARG{i}"), format!("B-ARG{i}")];
    TagSet::new((0..16).flat_map(of_role).chain(["O".into()])).unwrap()
}

fn random_scores(seed: u64, len: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.uniform(-8.0, 0.0)).collect()
}

#[test]
fn unique_exact_gives_up_on_long_inputs_that_are_undecided() {
    let of_role = |i: usize| [format!("I-ARG{i}"), format!("B-ARG{i}")];
    let tags = TagSet::new((0..6).flat_map(of_role).chain(["O".into()])).unwrap();
    let (n, charge) = (600, 3.0);
    // All core roles are equally probable, and much more so than none.
    let row = tags.names().iter().map(|name| if name == "O" { -50.0 } else { -3.0 });
    let scores: Vec<f32> = row.collect::<Vec<f32>>().repeat(n);
    let scores = TagScores::new(&tags, &scores);
    let brackets: Brackets = (0..n).flat_map(|i| (1..=8).map(move |k| (i, i + k))).collect();
    let (free, mut chart, mut frontier) = <(RoleSet, Chart, Frontier)>::default();
    let (mut exact, mut y) = (Vec::new(), Vec::new());
    let sum = Exact { free: &free }.tag(&scores, Some(&brackets), &mut chart, &mut exact).unwrap();
    let search = UniqueExact::new(&tags, &free, charge);
    let score = search.tag(&scores, Some(&brackets), &mut chart, &mut frontier, &mut y).unwrap();
    assert_eq!(y, exact);
    assert!(score < sum - charge, "{score} of {sum}: repetitions are charged");
}

/// Viterbi as in textbooks: every tag asks every other whether it may follow.
fn slow_viterbi(tags: &TagSet, scores: &[f32]) -> (f64, Vec<Symbol>) {
    let v = tags.n_tags();
    let rows: Vec<&[f32]> = scores.chunks_exact(v).collect();
    let start = |s: Symbol| {
        if tags.may_follow(None, s) { f64::from(rows[0][s as usize]) } else { IMPOSSIBLE }
    };
    let mut best: Vec<(f64, Vec<Symbol>)> = (0..v as Symbol).map(|s| (start(s), vec![s])).collect();
    for row in &rows[1..] {
        let extend = |s: Symbol| {
            let may_stand = |(_, y): &&(f64, Vec<Symbol>)| tags.may_follow(y.last().copied(), s);
            let (sum, y) =
                best.iter().filter(may_stand).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            (sum + f64::from(row[s as usize]), [y.as_slice(), &[s]].concat())
        };
        best = (0..v as Symbol).map(extend).collect();
    }
    best.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

#[test]
fn all_decoders_agree_with_slow_viterbi_where_nothing_is_asked() {
    let tags = many_tags();
    let none = RoleSet::default();
    for seed in 0..20 {
        let scores = random_scores(seed, 30 * tags.n_tags());
        let (sum, expected) = slow_viterbi(&tags, &scores);
        let scores = TagScores::new(&tags, &scores);
        let mut y = Vec::new();
        let check = |name: &str, score: f32, y: &[Symbol]| {
            assert_eq!((score, y), (sum as f32, &expected[..]), "{name}, seed {seed}");
        };
        let score = Viterbi::default().tag(&scores, &mut Suffixes::default(), &mut y);
        check("viterbi", score, &y);
        let mut lists = SuffixLists::default();
        KBest { k: 3, space: Space::Log }.tag(&scores, &mut lists);
        let score = lists.read(0, &mut y).unwrap();
        check("k best", score, &y);
        let score = Exact { free: &none }.tag(&scores, None, &mut Chart::default(), &mut y);
        check("exact", score.unwrap(), &y);
        let a_star = AStar { heuristic: Heuristic::Viterbi, ..AStar::new(&tags, Penalties::NONE) };
        // The bound is what will come, so nothing is tried in vain.
        let Ended::Found { score, expansions: 32 } =
            a_star.tag(&scores, None, &mut Agenda::default(), &mut y)
        else {
            panic!("not found straight away, seed {seed}");
        };
        check("A*", score, &y);
    }
}

#[test]
fn a_tighter_bound_saves_expansions() {
    let tags = many_tags();
    let penalties = Penalties { unique: 1.0, ..Penalties::NONE };
    let count = |heuristic, scores: &TagScores| {
        let a_star = AStar { heuristic, ..AStar::new(&tags, penalties) };
        match a_star.tag(scores, None, &mut Agenda::default(), &mut Vec::new()) {
            Ended::Found { expansions, .. } => expansions,
            other => panic!("{other:?}"),
        }
    };
    for seed in 0..10 {
        let scores = random_scores(seed, 8 * tags.n_tags());
        let scores = TagScores::new(&tags, &scores);
        let [loose, tight] =
            [Heuristic::Maximum, Heuristic::Viterbi].map(|heuristic| count(heuristic, &scores));
        assert!(tight <= loose, "{tight} against {loose}, seed {seed}");
    }
}

#[test]
fn a_hopeless_search_stops_at_its_limit() {
    // Every position wants to begin the same role, of which one is allowed.
    let tags = tag_set(ROLES);
    let scores: Vec<f32> = [-9.0, -0.1, -5.0, -9.0, -9.0, -9.0].repeat(60);
    let penalties = Penalties { unique: f32::INFINITY, ..Penalties::NONE };
    let a_star = AStar { agenda_limit: 20_000, ..AStar::new(&tags, penalties) };
    let mut y = vec![7];
    let search = a_star.tag(&TagScores::new(&tags, &scores), None, &mut Agenda::default(), &mut y);
    assert!(matches!(search, Ended::TimedOut { expansions } if expansions < 20_000), "{search:?}");
    assert!(y.is_empty());
}

#[test]
fn huge_scores_do_not_drown_small_ones() {
    // As masks are written: large, but finite.
    let tags = tag_set(&["O", "B-A", "I-A"]);
    let scores: Vec<f32> = [
        [-2.0, -1.0, f32::MIN],
        [-9.0, -9.0, -1.0],
        [-1.0, -3.0, f32::MIN],
        [-9.0, -1.0, -9.0],
        [-9.0, -9.0, -0.5],
    ]
    .concat();
    let brackets = Brackets::from_iter([(0, 2), (0, 3), (3, 5), (3, 4)]);
    let mut y = Vec::new();
    let sum = Exact { free: &RoleSet::default() }.tag(
        &TagScores::new(&tags, &scores),
        Some(&brackets),
        &mut Chart::default(),
        &mut y,
    );
    assert_eq!((sum, y), (Some(-1.0 - 1.0 - 1.0 - 1.0 - 0.5), vec![1, 2, 0, 1, 2]));
}
