//! Gradient-based inference on a network that emits one symbol after another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use crate::backend::bigram::{Bigram, KINDS, Prompt};
use crate::backend::deltas::Deltas;
use crate::backend::faults::Call;
use crate::backend::outcomes::{jobs, run_set, told};
use cajole_core::constraints::{Language, Regular};
use cajole_core::decoders::{Beam, BestFirst, DoublingBeam, Greedy, MaskedBeam, Sampling};
use cajole_core::{
    BackendError, Config, ConstrainedDecoder, Constraint, Decoder, Found, Gbi, Objective, Outcome,
    Positions, Proposals, Schedule, Session, Sought, StepRule, Stepper, Stop, Symbol,
};

fn prompts() -> Vec<Prompt> {
    (0..32).map(|id| Prompt { id, kind: id % KINDS, cap: 3 + id / KINDS % 3 }).collect()
}

fn network() -> Bigram {
    Bigram::random(4, 0.8, 3)
}

/// `(0|1)2*`.
fn rule() -> Regular {
    Regular::new(&Language::any_of([0, 1]).then(Language::Symbol(2).star()).automaton(3))
}

/// The same as a black box.
fn black_box(x: &Prompt, y: &[Symbol]) -> f32 {
    rule().check(x, y).total()
}

fn lower(width: usize, candidates: usize) -> Config {
    let mut config = Config::paper();
    (config.width, config.objective) = (width, Objective::Lower { candidates });
    config.schedule = Schedule::unit(0.05, 1.1, 0.5);
    config
}

fn contrast(proposals: Proposals, positions: Positions) -> Config {
    let mut config = lower(1, 1);
    config.objective = Objective::Contrast { proposals, positions, lower: 1.0, otherwise: 1 };
    config
}

/// What holds for every outcome, whatever the settings.
fn check(model: &Bigram, x: &Prompt, outcome: &Outcome) {
    let told = told(outcome);
    let trace = &outcome.trace;
    let last = trace.steps().last().unwrap();
    let satisfies = black_box(x, &outcome.output) == 0.0;
    assert_eq!(outcome.is_satisfied(), satisfies && !outcome.capped, "{told}");
    assert!(outcome.output.len() + usize::from(!outcome.capped) <= x.cap, "{told}");
    match outcome.stop {
        Stop::AlreadySatisfied => {
            assert_eq!((outcome.steps, trace.steps().len()), (0, 1), "{told}");
        }
        Stop::Satisfied => {
            assert!(0.0 < outcome.g_before && outcome.g_after == 0.0, "{told}");
            // The outcome is the network's own output after the last nudge or an earlier one.
            let decoded = trace.steps().iter().filter(|step| step.g == 0.0);
            assert!(decoded.clone().any(|step| trace.output(step) == outcome.output), "{told}");
        }
        _ => assert!(0.0 < outcome.g_after && outcome.g_after <= outcome.g_before, "{told}"),
    }
    assert_eq!(last.passes, outcome.passes, "nothing is done after the last decode\n{told}");
    let first = f64::from(trace.steps()[0].log_prob);
    if !trace.steps()[0].capped {
        let expected = model.log_prob(x, None, trace.output(&trace.steps()[0]));
        assert!((first - expected).abs() < 1e-5, "{told}");
    }
}

/// Every violation is repaired.
fn check_all(
    model: &Bigram,
    gbi: &Gbi<'_, Bigram>,
    constraint: &dyn Constraint<Prompt>,
) -> Vec<Outcome> {
    let inputs = prompts();
    let outcomes = run_set(gbi, model, &jobs(&inputs, constraint));
    for (x, outcome) in inputs.iter().zip(&outcomes) {
        check(model, x, outcome);
        assert!(outcome.is_satisfied(), "{}", told(outcome));
    }
    assert!(8 < outcomes.iter().filter(|outcome| outcome.is_converted()).count());
    outcomes
}

#[test]
fn the_decoded_output_is_lowered_until_another_comes_out() {
    let model = network();
    for (width, candidates) in [(1, 1), (3, 1), (5, 5)] {
        let gbi = Gbi::with(&model, lower(width, candidates)).unwrap().in_step(8);
        let inputs = prompts();
        let outcomes = run_set(&gbi, &model, &jobs(&inputs, &black_box));
        inputs.iter().zip(&outcomes).for_each(|(x, outcome)| check(&model, x, outcome));
        if 1 < candidates {
            continue; // lowering many has no target, but must say how it ended
        }
        for outcome in &outcomes {
            // A decode at first; a backward pass and a decode for each step.
            let passes = width + outcome.steps * (1 + width);
            assert_eq!(
                (outcome.stop, outcome.passes),
                (Stop::Satisfied, passes),
                "{}",
                told(outcome)
            );
        }
    }
}

#[test]
fn every_decoder_is_repaired_from_every_source() {
    let (model, rule) = (network(), rule());
    let masked = MaskedBeam::of(3);
    let best = BestFirst::default();
    let sampling = Sampling::of(40, 1);
    let doubling = DoublingBeam::of(2, 64);
    // Each with the passes that it takes per input, if known in advance.
    let sources: [(&dyn ConstrainedDecoder<Bigram>, Option<usize>); 4] =
        [(&masked, Some(3)), (&best, None), (&sampling, Some(40)), (&doubling, None)];
    let decoders: [(&dyn Decoder<Bigram>, usize); 2] = [(&Greedy, 1), (&Beam::of(3), 3)];
    for ((source, cost), (decoder, width)) in sources.iter().flat_map(|&s| decoders.map(|d| (s, d)))
    {
        for proposals in [Proposals::Frozen, Proposals::Fresh] {
            for positions in [Positions::Differing, Positions::All] {
                let gbi = Gbi::with(&model, contrast(proposals, positions)).unwrap();
                let gbi = gbi.decoder(decoder).sources(vec![Box::new(source)]).in_step(8);
                for outcome in check_all(&model, &gbi, &rule) {
                    let Some(cost) = cost else { continue };
                    let often = match proposals {
                        Proposals::Frozen => outcome.steps.min(1),
                        Proposals::Fresh => outcome.steps,
                    };
                    // For each step: the candidate, the backward pass, the decode.
                    let passes = width + often * cost + outcome.steps * (2 + width);
                    assert_eq!(outcome.passes, passes, "{}", told(&outcome));
                }
            }
        }
    }
}

#[test]
fn black_boxes_are_repaired_by_what_needs_no_automaton() {
    let model = network();
    for gbi in [
        Gbi::new(&model).in_step(8),
        Gbi::with(&model, contrast(Proposals::Frozen, Positions::Differing))
            .unwrap()
            .sources(vec![Box::new(MaskedBeam::of(5)), Box::new(BestFirst::default())]),
    ] {
        check_all(&model, &gbi, &black_box);
    }
}

#[test]
fn the_candidate_of_an_inner_beam_is_raised_where_there_is_no_source() {
    let model = network();
    let mut wide = contrast(Proposals::Frozen, Positions::Differing);
    wide.width = 200; // every output is in the beam
    for proposals in [Proposals::Frozen, Proposals::Fresh] {
        let Objective::Contrast { proposals: set, .. } = &mut wide.objective else {
            unreachable!()
        };
        *set = proposals;
        for outcome in check_all(&model, &Gbi::with(&model, wide.clone()).unwrap(), &black_box) {
            assert_eq!(outcome.passes, 200 + outcome.steps * (2 + 200));
        }
    }
    assert_eq!(model.faults.made(Call::Search).len(), 0, "nothing else is searched");
}

/// `‖∇‖` of `log p(ŷ) − log p(y⁺)` over the positions where they differ, their ends among them.
fn contrast_at_differences(
    model: &Bigram,
    x: &Prompt,
    decoded: &[Symbol],
    target: &[Symbol],
) -> f64 {
    let [decoded, target] = [decoded, target].map(|y| [y, &[model.end()]].concat());
    let mut gradient: BTreeMap<(usize, usize, usize), f64> = BTreeMap::new();
    for (y, other, cost) in [(&decoded, &target, 1.0), (&target, &decoded, -1.0)] {
        for t in (0..y.len()).filter(|&t| y.get(t) != other.get(t)) {
            let previous = if t == 0 { model.end() } else { y[t - 1] };
            for (v, log_prob) in model.log_probs(x, None, t, previous).iter().enumerate() {
                let d = cost * (f64::from(u8::from(v == y[t] as usize)) - log_prob.exp());
                for row in [(0, previous as usize), (1, t), (2, x.kind), (3, 0)] {
                    *gradient.entry((row.0, row.1, v)).or_default() += d;
                }
            }
        }
    }
    gradient.values().map(|d| d * d).sum::<f64>().sqrt()
}

#[test]
fn contrast_raises_the_end_of_a_longer_target_too() {
    let (inputs, rule) = (prompts(), rule());
    let mut config = contrast(Proposals::Frozen, Positions::Differing);
    config.schedule = Schedule { rule: StepRule::Sgd, step_size: 0.01, max_steps: 1 };
    let mut lengths = BTreeSet::new();
    for model in (0..4).map(|seed| Bigram::random(4, 1.0, seed)) {
        let gbi = Gbi::with(&model, config.clone()).unwrap();
        let gbi = gbi.sources(vec![Box::new(BestFirst::default())]);
        for (x, outcome) in inputs.iter().zip(run_set(&gbi, &model, &jobs(&inputs, &rule))) {
            let trace = &outcome.trace;
            let [first, second] = trace.steps() else { continue };
            if first.capped {
                continue;
            }
            let (decoded, all) = (trace.output(first), model.all(x));
            let (target, _) = all.iter().find(|(y, _)| black_box(x, y) == 0.0).unwrap();
            let norm = contrast_at_differences(&model, x, decoded, target);
            let expected = 0.01 * f64::from(first.g) * norm;
            let off = (f64::from(second.distance) - expected).abs();
            assert!(off < 1e-6, "{decoded:?} to {target:?} is off by {off}");
            lengths.insert(decoded.len().cmp(&target.len()));
        }
    }
    assert_eq!(lengths.len(), 3, "targets are longer, shorter, and as long: {lengths:?}");
}

#[test]
fn an_output_that_never_ends_is_repaired() {
    // The constraint accepts anything, but an output that is cut off never satisfies it.
    let anything = |_: &Prompt, _: &[Symbol]| 0.0;
    let (model, inputs) = (network(), prompts());
    let gbi = Gbi::with(&model, lower(1, 1)).unwrap().in_step(8);
    let outcomes = run_set(&gbi, &model, &jobs(&inputs, &anything));
    let mut n_capped = 0;
    for (x, outcome) in inputs.iter().zip(&outcomes) {
        let first = &outcome.trace.steps()[0];
        assert_eq!(first.g, if first.capped { 1.0 / x.cap as f32 } else { 0.0 });
        assert_eq!(outcome.is_satisfied(), !outcome.capped, "{}", told(outcome));
        n_capped += usize::from(first.capped);
    }
    let converted = outcomes.iter().filter(|outcome| outcome.is_converted()).count();
    assert!(4 < n_capped && n_capped < 2 * converted, "{converted} of {n_capped}");
}

/// Forwards every query to another source, and notes under which weights.
struct Noted<'a> {
    inner: MaskedBeam,
    asked: &'a Mutex<Vec<(usize, u64, bool)>>, // input, weights, whether it is recorded
}

impl ConstrainedDecoder<Bigram> for Noted<'_> {
    fn search(
        &self,
        at: &mut Session<'_, Bigram>,
        set: &[Sought<'_, '_, Bigram>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        let noted = set.iter().map(|Sought { pass, .. }| {
            (pass.input.id, Deltas::stamp(pass.nudge), pass.place.is_some())
        });
        self.asked.lock().unwrap().extend(noted);
        self.inner.search(at, set, found)
    }
}

#[test]
fn sources_are_asked_once_under_w_or_at_every_step_under_the_nudged_weights() {
    let (model, inputs, rule) = (network(), prompts(), rule());
    for proposals in [Proposals::Frozen, Proposals::Fresh] {
        let asked = Mutex::new(Vec::new());
        let source = Noted { inner: MaskedBeam::of(2), asked: &asked };
        let gbi = Gbi::with(&model, contrast(proposals, Positions::Differing)).unwrap();
        let gbi = gbi.sources(vec![Box::new(source)]).in_step(8);
        let outcomes = run_set(&gbi, &model, &jobs(&inputs, &rule));
        drop(gbi);
        let asked = asked.into_inner().unwrap();
        for (i, outcome) in outcomes.iter().enumerate() {
            let own: Vec<u64> =
                asked.iter().filter(|(id, ..)| *id == i).map(|&(_, stamp, _)| stamp).collect();
            let often = if proposals == Proposals::Frozen { 1 } else { outcome.steps };
            assert_eq!(own.len(), often.min(outcome.steps), "input {i}");
            // The first time under W; then under other weights every time.
            let mut different = own.clone();
            different.dedup();
            assert!(own.iter().enumerate().all(|(k, stamp)| (k == 0) == (*stamp == 0)));
            assert_eq!(own.len(), different.len());
        }
        assert!(asked.iter().all(|&(.., is_recorded)| is_recorded));
    }
}

#[test]
fn candidates_that_are_cut_off_are_no_targets() {
    /// Proposes an output of the right symbols that has not ended.
    struct Endless;
    impl ConstrainedDecoder<Bigram> for Endless {
        fn search(
            &self,
            _: &mut Session<'_, Bigram>,
            _: &[Sought<'_, '_, Bigram>],
            found: &mut [Found],
        ) -> Result<(), BackendError> {
            for found in found {
                found.clear();
                let candidate = found.add();
                (candidate.output, candidate.capped) = (vec![0], true);
            }
            Ok(())
        }
    }
    let (model, inputs) = (network(), prompts());
    for proposals in [Proposals::Frozen, Proposals::Fresh] {
        let gbi = Gbi::with(&model, contrast(proposals, Positions::All)).unwrap();
        let gbi = gbi.sources(vec![Box::new(Endless)]);
        run_set(&gbi, &model, &jobs(&inputs, &black_box));
    }
    assert_eq!(model.faults.made(Call::Force).len(), 0, "nothing is raised");
}
