//! Ways of making outputs obey, as users name them: `auto`, `gbi`, `masked:width=9`.
//!
//! Commands, requests, Python and settings files all read engines with [`Engine::from_str`], and
//! lists of engines are made from [`Engine::all`]. An engine becomes a [`Plan`] when its network is
//! known, which has numbers of its own for its searches.
//!
//! With every engine, an output of the network that satisfies its rules is left alone. If an
//! engine finds nothing, the answer is the least violating output seen, and its status says so.

use std::fmt;
use std::str::FromStr;

use cajole_core::Search;
use serde::de::{Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::plan::{Plan, Plans};
use crate::settings::Settings;
use crate::task::Task;

/// How outputs are made to obey: a plan, by its name and the numbers that differ from the usual.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    name: &'static str,
    numbers: Map<String, Value>,
    /// The search, if it is not the network's of this name.
    exactly: Option<Search>,
}

/// The plan that suits task and rules best.
const USUAL: (&str, &str) = (
    "usual",
    "auto for pairs whose rules can be followed symbol by symbol, gbi for everything else",
);

/// A plan of several searches.
const AUTO: (&str, &str) =
    ("auto", "Engines that can guarantee to obey, then the others; keeps the most probable output");

/// Why the name of an engine is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// There is none of this name.
    #[error("no engine {name:?}; there are {}", known())]
    Unknown {
        /// The name.
        name: String,
    },
    /// A number of it is wrong.
    #[error("engine {engine:?}: {problem}")]
    Number {
        /// The engine as it was written.
        engine: String,
        /// The reason.
        problem: String,
    },
}

/// The names of all engines.
fn known() -> String {
    Engine::all().iter().map(Engine::name).collect::<Vec<_>>().join(", ")
}

impl Engine {
    /// All engines with their usual numbers, in the order in which they are shown.
    pub fn all() -> Vec<Engine> {
        let mut all = vec![Engine::usual()];
        for search in Search::all() {
            if search == Search::Network {
                all.push(Engine::auto());
            }
            all.push(Engine::plain(search.name()));
        }
        all
    }

    fn plain(name: &'static str) -> Engine {
        Engine { name, numbers: Map::new(), exactly: None }
    }

    /// The plan that suits task and rules best: see [`Task::usual_plans`].
    pub fn usual() -> Engine {
        Engine::plain(USUAL.0)
    }

    /// Several searches; of the satisfying outputs, the one that the network finds most probable.
    pub fn auto() -> Engine {
        Engine::plain(AUTO.0)
    }

    /// Gradient-based inference.
    pub fn gbi() -> Engine {
        Engine::plain("gbi")
    }

    /// None: the network's own output, with its faults.
    pub fn network() -> Engine {
        Engine::plain("network")
    }

    /// The search of this name, with the network's numbers.
    pub fn of_search(search: &Search) -> Engine {
        Engine::plain(search.name())
    }

    /// This search, with all of its numbers and settings.
    pub fn exactly(search: Search) -> Engine {
        Engine { exactly: Some(search.clone()), ..Engine::plain(search.name()) }
    }

    /// Its name, without numbers.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One sentence for people who choose between engines.
    pub fn about(&self) -> &'static str {
        match self.name() {
            name if name == USUAL.0 => USUAL.1,
            name if name == AUTO.0 => AUTO.1,
            name => Search::named(name).map_or("", |search| search.about()),
        }
    }

    /// Whether it depends on task and rules which searches are tried.
    pub fn is_usual(&self) -> bool {
        self.name == USUAL.0
    }

    /// The plans for a network, with these settings.
    pub fn plans(&self, task: &dyn Task, settings: &Settings) -> Plans {
        if self.is_usual() { task.usual_plans(settings) } else { Plans::all(self.plan(settings)) }
    }

    fn plan(&self, settings: &Settings) -> Plan {
        if let Some(search) = &self.exactly {
            return Plan::one(search.clone());
        }
        if self.name == AUTO.0 {
            return Plan::auto(settings);
        }
        let usual = Search::named(self.name()).unwrap_or(Search::Network);
        match settings.search(usual) {
            Search::Gbi(_) => Plan::gbi(settings),
            search => Plan::one(self.with_numbers(search.clone()).unwrap_or(search)),
        }
    }

    /// A search with this engine's numbers.
    fn with_numbers(&self, search: Search) -> Result<Search, String> {
        if self.numbers.is_empty() {
            return Ok(search);
        }
        let mut fields = match serde_json::to_value(search).map_err(|error| error.to_string())? {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        for (key, value) in &self.numbers {
            if key == "kind" || !fields.contains_key(key) {
                let known: Vec<&str> =
                    fields.keys().map(String::as_str).filter(|key| *key != "kind").collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(format!("no number {key:?}; there are {known}"));
            }
            fields.insert(key.clone(), value.clone());
        }
        serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
    }
}

/// A name, and numbers that differ from the usual: `beam:from=4,to=128`.
impl FromStr for Engine {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Engine, EngineError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let unknown = || EngineError::Unknown { name: name.to_owned() };
        let known = Engine::all().into_iter().find(|engine| engine.name == name);
        let mut engine = known.ok_or_else(unknown)?;
        let wrong = |problem| EngineError::Number { engine: text.to_owned(), problem };
        for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong(format!("expected NUMBER=VALUE, not {pair:?}")))?;
            let value = serde_json::from_str(value)
                .map_err(|_| wrong(format!("{key} is {value}, which is no number")))?;
            engine.numbers.insert(key.to_owned(), value);
        }
        let search = Search::named(engine.name).filter(|search| !search.is_gbi());
        match search {
            Some(search) => drop(engine.with_numbers(search).map_err(wrong)?),
            None if engine.numbers.is_empty() => {}
            None => return Err(wrong("it has no numbers here; presets and --set have".to_owned())),
        }
        Ok(engine)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for (i, (key, value)) in self.numbers.iter().enumerate() {
            let before = if i == 0 { ':' } else { ',' };
            write!(f, "{before}{key}={value}")?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Engine {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Engine, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Engine {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_written_as_it_is_read() {
        for engine in Engine::all() {
            assert_eq!(engine.to_string().parse(), Ok(engine.clone()));
            assert!(!engine.about().is_empty(), "{engine}");
        }
        for text in ["beam:from=4,to=128", "sample:n=200,seed=7", "spans:repeated=2.5"] {
            assert_eq!(text.parse::<Engine>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_engines_are_refused_with_what_there_is() {
        let error = |text: &str| text.parse::<Engine>().unwrap_err().to_string();
        assert!(error("maskd").starts_with("no engine \"maskd\"; there are usual, gbi, beam,"));
        for (text, said) in [
            ("masked:widht=3", "no number \"widht\"; there are width"),
            ("masked:width=0", "0 is not in 1..=1024"),
            ("masked:width=x", "width is x, which is no number"),
            ("masked:width", "expected NUMBER=VALUE, not \"width\""),
            ("masked:kind=2", "no number \"kind\""),
            ("network:width=2", "no number \"width\"; there are none"),
            ("gbi:width=2", "it has no numbers here"),
            ("usual:width=2", "it has no numbers here"),
        ] {
            assert!(error(text).contains(said), "{}", error(text));
        }
    }
}
