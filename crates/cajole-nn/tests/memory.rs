//! What an input in flight takes: kilobytes where only biases move, however large the network.

mod counting;
mod networks;

use cajole_core::constraints::{Automaton, Dfa};
use cajole_core::{
    Config, Constraint, Gbi, Job, Model, Move, Moving, Objective, Positions, Proposals, Schedule,
    Search, StepRule, Symbol, Violation, Workspace,
};
use cajole_nn::models::{Architecture, CellKind, Token};
use cajole_nn::{Network, Nudge, Trained};
use networks::{moved_by, parser, tagger, tokens, vectors, wild};

const KILOBYTE: isize = 1 << 10;

/// Every rule; some remember one or two numbers per weight.
const RULES: [StepRule; 4] = [
    StepRule::Sgd,
    StepRule::UnitNorm { growth: 1.0, cap: 1.0 },
    StepRule::Momentum { decay: 0.9 },
    StepRule::ADAM,
];

/// The bytes that a nudge takes after two steps by `rule`.
fn bytes_of<N: Network>(
    model: &Trained<N>,
    x: &N::Input,
    moving: &Moving,
    rule: StepRule,
) -> (isize, Move<Nudge>) {
    let mut workspace = Workspace::new(model);
    let before = counting::bytes();
    let nudge = model.nudge(moving).unwrap();
    let mut bytes = counting::bytes() - before;
    let mut own = Move { nudge, ..moved_by(model, moving, 0, 1e-3, Vec::new()) };
    own.schedule.rule = rule;
    for t in 0..2 {
        let found = workspace.decode(model, &*model.decoder(1.into()), x).unwrap();
        own.blame = found.best().unwrap().marks.iter().map(|&mark| (mark, 1.0)).collect();
        own.t = t;
        let set = std::slice::from_mut(&mut own);
        model.gradient(workspace.session(model).scratch, set).unwrap();
        let before = counting::bytes();
        model.take_step(set).unwrap();
        bytes += counting::bytes() - before;
    }
    (bytes, own)
}

fn check<N: Network>(name: &str, model: &Trained<N>, x: &N::Input) {
    let weights = 4 * model.weights().len() as isize;
    let moving = vectors(model);
    let shift = 4 * moving.n_weights() as isize;
    assert!(500 * KILOBYTE < weights, "{name}: a network of {weights} bytes");
    for rule in RULES {
        let (bytes, own) = bytes_of(model, x, &moving, rule);
        assert!(0.0 < own.distance, "{name}: it has moved");
        // What is added to biases, its gradient, what the rule remembers, and where each bias lies.
        let most = (2 + rule.memory() as isize) * shift + KILOBYTE;
        assert!((2 * shift..most).contains(&bytes), "{name}, {rule:?}: {bytes} bytes, not {most}");
        assert!(bytes < 64 * KILOBYTE, "{name}, {rule:?}: {bytes} bytes");
        let all = Moving::all(&model.parameters());
        let (bytes, _) = bytes_of(model, x, &all, rule);
        assert!(weights < bytes, "{name}, {rule:?}: a copy of the weights takes {bytes} bytes");
    }
}

#[test]
fn a_small_nudge_takes_kilobytes() {
    let x = tokens(7, 1);
    check("parser", &wild(parser(Architecture::Gnmt, Some(0), 96), 1), x.as_slice());
    let features = networks::features(7, 1);
    check("tagger", &wild(tagger(CellKind::Highway, 96), 1), &features);
}

/// An even number of symbols, and at least two; asking takes no memory.
struct Even(Dfa);

impl Constraint<[Token]> for Even {
    fn check(&self, _: &[Token], y: &[Symbol]) -> Violation {
        Violation::Whole(if self.0.contains(y) { 0.0 } else { 1.0 })
    }

    fn automaton(&self, _: &[Token]) -> Option<Box<dyn Automaton + '_>> {
        Some(Box::new(&self.0))
    }
}

/// Where forced targets are raised as well: after warm-up a set in step allocates nothing.
#[test]
fn a_set_that_aims_at_candidates_allocates_nothing_in_step() {
    let model = wild(parser(Architecture::Gnmt, Some(0), 12), 2);
    let next = |&n: &u32, _| Some(if n == 2 { 1 } else { n + 1 });
    let constraint = Even(Dfa::explore(4, 0, next, |&n| n == 2));
    let inputs: Vec<_> = (0..16).map(|i| tokens(1 + i % 7, i as u64)).collect();
    let jobs: Vec<_> = inputs.iter().map(|x| Job::new(x.as_slice(), &constraint)).collect();
    let contrast = |proposals| Objective::Contrast {
        proposals,
        positions: Positions::Differing,
        lower: 1.0,
        otherwise: 3,
    };
    let mut workspace = Workspace::new(&model);
    let mut run = |width, max_steps| {
        // Too small a step to ever satisfy the constraint.
        let schedule = Schedule { rule: StepRule::Sgd, step_size: 1e-9, max_steps };
        let config = Config::small().with(|c| {
            c.width = width;
            c.sources = vec![Search::Masked { width: 3 }];
            c.objective = contrast(Proposals::Frozen);
            c.schedule = schedule;
            c.restarts = Vec::new();
        });
        let gbi = Gbi::with(&model, config).unwrap().in_step(jobs.len());
        let (mut n_steps, before) = (0, counting::allocations());
        gbi.run_set(&jobs, &mut workspace, |_, outcome| n_steps += outcome.steps);
        (counting::allocations() - before, n_steps)
    };
    for width in [1, 4] {
        run(width, 30);
        let ((short, few), (long, many)) = (run(width, 5), run(width, 25));
        assert!(100 < many - few, "{} steps in {few}", many - few);
        // Buffers change hands as inputs come and go, so that a later run may take less.
        assert!(long <= short, "width {width}: {short}, and {long} for {} more steps", many - few);
    }
}
