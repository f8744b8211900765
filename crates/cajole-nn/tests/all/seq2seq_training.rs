//! Training of encoder-decoder networks: the same at any number of threads, resumed, and in order.

use crate::networks::{parser, tokens};
use cajole_core::Symbol;
use cajole_nn::checkpoint::{load_training, save_training};
use cajole_nn::models::{Architecture, Seq2Seq, Seq2SeqConfig, Token};
use cajole_nn::{AutoRegressive, Curriculum, Example, TrainConfig, Trainer};

fn tiny(architecture: Architecture) -> Seq2SeqConfig {
    parser(architecture, Some(0), 5).config
}

/// Outputs that copy, double or leave out what is read.
fn data() -> Vec<(Vec<Token>, Vec<Symbol>)> {
    let inputs = (0..40).map(|i| tokens(1 + i % 7, i as u64));
    let output = |x: &Vec<Token>| x.iter().flat_map(|t| vec![t.word; t.vector as usize]).collect();
    inputs.map(|x| (x.clone(), output(&x))).collect()
}

fn examples(data: &[(Vec<Token>, Vec<Symbol>)]) -> Vec<Example<'_, [Token]>> {
    data.iter().map(|(x, y)| Example { input: x.as_slice(), output: y }).collect()
}

fn training() -> TrainConfig {
    TrainConfig::new(4, 5e-3).with(|config| {
        config.batch_size = 16;
        config.shard_size = 4;
        config.curriculum = Some(Curriculum { longest: 5, epochs: 3 });
        config.freeze = vec!["vectors".to_owned()];
    })
}

/// Both architectures with dropout everywhere.
fn dropping() -> impl Iterator<Item = Seq2Seq> {
    let both = [Architecture::Gnmt, Architecture::Simple].into_iter();
    both.map(|a| Seq2Seq::new(Seq2SeqConfig { dropout: 0.2, embedding_dropout: 0.1, ..tiny(a) }))
}

#[test]
fn training_is_the_same_at_any_number_of_threads() {
    let data = data();
    for net in dropping() {
        let weights = |net: &Seq2Seq, threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut trainer = Trainer::new(net, training(), examples(&data), 9);
                let first = trainer.epoch();
                let second = trainer.epoch();
                assert!(second < first, "training learns: loss {first}, then {second}");
                trainer.into_state().weights
            })
        };
        let one = weights(&net, 1);
        let initial = net.layout().initial(9);
        assert!(one.iter().zip(weights(&net, 2).iter()).all(|(a, b)| a.to_bits() == b.to_bits()));
        let all = Seq2SeqConfig { dropout: 0.0, embedding_dropout: 0.0, ..net.config.clone() };
        assert_ne!(one, weights(&Seq2Seq::new(all), 1), "some units were silenced");
        let group = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        for group in net.layout().entries().chunk_by(|a, b| group(&a.name) == group(&b.name)) {
            let is_frozen = group.iter().all(|e| e.param.of(&one) == e.param.of(&initial));
            let name = &group[0].name;
            assert_eq!(is_frozen, name.starts_with("vectors."), "{name}");
        }
    }
}

#[test]
fn a_resumed_run_ends_where_an_uninterrupted_one_does() {
    let data = data();
    let file = std::env::temp_dir().join(format!("cajole-seq2seq-{}", std::process::id()));
    for net in dropping() {
        let mut whole = Trainer::new(&net, training(), examples(&data), 5);
        let mut first = Trainer::new(&net, training(), examples(&data), 5);
        for _ in 0..2 {
            first.epoch();
            first.judge(1.0);
        }
        save_training(&file, net.layout(), first.state()).unwrap();
        let state = load_training(&file, net.layout()).unwrap();
        let mut second = Trainer::resume(&net, training(), examples(&data), 5, state);
        for trainer in [&mut whole, &mut second] {
            while !trainer.is_done() {
                trainer.epoch();
                trainer.judge(1.0);
            }
        }
        assert_eq!(second.state(), whole.state());
        assert_ne!(second.state().weights, first.state().weights);
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn short_examples_come_first() {
    let net = Seq2Seq::new(tiny(Architecture::Gnmt));
    let all = data();
    let short: Vec<_> = all.iter().filter(|(_, y)| y.len() <= 5).cloned().collect();
    assert!((1..all.len()).contains(&short.len()));
    let [mut first, mut only] = [&all, &short].map(|data| {
        let mut trainer = Trainer::new(&net, training(), examples(data), 2);
        (0..3).for_each(|_| _ = trainer.epoch());
        trainer
    });
    assert_eq!(first.state(), only.state());
    first.epoch();
    only.epoch();
    assert_ne!(first.state().weights, only.state().weights, "then all of them");
}
