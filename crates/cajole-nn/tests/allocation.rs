//! After warm-up an iteration of Algorithm 1 allocates nothing.

use std::alloc::{GlobalAlloc, Layout as Request, System};
use std::borrow::Borrow;
use std::cell::Cell;

use cajole_core::constraints::{Bracketed, Brackets, RoleSet, SpansInTree, TagSet};
use cajole_core::{
    Config, Constraint, Decoder, Gbi, Model, Objective, Positions, Proposals, Schedule, StepRule,
    Symbol, Workspace,
};
use cajole_nn::decoders::{
    AStar, Agenda, Beam, Chart, Exact, Greedy, Heuristic, KBest, Penalties, Space, SuffixLists,
    Suffixes, TagScores, Tagged, Viterbi,
};
use cajole_nn::models::{
    Architecture, CellKind, Features, LstmTagger, Reading, Seq2Seq, Seq2SeqConfig, StartState,
    TaggerConfig, Token, Transducer, TransducerConfig,
};
use cajole_nn::random::Random;
use cajole_nn::{AutoRegressive, Tagger, Tagging, Trained};

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

const RULES: [StepRule; 3] =
    [StepRule::Sgd, StepRule::ADAM, StepRule::UnitNorm { growth: 1.0, cap: 1.0 }];

/// What is run of Algorithm 1, but for the schedule.
struct Setting<'a, M: Model> {
    model: &'a M,
    decoder: &'a dyn Decoder<M>,
    constraint: &'a dyn Constraint<M::Input>,
    sources: Vec<&'a dyn Decoder<M>>,
    objective: Objective,
    step_size: f32,
}

impl<M: Model> Setting<'_, M> {
    /// Allocations of runs of 20 and of 100 iterations, in workspaces that have seen longer ones.
    fn allocations(&self, x: &M::Input) -> [usize; 2] {
        let mut counted = [0; 2];
        for rule in RULES {
            let config = |max_steps| Config {
                objective: self.objective,
                schedule: Schedule { rule, step_size: self.step_size, max_steps },
                pull: 0.01,
                ..Config::paper()
            };
            let mut workspace = Workspace::new(self.model, &config(0)).unwrap();
            let mut run = |max_steps| {
                let Setting { model, decoder, constraint, .. } = *self;
                let (sources, config) = (self.sources.clone(), config(max_steps));
                let gbi = Gbi { model, decoder, constraint, sources, config };
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

    fn check(&self, name: &str, x: &M::Input) {
        let [short, long] = self.allocations(x);
        assert_eq!(short, long, "{name}: not the same for eighty more iterations");
        assert!(short < 60, "{name}: {short} allocations to hand out three outcomes");
    }
}

/// A network with a greedy decoder, a beam, and a beam whose candidates are all lowered.
fn check<N: AutoRegressive>(name: &str, net: N, x: &N::Input) {
    let weights = net.layout().initial(1);
    let model = &Trained { net, weights: weights.into() };
    let never = |_: &N::Input, y: &[Symbol]| 1.0 / (1.0 + y.len() as f32);
    let beam = &Beam { width: 3 };
    let cases: [(&str, &dyn Decoder<Trained<N>>, usize); 3] =
        [("greedy", &Greedy, 1), ("beam", beam, 1), ("beam, all candidates", beam, 3)];
    for (case, decoder, candidates) in cases {
        let objective = Objective::Lower { candidates };
        let (constraint, sources) = (&never, Vec::new());
        Setting { model, decoder, constraint, sources, objective, step_size: 1e-3 }
            .check(&format!("{name}, {case}"), x);
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
    check("transducer", net, &[0, 2, 1, 2, 0, 2, 0, 2, 1, 2, 1, 2]);
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
        check(&format!("{architecture:?}"), net, x.as_slice());
    }
}

/// A sentence all of whose spans are wrong.
struct Sentence(Features);

impl Borrow<Features> for Sentence {
    fn borrow(&self) -> &Features {
        &self.0
    }
}

impl Bracketed for Sentence {
    fn brackets(&self) -> Option<&Brackets> {
        Some(const { &Brackets::NONE })
    }
}

#[test]
fn an_iteration_of_a_tagger_allocates_the_violation_and_nothing_else() {
    /// The parts of the violation, which a constraint hands out.
    const FEW: usize = 1;
    let tags = TagSet::new(["O", "B-A", "I-A", "B-V", "I-V"]).unwrap();
    let net: LstmTagger<Sentence> = LstmTagger::new(TaggerConfig {
        words: 5,
        embedding: 8,
        vectors: 4,
        vector_size: 4,
        dense: 2,
        lemmas: 2,
        lemma_embedding: 3,
        indicator: 4,
        tags: tags.n_tags(),
        cell: CellKind::Highway,
        reading: Reading::Alternating,
        layers: 3,
        hidden: 16,
        input_dropout: 0.1,
        recurrent_dropout: 0.1,
        dropout: 0.1,
    });
    let mut weights = net.layout().initial(1);
    let outside = net.layout().entries().last().map_or(0, |bias| bias.param.range().start);
    weights[outside] = -1.0; // so that there are spans
    let model = &Trained { net: Tagging(net), weights: weights.into() };
    let tokens = (0..7).map(|i| Token { word: i % 5, vector: i % 4 }).collect();
    let x = Sentence(Features { tokens, dense: [0.5; 14].into(), predicate: 2, lemma: 1 });

    let free = RoleSet::default();
    let constraint = &SpansInTree { tags: &tags, free: free.clone() };
    let decoder = &Tagged::viterbi(&tags);
    let exact = Tagged { tags: &tags, search: Exact { free: &free } };
    let objective = Objective::Contrast {
        proposals: Proposals::Fresh,
        positions: Positions::Differing,
        lower: 1.0,
        otherwise: 1,
    };
    // Too small a step to ever satisfy the constraint.
    let (sources, step_size): (Vec<&dyn Decoder<_>>, _) = (vec![&exact], 1e-9);
    let setting = Setting { model, decoder, constraint, sources, objective, step_size };
    let [short, long] = setting.allocations(&x);
    let each = (long - short) as f64 / (RULES.len() * 80) as f64;
    assert!(each <= FEW as f64, "{each} allocations per iteration");
}
