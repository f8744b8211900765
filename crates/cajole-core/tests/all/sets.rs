//! Many inputs in step: each has the outcome that it has alone, whatever else is in the set.

use crate::backend::bigram::{Bigram, KINDS, Prompt};
use crate::backend::faults::Call;
use crate::backend::outcomes::{all_told, jobs, run_in, run_set, told};
use crate::backend::table::{Sentence, Table};
use cajole_core::constraints::{Language, Regular};
use cajole_core::random::Random;
use cajole_core::{
    Config, Constraint, Gbi, Job, Model, Objective, Outcome, Positions, Proposals, Schedule,
    Search, StepRule, Stop, Symbol, Violation, Workspace,
};

/// Inputs of one to six positions.
fn sentences(n: usize, seed: u64) -> Vec<Sentence> {
    let mut random = Random::new(seed);
    let mut sentence = |id| {
        let length = 1 + random.below(6);
        let mut row = || (0..3).map(|_| random.uniform(-1.0, 1.0)).collect();
        Sentence { id, scores: (0..length).map(|_| row()).collect() }
    };
    (0..n).map(&mut sentence).collect()
}

fn table() -> Table {
    Table::new(&[&[0.5, 0.0, 0.2][..]; 6])
}

fn prompts(n: usize) -> Vec<Prompt> {
    (0..n).map(|id| Prompt { id, kind: id % KINDS, cap: 2 + id % 4 }).collect()
}

/// How many symbols are the same as the one before, as a black box.
fn repeats<X>(_: &X, y: &[Symbol]) -> f32 {
    y.windows(2).filter(|pair| pair[0] == pair[1]).count() as f32
}

/// Presets and settings that between them use everything a run can do.
fn configs() -> Vec<(&'static str, Config)> {
    let unit = |step_size, max_steps| Schedule { max_steps, ..Schedule::unit(step_size, 1.1, 0.5) };
    let with = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::paper();
        config.schedule = unit(0.05, 12);
        change(&mut config);
        config
    };
    let contrast = |proposals| Objective::Contrast {
        proposals,
        positions: Positions::Differing,
        lower: 1.0,
        otherwise: 2,
    };
    let all = vec![
        Search::Masked { width: 3 },
        Search::Masked { width: 1 },
        Search::BlackBox { limit: 64 },
    ];
    vec![
        ("lower", with(&|_| ())),
        ("pull", with(&|c| c.pull = 0.3)),
        ("beam", with(&|c| (c.width, c.objective) = (4, Objective::Lower { candidates: 3 }))),
        (
            "restarts",
            with(&|c| {
                c.restarts = vec![
                    unit(0.3, 3),
                    Schedule { rule: StepRule::ADAM, step_size: 0.1, max_steps: 30 },
                ];
            }),
        ),
        (
            "race",
            with(&|c| {
                (c.objective, c.sources) = (contrast(Proposals::Frozen), all.clone());
                c.restarts = vec![unit(0.3, 30)];
            }),
        ),
        ("fresh", with(&|c| (c.objective, c.sources) = (contrast(Proposals::Fresh), all.clone()))),
        ("best", Config::best()),
    ]
}

/// Jobs under several constraints, in turn.
fn mixed<'a, X>(inputs: &'a [X], constraints: &[&'a dyn Constraint<X>]) -> Vec<Job<'a, X>> {
    let constraint = |i: usize| constraints[i % constraints.len()];
    inputs.iter().enumerate().map(|(i, input)| Job::new(input, constraint(i))).collect()
}

/// Every outcome is the same alone, in sets of all sizes, and in any order.
fn check<M: Model>(model: &M, jobs: &[Job<'_, M::Input>], name: &str, config: &Config) {
    let gbi = |n| Gbi::with(model, config.clone()).unwrap().in_step(n);
    let alone: Vec<Outcome> =
        jobs.iter().map(|job| gbi(1).run(job.input, job.constraint)).collect();
    let expected = all_told(&alone);
    for in_step in [1, 3, 8, 64] {
        assert_eq!(all_told(&run_set(&gbi(in_step), model, jobs)), expected, "{name}, {in_step}");
    }
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    Random::new(5).shuffle(&mut order);
    let shuffled: Vec<Job<'_, M::Input>> = order.iter().map(|&i| jobs[i]).collect();
    let outcomes = all_told(&run_set(&gbi(8), model, &shuffled));
    for (outcome, &i) in outcomes.iter().zip(&order) {
        assert_eq!(*outcome, expected[i], "{name}, shuffled");
    }
    // There is something to compare: some needed nothing, some were repaired.
    let count = |stop| alone.iter().filter(|o| o.stop == stop).count();
    assert!(
        2 < count(Stop::AlreadySatisfied) && 2 < count(Stop::Satisfied),
        "{name}: {expected:?}"
    );
}

#[test]
fn outcomes_of_a_tagger_do_not_depend_on_the_set() {
    let (model, inputs) = (table(), sentences(40, 1));
    let no_first = Regular::new(&Language::any_of([1, 2]).then(Language::Any.star()).automaton(3));
    for (name, config) in configs() {
        check(&model, &mixed(&inputs, &[&repeats, &no_first]), name, &config);
    }
}

#[test]
fn outcomes_of_a_stepper_do_not_depend_on_the_set() {
    let (model, inputs) = (Bigram::random(4, 0.8, 3), prompts(40));
    // (0|1)2*, and at least one symbol.
    let language = Language::any_of([0, 1]).then(Language::Symbol(2).star());
    let regular = Regular::new(&language.automaton(3));
    let long = |_: &Prompt, y: &[Symbol]| if y.is_empty() { 1.0 } else { 0.0 };
    for (name, config) in configs() {
        check(&model, &mixed(&inputs, &[&repeats, &regular, &long]), name, &config);
    }
}

#[test]
fn passes_stay_full_while_anyone_waits() {
    let inputs = sentences(40, 2);
    let mut config = Config::paper();
    config.schedule = Schedule::unit(0.05, 1.1, 0.5);
    let model = table();
    let gbi = Gbi::with(&model, config).unwrap().in_step(8);
    let outcomes = run_set(&gbi, &model, &jobs(&inputs, &repeats));
    let decodes: usize = outcomes.iter().map(|o| o.trace.steps().len()).sum();
    let sizes: Vec<usize> = model.faults.made(Call::Decode).iter().map(Vec::len).collect();
    // The set shrinks only once nobody waits.
    let mut begun: Vec<usize> = Vec::new();
    for set in model.faults.made(Call::Decode) {
        begun.extend(&set);
        begun.sort_unstable();
        begun.dedup();
        assert!(set.len() == 8 || begun.len() == inputs.len(), "{sizes:?}");
    }
    assert_eq!(sizes.iter().sum::<usize>(), decodes, "nobody is decoded for nothing");
    // The longest come first.
    let length = |id: &usize| inputs[*id].scores.len();
    let mut lengths: Vec<usize> = (0..inputs.len()).map(|id| length(&id)).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let first: Vec<usize> = model.faults.made(Call::Decode)[0].iter().map(length).collect();
    assert_eq!(first, lengths[..8]);
    assert_eq!(model.faults.made(Call::Nudge).len(), 8, "no more nudges than places");
}

#[test]
fn satisfied_inputs_take_one_pass_and_no_step() {
    let (model, inputs) = (table(), sentences(20, 4));
    let anything = |_: &Sentence, _: &[Symbol]| 0.0;
    let gbi = Gbi::new(&model).in_step(8);
    for outcome in run_set(&gbi, &model, &jobs(&inputs, &anything)) {
        assert_eq!((outcome.stop, outcome.passes), (Stop::AlreadySatisfied, 1));
    }
    assert_eq!(model.faults.made(Call::Gradient).len(), 0);
    assert_eq!(model.faults.made(Call::TakeStep).len(), 0);
}

#[test]
fn nothing_to_do_is_done_at_once() {
    let model = table();
    assert_eq!(run_set(&Gbi::new(&model), &model, &[]).len(), 0);
    assert_eq!(model.faults.made(Call::Decode).len(), 0);
}

#[test]
fn a_workspace_remembers_nothing() {
    let (model, inputs) = (table(), sentences(20, 6));
    let jobs = jobs(&inputs, &repeats);
    let with = |patterns: &[&str], pull| {
        let mut config = Config::paper();
        config.moves = patterns.iter().map(|&p| p.to_owned()).collect();
        config.pull = pull;
        config.schedule = Schedule { rule: StepRule::ADAM, step_size: 0.05, max_steps: 20 };
        Gbi::with(&model, config).unwrap().in_step(4)
    };
    let gbis =
        [with(&[], 0.0), with(&["position1"], 0.0), with(&["*0", "*3"], 0.5), with(&[], 0.0)];
    let mut used = Workspace::new(&model);
    for gbi in &gbis {
        let outcomes = all_told(&run_in(gbi, &mut used, &jobs));
        assert_eq!(outcomes, all_told(&run_set(gbi, &model, &jobs)));
    }
}

#[test]
fn a_workspace_survives_a_panic() {
    let (model, inputs) = (table(), sentences(10, 6));
    let gbi = Gbi::new(&model).in_step(4);
    let mut used = Workspace::new(&model);
    let panics =
        |x: &Sentence, y: &[Symbol]| if x.id == 7 { panic!("seven") } else { repeats(x, y) };
    let run = || gbi.run_set(&jobs(&inputs, &panics), &mut used, |_, _| ());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    let again = all_told(&run_in(&gbi, &mut used, &jobs(&inputs, &repeats)));
    assert_eq!(again, all_told(&run_set(&gbi, &model, &jobs(&inputs, &repeats))));
}

#[test]
fn inputs_that_share_an_object_are_different_jobs() {
    let (model, inputs) = (table(), sentences(1, 9));
    let first_is =
        |wanted: Symbol| move |_: &Sentence, y: &[Symbol]| f32::from(u8::from(y[0] != wanted));
    let constraints = [first_is(0), first_is(1), first_is(2)];
    let jobs: Vec<Job<'_, Sentence>> =
        constraints.iter().map(|constraint| Job::new(&inputs[0], constraint)).collect();
    let gbi = Gbi::new(&model).in_step(3);
    for (wanted, outcome) in (0..).zip(run_set(&gbi, &model, &jobs)) {
        assert!(outcome.is_satisfied() && outcome.output[0] == wanted, "{}", told(&outcome));
    }
}

#[test]
fn parts_beyond_the_output_blame_nobody() {
    struct Beyond;
    impl Constraint<Sentence> for Beyond {
        fn check(&self, _: &Sentence, y: &[Symbol]) -> Violation {
            let at = y.len() + 2..y.len() + 9;
            Violation::Parts(vec![cajole_core::Part { at, cost: 1.0 }])
        }
    }
    let (model, inputs) = (table(), sentences(5, 9));
    let mut config = Config::paper();
    config.schedule = Schedule::unit(0.1, 1.0, 1.0);
    let gbi = Gbi::with(&model, config).unwrap().in_step(5);
    for outcome in run_set(&gbi, &model, &jobs(&inputs, &Beyond)) {
        assert_eq!((outcome.stop, outcome.steps), (Stop::Stuck, 0), "there is no direction");
    }
}
