//! Trains a parser, evaluating dev F1 after every epoch.

use cajole_core::decoders::Greedy;
use cajole_files::Folder;
use cajole_nn::models::{Seq2SeqConfig, SequenceConfig, SequenceNetwork, Token};
use cajole_nn::{Example, TrainConfig, Trained};
use cajole_treebank::evalb::Params;
use cajole_treebank::shift_reduce::commands::{Commands, SHIFT};
use cajole_treebank::{Sentence, Tree};
use serde::Serialize;

use super::config::{NetworkConfig, Sizes, TreebankConfig};
use super::corpora::Splits;
use super::metric::{Score, scores};
use super::parser::{Card, Parser};
use crate::Watch;
use crate::checkpoint::{Checkpoint, LoadError};
use crate::corpora::Contents;
use crate::sequence::{Shape, Symbols, TransformerSettings, UnevenHeads};
use crate::training::{Training, initial};
use crate::words::Lexicon;

/// A parser to train.
#[derive(Clone, Copy, Debug)]
pub struct Recipe<'a> {
    /// The network.
    pub network: &'a NetworkConfig,
    /// The sizes it shares with others.
    pub sizes: &'a Sizes,
    /// The training settings, which the network may override.
    pub training: &'a TrainConfig,
    /// What transformers have in common, for a network that is one.
    pub transformer: Option<&'a TransformerSettings>,
    /// Its treebank.
    pub treebank: &'a TreebankConfig,
    /// The seed of all randomness.
    pub seed: u64,
}

/// Identifies a run; resuming with other settings is an error.
#[derive(Serialize)]
struct Run<'a> {
    network: &'a SequenceConfig,
    training: &'a TrainConfig,
    treebank: &'a TreebankConfig,
    files: &'a Contents,
    share: usize,
    seed: u64,
}

/// Trains a network on its treebank. With a `folder`, checkpoints the run there after every epoch,
/// and resumes a run found there.
///
/// # Errors
/// If the state in the folder cannot be read or written.
pub fn train(
    recipe: &Recipe<'_>,
    splits: &Splits,
    folder: Option<&Folder>,
    watch: &dyn Watch,
) -> Result<(Parser, Card), LoadError> {
    let Recipe { network: of, treebank, seed, .. } = *recipe;
    let sentences = splits.sample(of.share, seed);
    let leaves: Vec<_> = sentences.iter().map(|s| s.tree.leaves()).collect();
    let (often, vectors) = (treebank.often, splits.vectors.words.clone());
    let lexicon = Lexicon::of(treebank.reads, leaves.iter().map(Vec::as_slice), often, vectors);
    let commands = Commands::of_trees(sentences.iter().map(|s| &s.tree));
    let symbols = Symbols {
        words: lexicon.words().len(),
        vectors: lexicon.n_vectors(),
        vector_size: splits.vectors.size,
        output: commands.n_symbols(),
        cap_factor: recipe.sizes.cap_factor,
    };
    let (network, training) = recipe.network(symbols).map_err(LoadError::other)?;
    let net = SequenceNetwork::new(network.clone());

    let tokens: Vec<Vec<Token>> = leaves.iter().map(|leaves| lexicon.tokens(leaves)).collect();
    let golds = sentences.iter().map(|s| commands.encode(&s.tree));
    let golds: Vec<_> = golds.map(|y| y.expect("every label of these trees is known")).collect();
    let examples = tokens.iter().zip(&golds);
    let examples = examples.map(|(x, y)| Example { input: x.as_slice(), output: y }).collect();

    let mut initial = initial(&net, seed)?;
    if let Some(table) = net.vectors() {
        let table = &mut initial[table.range()];
        table[splits.vectors.size..].copy_from_slice(&splits.vectors.values);
    }
    let parser = |weights: &[f32]| Parser {
        model: Trained::new(net.clone(), weights),
        lexicon: lexicon.clone(),
        commands: commands.clone(),
    };
    let measure = |weights: &[f32]| {
        let f1 = evaluate(&parser(weights), &splits.dev).f1();
        (f1, format!("dev F1 {f1:.1}"))
    };
    let share = of.share;
    let files = &splits.contents;
    let run = Run { network: &network, training: &training, treebank, files, share, seed };
    let (config, claim) = (&training, Parser::claim);
    let job = Training { net: &net, config, examples, seed, initial, every: 1, folder, claim };
    let state = job.run(&run, measure, watch)?;
    let card = Card {
        task: "parsing".to_owned(),
        name: of.name.clone(),
        treebank: of.treebank.clone(),
        sentences: sentences.len(),
        reads: treebank.reads,
        network: network.clone(),
        seed,
        epochs: state.progress.epoch,
        best_epoch: state.progress.best_epoch,
        dev_f1: state.progress.best_score,
    };
    Ok((parser(&state.best_weights), card))
}

impl Recipe<'_> {
    /// The network to train, and how.
    fn network(&self, of: Symbols) -> Result<(SequenceConfig, TrainConfig), RecipeError> {
        let NetworkConfig { layers, hidden, dropout, reversed_input, pointer, .. } = *self.network;
        if let Some(architecture) = self.network.architecture.of_lstms() {
            let network = Seq2SeqConfig {
                architecture,
                words: of.words,
                embedding: self.sizes.embedding,
                vectors: of.vectors,
                vector_size: of.vector_size,
                output_symbols: of.output,
                output_embedding: self.sizes.output_embedding,
                layers,
                hidden,
                attention: self.sizes.attention,
                dropout,
                embedding_dropout: dropout,
                reversed_input,
                pointer: pointer.then_some(SHIFT),
                cap_factor: of.cap_factor,
            };
            return Ok((SequenceConfig::Lstm(network), self.training(self.training)));
        }
        let name = || self.network.name.clone();
        if pointer || reversed_input {
            let what = if pointer { "pointer" } else { "reversed-input" };
            return Err(RecipeError::OnlyLstms { name: name(), what });
        }
        let settings = self.transformer.ok_or_else(|| RecipeError::NoSettings { name: name() })?;
        let TransformerSettings { heads, inner, ref training } = *settings;
        let network = Shape { layers, hidden, heads, inner, dropout }.network(of);
        let network = network.map_err(|source| RecipeError::Heads { name: name(), source })?;
        Ok((SequenceConfig::Transformer(Box::new(network)), self.training(training)))
    }

    /// The shared training settings, with what the network overrides.
    fn training(&self, shared: &TrainConfig) -> TrainConfig {
        let NetworkConfig { epochs, step_size, curriculum, .. } = *self.network;
        shared.clone().with(|config| {
            config.epochs = epochs.unwrap_or(config.epochs);
            config.step_size = step_size.unwrap_or(config.step_size);
            config.curriculum = curriculum.or(config.curriculum);
        })
    }
}

/// Why a recipe cannot be followed.
#[derive(Debug, thiserror::Error)]
enum RecipeError {
    #[error("the network {name} is a transformer, and the settings have no [transformer] section")]
    NoSettings { name: String },
    #[error("the network {name} is a transformer, which cannot have `{what} = true`: remove it")]
    OnlyLstms { name: String, what: &'static str },
    #[error("the network {name}: {source}")]
    Heads { name: String, source: UnevenHeads },
}

/// The score of greedy decoding on these sentences.
pub fn evaluate(parser: &Parser, sentences: &[Sentence]) -> Score {
    let tokens: Vec<Vec<Token>> =
        sentences.iter().map(|s| parser.lexicon.tokens(&s.tree.leaves())).collect();
    let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
    let decoded = parser.model.decode_all(&Greedy, &xs);
    let outputs: Vec<_> = decoded.iter().map(|y| y.output.as_slice()).collect();
    let golds: Vec<&Tree> = sentences.iter().map(|s| &s.tree).collect();
    scores(parser, &outputs, &golds, &Params::collins()).into_iter().sum()
}
