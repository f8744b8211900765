//! Masked decoding under the shift-reduce constraint. The constraint's own crate has no networks to
//! test this with.

use cajole_core::decoders::MaskedBeam;
use cajole_core::{Symbol, Wanted, Workspace};
use cajole_nn::models::{StartState, Transducer, TransducerConfig};
use cajole_nn::random::Random;
use cajole_nn::{AutoRegressive, Trained};
use cajole_treebank::shift_reduce::{Commands, ShiftReduce};

#[test]
fn a_masked_decoder_always_finds_a_tree() {
    let commands = Commands::new(["X0", "X1", "X2"].map(String::from).to_vec());
    let one_tree = ShiftReduce::new(&commands);
    let net = Transducer::new(TransducerConfig {
        input_symbols: 3,
        output_symbols: commands.n_symbols(),
        embedding: 4,
        hidden: 5,
        start_state: StartState::Encoder,
        dropout: 0.0,
        cap_factor: 2,
    });
    let mut random = Random::new(1);
    let weights: Vec<f32> = (0..net.layout().len()).map(|_| random.uniform(-1.5, 1.5)).collect();
    let model = Trained::new(net, weights);
    let mut workspace = Workspace::new(&model);
    for m in 1..12 {
        let x: Vec<Symbol> = vec![0; m];
        for width in [1, 4] {
            let wanted = Wanted::new(x.as_slice(), &one_tree);
            let found = workspace.search(&model, &MaskedBeam::of(width), &x, &wanted).unwrap();
            assert!(!found.candidates().is_empty(), "{m} tokens, width {width}");
            assert!(found.candidates().iter().all(|y| one_tree.faults(m, &y.output).is_empty()));
        }
    }
}
