//! The options of a run, in one table.
//!
//! Flags of commands, fields of requests, arguments in Python, the description of the API, the form on
//! the page and `docs/settings.md` are made from [`FIELDS`]. To add an option, add it to the table, say in
//! [`Run::settings`] what it changes, and run
//! `cargo test -p cajole-cli --test all -- --ignored made_from_the_table`.

use std::time::Duration;

use cajole_tasks::{OverrideError, Preset};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::limits::{
    MAX_LINE_BYTES, MAX_TOKENS, MOST_DEADLINE_MS, MOST_LINE_BYTES, MOST_STEPS, MOST_THREADS,
    MOST_TOKENS, MOST_WIDTH,
};
use crate::settings::Settings;
use crate::task::Task;
use Place::{Commands, Http, Infer, Program, Python};

/// One option.
#[derive(Debug)]
pub struct Field {
    /// Its name in JSON and in Python.
    pub name: &'static str,
    /// Its flag, without `--`.
    pub flag: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// Where it can be given.
    pub places: &'static [Place],
    /// The default in words, for options whose default depends on the network.
    unset: &'static str,
    doc: &'static [&'static str],
}

/// The kind of an option's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number within a range.
    Number {
        /// The least.
        least: usize,
        /// The most.
        most: usize,
    },
    /// Yes or no, and no by default.
    Switch,
    /// Yes or no, and yes by default: its flag turns it off, and this sentence says so. In Python,
    /// all switches are off by default.
    SwitchedOff(&'static str),
    /// An engine, with numbers of its own.
    Engine,
    /// A preset.
    Preset,
    /// Single settings of gradient-based inference, each as `key.key=value`.
    Assignments,
}

/// Where options can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Flags of every command that answers lines, comparisons included.
    Commands,
    /// Flags of `cajole infer`.
    Infer,
    /// Flags of every command.
    Program,
    /// Fields of a body, and parameters of a query.
    Http,
    /// Arguments.
    Python,
}

/// A number is out of its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {number}; it goes from {least} to {most}")]
pub struct OutOfRange {
    /// The name of the option.
    pub name: &'static str,
    /// The number.
    pub number: i128,
    /// The least that is allowed.
    pub least: usize,
    /// The most that is allowed.
    pub most: usize,
}

/// A value of an option.
trait Given: Sized + for<'de> Deserialize<'de> {
    /// Reads it; null is none.
    fn read<'de, D: Deserializer<'de>>(_: &Field, from: D) -> Result<Option<Self>, D::Error> {
        Option::deserialize(from)
    }

    /// Both values, of which this one counts more.
    fn over(self, _below: Self) -> Self {
        self
    }
}

impl Given for Engine {}
impl Given for Preset {}
impl Given for bool {}

impl Given for usize {
    fn read<'de, D: Deserializer<'de>>(field: &Field, from: D) -> Result<Option<usize>, D::Error> {
        let number = Option::<Whole>::deserialize(from)?;
        number.map(|Whole(number)| field.check(number).map_err(D::Error::custom)).transpose()
    }
}

/// Assignments come one after another: the last counts.
impl Given for Vec<String> {
    fn over(self, mut below: Vec<String>) -> Vec<String> {
        below.extend(self);
        below
    }
}

/// A whole number of any sign, so that a negative one is out of range and no error of its own.
struct Whole(i128);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Whole, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Whole;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E>(self, number: i64) -> Result<Whole, E> {
                Ok(Whole(number.into()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole(number.into()))
            }
        }

        from.deserialize_i64(Reader)
    }
}

macro_rules! options {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty = $default:expr, $unset:literal, $kind:expr, $flag:literal, $places:expr;
    )+) => {
        /// How a run is asked for, wherever that is. `None` leaves an option to its default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct Run {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )+
        }

        /// The table of options, in the order in which they are shown.
        pub static FIELDS: &[Field] = &[$(Field {
            name: stringify!($name),
            flag: $flag,
            kind: $kind,
            places: &$places,
            unset: $unset,
            doc: &[$($doc),+],
        }),+];

        impl Run {
            /// The defaults. Options whose default depends on the network have none here.
            pub fn defaults() -> Run {
                Run { $($name: $default),+ }
            }

            /// These options, and those of `below` that are not given here: a preset is below a
            /// settings file, which is below flags, which are below a request.
            #[must_use]
            pub fn over(self, below: Run) -> Run {
                Run {
                    $($name: match (self.$name, below.$name) {
                        (Some(value), Some(below)) => Some(Given::over(value, below)),
                        (value, below) => value.or(below),
                    }),+
                }
            }

            /// Reads the value of one option. Null leaves it to its default.
            ///
            /// # Errors
            /// If there is no such option, or the value does not fit.
            pub fn read<'de, D: Deserializer<'de>>(
                &mut self,
                name: &str,
                from: D,
            ) -> Result<(), D::Error> {
                match Field::named(name) {
                    $(Some(field) if name == stringify!($name) => {
                        self.$name = Given::read(field, from)?;
                        Ok(())
                    })+
                    _ => Err(D::Error::unknown_field(name, &[$(stringify!($name)),+])),
                }
            }
        }
    };
}

const NO_TIMES: &str = "Leave milliseconds out of records: the same lines then give the same bytes";

options! {
    /// How outputs are made to obey
    engine: Engine = Some(Engine::usual()), "", Kind::Engine, "engine", [Infer, Http, Python];

    /// Settings of gradient-based inference
    preset: Preset = None, "what works best for the task", Kind::Preset, "preset",
        [Commands, Http, Python];

    /// Override one of them, such as `--set schedule.step-size=0.01`; may be repeated
    settings: Vec<String> = None, "none", Kind::Assignments, "set", [Commands, Python];

    /// Give up on an input after this long and keep the best output so far, in milliseconds
    ///
    /// Outputs then depend on how fast and how busy the machine is. While an input waits for others,
    /// it uses no time; over HTTP, time counts from the arrival of the request or line, and waiting
    /// counts. The predicates of a sentence share its time. An input that runs out of time has the
    /// status timed-out.
    deadline_ms: usize = None, "none", Kind::Number { least: 0, most: MOST_DEADLINE_MS as usize },
        "deadline-ms", [Commands, Http, Python];

    /// The most nudges for one input in each descent
    max_steps: usize = None, "the preset's", Kind::Number { least: 0, most: MOST_STEPS },
        "max-steps", [Commands, Http, Python];

    /// Accept an output after this many nudges although it violates the rules, without restarts
    ///
    /// A rule may be wrong where the network is right. What a network does not give up within a few
    /// nudges is better kept. `cajole tag` insists on given trees, and on predicted ones for 1
    /// nudge.
    patience: usize = None, "insist", Kind::Number { least: 0, most: MOST_STEPS }, "patience",
        [Commands, Http, Python];

    /// Width of the beam that the network decodes with; 1 is greedy
    width: usize = None, "the task's", Kind::Number { least: 1, most: MOST_WIDTH }, "width",
        [Commands, Http, Python];

    /// The most tokens of a line; a longer line is bad
    ///
    /// Memory grows with the length: the built-in parser takes about 1.5 MB per token and thread.
    max_tokens: usize = Some(MAX_TOKENS), "", Kind::Number { least: 1, most: MOST_TOKENS },
        "max-tokens", [Commands, Python];

    /// The most bytes of a line; a longer line is bad
    max_line_bytes: usize = Some(MAX_LINE_BYTES), "",
        Kind::Number { least: 1, most: MOST_LINE_BYTES }, "max-line-bytes", [Commands, Python];

    /// Threads to use; results do not depend on it
    threads: usize = None, "all cores", Kind::Number { least: 1, most: MOST_THREADS }, "threads",
        [Program, Python];

    /// Add the trace of every repair to its record (gbi)
    trace: bool = Some(false), "", Kind::Switch, "explain", [Infer, Python];

    /// Say in records how long each input took; without times, the same lines give the same bytes
    times: bool = Some(true), "", Kind::SwitchedOff(NO_TIMES), "no-times", [Infer, Http, Python];

    /// Say in records how probable the network finds every output
    ///
    /// `log_prob` is the sum of the logarithms of its probabilities under the network's own weights.
    log_probs: bool = Some(false), "", Kind::Switch, "log-probs", [Infer, Http, Python];

    /// Stop at the first bad line, instead of reporting it and continuing
    strict: bool = Some(false), "", Kind::Switch, "strict", [Infer, Python];
}

impl Field {
    /// The option of this name.
    pub fn named(name: &str) -> Option<&'static Field> {
        FIELDS.iter().find(|field| field.name == name)
    }

    /// The options of a place.
    pub fn all_of(place: Place) -> impl Iterator<Item = &'static Field> {
        FIELDS.iter().filter(move |field| field.is_of(place))
    }

    /// Whether it can be given there.
    pub fn is_of(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    /// One sentence.
    pub fn about(&self) -> String {
        self.paragraphs().swap_remove(0)
    }

    /// Further paragraphs; empty if there are none.
    pub fn details(&self) -> String {
        self.paragraphs()[1..].join("\n\n")
    }

    fn paragraphs(&self) -> Vec<String> {
        let mut paragraphs = vec![String::new()];
        for line in self.doc.iter().map(|line| line.trim()) {
            match paragraphs.last_mut() {
                Some(last) if !line.is_empty() => {
                    last.push_str(if last.is_empty() { "" } else { " " });
                    last.push_str(line);
                }
                _ => paragraphs.push(String::new()),
            }
        }
        paragraphs
    }

    /// The default, in words.
    pub fn default_text(&self) -> String {
        match self.default_value() {
            Some(Value::String(name)) => name,
            Some(value) => value.to_string(),
            None => self.unset.to_owned(),
        }
    }

    /// The default, if it does not depend on the network.
    pub fn default_value(&self) -> Option<Value> {
        fields(&Run::defaults()).remove(self.name)
    }

    /// A number of this option.
    ///
    /// # Errors
    /// If it is out of range.
    pub fn check(&self, number: i128) -> Result<usize, OutOfRange> {
        match self.kind {
            Kind::Number { least, most } => within(self.name, number, least, most),
            _ => within(self.name, number, 0, usize::MAX),
        }
    }
}

/// A number from `least` to `most`.
///
/// # Errors
/// If it is out of range.
pub fn within(
    name: &'static str,
    number: i128,
    least: usize,
    most: usize,
) -> Result<usize, OutOfRange> {
    match usize::try_from(number) {
        Ok(fitting) if (least..=most).contains(&fitting) => Ok(fitting),
        _ => Err(OutOfRange { name, number, least, most }),
    }
}

impl Run {
    /// The options that are given and are not the defaults, by name.
    pub fn differences(&self) -> Map<String, Value> {
        let defaults = fields(&Run::defaults());
        let mut given = fields(self);
        given.retain(|name, value| defaults.get(name) != Some(value));
        given
    }

    /// The most tokens of a line.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens.unwrap_or(MAX_TOKENS)
    }

    /// The most bytes of a line.
    pub fn max_line_bytes(&self) -> usize {
        self.max_line_bytes.unwrap_or(MAX_LINE_BYTES)
    }

    /// The settings of this network under these options.
    ///
    /// # Errors
    /// If an override does not fit.
    pub fn settings(&self, network: &dyn Task) -> Result<Settings, OverrideError> {
        let presets = network.presets();
        let preset = self.preset.unwrap_or(presets.default);
        let overrides = self.settings.as_deref().unwrap_or_default();
        let mut config = presets.overridden(preset, overrides)?;
        if let Some(max_steps) = self.max_steps {
            config.schedule.max_steps = max_steps;
            for schedule in &mut config.restarts {
                schedule.max_steps = max_steps;
            }
        }
        let mut settings = Settings::with(network, config);
        settings.engine = self.engine.clone().unwrap_or(settings.engine);
        settings.beam.width = self.width.unwrap_or(settings.beam.width);
        settings.max_tokens = self.max_tokens();
        settings.deadline = self.deadline_ms.map(|n| Duration::from_millis(n as u64));
        settings.threads = self.threads.unwrap_or(settings.threads);
        settings.traces = self.trace.unwrap_or(false);
        settings.times = self.times.unwrap_or(true);
        settings.log_probs = self.log_probs.unwrap_or(false);
        settings.strict = self.strict.unwrap_or(false);
        Ok(match self.patience {
            Some(nudges) => settings.patient(nudges),
            None => settings,
        })
    }
}

fn fields(run: &Run) -> Map<String, Value> {
    match serde_json::to_value(run) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(given: Value) -> Result<Run, String> {
        let mut run = Run::default();
        for (name, value) in given.as_object().unwrap() {
            run.read(name, value).map_err(|error| error.to_string())?;
        }
        Ok(run)
    }

    #[test]
    fn ranges_are_checked_with_one_message() {
        for field in FIELDS {
            let Kind::Number { least, most } = field.kind else { continue };
            for number in [least as i128 - 1, most as i128 + 1] {
                let name = field.name;
                let said = format!("{name} is {number}; it goes from {least} to {most}");
                assert_eq!(run(json!({name: number as i64})).unwrap_err(), said);
            }
            for number in [least, most] {
                assert_eq!(field.check(number as i128), Ok(number));
            }
        }
    }

    #[test]
    fn wrong_values_are_named() {
        for (given, said) in [
            (json!({"widht": 3}), "unknown field `widht`, expected one of `engine`, `preset`"),
            (json!({"width": "3"}), "invalid type: string \"3\", expected a whole number"),
            (json!({"width": 1.5}), "expected a whole number"),
            (json!({"engine": "magic"}), "no engine \"magic\"; there are usual"),
            (json!({"preset": "worst"}), "no preset \"worst\"; there are paper, best, small"),
            (json!({"times": 1}), "expected a boolean"),
        ] {
            let error = run(given).unwrap_err();
            assert!(error.starts_with(said) || error.ends_with(said), "{error}");
        }
        assert_eq!(run(json!({"width": null})), Ok(Run::default()));
    }

    #[test]
    fn what_is_above_counts_more() {
        let file = run(json!({"width": 2, "max_steps": 7, "settings": ["pull=1"]})).unwrap();
        let flags = run(json!({"width": 3, "settings": ["pull=2"]})).unwrap();
        let both = json!({"width": 3, "max_steps": 7, "settings": ["pull=1", "pull=2"]});
        assert_eq!(flags.over(file), run(both).unwrap());
    }

    #[test]
    fn differences_are_what_is_given_and_not_the_default() {
        let given = run(json!({"max_tokens": 256, "times": true, "engine": "usual", "width": 1}));
        assert_eq!(Value::Object(given.unwrap().differences()), json!({"width": 1}));
        assert_eq!(Run::default().differences(), Map::new());
        assert_eq!(Run::defaults().differences(), Map::new());
    }

    #[test]
    fn every_option_has_a_sentence_and_a_default() {
        for field in FIELDS {
            assert!(!field.about().is_empty() && !field.about().ends_with('.'), "{field:?}");
            assert!(!field.default_text().is_empty(), "{field:?}");
        }
    }
}
