//! Training a parser, judged by its F1 on the development data after every epoch.

use std::path::Path;

use cajole_core::corpus::decode_all;
use cajole_nn::decoders::Greedy;
use cajole_nn::models::{Seq2Seq, Seq2SeqConfig, Token};
use cajole_nn::{Example, TrainConfig, Trained};
use serde::Serialize;

use super::commands::{Commands, SHIFT};
use super::config::{NetworkConfig, ParsingConfig, Sizes, TreebankConfig};
use super::corpora::Splits;
use super::evalb::Params;
use super::metric::{Score, scores};
use super::parser::{Card, Parser};
use crate::checkpoint::LoadError;
use crate::experiment::{Training, Watch, initial};
use crate::treebank::{Sentence, Tree};
use crate::words::Lexicon;

/// What makes a run the run it is: with other settings its state must not be gone on with.
#[derive(Serialize)]
struct Run<'a> {
    network: &'a Seq2SeqConfig,
    training: &'a TrainConfig,
    treebank: &'a TreebankConfig,
    share: usize,
    seed: u64,
}

/// Trains the network `of` on its treebank. With a `folder`, the run's state is kept there after
/// every epoch, and a run found there is gone on with.
///
/// # Errors
/// If the state in the folder cannot be read or written.
pub fn train(
    of: &NetworkConfig,
    config: &ParsingConfig,
    treebank: &TreebankConfig,
    splits: &Splits,
    folder: Option<&Path>,
    watch: &dyn Watch,
) -> Result<(Parser, Card), LoadError> {
    let sentences = splits.train_share(of.share);
    let leaves: Vec<_> = sentences.iter().map(|s| s.tree.leaves()).collect();
    let (often, vectors) = (treebank.often, splits.vectors.words.clone());
    let lexicon = Lexicon::of(treebank.reads, leaves.iter().map(Vec::as_slice), often, vectors);
    let commands = Commands::of_trees(sentences.iter().map(|s| &s.tree));
    let network = network(of, &config.sizes, &lexicon, &commands, splits.vectors.size);
    let net = Seq2Seq::new(network.clone());

    let tokens: Vec<Vec<Token>> = leaves.iter().map(|leaves| lexicon.tokens(leaves)).collect();
    let golds = sentences.iter().map(|s| commands.encode(&s.tree));
    let golds: Vec<_> = golds.map(|y| y.expect("every label of these trees is known")).collect();
    let examples = tokens.iter().zip(&golds);
    let examples = examples.map(|(x, y)| Example { input: x.as_slice(), output: y }).collect();

    let mut training = config.training.clone();
    training.epochs = of.epochs.unwrap_or(training.epochs);
    training.step_size = of.step_size.unwrap_or(training.step_size);
    training.curriculum = of.curriculum.or(training.curriculum);
    let mut initial = initial(&net, config.seed)?;
    if let Some(table) = net.vectors() {
        let table = &mut initial[table.range()];
        table[splits.vectors.size..].copy_from_slice(&splits.vectors.values);
    }
    let parser = |weights: &[f32]| Parser {
        model: Trained { net: net.clone(), weights: weights.into() },
        lexicon: lexicon.clone(),
        commands: commands.clone(),
    };
    let measure = |weights: &[f32]| {
        let f1 = evaluate(&parser(weights), &splits.dev).f1();
        (f1, format!("dev F1 {f1:.1}"))
    };
    let (seed, share) = (config.seed, of.share);
    let run = Run { network: &network, training: &training, treebank, share, seed };
    let job = Training { net: &net, config: &training, examples, seed, initial, every: 1, folder };
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

fn network(
    of: &NetworkConfig,
    sizes: &Sizes,
    lexicon: &Lexicon,
    commands: &Commands,
    vector_size: usize,
) -> Seq2SeqConfig {
    Seq2SeqConfig {
        architecture: of.architecture,
        words: lexicon.words().len(),
        embedding: sizes.embedding,
        vectors: lexicon.n_vectors(),
        vector_size,
        output_symbols: commands.n_symbols(),
        output_embedding: sizes.output_embedding,
        layers: of.layers,
        hidden: of.hidden,
        attention: sizes.attention,
        dropout: of.dropout,
        embedding_dropout: of.dropout,
        reversed_input: of.reversed_input,
        pointer: of.pointer.then_some(SHIFT),
        cap_factor: sizes.cap_factor,
    }
}

/// The score of greedy decoding on these sentences.
pub fn evaluate(parser: &Parser, sentences: &[Sentence]) -> Score {
    let tokens: Vec<Vec<Token>> =
        sentences.iter().map(|s| parser.lexicon.tokens(&s.tree.leaves())).collect();
    let xs: Vec<&[Token]> = tokens.iter().map(Vec::as_slice).collect();
    let decoded = decode_all(&parser.model, &Greedy, &xs);
    let outputs: Vec<_> = decoded.iter().map(|y| y.output.as_slice()).collect();
    let golds: Vec<&Tree> = sentences.iter().map(|s| &s.tree).collect();
    scores(parser, &outputs, &golds, &Params::collins()).into_iter().sum()
}
