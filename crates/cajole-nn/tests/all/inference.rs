//! Algorithm 1 on real networks: nothing leaks, nothing depends on threads, runs resume.

use cajole_core::constraints::Count;
use cajole_core::decoders::Greedy;
use cajole_core::{
    Config, Gbi, Job, Objective, Outcome, Positions, Proposals, Search, StepRule, Stop, Symbol,
    Workspace,
};
use cajole_nn::checkpoint::{load_training, save_training};
use cajole_nn::models::{StartState, Transducer, TransducerConfig};
use cajole_nn::{AutoRegressive, Example, TrainConfig, Trained, Trainer};

fn network() -> Transducer {
    Transducer::new(TransducerConfig {
        input_symbols: 3,
        output_symbols: 4,
        embedding: 8,
        hidden: 16,
        start_state: StartState::Encoder,
        dropout: 0.1,
        cap_factor: 3,
    })
}

fn training(epochs: usize) -> TrainConfig {
    TrainConfig::new(epochs, 5e-3).with(|c| (c.batch_size, c.shard_size) = (16, 4))
}

/// Inputs of one to six pairs, and what the paper's transducer makes of them.
fn data() -> Vec<(Vec<Symbol>, Vec<Symbol>)> {
    let all = (1..=6usize).flat_map(|n| (0..1usize << n).map(move |bits| (n, bits)));
    all.map(|(n, bits)| {
        let firsts = (0..n).map(|i| (bits >> i & 1) as Symbol);
        let x = firsts.clone().flat_map(|s| [s, 2]).collect();
        let y = firsts.flat_map(|s| if s == 0 { vec![0, 0, 0] } else { vec![2, 1] }).collect();
        (x, y)
    })
    .collect()
}

fn examples(data: &[(Vec<Symbol>, Vec<Symbol>)]) -> Vec<Example<'_, [Symbol]>> {
    data.iter().map(|(x, y)| Example { input: x.as_slice(), output: y }).collect()
}

fn trained(epochs: usize) -> Trained<Transducer> {
    let (net, data) = (network(), data());
    let mut trainer = Trainer::new(&net, training(epochs), examples(&data), 3);
    let first = trainer.epoch();
    let mut last = first;
    while !trainer.is_done() {
        last = trainer.epoch();
    }
    assert!(last < first / 1.5, "training learns: loss {first} to {last}");
    let weights = trainer.state().weights.clone();
    Trained::new(net, weights)
}

const COUNT: Count = Count { source: 0, target: 0, ratio: 3, n_symbols: 3 };

fn run_all(model: &Trained<Transducer>, config: &Config, threads: usize) -> Vec<Outcome> {
    let data = data();
    let jobs: Vec<Job<'_, [Symbol]>> =
        data.iter().map(|(x, _)| Job::new(x.as_slice(), &COUNT)).collect();
    let sources = vec![Search::Masked { width: 2 }];
    let gbi = Gbi::with(
        model,
        config.clone().with(|c| {
            c.width = 2;
            c.sources = sources;
        }),
    )
    .unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| gbi.run_all(&jobs, |_, _| {}))
}

/// Everything but the times.
fn facts(outcomes: &[Outcome]) -> Vec<String> {
    let step = |s: &cajole_core::Step| {
        format!("{} {} {:08x} {:08x}", s.attempt, s.iteration, s.g.to_bits(), s.distance.to_bits())
    };
    let facts = outcomes.iter().map(|o| {
        let steps: Vec<String> = o.trace.steps().iter().map(step).collect();
        format!("{:?} {:?} {} {} {steps:?}", o.output, o.stop, o.steps, o.passes)
    });
    facts.collect()
}

fn contrast(proposals: Proposals) -> Config {
    let objective = Objective::Contrast {
        proposals,
        positions: Positions::Differing,
        lower: 1.0,
        otherwise: 2,
    };
    Config::best().with(|c| c.objective = objective)
}

#[test]
fn the_same_bytes_at_one_and_two_threads_and_w_is_untouched() {
    let model = trained(60);
    let before: Vec<u32> = model.weights().iter().map(|w| w.to_bits()).collect();
    for config in [
        Config::paper(),
        Config::best(),
        contrast(Proposals::Fresh),
        Config::small(),
        Config::paper().with(|c| c.pull = 0.01),
    ] {
        let one = run_all(&model, &config, 1);
        let two = run_all(&model, &config, 2);
        assert_eq!(facts(&one), facts(&two));
        assert!(one.iter().any(|o| o.stop == Stop::Satisfied), "some output was repaired");
        assert!(one.iter().any(|o| o.stop == Stop::AlreadySatisfied), "some needed none");
    }
    let after: Vec<u32> = model.weights().iter().map(|w| w.to_bits()).collect();
    assert_eq!(before, after);
}

#[test]
fn an_input_does_not_see_those_before_it() {
    let model = trained(60);
    for config in [Config::best(), Config::small()] {
        let gbi = Gbi::with(&model, config).unwrap().decoder(Greedy).sources(Vec::new());
        let mut shared = Workspace::new(&model);
        for (x, _) in &data() {
            let (mut used, alone) = (Vec::new(), gbi.run(x, &COUNT));
            let job = Job::new(x.as_slice(), &COUNT);
            gbi.run_set(&[job], &mut shared, |_, outcome| used.push(outcome));
            assert_eq!(facts(&used), facts(&[alone]));
        }
    }
}

#[test]
fn only_the_chosen_groups_need_a_backward_pass_and_it_converts() {
    let model = trained(60);
    let moves = vec!["decoder".to_owned(), "output".to_owned()];
    let outcomes = run_all(&model, &Config::best().with(|c| c.moves = moves), 1);
    assert!(outcomes.iter().all(Outcome::is_satisfied));
}

#[test]
fn broken_weights_end_in_an_outcome() {
    for value in [f32::NAN, f32::INFINITY, 1e30] {
        let model = trained(30);
        let mut weights = model.weights().to_vec();
        weights[100] = value;
        let model = Trained::new(model.net, weights);
        for config in [Config::paper(), Config::best(), Config::small()] {
            for outcome in run_all(&model, &config, 2) {
                let steps = outcome.trace.steps();
                assert!(steps.len() <= 500 && !steps.is_empty(), "{:?}", outcome.stop);
            }
        }
    }
}

#[test]
fn training_is_the_same_at_any_number_of_threads() {
    let (net, data) = (network(), data());
    let weights = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut trainer = Trainer::new(&net, training(2), examples(&data), 9);
            trainer.epoch();
            trainer.epoch();
            trainer.state().weights.iter().map(|w| w.to_bits()).collect::<Vec<_>>()
        })
    };
    assert_eq!(weights(1), weights(2));
}

#[test]
fn a_resumed_run_ends_where_an_uninterrupted_one_does() {
    let (net, data) = (network(), data());
    let file = std::env::temp_dir().join(format!("cajole-resume-{}", std::process::id()));
    let rules = [StepRule::ADAM, StepRule::Sgd, StepRule::Adadelta { rho: 0.95, epsilon: 1e-6 }];
    for rule in rules {
        let config = training(4).with(|config| config.rule = rule);
        let mut whole = Trainer::new(&net, config.clone(), examples(&data), 5);
        let mut first = Trainer::new(&net, config.clone(), examples(&data), 5);
        for _ in 0..4 {
            whole.epoch();
            whole.judge(1.0);
        }
        for _ in 0..2 {
            first.epoch();
            first.judge(1.0);
        }
        save_training(&file, net.layout(), first.state()).unwrap();
        let state = load_training(&file, net.layout()).unwrap();
        assert_eq!(state.progress, first.state().progress);
        let mut second = Trainer::resume(&net, config, examples(&data), 5, state);
        while !second.is_done() {
            second.epoch();
            second.judge(1.0);
        }
        assert_eq!(second.state().weights, whole.state().weights, "{rule:?}");
        assert_eq!(second.state().best_weights, whole.state().best_weights);
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn patience_ends_training_early() {
    let (net, data) = (network(), data());
    let config = training(50).with(|config| config.patience = Some(2));
    let mut trainer = Trainer::new(&net, config, examples(&data), 5);
    for score in [1.0, 3.0, 2.0] {
        trainer.epoch();
        trainer.judge(score);
        assert!(!trainer.is_done());
    }
    trainer.epoch();
    assert!(!trainer.judge(2.5) && trainer.is_done(), "two epochs without a better score");
    assert_eq!(trainer.state().progress.best_epoch, 2);
}
