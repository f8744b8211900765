//! The frames of `frames.txt`: the roles of a verb's dependents.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::phrase::Phrase;

/// The frames of every verb class.
#[derive(Debug)]
pub(super) struct Frames {
    /// The entries by head: a class, or a class and a lemma.
    lines: BTreeMap<String, Vec<Entry>>,
}

/// `phrase=ROLE` or `phrase:word=ROLE`.
#[derive(Debug)]
struct Entry {
    symbol: &'static str,
    word: Option<&'static str>,
    role: &'static str,
}

impl Frames {
    /// Parses the frames file.
    ///
    /// # Panics
    /// On a malformed line. The file is built in, so only editing it can cause this.
    pub(super) fn parse(text: &'static str) -> Self {
        let mut lines = BTreeMap::<_, Vec<Entry>>::new();
        for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let (head, entries) =
                line.split_once(": ").unwrap_or_else(|| panic!("no frame: {line}"));
            let heads: Vec<String> = match head.split_once(' ') {
                None => vec![head.to_owned()],
                Some((class, lemmas)) => {
                    lemmas.split(' ').map(|lemma| format!("{class} {lemma}")).collect()
                }
            };
            for head in heads {
                lines.entry(head).or_default().extend(entries.split(' ').map(read_entry));
            }
        }
        Frames { lines }
    }

    /// The role of an active verb's subject, if it has one.
    pub(super) fn subject(&self, class: &str, lemma: &str) -> Option<&'static str> {
        self.find(class, lemma, "subject", |_| false)
    }

    /// The role of an active verb's object, if it has one.
    pub(super) fn object(&self, class: &str, lemma: &str) -> Option<&'static str> {
        self.find(class, lemma, "NP", |_| false)
    }

    /// The role of a phrase or word that depends on a verb.
    pub(super) fn role(&self, class: &str, lemma: &str, phrase: &Phrase) -> Option<&'static str> {
        self.find(class, lemma, phrase.symbol, |word| phrase.has(word))
    }

    fn find(
        &self,
        class: &str,
        lemma: &str,
        symbol: &str,
        has: impl Fn(&str) -> bool,
    ) -> Option<&'static str> {
        let lines = [&format!("{class} {lemma}"), class, "any"].map(|head| self.lines.get(head));
        let entries = lines.into_iter().flatten().flatten().filter(|entry| {
            let rest = symbol.strip_prefix(entry.symbol);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                && entry.word.is_none_or(&has)
        });
        // Of equals, `min_by_key` returns the first.
        let best = entries.min_by_key(|entry| Reverse((entry.symbol.len(), entry.word.is_some())));
        best.map(|entry| entry.role)
    }
}

fn read_entry(text: &'static str) -> Entry {
    let (phrase, role) = text.split_once('=').unwrap_or_else(|| panic!("no role: {text}"));
    match phrase.split_once(':') {
        Some((symbol, word)) => Entry { symbol, word: Some(word), role },
        None => Entry { symbol: phrase, word: None, role },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_is_symbol_length_then_word_then_lemma() {
        let frames = Frames::parse(
            "go: subject=A NP=B NP.object=C\ngo come: NP=D\nany: NP.time=E PP=F PP:on=G\nany: MD=H",
        );
        let find = |lemma, symbol, word: &str| frames.find("go", lemma, symbol, |w| w == word);
        for (lemma, symbol, word, want) in [
            ("walk", "NP.object.person", "", Some("C")),
            ("walk", "NP.light", "", Some("B")),
            ("come", "NP.light", "", Some("D")),
            ("come", "NP.object.person", "", Some("C")),
            ("come", "subject", "", Some("A")),
            ("come", "NP.time.now", "", Some("E")),
            ("come", "PP.day", "in", Some("F")),
            ("come", "PP.day", "on", Some("G")),
            ("come", "PPP", "on", None),
            ("come", "MD", "", Some("H")),
        ] {
            assert_eq!(find(lemma, symbol, word), want, "{lemma} {symbol} {word}");
        }
    }
}
