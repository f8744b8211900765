//! The record of a line, and how it is written.
//!
//! Records are written straight from their fields. Building a tree of JSON values first would take
//! longer than answering a short line.

use std::time::Duration;

use cajole_core::Fault;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::fields::Id;
use crate::line::LineError;
use crate::traced::Traced;

/// The result of one line.
#[derive(Debug)]
pub struct Record {
    /// Its number, from 1.
    pub line: u64,
    /// The `id` that the line has.
    pub id: Option<Id>,
    /// One answer for each input of the line, or why there is none.
    pub answers: Result<Vec<Answered>, LineError>,
    /// Whether a line of this task is one input.
    pub is_one: bool,
}

/// The answer to one input, with what its record says.
#[derive(Debug)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// The task's report on input and output, such as the predicate, the text and the tree.
    pub fields: Map<String, Value>,
    /// Its trace, if requested.
    pub trace: Option<Traced>,
    /// Whether its record says how probable the output is.
    pub(crate) says_log_prob: bool,
}

impl Record {
    /// One line of JSON, without its line end, and with times if `times` is set.
    pub fn to_line(&self, times: bool) -> String {
        let id = self.id.as_ref();
        serde_json::to_string(&Whole { record: self, id, times }).expect(WRITABLE)
    }

    /// As a JSON object, with times if `times` is set. The `id` is one of [`Id::to_value`], which
    /// may be rounded.
    pub fn to_json(&self, times: bool) -> Value {
        let id = self.id.as_ref().map(Id::to_value);
        serde_json::to_value(Whole { record: self, id, times }).expect(WRITABLE)
    }
}

impl Answered {
    /// As a JSON object, with times if `times` is set.
    pub fn to_json(&self, times: bool) -> Map<String, Value> {
        match serde_json::to_value(Timed { of: self, times }).expect(WRITABLE) {
            Value::Object(fields) => fields,
            _ => unreachable!("an answer is written as an object"),
        }
    }
}

const WRITABLE: &str = "all keys are strings";

/// Keys that a task's own fields cannot have: an object has each key once.
const OURS: [&str; 14] = [
    "line",
    "id",
    "status",
    "g_before",
    "g_after",
    "steps",
    "passes",
    "engine",
    "note",
    "error",
    "log_prob",
    "milliseconds",
    "faults",
    "trace",
];

/// Something that is written with or without times.
struct Timed<'r, T> {
    of: &'r T,
    times: bool,
}

/// A record that is written with or without times, and with its `id` in this form.
struct Whole<'r, I> {
    record: &'r Record,
    id: Option<I>,
    times: bool,
}

impl<I: Serialize> Serialize for Whole<'_, I> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Whole { record: Record { line, answers, is_one, .. }, ref id, times } = *self;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("line", line)?;
        if let Some(id) = id {
            map.serialize_entry("id", id)?;
        }
        match answers.as_deref() {
            Err(error) => {
                map.serialize_entry("status", "bad-line")?;
                map.serialize_entry("error", &error.to_string())?;
            }
            Ok([answer]) if *is_one => Timed { of: answer, times }.write(&mut map)?,
            Ok(answers) => {
                let timed: Vec<_> = answers.iter().map(|of| Timed { of, times }).collect();
                map.serialize_entry("answers", &timed)?;
            }
        }
        map.end()
    }
}

impl Serialize for Timed<'_, Answered> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

impl Timed<'_, Answered> {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Answered { answer, fields, trace, says_log_prob } = self.of;
        for (key, value) in fields.iter().filter(|(key, _)| !OURS.contains(&key.as_str())) {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("status", &answer.status)?;
        map.serialize_entry("g_before", &short(answer.g_before))?;
        map.serialize_entry("g_after", &short(answer.g_after))?;
        map.serialize_entry("steps", &answer.steps.unwrap_or(0))?;
        map.serialize_entry("passes", &answer.passes)?;
        map.serialize_entry("engine", answer.engine())?;
        if let Some(note) = &answer.note {
            map.serialize_entry("note", note)?;
        }
        if let Some(failure) = &answer.failure {
            map.serialize_entry("error", &failure.to_string())?;
        }
        if *says_log_prob {
            map.serialize_entry("log_prob", &answer.log_prob.map(short))?;
        }
        if self.times {
            map.serialize_entry("milliseconds", &milliseconds(answer.elapsed))?;
        }
        if !answer.faults.is_empty() {
            map.serialize_entry("faults", &faults_json(&answer.faults))?;
        }
        if let Some(trace) = trace {
            map.serialize_entry("trace", &trace.to_json(self.times))?;
        }
        Ok(())
    }
}

/// Faults as records have them. Positions count from 0, and `end` is exclusive.
pub fn faults_json(faults: &[Fault]) -> Value {
    let fault = |f: &Fault| {
        let Fault { at, cost, message } = f;
        json!({"start": at.start, "end": at.end, "cost": short(*cost), "message": message})
    };
    faults.iter().map(fault).collect()
}

pub(crate) fn milliseconds(elapsed: Duration) -> Value {
    json!((elapsed.as_secs_f64() * 1e6).round() / 1e3)
}

/// A number with the fewest digits that identify it; `null` if it is not finite.
pub(crate) fn short(value: f32) -> Value {
    // Most are small whole numbers, and these have the same digits in both widths.
    if value.fract() == 0.0 && value.abs() < 16_777_216.0 {
        return json!(f64::from(value));
    }
    value.to_string().parse::<f64>().map_or(Value::Null, |value| json!(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Line;

    #[test]
    fn fields_of_a_task_do_not_repeat_keys_of_the_record() {
        let answer = Answer { passes: 1, ..Answer::own(Vec::new(), None, 0.0) };
        let own = ["output", "line", "status", "engine"].map(|key| (key.to_owned(), json!("own")));
        let fields = Map::from_iter(own);
        let answered = Answered { answer, fields, trace: None, says_log_prob: false };
        let record = Record { line: 7, id: None, answers: Ok(vec![answered]), is_one: true };
        let expected = concat!(
            r#"{"line":7,"output":"own","status":"satisfied","g_before":0.0,"g_after":0.0,"#,
            r#""steps":0,"passes":1,"engine":"network"}"#
        );
        assert_eq!(record.to_line(false), expected);
        assert_eq!(record.to_json(false).to_string(), expected);
    }

    #[test]
    fn ids_are_written_as_they_were_read() {
        let line = |text: &str| Line::parse(1, text.to_owned()).unwrap().unwrap();
        for (id, value) in [
            ("123456789012345678901234567890", json!(123456789012345678901234567890.0)),
            ("1e400", json!("1e400")),
            ("1.00", json!(1.0)),
        ] {
            let id_of_line = line(&format!(r#"{{"id": {id}, "input": "a"}}"#)).id().cloned();
            let answers = Err(LineError::NoInput);
            let record = Record { line: 1, id: id_of_line, answers, is_one: true };
            let start = format!(r#"{{"line":1,"id":{id},"status":"bad-line""#);
            assert!(record.to_line(false).starts_with(&start), "{}", record.to_line(false));
            assert_eq!(record.to_json(false)["id"], value);
        }
    }

    #[test]
    fn numbers_have_as_few_digits_as_tell_them_apart() {
        let cases = [
            (0.0, "0.0"),
            (-3.0, "-3.0"),
            (0.1, "0.1"),
            (1.0e-8, "1e-8"),
            (16_777_216.0, "16777216.0"),
            (123_456_790_528.0, "123456790000.0"),
            (f32::MAX, "3.4028235e+38"),
            (f32::INFINITY, "null"),
            (f32::NAN, "null"),
        ];
        for (value, written) in cases {
            assert_eq!(short(value).to_string(), written);
        }
    }
}
