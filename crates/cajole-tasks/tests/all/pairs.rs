//! The pairs task end to end: training that is killed and resumed, checkpoints, unusual inputs.

#[allow(dead_code, reason = "this test uses no reports")]
use std::fs;
use std::path::Path;

use cajole_core::StepRule;
use cajole_core::decoders::Greedy;
use cajole_files::Folder;
use cajole_nn::checkpoint::Precision;
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::pairs::generated::{Split, generate};
use cajole_tasks::pairs::{Card, Kind, Pair, PairsConfig, PairsModel, Spelling, Splits, train};
use cajole_tasks::{Checkpoint, OnAdvance, Silent, Watch};

use cajole_testing::killer::{Killer, kill_until_done};

/// The built-in settings, shrunk so that training takes no time.
fn config() -> PairsConfig {
    let mut config: PairsConfig = toml::from_str(PairsConfig::DEFAULT).unwrap();
    (config.network.hidden, config.network.attention, config.network.dropout) = (16, 16, 0.1);
    (config.network.embedding, config.network.output_embedding) = (8, 8);
    (config.training.epochs, config.training.batch_size, config.training.shard_size) = (4, 8, 4);
    config.training.step_size = 2e-2;
    let transformer = config.transformer.as_mut().unwrap();
    (transformer.layers, transformer.hidden, transformer.inner) = (2, 16, 32);
    let training = &mut transformer.training;
    (training.epochs, training.batch_size, training.shard_size) = (4, 8, 4);
    training.step_size = 1e-2;
    config
}

const KINDS: [Kind; 2] = [Kind::Lstm, Kind::Transformer];

fn splits() -> Splits {
    let pairs = |split, n| generate(split, n, &"2..=4".parse().unwrap(), 1).collect();
    Splits { train: pairs(Split::Train, 160), dev: pairs(Split::Dev, 20), problems: vec![] }
}

fn run(
    kind: Kind,
    splits: &Splits,
    folder: Option<&Path>,
    threads: usize,
    watch: &dyn Watch,
) -> Result<(PairsModel, Card), LoadError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let config = PairsConfig { kind, ..config() };
    let folder = folder.map(|folder| Folder::create(folder).unwrap());
    pool.install(|| train(&config, splits, 3, folder.as_ref(), watch))
}

#[test]
fn a_killed_run_resumes_and_ends_identically() {
    KINDS.into_iter().for_each(check_resuming);
}

fn check_resuming(kind: Kind) {
    let (splits, folder) = (splits(), tempfile::tempdir().unwrap());
    let (whole, card) = run(kind, &splits, None, 1, &Silent).unwrap();
    assert_eq!((card.epochs, card.pairs, card.dev_pairs), (4, 160, 20));
    // Killed in the first epoch of 20 steps, then in the second, then in every other.
    let moments = [5].into_iter().chain(std::iter::repeat(30));
    let work = |killer: &Killer| {
        let watch = OnAdvance(|| killer.advance());
        run(kind, &splits, Some(folder.path()), 2, &watch).unwrap()
    };
    let ((resumed, resumed_card), kills) = kill_until_done(moments, work, |kills| {
        let state = folder.path().join("training.safetensors");
        assert_eq!(state.exists(), 1 < kills, "an epoch was kept if one was finished");
    });
    assert!(2 < kills, "{kills}");
    assert_eq!(resumed.model.weights(), whole.model.weights());
    assert_eq!(resumed_card, card);
}

#[test]
fn resuming_with_other_pairs_is_an_error() {
    let (mut splits, folder) = (splits(), tempfile::tempdir().unwrap());
    run(Kind::Lstm, &splits, Some(folder.path()), 1, &Silent).unwrap();
    let refused = run(Kind::Transformer, &splits, Some(folder.path()), 1, &Silent);
    assert!(matches!(refused, Err(LoadError::OtherRun { .. })));
    splits.train.swap(0, 1);
    let refused = run(Kind::Lstm, &splits, Some(folder.path()), 1, &Silent);
    assert!(matches!(refused, Err(LoadError::OtherRun { .. })));
}

#[test]
fn a_step_size_that_is_no_finite_number_above_zero_is_rejected() {
    assert!(PairsConfig::DEFAULT.contains("step-size = 6e-3"));
    for size in ["nan", "inf", "-0.1", "0.0"] {
        let text = PairsConfig::DEFAULT.replace("step-size = 6e-3", &format!("step-size = {size}"));
        let error = toml::from_str::<PairsConfig>(&text).unwrap_err().to_string();
        assert!(error.contains("is not a finite number above 0"), "{size}: {error}");
    }
}

#[test]
fn a_run_that_diverges_writes_no_checkpoint() {
    let (mut config, folder) = (config(), tempfile::tempdir().unwrap());
    // Adam divides by 1 − beta1.
    config.training.rule = StepRule::Adam { beta1: 1.0, beta2: 0.999, epsilon: 1e-8 };
    let into = Folder::create(folder.path()).unwrap();
    let diverged = train(&config, &splits(), 1, Some(&into), &Silent).err().unwrap();
    let said = diverged.to_string();
    assert!(matches!(diverged, LoadError::Diverged { epoch: 1, .. }), "{said}");
    assert!(said.contains("has NaN") && said.contains("training.step-size"), "{said}");
    assert!(!folder.path().join("training.safetensors").exists());
}

#[test]
fn a_network_with_too_many_weights_is_rejected() {
    let mut config = config();
    config.network.hidden = cajole_nn::settings::MOST_SIZE;
    let refused = train(&config, &splits(), 1, None, &Silent).err().unwrap();
    // At least one layer's recurrent matrix, four gates wide.
    let least = 4 * config.network.hidden.pow(2);
    let LoadError::TooManyWeights { weights } = refused else { panic!("{refused}") };
    assert!(least <= weights, "{weights}");
    let text = PairsConfig::DEFAULT.replace("hidden = ", "hidden = 99999999");
    assert!(toml::from_str::<PairsConfig>(&text).unwrap_err().to_string().contains("99999999"));
}

#[test]
fn training_improves_outputs() {
    let mut splits = splits();
    // Copying is learnt quickly.
    for pair in splits.train.iter_mut().chain(&mut splits.dev) {
        pair.input.truncate(1);
        pair.output.clone_from(&pair.input);
    }
    for kind in KINDS {
        let (_, card) = run(kind, &splits, None, 1, &Silent).unwrap();
        assert_eq!((card.dev_exact, card.dev_symbols), (100.0, 100.0), "{kind:?}");
    }
}

#[test]
fn a_checkpoint_round_trips() {
    KINDS.into_iter().for_each(check_round_trip);
}

fn check_round_trip(kind: Kind) {
    let (splits, folder) = (splits(), tempfile::tempdir().unwrap());
    let (trained, card) = run(kind, &splits, None, 1, &Silent).unwrap();
    trained.save(&Folder::create(folder.path()).unwrap(), &card, Precision::F32).unwrap();
    let (loaded, loaded_card) = PairsModel::load(folder.path()).unwrap();
    assert_eq!(loaded_card, card);
    assert_eq!(loaded.model.weights(), trained.model.weights());
    assert_eq!((&loaded.source, &loaded.target), (&trained.source, &trained.target));
    assert_eq!(loaded.spelling, Spelling::Words);

    let target = folder.path().join("vocab.target.txt");
    let text = fs::read_to_string(&target).unwrap();
    fs::write(&target, text.lines().skip(1).collect::<Vec<_>>().join("\n")).unwrap();
    let error = PairsModel::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("vocab.target.txt has 14 entries, but the network has 15"), "{error}");
}

#[test]
fn transformers_that_cannot_be_are_refused() {
    let refused = |config: PairsConfig| {
        let config = PairsConfig { kind: Kind::Transformer, ..config };
        train(&config, &splits(), 1, None, &Silent).err().unwrap().to_string()
    };
    let error = refused(PairsConfig { transformer: None, ..config() });
    assert!(error.contains("no [transformer] section"), "{error}");
    let mut uneven = config();
    uneven.transformer.as_mut().unwrap().heads = 3;
    let error = refused(uneven);
    assert!(error.contains("3 heads do not divide 16 hidden units"), "{error}");
}

#[test]
fn unusual_characters_survive_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let line = r#"{"input": " é#\t\u0085\u2028\ufeff\\", "output": "\u2028 \u3000\"𝒳"}"#;
    let file = folder.path().join("pairs.jsonl");
    fs::write(&file, [line; 2].join("\n")).unwrap();
    let splits = Splits::load(&file, &file, Spelling::Characters).unwrap();
    assert!(splits.problems.is_empty());
    let config = PairsConfig { symbols: Spelling::Characters, ..config() };
    let (trained, card) = train(&config, &splits, 1, None, &Silent).unwrap();
    trained.save(&Folder::create(folder.path()).unwrap(), &card, Precision::F32).unwrap();
    let (loaded, _) = PairsModel::load(folder.path()).unwrap();
    assert_eq!((&loaded.source, &loaded.target), (&trained.source, &trained.target));
    let symbol = |name: &String| loaded.target.symbol(name).unwrap();
    let y: Vec<_> = splits.train[0].output.iter().map(symbol).collect();
    assert_eq!(loaded.text(&y), "\u{2028} \u{3000}\"𝒳");
    let known = loaded.tokens(&splits.train[0].input);
    assert!(known.iter().all(|token| token.word != 0), "none is unknown");
}

fn pair(input: &[&str], output: &[&str]) -> Pair {
    let own = |symbols: &[&str]| symbols.iter().map(|&symbol| symbol.to_owned()).collect();
    Pair { input: own(input), output: own(output) }
}

#[test]
fn unusual_pairs() {
    let nothing = pair(&[], &[]);
    let odd = [
        vec![nothing.clone()],
        vec![pair(&["a"], &[]), nothing.clone()],
        vec![pair(&[], &["x"; 40])],
        vec![pair(&["<unknown>", "?"], &["</s>", "?", "<unknown>"]); 3],
    ];
    let each = odd.into_iter().flat_map(|train| KINDS.map(|kind| (kind, train.clone())));
    for (kind, train) in each {
        let dev = vec![pair(&["never", "seen"], &["nor", "this"]), nothing.clone()];
        let splits = Splits { train, dev, problems: vec![] };
        let (trained, card) = run(kind, &splits, None, 1, &Silent).unwrap();
        assert!((0.0..=50.0).contains(&card.dev_exact), "what was never seen cannot be written");
        let tokens = trained.tokens(&splits.dev[0].input);
        assert_eq!(tokens[0], tokens[1], "both are unknown");
        let decoded = trained.model.decode_all(&Greedy, &[tokens.as_slice(), &[]]);
        for y in decoded {
            assert_eq!(trained.names(&y.output).len(), y.output.len());
        }
    }
}
