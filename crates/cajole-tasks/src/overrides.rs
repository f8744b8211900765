//! Single values of settings, overridden by `key.key=value`: a flag of the command line, an argument
//! of a function.

use cajole_files::Place;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Why settings cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// The settings, without overrides, are not valid.
    #[error("in {name}: {source}")]
    Settings {
        /// The name of the settings in messages.
        name: String,
        /// The TOML error, with its line.
        source: Box<toml::de::Error>,
    },
    /// An override has no `=`.
    #[error("the override {assignment}: expected KEY=VALUE, as in training.epochs=50")]
    NoValue {
        /// The override.
        assignment: String,
    },
    /// An override looks for values inside a value.
    #[error("the override {assignment}: {key:?} is a value, not a section")]
    NoSection {
        /// The override.
        assignment: String,
        /// The key.
        key: String,
    },
    /// The settings are not valid with the overrides.
    #[error("in {name} with {overrides}: {problem}")]
    Overridden {
        /// The name of the settings in messages.
        name: String,
        /// All of the overrides.
        overrides: String,
        /// What does not fit.
        problem: String,
    },
}

/// Settings of type `T` in TOML, which messages call `name`, with single values overridden.
///
/// # Errors
/// If the text, or an override, does not fit the type.
pub fn overridden<T: DeserializeOwned>(
    name: &str,
    text: &str,
    overrides: &[String],
) -> Result<T, OverrideError> {
    let wrong = |source: toml::de::Error| OverrideError::Settings {
        name: name.to_owned(),
        source: Box::new(source),
    };
    if overrides.is_empty() {
        // Straight from the text, so that an error shows the line.
        return toml::from_str(text).map_err(wrong);
    }
    let mut table: Table = toml::from_str(text).map_err(wrong)?;
    overrides.iter().try_for_each(|assignment| set(&mut table, assignment))?;
    of_table(&table).map_err(|problem| OverrideError::Overridden {
        name: name.to_owned(),
        overrides: overrides.join(", "),
        problem,
    })
}

/// A table as settings of type `T`; an error quotes what does not fit.
///
/// They are read from text, as settings without overrides are. A table can be read without, but then
/// every type of settings is compiled twice.
pub(crate) fn of_table<T: DeserializeOwned>(table: &Table) -> Result<T, String> {
    let text = toml::to_string(table).map_err(|error| error.to_string())?;
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let place = error.span().map(|at| Place::in_text(&text, at.start));
        let line = place.and_then(|place| text.lines().nth(place.line - 1));
        match line.filter(|line| !line.is_empty()) {
            Some(line) => format!("{}, in `{line}`", error.message()),
            None => error.message().to_owned(),
        }
    })
}

/// Applies one `key.key=value`.
fn set(table: &mut Table, assignment: &str) -> Result<(), OverrideError> {
    let whole = || assignment.to_owned();
    let Some((path, value)) = assignment.split_once('=') else {
        return Err(OverrideError::NoValue { assignment: whole() });
    };
    // A value that is not TOML is taken as a string, so that it needs no quotes.
    let value = toml::from_str::<Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| Value::String(value.to_owned()));
    let mut keys: Vec<&str> = path.trim().split('.').collect();
    let last = keys.pop().unwrap_or_default();
    let mut place = table;
    for key in keys {
        // A section that is left to its defaults is not in the text.
        let section = place.entry(key).or_insert_with(|| Value::Table(Table::new()));
        place = match section.as_table_mut() {
            Some(section) => section,
            None => {
                let key = key.to_owned();
                return Err(OverrideError::NoSection { assignment: whole(), key });
            }
        };
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use cajole_core::Config;

    use super::*;

    fn config(overrides: &[&str]) -> Result<Config, String> {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let text = toml::to_string(&Config::paper()).unwrap();
        overridden("the preset", &text, &overrides).map_err(|error| error.to_string())
    }

    #[test]
    fn values_sections_and_bare_words() {
        assert_eq!(config(&[]), Ok(Config::paper()));
        let changed = config(&["schedule.max-steps=7", "pull=0.5", "moves=[\"decoder\"]"]).unwrap();
        assert_eq!((changed.schedule.max_steps, changed.pull), (7, 0.5));
        assert_eq!(changed.moves, ["decoder"]);
        assert_eq!(config(&["schedule.rule.kind=sgd"]), Ok(Config::paper()));
    }

    #[test]
    fn errors_name_the_override() {
        for (wrong, why) in [
            ("pull", "the override pull: expected KEY=VALUE"),
            ("pull.x=1", "the override pull.x=1: \"pull\" is a value, not a section"),
            ("pull=-1", "in the preset with pull=-1: -1 is not a finite number from 0"),
            ("pul=1", "unknown field `pul`"),
        ] {
            let error = config(&[wrong]).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
