#![allow(missing_docs, clippy::print_stdout)]
use cajole::StepRule;
use cajole::corpus::decode_all;
use cajole_nn::decoders::*;
use cajole_nn::models::*;
use cajole_nn::*;
use cajole_tasks::transduction::*;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let epochs: usize = a[1].parse().unwrap();
    let start = if a[2] == "zero" { StartState::Zero } else { StartState::Encoder };
    let seed: u64 = a[3].parse().unwrap();
    let eta: f32 = a[4].parse().unwrap();
    let splits = Splits::new(1000);
    let net = Transducer::new(TransducerConfig {
        input_symbols: 3,
        output_symbols: 4,
        embedding: 32,
        hidden: 32,
        start_state: start,
        dropout: 0.0,
        cap_factor: 3,
    });
    println!("{} weights", net.layout().len());
    let config = TrainConfig {
        epochs,
        batch_size: 32,
        shard_size: 16,
        rule: StepRule::ADAM,
        step_size: eta,
        decay: Decay::Linear,
        clip: 1.0,
        patience: None,
    };
    let golds: Vec<_> = splits.train.iter().map(|x| transduce(x)).collect();
    let examples = splits
        .train
        .iter()
        .zip(&golds)
        .map(|(x, y)| Example { input: x.as_slice(), output: y })
        .collect();
    let mut trainer = Trainer::new(&net, config, examples, seed);
    let t = Instant::now();
    while !trainer.is_done() {
        let loss = trainer.epoch();
        let e = trainer.state().progress.epoch;
        if e % 10 == 0 || e == epochs {
            let model = Trained { net: net.clone(), weights: trainer.state().weights.clone() };
            let exact = |xs: &[Vec<u32>]| {
                let r: Vec<&[u32]> = xs.iter().map(|x| x.as_slice()).collect();
                let d = decode_all(&model, &Greedy, &r);
                let n = d.iter().zip(xs).filter(|(d, x)| d.output == transduce(x)).count();
                100.0 * n as f64 / xs.len() as f64
            };
            let t2 = Instant::now();
            print!(
                "epoch {e} loss {loss:.5} {:.1}s train {:.2} dev {:.2}",
                t.elapsed().as_secs_f64(),
                exact(&splits.train),
                exact(&splits.dev)
            );
            let c = ConstraintKind::Count.build();
            let r: Vec<&[u32]> = splits.test.iter().map(|x| x.as_slice()).collect();
            let d = decode_all(&model, &Greedy, &r);
            let fails = d
                .iter()
                .zip(&splits.test)
                .filter(|(d, x)| !c.check(x, &d.output).is_satisfied())
                .count();
            println!(
                " test {:.2} count failures {:.1}% ({:.2}s)",
                exact(&splits.test),
                100.0 * fails as f64 / r.len() as f64,
                t2.elapsed().as_secs_f64()
            );
        }
    }
    let dir = std::path::PathBuf::from(format!("/tmp/nets/{}-{seed}.safetensors", a[2]));
    std::fs::create_dir_all("/tmp/nets").unwrap();
    checkpoint::save(&dir, net.layout(), &trainer.state().weights, checkpoint::Precision::F32)
        .unwrap();
}
