//! Training with a constraint loss: without unlabelled data, what it learns from, and its gradient.

use cajole_core::Symbol;
use cajole_experiments::srl::Failures;
use cajole_infer::Roles;
use cajole_nn::tape::{Graph, Tape};
use cajole_nn::{Example, Gradient, Trainable, Trainer};
use cajole_tasks::Silent;
use cajole_tasks::srl::constraint_loss::{ConstraintLoss, Lesson};
use cajole_tasks::srl::training::{self, propositions};
use cajole_tasks::srl::{Instance, NetworkConfig, Noise, RoleTagger, Splits, Unlabelled, train};
use cajole_treebank::roles::Reading;

use super::{TRAINED, asked, bits, config, corpus, instances, names, spans_in, spans_of, splits};

/// The weights after two epochs on these examples.
fn after_two_epochs<'a, N: Trainable>(
    net: &'a N,
    examples: impl IntoIterator<Item = (&'a N::Input, &'a Vec<Symbol>)>,
) -> Vec<u32>
where
    N::Input: 'a,
{
    let examples = examples.into_iter().map(|(input, output)| Example { input, output });
    let mut trainer = Trainer::new(net, config().training, examples.collect(), 3);
    trainer.epoch();
    trainer.epoch();
    bits(&trainer.state().weights)
}

#[test]
fn a_constraint_loss_without_unlabelled_data_is_plain_training() {
    let (config, splits, tagger) = &*TRAINED;
    let net = &tagger.model.net;
    let labelled = training::instances(tagger, &splits.train, corpus(config)).unwrap();
    let golds = propositions(&splits.train, corpus(config));
    let golds: Vec<_> = golds.map(|(_, p)| tagger.vocabulary.symbols(&p.tags).unwrap()).collect();
    let plain = after_two_epochs(net, labelled.iter().zip(&golds));
    let lessons: Vec<_> = labelled.iter().map(Lesson::Labelled).collect();
    for weight in [0.0, 1.0] {
        let loss = ConstraintLoss::new(net, tagger, weight);
        assert!(plain == after_two_epochs(&loss, lessons.iter().zip(&golds)));
    }
}

/// The weights of the second network, trained with this constraint loss.
fn weights_with(constraint_loss: Option<Unlabelled>, splits: &Splits) -> Vec<u32> {
    let config = config();
    let network = NetworkConfig { constraint_loss, epochs: Some(2), ..config.networks[1].clone() };
    let (tagger, _) = train(&config.recipe(&network).unwrap(), splits, None, &Silent).unwrap();
    bits(tagger.model.weights())
}

#[test]
fn unlabelled_sentences_teach_if_they_have_trees() {
    let config = config();
    let mut splits = splits(&config);
    let plain = weights_with(None, &splits);
    let loss = |share: usize| Some(Unlabelled { share, weight: 1.0 });
    assert!(plain == weights_with(loss(0), &splits));
    assert!(plain != weights_with(loss(50), &splits));
    let labelled = splits.train_share(config.networks[1].share).len();
    splits.train[labelled..].iter_mut().for_each(|sentence| sentence.tree = None);
    assert!(plain == weights_with(loss(100), &splits));
}

const WEIGHT: f32 = 0.7;

/// The constraint loss, computed from its definition.
fn expected_loss(tagger: &RoleTagger, lessons: &[(Lesson<'_>, Vec<Symbol>)]) -> f64 {
    let mut loss = 0.0;
    for (i, (lesson, gold)) in lessons.iter().enumerate() {
        let (Lesson::Labelled(x) | Lesson::Unlabelled(x)) = lesson;
        let mut tape = Tape::default();
        let mut g = Graph::new(tagger.model.weights(), &mut tape);
        let log_probs = cajole_nn::Tagger::log_probs(&tagger.model.net.net, &mut g, &[*x]);
        let log_prob =
            |t: usize, tag: Symbol| f64::from(tape.value(log_probs.row(t))[tag as usize]);
        if let Lesson::Labelled(_) = lesson {
            loss -= gold.iter().enumerate().map(|(t, &tag)| log_prob(t, tag)).sum::<f64>();
            continue;
        }
        let y = &tagger.model.decode_all(&tagger.viterbi(), &[*x])[0].output;
        let nodes = spans_of(asked()[i].0.tree.as_ref().unwrap(), 0, false);
        for (start, end) in spans_in(names(tagger, y)) {
            if !nodes.contains(&(start, end)) {
                let cost = f64::from(WEIGHT) / (end - start) as f64;
                loss += cost * (start..end).map(|t| log_prob(t, y[t])).sum::<f64>();
            }
        }
    }
    loss
}

#[test]
fn the_loss_matches_its_definition_and_its_gradient_finite_differences() {
    const EPSILON: f32 = 1e-2;
    let tagger = RoleTagger::clone(&TRAINED.2);
    let instances = instances(Reading::Phrasal, Noise::Noisy);
    let task = Roles::new(tagger.clone());
    let failures = Failures::find(&task, &instances, Reading::Phrasal, &Silent).unwrap();
    let failing = |x: &Instance| failures.cases.iter().any(|(y, _)| std::ptr::eq(*y, x));
    let lessons: Vec<(Lesson<'_>, Vec<Symbol>)> = (instances.iter().zip(asked()).enumerate())
        .map(|(i, (x, (_, p)))| match i % 3 {
            0 => (Lesson::Labelled(x), tagger.vocabulary.symbols(&p.tags).unwrap_or_default()),
            _ => (Lesson::Unlabelled(x), vec![0; p.tags.len()]),
        })
        .take(12)
        .collect();
    assert!(lessons.iter().any(|(l, _)| matches!(l, Lesson::Unlabelled(x) if failing(x))));
    let loss = ConstraintLoss::new(&tagger.model.net, &tagger, WEIGHT);
    let examples: Vec<_> =
        lessons.iter().map(|(input, output)| Example { input, output }).collect();
    let teach = |w: &[f32], tape: &mut Tape, blame: &mut Vec<_>| {
        tape.clear();
        blame.clear();
        loss.teach(&mut Graph::new(w, tape), &examples, 0.5, blame)
    };
    let w = tagger.model.weights().to_vec();
    let (mut tape, mut blame) = (Tape::default(), Vec::new());
    let mut grad = Gradient::new(w.len());
    let value = teach(&w, &mut tape, &mut blame);
    let expected = expected_loss(&tagger, &lessons);
    assert!((value - expected).abs() < 1e-4 * expected.abs(), "{value} is not {expected}");
    tape.backward(&w, loss.layout(), &blame, &mut grad);
    let mut dense = vec![0.0; w.len()];
    for range in grad.touched() {
        dense[range.clone()].copy_from_slice(grad.values(range));
    }

    let mut seen = 0;
    for entry in loss.layout().entries() {
        let range = entry.param.range();
        for i in range.clone().step_by(range.len().div_ceil(12)) {
            let mut at = |w_i: f32| {
                let mut moved = w.clone();
                moved[i] = w_i;
                teach(&moved, &mut tape, &mut blame)
            };
            let (up, down) = (w[i] + EPSILON, w[i] - EPSILON);
            let slope = 0.5 * (at(up) - at(down)) / f64::from(up - down);
            let got = f64::from(dense[i]);
            let most = 5e-3 + 1e-2 * slope.abs();
            assert!((got - slope).abs() < most, "{} {i}: {got} is not {slope}", entry.name);
            seen += usize::from(1e-2 < slope.abs());
        }
    }
    assert!(20 < seen, "{seen}");
}
