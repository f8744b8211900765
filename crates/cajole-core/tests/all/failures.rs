//! Backends fail: a GPU runs out of memory, a callback raises. All inputs that can continue do.

use std::collections::BTreeSet;

use crate::backend::bigram::{Bigram, KINDS, Prompt};
use crate::backend::faults::{Call, Fault};
use crate::backend::outcomes::{all_told, jobs, run_set, told};
use crate::backend::table::{Sentence, Table};
use cajole_core::constraints::{Language, Regular};
use cajole_core::corpus::decode_all;
use cajole_core::{
    BackendError, Config, ConstrainedDecoder, Decoder, Found, Gbi, Job, Model, Objective, Outcome,
    Pass, Positions, Proposals, Schedule, Search, Session, Sought, Stop, Symbol,
};

/// Contrast by a race with restarts: every kind of call is made.
fn config() -> Config {
    let mut config = Config::paper();
    config.objective = Objective::Contrast {
        proposals: Proposals::Frozen,
        positions: Positions::Differing,
        lower: 1.0,
        otherwise: 1,
    };
    config.sources = vec![Search::Masked { width: 3 }, Search::BlackBox { limit: 64 }];
    config.schedule = Schedule { max_steps: 4, ..Schedule::unit(0.05, 1.2, 0.5) };
    config.restarts = vec![Schedule { max_steps: 40, ..Schedule::unit(0.2, 1.2, 0.5) }];
    config
}

fn prompts() -> Vec<Prompt> {
    (0..24).map(|id| Prompt { id, kind: id % KINDS, cap: 3 + id % 3 }).collect()
}

fn network(faults: &[Fault]) -> Bigram {
    let mut model = Bigram::random(4, 0.8, 3);
    model.faults.planned = faults.to_vec();
    model
}

/// `(0|1)2*`.
fn rule() -> Regular {
    Regular::new(&Language::any_of([0, 1]).then(Language::Symbol(2).star()).automaton(3))
}

fn run(faults: &[Fault], in_step: usize) -> (Vec<Outcome>, Bigram) {
    let model = network(faults);
    let (inputs, rule) = (prompts(), rule());
    let gbi = Gbi::with(&model, config()).unwrap().in_step(in_step);
    let outcomes = run_set(&gbi, &model, &jobs(&inputs, &rule));
    drop(gbi);
    assert_eq!(model.bits(), network(&[]).bits(), "W is never changed");
    (outcomes, model)
}

/// Checks that these inputs have failed by `fault`, and that nothing has happened to the others.
fn check(outcomes: &[Outcome], failed: &[usize], fault: Fault, expected: &[String]) {
    for (i, outcome) in outcomes.iter().enumerate() {
        if failed.contains(&i) {
            let failure = Some(BackendError::new(format!("{fault:?}")));
            assert_eq!((outcome.stop, &outcome.failure), (Stop::Failed, &failure), "input {i}");
            assert!(!outcome.is_satisfied() && !outcome.is_converted());
        } else {
            assert_eq!(told(outcome), expected[i], "input {i} of a set with {fault:?}");
        }
    }
}

#[test]
fn an_input_that_fails_takes_nobody_with_it() {
    let (fine, _) = run(&[], 1);
    let expected = all_told(&fine);
    // One that is repaired in several steps, so that it takes part in every kind of call.
    let long = |o: &&Outcome| o.stop == Stop::Satisfied && 4 < o.steps;
    let input = fine.iter().position(|o| long(&o)).expect("one takes long");
    for call in [Call::Decode, Call::Search, Call::Step, Call::Force, Call::Gradient] {
        for in_step in [1, 3, 8, 64] {
            let fault = Fault::Input(call, input);
            let (outcomes, _) = run(&[fault], in_step);
            check(&outcomes, &[input], fault, &expected);
            // Only a failed decode leaves nothing to show.
            let has_output = !matches!(call, Call::Decode | Call::Step);
            let failed = &outcomes[input];
            assert_eq!(failed.trace.steps().len(), usize::from(has_output), "{call:?}");
            match has_output {
                true => assert_eq!(failed.g_before, fine[input].g_before),
                false => assert!(failed.g_before.is_nan() && failed.output.is_empty()),
            }
        }
    }
}

#[test]
fn several_inputs_fail_each_for_itself() {
    let expected = all_told(&run(&[], 1).0);
    let failed = [0, 1, 7, 16, 23];
    let faults = failed.map(|input| Fault::Input(Call::Decode, input));
    for in_step in [1, 3, 8, 64] {
        let (outcomes, model) = run(&faults, in_step);
        for (&input, &fault) in failed.iter().zip(&faults) {
            check(&outcomes[input..=input], &[0], fault, &expected);
        }
        let others = (0..24).filter(|i| !failed.contains(i));
        others.for_each(|i| assert_eq!(told(&outcomes[i]), expected[i]));
        // Those that come after the last one that fails are in step again.
        let decodes = model.faults.made(Call::Decode);
        let last = decodes.iter().rposition(|set| set.iter().any(|i| failed.contains(i))).unwrap();
        let begun: BTreeSet<usize> = decodes[..=last].concat().into_iter().collect();
        let waiting = 24 - begun.len();
        let next = decodes.get(last + 1).map_or(0, Vec::len);
        assert!(waiting.min(in_step) <= next, "{next} of {in_step} after {last}, {waiting} wait");
    }
}

#[test]
fn sets_that_are_too_large_are_halved() {
    let expected = all_told(&run(&[], 1).0);
    for most in [1, 2, 5, 7] {
        for call in [Call::Decode, Call::Search, Call::Force, Call::Gradient, Call::TakeStep] {
            let fault = Fault::Above(call, most);
            let (outcomes, model) = run(&[fault], 16);
            assert_eq!(all_told(&outcomes), expected, "{fault:?}");
            let sizes: Vec<usize> = model.faults.made(call).iter().map(Vec::len).collect();
            let n_failed = sizes.iter().filter(|&&n| most < n).count();
            assert!((1..=4).contains(&n_failed), "{fault:?} in sets of {sizes:?}");
        }
    }
    // A set that failed is retried in halves.
    for (most, sizes) in [(1, vec![16, 8, 4, 2, 1]), (5, vec![16, 8, 4]), (7, vec![16, 8, 4])] {
        let (_, model) = run(&[Fault::Above(Call::Decode, most)], 16);
        let decodes = model.faults.made(Call::Decode);
        let first = &decodes[..sizes.len()];
        assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
        assert!(first.windows(2).all(|pair| pair[1].iter().all(|input| pair[0].contains(input))));
    }
    // Even one input is too much.
    let (outcomes, _) = run(&[Fault::Above(Call::Decode, 0)], 16);
    check(&outcomes, &(0..24).collect::<Vec<_>>(), Fault::Above(Call::Decode, 0), &[]);
}

#[test]
fn a_failure_that_passes_is_survived_in_a_set() {
    let (fine, _) = run(&[], 1);
    let expected = all_told(&fine);
    for call in
        [Call::Decode, Call::Search, Call::Step, Call::Force, Call::Gradient, Call::TakeStep]
    {
        for n in [0, 1, 5] {
            let fault = Fault::Nth(call, n);
            let (outcomes, model) = run(&[fault], 8);
            assert!(n < model.faults.made(call).len(), "{fault:?} has happened");
            assert_eq!(all_told(&outcomes), expected, "{fault:?}");
            // A set of one cannot get smaller, so its input has failed.
            let (outcomes, _) = run(&[fault], 1);
            let failed: Vec<usize> =
                (0..24).filter(|&i| outcomes[i].stop == Stop::Failed).collect();
            assert_eq!(failed.len(), 1, "{fault:?}");
            check(&outcomes, &failed, fault, &expected);
        }
    }
}

#[test]
fn without_room_for_more_nudges_fewer_are_in_step() {
    let expected = all_told(&run(&[], 1).0);
    for room in [1, 2, 5] {
        let (outcomes, model) = run(&[Fault::From(Call::Nudge, room)], 8);
        assert_eq!(all_told(&outcomes), expected, "room for {room}");
        let sizes = model.faults.made(Call::Decode).iter().map(Vec::len).max();
        assert_eq!(sizes, Some(room));
        let decodes: usize = model.faults.made(Call::Decode).iter().map(Vec::len).sum();
        let alone = run(&[], 1).1.faults.made(Call::Decode).len();
        assert_eq!(decodes, alone, "nobody has to start over");
    }
    let fault = Fault::From(Call::Nudge, 0);
    for in_step in [1, 8] {
        let (outcomes, _) = run(&[fault], in_step);
        check(&outcomes, &(0..24).collect::<Vec<_>>(), fault, &[]);
    }
}

#[test]
fn a_race_that_fails_keeps_its_winner() {
    /// Proposes 1, then 2; in the network's second descent, steps fail.
    struct Both(Symbol);
    impl ConstrainedDecoder<Table> for Both {
        fn search(
            &self,
            _: &mut Session<'_, Table>,
            _: &[Sought<'_, '_, Table>],
            found: &mut [Found],
        ) -> Result<(), BackendError> {
            found.iter_mut().for_each(|found| {
                found.clear();
                found.add().output.push(self.0);
            });
            Ok(())
        }
    }
    let mut model = Table::new(&[&[1.0, 0.0, -9.0]]);
    // The first candidate is reached in eight steps, see `algorithm.rs`.
    model.faults.planned = vec![Fault::From(Call::TakeStep, 10)];
    let mut config = config();
    config.schedule = Schedule::unit(0.1, 1.0, 1.0);
    let sources: Vec<Box<dyn ConstrainedDecoder<Table>>> =
        vec![Box::new(Both(1)), Box::new(Both(2))];
    let gbi = Gbi::with(&model, config).unwrap().sources(sources);
    let zero = |_: &Sentence, y: &[Symbol]| f32::from(u8::from(y[0] == 0));
    let outcome = gbi.run(&model.plain(), &zero);
    assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![1]));
    assert_eq!(outcome.failure, Some(BackendError::new("From(TakeStep, 10)")));
    assert_eq!((outcome.steps, outcome.g_after), (10, 0.0));
}

/// Finds nothing for some inputs, against its contract.
struct Silent<'a>(Box<dyn Decoder<Table> + 'a>);

impl Decoder<Table> for Silent<'_> {
    fn decode(
        &self,
        at: &mut Session<'_, Table>,
        set: &[Pass<'_, Table>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        self.0.decode(at, set, found)?;
        let all = set.iter().zip(found).filter(|(pass, _)| pass.input.id == 3);
        all.for_each(|(_, found)| found.clear());
        Ok(())
    }
}

#[test]
fn a_decoder_that_finds_nothing_has_failed() {
    let model = Table::new(&[&[1.0, 0.0]]);
    let inputs: Vec<Sentence> = (0..6).map(|id| Sentence { id, ..model.plain() }).collect();
    let zero = |_: &Sentence, y: &[Symbol]| f32::from(u8::from(y[0] == 0));
    let gbi = Gbi::new(&model).in_step(4).decoder(Silent(model.decoder(1.into())));
    for (i, outcome) in run_set(&gbi, &model, &jobs(&inputs, &zero)).iter().enumerate() {
        let stop = if i == 3 { Stop::Failed } else { Stop::Satisfied };
        assert_eq!((outcome.stop, outcome.failure.is_some()), (stop, i == 3), "{i}");
    }
}

#[test]
fn corpora_report_failures_too() {
    let inputs = prompts();
    let rule = rule();
    let expected = all_told(&run(&[], 1).0);
    let fault = Fault::Input(Call::Gradient, 9);
    let model = network(&[fault]);
    let gbi = Gbi::with(&model, config()).unwrap().in_step(4);
    let jobs: Vec<Job<'_, Prompt>> = jobs(&inputs, &rule);
    check(&gbi.run_all(&jobs, |_, _| ()), &[9], fault, &expected);
    let model = network(&[Fault::Input(Call::Search, 9)]);
    let xs: Vec<&Prompt> = inputs.iter().collect();
    let error = decode_all(&model, &*model.decoder(1.into()), &xs).unwrap_err();
    assert_eq!(error.to_string(), "Input(Search, 9)");
}
