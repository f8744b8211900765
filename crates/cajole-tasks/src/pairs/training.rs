//! Trains a network on pairs, evaluating on the dev set after every epoch.

use cajole_core::Symbol;
use cajole_core::decoders::Greedy;
use cajole_files::Folder;
use cajole_nn::models::{Seq2SeqConfig, SequenceConfig, SequenceNetwork, Token};
use cajole_nn::random::Random;
use cajole_nn::{Example, TrainConfig, Trained};
use serde::Serialize;

use super::config::{Kind, PairsConfig, TransformerConfig};
use super::corpus::{Pair, Splits};
use super::metric::Score;
use super::model::{Card, PairsModel};
use super::symbols::Symbols;
use crate::Watch;
use crate::checkpoint::{Checkpoint, LoadError};
use crate::sequence::{self, Shape};
use crate::training::{Training, initial};

/// Identifies a run; resuming with other settings is an error.
#[derive(Serialize)]
struct Run<'a> {
    network: &'a SequenceConfig,
    training: &'a TrainConfig,
    seed: u64,
    train: u64,
    dev: u64,
}

/// Trains a network from `seed`. With a `folder`, checkpoints the run there after every epoch, and
/// resumes a run found there.
///
/// # Errors
/// If no network of the kind is configured, or the state in the folder cannot be read or written.
pub fn train(
    config: &PairsConfig,
    splits: &Splits,
    seed: u64,
    folder: Option<&Folder>,
    watch: &dyn Watch,
) -> Result<(PairsModel, Card), LoadError> {
    let source = Symbols::of_inputs(splits.train.iter().map(|p| p.input.as_slice()), config.often);
    let target = Symbols::of_outputs(splits.train.iter().map(|p| p.output.as_slice()));
    let symbols = sequence::Symbols {
        words: source.names().len(),
        vectors: 0,
        vector_size: 0,
        output: target.names().len() + 1,
        cap_factor: cap_factor(&splits.train),
    };
    let (network, training) = network(config, symbols)?;
    let net = SequenceNetwork::new(network.clone());
    let model = |weights: &[f32]| PairsModel {
        model: Trained::new(net.clone(), weights),
        source: source.clone(),
        target: target.clone(),
        spelling: config.symbols,
    };

    let initial = initial(&net, seed)?;
    let untrained = model(&initial);
    let inputs: Vec<Vec<Token>> = splits.train.iter().map(|p| untrained.tokens(&p.input)).collect();
    let encode = |p: &Pair| p.output.iter().filter_map(|name| target.symbol(name)).collect();
    let outputs: Vec<Vec<Symbol>> = splits.train.iter().map(encode).collect();
    let examples = inputs.iter().zip(&outputs);
    let examples = examples.map(|(x, y)| Example { input: x.as_slice(), output: y }).collect();

    let measure = |weights: &[f32]| {
        let score = evaluate(&model(weights), &splits.dev);
        let (exact, right) = (score.exact_match(), score.symbols_right());
        (score.rank(), format!("dev exact {exact:.1} %, symbols {right:.1} %"))
    };
    let dev = fingerprint(&splits.dev);
    let run = Run { network: &network, training, seed, train: fingerprint(&splits.train), dev };
    let claim = PairsModel::claim;
    let job =
        Training { net: &net, config: training, examples, seed, initial, every: 1, folder, claim };
    let state = job.run(&run, measure, watch)?;
    let model = model(&state.best_weights);
    let score = evaluate(&model, &splits.dev);
    let card = Card {
        task: "pairs".to_owned(),
        symbols: config.symbols,
        pairs: splits.train.len(),
        dev_pairs: splits.dev.len(),
        network,
        seed,
        epochs: state.progress.epoch,
        best_epoch: state.progress.best_epoch,
        dev_exact: score.exact_match(),
        dev_symbols: score.symbols_right(),
    };
    Ok((model, card))
}

/// The score of greedy decoding on these pairs.
pub fn evaluate(model: &PairsModel, pairs: &[Pair]) -> Score {
    let tokens: Vec<Vec<Token>> = pairs.iter().map(|pair| model.tokens(&pair.input)).collect();
    let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
    let decoded = model.model.decode_all(&Greedy, &xs);
    let outputs = decoded.iter().map(|y| model.names(&y.output));
    outputs.zip(pairs).map(|(output, pair)| Score::of(&output, &pair.output)).sum()
}

/// No transformer is configured.
#[derive(Debug, thiserror::Error)]
#[error("the settings have no [transformer] section, which a transformer needs")]
struct NoTransformer;

/// The network to train, and how.
fn network(
    config: &PairsConfig,
    of: sequence::Symbols,
) -> Result<(SequenceConfig, &TrainConfig), LoadError> {
    if config.kind == Kind::Transformer {
        let settings = config.transformer.as_ref();
        let settings = settings.ok_or_else(|| LoadError::other(NoTransformer))?;
        let TransformerConfig { layers, hidden, heads, inner, dropout, ref training } = *settings;
        let network = Shape { layers, hidden, heads, inner, dropout }.network(of);
        let network = network.map_err(LoadError::other)?;
        return Ok((SequenceConfig::Transformer(Box::new(network)), training));
    }
    let sizes = &config.network;
    let network = Seq2SeqConfig {
        architecture: sizes.architecture,
        words: of.words,
        embedding: sizes.embedding,
        vectors: of.vectors,
        vector_size: of.vector_size,
        output_symbols: of.output,
        output_embedding: sizes.output_embedding,
        layers: sizes.layers,
        hidden: sizes.hidden,
        attention: sizes.attention,
        dropout: sizes.dropout,
        embedding_dropout: sizes.dropout,
        reversed_input: sizes.reversed_input,
        pointer: None,
        cap_factor: of.cap_factor,
    };
    Ok((SequenceConfig::Lstm(network), &config.training))
}

/// Allows outputs twice as long as in training; 20 symbols of that are always granted.
fn cap_factor(pairs: &[Pair]) -> usize {
    let needed = |pair: &Pair| {
        let symbols = 2 * (pair.output.len() + 1);
        symbols.saturating_sub(20).div_ceil(pair.input.len().max(1))
    };
    pairs.iter().map(needed).max().unwrap_or(0).max(1)
}

/// A hash that depends on the pairs and their order.
fn fingerprint(pairs: &[Pair]) -> u64 {
    pairs.iter().fold(pairs.len() as u64, |before, Pair { input, output }| {
        // Symbols never contain line breaks.
        let text = format!("{}\n\n{}", input.join("\n"), output.join("\n"));
        let bytes: Vec<u64> = text.bytes().map(u64::from).collect();
        Random::derive(before, &bytes).bits()
    })
}
