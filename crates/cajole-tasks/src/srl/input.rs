//! A sentence as users give it, whose predicates' arguments are asked for: a line of text, a JSON
//! object, or a sentence of a corpus.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::error::RoleFault;
use super::sentence::{Proposition, Sentence};
use super::tagger::Vocabulary;
use crate::parsing::input::{InputError, UNKNOWN_TAG, check_words, tags_by_looks};
use crate::treebank::read::{Format, bare_name};
use crate::treebank::{Fault, Tree, clean, penn, tokenize};
use crate::words::Reads;

/// What is known of a sentence before it is tagged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Its name, if it has one.
    pub id: Option<String>,
    /// The words.
    pub tokens: Vec<String>,
    /// Their parts of speech, if they are known.
    pub pos: Option<Vec<String>>,
    /// The parse, if there is one, over as many words.
    pub tree: Option<Tree>,
    /// The predicates, if they are known, with their lemmas, rolesets and tags as far as these are:
    /// what is not is empty.
    pub predicates: Option<Vec<Proposition>>,
}

/// Why a line cannot be tagged.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// Its words, tags or JSON are malformed, or there are none.
    #[error(transparent)]
    Words(#[from] InputError),
    /// What is said of its roles is.
    #[error(transparent)]
    Roles(#[from] RoleFault),
    /// The tree is over more or fewer words.
    #[error("the tree has {leaves} leaves for {tokens} tokens")]
    Leaves {
        /// Of the tree.
        leaves: usize,
        /// How many words there are.
        tokens: usize,
    },
    /// A predicate that is no word.
    #[error("predicate {predicate}, counted from 0, is none of the {tokens} tokens")]
    Predicate {
        /// Where it is said to be.
        predicate: usize,
        /// How many words there are.
        tokens: usize,
    },
    /// A network reads tags, and there are none.
    #[error(
        "the network reads parts of speech: expected the field \"pos\", or a \"tree\" with them"
    )]
    NoTags,
    /// A network reads tags, and these are of another tag set.
    #[error("the network reads parts of speech, and knows none of {tags:?}")]
    UnknownTags {
        /// All tags of the sentence, in order.
        tags: String,
    },
}

#[derive(Deserialize)]
struct Object {
    id: Option<Value>,
    tokens: Option<Vec<String>>,
    text: Option<String>,
    pos: Option<Vec<String>>,
    tree: Option<String>,
    predicates: Option<Vec<usize>>,
    srl: Option<Vec<Item>>,
}

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
    /// Reads one line; nothing, if it is blank. What begins with `{` is a JSON object with `tokens`,
    /// `text` or a `tree`; it may have an `id`, `pos`, and `predicates`, a list of words counted
    /// from 0, or `srl`, a list of objects with `p`, one word, and `lemma`, `roleset` and `bio`.
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
    /// If the object is malformed, or its parts do not go together.
    pub fn parse(line: &str) -> Result<Option<Query>, QueryError> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(None);
        }
        let mut query = match line.starts_with('{') {
            true => Query::of(serde_json::from_str(line).map_err(InputError::from)?)?,
            false => Query { tokens: tokenize(line), ..Query::default() },
        };
        check_words(&query.tokens, query.pos.as_deref())?;
        query.pos = query.pos.filter(|tags| says_much(tags));
        Ok(Some(query))
    }

    fn of(
        Object { id, tokens, text, pos, tree, predicates, srl }: Object,
    ) -> Result<Query, QueryError> {
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
        let predicates = match (predicates, srl) {
            (Some(predicates), _) => {
                Some(predicates.into_iter().map(|p| at(p, n)).collect::<Result<_, _>>()?)
            }
            (None, Some(srl)) => {
                Some(srl.into_iter().map(|item| item.over(n)).collect::<Result<_, _>>()?)
            }
            (None, None) => None,
        };
        let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
        Ok(Query { id, tokens, pos, tree, predicates })
    }

    /// The sentence, with a proposition for each predicate: those that are given; or else the verbs,
    /// where there are tags; or else the words that are predicates more often than not. A lemma that
    /// is not known is the word in lower case.
    ///
    /// # Errors
    /// If the network reads tags that are not there, or not its own.
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
        let pos = pos.unwrap_or_else(|| tags_by_looks(&tokens));
        let (id, genre) = (id.unwrap_or_default(), String::new());
        Ok(Sentence { id, genre, tokens, pos, tree, propositions })
    }
}

/// A sentence of a corpus, whose predicates are known.
impl From<Sentence> for Query {
    fn from(Sentence { id, tokens, pos, tree, propositions, .. }: Sentence) -> Self {
        let pos = Some(pos).filter(|tags| says_much(tags));
        Query { id: Some(id), tokens, pos, tree, predicates: Some(propositions) }
    }
}

/// Whether a file holds CoNLL-2012's columns rather than lines, by its name.
pub fn is_columns(path: &Path) -> bool {
    Format::of(&bare_name(path)) == Some(Format::Conll2012)
}

/// Whether any tag is that of a word: trees of `cajole parse` have tags of punctuation only.
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

/// The proposition of a word, of which nothing else is known.
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

    /// The predicates that are asked for in a line, as `word/lemma`.
    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let query = Query::parse(line).unwrap().unwrap();
        let sentence = query.asked(&vocabulary(Reads::Words, &["UNK"])).unwrap();
        assert_eq!(sentence.pos.len(), sentence.tokens.len());
        let word = |p: &Proposition| format!("{}/{}", sentence.tokens[p.predicate], p.lemma);
        assert_eq!(sentence.propositions.iter().map(word).collect::<Vec<_>>(), expected, "{line}");
    }

    #[test]
    fn predicates_are_given_or_verbs_or_guessed() {
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
    fn what_is_known_is_kept() {
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
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            (r#"{"tokens": ["a"], "pos": []}"#, "0 tags in \"pos\" for 1 tokens"),
            (r#"{"tokens": ["a b"]}"#, "token 1 is \"a b\""),
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
        }
    }

    #[test]
    fn a_network_that_reads_tags_needs_its_own() {
        let vocabulary = vocabulary(Reads::Tags, &["UNK", "VB", "NN"]);
        let asked = |line: &str| Query::parse(line).unwrap().unwrap().asked(&vocabulary);
        assert!(asked(r#"{"tokens": ["Go", "!"], "pos": ["VB", "?"]}"#).is_ok());
        let error = asked("Go!").unwrap_err().to_string();
        assert!(error.contains("expected the field \"pos\""), "{error}");
        let error = asked(r#"{"tokens": ["Go", "!"], "pos": ["VERB", "PUNCT"]}"#).unwrap_err();
        assert!(error.to_string().contains("knows none of \"VERB PUNCT\""), "{error}");
    }

    #[test]
    fn columns_are_told_by_their_name() {
        for (name, expected) in
            [("a.gold_conll", true), ("b/a.conll.gz", true), ("conll.jsonl", false)]
        {
            assert_eq!(is_columns(Path::new(name)), expected, "{name}");
        }
    }
}
