//! A training run that can be watched, killed and gone on with, whatever the task.

use std::fs;
use std::path::Path;

use cajole_nn::checkpoint::{TRAINING_FILE, load_training, save_training, write_atomically};
use cajole_nn::{Example, Network, TrainConfig, TrainState, Trainer};
use serde::Serialize;

use super::Watch;
use crate::checkpoint::{self, LoadError};

/// Says which run the state beside it belongs to.
const RUN_FILE: &str = "training.json";

/// What is trained, on what, and where its state is kept.
pub struct Training<'a, N: Network> {
    /// The network.
    pub net: &'a N,
    /// How it is trained.
    pub config: &'a TrainConfig,
    /// On what.
    pub examples: Vec<Example<'a, N::Input>>,
    /// Where all randomness comes from.
    pub seed: u64,
    /// The weights to begin with.
    pub initial: Vec<f32>,
    /// Epochs between two measurements on development data, after which the state is kept.
    pub every: usize,
    /// Where the state is kept; nowhere, if not given.
    pub folder: Option<&'a Path>,
}

impl<'a, N: Network> Training<'a, N> {
    /// Trains to the end, going on from what is found in the folder. `score` measures weights on
    /// development data, larger being better, and says so in words.
    ///
    /// # Errors
    /// If the state in the folder cannot be read or written, or belongs to a run with other
    /// `settings`.
    pub fn run(
        self,
        settings: &impl Serialize,
        mut score: impl FnMut(&[f32]) -> (f64, String),
        watch: &dyn Watch,
    ) -> Result<TrainState, LoadError> {
        let Training { net, config, examples, seed, initial, every, folder } = self;
        let file = folder.map(|folder| folder.join(TRAINING_FILE));
        if let Some(folder) = folder {
            claim(folder, settings)?;
        }
        let state = match &file {
            Some(file) if file.exists() => {
                let state = load_training(file, net.layout())?;
                watch.say(&format!("  going on from epoch {}", state.progress.epoch));
                state
            }
            _ => TrainState::new(initial),
        };
        let mut trainer = Trainer::resume(net, config.clone(), examples, seed, state);
        let mut note = String::new();
        let steps = trainer.steps_per_epoch();
        watch.begin("training", (config.epochs * steps) as u64);
        while !trainer.is_done() {
            let before = trainer.state().progress.epoch * steps;
            let loss = trainer.epoch_with(|step, loss| {
                watch.advance((before + step) as u64, &format!("loss {loss:.3}{note}"));
            });
            let epoch = trainer.state().progress.epoch;
            if epoch % every == 0 || epoch == config.epochs {
                let (measured, words) = score(&trainer.state().weights);
                trainer.judge(measured);
                note = format!(", {words}");
                if every == 1 {
                    watch.say(&format!("  epoch {epoch:>3}: loss {loss:.4}{note}"));
                }
                if let Some(file) = &file {
                    save_training(file, net.layout(), trainer.state())?;
                }
            }
        }
        watch.end();
        if trainer.state().progress.epoch == 0 {
            let (measured, _) = score(&trainer.state().weights); // no epoch was asked for
            trainer.judge(measured);
        }
        Ok(trainer.into_state())
    }
}

/// Fresh weights for a network whose sizes come from settings.
///
/// # Errors
/// If there would be too many.
pub fn initial<N: Network>(net: &N, seed: u64) -> Result<Vec<f32>, LoadError> {
    let layout = net.layout();
    match layout.is_too_large() {
        true => Err(LoadError::TooManyWeights { weights: layout.len() }),
        false => Ok(layout.initial(seed)),
    }
}

/// Notes in `folder` which run it belongs to; an error if it belongs to another that is unfinished.
fn claim(folder: &Path, settings: &impl Serialize) -> Result<(), LoadError> {
    fs::create_dir_all(folder).map_err(LoadError::io(folder))?;
    let path = folder.join(RUN_FILE);
    let text = serde_json::to_string_pretty(settings).expect("settings always serialise") + "\n";
    if folder.join(TRAINING_FILE).exists() {
        let other = fs::read_to_string(&path).map_err(LoadError::io(&path))?;
        if other != text {
            return Err(LoadError::OtherRun { path });
        }
    }
    write_atomically(&path, text.as_bytes()).map_err(LoadError::io(&path))
}

/// The network kept in `folder`, or else one that is trained now and kept there, if there is one.
///
/// # Errors
/// If the folder cannot be used.
pub fn kept_or_trained<T>(
    folder: Option<&Path>,
    load: impl FnOnce(&Path) -> Result<T, LoadError>,
    train: impl FnOnce() -> Result<T, LoadError>,
    save: impl FnOnce(&Path, &T) -> Result<(), LoadError>,
) -> Result<T, LoadError> {
    match folder {
        Some(folder) if checkpoint::exists(folder) => load(folder),
        Some(folder) => {
            let trained = train()?;
            save(folder, &trained)?;
            finish(folder)?;
            Ok(trained)
        }
        None => train(),
    }
}

/// Removes what only an unfinished run needs.
///
/// # Errors
/// If the file system says so.
pub fn finish(folder: &Path) -> Result<(), LoadError> {
    for name in [TRAINING_FILE, RUN_FILE] {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(LoadError::io(&path))?;
        }
    }
    Ok(())
}
