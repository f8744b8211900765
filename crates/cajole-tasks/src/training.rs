//! A training run that can be watched, killed and resumed, whatever the task.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cajole_nn::checkpoint::{
    CheckpointError, MODEL_FILE, Precision, TRAINING_FILE, check_finite, load_training,
    save_training, write_atomically,
};
use cajole_nn::{Example, Progress, TrainConfig, TrainState, Trainable, Trainer};
use cajole_treebank::limits::MOST_SETTINGS_BYTES;
use cajole_treebank::text_of;
use serde::Serialize;

use crate::checkpoint::{self, Checkpoint, LoadError};
use crate::curve::{self, Epoch};
use crate::{Watch, changes};

/// Identifies the run that the state next to it belongs to.
const RUN_FILE: &str = "training.json";

/// Time between two saved states within an epoch.
const SAVE_AFTER: Duration = Duration::from_secs(600);

/// A training run and where its state is stored.
pub(crate) struct Training<'a, N: Trainable> {
    /// The network.
    pub(crate) net: &'a N,
    /// The training settings.
    pub(crate) config: &'a TrainConfig,
    /// The training examples.
    pub(crate) examples: Vec<Example<'a, N::Input>>,
    /// The seed of all randomness.
    pub(crate) seed: u64,
    /// The initial weights.
    pub(crate) initial: Vec<f32>,
    /// Epochs between two dev evaluations, each of which saves the state.
    pub(crate) every: usize,
    /// The folder for the state; `None` saves nothing.
    pub(crate) folder: Option<&'a Path>,
}

impl<'a, N: Trainable> Training<'a, N> {
    /// Trains to the end, resuming from the state in the folder. `score` evaluates weights on the
    /// dev set (larger is better) and returns a description.
    ///
    /// # Errors
    /// If the state in the folder cannot be read or written, or belongs to a run with other
    /// `settings`.
    pub(crate) fn run(
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
        let kept = file.as_ref().filter(|file| file.exists());
        let kept = kept.map(|file| load_training(file, net.layout())).transpose()?;
        if let Some(state) = &kept {
            watch.say(&resuming(&state.progress));
        }
        let state = kept.unwrap_or_else(|| TrainState::new(initial));
        let mut trainer = Trainer::resume(net, config.clone(), examples, seed, state);
        let mut note = String::new();
        let steps = trainer.steps_per_epoch();
        watch.begin("training", (config.epochs * steps) as u64);
        let mut clock = Clock::new(config.epochs * steps, &trainer.state().progress, steps);
        while !trainer.is_done() {
            let loss = trainer.epoch_with(|state| {
                let (progress, loss) = (&state.progress, state.progress.mean_loss());
                watch.advance(clock.done(progress) as u64, &format!("loss {loss:.3}{note}"));
                match &file {
                    // The end of an epoch saves the state anyway.
                    Some(file) if progress.batch < steps && clock.is_due() => {
                        check_diverged(net, &state.weights, progress.epoch + 1)?;
                        save_training(file, net.layout(), state)?;
                        watch.say(&clock.to_text(progress));
                        Ok(())
                    }
                    _ => Ok::<(), LoadError>(()),
                }
            })?;
            let epoch = trainer.state().progress.epoch;
            check_diverged(net, &trainer.state().weights, epoch)?;
            if epoch % every == 0 || epoch == config.epochs {
                let (measured, words) = score(&trainer.state().weights);
                trainer.judge(measured);
                note = format!(", {words}");
                if every == 1 {
                    watch.say(&format!("  epoch {epoch:>3}: loss {loss:.4}{note}"));
                    let of_epoch = Epoch { epoch: None, f1: measured, loss: Some(loss) };
                    folder.map(|folder| curve::add(folder, epoch, of_epoch)).transpose()?;
                }
                if let Some(file) = &file {
                    save_training(file, net.layout(), trainer.state())?;
                }
            }
        }
        watch.end();
        if trainer.state().progress.epoch == 0 {
            let (measured, _) = score(&trainer.state().weights); // zero epochs were requested
            trainer.judge(measured);
        }
        Ok(trainer.into_state())
    }
}

/// Says where a run resumes.
fn resuming(progress: &Progress) -> String {
    match progress.batch {
        0 => format!("  resuming from epoch {}", progress.epoch),
        batch => format!("  resuming from epoch {}, batch {batch}", progress.epoch),
    }
}

/// How long a run takes, and when its state was saved last.
struct Clock {
    started: Instant,
    saved: Instant,
    /// Steps done before the run was resumed.
    before: usize,
    /// Steps of an epoch.
    steps: usize,
    /// Steps of the run.
    all: usize,
}

impl Clock {
    fn new(all: usize, progress: &Progress, steps: usize) -> Self {
        let now = Instant::now();
        let mut clock = Clock { started: now, saved: now, before: 0, steps, all };
        clock.before = clock.done(progress);
        clock
    }

    /// Steps that are done.
    fn done(&self, progress: &Progress) -> usize {
        progress.epoch * self.steps + progress.batch
    }

    /// Whether the state has to be saved now.
    fn is_due(&mut self) -> bool {
        let is_due = SAVE_AFTER <= self.saved.elapsed();
        if is_due {
            self.saved = Instant::now();
        }
        is_due
    }

    /// Says that the state was saved, and how much time is left.
    fn to_text(&self, progress: &Progress) -> String {
        let done = self.done(progress);
        let taken = self.started.elapsed().as_secs_f64() / 60.0;
        let left =
            taken * (self.all.saturating_sub(done)) as f64 / (done - self.before).max(1) as f64;
        format!(
            "  epoch {:>3}: batch {} of {}, loss {:.4}; saved, about {left:.0} min left",
            progress.epoch + 1,
            progress.batch,
            self.steps,
            progress.mean_loss()
        )
    }
}

/// Ends a run whose weights have overflowed, before anything uses them.
fn check_diverged<N: Trainable>(net: &N, weights: &[f32], epoch: usize) -> Result<(), LoadError> {
    let checked = check_finite(Path::new(MODEL_FILE), net.layout(), weights, Precision::F32);
    match checked {
        Err(CheckpointError::NotFinite { tensor, value, .. }) => {
            Err(LoadError::Diverged { epoch, tensor, value })
        }
        other => Ok(other?),
    }
}

/// Initial weights for a network whose sizes come from settings.
///
/// # Errors
/// If there would be too many weights.
pub(crate) fn initial<N: Trainable>(net: &N, seed: u64) -> Result<Vec<f32>, LoadError> {
    let layout = net.layout();
    match layout.is_too_large() {
        true => Err(LoadError::TooManyWeights { weights: layout.len() }),
        false => Ok(layout.initial(seed)),
    }
}

/// Records in `folder` which run it belongs to; an error if another unfinished run owns it.
fn claim(folder: &Path, settings: &impl Serialize) -> Result<(), LoadError> {
    fs::create_dir_all(folder).map_err(LoadError::io(folder))?;
    let path = folder.join(RUN_FILE);
    let settings = serde_json::to_value(settings).expect("settings always serialise");
    let text = format!("{settings:#}\n");
    if folder.join(TRAINING_FILE).exists() {
        let before = serde_json::from_str(&text_of(&path, MOST_SETTINGS_BYTES)?);
        let before = before.map_err(|source| LoadError::Config { path: path.clone(), source })?;
        let changed = changes(&before, &settings);
        if !changed.is_empty() {
            return Err(LoadError::OtherRun { path, what: changed.join(", ") });
        }
    }
    write_atomically(&path, text.as_bytes()).map_err(LoadError::io(&path))
}

/// Loads the network in `folder`; otherwise trains one and saves it there, if a folder is given.
///
/// # Errors
/// If the folder cannot be used.
pub fn kept_or_trained<C: Checkpoint>(
    folder: Option<&Path>,
    train: impl FnOnce() -> Result<(C, C::Card), LoadError>,
) -> Result<(C, C::Card), LoadError> {
    match folder {
        Some(folder) if checkpoint::exists(folder) => C::load(folder),
        Some(folder) => {
            let (network, card) = train()?;
            network.save(folder, &card, Precision::F32)?;
            finish(folder)?;
            Ok((network, card))
        }
        None => train(),
    }
}

/// Whether `folder` holds a run that has not come to its end.
pub fn is_unfinished(folder: &Path) -> bool {
    folder.join(RUN_FILE).exists()
}

/// Removes the files that only an unfinished run needs.
///
/// # Errors
/// If a file cannot be removed.
pub fn finish(folder: &Path) -> Result<(), LoadError> {
    for name in [TRAINING_FILE, RUN_FILE] {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(LoadError::io(&path))?;
        }
    }
    Ok(())
}
