//! Algorithm 1 on a model small enough to follow by hand.
//!
//! [`Table`] scores `V` symbols at each of `T` positions independently: its weights are the scores.
//! So every gradient is known in closed form, and every step can be checked.
//!
//! A decode is one pass and a backward pass is another, so `k` steps take `1 + 2k` passes.

use std::f32::consts::SQRT_2;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::backend::table::{Sentence, Table};
use cajole_core::{
    BackendError, Cancel, Config, ConstrainedDecoder, Constraint, Found, Gbi, Objective, Outcome,
    Part, Pass, Positions, Proposals, Recording, Schedule, Session, Sought, Step, StepRule, Stop,
    Symbol, TagScorer, Violation,
};

/// Always proposes the same output, for which it may run the network.
#[derive(Clone)]
struct Fixed {
    y: Vec<Symbol>,
    passes: usize,
}

impl ConstrainedDecoder<Table> for Fixed {
    fn search(
        &self,
        at: &mut Session<'_, Table>,
        set: &[Sought<'_, '_, Table>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        let passes: Vec<Pass<'_, Table>> = set.iter().map(|sought| sought.pass).collect();
        for _ in 0..self.passes {
            at.model.read(at.scratch, &passes, Recording::None)?;
        }
        for found in found {
            found.clear();
            found.passes = self.passes;
            found.add().output.clone_from(&self.y);
        }
        Ok(())
    }
}

fn fixed(y: &[Symbol]) -> Fixed {
    Fixed { y: y.to_vec(), passes: 0 }
}

fn config(rule: StepRule, step_size: f32, max_steps: usize) -> Config {
    let mut config = Config::paper();
    config.schedule = Schedule { rule, step_size, max_steps };
    config
}

fn run(model: &Table, constraint: &dyn Constraint<Sentence>, config: Config) -> Outcome {
    run_with(model, constraint, config, &[])
}

fn run_with(
    model: &Table,
    constraint: &dyn Constraint<Sentence>,
    config: Config,
    sources: &[Fixed],
) -> Outcome {
    let before = model.bits();
    let sources = sources.iter().map(|s| Box::new(s.clone()) as Box<dyn ConstrainedDecoder<Table>>);
    let gbi = Gbi::with(model, config).unwrap().sources(sources.collect());
    let outcome = gbi.run(&model.plain(), constraint);
    assert_eq!(before, model.bits(), "W is never changed");
    outcome
}

/// How many positions hold symbol 0.
fn zeros(_: &Sentence, y: &[Symbol]) -> f32 {
    y.iter().filter(|&&v| v == 0).count() as f32
}

#[test]
fn a_satisfied_output_comes_out_untouched() {
    let model = Table::new(&[&[0.0, 1.0], &[0.0, 2.0]]);
    let outcome = run(&model, &zeros, config(StepRule::Sgd, 1.0, 100));
    assert_eq!((outcome.stop, outcome.output), (Stop::AlreadySatisfied, vec![1, 1]));
    assert_eq!((outcome.steps, outcome.passes, outcome.trace.steps().len()), (0, 1, 1));
}

#[test]
fn a_violation_is_lowered_until_it_is_gone() {
    let model = Table::new(&[&[0.5, 0.0], &[0.0, 2.0]]);
    let outcome = run(&model, &zeros, config(StepRule::Sgd, 0.3, 100));
    assert_eq!((outcome.stop, &outcome.output), (Stop::Satisfied, &vec![1, 1]));
    assert_eq!((outcome.g_before, outcome.g_after), (1.0, 0.0));
    let steps = outcome.trace.steps();
    assert_eq!(steps.len(), outcome.steps + 1, "one decode per step and the first one");
    assert_eq!(outcome.passes, 1 + 2 * outcome.steps);
    // Both positions bear the cost of a black box: at the second, W_λ moves towards symbol 0 too.
    let p = |score: f32| score.exp() / (score.exp() + 1.0);
    let moved = [0.3 * (1.0 - p(0.5)) * SQRT_2, 0.3 * (1.0 - p(2.0)) * SQRT_2];
    let distance = moved[0].hypot(moved[1]);
    assert!((steps[1].distance - distance).abs() < 1e-6, "{} is not {distance}", steps[1].distance);
    let log_prob = p(0.5).ln() + p(2.0).ln();
    assert!((steps[0].log_prob - log_prob).abs() < 1e-6, "{}", steps[0].log_prob);
    for (i, pair) in steps.windows(2).enumerate() {
        assert!(pair[0].distance < pair[1].distance);
        assert!(pair[0].elapsed <= pair[1].elapsed);
        assert_eq!((pair[1].iteration, pair[1].passes), (i + 1, 3 + 2 * i));
    }
}

#[test]
fn parts_are_blamed_where_they_are() {
    struct FirstOnly;
    impl Constraint<Sentence> for FirstOnly {
        fn check(&self, _: &Sentence, y: &[Symbol]) -> Violation {
            match y[0] {
                0 => Violation::Parts(vec![Part { at: 0..1, cost: 1.0 }]),
                _ => Violation::NONE,
            }
        }
    }
    let model = Table::new(&[&[0.5, 0.0], &[0.1, 0.0]]);
    let outcome = run(&model, &FirstOnly, config(StepRule::Sgd, 0.1, 100));
    assert_eq!(outcome.output, [1, 0], "the second position was left alone");
    let whole = |_: &Sentence, y: &[Symbol]| f32::from(u8::from(y[0] == 0));
    let outcome = run(&model, &whole, config(StepRule::Sgd, 0.1, 100));
    let trace = &outcome.trace;
    let moved = trace.steps().iter().any(|step| trace.output(step)[1] == 1);
    assert!(moved, "a black box blames every position");
}

#[test]
fn the_violating_ones_of_several_candidates_are_lowered_by_their_share() {
    // Of four outputs [0, 0] is the best, then [1, 0], [0, 1], [1, 1].
    let model = Table::new(&[&[0.2, 0.0], &[0.3, 0.0]]);
    let second = |_: &Sentence, y: &[Symbol]| f32::from(u8::from(y[1] == 0));
    let lower = |candidates| {
        let mut config = config(StepRule::Sgd, 1.0, 1);
        (config.width, config.objective) = (3, Objective::Lower { candidates });
        run(&model, &second, config)
    };
    let p = |score: f32| score.exp() / (score.exp() + 1.0);
    let (p0, p1) = (p(0.2), p(0.3)); // of symbol 0
    let of = [p0 * p1, (1.0 - p0) * p1, p0 * (1.0 - p1)];
    for candidates in [1, 2, 3] {
        // [0, 0] and [1, 0] violate; [0, 1] only takes its share.
        let total: f32 = of[..candidates].iter().sum();
        let share = |i: usize| if i < candidates { of[i] / total } else { 0.0 };
        let first = share(0) * (1.0 - p0) - share(1) * p0;
        let second = (share(0) + share(1)) * (1.0 - p1);
        let distance = SQRT_2 * first.hypot(second);
        let outcome = lower(candidates);
        let step = &outcome.trace.steps()[1];
        assert!((step.distance - distance).abs() < 1e-6, "{} is not {distance}", step.distance);
        assert_eq!(outcome.passes, 2 + candidates.min(2), "a backward pass for each that violates");
    }
}

/// The distance after each step under plain SGD with a pull.
fn distances(pull: f32) -> Vec<f32> {
    let model = Table::new(&[&[3.0, 0.0]]);
    let mut config = config(StepRule::Sgd, 0.1, 8);
    config.pull = pull;
    let outcome = run(&model, &zeros, config);
    outcome.trace.steps().iter().map(|step| step.distance).collect()
}

#[test]
fn pull_draws_back_to_the_original_weights() {
    let (free, pulled) = (distances(0.0), distances(0.02));
    assert_eq!(free[..2], pulled[..2], "at W the pull is 0/0 and counts as nothing");
    assert!(pulled.iter().all(|d| d.is_finite()));
    // The gradient is α (W_λ − W)/‖W_λ − W‖, so each later step is shorter by η α along the way
    // (the gradient of log p changes a little with the place, hence the bound).
    let expected = free[2] - 0.1 * 0.02;
    assert!((pulled[2] - expected).abs() < 1e-6, "{} is not {expected}", pulled[2]);
    assert!(pulled[8] < free[8] - 0.1 * 0.02, "it adds up");
}

#[test]
fn equal_margins_cycle_to_the_step_limit_and_the_earliest_least_violation_is_kept() {
    // Exactly one of two positions must hold symbol 1, but both always flip together.
    let model = Table::new(&[&[0.4, 0.0], &[0.4, 0.0]]);
    let one = |_: &Sentence, y: &[Symbol]| (1.0 - y.iter().sum::<Symbol>() as f32).abs();
    let outcome = run(&model, &one, config(StepRule::Sgd, 0.5, 40));
    assert_eq!((outcome.stop, outcome.steps, outcome.passes), (Stop::StepLimit, 40, 81));
    assert_eq!((outcome.g_after, &outcome.output), (1.0, &vec![0, 0]), "of equals the earliest");
    let outputs: Vec<_> =
        outcome.trace.steps().iter().map(|step| outcome.trace.output(step)).collect();
    assert!(outputs.contains(&[1, 1].as_slice()) && outputs.iter().all(|y| y[0] == y[1]));
}

#[test]
fn the_least_violating_output_seen_is_returned() {
    // Five steps are enough for the first of three positions only.
    let model = Table::new(&[&[0.2, 0.0], &[9.0, 0.0], &[9.0, 0.0]]);
    let outcome = run(&model, &zeros, config(StepRule::Sgd, 0.2, 5));
    assert_eq!((outcome.stop, outcome.output), (Stop::StepLimit, vec![1, 0, 0]));
    assert_eq!((outcome.g_before, outcome.g_after), (3.0, 2.0));
}

#[test]
fn what_is_no_number_ends_in_a_clear_outcome() {
    let nan = Table::new(&[&[f32::NAN, 0.0], &[1.0, 0.0]]);
    assert_eq!(run(&nan, &zeros, config(StepRule::Sgd, 0.1, 50)).stop, Stop::Diverged);
    let fine = Table::new(&[&[1.0, 0.0]]);
    let undefined = |_: &Sentence, _: &[Symbol]| f32::NAN;
    let outcome = run(&fine, &undefined, config(StepRule::Sgd, 0.1, 50));
    assert_eq!((outcome.stop, outcome.steps, outcome.output), (Stop::Unmeasured, 0, vec![0]));
    let later = |_: &Sentence, y: &[Symbol]| if y == [0] { 1.0 } else { f32::NAN };
    let outcome = run(&fine, &later, config(StepRule::Sgd, 0.9, 50));
    assert_eq!((outcome.stop, outcome.output), (Stop::Unmeasured, vec![0]));
    // Steps so long that weights overflow.
    let never = |_: &Sentence, _: &[Symbol]| 10.0;
    for rule in [StepRule::Sgd, StepRule::ADAM, StepRule::Momentum { decay: 0.9 }] {
        let outcome = run(&fine, &never, config(rule, 3e38, 50));
        assert_eq!((outcome.stop, outcome.steps), (Stop::Diverged, 1), "{rule:?}");
        assert_eq!(outcome.output, [0], "what was found before");
    }
}

#[test]
fn a_vanished_gradient_is_said_so() {
    let model = Table::new(&[&[1.0]]);
    let unit = StepRule::UnitNorm { growth: 1.1, cap: 1.0 };
    let outcome = run(&model, &zeros, config(unit, 0.1, 50));
    assert_eq!((outcome.stop, outcome.steps, outcome.passes), (Stop::Stuck, 0, 2));
}

#[test]
fn restarts_begin_at_the_original_weights() {
    let model = Table::new(&[&[1.0, 0.0]]);
    let enough = config(StepRule::Sgd, 0.5, 20);
    let mut first = config(StepRule::Sgd, 1e-6, 3); // too short
    first.restarts = vec![enough.schedule];
    let outcome = run(&model, &zeros, first);
    assert_eq!(outcome.stop, Stop::Satisfied);
    let second: Vec<&Step> = outcome.trace.steps().iter().filter(|s| s.attempt == 1).collect();
    let alone = run(&model, &zeros, enough);
    let distances: Vec<f32> = second.iter().map(|s| s.distance).collect();
    let expected: Vec<f32> = alone.trace.steps()[1..].iter().map(|s| s.distance).collect();
    assert_eq!(distances, expected, "the failed attempt left no trace in the weights");
    assert_eq!(outcome.steps, 3 + alone.steps);
    assert_eq!(outcome.passes, 1 + 2 * 3 + alone.passes, "W is decoded with once more");
    assert_eq!(outcome.trace.steps().len(), 1 + 3 + alone.steps, "but that is known already");
}

#[test]
fn every_way_to_end_an_attempt_leads_to_the_next() {
    let unit = StepRule::UnitNorm { growth: 1.0, cap: 1.0 };
    let enough = config(unit, 0.5, 20).schedule;
    // An attempt without steps, one that diverges, and one with too few.
    let too_long = Schedule { rule: StepRule::Sgd, step_size: 3e38, max_steps: 5 };
    for (first, steps) in [
        (Schedule { max_steps: 0, ..enough }, 0),
        (too_long, 1),
        (Schedule { step_size: 1e-6, max_steps: 2, ..enough }, 2),
    ] {
        let model = Table::new(&[&[1.0, 0.0]]);
        let tenfold = |x: &Sentence, y: &[Symbol]| 10.0 * zeros(x, y);
        let mut config = config(unit, 0.5, 20);
        // Twice: the second attempt ends like the first.
        (config.schedule, config.restarts) = (first, vec![first, enough]);
        let outcome = run(&model, &tenfold, config);
        // Margin 1, and every step of 0.5 takes 0.5·√2 of it.
        assert_eq!((outcome.stop, outcome.steps), (Stop::Satisfied, 2 * steps + 2), "{first:?}");
        assert_eq!(outcome.trace.steps().last().map(|s| (s.attempt, s.iteration)), Some((2, 2)));
    }
}

fn contrast(proposals: Proposals, positions: Positions) -> Config {
    let mut config = config(StepRule::UnitNorm { growth: 1.0, cap: 1.0 }, 0.1, 100);
    config.objective = Objective::Contrast { proposals, positions, lower: 1.0, otherwise: 1 };
    config
}

#[test]
fn contrast_acts_where_the_outputs_differ() {
    let model = Table::new(&[&[1.0, 0.0, 0.0], &[0.1, 0.0, 0.0]]);
    let first = |_: &Sentence, y: &[Symbol]| f32::from(u8::from(y[0] == 0));
    for proposals in [Proposals::Frozen, Proposals::Fresh] {
        let config = contrast(proposals, Positions::Differing);
        let outcome = run_with(&model, &first, config, &[fixed(&[2, 0])]);
        assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![2, 0]));
        // ∇ = e₀ − e₂ at position 0: each step takes 0.1·√2 of a margin of 1.
        assert_eq!((outcome.steps, outcome.passes), (8, 17));
        let last = outcome.trace.steps().last().unwrap();
        assert!((last.distance - 0.8).abs() < 1e-6, "{}", last.distance);
    }
}

#[test]
fn sources_leave_the_recording_alone_and_cost_their_own_passes_only() {
    let model = &Table::new(&[&[1.0, 0.0, 0.0], &[0.6, 0.0, 0.5]]);
    // The second is queried only if the first has nothing that satisfies.
    let candidates: [&[&[Symbol]]; 3] = [&[&[2, 2]], &[&[0, 0], &[2, 1]], &[&[0, 2]]];
    for (proposals, outputs) in
        [Proposals::Frozen, Proposals::Fresh].into_iter().flat_map(|p| candidates.map(|c| (p, c)))
    {
        let run = |passes: usize| {
            let sources: Vec<Fixed> =
                outputs.iter().map(|y| Fixed { y: y.to_vec(), passes }).collect();
            let config = contrast(proposals, Positions::Differing);
            let outcome = run_with(model, &zeros, config, &sources);
            let trace = outcome.trace.steps().iter();
            let trace: Vec<_> = trace.map(|s| (s.attempt, s.g, s.log_prob, s.distance)).collect();
            ((outcome.stop, outcome.output, outcome.steps, trace), outcome.passes)
        };
        let ((none, few), (some, many)) = (run(0), run(1));
        assert_eq!(none, some, "{proposals:?}");
        assert_eq!((none.0, none.1.len()), (Stop::Satisfied, 2), "{proposals:?}");
        let steps = none.2;
        assert_eq!(few, 1 + 2 * steps, "{proposals:?}");
        let often = if proposals == Proposals::Fresh { steps } else { 1 };
        assert_eq!(many - few, outputs.len() * often, "{proposals:?}");
    }
}

#[test]
fn candidates_race_and_the_nearest_wins() {
    // Symbol 2 is nearer than symbol 1; a candidate that violates takes no part.
    let model = Table::new(&[&[1.0, 0.0, 0.8]]);
    let (far, near, bad) = (fixed(&[1]), fixed(&[2]), fixed(&[0]));
    let config = contrast(Proposals::Frozen, Positions::All);
    // Every step lowers symbol 0 by 0.1/√2 and raises the target as much. On the way to 1 symbol 2
    // comes out after three steps; on the way to 2, after two. The later candidate may take one step
    // less than the winner so far, and needs a decode of its own to begin with.
    for (sources, steps, passes) in [
        ([far.clone(), near.clone(), bad.clone()], 3 + 2, 7 + 5),
        ([bad.clone(), near, far], 2 + 1, 5 + 3),
    ] {
        let outcome = run_with(&model, &zeros, config.clone(), &sources);
        assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![2]));
        assert_eq!((outcome.steps, outcome.passes), (steps, passes));
    }
    // A candidate that comes twice runs once.
    let twice = run_with(&model, &zeros, config.clone(), &[fixed(&[2]), fixed(&[2])]);
    assert_eq!((twice.stop, twice.steps, twice.passes), (Stop::Satisfied, 2, 5));
    // Without a satisfying candidate the decoded output is lowered alone.
    let outcome = run_with(&model, &zeros, config, &[bad]);
    assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![2]));
}

#[test]
fn nobody_races_against_a_single_step() {
    let model = Table::new(&[&[0.1, 0.0, -9.0]]);
    let config = contrast(Proposals::Frozen, Positions::All);
    let outcome = run_with(&model, &zeros, config, &[fixed(&[1]), fixed(&[2])]);
    assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![1]));
    assert_eq!((outcome.steps, outcome.passes), (1, 3), "no second attempt");
}

#[test]
fn a_race_that_is_cut_short_keeps_its_winner() {
    // The first candidate is reached; then time runs out over the second, which is far away.
    let model = Table::new(&[&[1.0, 0.0, -50.0]]);
    let seen = AtomicUsize::new(0);
    let slow = |x: &Sentence, y: &[Symbol]| {
        // It is checked once when it is proposed; at the second check, it has been reached.
        if y == [1] && seen.fetch_add(1, Ordering::Relaxed) == 1 {
            std::thread::sleep(Duration::from_millis(300));
        }
        zeros(x, y)
    };
    let mut config = contrast(Proposals::Frozen, Positions::All);
    config.deadline = Some(Duration::from_millis(250));
    let outcome = run_with(&model, &slow, config, &[fixed(&[1]), fixed(&[2])]);
    assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![1]));
    assert!(outcome.trace.steps().iter().any(|step| step.attempt == 1), "both were tried");
}

#[test]
fn a_race_that_is_cancelled_keeps_its_winner() {
    let model = Table::new(&[&[1.0, 0.0, -50.0]]);
    let (cancel, seen) = (Cancel::default(), AtomicUsize::new(0));
    let cancels = |x: &Sentence, y: &[Symbol]| {
        if y == [1] && seen.fetch_add(1, Ordering::Relaxed) == 1 {
            cancel.set(); // as above
        }
        zeros(x, y)
    };
    let gbi = Gbi::with(&model, contrast(Proposals::Frozen, Positions::All)).unwrap();
    let gbi = gbi.sources(vec![Box::new(fixed(&[1])), Box::new(fixed(&[2]))]);
    let outcome = gbi.cancel(cancel.clone()).run(&model.plain(), &cancels);
    assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![1]));
    // Eight steps to the winner; then the one of the second attempt that was due.
    assert_eq!((outcome.steps, outcome.passes), (8 + 1, 17 + 3));
}

#[test]
fn every_step_rule_converts() {
    let model = Table::new(&[&[0.7, 0.0], &[0.2, 0.0], &[0.0, 1.0]]);
    for (rule, step_size) in [
        (StepRule::Sgd, 0.1),
        (StepRule::Momentum { decay: 0.9 }, 0.05),
        (StepRule::ADAM, 0.05),
        (StepRule::RmsProp { decay: 0.9, epsilon: 1e-8 }, 0.02),
        (StepRule::Adadelta { rho: 0.9, epsilon: 1e-4 }, 5.0),
        (StepRule::UnitNorm { growth: 1.2, cap: 0.5 }, 0.01),
    ] {
        let outcome = run(&model, &zeros, config(rule, step_size, 200));
        assert_eq!(outcome.stop, Stop::Satisfied, "{rule:?}");
    }
}
