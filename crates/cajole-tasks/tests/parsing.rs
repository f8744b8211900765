//! The parsing task as a whole: codec on real treebanks, experiments that are killed and gone on
//! with, and sentences nobody expects.

mod corpora;
mod killer;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use cajole_core::{Constraint, Symbol};
use cajole_tasks::experiment::{KeptError, Silent, Watch};
use cajole_tasks::parsing::config::Source;
use cajole_tasks::parsing::{
    Commands, ExperimentError, Failures, Method, Parser, ParsingConfig, ShiftReduce, Splits,
    reproduce, train,
};
use cajole_tasks::treebank::{Sentence, Tree, read};
use serde_json::Value;

use corpora::find;
use killer::{Killer, compare, kill_until_done, rows_without};

/// Every tree of a folder is as its commands build it, and they satisfy the constraint.
fn check_corpus(name: &str) {
    let Some(folder) = find(name) else { return };
    let files: BTreeSet<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    let corpora: Vec<_> = files.iter().map(|file| read(file).unwrap()).collect();
    let trees = || corpora.iter().flat_map(|corpus| &corpus.sentences).map(|s| &s.tree);
    let commands = Commands::of_trees(trees());
    let constraint = ShiftReduce::new(&commands);
    for tree in trees() {
        let (leaves, y) = (tree.leaves(), commands.encode(tree).unwrap());
        let tokens = vec![0 as Symbol; leaves.len()];
        assert!(constraint.check(tokens.as_slice(), &y).is_satisfied(), "{tree}");
        assert_eq!(commands.decode(&y, &leaves).as_ref(), Ok(tree));
    }
    assert!(trees().next().is_some());
}

#[test]
fn trees_of_the_english_web_treebank_survive_the_round_trip() {
    check_corpus("ewt");
}

#[test]
fn trees_of_masc_survive_the_round_trip() {
    check_corpus("masc");
}

#[test]
fn trees_of_gum_survive_the_round_trip() {
    check_corpus("gum");
}

#[test]
fn trees_of_ontonotes_survive_the_round_trip() {
    check_corpus("ontonotes_delex");
}

/// The quick experiment, made so small that most outputs are no trees.
fn config() -> ParsingConfig {
    let mut config: ParsingConfig = toml::from_str(ParsingConfig::QUICK).unwrap();
    let treebank = config.treebanks.get_mut("generated").unwrap();
    treebank.source = Source::Generated { train: 300, dev: 20, test: 10 };
    for network in &mut config.networks {
        (network.hidden, network.layers, network.epochs) = (24, 2, Some(4));
    }
    config.networks[1].dropout = 0.1;
    (config.training.batch_size, config.training.shard_size) = (8, 4);
    config.training.step_size = 1e-2;
    config.widths = vec![1, 2];
    config.sizes.cap_factor = 4;
    config.tuning.failures = 5;
    config.tuning.step_sizes = vec![1e-2, 1e-1];
    config.gbi.paper.schedule.max_steps = 5;
    config.gbi.best.schedule.max_steps = 12;
    config.gbi.best.schedule.step_size = 3e-2; // few steps, but long ones
    config.gbi.best.restarts.clear();
    config.gbi.sources = vec![2, 1];
    (config.rivals.beam_width, config.rivals.masked_width) = (3, 3);
    config
}

/// The rows of an experiment's report but for the times, which alone may differ.
fn rows(
    config: &ParsingConfig,
    out: &Path,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Vec<Value>, ExperimentError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let report = pool.install(|| reproduce(config, None, Some(out), watch))?;
    Ok(rows_without(&report, &["milliseconds"]))
}

#[test]
fn a_killed_experiment_goes_on_and_ends_where_it_would_have() {
    let (config, folder) = (config(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    let watch = Killer::after(usize::MAX);
    let whole = rows(&config, &at("whole"), 1, &watch).unwrap();
    assert!(whole.iter().any(|row| row["conversion"] == 100.0));
    assert!(whole.iter().all(|row| row["failures"] != 0));

    // In the first epoch, in the second of 38 steps each, then mostly while outputs are repaired.
    let (total, killed) = (watch.told(), at("killed"));
    let moments = [3, 50].into_iter().chain(std::iter::repeat(total / 6));
    let work = |killer: &Killer| rows(&config, &killed, 2, killer).unwrap();
    let (resumed, kills) = kill_until_done(moments, work, |kills| {
        let state = killed.join("nets/gnmt/training.safetensors");
        assert!(kills != 2 || state.exists(), "the first epoch was kept");
    });
    assert!(5 < kills, "{kills}");
    compare(&resumed, &whole);

    // Everything that is kept is used again, and all of it can be lost.
    let again = Killer::after(0);
    compare(&rows(&config, &killed, 1, &again).unwrap(), &whole);
    for file in fs::read_dir(killed.join("measured")).unwrap().step_by(2) {
        let file = file.unwrap().path();
        if !file.ends_with("settings.json") {
            fs::remove_file(file).unwrap();
        }
    }
    compare(&rows(&config, &killed, 1, &Silent).unwrap(), &whole);

    let other = ParsingConfig { seed: config.seed + 1, ..config };
    let refused = rows(&other, &killed, 1, &Silent);
    assert!(matches!(refused, Err(ExperimentError::Kept(KeptError::OtherSettings { .. }))));
}

/// A parser after a little training, with its settings and data.
static TRAINED: LazyLock<(ParsingConfig, Splits, Parser)> = LazyLock::new(|| {
    let config = config();
    let network = &config.networks[0];
    let treebank = config.treebank_of(network).unwrap();
    let splits = Splits::load(treebank, None, config.seed).unwrap();
    let (parser, _) = train(network, &config, treebank, &splits, None, &Silent).unwrap();
    (config, splits, parser)
});

const METHODS: [Method; 6] = [
    Method::Paper(1e-2),
    Method::Best,
    Method::Constrained,
    Method::MaskedGreedy,
    Method::MaskedBeam,
    Method::Beam,
];

/// Repairs all failures among `sentences` by every method; what is said to be converted has to be a
/// tree, and everything has to become one over the sentence. Returns how many failures there were, and
/// how many of them each method converted.
fn check_methods(width: usize, sentences: &[Sentence]) -> (usize, [usize; 6]) {
    let (config, _, parser) = &*TRAINED;
    let before: Vec<u32> = parser.model.weights.iter().map(|w| w.to_bits()).collect();
    let failures = Failures::find(parser, width, sentences, &Silent);
    assert_eq!(failures.total, sentences.len());
    let all = METHODS.map(|method| {
        let repairs = failures.repair(method, config, &Silent).unwrap();
        assert_eq!(repairs.len(), failures.cases.len());
        let mut converted = 0;
        for (case, repair) in failures.cases.iter().zip(&repairs) {
            let leaves = case.gold.leaves();
            let (tree, mended) = parser.tree(&repair.output, &leaves);
            assert_eq!(tree.leaves(), leaves, "{method:?}");
            if repair.converted {
                assert_eq!(parser.commands.decode(&repair.output, &leaves), Ok(tree), "{method:?}");
                assert_eq!(mended.total(), 0);
                converted += 1;
            }
        }
        let row = failures.row("net", "method", "data", &repairs);
        assert_eq!((row.total, row.failures), (sentences.len(), repairs.len()));
        converted
    });
    let after: Vec<u32> = parser.model.weights.iter().map(|w| w.to_bits()).collect();
    assert!(before == after, "the weights are as they were");
    (failures.cases.len(), all)
}

#[test]
fn what_is_reported_as_converted_is_a_tree() {
    let (_, splits, _) = &*TRAINED;
    for width in [1, 2] {
        let (n, [_, best, constrained, masked_greedy, masked_beam, _]) =
            check_methods(width, &splits.test);
        assert_eq!([constrained, masked_greedy, masked_beam], [n; 3]);
        assert!(0 < best && best <= n, "{best} of {n}");
    }
}

fn sentence(id: &str, words: &[&str]) -> Sentence {
    let leaf = |word: &&str| Tree::Leaf { tag: "XX".to_owned(), word: (*word).to_owned() };
    let children = words.iter().map(leaf).collect();
    let tree = Tree::Node { label: "NOSUCHLABEL".to_owned(), children };
    Sentence { id: id.to_owned(), genre: "odd".to_owned(), tree }
}

#[test]
fn sentences_nobody_expects() {
    let long: Vec<&str> = ["zyx", "the", "42nd", "Ünï-cödé", "(", ")"].repeat(42)[..250].to_vec();
    let odd = [
        sentence("one unknown word", &["qzxv"]),
        sentence("an empty word", &[""]),
        sentence("brackets", &["(", ")", "!NP", "s"]),
        sentence("250 words", &long),
    ];
    for width in [1, 2] {
        assert!(0 < check_methods(width, &odd).0);
    }
    // Over no words there is no tree.
    assert_eq!(check_methods(1, &[sentence("nothing", &[])]), (1, [0; 6]));
    assert_eq!(check_methods(1, &[]), (0, [0; 6]));
}
