//! The parsing task end to end: experiments that are killed and resumed, and unusual sentences.

use std::fs;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::LazyLock;

use cajole_core::Search::Masked;
use cajole_core::{Model, Moving};
use cajole_experiments::parsing::{Failures, Method, ParsingConfig, reproduce};
use cajole_experiments::{ExperimentError, KeptError, Places};
use cajole_files::Folder;
use cajole_infer::Parsing;
use cajole_tasks::corpora::{Selection, Source};
use cajole_tasks::parsing::{Architecture, NetworkConfig, Parser, Splits, train};
use cajole_tasks::{OnAdvance, Silent, Watch};
use cajole_treebank::generated::{Genre, generate};
use cajole_treebank::{Sentence, Tree};
use serde_json::Value;

use crate::rows::{compare, rows_without};
use cajole_testing::killer::{Killer, kill_until_done};

/// The quick experiment, shrunk until most outputs are not trees.
fn config() -> ParsingConfig {
    let mut config: ParsingConfig = toml::from_str(ParsingConfig::QUICK).unwrap();
    let treebank = config.treebanks.get_mut("generated").unwrap();
    treebank.source = Source::Generated { train: 300, dev: 20, test: 5 };
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
    let transformer = config.transformer.as_mut().unwrap();
    transformer.inner = 32;
    (transformer.training.batch_size, transformer.training.shard_size) = (8, 4);
    transformer.training.step_size = 4e-3;
    for presets in [&mut config.gbi, &mut config.transformer_gbi] {
        presets.paper.schedule.max_steps = 5;
        for (preset, step_size) in [(&mut presets.best, 3e-2), (&mut presets.small, 3e-1)] {
            preset.schedule.max_steps = 12;
            preset.schedule.step_size = step_size; // few but large steps
            preset.restarts.clear();
            preset.sources = vec![Masked { width: 2 }, Masked { width: 1 }];
        }
    }
    (config.rivals.beam_width, config.rivals.masked_width) = (3, 3);
    config
}

/// Everything goes to this folder.
fn places(out: &Folder) -> Places<'_> {
    Places { out: Some(out), ..Places::default() }
}

/// The rows of an experiment's report, without times, which may differ.
fn rows(
    config: &ParsingConfig,
    out: &Path,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Vec<Value>, ExperimentError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let report =
        pool.install(|| reproduce(config, &places(&Folder::create(out).unwrap()), watch))?;
    Ok(rows_without(&report, &["milliseconds"]))
}

#[test]
fn a_killed_experiment_resumes_and_ends_identically() {
    let (config, folder) = (config(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    let count = Killer::after(usize::MAX);
    let watch = OnAdvance(|| count.advance());
    let whole = rows(&config, &at("whole"), 1, &watch).unwrap();
    assert!(whole.iter().any(|row| row["conversion"] == 100.0));
    assert!(whole.iter().all(|row| row["failures"] != 0));

    // In the first epoch, in the second of 38 steps each, then mostly during repair.
    let (total, killed) = (count.told(), at("killed"));
    let moments = [3, 50].into_iter().chain(std::iter::repeat(total / 6));
    let work =
        |killer: &Killer| rows(&config, &killed, 2, &OnAdvance(|| killer.advance())).unwrap();
    let (resumed, kills) = kill_until_done(moments, work, |kills| {
        let state = killed.join("nets/gnmt/training.safetensors");
        assert!(kills != 2 || state.exists(), "the first epoch was kept");
    });
    assert!(5 < kills, "{kills}");
    compare(&resumed, &whole);

    // Saved results are reused, and each of them can be lost.
    let again = OnAdvance(|| panic!("nothing is left to do"));
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

#[test]
fn an_experiment_is_resumed_on_the_same_files_and_weights_only() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let trees = |genre: Genre, n: usize| -> String {
        generate(genre, n, 1).iter().map(|sentence| format!("{}\n", sentence.tree)).collect()
    };
    let [home, other, ..] = Genre::ALL;
    let files = [("a.ptb", trees(home, 40)), ("b.ptb", trees(other, 10))];
    files.iter().for_each(|(name, text)| fs::write(at(name), text).unwrap());
    let of = |file: &str| {
        vec![Selection {
            file: file.to_owned(),
            ids: String::new(),
            conll2012: false,
            domain: None,
        }]
    };
    let mut config = config();
    let treebank = config.treebanks.get_mut("generated").unwrap();
    treebank.source =
        Source::Files { train: of("a.ptb"), dev: of("b.ptb"), test: of("b.ptb"), domains: vec![] };
    config.networks.truncate(1);
    config.networks[0].epochs = Some(2);
    let out = at("out");
    let run = |watch: &dyn Watch| {
        let out = Folder::create(&out).unwrap();
        reproduce(&config, &Places { data: Some(folder.path()), ..places(&out) }, watch)
    };
    let check_refused = |what: &str| {
        let error = run(&Silent).unwrap_err().to_string();
        assert!(error.contains("has changed since") && error.contains(what), "{error}");
    };

    // Killed in the second epoch of five steps.
    let (killer, work) = (Killer::after(7), |killer: &Killer| {
        run(&OnAdvance(|| killer.advance())).unwrap();
    });
    assert!(std::panic::catch_unwind(AssertUnwindSafe(|| work(&killer))).is_err());
    fs::write(at("a.ptb"), files[0].1.replacen("(NP", "(QP", 1)).unwrap();
    check_refused("files.a.ptb;");
    fs::write(at("a.ptb"), &files[0].1).unwrap();
    run(&Silent).unwrap();

    fs::write(at("b.ptb"), files[1].1.replacen("(NP", "(QP", 1)).unwrap();
    check_refused("files.b.ptb;");
    fs::write(at("b.ptb"), &files[1].1).unwrap();
    let weights = at("out").join("nets").join(&config.networks[0].name).join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, &bytes).unwrap();
    check_refused("weights;");
}

#[test]
fn trained_networks_are_measured_from_their_folder() {
    let (mut config, folder) = (config(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    let treebank = config.treebanks.get_mut("generated").unwrap();
    treebank.source = Source::Generated { train: 100, dev: 10, test: 4 };
    config.networks.iter_mut().for_each(|network| network.epochs = Some(1));
    config.networks[1].seeds = vec![1, 2];
    let (first, second, nets) = (at("first"), at("second"), at("first").join("nets"));
    let all = reproduce(&config, &places(&Folder::create(&first).unwrap()), &Silent);
    let all = rows_without(&all.unwrap(), &["milliseconds"]);
    let seeds = ["gnmt", "simple", "simple-seed2", "transformer"];
    assert!(seeds.iter().all(|net| all.iter().any(|row| row["net"] == *net)), "one for each seed");
    assert!(all.iter().any(|row| row["method"] == "best, no source"), "parts are measured");

    fs::remove_dir_all(nets.join("gnmt")).unwrap();
    let out = Folder::create(&second).unwrap();
    let places = Places { nets: Some(&nets), ..places(&out) };
    let report = reproduce(&config, &places, &Silent).unwrap();
    let rest: Vec<Value> = all.iter().filter(|row| row["net"] != "gnmt").cloned().collect();
    compare(&rows_without(&report, &["milliseconds"]), &rest);
    let absent = "Left out, because there is no checkpoint: gnmt.";
    assert!(report.notes.iter().any(|note| note == absent), "{:?}", report.notes);
    assert!(!second.join("nets").exists(), "nothing was trained");

    let only = ["simple-seed2".to_owned()];
    let report = reproduce(&config, &Places { only: &only, ..places }, &Silent).unwrap();
    let rows = rows_without(&report, &["milliseconds"]);
    assert!(!rows.is_empty() && rows.iter().all(|row| row["net"] == "simple-seed2"));

    let refused =
        |places: &Places<'_>| reproduce(&config, places, &Silent).unwrap_err().to_string();
    let unknown = ["net9".to_owned()];
    let error = refused(&Places { only: &unknown, ..places });
    assert!(
        error.contains("\"net9\"; there are gnmt, simple, simple-seed2, transformer"),
        "{error}"
    );
    let none = at("none");
    let error = refused(&Places { nets: Some(&none), ..places });
    assert!(
        error.contains("none of the networks gnmt, simple, simple-seed2, transformer"),
        "{error}"
    );
}

#[test]
fn studies_of_transformers_move_parameters_that_they_have() {
    let config: ParsingConfig = toml::from_str(ParsingConfig::DEFAULT).unwrap();
    let is_transformer = |name: &String| {
        let mut networks = config.networks.iter();
        networks.any(|n| n.name == *name && n.architecture == Architecture::Transformer)
    };
    let quick = ParsingConfig { transformer: config.transformer.clone(), ..self::config() };
    let untrained = NetworkConfig { epochs: Some(0), hidden: 16, ..quick.networks[2].clone() };
    let recipe = quick.recipe(&untrained).unwrap();
    let splits = Splits::load(recipe.treebank, None, 1).unwrap();
    let (parser, _) = train(&recipe, &splits, None, &Silent).unwrap();
    let parameters = parser.model.parameters();
    let studies = config.studies.iter().filter(|s| s.networks.iter().all(is_transformer));
    let variants: Vec<_> = studies.flat_map(|study| &study.variants).collect();
    assert!(5 < variants.len());
    for variant in variants {
        let moves = config.transformer_gbi.varied(variant.preset, &variant.set).unwrap().moves;
        assert!(Moving::choose(&parameters, &moves).is_ok(), "{}: {moves:?}", variant.name);
    }
}

#[test]
fn transformers_that_cannot_be_are_refused() {
    let config = config();
    let network = config.networks[2].clone();
    let splits = Splits::load(&config.treebanks["generated"], None, 1).unwrap();
    let refused = |config: &ParsingConfig, network: NetworkConfig| {
        let recipe = config.recipe(&network).unwrap();
        train(&recipe, &splits, None, &Silent).unwrap_err().to_string()
    };
    let without = ParsingConfig { transformer: None, ..config.clone() };
    for (config, network, expected) in [
        (&without, network.clone(), "no [transformer] section"),
        (&config, NetworkConfig { pointer: true, ..network.clone() }, "`pointer = true`"),
        (&config, NetworkConfig { hidden: 30, ..network }, "4 heads do not divide 30 hidden units"),
    ] {
        let error = refused(config, network);
        assert!(error.contains("the network transformer") && error.contains(expected), "{error}");
    }
}

/// Briefly trained parsers of LSTMs and of a transformer, with their settings and data.
static TRAINED: LazyLock<(ParsingConfig, Splits, [Parser; 2])> = LazyLock::new(|| {
    let config = config();
    let recipe = config.recipe(&config.networks[0]).unwrap();
    let splits = Splits::load(recipe.treebank, None, config.seed).unwrap();
    let mut transformer = config.networks[2].clone();
    (transformer.share, transformer.epochs) = (100, Some(16));
    let parsers = [&config.networks[0], &transformer].map(|network| {
        let recipe = config.recipe(network).unwrap();
        train(&recipe, &splits, None, &Silent).unwrap().0
    });
    (config, splits, parsers)
});

const METHODS: [Method; 7] = [
    Method::Paper(1e-2),
    Method::Best,
    Method::Small,
    Method::Constrained,
    Method::MaskedGreedy,
    Method::MaskedBeam,
    Method::Beam(3),
];

/// Repairs all failures among `sentences` by every method. Converted outputs must be trees, and
/// every output must become a tree over the sentence. Returns the number of failures, and how many
/// of them each method converted.
fn check_methods(parser: &Parser, width: usize, sentences: &[Sentence]) -> (usize, [usize; 7]) {
    let (config, ..) = &*TRAINED;
    let before: Vec<u32> = parser.model.weights().iter().map(|w| w.to_bits()).collect();
    let task = Parsing::new(parser.clone());
    let failures = Failures::find(&task, config.beam(width), sentences, &Silent).unwrap();
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
    let after: Vec<u32> = parser.model.weights().iter().map(|w| w.to_bits()).collect();
    assert!(before == after, "the weights are as they were");
    (failures.cases.len(), all)
}

#[test]
fn converted_outputs_are_trees() {
    let (_, splits, parsers) = &*TRAINED;
    for (parser, width) in parsers.iter().flat_map(|parser| [(parser, 1), (parser, 2)]) {
        let (n, [_, best, small, constrained, masked_greedy, masked_beam, _]) =
            check_methods(parser, width, &splits.test);
        assert_eq!([constrained, masked_greedy, masked_beam], [n; 3]);
        assert!(0 < best && 0 < small && best.max(small) <= n, "{best} and {small} of {n}");
    }
}

fn sentence(id: &str, words: &[&str]) -> Sentence {
    let leaf = |word: &&str| Tree::Leaf { tag: "XX".to_owned(), word: (*word).to_owned() };
    let children = words.iter().map(leaf).collect();
    let tree = Tree::Node { label: "NOSUCHLABEL".to_owned(), children };
    Sentence { id: id.to_owned(), genre: "odd".to_owned(), tree }
}

#[test]
fn unusual_sentences() {
    let long: Vec<&str> = ["zyx", "the", "42nd", "Ünï-cödé", "(", ")"].repeat(42);
    // A transformer's time grows with the square of the length.
    for (parser, longest) in TRAINED.2.iter().zip([250, 60]) {
        let odd = [
            sentence("one unknown word", &["qzxv"]),
            sentence("an empty word", &[""]),
            sentence("brackets", &["(", ")", "!NP", "s"]),
            sentence("many words", &long[..longest]),
        ];
        for width in [1, 2] {
            assert!(0 < check_methods(parser, width, &odd).0);
        }
        // There is no tree over no words.
        assert_eq!(check_methods(parser, 1, &[sentence("nothing", &[])]), (1, [0; 7]));
        assert_eq!(check_methods(parser, 1, &[]), (0, [0; 7]));
    }
}
