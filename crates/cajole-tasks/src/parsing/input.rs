//! A user's sentence: a line of text, or a JSON object with its tokens.

use cajole_treebank::{Tree, penn, tokenize};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The words of a sentence with their tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The tag and word of each token.
    pub leaves: Vec<(String, String)>,
    /// The gold tree, if given.
    pub gold: Option<Tree>,
}

/// Why a line is not a sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// It begins like a JSON object but is malformed.
    #[error("no sentence in JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// An object without a sentence.
    #[error("expected one of the fields \"tokens\", \"text\" or \"tree\"")]
    Nothing,
    /// The numbers of POS tags and tokens differ.
    #[error("{tags} tags in \"pos\" for {tokens} tokens")]
    Tags {
        /// How many tags there are.
        tags: usize,
        /// How many tokens.
        tokens: usize,
    },
    /// The tree is malformed.
    #[error("no tree: {0}")]
    Tree(#[from] cajole_treebank::TreeError),
    /// A token that is empty or contains white space, so it cannot be a leaf of a bracketed tree.
    #[error("token {number} is {token:?}, which is no word")]
    Token {
        /// The index, from 0.
        number: usize,
        /// The token.
        token: String,
    },
    /// The same for a POS tag.
    #[error("tag {number} is {tag:?}, which is no part of speech")]
    Tag {
        /// The index, from 0.
        number: usize,
        /// The tag.
        tag: String,
    },
}

/// The fields of a user's sentence. Parsers ignore its `predicates` and `srl`, whatever these are.
#[derive(Deserialize)]
pub(crate) struct Fields<Predicates = IgnoredAny, Srl = IgnoredAny> {
    /// As text, since a number may be too large for any type.
    pub(crate) id: Option<Box<RawValue>>,
    pub(crate) tokens: Option<Vec<String>>,
    pub(crate) text: Option<String>,
    pub(crate) pos: Option<Vec<String>>,
    pub(crate) tree: Option<String>,
    pub(crate) predicates: Option<Predicates>,
    pub(crate) srl: Option<Srl>,
}

impl<Predicates: DeserializeOwned, Srl: DeserializeOwned> Fields<Predicates, Srl> {
    /// The fields of one line; `None` if it is blank. A line that is no object is a `text`.
    pub(crate) fn parse(line: &str) -> Result<Option<Self>, serde_json::Error> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(None);
        }
        if line.starts_with('{') {
            return serde_json::from_str(line).map(Some);
        }
        let text = Some(line.to_owned());
        let (id, tokens, pos, tree) = (None, None, None, None);
        Ok(Some(Fields { id, tokens, text, pos, tree, predicates: None, srl: None }))
    }

    /// The same, if the object in this line is parsed already.
    pub(crate) fn from_map(
        object: &Map<String, Value>,
        line: &str,
    ) -> Result<Option<Self>, serde_json::Error> {
        if object.is_empty() {
            return Fields::parse(line);
        }
        let error = match Fields::deserialize(object) {
            Ok(fields) => return Ok(Some(fields)),
            Err(error) => error,
        };
        // The error in the text has a position.
        match line.trim_start().starts_with('{') {
            true => Err(Self::parse(line).err().unwrap_or(error)),
            false => Err(error),
        }
    }
}

impl Sentence {
    /// Parses one line; `None` if it is blank.
    ///
    /// # Errors
    /// If it begins with `{` but is not a JSON object with a sentence.
    pub fn parse(line: &str) -> Result<Option<Sentence>, InputError> {
        Fields::parse(line)?.map(Sentence::new).transpose()
    }

    /// Parses one line, given the fields of the object that it is; none if it is plain text.
    ///
    /// # Errors
    /// If the object is not a sentence.
    pub fn from_fields(
        fields: &Map<String, Value>,
        line: &str,
    ) -> Result<Option<Sentence>, InputError> {
        Fields::from_map(fields, line)?.map(Sentence::new).transpose()
    }

    fn new(fields: Fields) -> Result<Sentence, InputError> {
        let Fields { tokens, pos, text, tree, .. } = fields;
        let gold = tree.map(|tree| penn::parse_tree(&tree)).transpose()?;
        match (tokens, text, gold) {
            (Some(tokens), _, gold) => Sentence::of_words(tokens, pos, gold),
            (None, Some(text), gold) => Sentence::of_words(tokenize(&text), pos, gold),
            (None, None, Some(gold)) => {
                let leaves = gold.leaves().into_iter();
                let leaves = leaves.map(|(tag, word)| (tag.to_owned(), word.to_owned())).collect();
                Ok(Sentence { leaves, gold: Some(gold) })
            }
            (None, None, None) => Err(InputError::Nothing),
        }
    }

    fn of_words(
        words: Vec<String>,
        tags: Option<Vec<String>>,
        gold: Option<Tree>,
    ) -> Result<Sentence, InputError> {
        check_words(&words, tags.as_deref())?;
        let tags = tags.unwrap_or_else(|| tags_by_looks(&words));
        Ok(Sentence { leaves: tags.into_iter().zip(words).collect(), gold })
    }

    /// The (tag, word) pairs, as in trees.
    pub fn leaves(&self) -> Vec<(&str, &str)> {
        self.leaves.iter().map(|(tag, word)| (tag.as_str(), word.as_str())).collect()
    }
}

/// Checks that these words and tags can be leaves of a bracketed tree.
pub(crate) fn check_words(words: &[String], tags: Option<&[String]>) -> Result<(), InputError> {
    // Only ASCII blanks: web text has other blanks inside words.
    let bad = |word: &String| word.is_empty() || word.contains(|c: char| c.is_ascii_whitespace());
    if let Some(i) = words.iter().position(bad) {
        return Err(InputError::Token { number: i, token: words[i].clone() });
    }
    if words.is_empty() {
        return Err(InputError::Nothing);
    }
    let Some(tags) = tags else { return Ok(()) };
    match tags.iter().position(bad) {
        Some(i) => Err(InputError::Tag { number: i, tag: tags[i].clone() }),
        None if tags.len() == words.len() => Ok(()),
        None => Err(InputError::Tags { tags: tags.len(), tokens: words.len() }),
    }
}

/// The tag of a word whose POS tag is unknown.
pub(crate) const UNKNOWN_TAG: &str = "XX";

/// Tags for punctuation, which scorers depend on, and [`UNKNOWN_TAG`] for words.
pub(crate) fn tags_by_looks(words: &[String]) -> Vec<String> {
    words.iter().map(|word| punctuation_tag(word).to_owned()).collect()
}

fn punctuation_tag(word: &str) -> &'static str {
    match word {
        "," => ",",
        "." | "!" | "?" => ".",
        "(" | "-LRB-" => "-LRB-",
        ")" | "-RRB-" => "-RRB-",
        "``" | "“" => "``",
        "''" | "”" | "\"" => "''",
        "$" => "$",
        "#" => "#",
        _ if word.chars().all(|c| "!?".contains(c)) => ".",
        _ if word.chars().all(|c| ":;-–—.…".contains(c)) => ":",
        _ => UNKNOWN_TAG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        let sentence = Sentence::parse(line).unwrap().unwrap();
        sentence.leaves.into_iter().map(|(_, word)| word).collect()
    }

    #[test]
    fn text_and_json_give_the_same_words() {
        let expected = ["He", "does", "n't", "."];
        assert_eq!(words("He doesn't."), expected);
        assert_eq!(words(r#"{"text": "He doesn't."}"#), expected);
        assert_eq!(words(r#"{"tokens": ["He", "does", "n't", "."], "id": 7}"#), expected);
        assert_eq!(
            words(r#"{"tree": "(S (NP (PRP He)) (VP (VBZ does) (RB n't)) (. .))"}"#),
            expected
        );
        assert!(Sentence::parse("  ").unwrap().is_none());
    }

    #[test]
    fn invalid_lines_are_reported() {
        for (line, expected) in [
            (r#"{"tokens": ["a"], "pos": []}"#, "0 tags"),
            (r#"{"tokens": ["a", "b"], "pos": ["X", "Y Z"]}"#, "tag 1 is \"Y Z\""),
            (r#"{"tokens": ["a"], "pos": [""]}"#, "tag 0 is \"\""),
            (r#"{"tokens": ["a b"]}"#, "token 0 is \"a b\""),
            (r#"{"tokens": ["a", ""]}"#, "token 1 is \"\""),
            (r#"{"tokens": []}"#, "expected one of"),
            (r#"{"words": []}"#, "expected one of"),
            (r#"{"tokens": "a"}"#, "no sentence in JSON"),
            (r#"{"tree": "(S (NP"}"#, "no tree"),
            ("{ not JSON", "no sentence in JSON"),
        ] {
            let error = Sentence::parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn fields_that_are_parsed_already_read_like_their_text() {
        for line in [
            "He doesn't.",
            " ",
            r#" {"text": "He doesn't.", "tree": null, "srl": [[]], "predicates": 1}"#,
            r#"{"tokens": ["He"], "pos": ["PRP"], "id": [{}], "genre": 7}"#,
            r#"{"tree": "(S (NP (PRP He)))"}"#,
            "{}",
            r#"{"words": []}"#,
            r#"{"id": 1, "tokens": [7]}"#,
            r#"{"text": "a", "pos": [""]}"#,
            r#"{"tree": "(S (NP"}"#,
        ] {
            let object = serde_json::from_str(line).unwrap_or_default();
            let read = |sentence: Result<Option<Sentence>, InputError>| {
                sentence.map_err(|error| error.to_string())
            };
            let from_fields = Sentence::from_fields(&object, line);
            assert_eq!(read(from_fields), read(Sentence::parse(line)), "{line}");
        }
        let object = serde_json::from_str(r#"{"tokens": "a"}"#).unwrap();
        let error = Sentence::from_fields(&object, "").unwrap_err().to_string();
        let expected = "no sentence in JSON: invalid type: string \"a\", expected a sequence";
        assert_eq!(error, expected);
    }

    #[test]
    fn punctuation_gets_its_tags() {
        let sentence = Sentence::parse("Well , ( really ) ?!").unwrap().unwrap();
        let tags: Vec<&str> = sentence.leaves.iter().map(|(tag, _)| tag.as_str()).collect();
        assert_eq!(tags, ["XX", ",", "-LRB-", "XX", "-RRB-", "."]);
    }
}
