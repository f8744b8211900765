//! Algorithm 1 on a model small enough to follow by hand.
//!
//! `Table` scores `V` symbols at each of `T` positions independently: its weights are the scores.
//! So every gradient is known in closed form, and every step can be checked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cajole_core::corpus::in_parallel;
use cajole_core::{
    Candidate, Config, Constraint, Decoder, Found, Gbi, Gradient, Group, Mark, Model, Objective,
    Outcome, Part, Positions, Proposals, Schedule, Step, StepRule, Stop, Symbol, UnknownGroup,
    Violation, Workspace,
};

/// `p(y_t = v) ∝ exp W[t, v]`, whatever the input.
struct Table {
    weights: Vec<f32>, // (T, V)
    symbols: usize,    // V
}

impl Table {
    fn new(rows: &[&[f32]]) -> Self {
        Table { weights: rows.concat(), symbols: rows[0].len() }
    }

    fn log_prob(&self, w: &[f32], t: usize, v: usize) -> f32 {
        let row = &w[t * self.symbols..][..self.symbols];
        row[v] - row.iter().map(|s| s.exp()).sum::<f32>().ln()
    }

    fn record(&self, w: &[f32], y: &[Symbol], candidate: &mut Candidate) {
        candidate.clear();
        candidate.output.extend_from_slice(y);
        for (t, &v) in y.iter().enumerate() {
            candidate.log_prob += self.log_prob(w, t, v as usize);
            candidate.marks.push(Mark((t * self.symbols + v as usize) as u64));
        }
    }
}

impl Model for Table {
    type Input = ();
    type Scratch = ();

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn groups(&self) -> Vec<Group> {
        let positions = 0..self.weights.len() / self.symbols;
        let group = |t: usize| Group {
            name: format!("position{t}"),
            range: t * self.symbols..(t + 1) * self.symbols,
        };
        positions.map(group).collect()
    }

    fn scratch(&self) {}

    fn force(&self, w: &[f32], _x: &(), y: &[Symbol], _s: &mut (), forced: &mut Candidate) {
        self.record(w, y, forced);
    }

    fn gradient(&self, w: &[f32], blame: &[(Mark, f32)], _s: &mut (), grad: &mut Gradient) {
        grad.clear();
        for group in self.groups() {
            if !grad.moves(&group.range) {
                continue;
            }
            let t = group.range.start / self.symbols;
            let at = group.range.clone();
            let own = blame.iter().filter(|(m, _)| at.contains(&(m.0 as usize)));
            let mut d = vec![0.0; self.symbols];
            for &(Mark(mark), cost) in own {
                for (v, d) in d.iter_mut().enumerate() {
                    let picked = f32::from(u8::from(at.start + v == mark as usize));
                    *d += cost * (picked - self.log_prob(w, t, v).exp());
                }
            }
            grad.touch(group.range).copy_from_slice(&d);
        }
    }
}

/// The best symbol at each position; a second candidate differs where it costs least.
struct Argmax;

impl Decoder<Table> for Argmax {
    fn decode(&self, model: &Table, w: &[f32], _x: &(), _s: &mut (), found: &mut Found) {
        found.clear();
        found.passes = 1;
        let rows = w.chunks(model.symbols);
        let best = |row: &[f32]| (0..row.len()).fold(0, |b, v| if row[b] < row[v] { v } else { b });
        let y: Vec<Symbol> = rows.map(|row| best(row) as Symbol).collect();
        model.record(w, &y, found.add());
    }
}

/// Always proposes the same output.
struct Fixed(Vec<Symbol>);

impl Decoder<Table> for Fixed {
    fn decode(&self, model: &Table, w: &[f32], _x: &(), _s: &mut (), found: &mut Found) {
        found.clear();
        model.record(w, &self.0, found.add());
    }
}

fn config(rule: StepRule, step_size: f32, max_steps: usize) -> Config {
    Config { schedule: Schedule { rule, step_size, max_steps }, ..Config::paper() }
}

fn run(model: &Table, constraint: &dyn Constraint<()>, config: Config) -> Outcome {
    run_with(model, constraint, config, Vec::new())
}

fn run_with(
    model: &Table,
    constraint: &dyn Constraint<()>,
    config: Config,
    sources: Vec<&dyn Decoder<Table>>,
) -> Outcome {
    let mut workspace = Workspace::new(model, &config).unwrap();
    let before: Vec<u32> = model.weights.iter().map(|w| w.to_bits()).collect();
    let outcome =
        Gbi { model, decoder: &Argmax, constraint, sources, config }.run(&(), &mut workspace);
    let after: Vec<u32> = model.weights.iter().map(|w| w.to_bits()).collect();
    assert_eq!(before, after, "W is never changed");
    outcome
}

/// How many positions hold symbol 0.
fn zeros(_: &(), y: &[Symbol]) -> f32 {
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
    // Both positions bear the cost of a black box: at the second, W_λ moves towards symbol 0 too.
    let by_hand = |s0: f32, g: f32| 0.3 * g * (1.0 - s0.exp() / (s0.exp() + 1.0));
    let moved = by_hand(0.5, 1.0) * std::f32::consts::SQRT_2;
    let other = 0.3 * (1.0 - 2.0f32.exp() / (2.0f32.exp() + 1.0)) * std::f32::consts::SQRT_2;
    assert!((steps[1].distance - moved.hypot(other)).abs() < 1e-6, "{}", steps[1].distance);
    for pair in steps.windows(2) {
        assert!(pair[0].distance < pair[1].distance);
        assert!(pair[0].elapsed <= pair[1].elapsed);
    }
}

#[test]
fn parts_are_blamed_where_they_are() {
    struct FirstOnly;
    impl Constraint<()> for FirstOnly {
        fn check(&self, _: &(), y: &[Symbol]) -> Violation {
            match y[0] {
                0 => Violation::Parts(vec![Part { at: 0..1, cost: 1.0 }]),
                _ => Violation::NONE,
            }
        }
    }
    let model = Table::new(&[&[0.5, 0.0], &[0.1, 0.0]]);
    let outcome = run(&model, &FirstOnly, config(StepRule::Sgd, 0.1, 100));
    assert_eq!(outcome.output, [1, 0], "the second position was left alone");
    let whole = |_: &(), y: &[Symbol]| f32::from(u8::from(y[0] == 0));
    let outcome = run(&model, &whole, config(StepRule::Sgd, 0.1, 100));
    let trace = &outcome.trace;
    let moved = trace.steps().iter().any(|step| trace.output(step)[1] == 1);
    assert!(moved, "a black box blames every position");
}

/// The distance after each step under plain SGD with a pull.
fn distances(pull: f32) -> Vec<f32> {
    let model = Table::new(&[&[3.0, 0.0]]);
    let config = Config { pull, ..config(StepRule::Sgd, 0.1, 8) };
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
    let one = |_: &(), y: &[Symbol]| (1.0 - y.iter().sum::<Symbol>() as f32).abs();
    let outcome = run(&model, &one, config(StepRule::Sgd, 0.5, 40));
    assert_eq!((outcome.stop, outcome.steps), (Stop::StepLimit, 40));
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
    let undefined = |_: &(), _: &[Symbol]| f32::NAN;
    let outcome = run(&fine, &undefined, config(StepRule::Sgd, 0.1, 50));
    assert_eq!((outcome.stop, outcome.steps, outcome.output), (Stop::Unmeasured, 0, vec![0]));
    let later = |_: &(), y: &[Symbol]| if y == [0] { 1.0 } else { f32::NAN };
    let outcome = run(&fine, &later, config(StepRule::Sgd, 0.9, 50));
    assert_eq!((outcome.stop, outcome.output), (Stop::Unmeasured, vec![0]));
    // Steps so long that weights overflow.
    let never = |_: &(), _: &[Symbol]| 1.0;
    for rule in [StepRule::Sgd, StepRule::ADAM, StepRule::Momentum { decay: 0.9 }] {
        let outcome = run(&fine, &never, config(rule, 3e38, 50));
        assert!(matches!(outcome.stop, Stop::Diverged | Stop::Stuck), "{rule:?}: {outcome:?}");
    }
}

#[test]
fn a_vanished_gradient_is_said_so() {
    let model = Table::new(&[&[1.0]]);
    let unit = StepRule::UnitNorm { growth: 1.1, cap: 1.0 };
    assert_eq!(run(&model, &zeros, config(unit, 0.1, 50)).stop, Stop::Stuck);
}

#[test]
fn a_deadline_is_kept() {
    let model = Table::new(&[&[1.0, 0.0]]);
    let never = |_: &(), _: &[Symbol]| 1.0;
    let config = Config {
        deadline: Some(Duration::ZERO),
        restarts: vec![config(StepRule::Sgd, 0.1, 100).schedule; 3],
        ..config(StepRule::Sgd, 0.1, 1_000_000)
    };
    let outcome = run(&model, &never, config);
    assert_eq!((outcome.stop, outcome.steps), (Stop::Deadline, 1));
}

#[test]
fn a_race_that_is_cut_short_keeps_its_winner() {
    // The first candidate is reached; then time runs out over the second, which is far away.
    let model = Table::new(&[&[1.0, 0.0, -50.0]]);
    let (near, far) = (Fixed(vec![1]), Fixed(vec![2]));
    let seen = AtomicUsize::new(0);
    let slow = |_: &(), y: &[Symbol]| {
        // It is looked at once when it is proposed; the next time it has been reached.
        if y == [1] && seen.fetch_add(1, Ordering::Relaxed) == 1 {
            std::thread::sleep(Duration::from_millis(300));
        }
        zeros(&(), y)
    };
    let deadline = Some(Duration::from_millis(250));
    let config = Config { deadline, ..contrast(Proposals::Frozen, Positions::All) };
    let outcome = run_with(&model, &slow, config, vec![&near, &far]);
    assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![1]));
    assert!(outcome.trace.steps().iter().any(|step| step.attempt == 1), "both were tried");
}

#[test]
fn restarts_begin_at_the_original_weights() {
    let model = Table::new(&[&[1.0, 0.0]]);
    let too_short = config(StepRule::Sgd, 1e-6, 3);
    let enough = config(StepRule::Sgd, 0.5, 20).schedule;
    let config = Config { restarts: vec![enough], ..too_short };
    let outcome = run(&model, &zeros, config);
    assert_eq!(outcome.stop, Stop::Satisfied);
    let second: Vec<&Step> = outcome.trace.steps().iter().filter(|s| s.attempt == 1).collect();
    let alone = run(&model, &zeros, Config { schedule: enough, ..Config::paper() });
    let distances: Vec<f32> = second.iter().map(|s| s.distance).collect();
    let expected: Vec<f32> = alone.trace.steps()[1..].iter().map(|s| s.distance).collect();
    assert_eq!(distances, expected, "the failed attempt left no trace in the weights");
    assert_eq!(outcome.steps, 3 + alone.steps);
}

#[test]
fn only_chosen_groups_move() {
    let model = Table::new(&[&[0.5, 0.0], &[0.5, 0.0]]);
    let config = Config { moves: vec!["position1".into()], ..config(StepRule::Sgd, 0.3, 30) };
    let outcome = run(&model, &zeros, config.clone());
    assert_eq!(outcome.output, [0, 1], "position 0 cannot move");
    let unknown = Config { moves: vec!["position7".into()], ..config };
    let Err(error) = Workspace::new(&model, &unknown) else { panic!("no such group") };
    let known = vec!["position0".to_owned(), "position1".to_owned()];
    assert_eq!(error, UnknownGroup { name: "position7".into(), known });
    let text = error.to_string();
    assert!(text.contains("\"position7\"") && text.contains("position0, position1"), "{text}");
}

fn contrast(proposals: Proposals, positions: Positions) -> Config {
    let objective = Objective::Contrast { proposals, positions, lower: 1.0, otherwise: 1 };
    Config { objective, ..config(StepRule::UnitNorm { growth: 1.0, cap: 1.0 }, 0.1, 100) }
}

#[test]
fn contrast_acts_where_the_outputs_differ() {
    let model = Table::new(&[&[1.0, 0.0, 0.0], &[0.1, 0.0, 0.0]]);
    let first = |_: &(), y: &[Symbol]| f32::from(u8::from(y[0] == 0));
    for proposals in [Proposals::Frozen, Proposals::Fresh] {
        let source = Fixed(vec![2, 0]);
        let config = contrast(proposals, Positions::Differing);
        let outcome = run_with(&model, &first, config, vec![&source]);
        assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![2, 0]));
    }
}

/// A table whose marks are void once something else has been recorded.
struct Recorded(Table);

impl Recorded {
    /// Notes in marks which recording they belong to.
    fn record(&self, w: &[f32], y: &[Symbol], recording: u64, candidate: &mut Candidate) {
        self.0.record(w, y, candidate);
        candidate.marks.iter_mut().for_each(|mark| mark.0 |= recording << 32);
    }
}

impl Model for Recorded {
    type Input = ();
    type Scratch = u64; // the number of the recording

    fn weights(&self) -> &[f32] {
        &self.0.weights
    }

    fn groups(&self) -> Vec<Group> {
        self.0.groups()
    }

    fn scratch(&self) -> u64 {
        0
    }

    fn force(&self, w: &[f32], _x: &(), y: &[Symbol], s: &mut u64, forced: &mut Candidate) {
        self.record(w, y, *s, forced);
    }

    fn gradient(&self, w: &[f32], blame: &[(Mark, f32)], s: &mut u64, grad: &mut Gradient) {
        assert!(blame.iter().all(|(mark, _)| mark.0 >> 32 == *s), "a mark of an old recording");
        let blame: Vec<_> =
            blame.iter().map(|&(mark, cost)| (Mark(mark.0 & 0xffff_ffff), cost)).collect();
        self.0.gradient(w, &blame, &mut (), grad);
    }
}

/// Chooses among what is recorded; it needs a recording of its own only if it is said to.
struct Chooser {
    /// What is chosen; the most probable, if nothing is set.
    fixed: Option<Vec<Symbol>>,
    chooses_again: bool,
}

impl Chooser {
    fn choose(&self, model: &Recorded, w: &[f32], recording: u64, found: &mut Found) {
        Argmax.decode(&model.0, w, &(), &mut (), found);
        let y = self.fixed.clone().unwrap_or_else(|| found.candidates()[0].output.clone());
        found.clear();
        model.record(w, &y, recording, found.add());
    }
}

impl Decoder<Recorded> for Chooser {
    fn decode(&self, model: &Recorded, w: &[f32], _x: &(), s: &mut u64, found: &mut Found) {
        *s += 1;
        self.choose(model, w, *s, found);
        found.passes = 1;
    }

    fn decode_again(
        &self,
        model: &Recorded,
        w: &[f32],
        x: &(),
        s: &mut u64,
        found: &mut Found,
    ) -> bool {
        match self.chooses_again {
            true => self.choose(model, w, *s, found),
            false => self.decode(model, w, x, s, found),
        }
        self.chooses_again
    }
}

#[test]
fn a_source_that_keeps_the_recording_costs_no_pass_and_changes_nothing() {
    let model = &Recorded(Table::new(&[&[1.0, 0.0, 0.0], &[0.6, 0.0, 0.5]]));
    let decoder = &Chooser { fixed: None, chooses_again: true };
    // The second is asked only where the first has nothing that satisfies.
    let candidates: [&[&[Symbol]]; 3] = [&[&[2, 2]], &[&[0, 0], &[2, 1]], &[&[0, 2]]];
    for (proposals, fixed) in
        [Proposals::Frozen, Proposals::Fresh].into_iter().flat_map(|p| candidates.map(|c| (p, c)))
    {
        let run = |chooses_again: bool| {
            let source = |y: &&[Symbol]| Chooser { fixed: Some(y.to_vec()), chooses_again };
            let sources: Vec<Chooser> = fixed.iter().map(source).collect();
            let sources = sources.iter().map(|s| s as &dyn Decoder<Recorded>).collect();
            let config = contrast(proposals, Positions::Differing);
            let mut workspace = Workspace::new(model, &config).unwrap();
            let gbi = Gbi { model, decoder, constraint: &zeros, sources, config };
            let outcome = gbi.run(&(), &mut workspace);
            let trace = outcome.trace.steps().iter();
            let trace: Vec<_> = trace.map(|s| (s.attempt, s.g, s.log_prob, s.distance)).collect();
            ((outcome.stop, outcome.output, outcome.steps, trace), outcome.passes)
        };
        let ((kept, few), (replaced, many)) = (run(true), run(false));
        assert_eq!(kept, replaced, "{proposals:?}");
        assert_eq!((kept.0, kept.1.len()), (Stop::Satisfied, 2), "{proposals:?}");
        let (steps, satisfies) = (kept.2, fixed.iter().any(|y| !y.contains(&0)));
        // A decode and a backward pass for every step, and where the target does not change, the
        // target's forward pass.
        let forced = usize::from(proposals == Proposals::Frozen && satisfies);
        assert_eq!(few, 1 + (2 + forced) * steps, "{proposals:?}");
        // Otherwise the sources' own passes, and what they replaced is recorded once more.
        let more = fixed.len() + 1;
        let often = if proposals == Proposals::Fresh { steps } else { 1 };
        assert_eq!(many - few, more * often, "{proposals:?}");
    }
}

#[test]
fn candidates_race_and_the_nearest_wins() {
    // Symbol 2 is nearer than symbol 1; a candidate that violates takes no part.
    let model = Table::new(&[&[1.0, 0.0, 0.8]]);
    let (far, near, bad) = (Fixed(vec![1]), Fixed(vec![2]), Fixed(vec![0]));
    let config = contrast(Proposals::Frozen, Positions::All);
    for sources in [vec![&far, &near, &bad], vec![&bad, &near, &far]] {
        let sources = sources.into_iter().map(|s| s as &dyn Decoder<Table>).collect();
        let outcome = run_with(&model, &zeros, config.clone(), sources);
        assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![2]));
    }
    // Without a satisfying candidate the decoded output is lowered alone.
    let outcome = run_with(&model, &zeros, config, vec![&bad]);
    assert_eq!((outcome.stop, outcome.output), (Stop::Satisfied, vec![2]));
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

#[test]
fn results_come_in_order_from_any_number_of_threads() {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let squares = pool.install(|| in_parallel(100, || (), |(), i| i * i));
        assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
    }
}

#[test]
fn presets_survive_being_written_down() {
    let hurried = Config { deadline: Some(Duration::from_millis(250)), ..Config::best() };
    for preset in [Config::paper(), Config::best(), hurried] {
        let text = serde_json::to_string(&preset).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), preset);
    }
    let config: Config = serde_json::from_str(r#"{"deadline-ms": 40}"#).unwrap();
    assert_eq!(config.deadline, Some(Duration::from_millis(40)));
    let error = serde_json::from_str::<Config>(r#"{"pul": 1}"#).unwrap_err().to_string();
    assert!(error.contains("unknown field `pul`") && error.contains("pull"), "{error}");
}
