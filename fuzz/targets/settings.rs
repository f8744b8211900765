//! Settings of the experiments, in TOML: what can be read round-trips.
#![no_main]

use cajole_experiments::parsing::ParsingConfig;
use cajole_experiments::srl::SrlConfig;
use cajole_experiments::transduction::TransductionConfig;
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|text: &str| {
    check::<cajole_core::Config>(text);
    check::<TransductionConfig>(text);
    check::<ParsingConfig>(text);
    check::<SrlConfig>(text);
});

fn check<C: Serialize + DeserializeOwned>(text: &str) {
    let Ok(config) = toml::from_str::<C>(text) else { return };
    // A number beyond TOML's, such as a seed of more than 63 bits, cannot be written.
    let Ok(written) = toml::to_string(&config) else { return };
    let again: C = toml::from_str(&written).expect("what is written is read");
    assert_eq!(toml::to_string(&again).expect("as before"), written);
}
