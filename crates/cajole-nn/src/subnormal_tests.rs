//! No pass leaves subnormal floats on the tape, however saturated the network is.

use crate::gradient::Gradient;
use crate::models::{
    Architecture, CellKind, Features, LstmTagger, Reading, Seq2Seq, Seq2SeqConfig, TaggerConfig,
    Token,
};
use crate::random::Random;
use crate::tape::{Graph, Tape};
use crate::{Example, Tagging, Trainable};
use cajole_core::Symbol;
use cajole_core::constraints::TagSet;

const LENGTH: usize = 120;
const SYMBOLS: usize = 6;

/// Teaches `net` one long example under weights that shut gates and concentrate attention.
fn check<N: Trainable>(name: &str, net: &N, x: &N::Input) {
    let (layout, random) = (net.layout(), &mut Random::new(4));
    let y: Vec<Symbol> = (0..LENGTH).map(|i| ((i * i + 1) % (SYMBOLS - 1)) as Symbol).collect();
    for scale in [1.0, 5.0, 20.0] {
        let w: Vec<f32> = (0..layout.len()).map(|_| random.uniform(-scale, scale)).collect();
        let (mut tape, mut blame) = (Tape::default(), Vec::new());
        let example = Example { input: x, output: &y };
        net.teach(&mut Graph::new(&w, &mut tape), &[example], 1e-3, &mut blame);
        let mut grad = Gradient::new(w.len());
        tape.backward(&w, layout, &blame, &mut grad);
        let count = |floats: &[f32]| floats.iter().filter(|v| v.is_subnormal()).count();
        let values = count(&tape.values[..tape.len()]);
        let gradients = count(tape.gradients());
        assert_eq!((values, gradients), (0, 0), "{name}, weights up to {scale}");
    }
}

fn tokens() -> Vec<Token> {
    let random = &mut Random::new(9);
    let mut symbol = || random.below(SYMBOLS) as Symbol;
    (0..LENGTH).map(|_| Token { word: symbol(), vector: 0 }).collect()
}

#[test]
fn parsers_leave_no_subnormal_floats() {
    for architecture in [Architecture::Simple, Architecture::Gnmt] {
        let net = Seq2Seq::new(Seq2SeqConfig {
            architecture,
            words: SYMBOLS,
            embedding: 8,
            vectors: 0,
            vector_size: 0,
            output_symbols: SYMBOLS,
            output_embedding: 8,
            layers: 3,
            hidden: 16,
            attention: 16,
            dropout: 0.0,
            embedding_dropout: 0.0,
            reversed_input: false,
            pointer: None,
            cap_factor: 1,
        });
        check(&format!("{architecture:?}"), &net, tokens().as_slice());
    }
}

#[test]
fn taggers_leave_no_subnormal_floats() {
    for cell in [CellKind::Lstm, CellKind::Highway] {
        let net = LstmTagger::<Features>::new(TaggerConfig {
            words: SYMBOLS,
            embedding: 8,
            vectors: 0,
            vector_size: 0,
            dense: 0,
            lemmas: 0,
            lemma_embedding: 0,
            indicator: 2,
            tags: SYMBOLS - 1,
            cell,
            reading: Reading::Alternating,
            layers: 4,
            hidden: 16,
            input_dropout: 0.0,
            recurrent_dropout: 0.0,
            dropout: 0.0,
        });
        let tags = TagSet::new(["O", "B-A", "I-A", "B-V", "I-V"]).unwrap();
        let x = Features { tokens: tokens().into(), predicate: 3, ..Features::default() };
        check(&format!("{cell:?}"), &Tagging { net, tags }, &x);
    }
}
