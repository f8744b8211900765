//! The contents of requests: bodies and query parameters, checked field by field.

use std::fmt;

use cajole_files::{Place, without_place};
use cajole_infer::Run;
use cajole_infer::engine::Engine;
use cajole_infer::fields::Fields;
use cajole_infer::limits::MAX_LINE_BYTES;
use cajole_infer::line::{Line, LineError};
use cajole_infer::source::BadLine;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::limits::{MOST_EXPLAINED, MOST_INPUTS, MOST_RULE_BYTES, MOST_STEPS_EXPLAINED};
use crate::problem::Problem;
use crate::with_options::{Own, With};

/// An input in a body: a line of text, or its fields. What else it may be is reported.
#[derive(Debug)]
enum Given {
    Text(String),
    Object(Fields),
    /// The value that it has instead.
    Other(&'static str),
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Given, D::Error> {
        from.deserialize_any(GivenReader)
    }
}

struct GivenReader;

impl<'de> Visitor<'de> for GivenReader {
    type Value = Given;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or an object")
    }

    fn visit_str<E>(self, text: &str) -> Result<Given, E> {
        Ok(Given::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Given, A::Error> {
        Fields::deserialize(MapAccessDeserializer::new(map)).map(Given::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Given, A::Error> {
        while list.next_element::<Value>()?.is_some() {}
        Ok(Given::Other("a list"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Given, E> {
        Ok(Given::Other("a boolean"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Given, E> {
        Ok(Given::Other("a number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Given, E> {
        Ok(Given::Other("a number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Given, E> {
        Ok(Given::Other("a number"))
    }

    fn visit_unit<E>(self) -> Result<Given, E> {
        Ok(Given::Other("null"))
    }
}

/// The rules that a request asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum RulesAsked {
    /// The model's own.
    #[default]
    Usual,
    /// A file of the server.
    Named(String),
    /// These.
    Toml(String),
    /// These, as an object.
    Table(Value),
}

/// The body of `infer` and `explain`, besides options.
#[derive(Debug, Default)]
pub(crate) struct AskBody {
    input: Option<Given>,
    inputs: Option<Vec<Given>>,
    model: Option<String>,
    rules: Option<RulesBody>,
}

impl Own for AskBody {
    const NAMES: &'static [&'static str] = &["input", "inputs", "model", "rules"];
    const COMPARES: bool = false;

    fn read<'de, D: Deserializer<'de>>(&mut self, name: &str, from: D) -> Result<(), D::Error> {
        match name {
            "input" => self.input = Deserialize::deserialize(from)?,
            "inputs" => self.inputs = Deserialize::deserialize(from)?,
            "model" => self.model = Deserialize::deserialize(from)?,
            _ => self.rules = Deserialize::deserialize(from)?,
        }
        Ok(())
    }
}

/// The body of `compare`, besides options.
#[derive(Debug, Default)]
pub(crate) struct CompareBody {
    ask: AskBody,
    engines: Option<Vec<Engine>>,
}

impl Own for CompareBody {
    const NAMES: &'static [&'static str] = &["input", "inputs", "model", "rules", "engines"];
    const COMPARES: bool = true;

    fn read<'de, D: Deserializer<'de>>(&mut self, name: &str, from: D) -> Result<(), D::Error> {
        match name {
            "engines" => self.engines = Deserialize::deserialize(from)?,
            name => self.ask.read(name, from)?,
        }
        Ok(())
    }
}

/// The query of a stream of lines, besides options.
#[derive(Debug, Default)]
pub(crate) struct StreamQuery {
    model: Option<String>,
    rules: Option<String>,
}

impl Own for StreamQuery {
    const NAMES: &'static [&'static str] = &["model", "rules"];
    const COMPARES: bool = false;

    fn read<'de, D: Deserializer<'de>>(&mut self, name: &str, from: D) -> Result<(), D::Error> {
        match name {
            "model" => self.model = Deserialize::deserialize(from)?,
            _ => self.rules = Deserialize::deserialize(from)?,
        }
        Ok(())
    }
}

/// The body of `lint`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LintBody {
    pub(crate) model: Option<String>,
    rules: RulesBody,
    gold: Option<Vec<Given>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesBody {
    toml: Option<String>,
    table: Option<serde_json::Map<String, Value>>,
    name: Option<String>,
}

/// A request with inputs.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The name of the model.
    pub(crate) model: Option<String>,
    /// The inputs, as lines.
    pub(crate) inputs: Vec<Input>,
    /// The rules.
    pub(crate) rules: RulesAsked,
    /// The options. A deadline counts from the arrival of the request.
    pub(crate) run: Run,
}

impl Asked {
    /// An error if its traces would be too large.
    pub(crate) fn check_traces(&self) -> Result<(), Problem> {
        if MOST_EXPLAINED < self.inputs.len() {
            let n = self.inputs.len();
            let detail =
                format!("{n} inputs, more than the {MOST_EXPLAINED} that can be explained");
            return Err(Problem::too_large(detail).of("/inputs"));
        }
        match self.run.max_steps {
            Some(n) if MOST_STEPS_EXPLAINED < n => {
                let most = MOST_STEPS_EXPLAINED;
                let detail =
                    format!("max_steps is {n}, more than the {most} that can be explained");
                Err(Problem::too_large(detail).of("/max_steps"))
            }
            _ => Ok(()),
        }
    }
}

/// A line, or why it is bad.
pub(crate) type Input = Result<Line, (u64, LineError)>;

impl AskBody {
    /// The checked request.
    pub(crate) fn checked(self, run: Run) -> Result<Asked, Problem> {
        let rules = self.rules.map(RulesBody::checked).transpose()?.unwrap_or_default();
        let inputs = one_or_many(self.input, self.inputs)?;
        Ok(Asked { model: self.model, inputs, rules, run })
    }
}

impl CompareBody {
    /// The checked request, and the engines; by default, all that make a difference.
    pub(crate) fn checked(self, run: Run) -> Result<(Asked, Option<Vec<Engine>>), Problem> {
        if let Some(engines) = &self.engines {
            let is_twice = |(i, engine)| engines[..i].contains(engine);
            if engines.is_empty() || engines.iter().enumerate().any(is_twice) {
                let detail = "expected some engines, each once; or leave \"engines\" out for all";
                return Err(Problem::malformed(detail).of("/engines"));
            }
        }
        Ok((self.ask.checked(run)?, self.engines))
    }
}

impl LintBody {
    /// The rules, and right outputs to try them on.
    pub(crate) fn checked(self) -> Result<(RulesAsked, Option<Vec<Input>>), Problem> {
        let gold = self.gold.map(|gold| lines("/gold", gold)).transpose()?;
        Ok((self.rules.checked()?, gold))
    }
}

impl StreamQuery {
    /// The name of the model, and the rules.
    pub(crate) fn into_parts(self) -> (Option<String>, RulesAsked) {
        (self.model, self.rules.map_or(RulesAsked::Usual, RulesAsked::Named))
    }
}

impl RulesBody {
    fn checked(self) -> Result<RulesAsked, Problem> {
        match (self.toml, self.table, self.name) {
            (Some(text), None, None) => Ok(RulesAsked::Toml(text)),
            (None, Some(table), None) => Ok(RulesAsked::Table(Value::Object(table))),
            (None, None, Some(name)) => Ok(RulesAsked::Named(name)),
            _ => {
                let detail = "expected exactly one of \"toml\", \"table\" and \"name\"";
                Err(Problem::malformed(detail).of("/rules"))
            }
        }
    }
}

fn one_or_many(input: Option<Given>, inputs: Option<Vec<Given>>) -> Result<Vec<Input>, Problem> {
    match (input, inputs) {
        (Some(input), None) => lines("/input", vec![input]),
        (None, Some(inputs)) => lines("/inputs", inputs),
        _ => Err(Problem::malformed("expected either \"input\" or \"inputs\"")),
    }
}

/// Inputs as lines, numbered from 1.
fn lines(field: &str, inputs: Vec<Given>) -> Result<Vec<Input>, Problem> {
    if inputs.is_empty() {
        return Err(Problem::malformed("expected at least one input").of(field));
    }
    if MOST_INPUTS < inputs.len() {
        let detail = format!(
            "{} inputs, more than {MOST_INPUTS}; send more as application/x-ndjson",
            inputs.len()
        );
        return Err(Problem::too_large(detail).of(field));
    }
    let mut lines = Vec::with_capacity(inputs.len());
    for (i, input) in inputs.into_iter().enumerate() {
        let number = 1 + i as u64;
        let line = match input {
            Given::Text(text) => line_of(number, text),
            Given::Object(fields) => Some(limited(Line::from_fields(number, fields))),
            Given::Other(kind) => {
                let place =
                    if field == "/input" { field.to_owned() } else { format!("{field}/{i}") };
                let detail = format!("expected a text or an object, not {kind}");
                return Err(Problem::malformed(detail).of(place));
            }
        };
        lines.push(line.unwrap_or(Err((number, LineError::NoInput))));
    }
    Ok(lines)
}

/// A line within limits; `None` if it is blank.
pub(crate) fn line_of(number: u64, text: String) -> Option<Input> {
    if MAX_LINE_BYTES < text.len() {
        return Some(Err((number, BadLine::TooLong { most: MAX_LINE_BYTES }.into())));
    }
    match Line::parse(number, text).transpose()? {
        Ok(line) => Some(limited(line)),
        Err(error) => Some(Err((number, error))),
    }
}

/// A line, unless it or its rules are too long.
fn limited(line: Line) -> Input {
    if MAX_LINE_BYTES < line.text.len() {
        return Err((line.number, BadLine::TooLong { most: MAX_LINE_BYTES }.into()));
    }
    let bytes = line.constraint().map_or(0, |rules| rules.to_string().len());
    if MOST_RULE_BYTES < bytes {
        let message = format!("its constraint has more than {MOST_RULE_BYTES} bytes");
        return Err((line.number, LineError::other(message)));
    }
    Ok(line)
}

/// Parses a JSON body. An error names the field and the place.
pub(crate) fn of_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        let detail = format!("the body is not UTF-8 from byte {at} on");
        Problem::malformed(detail).at(Place::in_bytes(body, at))
    })?;
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path: String = error.path().iter().filter_map(pointer).collect();
        let error = error.into_inner();
        let problem = Problem::malformed(without_place(&error)).at(Place::from(&error));
        if path.is_empty() { problem } else { problem.of(path) }
    })?;
    json.end()
        .map_err(|error| Problem::malformed(without_place(&error)).at(Place::from(&error)))?;
    Ok(value)
}

/// Checks the body of a request to this path, without answering it: returns the number of its
/// inputs, or the problem document that a client would get.
///
/// # Errors
/// If it cannot be read.
pub fn check_body(path: &str, body: &[u8]) -> Result<usize, String> {
    let inputs = match path {
        "/v1/compare" => of_json::<With<CompareBody>>(body)
            .and_then(|body| body.own.checked(body.run))
            .map(|(asked, _)| asked.inputs.len()),
        "/v1/lint" => {
            let checked = of_json(body).and_then(LintBody::checked);
            checked.map(|(_, gold)| gold.map_or(0, |gold| gold.len()))
        }
        _ => of_json::<With<AskBody>>(body)
            .and_then(|body| body.own.checked(body.run))
            .map(|asked| asked.inputs.len()),
    };
    inputs.map_err(|problem| problem.to_json())
}

/// Parses a query. An error names the parameter, if it is known.
pub(crate) fn of_query<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    serde_path_to_error::deserialize(serde_urlencoded::Deserializer::new(pairs)).map_err(|error| {
        let path: Vec<String> = error.path().iter().map(ToString::to_string).collect();
        let problem = Problem::malformed(format!("in the query: {}", error.inner()));
        let path = path.join(".");
        if path.is_empty() || path == "?" { problem } else { problem.of(path) }
    })
}

fn pointer(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Seq { index } => Some(format!("/{index}")),
        Segment::Map { key } => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}
