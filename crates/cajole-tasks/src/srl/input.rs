//! A user's sentence whose predicates' arguments are wanted: a line of text, a JSON object, or a
//! sentence of a corpus.

use std::collections::BTreeSet;

use cajole_treebank::roles::error::RoleFault;
use cajole_treebank::roles::sentence::{Proposition, Sentence};
use cajole_treebank::{Fault, Tree, clean, penn, tokenize};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tagger::Vocabulary;
use crate::parsing::input::{self, InputError, UNKNOWN_TAG, check_words, tags_by_looks};
use crate::words::Reads;

/// A sentence before it is tagged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Its id, if given.
    pub id: Option<String>,
    /// The words.
    pub tokens: Vec<String>,
    /// Their POS tags, if known.
    pub pos: Option<Vec<String>>,
    /// The parse tree over these words, if given.
    pub tree: Option<Tree>,
    /// The predicates, if known, with their lemmas, rolesets and tags; unknown parts are empty.
    pub predicates: Option<Vec<Proposition>>,
}

/// Why a line cannot be tagged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// Its words, tags or JSON are malformed, or there are none.
    #[error(transparent)]
    Words(#[from] InputError),
    /// Its roles are malformed.
    #[error(transparent)]
    Roles(#[from] RoleFault),
    /// The tree has another number of words.
    #[error("the tree has {leaves} leaves for {tokens} tokens")]
    Leaves {
        /// The number of leaves.
        leaves: usize,
        /// The number of words.
        tokens: usize,
    },
    /// A predicate index beyond the sentence.
    #[error("predicate {predicate}, counted from 0, is none of the {tokens} tokens")]
    Predicate {
        /// The index.
        predicate: usize,
        /// The number of words.
        tokens: usize,
    },
    /// A predicate that is listed more than once.
    #[error("predicate {predicate}, counted from 0, is listed more than once")]
    SamePredicate {
        /// The index.
        predicate: usize,
    },
    /// The network reads POS tags, but there are none.
    #[error(
        "the network reads parts of speech: expected the field \"pos\", or a \"tree\" with them"
    )]
    NoTags,
    /// The network reads POS tags, but these are from another tag set.
    #[error("the network reads parts of speech, and knows none of {tags:?}")]
    UnknownTags {
        /// All tags of the sentence, in order.
        tags: String,
    },
}

type Fields = input::Fields<Vec<usize>, Vec<Item>>;

#[derive(Deserialize)]
struct Item {
    p: usize,
    #[serde(default)]
    lemma: String,
    #[serde(default)]
    roleset: String,
    bio: Option<String>,
}

impl Query {
    /// Parses one line; `None` if it is blank. A line that begins with `{` is a JSON object with
    /// `tokens`, `text` or `tree`. It may also have an `id`, `pos`, and either `predicates`, a list
    /// of word indices from 0, or `srl`, a list of objects with a word index `p`, `lemma`,
    /// `roleset` and `bio`.
    ///
    /// ```
    /// use cajole_tasks::srl::Query;
    ///
    /// let query = Query::parse(r#"{"text": "Dogs bark.", "predicates": [1]}"#)?.unwrap();
    /// assert_eq!(query.tokens, ["Dogs", "bark", "."]);
    /// assert_eq!(query.predicates.unwrap()[0].predicate, 1);
    /// # Ok::<(), cajole_tasks::srl::input::QueryError>(())
    /// ```
    ///
    /// # Errors
    /// If the object is malformed or inconsistent.
    pub fn parse(line: &str) -> Result<Option<Query>, QueryError> {
        Fields::parse(line).map_err(InputError::from)?.map(Query::new).transpose()
    }

    /// Parses one line, given the fields of the object that it is; none if it is plain text. A
    /// number as `id` is written as JSON writes it again.
    ///
    /// # Errors
    /// If the object is malformed or inconsistent.
    pub fn from_fields(
        fields: &Map<String, Value>,
        line: &str,
    ) -> Result<Option<Query>, QueryError> {
        Fields::from_map(fields, line).map_err(InputError::from)?.map(Query::new).transpose()
    }

    fn new(fields: Fields) -> Result<Query, QueryError> {
        let Fields { id, tokens, text, pos, tree, predicates, srl } = fields;
        let tree =
            tree.map(|tree| penn::parse_tree(&tree)).transpose().map_err(InputError::from)?;
        let only_traces = || RoleFault::from(Fault::OnlyTraces);
        let tree = tree.map(|tree| clean(tree).ok_or_else(only_traces)).transpose()?;
        let leaves = tree.as_ref().map(Tree::leaves);
        let of_leaves = |of: fn(&(&str, &str)) -> String| {
            leaves.as_ref().map(|leaves| leaves.iter().map(of).collect::<Vec<_>>())
        };
        let tokens = tokens.or_else(|| text.map(|text| tokenize(&text)));
        let tokens = tokens.or_else(|| of_leaves(|(_, word)| (*word).to_owned()));
        let tokens = tokens.ok_or(InputError::Nothing)?;
        let pos = pos.or_else(|| of_leaves(|(tag, _)| (*tag).to_owned()));
        let n = tokens.len();
        if let Some(leaves) = leaves.filter(|leaves| leaves.len() != n) {
            return Err(QueryError::Leaves { leaves: leaves.len(), tokens: n });
        }
        let predicates: Option<Vec<Proposition>> = match (predicates, srl) {
            (Some(predicates), _) => {
                Some(predicates.into_iter().map(|p| at(p, n)).collect::<Result<_, _>>()?)
            }
            (None, Some(srl)) => {
                Some(srl.into_iter().map(|item| item.over(n)).collect::<Result<_, _>>()?)
            }
            (None, None) => None,
        };
        let mut known = BTreeSet::new();
        let mut listed = predicates.iter().flatten().map(|proposition| proposition.predicate);
        if let Some(predicate) = listed.find(|&predicate| !known.insert(predicate)) {
            return Err(QueryError::SamePredicate { predicate });
        }
        let id =
            id.map(|id| serde_json::from_str(id.get()).unwrap_or_else(|_| id.get().to_owned()));
        check_words(&tokens, pos.as_deref())?;
        let pos = pos.filter(|tags| says_much(tags));
        Ok(Query { id, tokens, pos, tree, predicates })
    }

    /// The sentence with a proposition for each predicate: the given ones; or else the verbs, if
    /// there are POS tags; or else the words that are predicates more often than not. An unknown
    /// lemma is the word in lower case.
    ///
    /// # Errors
    /// If the network reads POS tags and they are missing or from another tag set.
    pub fn asked(self, vocabulary: &Vocabulary) -> Result<Sentence, QueryError> {
        let Query { id, tokens, pos, tree, predicates } = self;
        if vocabulary.lexicon.reads == Reads::Tags {
            let tags = pos.as_deref().ok_or(QueryError::NoTags)?;
            if !tags.iter().any(|tag| vocabulary.lexicon.words().contains(tag)) {
                return Err(QueryError::UnknownTags { tags: tags.join(" ") });
            }
        }
        let is_predicate = |&i: &usize| match &pos {
            Some(tags) => tags[i].starts_with('V'),
            None => vocabulary.is_predicate(&tokens[i]),
        };
        let guessed = || (0..tokens.len()).filter(is_predicate).map(unknown).collect();
        let mut propositions = predicates.unwrap_or_else(guessed);
        for proposition in propositions.iter_mut().filter(|p| p.lemma.is_empty()) {
            proposition.lemma = tokens[proposition.predicate].to_lowercase();
        }
        Ok(Query { id, tokens, pos, tree, predicates: None }.sentence(propositions))
    }

    /// The sentence with these propositions. Unknown POS tags are guessed from the spelling.
    pub fn sentence(self, propositions: Vec<Proposition>) -> Sentence {
        let Query { id, tokens, pos, tree, .. } = self;
        let pos = pos.unwrap_or_else(|| tags_by_looks(&tokens));
        let (id, genre) = (id.unwrap_or_default(), String::new());
        Sentence { id, genre, tokens, pos, tree, propositions, is_conll2012: false }
    }
}

/// Converts a corpus sentence, whose predicates are known.
impl From<Sentence> for Query {
    fn from(Sentence { id, tokens, pos, tree, propositions, .. }: Sentence) -> Self {
        let pos = Some(pos).filter(|tags| says_much(tags));
        Query { id: Some(id), tokens, pos, tree, predicates: Some(propositions) }
    }
}

/// Whether any word has a real tag: trees from `cajole parse` tag only punctuation.
fn says_much(tags: &[String]) -> bool {
    tags.iter().any(|tag| tag != UNKNOWN_TAG && tag.starts_with(char::is_alphabetic))
}

impl Item {
    fn over(self, tokens: usize) -> Result<Proposition, QueryError> {
        let Item { p: predicate, lemma, roleset, bio } = self;
        let Some(bio) = bio else {
            return Ok(Proposition { lemma, roleset, ..at(predicate, tokens)? });
        };
        let tags = bio.split_ascii_whitespace().map(str::to_owned).collect();
        let proposition = Proposition { predicate, lemma, roleset, tags };
        proposition.arguments_over(tokens)?;
        Ok(proposition)
    }
}

/// A proposition with nothing but its predicate.
fn at(predicate: usize, tokens: usize) -> Result<Proposition, QueryError> {
    match predicate < tokens {
        true => Ok(unknown(predicate)),
        false => Err(QueryError::Predicate { predicate, tokens }),
    }
}

fn unknown(predicate: usize) -> Proposition {
    Proposition { predicate, lemma: String::new(), roleset: String::new(), tags: Vec::new() }
}

#[cfg(test)]
mod tests {
    use cajole_core::constraints::TagSet;

    use super::*;
    use crate::words::Lexicon;

    fn vocabulary(reads: Reads, words: &[&str]) -> Vocabulary {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let tags = TagSet::new(["O", "B-V"]).unwrap();
        Vocabulary::new(
            Lexicon::new(reads, words, Vec::new()),
            tags,
            Vec::new(),
            ["see".to_owned()],
        )
    }

    /// Reads a line whose object is parsed already.
    fn from_fields(line: &str) -> Result<Option<Query>, QueryError> {
        Query::from_fields(&serde_json::from_str(line).unwrap_or_default(), line)
    }

    /// Checks the predicates found in a line, as `word/lemma`.
    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let query = Query::parse(line).unwrap().unwrap();
        assert_eq!(from_fields(line).unwrap(), Some(query.clone()));
        let sentence = query.asked(&vocabulary(Reads::Words, &["UNK"])).unwrap();
        assert_eq!(sentence.pos.len(), sentence.tokens.len());
        let word = |p: &Proposition| format!("{}/{}", sentence.tokens[p.predicate], p.lemma);
        assert_eq!(sentence.propositions.iter().map(word).collect::<Vec<_>>(), expected, "{line}");
    }

    #[test]
    fn predicates_are_given_or_tagged_verbs_or_guessed() {
        check("See, dogs can run.", &["See/see"]);
        check(r#"{"text": "Dogs see"}"#, &["see/see"]);
        check(r#"{"tokens": ["Dogs", "can", "Run"], "pos": ["NNS", "MD", "VB"]}"#, &["Run/run"]);
        check(r#"{"tree": "(S (NP (NNS Dogs)) (VP (VBP see)))"}"#, &["see/see"]);
        check(r#"{"tree": "( (S (NP (-NONE- *)) (VP (VB See-1))))"}"#, &["See-1/see-1"]);
        check(r#"{"tree": "(S (NP (XX Dogs)) (VP (XX see)) (. .))"}"#, &["see/see"]);
        check(r#"{"tokens": ["They", "see"], "predicates": [0]}"#, &["They/they"]);
        check(r#"{"tokens": ["They", "see"], "pos": ["PRP", "VBP"], "predicates": []}"#, &[]);
        check(r#"{"tokens": ["saw"], "srl": [{"p": 0, "lemma": "see"}]}"#, &["saw/see"]);
        check(r#"{"tokens": ["saw"], "srl": [{"p": 0, "bio": "B-V"}], "id": 7}"#, &["saw/saw"]);
    }

    #[test]
    fn known_fields_are_kept() {
        let line = r#"{"id": 7, "tokens": ["They", "saw"], "tree": "(S (PRP They) (VBD saw))",
            "srl": [{"p": 1, "lemma": "see", "roleset": "see.01", "bio": "B-ARG0 B-V"}]}"#;
        let query = Query::parse(line).unwrap().unwrap();
        assert_eq!(query.id.as_deref(), Some("7"));
        assert_eq!(query.pos.as_deref(), Some(&["PRP".to_owned(), "VBD".to_owned()][..]));
        let predicates = query.predicates.as_ref().unwrap();
        assert_eq!((predicates[0].roleset.as_str(), predicates[0].tags.len()), ("see.01", 2));
        let sentence = query.clone().asked(&vocabulary(Reads::Words, &["UNK"])).unwrap();
        assert_eq!(Query::from(sentence), query);
        assert_eq!(Query::parse(" \r\n").unwrap(), None);
    }

    #[test]
    fn invalid_lines_are_reported() {
        for (line, expected) in [
            (r#"{"tokens": ["a"], "pos": []}"#, "0 tags in \"pos\" for 1 tokens"),
            (r#"{"tokens": ["a b"]}"#, "token 0 is \"a b\""),
            (r#"{"id": 7}"#, "expected one of the fields"),
            (r#"{"tokens": ["a"], "predicates": [-1]}"#, "invalid value: integer `-1`"),
            (
                r#"{"tokens": ["a"], "predicates": [1]}"#,
                "predicate 1, counted from 0, is none of the 1",
            ),
            (
                r#"{"tokens": ["a"], "srl": [{"p": 3}]}"#,
                "predicate 3, counted from 0, is none of the 1",
            ),
            (
                r#"{"tokens": ["a"], "srl": [{"p": 3, "bio": "O"}]}"#,
                "is word 3, counted from 0, of only 1",
            ),
            (
                r#"{"tokens": ["a", "b"], "predicates": [0, 1, 0]}"#,
                "predicate 0, counted from 0, is listed more than once",
            ),
            (
                r#"{"tokens": ["a"], "srl": [{"p": 0}, {"p": 0, "lemma": "be"}]}"#,
                "predicate 0, counted from 0, is listed more than once",
            ),
            (r#"{"tokens": ["a"], "srl": [{"p": 0, "bio": "O O"}]}"#, "has 2 tags for 1 words"),
            (r#"{"tokens": ["a"], "srl": [{"p": 0, "bio": "X"}]}"#, "the tag \"X\""),
            (
                r#"{"tokens": ["a", "b"], "tree": "(S (A a))"}"#,
                "the tree has 1 leaves for 2 tokens",
            ),
            (r#"{"tree": "(S (NP"}"#, "no tree: line 1"),
            (r#"{"tree": "(S (-NONE- *))"}"#, "nothing is left of the tree"),
            ("{ not JSON", "no sentence in JSON"),
        ] {
            let error = Query::parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
            assert_eq!(from_fields(line).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn a_network_that_reads_tags_needs_its_own_tag_set() {
        let vocabulary = vocabulary(Reads::Tags, &["UNK", "VB", "NN"]);
        let asked = |line: &str| Query::parse(line).unwrap().unwrap().asked(&vocabulary);
        assert!(asked(r#"{"tokens": ["Go", "!"], "pos": ["VB", "?"]}"#).is_ok());
        let error = asked("Go!").unwrap_err().to_string();
        assert!(error.contains("expected the field \"pos\""), "{error}");
        let error = asked(r#"{"tokens": ["Go", "!"], "pos": ["VERB", "PUNCT"]}"#).unwrap_err();
        assert!(error.to_string().contains("knows none of \"VERB PUNCT\""), "{error}");
    }
}
