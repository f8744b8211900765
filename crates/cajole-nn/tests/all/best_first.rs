//! Best-first search against exhaustive search, on networks small enough to try every prefix.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cajole_core::constraint::{Constraint, Violation};
use cajole_core::constraints::{Automaton, Dfa, Language, Regular};
use cajole_core::decoders::{Beam, BestFirst, DoublingBeam, Greedy};
use cajole_core::{
    Candidate, ConstrainedDecoder, Force, Found, Model, Pass, Symbol, Wanted, Workspace,
};
use cajole_nn::layout::Layout;
use cajole_nn::models::{
    Architecture, Seq2Seq, Seq2SeqConfig, StartState, Token, Transducer, TransducerConfig,
};
use cajole_nn::random::Random;
use cajole_nn::tape::{Graph, Tape, Var};
use cajole_nn::{AutoRegressive, Encoded, Gradient, Trained, Vars};

const INPUT: &[Symbol] = &[0, 2, 1, 2, 0];

/// More than there are prefixes within the cap.
const ENOUGH: usize = 2000;

/// Two symbols and the end; outputs of at most nine symbols, far from uniform.
fn network(seed: u64) -> Trained<Transducer> {
    let start_state = if seed.is_multiple_of(2) { StartState::Encoder } else { StartState::Zero };
    wild(
        Transducer::new(TransducerConfig {
            input_symbols: 3,
            output_symbols: 3,
            embedding: 4,
            hidden: 5,
            start_state,
            dropout: 0.0,
            cap_factor: 0,
        }),
        seed,
    )
}

fn wild<N: AutoRegressive>(net: N, seed: u64) -> Trained<N> {
    let mut random = Random::new(seed);
    let weights: Vec<f32> =
        (0..AutoRegressive::layout(&net).len()).map(|_| random.uniform(-1.5, 1.5)).collect();
    Trained::new(net, weights)
}

/// The same network with other weights.
fn changed(model: Trained<Transducer>, change: impl FnOnce(&mut [f32])) -> Trained<Transducer> {
    let mut weights = model.weights().to_vec();
    change(&mut weights);
    Trained::new(model.net, weights)
}

/// The log-probability of everything that the network can emit within the cap, step by step.
#[derive(Default)]
struct Everything {
    /// Those that may go on.
    prefixes: HashMap<Vec<Symbol>, f32>,
    /// Those that have ended, most probable first.
    outputs: Vec<(Vec<Symbol>, f32)>,
}

impl Everything {
    fn of<N: AutoRegressive<Input = [Symbol]>>(model: &Trained<N>) -> Self {
        let (net, mut tape, mut all) = (&model.net, Tape::default(), Everything::default());
        let mut g = Graph::new(model.weights(), &mut tape);
        let encoded = net.encode(&mut g, &[INPUT]);
        let mut open: Vec<(Vec<Symbol>, f32, Vars)> = vec![(Vec::new(), 0.0, encoded.state)];
        while let Some((y, score, mut state)) = open.pop() {
            let previous = y.last().copied().unwrap_or(net.end());
            let log_probs = net.step(&mut g, &encoded, &mut state, &[0], &[previous]);
            for symbol in 0..net.n_symbols() as Symbol {
                let score = score + g.tape.value(log_probs)[symbol as usize];
                if symbol == net.end() {
                    all.outputs.push((y.clone(), score));
                } else if y.len() + 1 < net.cap(INPUT) {
                    open.push(([y.as_slice(), &[symbol]].concat(), score, state));
                }
            }
            all.prefixes.insert(y, score);
        }
        all.outputs.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    fn best<C: Constraint<[Symbol]>>(&self, constraint: &C) -> Option<&(Vec<Symbol>, f32)> {
        self.outputs.iter().find(|(y, _)| constraint.check(INPUT, y).is_satisfied())
    }

    /// How many prefixes score higher than `score`: all of these have to be extended.
    fn n_above(&self, score: f32) -> usize {
        self.prefixes.values().filter(|&&prefix| score < prefix).count()
    }
}

/// Best-first search for `constraint`, extending at most so many prefixes, so many at a time.
fn search<N: AutoRegressive<Input = [Symbol]>>(
    model: &Trained<N>,
    constraint: &dyn Constraint<[Symbol]>,
    max_expansions: usize,
    batch: usize,
) -> Found {
    let best_first = BestFirst { max_expansions, batch, only_black_boxes: false };
    let wanted = Wanted::new(INPUT, constraint);
    Workspace::new(model).search(model, &best_first, INPUT, &wanted).unwrap()
}

fn check<N: AutoRegressive<Input = [Symbol]>, C: Constraint<[Symbol]>>(
    model: &Trained<N>,
    constraint: &C,
) {
    let all = Everything::of(model);
    for batch in [0, 1, 3, 64] {
        let found = search(model, constraint, ENOUGH, batch);
        let got = found.best().map(|y| (y.output.clone(), y.log_prob));
        assert_eq!(got.as_ref(), all.best(constraint));
        for y in found.candidates() {
            assert!(!y.capped && y.marks.is_empty(), "nothing is recorded");
        }
    }
}

fn exactly_four_zeros(_: &[Symbol], y: &[Symbol]) -> f32 {
    (y.iter().filter(|&&symbol| symbol == 0).count() as f32 - 4.0).abs()
}

fn alternates(_: &[Symbol], y: &[Symbol]) -> f32 {
    let faults = y.windows(2).filter(|pair| pair[0] == pair[1]).count();
    faults as f32 + (y.len() < 5) as u8 as f32
}

fn pairs() -> Regular {
    let language = Language::any_of([Language::word(&[0, 1]), Language::word(&[1, 1, 0])]);
    Regular::new(&language.then(Language::word(&[0])).star().automaton(2))
}

#[test]
fn the_most_probable_satisfying_output_is_found() {
    for seed in 0..6 {
        let model = network(seed);
        check(&model, &|_: &[Symbol], _: &[Symbol]| 0.0);
        check(&model, &|_: &[Symbol], _: &[Symbol]| 1.0);
        check(&model, &exactly_four_zeros);
        check(&model, &alternates);
        check(&model, &pairs());
        check(&model, &Regular::new(&Dfa::length(2, 9)));
        // The shortest member is longer than the cap.
        check(&model, &Regular::new(&Dfa::length(2, 10)));
    }
}

/// An encoder-decoder network whose outputs have at most six symbols.
struct Short(Seq2Seq);

impl Short {
    fn new(architecture: Architecture) -> Self {
        Short(Seq2Seq::new(Seq2SeqConfig {
            architecture,
            words: 3,
            embedding: 3,
            vectors: 3,
            vector_size: 2,
            output_symbols: 4,
            output_embedding: 3,
            layers: 2,
            hidden: 5,
            attention: 4,
            dropout: 0.0,
            embedding_dropout: 0.0,
            reversed_input: false,
            pointer: Some(0),
            cap_factor: 0,
        }))
    }
}

impl AutoRegressive for Short {
    type Input = [Symbol];

    fn layout(&self) -> &Layout {
        AutoRegressive::layout(&self.0)
    }

    fn n_symbols(&self) -> usize {
        self.0.n_symbols()
    }

    fn end(&self) -> Symbol {
        self.0.end()
    }

    fn cap(&self, _: &[Symbol]) -> usize {
        7
    }

    fn encode(&self, g: &mut Graph<'_>, xs: &[&[Symbol]]) -> Encoded {
        let token = |&word: &Symbol| Token { word, vector: word };
        let xs: Vec<Vec<Token>> = xs.iter().map(|x| x.iter().map(token).collect()).collect();
        self.0.encode(g, &xs.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    fn step(
        &self,
        g: &mut Graph<'_>,
        encoded: &Encoded,
        state: &mut Vars,
        inputs: &[u32],
        previous: &[Symbol],
    ) -> Var {
        self.0.step(g, encoded, state, inputs, previous)
    }
}

#[test]
fn states_of_any_shape_are_kept() {
    for architecture in [Architecture::Simple, Architecture::Gnmt] {
        for seed in 0..3 {
            let model = wild(Short::new(architecture), seed);
            check(&model, &exactly_four_zeros);
            check(&model, &alternates);
        }
    }
}

/// A regular language that counts how often it is asked.
struct Counted {
    language: Regular,
    checks: AtomicUsize,
}

impl Constraint<[Symbol]> for Counted {
    fn check(&self, x: &[Symbol], y: &[Symbol]) -> Violation {
        self.checks.fetch_add(1, Ordering::Relaxed);
        self.language.check(x, y)
    }

    fn automaton(&self, x: &[Symbol]) -> Option<Box<dyn Automaton + '_>> {
        self.language.automaton(x)
    }
}

#[test]
fn an_automaton_leaves_only_members() {
    let counted = Counted { language: pairs(), checks: AtomicUsize::new(0) };
    for seed in 0..6 {
        counted.checks.store(0, Ordering::Relaxed);
        let found = search(&network(seed), &counted, ENOUGH, 1);
        assert_eq!((found.candidates().len(), counted.checks.load(Ordering::Relaxed)), (1, 1));
    }
}

#[test]
fn the_limit_is_what_exactness_needs() {
    for seed in 0..6 {
        let (model, all) = (network(seed), Everything::of(&network(seed)));
        for constraint in [exactly_four_zeros, alternates] {
            let (y, score) = all.best(&constraint).unwrap();
            let needed = all.n_above(*score);
            let found = search(&model, &constraint, needed, 1);
            assert_eq!(&found.best().unwrap().output, y);
            assert_eq!(found.passes, needed.div_ceil(y.len() + 1));
            assert!(search(&model, &constraint, needed - 1, 1).best().is_none());
            for limit in [0, 1, needed / 2, needed + 1, needed + 7] {
                for batch in [2, 5] {
                    let found = search(&model, &constraint, limit, batch);
                    assert!(found.best().is_none_or(|found| &found.output == y));
                    assert!(found.passes <= limit);
                }
            }
        }
        let never = |_: &[Symbol], _: &[Symbol]| 1.0;
        let found = search(&model, &never, ENOUGH, 8);
        let (rows, longest) = (all.prefixes.len(), model.net.cap(INPUT));
        assert_eq!(found.passes, rows.div_ceil(longest), "every prefix once");
    }
}

#[test]
fn of_equals_one_is_found() {
    // Every symbol has the same probability, so the shortest outputs are the most probable.
    let model = changed(network(0), |w| w.fill(0.0));
    let all = Everything::of(&model);
    let (_, score) = *all.best(&exactly_four_zeros).unwrap();
    for batch in [1, 2, 7, 100] {
        let found = search(&model, &exactly_four_zeros, ENOUGH, batch);
        let y = found.best().unwrap();
        assert_eq!((y.output.as_slice(), y.log_prob), (&[0; 4][..], score));
        let ones = |_: &[Symbol], y: &[Symbol]| 1.0 - y.iter().sum::<Symbol>().min(1) as f32;
        assert_eq!(search(&model, &ones, ENOUGH, batch).best().unwrap().output, [1]);
        let mixed =
            |_: &[Symbol], y: &[Symbol]| 2.0 - (y.contains(&0) as u8 + y.contains(&1) as u8) as f32;
        let output = &search(&model, &mixed, ENOUGH, batch).best().unwrap().output.clone();
        assert!(output == &[0, 1] || output == &[1, 0]);
    }
}

#[test]
fn an_output_cut_off_at_the_cap_never_satisfies() {
    // The bias of the end.
    let model = changed(network(0), |w| *w.last_mut().unwrap() = -50.0);
    let anything = |_: &[Symbol], _: &[Symbol]| 0.0;
    check(&model, &anything);
    let cut = Workspace::new(&model).decode(&model, &Beam::of(1), INPUT).unwrap();
    assert!(cut.best().unwrap().capped, "left alone, the network does not end");
}

#[test]
fn time_runs_out() {
    let model = network(0);
    let anything = |_: &[Symbol], _: &[Symbol]| 0.0;
    for (deadline, is_found) in [(Duration::ZERO, false), (Duration::from_secs(600), true)] {
        let mut wanted = Wanted::new(INPUT, &anything);
        wanted.until = Some(Instant::now() + deadline);
        let (best, beam) = (BestFirst::default(), DoublingBeam::of(4, 1024));
        for decoder in [&best as &dyn ConstrainedDecoder<_>, &beam] {
            let found = Workspace::new(&model).search(&model, decoder, INPUT, &wanted).unwrap();
            assert_eq!(found.best().is_some(), is_found);
        }
    }
}

#[test]
fn weights_that_are_no_numbers_lead_nowhere() {
    let anything = |_: &[Symbol], _: &[Symbol]| 0.0;
    for value in [f32::NAN, f32::INFINITY, -1e38, 1e38] {
        let model = changed(network(0), |w| w.fill(value));
        let found = search(&model, &anything, ENOUGH, 4);
        assert!(found.candidates().iter().all(|y| y.log_prob.is_finite()));
    }
}

/// A search leaves the recording of the decode before it alone, and what it found can be added there.
#[test]
fn what_is_found_can_be_recorded_for_a_gradient() {
    for seed in 0..4 {
        let model = network(seed);
        let gradient = |workspace: &mut Workspace<_>, y: &Candidate| {
            let blame: Vec<_> = y.marks.iter().map(|&mark| (mark, 1.0)).collect();
            let mut grad = Gradient::new(model.weights().len());
            let tape = model.tape(workspace.session(&model).scratch, 0).unwrap();
            tape.backward(model.weights(), model.net.layout(), &blame, &mut grad);
            let values = grad.touched().iter().flat_map(|range| grad.values(range)).copied();
            values.collect::<Vec<f32>>()
        };
        let mut workspace = Workspace::new(&model);
        let decoded = workspace.decode(&model, &Greedy, INPUT).unwrap();
        let before = gradient(&mut workspace, decoded.best().unwrap());
        let wanted = Wanted::new(INPUT, &exactly_four_zeros);
        let found = workspace.search(&model, &BestFirst::default(), INPUT, &wanted).unwrap();
        let y = found.best().unwrap().output.as_slice();
        assert_eq!(gradient(&mut workspace, decoded.best().unwrap()), before);
        let mut forced = Candidate::default();
        let pass = Pass { place: Some(0), ..Pass::base(INPUT) };
        let mut set = [Force { pass, output: y, forced: &mut forced, passes: 0 }];
        model.force(workspace.session(&model).scratch, &mut set).unwrap();
        assert!((forced.log_prob - found.best().unwrap().log_prob).abs() < 1e-5);
        let got = gradient(&mut workspace, &forced);

        let beam = workspace.decode(&model, &Beam::of(1 << 10), INPUT).unwrap();
        let same = beam.candidates().iter().find(|candidate| candidate.output == y).unwrap();
        let want = gradient(&mut workspace, same);
        assert_eq!(got.len(), want.len());
        assert!(want.iter().any(|&g| g != 0.0));
        for (got, want) in got.iter().zip(&want) {
            assert!((got - want).abs() < 1e-4 + 1e-4 * want.abs(), "{got} is not {want}");
        }
    }
}
