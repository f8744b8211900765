//! Time is kept: by descents, by searches, and by sources, which leave half of it to the descent.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::backend::bigram::{Bigram, Prompt};
use crate::backend::outcomes::{jobs, run_set};
use crate::backend::table::{Sentence, Table};
use cajole_core::constraints::{Dfa, Regular};
use cajole_core::decoders::{Beam, BestFirst, DoublingBeam, Greedy, MaskedBeam, Sampling};
use cajole_core::{
    BackendError, Config, ConstrainedDecoder, Decoder, Found, Gbi, Job, Objective, Pass, Positions,
    Proposals, Schedule, Session, Sought, StepRule, Stop, Symbol, Wanted, Workspace,
};

fn never<X>(_: &X, _: &[Symbol]) -> f32 {
    1.0
}

#[test]
fn a_deadline_is_kept() {
    let model = Table::new(&[&[1.0, 0.0]]);
    let mut config = Config::paper();
    config.schedule = Schedule { rule: StepRule::Sgd, step_size: 0.1, max_steps: 1_000_000 };
    config.restarts = vec![Schedule { max_steps: 100, ..config.schedule }; 3];
    config.deadline = Some(Duration::ZERO);
    let outcome = Gbi::with(&model, config.clone()).unwrap().run(&model.plain(), &never);
    assert_eq!((outcome.stop, outcome.steps), (Stop::Deadline, 1), "one step is always tried");
    config.deadline = Some(Duration::from_millis(50));
    let outcome = Gbi::with(&model, config.clone()).unwrap().run(&model.plain(), &never);
    let times: Vec<Duration> = outcome.trace.steps().iter().map(|step| step.elapsed).collect();
    let (last, before) = times.split_last().unwrap();
    assert_eq!(outcome.stop, Stop::Deadline);
    assert!(Duration::from_millis(50) <= *last);
    assert!(before.iter().all(|&time| time < Duration::from_millis(50)), "no step too many");
    // A deadline that no clock can hold is no deadline.
    (config.deadline, config.schedule.max_steps) = (Some(Duration::MAX), 3);
    (config.restarts, config.objective) = (Vec::new(), contrast(Proposals::Frozen));
    let outcome = Gbi::with(&model, config).unwrap().run(&model.plain(), &never);
    assert_eq!((outcome.stop, outcome.steps), (Stop::StepLimit, 3));
}

#[test]
fn an_output_that_satisfies_is_never_too_late() {
    let model = Table::new(&[&[1.0, 0.0]]);
    let mut config = Config::paper();
    config.schedule = Schedule::unit(1.0, 1.0, 1.0);
    config.deadline = Some(Duration::ZERO);
    let gbi = Gbi::with(&model, config).unwrap();
    let one = |_: &Sentence, y: &[Symbol]| f32::from(u8::from(y[0] == 0));
    assert_eq!(gbi.run(&model.plain(), &one).stop, Stop::Satisfied);
    let zero = |_: &Sentence, y: &[Symbol]| f32::from(u8::from(y[0] == 1));
    assert_eq!(gbi.run(&model.plain(), &zero).stop, Stop::AlreadySatisfied);
}

fn contrast(proposals: Proposals) -> Objective {
    Objective::Contrast { proposals, positions: Positions::All, lower: 1.0, otherwise: 1 }
}

/// Notes how much time it is given, and uses all of it if it is told to.
struct Clock<'a> {
    given: &'a Mutex<Vec<(Instant, Instant)>>, // now, until
    uses_all: bool,
}

impl ConstrainedDecoder<Table> for Clock<'_> {
    fn search(
        &self,
        _: &mut Session<'_, Table>,
        set: &[Sought<'_, '_, Table>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        for (sought, found) in set.iter().zip(found) {
            found.clear();
            let until = sought.wanted.deadline().expect("there is a deadline");
            self.given.lock().unwrap().push((Instant::now(), until));
            while self.uses_all && !sought.wanted.is_late() {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

#[test]
fn all_sources_together_get_half_of_the_time_before_the_first_step() {
    let deadline = Duration::from_millis(300);
    let model = Table::new(&[&[1.0, 0.0]]);
    let mut config = Config::paper();
    config.objective = contrast(Proposals::Frozen);
    config.schedule = Schedule { max_steps: usize::MAX, ..Schedule::unit(1e-6, 1.0, 1.0) };
    config.deadline = Some(deadline);
    let given = Mutex::new(Vec::new());
    let source =
        || Box::new(Clock { given: &given, uses_all: true }) as Box<dyn ConstrainedDecoder<_>>;
    let gbi = Gbi::with(&model, config).unwrap().sources(vec![source(), source(), source()]);
    let begun = Instant::now();
    let outcome = gbi.run(&model.plain(), &never);
    drop(gbi);
    let given = given.into_inner().unwrap();
    assert_eq!(given.len(), 3, "each is asked once");
    for (now, until) in given {
        assert!(until.saturating_duration_since(now) <= deadline / 2, "no more than half");
        assert!(deadline / 2 <= until - begun, "and no less");
    }
    assert_eq!(outcome.stop, Stop::Deadline);
    assert!(1 < outcome.steps, "time was left for steps");
}

#[test]
fn fresh_sources_have_time_for_as_long_as_there_is_any() {
    let deadline = Duration::from_millis(800);
    let model = Table::new(&[&[1.0, 0.0]]);
    let mut config = Config::paper();
    config.objective = contrast(Proposals::Fresh);
    config.schedule = Schedule::unit(1e-6, 1.0, 1.0);
    config.deadline = Some(deadline);
    let given = Mutex::new(Vec::new());
    let gbi = Gbi::with(&model, config)
        .unwrap()
        .sources(vec![Box::new(Clock { given: &given, uses_all: false })]);
    // The constraint takes its time: past half of the deadline there are several more steps.
    let slow = |_: &Sentence, _: &[Symbol]| {
        std::thread::sleep(Duration::from_millis(100));
        1.0
    };
    let outcome = gbi.run(&model.plain(), &slow);
    drop(gbi);
    let given = given.into_inner().unwrap();
    let begun = given[0].0 - Duration::from_millis(100); // at the latest
    assert_eq!(outcome.stop, Stop::Deadline);
    for pair in given.windows(2) {
        let (now, until) = pair[1];
        assert!(now < until, "no time after {:?}", now - begun);
        assert!(until <= begun + deadline);
        assert!(until - now < pair[0].1 - pair[0].0, "and each time less");
    }
    assert!(given.iter().any(|(now, _)| deadline / 2 < *now - begun));
}

/// Sixteen thousand prefixes, and a constraint that looks at each output for a while.
#[test]
fn a_long_search_leaves_time_to_descend() {
    let model = Bigram::random(12, 0.1, 1);
    let x = Prompt { id: 0, kind: 0, cap: 5 };
    let mut config = Config::best();
    config.deadline = Some(Duration::from_millis(200));
    let slow = |_: &Prompt, _: &[Symbol]| {
        std::thread::sleep(Duration::from_millis(1));
        1.0
    };
    let begun = Instant::now();
    let outcome = Gbi::with(&model, config).unwrap().run(&x, &slow);
    assert_eq!(outcome.stop, Stop::Deadline);
    assert!(0 < outcome.steps);
    assert!(begun.elapsed() < Duration::from_secs(4), "the whole search takes 16 s");
}

#[test]
fn searches_that_are_late_find_nothing_and_say_so() {
    let model = Bigram::random(4, 0.5, 1);
    let x = Prompt { id: 0, kind: 0, cap: 5 };
    let anything = Regular::new(&Dfa::explore(3, (), |(), _| Some(()), |()| true));
    let all: [&dyn ConstrainedDecoder<Bigram>; 4] = [
        &MaskedBeam::of(4),
        &BestFirst::default(),
        &DoublingBeam::of(1, 1 << 20),
        &Sampling::of(1000, 1),
    ];
    for (i, decoder) in all.into_iter().enumerate() {
        let mut n_found = [0; 2];
        for (late, n_found) in n_found.iter_mut().enumerate() {
            let mut wanted = Wanted::new(&x, &anything);
            wanted.until = (late == 1).then(Instant::now);
            let sought = Sought { pass: Pass::base(&x), wanted: &wanted };
            let mut found = [Found::default()];
            let mut workspace = Workspace::new(&model);
            decoder.search(&mut workspace.session(&model), &[sought], &mut found).unwrap();
            *n_found = found[0].candidates().len();
        }
        assert!(0 < n_found[0] && n_found[1] == 0, "search {i} finds {n_found:?}");
    }
    // An unsatisfiable one ends in time, too.
    let mut wanted = Wanted::new(&x, &never);
    wanted.until = Some(Instant::now() + Duration::from_millis(50));
    let sought = Sought { pass: Pass::base(&x), wanted: &wanted };
    let mut found = [Found::default()];
    let wide = DoublingBeam::of(1, usize::MAX);
    let mut workspace = Workspace::new(&model);
    wide.search(&mut workspace.session(&model), &[sought], &mut found).unwrap();
    assert_eq!(found[0].candidates().len(), 0);
}

#[test]
fn decoders_that_are_late_stop_in_the_middle_of_an_output() {
    let x = Prompt { id: 0, kind: 0, cap: 6 };
    let is_long = |model: &Bigram| {
        let mut found = vec![Found::default()];
        let mut workspace = Workspace::new(model);
        Greedy.decode(&mut workspace.session(model), &[Pass::base(&x)], &mut found).unwrap();
        4 < found[0].best().unwrap().output.len()
    };
    let model = (0..).map(|seed| Bigram::random(4, 0.5, seed)).find(is_long).unwrap();
    let slow = Prompt { id: 1, kind: 1, cap: 3 };
    let own: [&dyn Decoder<Bigram>; 2] = [&Greedy, &Beam::of(3)];
    for decoder in own {
        let in_time =
            |x| Pass { until: Some(Instant::now() + Duration::from_secs(600)), ..Pass::base(x) };
        let late = Pass { until: Some(Instant::now()), ..Pass::base(&x) };
        let mut found = vec![Found::default(); 2];
        let mut workspace = Workspace::new(&model);
        decoder
            .decode(&mut workspace.session(&model), &[late, in_time(&slow)], &mut found)
            .unwrap();
        let cut = found[0].best().unwrap();
        assert!(cut.output.len() <= 1, "{:?}", cut.output);
        let mut alone = vec![Found::default()];
        decoder.decode(&mut workspace.session(&model), &[in_time(&slow)], &mut alone).unwrap();
        assert_eq!(found[1].best().unwrap().output, alone[0].best().unwrap().output);
    }
    // A descent keeps its first output, and later ones only if they are complete.
    let mut config = Config::paper();
    config.deadline = Some(Duration::ZERO);
    let satisfied = |_: &Prompt, _: &[Symbol]| 0.0;
    let gbi = Gbi::with(&model, config).unwrap();
    let outcome = gbi.run(&x, &satisfied);
    assert_eq!((outcome.stop, outcome.capped, outcome.steps), (Stop::Deadline, true, 0));
}

#[test]
fn every_input_of_a_set_has_its_own_time() {
    // The second input begins when the first is done, so it has all of its time left.
    let model = Table::new(&[&[1.0, 0.0]]);
    let inputs = [0, 1].map(|id| Sentence { id, ..model.plain() });
    let mut config = Config::paper();
    config.schedule = Schedule { max_steps: usize::MAX, ..Schedule::unit(1e-9, 1.0, 1.0) };
    config.deadline = Some(Duration::from_millis(60));
    let gbi = Gbi::with(&model, config).unwrap().in_step(1);
    let outcomes = run_set(&gbi, &model, &jobs(&inputs, &never));
    for outcome in outcomes {
        assert_eq!(outcome.stop, Stop::Deadline);
        assert!(1 < outcome.steps, "both had time for more than the one step that is always tried");
    }
}

#[test]
fn the_time_of_a_job_begins_with_it() {
    let model = Table::new(&[&[1.0, 0.0]]);
    let inputs = [0, 1].map(|id| Sentence { id, ..model.plain() });
    let mut config = Config::paper();
    config.schedule = Schedule { max_steps: usize::MAX, ..Schedule::unit(1e-9, 1.0, 1.0) };
    let gbi = Gbi::with(&model, config).unwrap().in_step(1);
    let (time, jobs) = (Duration::from_millis(60), jobs(&inputs, &never));
    let each: Vec<Job<'_, _>> = jobs.iter().map(|job| job.within(time)).collect();
    for outcome in run_set(&gbi, &model, &each) {
        assert_eq!(outcome.stop, Stop::Deadline);
        assert!(1 < outcome.steps && time <= outcome.trace.steps().last().unwrap().elapsed);
    }
    // Whoever waits does not wait for others either.
    let until = Instant::now() + time;
    let both: Vec<Job<'_, _>> = each.iter().map(|job| job.until(until)).collect();
    let outcomes = run_set(&gbi, &model, &both);
    assert!(outcomes.iter().all(|outcome| outcome.stop == Stop::Deadline));
    assert!(1 < outcomes[0].steps && outcomes[1].steps == 1, "the other's time was up before");
}

#[test]
fn searches_of_one_input_after_another_give_each_its_own_time() {
    let model = Bigram::random(12, 0.1, 1);
    let inputs = [0, 1, 2].map(|id| Prompt { id, kind: 0, cap: 5 });
    let slow = |_: &Prompt, _: &[Symbol]| {
        std::thread::sleep(Duration::from_millis(1));
        1.0
    };
    let time = Duration::from_millis(60);
    let mut wanted = [0, 1, 2].map(|i| Wanted::new(&inputs[i], &slow));
    wanted.iter_mut().for_each(|wanted| wanted.allow(Some(time)));
    let sought = [0, 1, 2].map(|i| Sought { pass: Pass::base(&inputs[i]), wanted: &wanted[i] });
    let mut found = vec![Found::default(); 3];
    let search = BestFirst { max_expansions: usize::MAX, ..BestFirst::default() };
    let mut workspace = Workspace::new(&model);
    search.search(&mut workspace.session(&model), &sought, &mut found).unwrap();
    for (found, wanted) in found.iter().zip(&wanted) {
        assert!(0 < found.passes && time <= wanted.took(), "{:?}", wanted.took());
    }
    // A search of all together begins with all of them at once.
    wanted.iter_mut().for_each(|wanted| wanted.allow(Some(time)));
    let sought = [0, 1, 2].map(|i| Sought { pass: Pass::base(&inputs[i]), wanted: &wanted[i] });
    let begun = Instant::now();
    let wide = DoublingBeam::of(1, usize::MAX);
    wide.search(&mut workspace.session(&model), &sought, &mut found).unwrap();
    assert!(wanted.iter().all(|wanted| time <= wanted.took() && wanted.took() <= begun.elapsed()));
}
