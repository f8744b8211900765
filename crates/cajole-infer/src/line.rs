//! A line of input: a JSON object, or plain text.

use std::sync::Arc;

use cajole_files::shortened;
use cajole_rules::{Cache, RuleText, Rules, Vocabulary};
use cajole_tasks::pairs::SpellingError;
use cajole_tasks::parsing::input::InputError;
use cajole_tasks::srl::input::QueryError;
use serde_json::{Map, Value};

use crate::fields::{Fields, Id};
use crate::limits::MAX_TOKENS;
use crate::waiter::Waiter;

/// A line, parsed.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// As it was written.
    pub text: String,
    /// Its fields, if it is an object. [`Line::id`] has the `id` as it was written.
    pub fields: Map<String, Value>,
    id: Option<Id>,
    /// Whether a field comes twice.
    repeats: bool,
    /// Who waits for its record, if that is known.
    pub waiter: Option<Arc<dyn Waiter>>,
    /// The most tokens that it may have.
    max_tokens: usize,
}

/// Why a line cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// It is not text.
    #[error(transparent)]
    Text(#[from] crate::source::BadLine),
    /// It begins like a JSON object, but is not one.
    #[error("no JSON object: {0}")]
    Json(#[from] serde_json::Error),
    /// It has no input.
    #[error("expected the field \"input\": a text, or a list of symbols")]
    NoInput,
    /// It has no right output.
    #[error(
        "expected the right output, as \"output\", \"gold\", or \"srl\" with \"bio\"; null is none"
    )]
    NoGold,
    /// A list holds something other than texts.
    #[error("expected a text or a list of symbols as {field:?}, not {value}")]
    NotSymbols {
        /// Which field.
        field: &'static str,
        /// The value that it holds.
        value: String,
    },
    /// A field does not hold symbols.
    #[error("{field:?} {source}")]
    Symbols {
        /// Which field.
        field: &'static str,
        /// The reason.
        source: SpellingError,
    },
    /// It is too long to run a network over it in bounded memory.
    #[error("the line has more than {most} tokens; --max-tokens allows more")]
    TooLong {
        /// The most that it may have.
        most: usize,
    },
    /// It has a symbol that the network does not read.
    #[error("the network reads no symbol {symbol:?}")]
    UnknownInput {
        /// The symbol.
        symbol: String,
    },
    /// It is not a sentence.
    #[error(transparent)]
    Sentence(#[from] InputError),
    /// It cannot be tagged.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// There are no rules for its output.
    #[error("no rules: give a constraint file, or the line a \"constraint\"")]
    NoRules,
    /// The rules of its output cannot be measured, for example because a checker crashed.
    #[error("its rules cannot be measured: {why}")]
    Unmeasured {
        /// The error of the rule.
        why: String,
    },
    /// Any other reason, for tasks and sources of your own.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// The rules that it brings are not valid.
    #[error(transparent)]
    Rules(#[from] cajole_rules::RuleFileError),
}

impl LineError {
    /// Any other reason: a message, or an error of your own.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        LineError::Other(error.into())
    }
}

impl Line {
    /// Reads a line; `None` if it is blank.
    ///
    /// # Errors
    /// If it begins with `{` but is not a JSON object.
    pub fn parse(number: u64, text: String) -> Result<Option<Line>, LineError> {
        let fields = match text.trim_start() {
            "" => return Ok(None),
            object if object.starts_with('{') => serde_json::from_str(object)?,
            _ => Fields::default(),
        };
        Ok(Some(Line::new(number, text, fields)))
    }

    /// A line that is an object whose fields have been read.
    pub fn from_fields(number: u64, fields: Fields) -> Line {
        let text = serde_json::to_string(&fields).expect("all keys are strings");
        Line::new(number, text, fields)
    }

    fn new(number: u64, text: String, Fields { all: fields, id, repeats }: Fields) -> Line {
        Line { number, text, fields, id, repeats, waiter: None, max_tokens: MAX_TOKENS }
    }

    /// A sentence as `read` has it from the fields, or `parse` from the text: an object that has a key
    /// twice is an error, which only the text shows.
    pub(crate) fn sentence<T, E>(
        &self,
        read: impl FnOnce(&Map<String, Value>, &str) -> Result<T, E>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.repeats { parse(&self.text) } else { read(&self.fields, &self.text) }
    }

    /// Allows this many tokens, instead of [`MAX_TOKENS`].
    #[must_use]
    pub fn with_max_tokens(self, max_tokens: usize) -> Line {
        Line { max_tokens, ..self }
    }

    /// Adds someone who waits for its record.
    #[must_use]
    pub fn with_waiter(self, waiter: Arc<dyn Waiter>) -> Line {
        Line { waiter: Some(waiter), ..self }
    }

    /// The most tokens that the line may have.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// An error if the line has too many tokens. Tasks call this with what they are about to turn
    /// into symbols, so that nothing large is built from a line that is refused. It counts no
    /// further than it has to.
    ///
    /// # Errors
    /// If there are too many.
    pub fn check_length<T>(&self, tokens: impl IntoIterator<Item = T>) -> Result<(), LineError> {
        match tokens.into_iter().nth(self.max_tokens) {
            Some(_) => Err(LineError::TooLong { most: self.max_tokens }),
            None => Ok(()),
        }
    }

    /// The same for the words and lists in fields that tasks read.
    ///
    /// # Errors
    /// If one of them has too many.
    pub fn check_fields(&self) -> Result<(), LineError> {
        if self.fields.is_empty() {
            return self.check_length(self.text.split_whitespace());
        }
        for field in ["input", "tokens", "text", "pos"] {
            match self.fields.get(field) {
                Some(Value::String(text)) => self.check_length(text.split_whitespace())?,
                Some(Value::Array(list)) => self.check_length(list)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The `id` of the line as it was written, if it has one.
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The rules that it brings, if any, for outputs in this vocabulary. They are compiled once in a
    /// process.
    ///
    /// # Errors
    /// If they are invalid.
    pub(crate) fn rules(
        &self,
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<Option<Arc<Rules>>, LineError> {
        let Some(value) = self.constraint() else { return Ok(None) };
        Ok(Some(Cache::shared().compile(&RuleText::of_json(value)?, vocabulary)?))
    }

    /// The rules that it brings, if any.
    pub fn constraint(&self) -> Option<&Value> {
        self.fields.get("constraint").filter(|value| !value.is_null())
    }

    /// Its input: the field, or the whole line if it is plain text.
    ///
    /// # Errors
    /// If there is none.
    pub fn input(&self) -> Result<Value, LineError> {
        match self.fields.get("input") {
            Some(input) => Ok(input.clone()),
            None if self.fields.is_empty() && !self.text.trim_start().starts_with('{') => {
                Ok(Value::String(self.text.trim().to_owned()))
            }
            None => Err(LineError::NoInput),
        }
    }

    /// The right output, if it is given, as `gold` or `output`. As for all fields, `null` is none.
    pub fn gold(&self) -> Option<&Value> {
        let fields = ["gold", "output"].into_iter().filter_map(|field| self.fields.get(field));
        fields.into_iter().find(|value| !value.is_null())
    }
}

/// A list of texts; `None` if the value is one text.
///
/// # Errors
/// If it is neither.
pub fn list(field: &'static str, value: &Value) -> Result<Option<Vec<String>>, LineError> {
    let wrong = || LineError::NotSymbols { field, value: shortened(&value.to_string(), 40) };
    match value {
        Value::String(_) => Ok(None),
        Value::Array(items) => {
            let text = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(wrong);
            items.iter().map(text).collect::<Result<_, _>>().map(Some)
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(text: &str) -> Line {
        Line::parse(1, text.to_owned()).unwrap().unwrap()
    }

    #[test]
    fn text_and_objects_have_inputs() {
        assert!(Line::parse(1, "  ".to_owned()).unwrap().is_none());
        assert_eq!(line(" a b").input().unwrap(), json!("a b"));
        let object = line(r#"{"id": 7, "input": ["a"], "output": "b", "constraint": null}"#);
        assert_eq!(object.input().unwrap(), json!(["a"]));
        assert_eq!(object.id().map(Id::as_json), Some("7"));
        assert_eq!(object.gold(), Some(&json!("b")));
        assert!(object.constraint().is_none());
        assert_eq!(line(r#"{"gold": null, "output": "b"}"#).gold(), Some(&json!("b")));
        assert_eq!(line(r#"{"gold": null, "output": null}"#).gold(), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(Line::parse(1, "{oops".to_owned()).is_err());
        let error = line("{}").input().unwrap_err().to_string();
        assert!(error.contains("\"input\""), "{error}");
        let error = list("input", &json!({"a": 1})).unwrap_err().to_string();
        assert!(error.contains("{\"a\":1}"), "{error}");
        assert!(list("input", &json!(["a", 1])).is_err());
        assert_eq!(list("input", &json!("a b")).unwrap(), None);
    }
}
