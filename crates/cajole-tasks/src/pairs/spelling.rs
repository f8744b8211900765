//! Converts text to symbols and back: blank-separated words, or single characters.
//!
//! Both can also be given as lists. A list that would not survive a round trip through text is
//! rejected, so that text and lists mean the same.

use cajole_files::excerpt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How text becomes symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spelling {
    /// Split at white space.
    Words,
    /// One symbol per character.
    Characters,
}

/// The maximum number of symbols in an input or output: attention is quadratic, also in memory.
pub const MOST_SYMBOLS: usize = 1000;

/// Why a value is not a sequence of symbols. Positions are 0-based.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpellingError {
    /// It is neither text nor a list.
    #[error("is {found}, neither text nor a list of texts")]
    Kind {
        /// The value.
        found: String,
    },
    /// It is too long.
    #[error("has more than {most} symbols")]
    TooMany {
        /// The most that it may have.
        most: usize,
    },
    /// A word in a list is empty or contains white space.
    #[error("has the symbol {symbol:?} at {at}, which is no word")]
    NoWord {
        /// The symbol.
        symbol: String,
        /// Its position.
        at: usize,
    },
    /// An entry in a list is not exactly one character.
    #[error("has the symbol {symbol:?} at {at}, which is no single character")]
    NoCharacter {
        /// The symbol.
        symbol: String,
        /// Its position.
        at: usize,
    },
    /// A line break, which vocabulary files, with one symbol per line, cannot represent.
    #[error("has a line break, {symbol:?}, at {at}; replace it by another character")]
    LineBreak {
        /// The symbol.
        symbol: String,
        /// Its position.
        at: usize,
    },
}

impl Spelling {
    /// The symbols of an input or output given as text or as a list.
    ///
    /// ```
    /// use cajole_tasks::pairs::Spelling;
    /// use serde_json::json;
    ///
    /// assert_eq!(Spelling::Words.symbols(&json!("a +  b")).unwrap(), ["a", "+", "b"]);
    /// assert_eq!(Spelling::Words.symbols(&json!(["a", "+"])).unwrap(), ["a", "+"]);
    /// assert_eq!(Spelling::Characters.symbols(&json!("a b")).unwrap(), ["a", " ", "b"]);
    /// ```
    ///
    /// # Errors
    /// If it is neither, or has symbols that cannot occur in text of this spelling.
    pub fn symbols(self, value: &Value) -> Result<Vec<String>, SpellingError> {
        self.symbols_up_to(MOST_SYMBOLS, value)
    }

    /// The same with at most this many symbols, counted before any is built.
    ///
    /// # Errors
    /// As [`Spelling::symbols`].
    pub fn symbols_up_to(self, most: usize, value: &Value) -> Result<Vec<String>, SpellingError> {
        let is_too_long = match (value, self) {
            (Value::String(text), Spelling::Words) => text.split_whitespace().nth(most).is_some(),
            (Value::String(text), Spelling::Characters) => text.chars().nth(most).is_some(),
            (Value::Array(list), _) => most < list.len(),
            _ => false,
        };
        if is_too_long {
            return Err(SpellingError::TooMany { most });
        }
        let kind = |value: &Value| SpellingError::Kind { found: excerpt(&value.to_string()) };
        let symbols: Vec<String> = match (value, self) {
            (Value::String(text), Spelling::Words) => {
                text.split_whitespace().map(str::to_owned).collect()
            }
            (Value::String(text), Spelling::Characters) => text.chars().map(String::from).collect(),
            (Value::Array(list), _) => {
                let text =
                    |item: &Value| item.as_str().map(str::to_owned).ok_or_else(|| kind(item));
                list.iter().map(text).collect::<Result<_, _>>()?
            }
            _ => return Err(kind(value)),
        };
        (0..).zip(&symbols).try_for_each(|(at, symbol)| self.check(at, symbol))?;
        Ok(symbols)
    }

    /// The separator between symbols in text.
    pub fn separator(self) -> &'static str {
        match self {
            Spelling::Words => " ",
            Spelling::Characters => "",
        }
    }

    fn check(self, at: usize, symbol: &str) -> Result<(), SpellingError> {
        let owned = || symbol.to_owned();
        match self {
            Spelling::Words if symbol.is_empty() || symbol.contains(char::is_whitespace) => {
                Err(SpellingError::NoWord { symbol: owned(), at })
            }
            Spelling::Characters if symbol.chars().count() != 1 => {
                Err(SpellingError::NoCharacter { symbol: owned(), at })
            }
            Spelling::Characters if symbol == "\n" || symbol == "\r" => {
                Err(SpellingError::LineBreak { symbol: owned(), at })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_values_are_reported() {
        use Spelling::{Characters, Words};
        for (spelling, value, expected) in [
            (Words, json!(7), "is 7, neither text nor a list of texts"),
            (Words, json!(null), "is null, neither"),
            (Words, json!(["a", 7]), "is 7, neither"),
            (Words, json!(["a", "b c"]), "has the symbol \"b c\" at 1, which is no word"),
            (Words, json!([""]), "has the symbol \"\" at 0, which is no word"),
            (
                Characters,
                json!(["a", "bc"]),
                "the symbol \"bc\" at 1, which is no single character",
            ),
            (Characters, json!([""]), "the symbol \"\" at 0, which is no single"),
            (Characters, json!("a\nb"), "has a line break, \"\\n\", at 1"),
            (Characters, json!("x".repeat(1001)), "has more than 1000 symbols"),
        ] {
            let error = spelling.symbols(&value).unwrap_err().to_string();
            assert!(error.contains(expected), "{value}: {error}");
        }
        assert_eq!(Characters.symbols(&json!("x".repeat(1000))).unwrap().len(), 1000);
        assert!(Words.symbols(&json!(" \n")).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn lists_round_trip_through_text(list in prop::collection::vec(".{0,3}", 0..6)) {
            for spelling in [Spelling::Words, Spelling::Characters] {
                if let Ok(symbols) = spelling.symbols(&json!(list)) {
                    let text = symbols.join(spelling.separator());
                    prop_assert_eq!(spelling.symbols(&json!(text)).unwrap(), symbols);
                }
            }
        }
    }
}
