//! evalb's parameters: what it deletes, what it treats as equal, when it gives up.

/// A parameter file.
///
/// The default, [`Params::collins`], gives scores comparable with the literature.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Params {
    /// `MAX_ERROR`. evalb tolerates one more: with 10, scoring stops at the twelfth error.
    pub most_errors: usize,
    /// Sentences of up to this many words get a separate summary.
    pub cutoff_length: usize,
    /// Whether labels must agree, or only spans.
    pub labeled: bool,
    /// Phrases with these labels are not brackets; words with these tags are dropped.
    pub deleted: Vec<String>,
    /// Words with these tags do not count towards sentence length.
    pub deleted_for_length: Vec<String>,
    /// Tags that quotation marks are mistakenly given.
    pub quote_labels: Vec<String>,
    /// The words that are quotation marks.
    pub quote_terms: Vec<String>,
    /// Pairs of labels treated as equal. They do not chain: with `A B` and `B C`, `A` and `C` differ.
    pub equal_labels: Vec<[String; 2]>,
    /// Pairs of words treated as equal.
    pub equal_words: Vec<[String; 2]>,
}

/// Why a parameter file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// An unknown parameter.
    #[error("line {line}: {key:?} is not an evalb parameter")]
    Key {
        /// The line, counting from 1.
        line: usize,
        /// The unknown name.
        key: String,
    },
    /// A parameter with an invalid value.
    #[error("line {line}: {key} takes {wanted}, not {value:?}")]
    Value {
        /// The line, counting from 1.
        line: usize,
        /// The parameter.
        key: String,
        /// The values it takes.
        wanted: &'static str,
        /// The value found.
        value: String,
    },
}

impl Params {
    /// The parameters of Collins (1997), `COLLINS.prm`.
    pub fn collins() -> Self {
        Params {
            deleted: words(&["TOP", "-NONE-", ",", ":", "``", "''", "."]),
            deleted_for_length: words(&["-NONE-"]),
            equal_labels: vec![["ADVP", "PRT"].map(str::to_owned)],
            ..Params::bare()
        }
    }

    /// The parameters of an empty file.
    pub fn bare() -> Self {
        Params {
            most_errors: 10,
            cutoff_length: 40,
            labeled: true,
            deleted: Vec::new(),
            deleted_for_length: Vec::new(),
            quote_labels: Vec::new(),
            quote_terms: words(&["'", "\"", "/"]),
            equal_labels: Vec::new(),
            equal_words: Vec::new(),
        }
    }

    /// Reads a parameter file: one parameter per line, `#` begins a comment line.
    ///
    /// `DEBUG` is accepted because existing files contain it, and ignored.
    ///
    /// # Errors
    /// If a parameter is unknown or its value invalid.
    pub fn parse(text: &str) -> Result<Self, ParamsError> {
        let mut params = Params::bare();
        for (i, line) in text.lines().enumerate() {
            let mut fields = line.split_ascii_whitespace();
            // Only at the start of a line: `#` is also a tag that can be deleted.
            let Some(key) = fields.next().filter(|key| !key.starts_with('#')) else { continue };
            let entry = Entry { line: i + 1, key, values: fields.collect() };
            params.set(&entry)?;
        }
        Ok(params)
    }

    fn set(&mut self, entry: &Entry<'_>) -> Result<(), ParamsError> {
        match entry.key {
            "DEBUG" => _ = entry.number()?,
            "MAX_ERROR" => self.most_errors = entry.number()?,
            "CUTOFF_LEN" => self.cutoff_length = entry.number()?,
            "LABELED" => self.labeled = entry.flag()?,
            "DELETE_LABEL" => self.deleted.push(entry.one()?),
            "DELETE_LABEL_FOR_LENGTH" => self.deleted_for_length.push(entry.one()?),
            "QUOTE_LABEL" => self.quote_labels.push(entry.one()?),
            "QUOTE_TERM" => self.quote_terms.push(entry.one()?),
            "EQ_LABEL" => self.equal_labels.push(entry.two()?),
            "EQ_WORD" => self.equal_words.push(entry.two()?),
            // Used only by variants of evalb for discontinuous trees.
            "DISC_ONLY" => {
                if entry.flag()? {
                    return Err(entry.wrong("0, as brackets here are continuous"));
                }
            }
            key => return Err(ParamsError::Key { line: entry.line, key: key.to_owned() }),
        }
        Ok(())
    }

    /// Whether words with this tag are deleted.
    pub(super) fn deletes_tag(&self, tag: &str) -> bool {
        has(&self.deleted, tag)
    }

    /// Whether phrases with this label are deleted; also if it equals a deleted one.
    pub(super) fn deletes_label(&self, label: &str) -> bool {
        self.deleted.iter().any(|deleted| self.same_label(deleted, label))
    }

    /// Whether words with this tag count towards sentence length.
    pub(super) fn counts(&self, tag: &str) -> bool {
        !has(&self.deleted_for_length, tag)
    }

    /// Whether this may be a quotation mark with a wrong tag.
    pub(super) fn may_be_quote(&self, tag: &str, word: &str) -> bool {
        has(&self.quote_labels, tag) && has(&self.quote_terms, word)
    }

    /// Whether two labels, or two tags, count as equal.
    pub(super) fn same_label(&self, a: &str, b: &str) -> bool {
        a == b || self.equal_labels.iter().any(|pair| joins(pair, a, b))
    }

    /// Whether two words count as equal.
    pub(super) fn same_word(&self, a: &str, b: &str) -> bool {
        a == b || self.equal_words.iter().any(|pair| joins(pair, a, b))
    }
}

/// [`Params::collins`].
impl Default for Params {
    fn default() -> Self {
        Params::collins()
    }
}

/// One line of a parameter file.
struct Entry<'a> {
    line: usize,
    key: &'a str,
    values: Vec<&'a str>,
}

impl Entry<'_> {
    fn wrong(&self, wanted: &'static str) -> ParamsError {
        let (key, value) = (self.key.to_owned(), self.values.join(" "));
        ParamsError::Value { line: self.line, key, wanted, value }
    }

    fn number(&self) -> Result<usize, ParamsError> {
        let wrong = || self.wrong("one number");
        self.one().ok().and_then(|value| value.parse().ok()).ok_or_else(wrong)
    }

    fn flag(&self) -> Result<bool, ParamsError> {
        match self.values[..] {
            ["0"] => Ok(false),
            ["1"] => Ok(true),
            _ => Err(self.wrong("0 or 1")),
        }
    }

    fn one(&self) -> Result<String, ParamsError> {
        match self.values[..] {
            [value] => Ok(value.to_owned()),
            _ => Err(self.wrong("one value")),
        }
    }

    fn two(&self) -> Result<[String; 2], ParamsError> {
        match self.values[..] {
            [a, b] => Ok([a, b].map(str::to_owned)),
            _ => Err(self.wrong("two values")),
        }
    }
}

fn joins(pair: &[String; 2], a: &str, b: &str) -> bool {
    let [one, other] = pair;
    (one == a && other == b) || (one == b && other == a)
}

fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|w| w == word)
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read() {
        let text = "# comment\n\nDEBUG 2\nMAX_ERROR 3\r\nCUTOFF_LEN 70 \nLABELED 0\n\
                    DELETE_LABEL #\nDELETE_LABEL_FOR_LENGTH -NONE-\nQUOTE_LABEL POS\n\
                    QUOTE_TERM «\nEQ_LABEL ADVP PRT\nEQ_LABEL PRT ADV\nEQ_WORD  This this\nDISC_ONLY 0";
        let params = Params::parse(text).unwrap();
        assert_eq!((params.most_errors, params.cutoff_length, params.labeled), (3, 70, false));
        assert!(params.deletes_tag("#") && !params.counts("-NONE-"));
        assert!(params.may_be_quote("POS", "«") && params.may_be_quote("POS", "'"));
        assert!(!params.may_be_quote("NN", "'") && !params.may_be_quote("POS", "'s"));
        assert!(params.same_label("PRT", "ADV") && !params.same_label("PRT", "NP"));
        assert!(!params.same_label("ADVP", "ADV"), "pairs do not chain");
        assert!(params.same_word("This", "this") && !params.same_word("That", "that"));
        assert_eq!(Params::parse(""), Ok(Params::bare()));
    }

    #[test]
    fn invalid_parameters_are_reported() {
        for (text, want) in [
            ("\nDELETE TOP", "line 2: \"DELETE\" is not an evalb parameter"),
            ("MAX_ERROR ten", "line 1: MAX_ERROR takes one number, not \"ten\""),
            ("MAX_ERROR -1", "line 1: MAX_ERROR takes one number, not \"-1\""),
            ("LABELED 2", "line 1: LABELED takes 0 or 1, not \"2\""),
            ("DELETE_LABEL", "line 1: DELETE_LABEL takes one value, not \"\""),
            ("DELETE_LABEL , .", "line 1: DELETE_LABEL takes one value, not \", .\""),
            ("EQ_LABEL ADVP", "line 1: EQ_LABEL takes two values, not \"ADVP\""),
            ("EQ_WORD a b c", "line 1: EQ_WORD takes two values, not \"a b c\""),
            (
                "DISC_ONLY 1",
                "line 1: DISC_ONLY takes 0, as brackets here are continuous, not \"1\"",
            ),
        ] {
            assert_eq!(Params::parse(text).unwrap_err().to_string(), want);
        }
    }
}
