//! Presets of a task, and changes to them: what can be read round-trips.
#![no_main]

use cajole_tasks::Presets;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(presets) = toml::from_str::<Presets>(text)
        && let Ok(written) = toml::to_string(&presets)
    {
        let again: Presets = toml::from_str(&written).expect("what is written is read");
        assert_eq!(toml::to_string(&again).expect("as before"), written);
    }
    let Ok(changes) = toml::from_str::<toml::Table>(text) else { return };
    for built_in in [Presets::TRANSDUCTION, Presets::PARSING, Presets::SRL, Presets::PAIRS] {
        let _ = Presets::changed(built_in, toml::Value::Table(changes.clone()));
    }
});
