//! After warm-up an iteration of Algorithm 1 allocates nothing.

mod counting;
mod networks;

use std::borrow::Borrow;

use cajole_core::constraints::{Bracketed, Brackets, RoleSet, SpansInTree, TagSet};
use cajole_core::decoders::tags::{
    AStar, Agenda, Chart, Exact, Heuristic, KBest, Penalties, Space, SuffixLists, Suffixes,
    TagScores, Tagged, Viterbi,
};
use cajole_core::{
    Config, ConstrainedDecoder, Constraint, Gbi, Job, Model, Moving, Objective, Positions,
    Proposals, Schedule, StepRule, Symbol, Workspace,
};
use cajole_nn::layers::norm::NormKind;
use cajole_nn::models::{
    Architecture, CellKind, Features, LstmTagger, Reading, Seq2Seq, Seq2SeqConfig, StartState,
    TaggerConfig, Token, Transducer, TransducerConfig,
};
use cajole_nn::random::Random;
use cajole_nn::{Network, Tagger, Tagging, Trained};

/// Iterations of a short run, and of a long one.
const SHORT: usize = 5;
const LONG: usize = 25;

const RULES: [StepRule; 3] =
    [StepRule::Sgd, StepRule::ADAM, StepRule::UnitNorm { growth: 1.0, cap: 1.0 }];

/// What is run of Algorithm 1, but for the schedule.
struct Setting<'a, M: Model> {
    model: &'a M,
    constraint: &'a dyn Constraint<M::Input>,
    sources: Vec<&'a dyn ConstrainedDecoder<M>>,
    config: Config,
}

impl<M: Model> Setting<'_, M> {
    /// Allocations of short and of long runs, in workspaces that have seen longer ones.
    fn allocations(&self, xs: &[&M::Input]) -> [usize; 2] {
        let jobs: Vec<_> = xs.iter().map(|x| Job::new(*x, self.constraint)).collect();
        let mut counted = [0; 2];
        for rule in RULES {
            let mut workspace = Workspace::new(self.model);
            let mut run = |max_steps| {
                let schedule = Schedule { rule, max_steps, ..self.config.schedule };
                let config = self.config.clone().with(|c| {
                    c.schedule = schedule;
                    c.pull = 0.01;
                });
                let sources = self.sources.iter().map(|s| Box::new(s) as Box<_>).collect();
                let gbi = Gbi::with(self.model, config).unwrap().sources(sources);
                let before = counting::allocations();
                let mut n_done = 0;
                gbi.in_step(jobs.len()).run_set(&jobs, &mut workspace, |_, outcome| {
                    assert_eq!(outcome.steps, max_steps);
                    n_done += 1;
                });
                let after = counting::allocations();
                assert_eq!(n_done, jobs.len());
                after - before
            };
            run(LONG + 4);
            counted[0] += run(SHORT);
            counted[1] += run(LONG);
        }
        counted
    }

    fn check(&self, name: &str, xs: &[&M::Input]) {
        let [short, long] = self.allocations(xs);
        assert_eq!(short, long, "{name}: not the same for more iterations");
        let n = RULES.len() * xs.len();
        assert!(short < 20 * n, "{name}: {short} allocations to hand out {n} outcomes");
    }
}

/// A network with a greedy decoder, a beam, and a beam whose candidates are all lowered; one input
/// with a copy of the weights, and as many as are kept in step where only biases move.
fn check<N: Network>(name: &str, net: N, x: &N::Input) {
    check_moving(name, net, x, &[&[], &[Moving::VECTORS.to_owned()]]);
}

/// The same for some choices of what moves.
fn check_moving<N: Network>(name: &str, net: N, x: &N::Input, choices: &[&[String]]) {
    let mut weights = net.layout().initial(1);
    *weights.last_mut().unwrap() -= 3.0; // the bias of the end: handing out nothing takes no memory
    let model = &Trained::new(net, weights);
    let never = |_: &N::Input, y: &[Symbol]| 1.0 / (1.0 + y.len() as f32);
    let schedule = Schedule { step_size: 1e-3, ..Config::paper().schedule };
    let cases = [("greedy", 1, 1), ("beam", 3, 1), ("beam, all candidates", 3, 3)];
    for (case, width, candidates) in cases {
        for moves in choices {
            let (objective, moves) = (Objective::Lower { candidates }, moves.to_vec());
            let moving = Moving::choose(&model.parameters(), &moves).unwrap();
            let xs = vec![x; model.in_step(&moving)];
            let config = Config::paper().with(|c| {
                c.width = width;
                c.objective = objective;
                c.schedule = schedule;
                c.moves = moves;
            });
            let setting = Setting { model, constraint: &never, sources: Vec::new(), config };
            setting.check(&format!("{name}, {case}, {} in step", xs.len()), &xs);
        }
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
        let before = counting::allocations();
        for space in [Space::Log, Space::Probability] {
            Viterbi { space }.tag(&scores, &mut suffixes, &mut y);
            KBest { k: 8, space }.tag(&scores, &mut lists);
            lists.read(7, &mut y);
        }
        Exact { free: &free }.tag(&scores, Some(&tree), &mut chart, &mut y);
        for a_star in &a_stars {
            a_star.tag(&scores, Some(&tree), &mut agenda, &mut y);
        }
        counting::allocations() - before
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

#[test]
fn an_iteration_of_a_transformer_allocates_nothing() {
    // A copy of all weights lists the embeddings that have moved, and new ones come up late.
    let vectors = [Moving::VECTORS.to_owned()];
    for norm in [NormKind::Layer, NormKind::Rms] {
        let net = networks::encoder_decoder(norm, 16);
        let name = format!("encoder-decoder with {norm:?} norms");
        let x = [0, 2, 1, 2, 0, 2, 0].map(Token::from);
        check_moving(&name, net, x.as_slice(), &[&vectors]);
        check_moving(
            "for sequences",
            networks::sequence_transformer(16),
            x.as_slice(),
            &[&vectors],
        );
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
    let model = &Trained::new(Tagging { net, tags: tags.clone() }, weights);
    let tokens = (0..7).map(|i| Token { word: i % 5, vector: i % 4 }).collect();
    let x = Sentence(Features { tokens, dense: [0.5; 14].into(), predicate: 2, lemma: 1 });

    let free = RoleSet::default();
    let constraint = &SpansInTree { tags: tags.clone(), free: free.clone() };
    let exact = Tagged { tags: &tags, search: Exact { free: &free } };
    let objective = Objective::Contrast {
        proposals: Proposals::Fresh,
        positions: Positions::Differing,
        lower: 1.0,
        otherwise: 1,
    };
    // Too small a step to ever satisfy the constraint.
    let schedule = Schedule { step_size: 1e-9, ..Config::paper().schedule };
    for (n, moves) in [(1, &[][..]), (16, &[Moving::VECTORS.to_owned()])] {
        let config = Config::paper().with(|c| {
            c.objective = objective;
            c.schedule = schedule;
            c.moves = moves.to_vec();
        });
        let setting = Setting { model, constraint, sources: vec![&exact], config };
        let [short, long] = setting.allocations(&vec![&x; n]);
        let each = (long - short) as f64 / (RULES.len() * (LONG - SHORT) * n) as f64;
        assert!(each <= FEW as f64, "{each} allocations per iteration");
    }
}
