//! `config.json` of AllenNLP's archives, whose tensors fit the smallest role labeler there is.
#![no_main]

use std::collections::BTreeMap;
use std::path::Path;

use cajole_import::allennlp::Archive;
use cajole_import::srl::from_archive;
use cajole_nn::import::Tensor;
use cajole_tasks::srl::RoleNetworkConfig;
use libfuzzer_sys::fuzz_target;

/// Tensors of a network with one unit of everything, three words and two tags.
const SHAPES: [(&str, &[usize]); 8] = [
    ("text_field_embedder.token_embedder_tokens.weight", &[3, 1]),
    ("binary_feature_embedding.weight", &[2, 1]),
    ("encoder._module.weight_ih_l0", &[4, 2]),
    ("encoder._module.weight_hh_l0", &[4, 1]),
    ("encoder._module.bias_ih_l0", &[4]),
    ("encoder._module.bias_hh_l0", &[4]),
    ("tag_projection_layer._module.weight", &[2, 1]),
    ("tag_projection_layer._module.bias", &[2]),
];

fuzz_target!(|bytes: &[u8]| {
    let Ok(config) = serde_json::from_slice(bytes) else { return };
    let tensor = |shape: &[usize]| Tensor {
        shape: shape.to_vec(),
        values: vec![0.5; shape.iter().product()],
    };
    let tensors = SHAPES.iter().map(|(name, shape)| ((*name).to_owned(), tensor(shape)));
    let list = |words: [&str; 2]| words.map(str::to_owned).to_vec();
    let vocabulary = [("tokens", list(["@@UNKNOWN@@", "dog"])), ("labels", list(["O", "B-V"]))];
    let vocabulary: BTreeMap<_, _> =
        vocabulary.into_iter().map(|(name, words)| (name.to_owned(), words)).collect();
    let archive = Archive { config, tensors: tensors.collect(), vocabulary };
    if let Ok((tagger, card)) = from_archive(Path::new("model.tar.gz"), &archive, None) {
        let RoleNetworkConfig::Lstm(network) = card.network else { panic!("not LSTMs") };
        assert_eq!((network.words, network.tags), (3, 2));
        assert_eq!(tagger.vocabulary.lexicon.words().len(), 3);
    }
});
