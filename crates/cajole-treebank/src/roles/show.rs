//! Renders roles for people and for other programs.

use std::fmt;
use std::ops::Range;

use super::bio::Argument;
use super::conll2012::Table;
use super::error::RoleFault;
use super::props::Props;
use super::sentence::{Proposition, Sentence};

/// The arguments of one predicate, as brackets in its sentence.
///
/// ```
/// use cajole_treebank::roles::{Argument, show::Bracketing};
///
/// let tokens = ["The", "dog", "barked", "."].map(str::to_owned);
/// let argument = |at, role: &str| Argument { at, role: role.to_owned() };
/// let arguments = [argument(0..2, "ARG0"), argument(2..3, "V")];
/// let shown = Bracketing { tokens: &tokens, predicate: 2, arguments: &arguments, wrong: &[] };
/// assert_eq!(shown.to_string(), "[ARG0 The dog] [V barked] .");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bracketing<'a> {
    /// The words.
    pub tokens: &'a [String],
    /// The index of the predicate. Without a `V` argument, its word is printed before the sentence.
    pub predicate: usize,
    /// The arguments, left to right, all inside the sentence.
    pub arguments: &'a [Argument],
    /// The spans of arguments that are not constituents.
    pub wrong: &'a [Range<usize>],
}

const PREDICATE: &str = "1;32";
const ROLE: &str = "1;36";
const WRONG: &str = "1;31";

impl Bracketing<'_> {
    /// For a terminal: coloured brackets, red for arguments that are not constituents.
    pub fn in_colour(&self) -> String {
        let painted = self.parts().map(|(argument, words)| {
            let Some(argument) = argument else { return words };
            let colour = match argument.is_predicate() {
                _ if self.is_wrong(argument) => WRONG,
                true => PREDICATE,
                false => ROLE,
            };
            format!("\x1b[{colour}m[{}\x1b[0m {words}\x1b[{colour}m]\x1b[0m", argument.role)
        });
        self.name() + &painted.collect::<Vec<_>>().join(" ")
    }

    /// For a case study: pieces of text, flagged if they belong to an argument that is not a
    /// constituent.
    pub fn pieces(&self) -> Vec<(String, bool)> {
        let mut pieces: Vec<(String, bool)> = Vec::new();
        let mut add = |text: String, wrong: bool| match pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.1 == wrong => last.0.push_str(&text),
            _ => pieces.push((text, wrong)),
        };
        add(self.name(), false);
        for (i, (argument, words)) in self.parts().enumerate() {
            let blank = if i == 0 { "" } else { " " };
            add(blank.to_owned(), false);
            add(plain(argument, words), argument.is_some_and(|argument| self.is_wrong(argument)));
        }
        pieces
    }

    fn is_wrong(&self, argument: &Argument) -> bool {
        self.wrong.contains(&argument.at)
    }

    /// The predicate, if no `V` argument shows it.
    fn name(&self) -> String {
        let tells =
            |argument: &Argument| argument.is_predicate() && argument.at.contains(&self.predicate);
        match (self.arguments.iter().any(tells), self.tokens.get(self.predicate)) {
            (false, Some(word)) => format!("{word}: "),
            _ => String::new(),
        }
    }

    /// The words of each argument, and all other words one by one.
    fn parts(&self) -> impl Iterator<Item = (Option<&Argument>, String)> {
        let (mut at, mut rest) = (0, self.arguments.iter().peekable());
        std::iter::from_fn(move || {
            let start = at;
            let argument = rest.next_if(|argument| argument.at.start <= start);
            at = argument.map_or(start + 1, |argument| argument.at.end);
            Some((argument, self.tokens.get(start..at)?.join(" ")))
        })
    }
}

fn plain(argument: Option<&Argument>, words: String) -> String {
    match argument {
        Some(argument) => format!("[{} {words}]", argument.role),
        None => words,
    }
}

impl fmt::Display for Bracketing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts().map(|(argument, words)| plain(argument, words));
        write!(f, "{}{}", self.name(), parts.collect::<Vec<_>>().join(" "))
    }
}

/// One row per word: the word and one BIO tag per predicate, separated by tabs.
pub fn bio_columns(sentence: &Sentence) -> String {
    let mut rows: Vec<String> = sentence.tokens.clone();
    for Proposition { tags, .. } in &sentence.propositions {
        for (row, tag) in rows.iter_mut().zip(tags) {
            row.push('\t');
            row.push_str(tag);
        }
    }
    rows.join("\n")
}

/// The rows of CoNLL-2005 propositions.
///
/// # Errors
/// If the format cannot represent them: two for one word, or a lemma that is `-`.
pub fn props(sentence: &Sentence) -> Result<String, RoleFault> {
    Props { words: sentence.tokens.len(), propositions: sentence.propositions.clone() }.text()
}

/// The rows of CoNLL-2012. An unknown roleset gets the sense `XX`. A sentence whose id is not
/// document, part and index becomes part 0 of a document with that name.
///
/// # Errors
/// If the format cannot represent it; see [`conll2012`](super::conll2012).
pub fn conll2012(sentence: &Sentence) -> Result<String, RoleFault> {
    let mut sentence = sentence.clone();
    for proposition in sentence.propositions.iter_mut().filter(|p| p.roleset.is_empty()) {
        proposition.roleset = format!("{}.XX", proposition.lemma);
    }
    let name = sentence.id.split_ascii_whitespace().collect::<Vec<_>>().join("_");
    let (document, part) = place(&name);
    Ok(Table::new(&sentence, document, part)?.to_string())
}

/// The document and part of a sentence, from its id.
fn place(name: &str) -> (&str, &str) {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = name.rsplitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(number), Some(part), Some(document))
            if is_number(number) && is_number(part) && !document.is_empty() =>
        {
            (document, part)
        }
        _ if name.is_empty() => ("-", "0"),
        _ => (name, "0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::Genre;
    use crate::roles::generated;
    use crate::roles::{conll2012 as rows, props as propositions};

    fn argument(at: Range<usize>, role: &str) -> Argument {
        Argument { at, role: role.to_owned() }
    }

    #[test]
    fn brackets_colours_and_carets() {
        let tokens: Vec<String> = "a b c d".split(' ').map(str::to_owned).collect();
        let arguments = [argument(0..1, "A0"), argument(2..4, "A1")];
        let wrong = std::slice::from_ref(&arguments[1].at);
        let shown = Bracketing { tokens: &tokens, predicate: 1, arguments: &arguments, wrong };
        assert_eq!(shown.to_string(), "b: [A0 a] b [A1 c d]", "no V tells the predicate");
        assert_eq!(
            shown.in_colour(),
            "b: \x1b[1;36m[A0\x1b[0m a\x1b[1;36m]\x1b[0m b \x1b[1;31m[A1\x1b[0m c d\x1b[1;31m]\x1b[0m"
        );
        let pieces = shown.pieces();
        let texts: Vec<_> = pieces.iter().map(|(text, wrong)| (text.as_str(), *wrong)).collect();
        assert_eq!(texts, [("b: [A0 a] b ", false), ("[A1 c d]", true)]);
        let all = Bracketing { wrong: &[0..1, 2..4], predicate: 9, ..shown }.pieces();
        let texts: Vec<_> = all.iter().map(|(text, wrong)| (text.as_str(), *wrong)).collect();
        assert_eq!(texts, [("[A0 a]", true), (" b ", false), ("[A1 c d]", true)]);
    }

    /// Written columns read back as the same sentence.
    #[test]
    fn columns_round_trip() {
        for sentence in generated::sentences(Genre::News, 60, 3) {
            let text = conll2012(&sentence).unwrap();
            let read = rows::sentences(&text).next().unwrap().unwrap().item;
            assert_eq!((&read.tokens, &read.pos), (&sentence.tokens, &sentence.pos));
            assert_eq!(read.tree, sentence.tree);
            let read_props = props(&sentence).unwrap();
            let read_props = propositions::sentences(&read_props).next().unwrap().unwrap().item;
            let mut expected: Vec<_> = sentence.propositions.iter().collect();
            expected.sort_by_key(|p| p.predicate);
            for (of, read) in [("conll", &read.propositions), ("props", &read_props.propositions)] {
                assert_eq!(read.len(), expected.len(), "{of}");
                for (read, expected) in read.iter().zip(&expected) {
                    assert_eq!((read.predicate, &read.tags), (expected.predicate, &expected.tags));
                }
            }
            let bio = bio_columns(&sentence);
            for (row, token) in bio.lines().zip(&sentence.tokens) {
                assert_eq!(row.split('\t').next(), Some(token.as_str()));
                assert_eq!(row.split('\t').count(), 1 + sentence.propositions.len());
            }
        }
    }

    #[test]
    fn ids_become_documents_and_parts() {
        for (name, expected) in [
            ("bn/a/00/a_0001/0/3", ("bn/a/00/a_0001", "0")),
            ("ewt/x.xml/3", ("ewt/x.xml/3", "0")),
            ("", ("-", "0")),
            ("7", ("7", "0")),
            ("/1/2", ("/1/2", "0")),
        ] {
            assert_eq!(place(name), expected);
        }
        let bare = Sentence {
            id: "my file".to_owned(),
            genre: String::new(),
            tokens: vec!["Go".to_owned()],
            pos: vec!["XX".to_owned()],
            tree: None,
            propositions: vec![Proposition {
                predicate: 0,
                lemma: "go".to_owned(),
                roleset: String::new(),
                tags: vec!["B-V".to_owned()],
            }],
            is_conll2012: false,
        };
        assert_eq!(conll2012(&bare).unwrap(), "my_file 0 0 Go XX - go XX - - * (V*) -\n");
        assert_eq!(bio_columns(&bare), "Go\tB-V");
    }
}
