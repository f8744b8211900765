//! A generated treebank: English-like sentences from a small grammar.
//!
//! The standard treebanks cannot be redistributed. This one can, so the parsing experiment runs and
//! is tested without a download. On a small scale it has what makes parsing hard: agreement across
//! intervening material, nested clauses, and prepositional phrases whose attachment only the words
//! decide. In `repaired the car with a wrench` the wrench goes with the verb, in `repaired the car
//! with a new cover` the cover goes with the car, and in `met the man with a wrench` the wrench is
//! the man's.
//!
//! The rules are in `grammar.txt`, the words in `lexicon.txt`. Both vary by [`Genre`], so a parser
//! trained on one genre can be tested on another. Some names, numbers and derived words are coined
//! on the fly, so the test set contains unknown words.

mod grammar;
mod lexicon;
mod spelling;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use super::{Sentence, Tree};
use cajole_core::random::Random;
use grammar::Grammar;
pub(crate) use grammar::Origin;
use lexicon::Lexicon;

/// The maximum number of words in a sentence.
pub const MOST_WORDS: usize = 60;

/// The phrase labels, a subset of the Penn Treebank's.
pub const LABELS: [&str; 19] = [
    "ADJP", "ADVP", "FRAG", "INTJ", "LST", "NP", "PP", "PRN", "PRT", "QP", "S", "SBAR", "SBARQ",
    "SINV", "SQ", "VP", "WHADVP", "WHNP", "WHPP",
];

/// A genre of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Genre {
    /// Reports in the third person.
    News,
    /// Short sentences between `I` and `you`, with questions, fragments and interjections.
    Letters,
    /// Stories in the past tense, with direct speech and long coordinations.
    Fiction,
    /// Instructions: imperatives, numbered steps and nested prepositional phrases.
    Manual,
}

impl Genre {
    /// Every genre; parsers are trained on the first.
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

/// Generates the first `n` sentences of a genre for a seed.
///
/// A sentence depends only on the seed, the genre and its index, so a longer treebank begins with
/// the shorter one.
///
/// ```
/// use cajole_treebank::generated::{Genre, generate};
///
/// let news = generate(Genre::News, 20, 1);
/// assert_eq!(news[7], generate(Genre::News, 8, 1)[7]);
/// assert_eq!(news[7].id, "news-1-7");
/// ```
pub fn generate(genre: Genre, n: usize, seed: u64) -> Vec<Sentence> {
    ENGLISH.write(genre, n, seed).map(|(sentence, _)| sentence).collect()
}

/// A grammar and its lexicon.
#[derive(Debug)]
pub(crate) struct Language {
    grammar: Grammar,
    lexicon: Lexicon,
}

impl Language {
    /// The built-in rules and words, extended or overridden by these.
    ///
    /// # Panics
    /// On malformed lines. The files are built in, so only editing one can cause this.
    pub(crate) fn extended(rules: &str, words: &'static str) -> Self {
        let grammar = Grammar::parse(&format!("{}\n{rules}", include_str!("grammar.txt")));
        let mut lexicon = Lexicon::parse(include_str!("lexicon.txt"));
        lexicon.extend(words);
        Language { grammar, lexicon }
    }

    /// Writes the first `n` sentences of a genre for a seed, each with the origins of its phrases
    /// and words in preorder.
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

/// Fixes spelling that depends on context: `an`, and capitals at the start of a sentence or speech.
fn finish(tree: &mut Tree) {
    let mut words = Vec::new();
    collect_words(tree, &mut words);
    for i in (1..words.len()).rev() {
        if *words[i - 1] == "a" && spelling::takes_an(words[i]) {
            *words[i - 1] = "an".to_owned();
        }
    }
    // A step's number and full stop precede its first word.
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
