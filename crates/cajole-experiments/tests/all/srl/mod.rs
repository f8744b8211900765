//! The SRL task end to end: runs that are killed and resumed, arguments that must be constituents,
//! training with a constraint loss, each against an independent implementation, and encoders.

mod constraint_loss;
mod encoder;

use std::path::Path;
use std::sync::LazyLock;

use cajole_core::{Config, Symbol};
use cajole_experiments::srl::{Failures, Searching, SrlConfig, reproduce};
use cajole_experiments::{ExperimentError, KeptError, Places, Repair};
use cajole_files::Folder;
use cajole_infer::Roles;
use cajole_infer::answer::{Answer, Status};
use cajole_report::Figure;
use cajole_tasks::corpora::Source;
use cajole_tasks::srl::training::{evaluate, propositions};
use cajole_tasks::srl::{CorpusConfig, Instance, Noise, RoleTagger, Splits, Unlabelled, train};
use cajole_tasks::{OnAdvance, Silent, Watch};
use cajole_treebank::Tree;
use cajole_treebank::roles::eval::Score;
use cajole_treebank::roles::{Proposition, Reading, Sentence};
use serde_json::Value;

use crate::rows::{compare, rows_without};
use cajole_testing::killer::{Killer, kill_until_done};

const EPOCHS: usize = 10;

/// The quick experiment, shrunk until many arguments are not constituents.
fn config() -> SrlConfig {
    let mut config: SrlConfig = toml::from_str(SrlConfig::QUICK).unwrap();
    let corpus = config.corpora.get_mut("generated").unwrap();
    corpus.source = Source::Generated { train: 300, dev: 20, test: 30 };
    config.networks.remove(1);
    for network in &mut config.networks {
        (network.hidden, network.layers, network.epochs) = (24, 2, Some(EPOCHS));
    }
    config.networks[1].share = 40;
    config.networks[1].constraint_loss = Some(Unlabelled { share: 50, weight: 1.0 });
    (config.sizes.embedding, config.sizes.indicator) = (16, 8);
    (config.sizes.input_dropout, config.sizes.dropout) = (0.0, 0.1);
    (config.training.batch_size, config.training.shard_size) = (16, 8);
    config.training.step_size = 1e-2;
    config.tuning.failures = 8;
    config.tuning.step_sizes = vec![1e-2, 1e-1];
    config.tuning.penalties = vec![2.0, f32::INFINITY];
    config.limits = vec![1, 4, 8];
    config.gbi.paper.schedule.max_steps = 6;
    config
}

/// The rows of an experiment's report, without times, which may differ.
fn rows(
    config: &SrlConfig,
    out: Option<&Path>,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Vec<Value>, ExperimentError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let report = pool.install(|| {
        let out = out.map(|out| Folder::create(out).unwrap());
        reproduce(config, &Places { out: out.as_ref(), ..Places::default() }, watch)
    })?;
    Ok(rows_without(&report, &["milliseconds", "viterbi_ms", "repair_cost"]))
}

#[test]
fn a_killed_experiment_resumes_and_ends_identically() {
    let (config, folder) = (config(), tempfile::tempdir().unwrap());
    let killed = folder.path().join("killed");
    let count = Killer::after(usize::MAX);
    let whole = rows(&config, None, 1, &OnAdvance(|| count.advance())).unwrap();
    check_rows(&whole);

    // In the first epoch, in a later one, then mostly during repair.
    let moments = [3, 60].into_iter().chain(std::iter::repeat(count.told() / 6));
    let work =
        |killer: &Killer| rows(&config, Some(&killed), 2, &OnAdvance(|| killer.advance())).unwrap();
    let (resumed, kills) = kill_until_done(moments, work, |kills| {
        let state = killed.join("nets/srl-100/training.safetensors");
        assert!(kills != 2 || state.exists(), "the first epoch was kept");
    });
    assert!(5 < kills, "{kills}");
    compare(&resumed, &whole);

    // Saved results are reused.
    let again = OnAdvance(|| panic!("nothing is left to do"));
    compare(&rows(&config, Some(&killed), 1, &again).unwrap(), &whole);
    let other = SrlConfig { seed: config.seed + 1, ..config };
    let refused = rows(&other, Some(&killed), 1, &Silent);
    assert!(matches!(refused, Err(ExperimentError::Kept(KeptError::OtherSettings { .. }))));
}

/// Invariants of every row, whatever the network.
fn check_rows(rows: &[Value]) {
    let all = ["viterbi", "A*", "exact MAP", "gbi paper", "gbi small", "gbi best", "gbi cautious"];
    for method in all {
        assert!(rows.iter().any(|row| row["method"] == method), "{method}");
    }
    for row in rows {
        let figure = |name: &str| row[name].as_f64().unwrap();
        let method = row["method"].as_str().unwrap();
        assert!(figure("failures") <= figure("total") && row["failures"] != 0, "{row}");
        assert!(0.0 < figure("disagreement_before"), "{row}");
        if method == "exact MAP" {
            assert_eq!(row["conversion"], 100.0, "{row}");
        }
        if method == "gbi best" && row["limit"].is_null() {
            assert!(99.0 <= figure("conversion"), "{row}");
        }
        if method == "viterbi" {
            assert_eq!(row["conversion"], 0.0, "{row}");
            for name in ["f1", "exact", "whole_f1", "whole_exact", "disagreement"] {
                let (before, after) = (format!("{name}_before"), format!("{name}_after"));
                assert_eq!(row[&before], row[&after], "{row}");
            }
        }
        if method != "A*" && method != "viterbi" {
            assert!(figure("disagreement_after") <= figure("disagreement_before"), "{row}");
            assert_eq!(row["disagreement_after"] == 0.0, row["conversion"] == 100.0, "{row}");
        }
    }
}

/// A briefly trained tagger, with its settings and data.
static TRAINED: LazyLock<(SrlConfig, Splits, RoleTagger)> = LazyLock::new(|| {
    let config = config();
    let splits = splits(&config);
    let (tagger, _) =
        train(&config.recipe(&config.networks[0]).unwrap(), &splits, None, &Silent).unwrap();
    (config, splits, tagger)
});

fn corpus(config: &SrlConfig) -> &CorpusConfig {
    &config.corpora["generated"]
}

fn splits(config: &SrlConfig) -> Splits {
    Splits::load(corpus(config), None, config.seed).unwrap()
}

fn bits(weights: &[f32]) -> Vec<u32> {
    weights.iter().map(|w| w.to_bits()).collect()
}

#[test]
fn a_killed_training_run_resumes_and_ends_with_the_same_weights() {
    let config = config();
    let splits = splits(&config);
    for network in &config.networks {
        let folder = tempfile::tempdir().unwrap();
        let train = |folder: Option<&Path>, watch: &dyn Watch| {
            let folder = folder.map(|folder| Folder::create(folder).unwrap());
            let recipe = config.recipe(network).unwrap();
            let (tagger, card) = train(&recipe, &splits, folder.as_ref(), watch).unwrap();
            (bits(tagger.model.weights()), card)
        };
        let count = Killer::after(usize::MAX);
        let whole = train(None, &OnAdvance(|| count.advance()));
        let per_epoch = count.told() / EPOCHS;
        let moments = [per_epoch + 2, per_epoch + 3, usize::MAX];
        let work = |killer: &Killer| train(Some(folder.path()), &OnAdvance(|| killer.advance()));
        let (resumed, kills) = kill_until_done(moments, work, |_| {});
        assert_eq!(kills, 2, "in the second epoch, and in the third");
        assert!(resumed == whole, "{}", network.name);
    }
}

/// The spans of a tree's phrases, and of its words if `words`; half-open.
fn spans_of(tree: &Tree, start: usize, words: bool) -> Vec<(usize, usize)> {
    let Tree::Node { children, .. } = tree else {
        return if words { vec![(start, start + 1)] } else { Vec::new() };
    };
    let (mut spans, mut end) = (Vec::new(), start);
    for child in children {
        spans.extend(spans_of(child, end, words));
        end += child.leaves().len();
    }
    spans.push((start, end));
    spans
}

/// The spans of all roles except `V`, read directly off the tags.
fn spans_in<'t>(tags: impl IntoIterator<Item = &'t str>) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize, &str)> = Vec::new();
    for (t, tag) in tags.into_iter().enumerate() {
        match (tag.split_once('-'), spans.last_mut()) {
            (Some(("B", role)), _) => spans.push((t, t + 1, role)),
            (Some(("I", role)), Some((_, end, known))) => {
                assert_eq!((role, t), (*known, *end), "an I- without its B-");
                *end += 1;
            }
            _ => assert_eq!(tag, "O"),
        }
    }
    let is_free = |role: &str| role == "V" || role == "C-V";
    spans.into_iter().filter(|s| !is_free(s.2)).map(|(start, end, _)| (start, end)).collect()
}

fn names<'t>(tagger: &'t RoleTagger, y: &[Symbol]) -> Vec<&'t str> {
    y.iter().map(|&symbol| tagger.vocabulary.tags.name(symbol).unwrap()).collect()
}

/// Every predicate of the test sentences, with its sentence.
fn asked() -> Vec<(&'static Sentence, &'static Proposition)> {
    let (config, splits, _) = &*TRAINED;
    propositions(&splits.test, corpus(config)).collect()
}

fn instances(reading: Reading, noise: Noise) -> Vec<Instance> {
    let tagger = &TRAINED.2;
    let instance = |(sentence, proposition): (&Sentence, &Proposition)| {
        let tree = sentence.tree.as_ref().unwrap();
        let instance = Instance::new(tagger, sentence, proposition).unwrap();
        instance.within(tree, reading, noise)
    };
    asked().into_iter().map(instance).collect()
}

const READINGS: [Reading; 2] = [Reading::Phrasal, Reading::All];

/// Extends its first argument by a word, if there is room: annotators make errors too.
fn overlong(proposition: &Proposition) -> Proposition {
    let mut wrong = proposition.clone();
    let ends = |pair: &[String]| pair[0].contains("-ARG") && pair[1] == "O";
    if let Some(at) = wrong.tags.windows(2).position(ends) {
        wrong.tags[at + 1] = wrong.tags[at].replace("B-", "I-");
    }
    wrong
}

#[test]
fn noise_free_constraints_apply_exactly_if_gold_agrees() {
    let tagger = &TRAINED.2;
    let all: Vec<(&Sentence, Proposition)> =
        asked().into_iter().flat_map(|(s, p)| [(s, p.clone()), (s, overlong(p))]).collect();
    let mut constrained = Vec::new();
    for reading in READINGS {
        let mut n = 0;
        for (sentence, proposition) in &all {
            let tree = sentence.tree.as_ref().unwrap();
            let instance = || Instance::new(tagger, sentence, proposition).unwrap();
            let [free, noisy, predicted] = [Noise::Free, Noise::Noisy, Noise::Predicted]
                .map(|noise| instance().within(tree, reading, noise).brackets);
            let nodes = spans_of(tree, 0, reading == Reading::All);
            let gold = spans_in(proposition.tags.iter().map(String::as_str));
            let agrees = gold.iter().all(|span| nodes.contains(span));
            assert_eq!(free.is_some(), agrees, "{gold:?} of {}", sentence.id);
            n += usize::from(agrees);
            let noisy = noisy.unwrap();
            assert!(predicted.is_some_and(|brackets| brackets == noisy));
            let ends = 0..=sentence.tokens.len();
            for (start, end) in ends.flat_map(|end| (0..end).map(move |start| (start, end))) {
                let is_node = nodes.contains(&(start, end));
                assert_eq!(noisy.contains(start, end), is_node, "{start} to {end}");
            }
        }
        constrained.push(n);
    }
    assert!(constrained[0] < constrained[1], "an argument may be one word: {constrained:?}");
    assert!(0 < constrained[0] && constrained[1] < all.len());
}

#[test]
fn converted_outputs_consist_of_nodes_and_the_rest_is_untouched() {
    let (config, _, tagger) = &*TRAINED;
    let before = bits(tagger.model.weights());
    for (reading, noise) in READINGS.into_iter().flat_map(|r| [(r, Noise::Free), (r, Noise::Noisy)])
    {
        let instances = instances(reading, noise);
        let xs: Vec<&Instance> = instances.iter().collect();
        let first = tagger.model.decode_all(&tagger.viterbi(), &xs);
        let task = Roles::new(tagger.clone());
        let failures = Failures::find(&task, &instances, reading, &Silent).unwrap();
        let is_node = |i: usize, y: &[Symbol]| {
            let nodes = spans_of(asked()[i].0.tree.as_ref().unwrap(), 0, reading == Reading::All);
            spans_in(names(tagger, y)).iter().all(|span| nodes.contains(span))
        };
        let fails = |&i: &usize| instances[i].brackets.is_some() && !is_node(i, &first[i].output);
        let failing: Vec<usize> = (0..instances.len()).filter(fails).collect();
        assert!(!failing.is_empty());
        let cases = || failures.cases.iter().map(|(x, first)| (*x, first));
        assert!(
            cases()
                .map(|(x, _)| std::ptr::from_ref(x))
                .eq(failing.iter().map(|&i| std::ptr::from_ref(&instances[i])))
        );

        let gbi = |preset: &Config| -> Vec<Repair> {
            let nudged = failures.gbi("gbi", preset.clone(), &Silent).unwrap();
            nudged.runs.iter().map(Repair::from).collect()
        };
        for (method, repairs) in [
            ("exact", failures.exact(&Silent).unwrap()),
            ("A*", failures.a_star(Searching::by_syntax(2.0, 100_000), &Silent).unwrap()),
            (
                "A* that forbids",
                failures.a_star(Searching::by_syntax(f32::INFINITY, 100_000), &Silent).unwrap(),
            ),
            ("best", gbi(&config.gbi.best)),
            ("small", gbi(&config.gbi.small)),
            ("paper", gbi(&config.gbi.paper)),
            ("viterbi", failures.untouched()),
        ] {
            let mut whole: Vec<&[Symbol]> = first.iter().map(|y| y.output.as_slice()).collect();
            for (&i, repair) in failing.iter().zip(&repairs) {
                assert_eq!(repair.converted, is_node(i, &repair.output), "{method}");
                whole[i] = &repair.output;
            }
            let converted = repairs.iter().filter(|repair| repair.converted).count();
            match method {
                "exact" | "A* that forbids" => assert_eq!(converted, repairs.len(), "{method}"),
                "best" => assert!(99 * repairs.len() <= 100 * converted, "{converted}"),
                _ => {}
            }
            let score: Score = instances
                .iter()
                .zip(whole)
                .map(|(x, y)| Score::of(&x.gold, &tagger.vocabulary.arguments(y)))
                .sum();
            let row = failures.row("net", method, "data", &repairs);
            assert_eq!(row.get(Figure::WholeF1After), Some(score.f1()), "{method}");
            assert_eq!(row.get(Figure::WholeExactAfter), Some(score.perfect_rate()), "{method}");
            assert_eq!(row.get(Figure::WholeF1Before), Some(evaluate(tagger, &instances).f1()));
        }
    }
    assert!(before == bits(tagger.model.weights()), "the weights are as they were");
}

#[test]
fn without_failures_nothing_changes() {
    let (config, _, tagger) = &*TRAINED;
    let mut free = instances(Reading::All, Noise::Free);
    free.iter_mut().for_each(|x| x.brackets = None);
    for instances in [free, Vec::new()] {
        let task = Roles::new(tagger.clone());
        let failures = Failures::find(&task, &instances, Reading::All, &Silent).unwrap();
        assert_eq!((failures.cases.len(), failures.total), (0, instances.len()));
        let nudged = failures.gbi("gbi", config.gbi.best.clone(), &Silent).unwrap();
        let repairs = failures.within(&nudged, None);
        let row = failures.row("net", "gbi best", "data", &repairs);
        let viterbi = evaluate(tagger, &instances);
        for figure in [Figure::WholeF1Before, Figure::WholeF1After] {
            assert_eq!(row.get(figure), Some(viterbi.f1()));
        }
        for figure in [Figure::WholeExactBefore, Figure::WholeExactAfter] {
            assert_eq!(row.get(figure), Some(viterbi.perfect_rate()));
        }
    }
}

/// Everything that two runs on the same input must agree on, bit for bit.
fn timeless(answer: &Answer) -> String {
    let Answer { output, steps, passes, trace, .. } = answer;
    let trace = trace.as_ref().unwrap().steps().iter().map(|s| (s.g, s.log_prob, s.distance));
    format!("{output:?} {steps:?} {passes} {:?}", trace.collect::<Vec<_>>())
}

#[test]
fn the_order_of_inputs_does_not_matter() {
    let (config, _, tagger) = &*TRAINED;
    let before = bits(tagger.model.weights());
    let task = Roles::new(tagger.clone());
    let mut instances = instances(Reading::Phrasal, Noise::Noisy);
    for preset in [&config.gbi.paper, &config.gbi.best, &config.gbi.small] {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let run = |instances: &[Instance]| -> Vec<_> {
            let failures = Failures::find(&task, instances, Reading::Phrasal, &Silent).unwrap();
            let nudged = one.install(|| failures.gbi("gbi", preset.clone(), &Silent)).unwrap();
            nudged.runs.iter().map(timeless).collect()
        };
        let forward = run(&instances);
        instances.reverse();
        let mut backward = run(&instances);
        backward.reverse();
        assert!(20 < forward.len() && forward == backward);
    }
    assert!(before == bits(tagger.model.weights()), "the weights are as they were");
}

#[test]
fn cautious_gbi_tolerates_what_a_star_keeps() {
    let (config, _, tagger) = &*TRAINED;
    let task = Roles::new(tagger.clone());
    let instances = instances(Reading::Phrasal, Noise::Noisy);
    let failures = Failures::find(&task, &instances, Reading::Phrasal, &Silent).unwrap();
    let best = |penalty: Option<f32>| {
        let best = config.gbi.best.clone();
        let search =
            |penalty| failures.a_star(Searching::by_syntax(penalty, 100_000), &Silent).unwrap();
        let nudged = match penalty {
            Some(penalty) => failures.cautious("gbi", best, search(penalty), &Silent),
            None => failures.gbi("gbi", best, &Silent),
        };
        failures.within(&nudged.unwrap(), None)
    };
    let outputs = |repairs: &[Repair]| -> Vec<_> {
        repairs.iter().map(|r| (r.output.clone(), r.converted)).collect()
    };
    // A zero penalty changes nothing; an infinite one forbids.
    assert!(outputs(&best(Some(0.0))) == outputs(&failures.untouched()));
    assert!(outputs(&best(Some(f32::INFINITY))) == outputs(&best(None)));
    assert!(best(None).iter().all(|repair| repair.converted));

    let (searched, cautious) =
        (failures.a_star(Searching::by_syntax(2.0, 100_000), &Silent).unwrap(), best(Some(2.0)));
    let mut kinds = [0; 3];
    for (((x, first), searched), repair) in failures.cases.iter().zip(&searched).zip(&cautious) {
        let outside = |y: &[Symbol]| -> Vec<_> {
            let nodes = x.brackets.as_ref().unwrap().as_pairs();
            spans_in(names(tagger, y)).into_iter().filter(|span| !nodes.contains(span)).collect()
        };
        let (insisted, left) = (outside(&searched.output), outside(&repair.output));
        assert!(left.iter().all(|span| insisted.contains(span)), "{left:?} {insisted:?}");
        assert_eq!(repair.converted, left.is_empty());
        assert!(searched.passes < repair.passes, "what the search costs is counted");
        kinds[usize::from(repair.converted) + usize::from(repair.output != first.own.output)] += 1;
    }
    assert!(0 < kinds[0] && 0 < kinds[2], "some stay and some are repaired: {kinds:?}");
}

#[test]
fn a_step_limit_equals_a_run_that_stops_there() {
    let (config, _, tagger) = &*TRAINED;
    let task = Roles::new(tagger.clone());
    let instances = instances(Reading::Phrasal, Noise::Noisy);
    let failures = Failures::find(&task, &instances, Reading::Phrasal, &Silent).unwrap();
    let run = |max_steps: usize| {
        let mut preset = config.gbi.paper.clone();
        preset.schedule.max_steps = max_steps;
        preset.schedule.step_size = 1e-1;
        failures.gbi("gbi", preset, &Silent).unwrap().runs
    };
    let long = run(10);
    let converted = long.iter().filter(|run| run.status == Status::Satisfied).count();
    assert!(0 < converted && converted < long.len(), "{converted}");
    for limit in [0, 1, 2, 5, 9, 10] {
        for (long, short) in long.iter().zip(run(limit)) {
            let (mut got, mut want) = (Repair::within(long, limit), Repair::from(&short));
            (got.milliseconds, want.milliseconds) = (0.0, 0.0);
            assert_eq!(got, want, "{limit}");
        }
    }
}
