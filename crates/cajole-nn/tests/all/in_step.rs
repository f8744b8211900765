//! Inputs in step: what comes out does not depend on company, to the bit.
//!
//! Every network, with copies of the weights and with biases alone, by every kind of objective: one
//! at a time, two, eight, and more places than there are inputs; and in another order.

use std::collections::BTreeSet;

use crate::networks::{
    Property, check_all, features, one_modulo_three, parser, rounded, tagger, tokens,
};
use cajole_core::{
    Config, Constraint, Gbi, Job, Moving, Objective, Outcome, Positions, Proposals, Schedule,
    Search, Step, StepRule, Symbol, Workspace,
};
use cajole_nn::models::{Architecture, CellKind};
use cajole_nn::{Network, Trained};

/// More than there are places at first; one has nothing to read.
const LENGTHS: [usize; 9] = [4, 9, 1, 6, 0, 7, 2, 9, 5];

/// Everything but the times.
fn facts(outcome: &Outcome) -> String {
    let Outcome { output, stop, g_before, g_after, capped, steps, passes, failure, trace } =
        outcome;
    assert_eq!(*failure, None);
    let step = |s: &Step| {
        let Step { attempt, iteration, g, log_prob, distance, passes, capped, .. } = s;
        let [g, log_prob, distance] = [g, log_prob, distance].map(|v| v.to_bits());
        let output = trace.output(s);
        format!(
            "{attempt} {iteration} {g:x} {log_prob:x} {distance:x} {passes} {capped} {output:?}"
        )
    };
    let all: Vec<String> = trace.steps().iter().map(step).collect();
    let [before, after] = [g_before, g_after].map(|g| g.to_bits());
    let moving = trace.moving;
    format!(
        "{output:?} {stop:?} {before:x} {after:x} {capped} {steps} {passes} {moving}\n{}",
        all.join("\n")
    )
}

/// The outcomes of all jobs, in their own order, whatever the order they are handed over in.
fn run<N: Network>(
    gbi: &Gbi<'_, Trained<N>>,
    jobs: &[Job<'_, N::Input>],
    order: &[usize],
    workspace: &mut Workspace<Trained<N>>,
) -> Vec<Outcome> {
    let mut outcomes = vec![None; jobs.len()];
    let ordered: Vec<_> = order.iter().map(|&i| jobs[i]).collect();
    gbi.run_set(&ordered, workspace, |i, outcome| {
        assert!(outcomes[order[i]].is_none(), "one outcome each");
        outcomes[order[i]] = Some(outcome);
    });
    outcomes.into_iter().map(Option::unwrap).collect()
}

fn contrast(proposals: Proposals, positions: Positions) -> Objective {
    Objective::Contrast { proposals, positions, lower: 0.8, otherwise: 3 }
}

/// Few steps, and a restart with longer ones: some inputs are repaired soon, some late, some never.
fn configs() -> Vec<(&'static str, Config)> {
    let mut short = Config::best();
    short.schedule = Schedule { max_steps: 6, ..Schedule::unit(0.05, 1.5, 1.0) };
    short.restarts = vec![Schedule { max_steps: 4, ..Schedule::unit(0.5, 1.5, 4.0) }];
    let with = |width: usize, sources: &[Search], objective: Objective| {
        let mut config = short.clone();
        (config.width, config.sources, config.objective) = (width, sources.to_vec(), objective);
        config
    };
    let adam = Schedule { rule: StepRule::ADAM, step_size: 0.02, max_steps: 10 };
    let race =
        [Search::Masked { width: 5 }, Search::Masked { width: 1 }, Search::BlackBox { limit: 200 }];
    let frozen = contrast(Proposals::Frozen, Positions::Differing);
    let fresh = contrast(Proposals::Fresh, Positions::All);
    let lower = |candidates| Objective::Lower { candidates };
    let beam = short.width;
    let mut pulled = short.clone();
    (pulled.pull, pulled.schedule) = (0.05, adam);
    vec![
        ("greedy", with(1, &[], lower(1))),
        ("beam", with(beam, &[], lower(5))),
        ("greedy race", with(1, &race, frozen)),
        ("race", with(beam, &race, frozen)),
        ("fresh", with(beam, &race, fresh)),
        ("beam's own", with(beam, &[], frozen)),
        ("pulled", pulled),
    ]
}

struct Alone {
    /// What moves; empty means all.
    moves: &'static [&'static str],
    /// Which of the settings are tried.
    settings: &'static [&'static str],
}

const ALL: &[&str] = &["greedy", "beam", "greedy race", "race", "fresh", "beam's own", "pulled"];

impl Property for Alone {
    fn check<N: Network + Clone>(&self, name: &str, model: &Trained<N>, xs: &[&N::Input]) {
        let regular = one_modulo_three(5);
        let black_box = |_: &N::Input, y: &[Symbol]| {
            let n = y.iter().filter(|&&symbol| symbol == 2).count();
            (n as f32 - 2.0).abs() / (1.0 + y.len() as f32)
        };
        // Every other constraint is an automaton.
        let constraint = |i: usize| -> &dyn Constraint<N::Input> {
            if i.is_multiple_of(2) { &regular } else { &black_box }
        };
        let jobs: Vec<_> =
            xs.iter().enumerate().map(|(i, x)| Job::new(*x, constraint(i))).collect();
        let forward: Vec<usize> = (0..jobs.len()).collect();
        let mixed: Vec<usize> = (0..jobs.len()).map(|i| (4 * i + 3) % jobs.len()).collect();
        let mut ends = BTreeSet::new();
        assert!(configs().iter().all(|(setting, _)| ALL.contains(setting)));
        for (setting, config) in configs() {
            if !self.settings.contains(&setting) {
                continue;
            }
            let moves = self.moves.iter().map(|&pattern| pattern.to_owned()).collect();
            let config = config.with(|c| c.moves = moves);
            let gbi = |n| Gbi::with(model, config.clone()).unwrap().in_step(n);
            let want = run(&gbi(1), &jobs, &forward, &mut Workspace::new(model));
            ends.extend(want.iter().map(|outcome| (outcome.is_converted(), outcome.steps)));
            let mut workspace = Workspace::new(model);
            for (n, order) in [(2, &forward), (8, &forward), (64, &forward), (3, &mixed)] {
                let got = run(&gbi(n), &jobs, order, &mut workspace);
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    let (got, want) = (facts(got), facts(want));
                    assert_eq!(got, want, "{name}, {setting}: input {i}, {n} in step");
                }
            }
        }
        assert!(ends.iter().any(|(is_converted, _)| *is_converted), "{name}: nothing is repaired");
        assert!(2 < ends.len(), "{name}: all come to the same ends, {ends:?}");
    }
}

#[test]
fn with_biases_of_their_own() {
    check_all(&Alone { moves: &[Moving::VECTORS], settings: ALL }, 13, &LENGTHS);
}

#[test]
fn with_some_biases_of_their_own() {
    // All but those of the output.
    check_all(&Alone { moves: &["*e*.b"], settings: ALL }, 13, &LENGTHS);
}

#[test]
fn with_weights_of_their_own() {
    check_all(&Alone { moves: &[], settings: ALL }, 13, &LENGTHS);
}

/// Networks that were stored in half precision and are large enough to be read in it: one row at a
/// time, that is, and not in company.
#[test]
fn read_in_half_precision() {
    const HIDDEN: usize = 96;
    for moves in [&[Moving::VECTORS][..], &[]] {
        let lengths = [4, 9, 1, 6, 7];
        let xs: Vec<_> = lengths.iter().map(|&n| tokens(n, n as u64)).collect();
        let xs: Vec<_> = xs.iter().map(Vec::as_slice).collect();
        let model = rounded(parser(Architecture::Gnmt, None, HIDDEN));
        let alone = Alone { moves, settings: &["greedy race", "beam", "fresh"] };
        alone.check("rounded parser", &model, &xs);
        let xs: Vec<_> = lengths.iter().map(|&n| features(n, n as u64)).collect();
        let model = rounded(tagger(CellKind::Highway, HIDDEN));
        alone.check("rounded tagger", &model, &xs.iter().collect::<Vec<_>>());
    }
}
