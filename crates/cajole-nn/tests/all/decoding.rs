//! Decoders against exhaustive search, on networks small enough to try every output.

use cajole_core::constraint::{Constraint, Violation};
use cajole_core::constraints::{Dfa, Language, Regular};
use cajole_core::decoders::{Beam, DoublingBeam, Greedy, MaskedBeam, Sampling};
use cajole_core::{
    Candidate, ConstrainedDecoder, Decoder, Force, Found, Model, Pass, Symbol, Wanted, Workspace,
};
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
    let weights: Vec<f32> = (0..net.layout().len()).map(|_| random.uniform(-1.5, 1.5)).collect();
    Trained::new(net, weights)
}

/// The same network with other weights.
fn changed(model: Net, change: impl FnOnce(&mut [f32])) -> Net {
    let mut weights = model.weights().to_vec();
    change(&mut weights);
    Trained::new(model.net, weights)
}

fn networks() -> impl Iterator<Item = Net> {
    (0..6).map(|seed| {
        network(seed, if seed % 2 == 0 { StartState::Encoder } else { StartState::Zero })
    })
}

const INPUT: &[Symbol] = &[0, 2, 1, 2, 0];

/// Every output that ends within the cap, most probable first.
fn all_outputs(model: &Net) -> Vec<Candidate> {
    let mut workspace = Workspace::new(model);
    let mut all = Vec::new();
    for length in 0..model.net.cap(INPUT) {
        workspace.decode(model, &Greedy, INPUT).unwrap();
        // A fresh recording each time would only be slower: force adds to the current one.
        for bits in 0..1u32 << length {
            let y: Vec<Symbol> = (0..length).map(|i| bits >> i & 1).collect();
            all.push(force(model, &mut workspace, &y));
        }
    }
    all.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
    all
}

/// Runs `y` through the network beside what was recorded of the input.
fn force(model: &Net, workspace: &mut Workspace<Net>, y: &[Symbol]) -> Candidate {
    let mut forced = Candidate::default();
    let pass = Pass { place: Some(0), ..Pass::base(INPUT) };
    let mut set = [Force { pass, output: y, forced: &mut forced, passes: 0 }];
    model.force(workspace.session(model).scratch, &mut set).unwrap();
    assert_eq!((set[0].passes, &*forced.output), (1, y));
    forced
}

fn decode(model: &Net, decoder: &dyn Decoder<Net>) -> Vec<Candidate> {
    let found = Workspace::new(model).decode(model, decoder, INPUT).unwrap();
    found.candidates().to_vec()
}

fn search(
    model: &Net,
    decoder: &dyn ConstrainedDecoder<Net>,
    constraint: &dyn Constraint<[Symbol]>,
) -> Vec<Candidate> {
    let wanted = Wanted::new(INPUT, constraint);
    let found = Workspace::new(model).search(model, decoder, INPUT, &wanted).unwrap();
    assert!(found.candidates().iter().all(|y| y.marks.is_empty()), "nothing is recorded");
    found.candidates().to_vec()
}

#[test]
fn a_wide_beam_is_exhaustive_search() {
    for model in networks() {
        let all = all_outputs(&model);
        let beam = decode(&model, &Beam::of(1 << 10));
        for (got, want) in beam.iter().zip(&all).take(20) {
            assert_eq!(got.output, want.output);
            assert!((got.log_prob - want.log_prob).abs() < 1e-4);
            assert!(!got.capped);
        }
        let narrow = decode(&model, &Beam::of(4));
        assert!(narrow[0].log_prob <= all[0].log_prob + 1e-5, "nothing beats the best");
        assert!(narrow.windows(2).all(|w| w[1].log_prob <= w[0].log_prob), "best first");
    }
}

#[test]
fn a_beam_of_one_is_greedy() {
    for model in networks() {
        let (greedy, beam) = (decode(&model, &Greedy), decode(&model, &Beam::of(1)));
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
        let masked = search(&model, &MaskedBeam::of(1 << 10), &constraint);
        for (got, want) in masked.iter().zip(&members).take(10) {
            assert_eq!(got.output, want.output);
            assert!((got.log_prob - want.log_prob).abs() < 1e-4);
        }
        for width in [1, 2, 5] {
            let found = search(&model, &MaskedBeam::of(width), &constraint);
            assert!(!found.is_empty() && found.iter().all(|y| dfa.contains(&y.output)));
        }
    }
}

#[test]
fn masked_decoding_finds_nothing_where_there_is_nothing() {
    let model = network(0, StartState::Encoder);
    let nothing = Regular::new(&Language::any_of(Vec::<Language>::new()).automaton(2));
    assert!(search(&model, &MaskedBeam::of(3), &nothing).is_empty());
    let black_box = |_: &[Symbol], _: &[Symbol]| 0.0;
    assert!(search(&model, &MaskedBeam::of(3), &black_box).is_empty());
    // The shortest member is longer than the cap.
    let long = Regular::new(&Dfa::length(2, 50));
    assert!(search(&model, &MaskedBeam::of(3), &long).is_empty());
}

#[test]
fn a_doubling_beam_takes_the_first_that_satisfies() {
    let at_least_three = |_: &[Symbol], y: &[Symbol]| 3.0f32 - y.len().min(3) as f32;
    for model in networks() {
        let found = search(&model, &DoublingBeam::of(1, 1024), &at_least_three);
        assert!(3 <= found[0].output.len());
    }
    let never = |_: &[Symbol], _: &[Symbol]| 1.0;
    let model = network(0, StartState::Encoder);
    assert!(search(&model, &DoublingBeam::of(2, 8), &never).is_empty());
}

#[test]
fn samples_follow_the_network() {
    // The share of samples that are the empty output is its probability.
    let model = network(3, StartState::Zero);
    let mut workspace = Workspace::new(&model);
    workspace.decode(&model, &Greedy, INPUT).unwrap();
    let empty = force(&model, &mut workspace, &[]);
    let is_empty = |_: &[Symbol], y: &[Symbol]| y.len() as f32;
    let draws = 3000;
    let hits = (0..draws).filter(|&seed| {
        let one = Sampling::of(1, seed as u64);
        !search(&model, &one, &is_empty).is_empty()
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
    let set: Vec<Pass<'_, Net>> = xs.iter().map(|x| Pass::base(*x)).collect();
    let decoders: [&dyn Decoder<Net>; 2] = [&Greedy, &Beam::of(3)];
    for decoder in decoders {
        let mut workspace = Workspace::new(&model);
        let mut together = vec![Found::default(); xs.len()];
        let mut skimmed = together.clone();
        decoder.decode(&mut workspace.session(&model), &set, &mut together).unwrap();
        decoder.skim(&mut workspace.session(&model), &set, &mut skimmed).unwrap();
        for ((x, together), skimmed) in xs.iter().zip(&together).zip(&skimmed) {
            let alone = Workspace::new(&model).decode(&model, decoder, x).unwrap();
            for found in [together, skimmed] {
                assert_eq!(found.candidates().len(), alone.candidates().len());
                for (got, want) in found.candidates().iter().zip(alone.candidates()) {
                    assert_eq!((&got.output, got.capped), (&want.output, want.capped));
                    assert_eq!(got.log_prob.to_bits(), want.log_prob.to_bits());
                }
            }
        }
    }
}

#[test]
fn decoding_ends_whatever_the_weights() {
    for value in [f32::NAN, f32::INFINITY, -1e38, 1e38, 0.0] {
        let model = changed(network(0, StartState::Encoder), |w| w.fill(value));
        let anything = |_: &[Symbol], _: &[Symbol]| 0.0;
        let decoders: [&dyn Decoder<Net>; 2] = [&Greedy, &Beam::of(3)];
        let searches: [&dyn ConstrainedDecoder<Net>; 2] =
            [&DoublingBeam::of(1, 4), &Sampling::of(4, 1)];
        let found = decoders.into_iter().flat_map(|decoder| decode(&model, decoder));
        let satisfying = searches.into_iter().flat_map(|s| search(&model, s, &anything));
        for y in found.chain(satisfying) {
            assert!(y.output.len() <= model.net.cap(INPUT));
        }
    }
}

#[test]
fn an_output_that_never_ends_is_cut_off_and_says_so() {
    let model = changed(network(0, StartState::Encoder), |w| {
        *w.last_mut().unwrap() = -50.0; // the bias of the end
    });
    for decoder in [&Greedy as &dyn Decoder<Net>, &Beam::of(2)] {
        let found = decode(&model, decoder);
        assert!(found[0].capped);
        assert_eq!(found[0].output.len(), model.net.cap(INPUT));
        assert_eq!(found[0].marks.len(), found[0].output.len(), "no end symbol was recorded");
    }
    let satisfied = |_: &[Symbol], _: &[Symbol]| 0.0;
    let first = decode(&model, &Greedy);
    let violation = Wanted::new(INPUT, &satisfied).measure(&first[0]);
    assert!(matches!(violation, Violation::Whole(g) if 0.0 < g));
}
