//! A training run that can be watched, killed and resumed, whatever the task.

use std::path::Path;
use std::time::{Duration, Instant};

use cajole_files::Folder;
use cajole_files::limits::MOST_SETTINGS_BYTES;
use cajole_files::text_of;
use cajole_nn::checkpoint::{
    CheckpointError, MODEL_FILE, Precision, TRAINING_FILE, check_finite, load_training,
    training_to_bytes,
};
use cajole_nn::{Example, Progress, TrainConfig, TrainState, Trainable, Trainer};
use serde::Serialize;
use serde_json::{Value, json};

use crate::checkpoint::LoadError;
use crate::curve::{self, CURVE_FILE, Epoch};
use crate::{Watch, changes};

/// Identifies the run that the state next to it belongs to.
const RUN_FILE: &str = "training.json";

/// The first field of that file, by which it is recognised: a file of that name may be the user's.
const MARK: (&str, &str) = ("cajole", "an unfinished training run");

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
    pub(crate) folder: Option<&'a Folder>,
    /// Checks that the folder has room for the checkpoint of the trained network.
    pub(crate) claim: fn(&Folder) -> Result<(), LoadError>,
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
        let Training { net, config, examples, seed, initial, every, folder, claim } = self;
        if let Some(folder) = folder {
            begin(folder, settings, claim)?;
        }
        let kept = folder.map(|folder| folder.join(TRAINING_FILE)).filter(|file| file.exists());
        let kept = kept.map(|file| load_training(&file, net.layout())).transpose()?;
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
                match folder {
                    // The end of an epoch saves the state anyway.
                    Some(folder) if progress.batch < steps && clock.is_due() => {
                        check_diverged(net, &state.weights, progress.epoch + 1)?;
                        save(folder, net, state)?;
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
                if let Some(folder) = folder {
                    save(folder, net, trainer.state())?;
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

/// Saves the state of a run.
fn save<N: Trainable>(folder: &Folder, net: &N, state: &TrainState) -> Result<(), LoadError> {
    let bytes = training_to_bytes(&folder.join(TRAINING_FILE), net.layout(), state)?;
    Ok(folder.replace(TRAINING_FILE, &bytes)?)
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

/// Records in `folder` which run it belongs to, and that the run may write there; an error if
/// another unfinished run owns it, or a file of the user's would be lost.
fn begin(
    folder: &Folder,
    settings: &impl Serialize,
    claim: fn(&Folder) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let settings = serde_json::to_value(settings).expect("settings always serialise");
    match Unfinished::read(folder.path()) {
        None => {
            folder.claim([RUN_FILE, TRAINING_FILE, CURVE_FILE])?;
            claim(folder)?;
        }
        Some(before) => {
            if before.overwrites {
                folder.allow_overwriting();
            }
            let changed = changes(&before.settings, &settings);
            if folder.join(TRAINING_FILE).exists() && !changed.is_empty() {
                let (path, what) = (folder.join(RUN_FILE), changed.join(", "));
                return Err(LoadError::OtherRun { path, what });
            }
        }
    }
    let overwrites = folder.overwrites();
    let run = json!({MARK.0: MARK.1, "overwrites": overwrites, "settings": settings});
    Ok(folder.replace(RUN_FILE, format!("{run:#}\n").as_bytes())?)
}

/// A run that has not come to its end.
struct Unfinished {
    /// Whether the user allowed it to replace files.
    overwrites: bool,
    settings: Value,
}

impl Unfinished {
    /// The unfinished run in a folder, if there is one.
    fn read(folder: &Path) -> Option<Unfinished> {
        let text = text_of(&folder.join(RUN_FILE), MOST_SETTINGS_BYTES).ok()?;
        let run: Value = serde_json::from_str(&text).ok()?;
        let is_ours = run.get(MARK.0)?.as_str()? == MARK.1;
        let overwrites = run.get("overwrites")?.as_bool()?;
        let settings = run.get("settings")?.clone();
        is_ours.then_some(Unfinished { overwrites, settings })
    }
}

/// Whether `folder` holds a run that has not come to its end.
pub fn is_unfinished(folder: &Path) -> bool {
    Unfinished::read(folder).is_some()
}

/// Removes the files that only an unfinished run needs.
///
/// # Errors
/// If a file cannot be removed.
pub fn finish(folder: &Folder) -> Result<(), LoadError> {
    folder.remove(TRAINING_FILE)?;
    Ok(folder.remove(RUN_FILE)?)
}
