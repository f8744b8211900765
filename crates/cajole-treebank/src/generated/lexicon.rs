//! The words of `lexicon.txt`, by class and genre.

use std::collections::BTreeMap;

use super::Genre;
use super::spelling::{with_ed, with_ing, with_s};
use cajole_core::random::Random;

/// All word classes.
#[derive(Debug)]
pub(super) struct Lexicon {
    classes: BTreeMap<&'static str, Class>,
}

/// Words that are interchangeable in the grammar.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// Words of every genre, each as its base form followed by irregular forms.
    common: Vec<Word>,
    /// Genre-specific words, in the order of [`Genre::ALL`].
    own: [Vec<Word>; Genre::ALL.len()],
    /// The rate of coined words, and the parts they are made from.
    coined: Option<(f32, [Vec<&'static str>; 2])>,
}

type Word = Vec<&'static str>;

impl Lexicon {
    /// Parses the lexicon file.
    ///
    /// # Panics
    /// On a malformed line. The file is built in, so only editing it can cause this.
    pub(super) fn parse(text: &'static str) -> Self {
        let mut lexicon = Lexicon { classes: BTreeMap::new() };
        lexicon.extend(text);
        lexicon
    }

    /// Parses more lines, which replace those with the same head.
    ///
    /// # Panics
    /// As [`Lexicon::parse`] does.
    pub(super) fn extend(&mut self, text: &'static str) {
        for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let (head, words) = line.split_once(':').unwrap_or_else(|| panic!("no words: {line}"));
            let head: Vec<&str> = head.split(' ').collect();
            let class = self.classes.entry(head[0]).or_default();
            match head[1..] {
                [] => class.common = read_words(words),
                ["coined", rate] => class.coined = Some((percent(rate), read_parts(words))),
                [genre] => {
                    let at = Genre::ALL.iter().position(|g| g.name() == genre);
                    class.own[at.unwrap_or_else(|| panic!("no genre: {line}"))] = read_words(words);
                }
                _ => panic!("expected a class, a genre or a rate: {line}"),
            }
        }
    }

    /// Looks up a class by name.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn class(&self, name: &str) -> &Class {
        self.classes.get(name).unwrap_or_else(|| panic!("no word class {name:?}"))
    }
}

impl Class {
    /// Draws a word; returns its base form and the form that `tag` calls for.
    pub(super) fn pick(&self, genre: Genre, tag: &str, random: &mut Random) -> [String; 2] {
        if let Some((rate, [fronts, backs])) = &self.coined
            && random.uniform(0.0, 1.0) < *rate
        {
            let front = fronts[random.below(fronts.len())];
            let word = format!("{front}{}", backs[random.below(backs.len())]);
            let form = inflect(&[&word], tag);
            return [word, form];
        }
        let word = self.zipf(genre, random);
        [word[0].to_owned(), inflect(word, tag)]
    }

    /// Draws a word with Zipf-distributed weights.
    fn zipf(&self, genre: Genre, random: &mut Random) -> &Word {
        let ranked = [&self.common, &self.own[genre as usize]];
        let weighted = || {
            ranked.iter().flat_map(|words| {
                words.iter().enumerate().map(|(rank, word)| (1.0 / (rank as f32 + 2.0), word))
            })
        };
        let mut at = random.uniform(0.0, weighted().map(|(weight, _)| weight).sum());
        for (weight, word) in weighted() {
            at -= weight;
            if at < 0.0 {
                return word;
            }
        }
        // Rounding may leave a remainder of the sum.
        &self.common[0]
    }
}

fn read_words(text: &'static str) -> Vec<Word> {
    text.split_whitespace().map(|word| word.split('/').collect()).collect()
}

fn read_parts(text: &'static str) -> [Vec<&'static str>; 2] {
    let (fronts, backs) = text.split_once('+').unwrap_or_else(|| panic!("no parts: {text}"));
    [fronts, backs].map(|parts| parts.split_whitespace().collect())
}

fn percent(text: &str) -> f32 {
    let number = text.strip_suffix('%').and_then(|n| n.parse::<f32>().ok());
    number.unwrap_or_else(|| panic!("no rate: {text}")) / 100.0
}

/// The form of a word for a tag: the irregular one if the lexicon has it.
fn inflect(word: &[&str], tag: &str) -> String {
    let base = word[0];
    let listed = |regular: fn(&str) -> String, forms: &[&str]| {
        forms.last().map_or_else(|| regular(base), |&form| form.to_owned())
    };
    match tag {
        "NNS" => listed(with_s, &word[1..]),
        "VBZ" => with_s(base),
        "VBD" => listed(with_ed, word.get(1..2).unwrap_or(&[])),
        "VBN" => listed(with_ed, &word[1..]),
        "VBG" => with_ing(base),
        _ => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_by_tag() {
        for (word, tag, want) in [
            (&["man", "men"][..], "NNS", "men"),
            (&["see", "saw", "seen"], "VBD", "saw"),
            (&["see", "saw", "seen"], "VBN", "seen"),
            (&["buy", "bought"], "VBN", "bought"),
            (&["hurry"], "VBZ", "hurries"),
            (&["run", "ran", "run"], "VBG", "running"),
            (&["open"], "VB", "open"),
        ] {
            assert_eq!(inflect(word, tag), want);
        }
    }

    #[test]
    fn frequent_words_come_first() {
        let lexicon = Lexicon::parse("noun: one two\nnoun news: three\nnoun coined 10%: a + b");
        let mut random = Random::new(1);
        let mut pick = |genre| lexicon.class("noun").pick(genre, "NN", &mut random)[1].clone();
        let words: Vec<_> = (0..1000).map(|_| pick(Genre::News)).collect();
        let count = |word: &str| words.iter().filter(|w| *w == word).count();
        assert!(count("one") > count("two") && count("two") > 100);
        assert!(count("three") > 100 && (50..200).contains(&count("ab")));
        assert!(!(0..1000).map(|_| pick(Genre::Letters)).any(|word| word == "three"));
    }
}
