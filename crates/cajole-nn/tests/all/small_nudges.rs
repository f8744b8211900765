//! Biases that each input has of its own, against finite differences, against gradients of all
//! weights, and against networks in which those biases are everyone's.

use crate::networks::{Property, biases, check_all, moved_by, one_modulo_three, vectors};
use cajole_core::decoders::Ranking;
use cajole_core::{
    Candidate, Constraint, Force, Found, Model, Move, Pass, Schedule, Search, Sought, StepRule,
    Symbol, Wanted, Workspace,
};
use cajole_nn::layout::Layout;
use cajole_nn::random::Random;
use cajole_nn::{Gradient, Network, Nudge, Trained};

/// Different for every input, so that none can stand in for another; two of a kind, so that outputs
/// end together.
const LENGTHS: [usize; 5] = [3, 6, 1, 4, 6];

/// What every input is blamed for, output by output: its beam's candidates, and one that no beam
/// would find.
struct Blamed {
    output: Vec<Symbol>,
    cost: f32,
}

fn force<N: Network>(
    model: &Trained<N>,
    workspace: &mut Workspace<Trained<N>>,
    pass: Pass<'_, Trained<N>>,
    y: &[Symbol],
) -> Candidate {
    let mut forced = Candidate::default();
    let mut set = [Force { pass, output: y, forced: &mut forced, passes: 0 }];
    model.force(workspace.session(model).scratch, &mut set).unwrap();
    forced
}

/// Decodes a set, each input under its own weights, with a beam where the network has one.
fn decode<N: Network>(
    model: &Trained<N>,
    workspace: &mut Workspace<Trained<N>>,
    set: &[Pass<'_, Trained<N>>],
    width: usize,
) -> Vec<Found> {
    let mut found = vec![Found::default(); set.len()];
    model.decoder(width.into()).decode(&mut workspace.session(model), set, &mut found).unwrap();
    found
}

/// An output for each input that the network would hardly give: as long as what it gives, if that
/// has a length of its own, so that it fits a tagger.
fn unlikely(found: &Found, seed: u64) -> Vec<Symbol> {
    let random = &mut Random::new(seed);
    found.best().unwrap().output.iter().map(|_| random.below(3) as Symbol).collect()
}

/// Records a set under `W`, and what everyone is blamed for; returns a move per input, not yet made.
fn blame<N: Network>(
    model: &Trained<N>,
    workspace: &mut Workspace<Trained<N>>,
    xs: &[&N::Input],
    step_size: f32,
) -> (Vec<Move<Nudge>>, Vec<Vec<Blamed>>) {
    let set: Vec<_> = xs.iter().map(|x| Pass::base(*x)).collect();
    let found = decode(model, workspace, &set, 3);
    let moving = vectors(model);
    let each = found.iter().enumerate().map(|(i, found)| {
        let pass = Pass { place: Some(i), ..set[i] };
        let forced = force(model, workspace, pass, &unlikely(found, i as u64));
        // Outputs that were cut off are not what `force` would give.
        let candidates = found.candidates().iter().filter(|y| !y.capped);
        let all: Vec<_> = candidates.chain([&forced]).cloned().collect();
        let cost = |rank: usize| 0.3 + 0.1 * i as f32 - 0.4 * rank as f32;
        let marks = all.iter().enumerate();
        let marks = marks.flat_map(|(rank, y)| y.marks.iter().map(move |&m| (m, cost(rank))));
        let own = moved_by(model, &moving, i, step_size, marks.collect());
        let outputs = all.iter().enumerate();
        let outputs =
            outputs.map(|(rank, y)| Blamed { output: y.output.clone(), cost: cost(rank) });
        (own, outputs.collect())
    });
    each.unzip()
}

/// What a step of size 1 has taken from the biases: their gradient.
fn gradient_by_step<N: Network>(model: &Trained<N>, own: &Move<Nudge>) -> Vec<f32> {
    let moved = model.nudged(&own.nudge);
    model.weights().iter().zip(moved).map(|(w, moved)| w - moved).collect()
}

/// `Σ cost · log p(y)` of what one input is blamed for, under other weights.
fn objective<N: Network + Clone>(
    model: &Trained<N>,
    w: Vec<f32>,
    x: &N::Input,
    blamed: &[Blamed],
) -> f64 {
    let model = &Trained::new(model.net.clone(), w);
    let mut workspace = Workspace::new(model);
    workspace.decode(model, &*model.decoder(1.into()), x).unwrap();
    let pass = Pass { place: Some(0), ..Pass::base(x) };
    let term = |b: &Blamed| {
        f64::from(b.cost) * f64::from(force(model, &mut workspace, pass, &b.output).log_prob)
    };
    blamed.iter().map(term).sum()
}

/// The gradient of all weights, of what one input is blamed for, recorded on its own.
fn dense_gradient<N: Network>(model: &Trained<N>, x: &N::Input, blamed: &[Blamed]) -> Vec<f32> {
    let mut workspace = Workspace::new(model);
    workspace.decode(model, &*model.decoder(1.into()), x).unwrap();
    let pass = Pass { place: Some(0), ..Pass::base(x) };
    let marks = |b: &Blamed| {
        let forced = force(model, &mut workspace, pass, &b.output);
        forced.marks.into_iter().map(|mark| (mark, b.cost)).collect::<Vec<_>>()
    };
    let blame: Vec<_> = blamed.iter().flat_map(marks).collect();
    let (layout, mut all) = (model.net.layout(), vec![0.0; model.weights().len()]);
    let mut grad = Gradient::new(all.len());
    let tape = model.tape(workspace.session(model).scratch, 0).unwrap();
    tape.backward(model.weights(), layout, &blame, &mut grad);
    for range in grad.touched() {
        all[range.clone()].copy_from_slice(grad.values(range));
    }
    all
}

struct FiniteDifferences;

impl Property for FiniteDifferences {
    fn check<N: Network + Clone>(&self, name: &str, model: &Trained<N>, xs: &[&N::Input]) {
        /// Weights that are tried of every bias.
        const TRIED: usize = 4;
        let mut workspace = Workspace::new(model);
        let (mut moves, blamed) = blame(model, &mut workspace, xs, 1.0);
        model.gradient(workspace.session(model).scratch, &mut moves).unwrap();
        model.take_step(&mut moves).unwrap();
        for ((own, x), blamed) in moves.iter().zip(xs).zip(&blamed) {
            let grad = gradient_by_step(model, own);
            let random = &mut Random::new(9);
            for (bias, range) in biases(model.net.layout()) {
                for _ in 0..TRIED {
                    let i = range.start + random.below(range.len());
                    let slope = |step: f32| {
                        let at = |by: f32| {
                            let mut w = model.weights().to_vec();
                            w[i] += by;
                            objective(model, w, x, blamed)
                        };
                        (at(step) - at(-step)) / f64::from(2.0 * step)
                    };
                    // Richardson's extrapolation: the error falls with the fourth power of the step.
                    let want = (4.0 * slope(0.02) - slope(0.04)) / 3.0;
                    let got = f64::from(grad[i]);
                    let most = 2e-3 + 2e-3 * want.abs();
                    assert!((got - want).abs() < most, "{name}, {bias}: {got}, not {want}");
                }
            }
        }
    }
}

#[test]
fn gradients_of_biases_are_finite_differences() {
    check_all(&FiniteDifferences, 5, &LENGTHS);
}

/// Compares biases alone; nothing else may have moved.
fn assert_biases(name: &str, layout: &Layout, got: &[f32], want: &[f32]) {
    let is_bias = |i: usize| biases(layout).iter().any(|(_, range)| range.contains(&i));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        match is_bias(i) {
            true => assert!(
                (got - want).abs() < 2e-5 * (1.0 + want.abs()),
                "{name}: {got} is not {want} at {i}"
            ),
            false => assert_eq!(*got, 0.0, "{name}: {i} is no bias"),
        }
    }
}

struct PartOfAll;

impl Property for PartOfAll {
    fn check<N: Network + Clone>(&self, name: &str, model: &Trained<N>, xs: &[&N::Input]) {
        let mut workspace = Workspace::new(model);
        let (mut together, blamed) = blame(model, &mut workspace, xs, 1.0);
        model.gradient(workspace.session(model).scratch, &mut together).unwrap();
        model.take_step(&mut together).unwrap();
        for (i, x) in xs.iter().enumerate() {
            let grad = gradient_by_step(model, &together[i]);
            let dense = dense_gradient(model, x, &blamed[i]);
            assert!(dense.iter().any(|g| 0.01 < g.abs()), "{name}: there is a gradient");
            assert_biases(name, model.net.layout(), &grad, &dense);
        }
    }
}

#[test]
fn gradients_of_biases_are_those_among_all_weights() {
    check_all(&PartOfAll, 13, &LENGTHS);
}

struct SameAlone;

impl Property for SameAlone {
    fn check<N: Network + Clone>(&self, name: &str, model: &Trained<N>, xs: &[&N::Input]) {
        let mut workspace = Workspace::new(model);
        let (mut together, _) = blame(model, &mut workspace, xs, 0.1);
        // One that has come to an end is left where it is, and the others do not notice.
        let left_out = together.len() - 1;
        together[left_out].is_over = true;
        model.gradient(workspace.session(model).scratch, &mut together).unwrap();
        model.take_step(&mut together).unwrap();
        for (i, own) in together.iter().enumerate() {
            if i == left_out {
                assert_eq!(model.nudged(&own.nudge), model.weights(), "{name}");
                continue;
            }
            // Alone, and blamed for the same: costs depend on the input's number.
            let (mut alone, _) = blame(model, &mut workspace, &vec![xs[i]; i + 1], 0.1);
            let alone = &mut alone[i..];
            model.gradient(workspace.session(model).scratch, alone).unwrap();
            model.take_step(alone).unwrap();
            let [got, want] = [own, &alone[0]].map(|own| model.nudged(&own.nudge));
            let is_same = got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(is_same, "{name}: input {i} moves differently in company");
            assert_eq!(own.distance.to_bits(), alone[0].distance.to_bits(), "{name}");
        }
    }
}

#[test]
fn an_input_moves_as_it_would_alone() {
    check_all(&SameAlone, 13, &LENGTHS);
}

/// Moves every input by a step of its own, and lists the networks that have these biases for all.
fn shifted<N: Network + Clone>(
    model: &Trained<N>,
    workspace: &mut Workspace<Trained<N>>,
    xs: &[&N::Input],
) -> (Vec<Move<Nudge>>, Vec<Trained<N>>) {
    let (mut moves, _) = blame(model, workspace, xs, 1.5);
    let rule = StepRule::UnitNorm { growth: 1.0, cap: 2.0 };
    moves.iter_mut().for_each(|own| own.schedule.rule = rule);
    model.gradient(workspace.session(model).scratch, &mut moves).unwrap();
    model.take_step(&mut moves).unwrap();
    moves.iter_mut().for_each(|own| own.t = 1);
    let other = |own: &Move<Nudge>| Trained::new(model.net.clone(), model.nudged(&own.nudge));
    let others = moves.iter().map(other).collect();
    (moves, others)
}

struct OtherBiases;

impl OtherBiases {
    fn close(name: &str, got: &Candidate, want: &Candidate) {
        assert_eq!((&got.output, got.capped), (&want.output, want.capped), "{name}");
        let (got, want) = (got.log_prob, want.log_prob);
        assert!((got - want).abs() < 1e-5 * (1.0 + want.abs()), "{name}: log p {got}, not {want}");
    }

    fn all_close(name: &str, got: &Found, want: &Found) {
        assert_eq!(got.candidates().len(), want.candidates().len(), "{name}");
        let both = got.candidates().iter().zip(want.candidates());
        both.for_each(|(got, want)| Self::close(name, got, want));
    }
}

impl Property for OtherBiases {
    fn check<N: Network + Clone>(&self, name: &str, model: &Trained<N>, xs: &[&N::Input]) {
        let mut workspace = Workspace::new(model);
        let (moves, mut others) = shifted(model, &mut workspace, xs);
        let mut set: Vec<_> = xs.iter().map(|x| Pass::base(*x)).collect();
        for (i, pass) in set.iter_mut().enumerate() {
            // Every third is still at W.
            match i % 3 {
                2 => others[i] = model.clone(),
                _ => pass.nudge = Some(&moves[i].nudge),
            }
        }
        let (mut n_changed, mut skimmed) = (0, vec![Found::default(); xs.len()]);
        for width in [1, 4] {
            let found = decode(model, &mut workspace, &set, width);
            let decoder = model.decoder(width.into());
            decoder.skim(&mut workspace.session(model), &set, &mut skimmed).unwrap();
            for (i, (&x, other)) in xs.iter().zip(&others).enumerate() {
                let mut own = Workspace::new(other);
                let want = own.decode(other, &*other.decoder(width.into()), x).unwrap();
                Self::all_close(name, &found[i], &want);
                Self::all_close(name, &skimmed[i], &want);
                let y = unlikely(&found[i], 5);
                let got = force(model, &mut workspace, Pass { place: Some(i), ..set[i] }, &y);
                let pass = Pass { place: Some(0), ..Pass::base(x) };
                Self::close(name, &got, &force(other, &mut own, pass, &y));
                let base =
                    Workspace::new(model).decode(model, &*model.decoder(width.into()), x).unwrap();
                let [base, found] = [&base, &found[i]].map(|f| &f.best().unwrap().output);
                n_changed += usize::from(base != found);
            }
        }
        assert!(0 < n_changed, "{name}: no output has changed");

        let masked = one_modulo_three(5);
        let some = |_: &N::Input, y: &[Symbol]| if y.contains(&1) { 0.0 } else { 1.0 };
        let sources: [(_, &dyn Constraint<N::Input>); 2] =
            [(Search::Masked { width: 4 }, &masked), (Search::BlackBox { limit: 1000 }, &some)];
        for (source, constraint) in sources {
            let wanted: Vec<_> = xs.iter().map(|x| Wanted::new(*x, constraint)).collect();
            let sought: Vec<_> =
                set.iter().zip(&wanted).map(|(&pass, wanted)| Sought { pass, wanted }).collect();
            let mut found = vec![Found::default(); xs.len()];
            let search = model.search(&source, Ranking::Total).unwrap();
            search.search(&mut workspace.session(model), &sought, &mut found).unwrap();
            assert!(found.iter().any(|found| found.best().is_some()), "{name}: {source:?}");
            for (i, ((other, wanted), found)) in others.iter().zip(&wanted).zip(&found).enumerate()
            {
                let search = other.search(&source, Ranking::Total).unwrap();
                let want = Workspace::new(other).search(other, &*search, xs[i], wanted).unwrap();
                Self::all_close(name, found, &want);
            }
        }
    }
}

#[test]
fn a_shift_is_other_biases() {
    check_all(&OtherBiases, 13, &LENGTHS);
}

struct GradientOfOtherBiases;

impl Property for GradientOfOtherBiases {
    fn check<N: Network + Clone>(&self, name: &str, model: &Trained<N>, xs: &[&N::Input]) {
        let mut workspace = Workspace::new(model);
        let (mut moves, others) = shifted(model, &mut workspace, xs);
        let passes = xs.iter().zip(&moves);
        let set: Vec<_> =
            passes.map(|(x, own)| Pass { nudge: Some(&own.nudge), ..Pass::base(*x) }).collect();
        let found = decode(model, &mut workspace, &set, 3);
        let forced: Vec<_> = (0..xs.len())
            .map(|i| {
                let pass = Pass { place: Some(i), ..set[i] };
                force(model, &mut workspace, pass, &unlikely(&found[i], 7))
            })
            .collect();
        for (own, forced) in moves.iter_mut().zip(&forced) {
            own.schedule = Schedule { rule: StepRule::Sgd, step_size: 1.0, max_steps: 1 };
            own.blame = forced.marks.iter().map(|&mark| (mark, -1.5)).collect();
        }
        model.gradient(workspace.session(model).scratch, &mut moves).unwrap();
        model.take_step(&mut moves).unwrap();
        for (i, other) in others.iter().enumerate() {
            let moved = model.nudged(&moves[i].nudge);
            let grad: Vec<_> = other.weights().iter().zip(moved).map(|(w, m)| w - m).collect();
            let blamed = Blamed { output: forced[i].output.clone(), cost: -1.5 };
            let dense = dense_gradient(other, xs[i], &[blamed]);
            assert_biases(name, model.net.layout(), &grad, &dense);
        }
    }
}

#[test]
fn the_gradient_under_a_shift_is_that_of_other_biases() {
    check_all(&GradientOfOtherBiases, 13, &LENGTHS);
}
