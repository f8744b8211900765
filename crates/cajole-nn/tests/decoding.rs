//! Decoders against exhaustive search, on networks small enough to try every output.

use cajole_core::constraint::{Constraint, Violation};
use cajole_core::constraints::{Dfa, Language, Regular};
use cajole_core::{Candidate, Decoder, Found, Model, Symbol};
use cajole_nn::decoders::{Beam, DoublingBeam, Greedy, MaskedBeam, Sampling};
use cajole_nn::models::{StartState, Transducer, TransducerConfig};
use cajole_nn::random::Random;
use cajole_nn::{AutoRegressive, Trained};

type Net = Trained<Transducer>;

/// Two symbols and the end; outputs of at most nine symbols. Wild weights, so that greedy decoding
/// is often wrong.
fn network(seed: u64, start_state: StartState) -> Net {
    let net = Transducer::new(TransducerConfig {
        input_symbols: 3,
        output_symbols: 3,
        embedding: 4,
        hidden: 5,
        start_state,
        dropout: 0.0,
        cap_factor: 0,
    });
    let mut random = Random::new(seed);
    let weights =
        (0..net.layout().len()).map(|_| random.uniform(-1.5, 1.5)).collect::<Vec<f32>>().into();
    Trained { net, weights }
}

fn networks() -> impl Iterator<Item = Net> {
    (0..6).map(|seed| {
        network(seed, if seed % 2 == 0 { StartState::Encoder } else { StartState::Zero })
    })
}

const INPUT: &[Symbol] = &[0, 2, 1, 2, 0];

/// Every output that ends within the cap, most probable first.
fn all_outputs(model: &Net) -> Vec<Candidate> {
    let mut scratch = model.scratch();
    let mut all = Vec::new();
    Greedy.decode(model, &model.weights, INPUT, &mut scratch, &mut Found::default());
    for length in 0..model.net.cap(INPUT) {
        for bits in 0..1u32 << length {
            let y: Vec<Symbol> = (0..length).map(|i| bits >> i & 1).collect();
            let mut forced = Candidate::default();
            // A fresh recording each time would only be slower: force adds to the current one.
            model.force(&model.weights, INPUT, &y, &mut scratch, &mut forced);
            all.push(forced);
        }
        Greedy.decode(model, &model.weights, INPUT, &mut scratch, &mut Found::default());
    }
    all.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
    all
}

fn decode(model: &Net, decoder: &dyn Decoder<Net>) -> Vec<Candidate> {
    let mut found = Found::default();
    decoder.decode(model, &model.weights, INPUT, &mut model.scratch(), &mut found);
    found.candidates().to_vec()
}

#[test]
fn a_wide_beam_is_exhaustive_search() {
    for model in networks() {
        let all = all_outputs(&model);
        let beam = decode(&model, &Beam { width: 1 << 10 });
        for (got, want) in beam.iter().zip(&all).take(20) {
            assert_eq!(got.output, want.output);
            assert!((got.log_prob - want.log_prob).abs() < 1e-4);
            assert!(!got.capped);
        }
        let narrow = decode(&model, &Beam { width: 4 });
        assert!(narrow[0].log_prob <= all[0].log_prob + 1e-5, "nothing beats the best");
        assert!(narrow.windows(2).all(|w| w[1].log_prob <= w[0].log_prob), "best first");
    }
}

#[test]
fn a_beam_of_one_is_greedy() {
    for model in networks() {
        let (greedy, beam) = (decode(&model, &Greedy), decode(&model, &Beam { width: 1 }));
        assert_eq!(greedy[0].output, beam[0].output);
        assert_eq!(greedy[0].capped, beam[0].capped);
        assert!((greedy[0].log_prob - beam[0].log_prob).abs() < 1e-5);
        assert_eq!(greedy[0].marks.len(), beam[0].marks.len());
    }
}

#[test]
fn a_wide_masked_beam_is_exhaustive_search_in_the_language() {
    let language = Language::any_of([Language::word(&[0, 1]), Language::word(&[1, 1, 0])]).star();
    let constraint = Regular::new(&language.automaton(2));
    let dfa = Constraint::<[Symbol]>::automaton(&constraint, INPUT).unwrap();
    for model in networks() {
        let mut members = all_outputs(&model);
        members.retain(|y| dfa.contains(&y.output));
        let masked = decode(&model, &MaskedBeam { width: 1 << 10, constraint: &constraint });
        for (got, want) in masked.iter().zip(&members).take(10) {
            assert_eq!(got.output, want.output);
            assert!((got.log_prob - want.log_prob).abs() < 1e-4);
        }
        for width in [1, 2, 5] {
            let found = decode(&model, &MaskedBeam { width, constraint: &constraint });
            assert!(!found.is_empty() && found.iter().all(|y| dfa.contains(&y.output)));
        }
    }
}

#[test]
fn masked_decoding_finds_nothing_where_there_is_nothing() {
    let model = network(0, StartState::Encoder);
    let nothing = Regular::new(&Language::any_of(Vec::<Language>::new()).automaton(2));
    assert!(decode(&model, &MaskedBeam { width: 3, constraint: &nothing }).is_empty());
    let black_box = |_: &[Symbol], _: &[Symbol]| 0.0;
    assert!(decode(&model, &MaskedBeam { width: 3, constraint: &black_box }).is_empty());
    // The shortest member is longer than the cap.
    let long = Regular::new(&Dfa::length(2, 50));
    assert!(decode(&model, &MaskedBeam { width: 3, constraint: &long }).is_empty());
}

#[test]
fn a_doubling_beam_takes_the_first_that_satisfies() {
    let at_least_three = |_: &[Symbol], y: &[Symbol]| 3.0f32 - y.len().min(3) as f32;
    for model in networks() {
        let rival = DoublingBeam { from: 1, to: 1024, constraint: &at_least_three, deadline: None };
        let found = decode(&model, &rival);
        assert!(3 <= found[0].output.len());
    }
    let never = |_: &[Symbol], _: &[Symbol]| 1.0;
    let model = network(0, StartState::Encoder);
    let rival = DoublingBeam { from: 2, to: 8, constraint: &never, deadline: None };
    assert!(decode(&model, &rival).is_empty());
}

#[test]
fn samples_follow_the_network() {
    // The share of samples that are the empty output is its probability.
    let model = network(3, StartState::Zero);
    let mut empty = Candidate::default();
    let mut scratch = model.scratch();
    Greedy.decode(&model, &model.weights, INPUT, &mut scratch, &mut Found::default());
    model.force(&model.weights, INPUT, &[], &mut scratch, &mut empty);
    let is_empty = |_: &[Symbol], y: &[Symbol]| y.len() as f32;
    let draws = 3000;
    let hits = (0..draws).filter(|&seed| {
        let one =
            Sampling { samples: 1, temperature: 1.0, seed: seed as u64, constraint: &is_empty };
        !decode(&model, &one).is_empty()
    });
    let (share, p) = (hits.count() as f32 / draws as f32, empty.log_prob.exp());
    let deviation = (p * (1.0 - p) / draws as f32).sqrt();
    assert!((share - p).abs() < 4.0 * deviation, "{share} of the samples, probability {p}");
}

#[test]
fn together_and_alone_give_the_same_bits() {
    let model = network(1, StartState::Encoder);
    let inputs: Vec<Vec<Symbol>> =
        (0..23).map(|i| (0..i % 9).map(|j| (i * 7 + j * 3) as Symbol % 3).collect()).collect();
    let xs: Vec<&[Symbol]> = inputs.iter().map(Vec::as_slice).collect();
    let mut together = Found::default();
    Greedy.decode_many(&model, &model.weights, &xs, &mut model.scratch(), &mut together);
    assert_eq!(together.candidates().len(), xs.len());
    for (x, got) in xs.iter().zip(together.candidates()) {
        let mut alone = Found::default();
        Greedy.decode(&model, &model.weights, x, &mut model.scratch(), &mut alone);
        let want = alone.best().unwrap();
        assert_eq!((&got.output, got.capped), (&want.output, want.capped));
        assert_eq!(got.log_prob.to_bits(), want.log_prob.to_bits());
    }
}

#[test]
fn decoding_ends_whatever_the_weights() {
    for value in [f32::NAN, f32::INFINITY, -1e38, 1e38, 0.0] {
        let mut model = network(0, StartState::Encoder);
        model.weights.fill(value);
        let anything = |_: &[Symbol], _: &[Symbol]| 0.0;
        let decoders: [&dyn Decoder<Net>; 4] = [
            &Greedy,
            &Beam { width: 3 },
            &DoublingBeam { from: 1, to: 4, constraint: &anything, deadline: None },
            &Sampling { samples: 4, temperature: 1.0, seed: 1, constraint: &anything },
        ];
        for decoder in decoders {
            for y in decode(&model, decoder) {
                assert!(y.output.len() <= model.net.cap(INPUT));
            }
        }
    }
}

#[test]
fn an_output_that_never_ends_is_cut_off_and_says_so() {
    let mut model = network(0, StartState::Encoder);
    let end_bias = model.weights.len() - 1;
    model.weights[end_bias] = -50.0;
    for decoder in [&Greedy as &dyn Decoder<Net>, &Beam { width: 2 }] {
        let found = decode(&model, decoder);
        assert!(found[0].capped);
        assert_eq!(found[0].output.len(), model.net.cap(INPUT));
        assert_eq!(found[0].marks.len(), found[0].output.len(), "no end symbol was recorded");
    }
    let satisfied = |_: &[Symbol], _: &[Symbol]| 0.0;
    let gbi = cajole_core::Gbi {
        model: &model,
        decoder: &Greedy,
        constraint: &satisfied,
        sources: Vec::new(),
        config: cajole_core::Config::paper(),
    };
    let first = decode(&model, &Greedy);
    assert!(matches!(gbi.check(INPUT, &first[0]), Violation::Whole(g) if 0.0 < g));
}
