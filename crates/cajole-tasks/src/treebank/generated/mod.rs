//! A generated treebank: English-like sentences from a small grammar.
//!
//! The treebanks that parsers are compared on cannot be given away. This one can, so the parsing
//! experiment runs and is tested without a download. It has what makes parsing hard on a small
//! scale: verbs that agree across what comes between, clauses in clauses, and prepositional
//! phrases whose place only the words decide. In `repaired the car with a wrench` the wrench goes
//! with the verb, in `repaired the car with a new cover` the cover goes with the car, and in
//! `met the man with a wrench` the wrench is the man's.
//!
//! The rules are in `grammar.txt`, the words in `lexicon.txt`. Both differ by [`Genre`], so that a
//! parser of one genre can be tested on another. Some names, numbers and derived words are coined
//! as they are needed, so test sentences contain words that training sentences lack.

mod grammar;
mod lexicon;
mod spelling;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use cajole_nn::random::Random;

use super::{Sentence, Tree};
use grammar::Grammar;
pub(crate) use grammar::Origin;
use lexicon::Lexicon;

/// No sentence has more words.
pub const MOST_WORDS: usize = 60;

/// The labels of phrases, as the Penn Treebank has them.
pub const LABELS: [&str; 19] = [
    "ADJP", "ADVP", "FRAG", "INTJ", "LST", "NP", "PP", "PRN", "PRT", "QP", "S", "SBAR", "SBARQ",
    "SINV", "SQ", "VP", "WHADVP", "WHNP", "WHPP",
];

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Genre {
    /// Reports in the third person.
    News,
    /// Short sentences between an I and a you, with questions, fragments and interjections.
    Letters,
    /// Tales in the past tense, with speech and long coordinations.
    Fiction,
    /// Instructions: imperatives, numbered steps and nested prepositional phrases.
    Manual,
}

impl Genre {
    /// Every genre; the first is the one parsers are trained on.
    pub const ALL: [Genre; 4] = [Genre::News, Genre::Letters, Genre::Fiction, Genre::Manual];

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Genre::News => "news",
            Genre::Letters => "letters",
            Genre::Fiction => "fiction",
            Genre::Manual => "manual",
        }
    }
}

static ENGLISH: LazyLock<Language> = LazyLock::new(|| Language::extended("", ""));

/// The first `n` sentences of a genre under a seed.
///
/// A sentence depends on the seed, the genre and its own number only, so a longer treebank begins
/// with a shorter one.
///
/// ```
/// use cajole_tasks::treebank::generated::{Genre, generate};
///
/// let news = generate(Genre::News, 20, 1);
/// assert_eq!(news[7], generate(Genre::News, 8, 1)[7]);
/// assert_eq!(news[7].id, "news-1-7");
/// ```
pub fn generate(genre: Genre, n: usize, seed: u64) -> Vec<Sentence> {
    ENGLISH.write(genre, n, seed).map(|(sentence, _)| sentence).collect()
}

/// A grammar with its lexicon.
#[derive(Debug)]
pub(crate) struct Language {
    grammar: Grammar,
    lexicon: Lexicon,
}

impl Language {
    /// The treebank's rules and words, where these do not replace them, and these.
    ///
    /// # Panics
    /// On lines that do not follow the format, which only an edit of a file can bring about.
    pub(crate) fn extended(rules: &str, words: &'static str) -> Self {
        let grammar = Grammar::parse(&format!("{}\n{rules}", include_str!("grammar.txt")));
        let mut lexicon = Lexicon::parse(include_str!("lexicon.txt"));
        lexicon.extend(words);
        Language { grammar, lexicon }
    }

    /// The first sentences of a genre under a seed, each with the origins of its phrases and words
    /// in preorder.
    pub(crate) fn write(
        &self,
        genre: Genre,
        n: usize,
        seed: u64,
    ) -> impl Iterator<Item = (Sentence, Vec<Origin<'_>>)> {
        (0..n).map(move |i| {
            let mut random = Random::derive(seed, &[genre as u64, i as u64]);
            let (mut tree, origins) = self.grammar.write(&self.lexicon, genre, &mut random);
            finish(&mut tree);
            let genre = genre.name();
            (Sentence { id: format!("{genre}-{seed}-{i}"), genre: genre.to_owned(), tree }, origins)
        })
    }
}

/// Spells what depends on the words around: `an`, and capitals where a sentence or speech begins.
fn finish(tree: &mut Tree) {
    let mut words = Vec::new();
    collect_words(tree, &mut words);
    for i in (1..words.len()).rev() {
        if *words[i - 1] == "a" && spelling::takes_an(words[i]) {
            *words[i - 1] = "an".to_owned();
        }
    }
    // A step's number and its full stop come before its first word.
    let numbered = words.get(1).is_some_and(|word| *word == ".");
    let begins: Vec<usize> = (0..words.len())
        .filter(|&i| i == 0 || *words[i - 1] == "``" || i == 2 && numbered)
        .collect();
    for i in begins {
        *words[i] = spelling::capitalized(words[i]);
    }
}

fn collect_words<'t>(tree: &'t mut Tree, words: &mut Vec<&'t mut String>) {
    match tree {
        Tree::Leaf { word, .. } => words.push(word),
        Tree::Node { children, .. } => children.iter_mut().for_each(|c| collect_words(c, words)),
    }
}
