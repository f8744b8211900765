//! Maximum-likelihood training on all cores, one epoch at a time.
//!
//! A batch is split into shards of fixed size. Each shard runs as one batched pass on one thread,
//! and shard gradients are added in order, so the same seed gives the same weights with any number
//! of threads. All randomness is derived from the seed, the epoch or step, and the shard, so a
//! killed run resumes from its last [`TrainState`] as if uninterrupted.
//!
//! The caller owns the loop: [`Trainer::epoch`], then [`Trainer::judge`] with a dev-set score,
//! until [`Trainer::is_done`].

use std::convert::Infallible;

use cajole_core::StepRule;
use cajole_core::model::{Mark, Symbol};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Aligned;
use crate::gradient::Gradient;
use crate::layout::{Entry, Layout};
use crate::network::Trainable;
use crate::optimizer::{self, Momenta, Pace, Paces};
use crate::random::Random;
use crate::settings::{fraction, limit, optional_size, positive, positive_number};
use crate::tape::{Graph, Tape};

/// How a network is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct TrainConfig {
    /// Passes over the training data.
    #[serde(deserialize_with = "optional_size")]
    pub epochs: usize,
    /// Examples per step.
    #[serde(deserialize_with = "positive")]
    pub batch_size: usize,
    /// Examples per shard, which one thread runs as a batch.
    #[serde(deserialize_with = "positive")]
    pub shard_size: usize,
    /// How a gradient becomes a step.
    pub rule: StepRule,
    /// Initial `η`.
    #[serde(deserialize_with = "positive_number")]
    pub step_size: f32,
    /// Schedule of `η`.
    pub decay: Decay,
    /// Gradient norms above this are clipped to it.
    #[serde(deserialize_with = "limit")]
    pub clip: f32,
    /// Early stopping: epochs without a better score. `None` never stops early.
    pub patience: Option<usize>,
    /// Trains on short examples first.
    #[serde(default)]
    pub curriculum: Option<Curriculum>,
    /// Parameter groups that are not trained, such as pretrained word vectors.
    #[serde(default)]
    pub freeze: Vec<String>,
    /// Decoupled weight decay (AdamW) of matrices; norms and biases have none.
    #[serde(default, deserialize_with = "fraction")]
    pub weight_decay: f32,
    /// Parameters with step sizes of their own. The first that fits counts.
    #[serde(default)]
    pub rates: Vec<Rate>,
    /// The share of each target that is spread over all symbols (Szegedy et al. 2016).
    #[serde(default, deserialize_with = "fraction", skip_serializing_if = "is_zero")]
    pub label_smoothing: f32,
}

impl TrainConfig {
    /// Adam in batches of 32, with steps that decrease linearly and gradients of norm 1 at most.
    pub fn new(epochs: usize, step_size: f32) -> Self {
        TrainConfig {
            epochs,
            batch_size: 32,
            shard_size: 16,
            rule: StepRule::ADAM,
            step_size,
            decay: Decay::Linear,
            clip: 1.0,
            patience: None,
            curriculum: None,
            freeze: Vec::new(),
            weight_decay: 0.0,
            rates: Vec::new(),
            label_smoothing: 0.0,
        }
    }

    /// These settings with some changed: `TrainConfig::new(30, 3e-3).with(|c| c.batch_size = 16)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

fn is_zero(share: &f32) -> bool {
    *share == 0.0
}

/// The step size of some parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rate {
    /// Their name, or what it begins with: `encoder.0` is a whole layer.
    pub of: String,
    /// The factor of `η`.
    #[serde(deserialize_with = "positive_number")]
    pub factor: f32,
}

impl Rate {
    fn fits(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.of.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Short examples first. Attention is learnt quickly on short inputs and then carries over to long
/// ones, on which it is learnt much more slowly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Curriculum {
    /// Maximum output length in these epochs.
    pub longest: usize,
    /// How many epochs, from the start.
    pub epochs: usize,
}

/// Step-size schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
#[non_exhaustive]
pub enum Decay {
    /// Constant.
    Constant,
    /// Linear, to zero at the last step.
    Linear,
    /// Multiplied by a factor after each epoch.
    Exponential {
        /// The factor.
        #[serde(deserialize_with = "positive_number")]
        factor: f32,
    },
    /// Linear from zero, and then linear to zero at the last step: for transformers and for pretrained
    /// weights, which long first steps would spoil.
    WarmUp {
        /// The fraction of all steps in which the step size grows.
        #[serde(deserialize_with = "fraction")]
        share: f32,
    },
}

impl Decay {
    /// The step size after a fraction `done` of all steps.
    fn at(self, step_size: f32, done: f32, epoch: usize) -> f32 {
        match self {
            Decay::Constant => step_size,
            Decay::Linear => step_size * (1.0 - done),
            Decay::Exponential { factor } => step_size * factor.powi(epoch as i32),
            Decay::WarmUp { share } if done < share => step_size * done / share,
            Decay::WarmUp { share } => step_size * (1.0 - done) / (1.0 - share),
        }
    }
}

/// An input with its gold output.
pub struct Example<'a, X: ?Sized> {
    /// `x`.
    pub input: &'a X,
    /// `y`, without its end symbol.
    pub output: &'a [Symbol],
}

impl<X: ?Sized> Clone for Example<'_, X> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X: ?Sized> Copy for Example<'_, X> {}

/// Everything a training run needs to resume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainState {
    /// The current weights.
    pub weights: Aligned,
    /// Optimizer state.
    pub momenta: Momenta,
    /// The weights with the best score so far.
    pub best_weights: Aligned,
    /// The counters.
    pub progress: Progress,
}

impl TrainState {
    /// The initial state of a run with these weights.
    pub fn new(weights: Vec<f32>) -> Self {
        let weights = Aligned::from(weights);
        TrainState { best_weights: weights.clone(), weights, ..TrainState::default() }
    }
}

/// Progress of a training run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Epochs finished.
    pub epoch: usize,
    /// Steps taken.
    pub step: usize,
    /// The best score so far; larger is better.
    pub best_score: f64,
    /// The epoch that reached it.
    pub best_epoch: usize,
    /// Batches of the current epoch that are done.
    pub batch: usize,
    /// Their summed loss.
    pub loss: f64,
    /// Their symbols.
    pub symbols: usize,
}

impl Progress {
    /// The mean loss per symbol of the current epoch so far.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.symbols.max(1) as f64
    }
}

impl Default for Progress {
    fn default() -> Self {
        Progress {
            epoch: 0,
            step: 0,
            best_score: f64::NEG_INFINITY,
            best_epoch: 0,
            batch: 0,
            loss: 0.0,
            symbols: 0,
        }
    }
}

/// A training run.
pub struct Trainer<'a, N: Trainable> {
    net: &'a N,
    config: TrainConfig,
    examples: Vec<Example<'a, N::Input>>,
    seed: u64,
    state: TrainState,
    shards: Vec<Shard>,
    total: Gradient,
    paces: Paces,
}

impl Paces {
    fn new(layout: &Layout, config: &TrainConfig) -> Self {
        let pace = |entry: &Entry| {
            let rate = config.rates.iter().find(|rate| rate.fits(&entry.name));
            let decay = if entry.is_bias { 0.0 } else { config.weight_decay };
            let factor = rate.map_or(1.0, |rate| rate.factor);
            (entry.param.range().start, Pace { factor, decay })
        };
        Paces(layout.entries().iter().map(pace).collect())
    }
}

/// One thread's share of a batch.
struct Shard {
    tape: Tape,
    grad: Gradient,
    blame: Vec<(Mark, f32)>,
    loss: f64,
}

impl<'a, N: Trainable> Trainer<'a, N> {
    /// A run from freshly initialised weights.
    pub fn new(
        net: &'a N,
        config: TrainConfig,
        examples: Vec<Example<'a, N::Input>>,
        seed: u64,
    ) -> Self {
        let state = TrainState::new(net.layout().initial(seed));
        Trainer::resume(net, config, examples, seed, state)
    }

    /// Resumes from `state`; settings and data must be those of the original run.
    pub fn resume(
        net: &'a N,
        config: TrainConfig,
        examples: Vec<Example<'a, N::Input>>,
        seed: u64,
        state: TrainState,
    ) -> Self {
        let n = net.layout().len();
        assert!(state.weights.len() == n, "{} weights for a network of {n}", state.weights.len());
        let group = |entry: &Entry| entry.name.split('.').next().unwrap_or_default().to_owned();
        let frozen = net.layout().entries().iter();
        let frozen = frozen.filter(|entry| config.freeze.contains(&group(entry)));
        let frozen: Vec<_> = frozen.map(|entry| entry.param.range()).collect();
        let shard = || {
            let mut grad = Gradient::new(n);
            grad.freeze(frozen.iter().cloned());
            Shard { tape: Tape::default(), grad, blame: Vec::new(), loss: 0.0 }
        };
        // A batch never has more examples than there are.
        let most = config.batch_size.min(examples.len());
        let shards = (0..most.div_ceil(config.shard_size)).map(|_| shard()).collect();
        let paces = Paces::new(net.layout(), &config);
        Trainer { net, config, examples, seed, state, shards, total: Gradient::new(n), paces }
    }

    /// The current state.
    pub fn state(&self) -> &TrainState {
        &self.state
    }

    /// Whether all epochs are done or patience has run out.
    pub fn is_done(&self) -> bool {
        let Progress { epoch, best_epoch, .. } = self.state.progress;
        let waited = epoch - best_epoch;
        self.config.epochs <= epoch || self.config.patience.is_some_and(|most| most <= waited)
    }

    /// The final state.
    pub fn into_state(self) -> TrainState {
        self.state
    }

    /// Steps per epoch.
    pub fn steps_per_epoch(&self) -> usize {
        self.examples.len().div_ceil(self.config.batch_size)
    }

    /// Whether the current epoch uses this example.
    fn is_due(&self, example: &Example<'a, N::Input>) -> bool {
        let epoch = self.state.progress.epoch;
        let of_now = self.config.curriculum.filter(|c| epoch < c.epochs);
        of_now.is_none_or(|c| example.output.len() <= c.longest)
    }

    /// Trains on all examples once. Returns the mean loss per symbol, in nats.
    pub fn epoch(&mut self) -> f64 {
        let Ok(loss) = self.epoch_with(|_| Ok::<(), Infallible>(()));
        loss
    }

    /// Like `epoch`, calling `after_step` with the state after every step. A state from within an
    /// epoch resumes there.
    ///
    /// # Errors
    /// Those of `after_step`, which end the epoch.
    pub fn epoch_with<E>(
        &mut self,
        mut after_step: impl FnMut(&TrainState) -> Result<(), E>,
    ) -> Result<f64, E> {
        let batches = self.batches();
        let steps = batches.len();
        let first = self.state.progress.batch;
        for (i, batch) in batches.iter().enumerate().skip(first) {
            let epoch = self.state.progress.epoch;
            let done = (epoch * steps + i) as f32 / (self.config.epochs * steps) as f32;
            let eta = self.config.decay.at(self.config.step_size, done, epoch);
            let n = batch.iter().map(|example| self.net.n_terms(example.output)).sum::<usize>();
            let loss = self.step(batch, eta, n);
            let progress = &mut self.state.progress;
            progress.batch = i + 1;
            progress.loss += loss;
            progress.symbols += n;
            after_step(&self.state)?;
        }
        let progress = &mut self.state.progress;
        let loss = progress.mean_loss();
        *progress =
            Progress { epoch: progress.epoch + 1, batch: 0, loss: 0.0, symbols: 0, ..*progress };
        Ok(loss)
    }

    /// Records the score after an epoch. Returns whether it is the best so far.
    pub fn judge(&mut self, score: f64) -> bool {
        let TrainState { weights, best_weights, progress, .. } = &mut self.state;
        let is_better = progress.best_score < score;
        if is_better {
            progress.best_score = score;
            progress.best_epoch = progress.epoch;
            best_weights.copy_from_slice(weights);
        }
        is_better
    }

    /// This epoch's examples in random order, in batches of similar length.
    fn batches(&self) -> Vec<Vec<Example<'a, N::Input>>> {
        /// Batches sorted by length together: trades padding against randomness.
        const POOL: usize = 8;
        let epoch = self.state.progress.epoch as u64;
        let mut random = Random::derive(self.seed, &[1, epoch]);
        let due = self.examples.iter().filter(|example| self.is_due(example));
        let mut order: Vec<_> = due.copied().collect();
        random.shuffle(&mut order);
        let mut batches = Vec::new();
        for pool in order.chunks_mut(POOL.saturating_mul(self.config.batch_size)) {
            pool.sort_by_key(|example| example.output.len());
            batches.extend(pool.chunks(self.config.batch_size).map(<[_]>::to_vec));
        }
        random.shuffle(&mut batches);
        batches
    }

    /// One step on a batch of `n` symbols. Returns its summed loss.
    fn step(&mut self, batch: &[Example<'a, N::Input>], eta: f32, n: usize) -> f64 {
        let Trainer { net, config, shards, state, total, seed, paces, .. } = self;
        let TrainState { weights, momenta, progress, .. } = state;
        // Dealt round-robin, so that every shard gets long and short examples and none lags.
        let n_parts = batch.len().div_ceil(config.shard_size);
        let deal = |i| batch.iter().skip(i).step_by(n_parts).copied().collect::<Vec<_>>();
        let parts: Vec<Vec<Example<'a, N::Input>>> = (0..n_parts).map(deal).collect();
        let shards = &mut shards[..parts.len()];
        shards.par_iter_mut().zip(&parts).enumerate().for_each(|(i, (shard, part))| {
            let random = Random::derive(*seed, &[2, progress.step as u64, i as u64]);
            shard.run(*net, weights, part, (n, config.label_smoothing), random);
        });
        total.clear();
        shards.iter().for_each(|shard| total.add(&shard.grad));
        let mut norm = total.norm();
        if config.clip < norm {
            total.scale(config.clip / norm);
            norm = config.clip;
        }
        // Skip a batch with a non-finite gradient rather than spoil the weights.
        if norm.is_finite() && 0.0 < norm {
            let at = (progress.step, eta, norm);
            optimizer::step_at(paces, config.rule, at, weights, total, momenta, &mut |_, _| {});
        }
        progress.step += 1;
        shards.iter().map(|shard| shard.loss).sum()
    }
}

impl Shard {
    /// The loss of a shard and the gradient of its smoothed loss, with weight `1 / n` per symbol.
    fn run<N: Trainable>(
        &mut self,
        net: &N,
        w: &[f32],
        part: &[Example<'_, N::Input>],
        (n, smoothing): (usize, f32),
        random: Random,
    ) {
        self.tape.clear();
        self.blame.clear();
        let mut g = Graph::new(w, &mut self.tape);
        g.random = Some(random);
        self.loss = net.teach(&mut g, part, 1.0 / n as f32, &mut self.blame);
        self.smooth(smoothing);
        self.tape.backward(w, net.layout(), &self.blame, &mut self.grad);
    }

    /// Spreads a share `ε` of the blame over the symbols of a row, so that instead of `log p(y)` this
    /// is raised: `(1 − ε) log p(y) + ε/V Σ log p(v)`.
    fn smooth(&mut self, share: f32) {
        if share == 0.0 {
            return;
        }
        for i in 0..self.blame.len() {
            let (mark, cost) = self.blame[i];
            let row = self.tape.row_of(mark);
            let each = share * cost / row.len() as f32;
            self.blame[i].1 = (1.0 - share) * cost;
            self.blame.extend(row.map(|mark| (mark, each)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_sizes_grow_and_then_shrink() {
        let at = |share, done| Decay::WarmUp { share }.at(2.0, done, 0);
        for (share, done, expected) in
            [(0.2, 0.0, 0.0), (0.2, 0.1, 1.0), (0.2, 0.2, 2.0), (0.2, 0.6, 1.0), (0.0, 0.0, 2.0)]
        {
            assert!((at(share, done) - expected).abs() < 1e-6, "{share} {done}");
        }
    }

    #[test]
    fn rates_are_for_whole_names() {
        let rate = Rate { of: "encoder.1".to_owned(), factor: 1.0 };
        assert!(rate.fits("encoder.1") && rate.fits("encoder.1.feed.up.w"));
        assert!(!rate.fits("encoder.10.feed.up.w") && !rate.fits("encoder"));
    }
}
