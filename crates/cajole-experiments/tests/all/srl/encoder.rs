//! Taggers on a pretrained encoder: training, resuming, and folders that are not encoders.

use std::fs;
use std::path::Path;

use cajole_experiments::srl::SrlConfig;
use cajole_files::Folder;
use cajole_nn::checkpoint::Precision;
use cajole_nn::{Decay, TrainConfig};
use cajole_tasks::srl::{
    Card, FineTuning, Instance, NetworkConfig, Recipe, RoleTagger, Splits, train,
};
use cajole_tasks::{Checkpoint, OnAdvance, Silent, Watch, curve};
use cajole_testing::folders::write_bert;
use cajole_testing::killer::{Killer, kill_until_done};

use super::{bits, config, splits};

const EPOCHS: usize = 4;

/// Letters of the longest generated sentence, and more.
const POSITIONS: usize = 1000;

/// A network that is an encoder.
fn network(config: &SrlConfig) -> NetworkConfig {
    let training = TrainConfig::new(EPOCHS, 5e-3).with(|config| {
        config.batch_size = 16;
        config.shard_size = 4;
        config.decay = Decay::WarmUp { share: 0.2 };
        config.weight_decay = 0.01;
    });
    let tuning = FineTuning { training, layer_factor: 0.9, top_factor: 2.0, nudges: Vec::new() };
    let (layers, hidden) = (2, 16);
    NetworkConfig {
        encoder: Some(tuning),
        epochs: None,
        layers,
        hidden,
        ..config.networks[0].clone()
    }
}

/// Trains on the encoder in `from`.
fn trained(
    splits: &Splits,
    from: &Path,
    folder: Option<&Path>,
    watch: &dyn Watch,
) -> Result<(RoleTagger, Card), String> {
    let config = config();
    let network = network(&config);
    let recipe = Recipe { encoder: Some(from), ..config.recipe(&network).unwrap() };
    let folder = folder.map(|folder| Folder::create(folder).unwrap());
    train(&recipe, splits, folder.as_ref(), watch).map_err(|error| error.to_string())
}

#[test]
fn training_learns_and_a_killed_run_ends_with_the_same_weights() {
    let (from, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_bert(from.path(), 1, POSITIONS);
    let splits = splits(&config());
    let train = |folder: Option<&Path>, watch: &dyn Watch| {
        trained(&splits, from.path(), folder, watch).unwrap()
    };
    let count = Killer::after(usize::MAX);
    let (whole, card) = train(None, &OnAdvance(|| count.advance()));
    let per_epoch = count.told() / EPOCHS;
    let work = |killer: &Killer| train(Some(folder.path()), &OnAdvance(|| killer.advance()));
    let ((resumed, same_card), kills) =
        kill_until_done([per_epoch + 2, per_epoch + 3, usize::MAX], work, |_| {});
    assert_eq!(kills, 2, "in the second epoch, and in the third");
    assert!(bits(resumed.model.weights()) == bits(whole.model.weights()));
    assert_eq!(same_card, card);
    let losses = curve::read(folder.path()).unwrap();
    let losses: Vec<f64> = losses.iter().filter_map(|epoch| epoch.loss).collect();
    assert_eq!(losses.len(), EPOCHS);
    assert!(losses[EPOCHS - 1] < 0.9 * losses[0], "{losses:?}");

    // One thread and three give the same.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let (other, _) = pool.install(|| train(None, &Silent));
    assert!(bits(other.model.weights()) == bits(whole.model.weights()));

    // As a checkpoint, without the folder that it came from.
    whole.save(&Folder::create(folder.path()).unwrap(), &card, Precision::F32).unwrap();
    drop(from);
    let (loaded, loaded_card) = RoleTagger::load(folder.path()).unwrap();
    assert_eq!(loaded_card, card);
    assert_eq!(loaded.vocabularies(), whole.vocabularies());
    let sentence = &splits.dev[0];
    let x = Instance::new(&loaded, sentence, &sentence.propositions[0]).unwrap();
    assert_eq!(x.pieces.marked, Some(x.pieces.firsts[sentence.propositions[0].predicate]));
    let [a, b] = [&whole, &loaded]
        .map(|tagger| tagger.model.decode_all(&tagger.viterbi(), &[&x])[0].output.clone());
    assert_eq!(a, b);
}

/// Changes a folder; training on it must fail and say why.
#[track_caller]
fn check_refused(change: impl FnOnce(&Path), parts: &[&str]) {
    let from = tempfile::tempdir().unwrap();
    write_bert(from.path(), 1, POSITIONS);
    change(from.path());
    let said = trained(&splits(&config()), from.path(), None, &Silent).unwrap_err();
    parts.iter().for_each(|part| assert!(said.contains(part), "{part:?} in {said:?}"));
}

fn replace(folder: &Path, name: &str, from: &str, to: &str) {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(folder.join(name), text.replace(from, to)).unwrap();
}

#[test]
fn folders_without_a_fitting_encoder_are_refused() {
    let remove = |name: &'static str| move |at: &Path| fs::remove_file(at.join(name)).unwrap();
    check_refused(remove("tokenizer.json"), &["has no tokenizer.json", "save_pretrained"]);
    check_refused(remove("config.json"), &["config.json"]);
    check_refused(remove("model.safetensors"), &["model.safetensors", "save_pretrained"]);
    check_refused(
        |at| replace(at, "config.json", "\"intermediate_size\":24", "\"intermediate_size\":25"),
        &["intermediate.dense", "24", "25"],
    );
    check_refused(
        |at| replace(at, "config.json", "\"model_type\":\"bert\"", "\"model_type\":\"gpt2\""),
        &["config.json", "gpt2"],
    );
    check_refused(|at| write_bert(at, 1, 12), &["sentence ", "at most 12", "shorten"]);
}

#[test]
fn recipes_and_folders_have_to_go_together() {
    let from = tempfile::tempdir().unwrap();
    let config = config();
    let splits = splits(&config);
    let encoder = network(&config);
    let no_folder = train(&config.recipe(&encoder).unwrap(), &splits, None, &Silent);
    let said = no_folder.map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("--encoder FOLDER") && said.contains(&encoder.name), "{said}");
    let recipe = config.recipe(&config.networks[0]).unwrap();
    let recipe = Recipe { encoder: Some(from.path()), ..recipe };
    let said = train(&recipe, &splits, None, &Silent).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("is not an encoder"), "{said}");
}
