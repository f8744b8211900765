//! A run that is cancelled ends between two steps, and keeps what it has.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::backend::faults::Call;
use crate::backend::outcomes::{jobs, run_set};
use crate::backend::table::{Sentence, Table};
use cajole_core::{Cancel, Config, Gbi, Job, Outcome, Schedule, Step, Stop, Symbol, Watcher};

fn table() -> Table {
    Table::new(&[&[0.5, 0.0, 0.4], &[0.5, 0.0, -40.0]])
}

fn sentences(model: &Table, n: usize) -> Vec<Sentence> {
    (0..n).map(|id| Sentence { id, ..model.plain() }).collect()
}

/// Short steps, and no end of them.
fn endless() -> Config {
    let mut config = Config::paper();
    config.schedule = Schedule { max_steps: usize::MAX, ..Schedule::unit(1e-6, 1.0, 1.0) };
    config.restarts = vec![config.schedule; 3];
    config
}

fn check_cancelled(outcome: &Outcome) {
    assert_eq!(outcome.stop, Stop::Cancelled);
    assert!(outcome.failure.is_none() && !outcome.is_satisfied());
    if outcome.trace.steps().is_empty() {
        // It had not begun, so nothing runs for it any more.
        assert_eq!((outcome.output.len(), outcome.steps, outcome.passes), (0, 0, 0));
        return;
    }
    assert_eq!((&outcome.output, outcome.g_after), (&vec![0, 0], 1.0), "what was found so far");
    assert_eq!(outcome.trace.steps().len(), outcome.steps + 1, "it ends between two steps");
}

#[test]
fn a_constraint_can_cancel() {
    for in_step in [1, 3, 8, 64] {
        let model = table();
        let (before, inputs) = (model.bits(), sentences(&model, 20));
        let (cancel, n_checks) = (Cancel::default(), AtomicUsize::new(0));
        let at_cancel = AtomicUsize::new(usize::MAX);
        let never = |_: &Sentence, _: &[Symbol]| {
            if n_checks.fetch_add(1, Ordering::Relaxed) == 100 {
                at_cancel.store(model.faults.made(Call::TakeStep).len(), Ordering::Relaxed);
                cancel.set();
            }
            1.0
        };
        let gbi = Gbi::with(&model, endless()).unwrap().in_step(in_step).cancel(cancel.clone());
        let outcomes = run_set(&gbi, &model, &jobs(&inputs, &never));
        outcomes.iter().for_each(check_cancelled);
        // Some had begun; those that wait are turned away.
        let begun = outcomes.iter().filter(|o| 0 < o.steps).count();
        assert_eq!(begun, in_step.min(20));
        let after = model.faults.made(Call::TakeStep).len() - at_cancel.into_inner();
        // An input that was measured before the flag was set still takes its next step.
        assert!(after <= 1, "{after} steps after the run was cancelled");
        assert_eq!(model.bits(), before);
    }
}

#[test]
fn another_thread_can_cancel() {
    let model = table();
    let (inputs, cancel) = (sentences(&model, 20), Cancel::default());
    let never = |_: &Sentence, _: &[Symbol]| 1.0;
    let gbi = Gbi::with(&model, endless()).unwrap().in_step(4).cancel(cancel.clone());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            cancel.set();
        });
        // Without the flag this would never end.
        let outcomes = gbi.run_all(&jobs(&inputs, &never), |_, _| ());
        assert_eq!(outcomes.len(), 20);
        outcomes.iter().for_each(check_cancelled);
        assert!(outcomes.iter().any(|outcome| 0 < outcome.steps));
    });
}

#[test]
fn a_run_that_is_cancelled_before_it_begins_runs_nothing() {
    let model = table();
    let (inputs, cancel) = (sentences(&model, 10), Cancel::default());
    cancel.set();
    let gbi = Gbi::new(&model).in_step(4).cancel(cancel);
    let never = |_: &Sentence, _: &[Symbol]| 1.0;
    let outcomes = run_set(&gbi, &model, &jobs(&inputs, &never));
    assert_eq!(outcomes.len(), 10);
    for outcome in &outcomes {
        check_cancelled(outcome);
        assert!(outcome.trace.steps().is_empty());
    }
    for call in [Call::Search, Call::Force, Call::Gradient, Call::TakeStep] {
        assert_eq!(model.faults.made(call).len(), 0, "{call:?}");
    }
}

/// Leaves after so many decodes.
struct Impatient {
    heard: AtomicUsize,
    most: usize,
}

impl Watcher for Impatient {
    fn has_left(&self) -> bool {
        self.most <= self.heard.load(Ordering::Relaxed)
    }

    fn decoded(&self, step: &Step, output: &[Symbol]) {
        assert_eq!(step.iteration, self.heard.fetch_add(1, Ordering::Relaxed));
        assert_eq!(output, [0, 0]);
    }
}

#[test]
fn whoever_leaves_takes_nobody_along() {
    for in_step in [1, 3, 8] {
        let model = table();
        let inputs = sentences(&model, 6);
        let watchers: Vec<Impatient> =
            (0..6).map(|i| Impatient { heard: AtomicUsize::new(0), most: 5 * i }).collect();
        let never = |_: &Sentence, _: &[Symbol]| 1.0;
        let mut jobs = jobs(&inputs, &never);
        let watched: Vec<Job<'_, Sentence>> =
            jobs.drain(..).zip(&watchers).map(|(job, watcher)| job.watcher(watcher)).collect();
        let gbi = Gbi::with(&model, endless()).unwrap().in_step(in_step);
        let outcomes = run_set(&gbi, &model, &watched);
        for (outcome, watcher) in outcomes.iter().zip(&watchers) {
            check_cancelled(outcome);
            // The decode at which the watcher leaves is the last one; nothing follows it.
            assert_eq!(outcome.trace.steps().len(), watcher.most + 1);
            assert_eq!(watcher.heard.load(Ordering::Relaxed), watcher.most + 1);
        }
    }
}
