//! Users' pairs in JSON Lines, settings of networks for them, and their model cards.
#![no_main]

use std::io::Write;

use cajole_nn::Trainable;
use cajole_nn::models::SequenceNetwork;
use cajole_tasks::checkpoint::Card as _;
use cajole_tasks::pairs::{Card, PairsConfig, Spelling, Symbols, read};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("room for it");
    for spelling in [Spelling::Words, Spelling::Characters] {
        let corpus = match read(file.path(), spelling) {
            Ok(corpus) => corpus,
            Err(error) => {
                error.to_string();
                continue;
            }
        };
        let pairs = &corpus.sentences;
        for symbols in pairs.iter().flat_map(|pair| [&pair.input, &pair.output]) {
            let text = json!(symbols.join(spelling.separator()));
            assert_eq!(spelling.symbols(&text).as_ref(), Ok(symbols));
        }
        let outputs = Symbols::of_outputs(pairs.iter().map(|pair| pair.output.as_slice()));
        let known = |name| outputs.symbol(name).map(|symbol| outputs.name(symbol)) == Some(name);
        assert!(pairs.iter().flat_map(|pair| &pair.output).all(|name| known(name.as_str())));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        settings(text);
    }
});

fn settings(text: &str) {
    if let Ok(config) = toml::from_str::<PairsConfig>(text)
        && let Ok(written) = toml::to_string(&config)
    {
        assert_eq!(toml::from_str::<PairsConfig>(&written).as_ref(), Ok(&config));
    }
    if let Ok(card) = serde_json::from_str::<Card>(text) {
        let written = serde_json::to_string(&card).expect("a card always serialises");
        assert_eq!(serde_json::from_str::<Card>(&written).expect("as it was written"), card);
        card.to_markdown();
        SequenceNetwork::new(card.network).layout().len();
    }
}
