//! `config.json` of checkpoints: a card that can be read round-trips, and a network of its size can
//! be declared, whatever the size, and takes no memory before there are weights.
#![no_main]

use std::path::Path;

use cajole_nn::checkpoint::from_bytes;
use cajole_nn::layout::Layout;
use cajole_nn::models::{SequenceNetwork, Transducer};
use cajole_nn::{Tagger, Trainable};
use cajole_tasks::checkpoint::Card;
use cajole_tasks::{parsing, srl, transduction};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(card) = check::<transduction::checkpoint::Card>(text) {
        without_weights(Transducer::new(card.network).layout());
    }
    if let Some(card) = check::<parsing::Card>(text) {
        without_weights(SequenceNetwork::new(card.network).layout());
    }
    if let Some(card) = check::<srl::Card>(text) {
        without_weights(srl::RoleNetwork::new(&card.network).layout());
    }
});

fn without_weights(layout: &Layout) {
    const NO_TENSORS: &[u8] = b"\x02\0\0\0\0\0\0\0{}";
    assert!(from_bytes(Path::new("model.safetensors"), NO_TENSORS, layout).is_err());
}

fn check<C: Card + PartialEq + std::fmt::Debug>(text: &str) -> Option<C> {
    let card: C = serde_json::from_str(text).ok()?;
    let written = serde_json::to_string(&card).expect("a card always serialises");
    let again: C = serde_json::from_str(&written).expect("what is written is read");
    assert_eq!(again, card);
    card.to_markdown();
    Some(card)
}
