//! Encoder-decoders: drafts change nothing, steps are what is forced, training learns.

use crate::networks::{encoder_decoder, moved_by, symbols, tokens, vectors, wild};
use cajole_core::decoders::Beam;
use cajole_core::decoders::Greedy;
use cajole_core::model::{Candidate, Symbol};
use cajole_core::{Force, Found, Model, Move, Pass, Recording, StepRule, Stepper, Workspace};
use cajole_nn::layers::norm::NormKind;
use cajole_nn::models::Token;
use cajole_nn::models::transformer::{EncoderDecoder, EncoderDecoderConfig};
use cajole_nn::{Decay, Example, Network, Nudge, TrainConfig, Trained, Trainer};

const KINDS: [NormKind; 2] = [NormKind::Layer, NormKind::Rms];

/// One iteration of every input: decodes, blames what was decoded, takes a step. Returns what was
/// decoded.
fn iterate<N: Network>(
    model: &Trained<N>,
    workspace: &mut Workspace<Trained<N>>,
    xs: &[&N::Input],
    moves: &mut [Move<Nudge>],
) -> Vec<(Vec<Symbol>, u32)> {
    let nudges = xs.iter().zip(&*moves);
    let set: Vec<_> =
        nudges.map(|(x, own)| Pass { nudge: Some(&own.nudge), ..Pass::base(*x) }).collect();
    let mut found = vec![Found::default(); xs.len()];
    let decoder = model.decoder(Beam::of(1));
    decoder.decode(&mut workspace.session(model), &set, &mut found).unwrap();
    for (own, found) in moves.iter_mut().zip(&found) {
        let best = found.best().unwrap();
        own.blame = best.marks.iter().map(|&mark| (mark, 1.0)).collect();
    }
    model.gradient(workspace.session(model).scratch, moves).unwrap();
    model.take_step(moves).unwrap();
    moves.iter_mut().for_each(|own| own.t += 1);
    let facts = |found: &Found| {
        let best = found.best().unwrap();
        (best.output.clone(), best.log_prob.to_bits())
    };
    found.iter().map(facts).collect()
}

fn moves_of<N: Network>(model: &Trained<N>, n: usize) -> Vec<Move<Nudge>> {
    let moving = vectors(model);
    let own = |place| {
        let mut own = moved_by(model, &moving, place, 0.02, Vec::new());
        own.schedule.rule = StepRule::UnitNorm { growth: 1.2, cap: 1.0 };
        own
    };
    (0..n).map(own).collect()
}

/// A workspace that remembers the last outputs, against a fresh one for every iteration.
#[test]
fn drafts_change_nothing() {
    for norm in KINDS {
        let net = encoder_decoder(norm, 13);
        let longer = EncoderDecoderConfig { cap: 30, ..net.config };
        let model = wild(EncoderDecoder::new(longer), 7);
        // Two are the same: each must go on from its own weights.
        let xs: Vec<_> = [5, 3, 5, 8].iter().map(|&n| tokens(n, n as u64)).collect();
        let xs: Vec<&[Token]> = xs.iter().map(Vec::as_slice).collect();
        let (mut kept, mut fresh) = (moves_of(&model, xs.len()), moves_of(&model, xs.len()));
        kept[2].schedule.step_size = 0.5;
        fresh[2].schedule.step_size = 0.5;
        let mut workspace = Workspace::new(&model);
        let (mut same, mut all) = (0, Vec::new());
        for t in 0..12 {
            let got = iterate(&model, &mut workspace, &xs, &mut kept);
            let want = iterate(&model, &mut Workspace::new(&model), &xs, &mut fresh);
            assert_eq!(got, want, "{norm:?}, iteration {t}");
            for (kept, fresh) in kept.iter().zip(&fresh) {
                let [kept, fresh] = [kept, fresh].map(|own| model.nudged(&own.nudge));
                let is_same = kept.iter().zip(&fresh).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(is_same, "{norm:?}: weights after iteration {t}");
            }
            same += usize::from(all.last() == Some(&got[0].0));
            all.push(got[0].0.clone());
        }
        assert!(0 < same && same < 11, "{norm:?}: outputs sometimes change, {all:?}");
    }
}

#[test]
fn steps_are_what_is_forced() {
    for norm in KINDS {
        let model = wild(encoder_decoder(norm, 13), 3);
        let mut workspace = Workspace::new(&model);
        let (x, y) = (tokens(6, 1), symbols(9, 2));
        workspace.decode(&model, &Greedy, x.as_slice()).unwrap();
        let scratch = workspace.session(&model).scratch;
        let pass = Pass { place: Some(0), ..Pass::base(x.as_slice()) };
        let mut forced = Candidate::default();
        let mut set = [Force { pass, output: &y, forced: &mut forced, passes: 0 }];
        model.force(scratch, &mut set).unwrap();
        let set = [Pass::base(x.as_slice())];
        model.begin(scratch, &set, Recording::None).unwrap();
        let (mut log_prob, mut log_probs) = (0.0_f32, Vec::new());
        let before = [model.end()].into_iter().chain(y.iter().copied());
        for (symbol, next) in before.zip(y.iter().copied().chain([model.end()])) {
            model.step(scratch, &set, &[symbol], &mut log_probs).unwrap();
            log_prob += log_probs[next as usize];
        }
        assert_eq!(log_prob.to_bits(), forced.log_prob.to_bits(), "{norm:?}");
    }
}

#[test]
fn training_learns_to_copy() {
    let data: Vec<Vec<Symbol>> = (0..60)
        .map(|i| symbols(1 + i % 5, i as u64).into_iter().map(|symbol| symbol % 3).collect())
        .collect();
    let inputs: Vec<Vec<Token>> =
        data.iter().map(|x| x.iter().copied().map(Token::from).collect()).collect();
    let examples = || {
        let both = inputs.iter().zip(&data);
        both.map(|(input, output)| Example { input: input.as_slice(), output }).collect()
    };
    for norm in KINDS {
        let net = encoder_decoder(norm, 24);
        let config = TrainConfig::new(40, 1e-2).with(|config| {
            (config.batch_size, config.shard_size) = (20, 5);
            config.decay = Decay::Constant;
        });
        let mut trainer = Trainer::new(&net, config, examples(), 1);
        let first = trainer.epoch();
        let last = (0..39).map(|_| trainer.epoch()).last().unwrap();
        assert!(last < 0.6 * first, "{norm:?}: loss {first}, at last {last}");
    }
}
