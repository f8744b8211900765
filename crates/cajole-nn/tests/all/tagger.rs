//! The tagger against PyTorch, in batches and alone, and the decoders on top of it.

use std::borrow::Borrow;
use std::time::{Duration, Instant};

use cajole_core::constraints::{Bracketed, Brackets, Language, Regular, RoleSet, TagSet};
use cajole_core::decoders::tags::{
    DoublingTags, Exact, KBest, MaskedTags, SamplingTags, Space, Tagged,
};
use cajole_core::{
    Candidate, ConstrainedDecoder, Constraint, Decoder, Force, Found, Model, Pass, Recording,
    Sought, Symbol, TagScorer, Wanted, Workspace,
};
use cajole_nn::models::{CellKind, Features, LstmTagger, Reading, TaggerConfig, Token};
use cajole_nn::random::Random;
use cajole_nn::tape::{Graph, Tape};
use cajole_nn::{Gradient, Tagger, Tagging, Trained};

const TAGS: [&str; 5] = ["O", "B-A", "I-A", "B-V", "I-V"];

type Net = Trained<Tagging<LstmTagger<Sentence>>>;

/// An input with the spans that it allows.
#[derive(Clone, Debug, Default)]
struct Sentence {
    features: Features,
    brackets: Brackets,
}

impl Borrow<Features> for Sentence {
    fn borrow(&self) -> &Features {
        &self.features
    }
}

impl Bracketed for Sentence {
    fn brackets(&self) -> Option<&Brackets> {
        Some(&self.brackets)
    }
}

/// Every kind of input; four words, three word vectors, three lemmas.
fn tiny() -> TaggerConfig {
    TaggerConfig {
        words: 4,
        embedding: 3,
        vectors: 3,
        vector_size: 2,
        dense: 2,
        lemmas: 3,
        lemma_embedding: 2,
        indicator: 2,
        tags: TAGS.len(),
        cell: CellKind::Highway,
        reading: Reading::Alternating,
        layers: 3,
        hidden: 5,
        input_dropout: 0.0,
        recurrent_dropout: 0.0,
        dropout: 0.0,
    }
}

fn features(tokens: &[(u32, u32)], predicate: usize, lemma: Symbol) -> Features {
    let tokens: Vec<_> = tokens.iter().map(|&(word, vector)| Token { word, vector }).collect();
    let dense = (0..2 * tokens.len()).map(|i| (i as f64).cos() as f32).collect();
    Features { tokens: tokens.into(), dense, predicate, lemma }
}

/// `n` positions that differ from seed to seed.
fn sentence(n: usize, seed: u64) -> Sentence {
    let random = &mut Random::new(seed);
    let tokens: Vec<_> = (0..n).map(|_| (random.below(4) as u32, random.below(3) as u32)).collect();
    let features = features(&tokens, random.below(n + 1), random.below(3) as u32);
    let brackets = (0..n).map(|start| (start, start + 1 + random.below(n - start))).collect();
    Sentence { features, brackets }
}

/// A network with wild weights, so that it is far from uniform.
fn wild(config: TaggerConfig, seed: u64) -> Net {
    let net = LstmTagger::new(config);
    let mut random = Random::new(seed);
    let weights: Vec<f32> = (0..net.layout().len()).map(|_| random.uniform(-1.0, 1.0)).collect();
    Trained::new(Tagging { net, tags: TagSet::new(TAGS).unwrap() }, weights)
}

fn add_to(all: &mut [f32], grad: &Gradient) {
    for range in grad.touched() {
        all[range.clone()].iter_mut().zip(grad.values(range)).for_each(|(a, g)| *a += g);
    }
}

/// What PyTorch says of some costs: of each parameter's gradient `g`, its product with `cos i` and
/// the element in the middle.
struct Reference {
    costs: [&'static [f32]; 2],
    gradients: [(&'static str, f32, f32); 15],
}

/// The log-probability of every tag at every position of both inputs.
const LOG_PROBS: [&[f32]; 2] = [
    &[
        -2.743171, -0.788872, -4.206662, -1.055165, -2.134989, -2.414039, -0.519799, -4.45773,
        -1.287323, -3.56457, -3.251596, -0.41297, -5.02132, -1.448951, -2.84399, -2.792808,
        -0.443716, -4.752306, -1.325493, -3.781018,
    ],
    &[
        -1.029241, -2.279284, -2.842772, -0.929376, -2.4384, -1.351765, -2.237453, -2.959387,
        -0.742961, -2.235556,
    ],
];

// import math, torch
// torch.set_default_dtype(torch.float64)
// E, P, X, L, I, H, V = 3, 2, 2, 2, 2, 5, 5  # word, vector, dense, lemma, indicator, hidden, tags
//
// def run(costs):
//     w = {}
//     def declare(name, *shape):
//         i = torch.arange(math.prod(shape), dtype=torch.float64)
//         w[name] = (0.7 * i * i + len(w)).sin().reshape(shape).requires_grad_()
//     declare("input.vectors", 3, P); declare("input.words", 4, E)
//     declare("input.lemmas", 3, L); declare("input.indicator", 2, I)
//     for n in range(3):
//         declare(f"layer{n}.w_x", E + P + X + L + I if n == 0 else H, 6 * H)
//         declare(f"layer{n}.w_h", H, 5 * H)
//         declare(f"layer{n}.b", 6 * H)
//     declare("output.w", H, V); declare("output.b", V)
//
//     def log_probs(tokens, predicate, lemma):
//         xs = []
//         for t, (word, row) in enumerate(tokens):
//             dense = torch.tensor([math.cos(2 * t), math.cos(2 * t + 1)])
//             xs.append(torch.cat([w["input.words"][word], w["input.vectors"][row], dense,
//                                  w["input.lemmas"][lemma], w["input.indicator"][int(t == predicate)]]))
//         for n in range(3):
//             h, c, hs = torch.zeros(H), torch.zeros(H), []
//             for x in xs if n % 2 == 0 else xs[::-1]:
//                 z = x @ w[f"layer{n}.w_x"] + w[f"layer{n}.b"]
//                 k = z[5 * H:]
//                 i, f, m, o, t = (z[:5 * H] + h @ w[f"layer{n}.w_h"]).chunk(5)
//                 c = i.sigmoid() * m.tanh() + f.sigmoid() * c
//                 h = t.sigmoid() * o.sigmoid() * c.tanh() + (1 - t.sigmoid()) * k
//                 hs.append(h)
//             xs = hs if n % 2 == 0 else hs[::-1]
//         return (torch.stack(xs) @ w["output.w"] + w["output.b"]).log_softmax(1)
//
//     first = log_probs([(1, 2), (0, 1), (3, 0), (1, 1)], predicate=2, lemma=1)
//     second = log_probs([(2, 1), (1, 0)], predicate=0, lemma=2)
//     chosen = [first[range(4), [1, 2, 3, 0]], second[range(2), [3, 1]]]
//     sum((torch.tensor(cs) * ps).sum() for cs, ps in zip(costs, chosen)).backward()
//     print([[round(p, 6) for p in ps.flatten().tolist()] for ps in (first, second)])
//     for name, p in w.items():
//         g = p.grad.flatten()
//         print((name, float("%.5g" % (g * torch.arange(len(g)).cos()).sum()), float("%.5g" % g[len(g) // 2])))
//
// run([[1.0, -0.5, 2.0, 0.25], [-1.0, 0.75]])
// run([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0]])
#[test]
fn a_tagger_is_pytorchs() {
    check_pytorch(&Reference {
        costs: [&[1.0, -0.5, 2.0, 0.25], &[-1.0, 0.75]],
        gradients: [
            ("input.vectors", 2.25, -0.5987),
            ("input.words", -0.70406, 0.59632),
            ("input.lemmas", 1.3668, -0.12538),
            ("input.indicator", -5.1798, 1.8277),
            ("layer0.w_x", 4.8276, -0.0083086),
            ("layer0.w_h", -0.28806, 0.02074),
            ("layer0.b", -0.32761, -0.029651),
            ("layer1.w_x", -1.0121, -0.0021731),
            ("layer1.w_h", 0.50647, -0.22475),
            ("layer1.b", -1.5177, 0.033179),
            ("layer2.w_x", 1.0846, -0.0015837),
            ("layer2.w_h", -0.077562, -0.011155),
            ("layer2.b", 1.7667, 0.0073242),
            ("output.w", -4.7617, -0.013902),
            ("output.b", 0.43633, -0.50508),
        ],
    });
}

/// By the same script. Layers have nothing to hand on before they reach the one position.
#[test]
fn a_tagger_blamed_at_one_position_is_pytorchs() {
    check_pytorch(&Reference {
        costs: [&[0.0, 1.0, 0.0, 0.0], &[0.0, 0.0]],
        gradients: [
            ("input.vectors", 0.67122, 0.25195),
            ("input.words", 0.68381, 0.0),
            ("input.lemmas", 0.5115, -1.0629),
            ("input.indicator", 0.98687, -0.69335),
            ("layer0.w_x", -4.3733, 0.011927),
            ("layer0.w_h", -0.59268, -0.018818),
            ("layer0.b", -1.1555, 0.052882),
            ("layer1.w_x", -1.4711, -0.0031791),
            ("layer1.w_h", -0.54535, 0.11524),
            ("layer1.b", -0.47986, 0.0065288),
            ("layer2.w_x", -2.5296, 0.00013717),
            ("layer2.w_h", 0.12923, -0.00022792),
            ("layer2.b", -1.0054, -0.0034203),
            ("output.w", 0.27669, 0.10963),
            ("output.b", -0.53031, 0.98841),
        ],
    });
}

/// Both inputs in one batch, and each alone; as inference runs them, and as training does, where
/// units are silenced on their way to the next position.
fn check_pytorch(reference: &Reference) {
    let xs = [features(&[(1, 2), (0, 1), (3, 0), (1, 1)], 2, 1), features(&[(2, 1), (1, 0)], 0, 2)];
    let ys: [&[usize]; 2] = [&[1, 2, 3, 0], &[3, 1]];
    let batches: [&[&[usize]]; 2] = [&[&[0, 1]], &[&[0], &[1]]];
    // A rate that is not zero but silences nothing.
    for (recurrent_dropout, batches) in
        [0.0, f32::MIN_POSITIVE].into_iter().flat_map(|rate| batches.map(|batches| (rate, batches)))
    {
        let net: LstmTagger = LstmTagger::new(TaggerConfig { recurrent_dropout, ..tiny() });
        let layout = net.layout();
        let mut w = vec![0.0; layout.len()];
        for (id, entry) in layout.entries().iter().enumerate() {
            for (i, w) in w[entry.param.range()].iter_mut().enumerate() {
                *w = (0.7 * (i * i) as f64 + id as f64).sin() as f32;
            }
        }

        let mut all = vec![0.0; w.len()];
        for batch in batches {
            let mut tape = Tape::default();
            let mut g = Graph::new(&w, &mut tape);
            g.random = (0.0 < recurrent_dropout).then(|| Random::new(1));
            let inputs: Vec<_> = batch.iter().map(|&i| &xs[i]).collect();
            let log_probs = net.log_probs(&mut g, &inputs); // (T·B, V)
            let mut blame = Vec::new();
            for (b, &i) in batch.iter().enumerate() {
                for (t, (&symbol, &cost)) in ys[i].iter().zip(reference.costs[i]).enumerate() {
                    let row = t * batch.len() + b;
                    let wants = &LOG_PROBS[i][t * TAGS.len()..];
                    for (&got, &want) in g.tape.value(log_probs.row(row)).iter().zip(wants) {
                        close(&format!("position {t} of input {i}"), got, want);
                    }
                    blame.push((g.tape.mark(log_probs, row, symbol), cost));
                }
            }
            let mut grad = Gradient::new(w.len());
            tape.backward(&w, layout, &blame, &mut grad);
            add_to(&mut all, &grad);
        }
        assert_eq!(layout.entries().len(), reference.gradients.len());
        for (entry, &(name, product, middle)) in layout.entries().iter().zip(&reference.gradients) {
            assert_eq!(entry.name, name);
            let got = entry.param.of(&all);
            let cos = got.iter().enumerate().map(|(i, &g)| f64::from(g) * (i as f64).cos());
            close(&format!("gradient of {name}"), cos.sum::<f64>() as f32, product);
            close(&format!("middle of the gradient of {name}"), got[got.len() / 2], middle);
        }
    }
}

fn close(name: &str, got: f32, want: f32) {
    let most = 5e-6 + 1e-4 * want.abs();
    assert!((got - want).abs() < most, "{name}: {got} is not PyTorch's {want}");
}

/// Networks of several kinds and sizes, with inputs of many lengths.
fn networks() -> impl Iterator<Item = (Net, Vec<Sentence>)> {
    let kinds = [
        (CellKind::Highway, Reading::Alternating, 5),
        (CellKind::Highway, Reading::Forward, 17),
        (CellKind::Lstm, Reading::Alternating, 12),
    ];
    kinds.into_iter().zip(0..).map(|((cell, reading, hidden), seed)| {
        let model = wild(TaggerConfig { cell, reading, hidden, ..tiny() }, seed);
        let lengths = [0, 7, 1, 40, 2, 7, 0, 1, 40, 2, 7];
        (model, lengths.into_iter().zip(0..).map(|(n, i)| sentence(n, i)).collect())
    })
}

#[test]
fn together_and_alone_give_the_same_bits() {
    for (model, xs) in networks() {
        let (net, refs) = (&model.net.net, xs.iter().collect::<Vec<_>>());
        let mut tapes = [Tape::default(), Tape::default()];
        let [together, alone] = &mut tapes;
        let all = net.log_probs(&mut Graph::new(model.weights(), together), &refs); // (T·B, V)
        for (b, x) in refs.iter().enumerate() {
            alone.clear();
            let own = net.log_probs(&mut Graph::new(model.weights(), alone), &[x]); // (T, V)
            for t in 0..net.len(x) {
                let got = together.value(all.row(t * refs.len() + b));
                let want = alone.value(own.row(t));
                let is_same = got.iter().zip(want).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(is_same, "position {t} of input {b}: {got:?}, alone {want:?}");
            }
        }
    }
}

#[test]
fn decoding_one_and_many_agree() {
    let tags = TagSet::new(TAGS).unwrap();
    for (model, xs) in networks() {
        let viterbi = Tagged::viterbi(&tags);
        let k_best = Tagged { tags: &tags, search: KBest { k: 4, space: Space::Log } };
        let decoders: [&dyn Decoder<Net>; 2] = [&viterbi, &k_best];
        for decoder in decoders {
            let set: Vec<Pass<'_, Net>> = xs.iter().map(Pass::base).collect();
            let mut workspace = Workspace::new(&model);
            let mut together = vec![Found::default(); xs.len()];
            let mut skimmed = together.clone();
            decoder.skim(&mut workspace.session(&model), &set, &mut skimmed).unwrap();
            decoder.decode(&mut workspace.session(&model), &set, &mut together).unwrap();
            for (place, (x, found)) in xs.iter().zip(&together).enumerate() {
                for y in found.candidates() {
                    check_candidate(&model, &mut workspace, Recording::Kept, place, y);
                    check_forced(&model, &mut workspace, x, place, y);
                }
            }
            for ((x, together), skimmed) in xs.iter().zip(&together).zip(&skimmed) {
                let alone = workspace.decode(&model, decoder, x).unwrap();
                for found in [together, skimmed] {
                    assert_eq!(found.passes, 1);
                    assert_eq!(facts(found), facts(&alone));
                }
            }
        }
    }
}

/// Every search alone, in a batch, and on what Viterbi has recorded.
#[test]
fn searching_one_many_and_again_agree() {
    let tags = TagSet::new(TAGS).unwrap();
    let free = RoleSet::named(&tags, &["V"]);
    let others = [0, 2, 3, 4].map(|symbol: Symbol| Language::word(&[symbol]));
    let not_b_a = Regular::new(&Language::any_of(others).star().automaton(TAGS.len()));
    let anything = |_: &Sentence, _: &[Symbol]| 0.0;
    for (model, xs) in networks() {
        let exact = Tagged { tags: &tags, search: Exact { free: &free } };
        let masked = Tagged { tags: &tags, search: MaskedTags { max_states: 1000 } };
        let doubling = Tagged { tags: &tags, search: DoublingTags { from: 1, to: 8 } };
        let sampling = SamplingTags { samples: 9, temperature: 1.0, seed: 1 };
        let sampling = Tagged { tags: &tags, search: sampling };
        check_search(&model, &xs, &exact, &anything);
        check_search(&model, &xs, &masked, &not_b_a);
        check_search(&model, &xs, &doubling, &anything);
        check_search(&model, &xs, &sampling, &anything);
    }
}

fn check_search(
    model: &Net,
    xs: &[Sentence],
    search: &dyn ConstrainedDecoder<Net>,
    constraint: &dyn Constraint<Sentence>,
) {
    let tags = TagSet::new(TAGS).unwrap();
    let wanted: Vec<_> = xs.iter().map(|x| Wanted::new(x, constraint)).collect();
    let sought = |place: &dyn Fn(usize) -> Option<usize>| -> Vec<Sought<'_, '_, Net>> {
        let pass = |i| Pass { place: place(i), ..Pass::base(&xs[i]) };
        wanted.iter().enumerate().map(|(i, wanted)| Sought { pass: pass(i), wanted }).collect()
    };
    let mut workspace = Workspace::new(model);
    let mut together = vec![Found::default(); xs.len()];
    search.search(&mut workspace.session(model), &sought(&|_| None), &mut together).unwrap();
    for (place, found) in together.iter().enumerate() {
        assert_eq!((found.candidates().len(), found.passes), (1, 1));
        check_candidate(model, &mut workspace, Recording::None, place, &found.candidates()[0]);
    }
    for ((x, wanted), together) in xs.iter().zip(&wanted).zip(&together) {
        let alone = workspace.search(model, search, x, wanted).unwrap();
        assert_eq!(facts(&alone), facts(together));
    }

    let set: Vec<Pass<'_, Net>> = xs.iter().map(Pass::base).collect();
    let mut decoded = vec![Found::default(); xs.len()];
    let viterbi = Tagged::viterbi(&tags);
    viterbi.decode(&mut workspace.session(model), &set, &mut decoded).unwrap();
    // Every other input is recorded: the network runs over the rest alone.
    for is_recorded in [|_: usize| true, |i: usize| i.is_multiple_of(2)] {
        let mut again = vec![Found::default(); xs.len()];
        let sought = sought(&|i| is_recorded(i).then_some(i));
        search.search(&mut workspace.session(model), &sought, &mut again).unwrap();
        for (i, (again, together)) in again.iter().zip(&together).enumerate() {
            assert_eq!(again.passes, usize::from(!is_recorded(i)), "runs where it has to");
            assert_eq!(facts(again), facts(together));
        }
    }
}

/// Every candidate's output and log-probability, to the bit.
fn facts(found: &Found) -> Vec<(&[Symbol], u32, bool)> {
    let fact = |y: &'_ Candidate| (y.log_prob.to_bits(), y.capped);
    let all = found.candidates().iter();
    all.map(|y| (y.output.as_slice(), fact(y).0, fact(y).1)).collect()
}

/// The tags are valid, one for every position, and have the sum of the network's log-probabilities.
fn check_candidate(
    model: &Net,
    workspace: &mut Workspace<Net>,
    recording: Recording,
    place: usize,
    y: &Candidate,
) {
    let tags = TagSet::new(TAGS).unwrap();
    let mut log_probs = Vec::new(); // (T, V)
    model.scores(workspace.session(model).scratch, recording, place, &mut log_probs);
    assert!(tags.is_valid(&y.output) && !y.capped);
    assert_eq!(y.output.len(), log_probs.len() / TAGS.len());
    let rows = log_probs.chunks(model.n_tags()).zip(&y.output);
    let sum: f32 = rows.map(|(row, &symbol)| row[symbol as usize]).sum();
    assert!((sum - y.log_prob).abs() < 1e-3, "{} is not {sum}", y.log_prob);
}

/// What was decoded is what is forced, and so is its gradient.
fn check_forced(
    model: &Net,
    workspace: &mut Workspace<Net>,
    x: &Sentence,
    place: usize,
    y: &Candidate,
) {
    let mut forced = Candidate::default();
    let pass = Pass { place: Some(place), ..Pass::base(x) };
    let mut set = [Force { pass, output: &y.output, forced: &mut forced, passes: 7 }];
    model.force(workspace.session(model).scratch, &mut set).unwrap();
    assert_eq!(set[0].passes, 0, "it is recorded already");
    assert_eq!(forced.marks.len(), y.output.len());
    assert_eq!(&forced, y);
}

#[test]
fn a_pass_that_is_late_is_cut_off_and_says_so() {
    let (net, x) = (wild(tiny(), 1), sentence(6, 2));
    let decoder = net.decoder(1.into());
    let mut workspace = Workspace::new(&net);
    let mut found = [Found::default()];
    for (time, n_tags) in [(Duration::ZERO, 0), (Duration::from_secs(600), 6)] {
        let pass = Pass { until: Some(Instant::now() + time), ..Pass::base(&x) };
        let mut session = workspace.session(&net);
        for is_recorded in [false, true] {
            match is_recorded {
                true => decoder.decode(&mut session, &[pass], &mut found).unwrap(),
                false => decoder.skim(&mut session, &[pass], &mut found).unwrap(),
            }
            let best = found[0].best().unwrap();
            assert_eq!((best.output.len(), best.capped), (n_tags, n_tags == 0));
        }
    }
}
