//! After warm-up an iteration of Algorithm 1 allocates nothing.

use std::alloc::{GlobalAlloc, Layout as Request, System};
use std::cell::Cell;

use cajole::constraints::{Brackets, RoleSet, TagSet};
use cajole::{Config, Decoder, Gbi, Objective, Schedule, StepRule, Symbol, Workspace};
use cajole_nn::decoders::{
    AStar, Agenda, Beam, Chart, Exact, Greedy, Heuristic, KBest, Penalties, Space, SuffixLists,
    Suffixes, TagScores, Viterbi,
};
use cajole_nn::models::{
    Architecture, Seq2Seq, Seq2SeqConfig, StartState, Token, Transducer, TransducerConfig,
};
use cajole_nn::random::Random;
use cajole_nn::{AutoRegressive, Trained};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, request: Request) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(request) }
    }

    unsafe fn dealloc(&self, at: *mut u8, request: Request) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, request) }
    }

    unsafe fn realloc(&self, at: *mut u8, request: Request, size: usize) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(at, request, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of runs of 20 and of 100 iterations, in workspaces that have seen longer ones.
fn allocations<N: AutoRegressive>(
    net: N,
    x: &N::Input,
    decoder: &dyn Decoder<Trained<N>>,
    objective: Objective,
) -> [usize; 2] {
    let weights = net.layout().initial(1);
    let model = Trained { net, weights: weights.into() };
    let never = |_: &N::Input, y: &[Symbol]| 1.0 / (1.0 + y.len() as f32);
    let rules = [StepRule::Sgd, StepRule::ADAM, StepRule::UnitNorm { growth: 1.0, cap: 1.0 }];
    let mut counted = [0; 2];
    for rule in rules {
        let config = |max_steps| Config {
            objective,
            schedule: Schedule { rule, step_size: 1e-3, max_steps },
            pull: 0.01,
            ..Config::paper()
        };
        let mut workspace = Workspace::new(&model, &config(0)).unwrap();
        let mut run = |max_steps| {
            let config = config(max_steps);
            let gbi =
                Gbi { model: &model, decoder, constraint: &never, sources: Vec::new(), config };
            let before = COUNT.with(Cell::get);
            let outcome = gbi.run(x, &mut workspace);
            let after = COUNT.with(Cell::get);
            assert_eq!(outcome.steps, max_steps);
            after - before
        };
        run(120);
        counted[0] += run(20);
        counted[1] += run(100);
    }
    counted
}

/// The same with a greedy decoder, a beam, and a beam whose candidates are all lowered.
fn check<N: AutoRegressive + Clone>(name: &str, net: &N, x: &N::Input) {
    let lower = |candidates| Objective::Lower { candidates };
    let cases: [(&str, [usize; 2]); 3] = [
        ("greedy", allocations(net.clone(), x, &Greedy, lower(1))),
        ("beam", allocations(net.clone(), x, &Beam { width: 3 }, lower(1))),
        ("beam, all candidates", allocations(net.clone(), x, &Beam { width: 3 }, lower(3))),
    ];
    for (decoder, [short, long]) in cases {
        assert_eq!(short, long, "{name}, {decoder}: not the same for eighty more iterations");
        assert!(short < 60, "{name}, {decoder}: {short} allocations to hand out three outcomes");
    }
}

#[test]
fn an_iteration_allocates_nothing() {
    let net = Transducer::new(TransducerConfig {
        input_symbols: 3,
        output_symbols: 4,
        embedding: 32,
        hidden: 32,
        start_state: StartState::Encoder,
        dropout: 0.0,
        cap_factor: 3,
    });
    check("transducer", &net, &[0, 2, 1, 2, 0, 2, 0, 2, 1, 2, 1, 2]);
}

#[test]
fn tagging_again_allocates_nothing() {
    let tags = TagSet::new(["O", "B-ARG0", "I-ARG0", "B-R-ARG0", "B-V", "I-V"]).unwrap();
    let free = RoleSet::named(&tags, &["V"]);
    let tree = Brackets::from_iter([(0, 12), (2, 12), (2, 5), (5, 12)]);
    let (mut suffixes, mut lists) = (Suffixes::default(), SuffixLists::default());
    let (mut chart, mut agenda, mut y) = (Chart::default(), Agenda::default(), Vec::new());
    let penalties = Penalties { unique: 1.0, continuation: 1.0, reference: 1.0, syntax: 2.0 };
    let mut random = Random::new(1);
    let scores: [f32; 12 * 6] = std::array::from_fn(|_| random.uniform(-3.0, 0.0));
    let scores = TagScores::new(&tags, &scores);
    let a_stars = [Heuristic::Maximum, Heuristic::Viterbi].map(|heuristic| AStar {
        heuristic,
        agenda_limit: 5000,
        ..AStar::new(&tags, penalties)
    });
    let mut tag_all = || {
        let before = COUNT.with(Cell::get);
        for space in [Space::Log, Space::Probability] {
            Viterbi { space }.tag(&scores, &mut suffixes, &mut y);
            KBest { k: 8, space }.tag(&scores, &mut lists);
            lists.read(7, &mut y);
        }
        Exact { free: &free }.tag(&scores, Some(&tree), &mut chart, &mut y);
        for a_star in &a_stars {
            a_star.tag(&scores, Some(&tree), &mut agenda, &mut y);
        }
        COUNT.with(Cell::get) - before
    };
    assert_ne!(tag_all(), 0);
    assert_eq!(tag_all(), 0);
}

#[test]
fn an_iteration_with_attention_allocates_nothing() {
    for architecture in [Architecture::Gnmt, Architecture::Simple] {
        let net = Seq2Seq::new(Seq2SeqConfig {
            architecture,
            words: 5,
            embedding: 8,
            vectors: 4,
            vector_size: 4,
            output_symbols: 5,
            output_embedding: 8,
            layers: 3,
            hidden: 16,
            attention: 12,
            dropout: 0.1,
            embedding_dropout: 0.1,
            reversed_input: false,
            pointer: Some(0),
            cap_factor: 2,
        });
        let x: Vec<Token> = (0..7).map(|i| Token { word: i % 5, vector: i % 4 }).collect();
        check(&format!("{architecture:?}"), &net, &x);
    }
}
