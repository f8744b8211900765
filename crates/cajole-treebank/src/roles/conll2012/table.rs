//! One sentence as rows, and its conversion to and from a [`Sentence`].

use std::fmt;

use cajole_files::excerpt;

use super::row::Row;
use crate::conll2012::Growing;
use crate::limits::MOST_DEPTH;
use crate::roles::columns::{self, cell, in_order, name, opening};
use crate::roles::error::{RoleError, RoleFault};
use crate::roles::sentence::{Proposition, Sentence};
use crate::tree::{escape, unescape};
use crate::{Fault, Tree, clean};

/// The rows of one sentence. Displays as the lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The document, the part, and the index of the sentence there, from 0.
    pub id: String,
    /// The first component of the document's name.
    pub genre: String,
    /// One row per word.
    pub rows: Vec<Row>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.iter().try_for_each(|row| row.fmt(f))
    }
}

impl Table {
    /// Interprets the columns. There is no tree if all parse bits are `-`.
    ///
    /// # Errors
    /// If brackets do not match, or the number of argument columns differs from the number of
    /// predicates. An error's line is the row, from 1.
    pub fn sentence(&self) -> Result<Sentence, RoleError> {
        let tree = self.tree()?;
        Ok(Sentence {
            id: self.id.clone(),
            genre: self.genre.clone(),
            tokens: self.rows.iter().map(|row| unescape(&row.word)).collect(),
            pos: self.rows.iter().map(|row| row.pos.clone()).collect(),
            tree,
            propositions: self.propositions()?,
            is_conll2012: false,
        })
    }

    /// Builds the rows of a sentence, with single blanks between columns. Columns that a
    /// [`Sentence`] lacks, such as speakers, are `-`.
    ///
    /// # Errors
    /// If the format cannot represent the sentence, or a proposition does not fit the words.
    pub fn new(sentence: &Sentence, document: &str, part: &str) -> Result<Self, RoleFault> {
        let words = sentence.tokens.len();
        let bits = sentence.tree.as_ref().map(parse_bits).transpose()?;
        let bits = bits.unwrap_or_else(|| vec!["-".to_owned(); words]);
        if bits.len() != words || sentence.pos.len() != words {
            let (id, list, found) = (sentence.id.clone(), "tokens", words);
            return Err(Fault::Lengths { id, list, found, leaves: bits.len() }.into());
        }
        let mut rows = Vec::with_capacity(words);
        for (number, (parse, (word, pos))) in
            bits.into_iter().zip(sentence.tokens.iter().zip(&sentence.pos)).enumerate()
        {
            let nothing = || "-".to_owned();
            rows.push(Row {
                document: cell(document)?,
                part: cell(part)?,
                number: number.to_string(),
                word: cell(&escape(word))?,
                pos: cell(&escape(pos))?,
                parse,
                lemma: nothing(),
                frameset: nothing(),
                sense: nothing(),
                speaker: nothing(),
                entity: "*".to_owned(),
                arguments: Vec::new(),
                coreference: nothing(),
                layout: Default::default(),
            });
        }
        let mut table = Table { id: sentence.id.clone(), genre: sentence.genre.clone(), rows };
        table.add(&sentence.propositions)?;
        Ok(table)
    }

    fn add(&mut self, propositions: &[Proposition]) -> Result<(), RoleFault> {
        for proposition in in_order(propositions)? {
            let arguments = proposition.arguments_over(self.rows.len())?;
            let Proposition { predicate, lemma, roleset, .. } = proposition;
            let frameset = roleset.rsplit_once('.').map_or(roleset.as_str(), |(_, sense)| sense);
            let row = &mut self.rows[*predicate];
            (row.lemma, row.frameset) = (name(lemma)?, name(frameset)?);
            let bits = columns::bits(&arguments, self.rows.len())?;
            self.rows.iter_mut().zip(bits).for_each(|(row, bit)| row.arguments.push(bit));
        }
        Ok(())
    }

    fn tree(&self) -> Result<Option<Tree>, RoleError> {
        if self.rows.iter().all(|row| row.parse == "-") {
            return Ok(None);
        }
        let mut growing = Growing::default();
        for (number, Row { word, pos, parse, .. }) in (1..).zip(&self.rows) {
            growing.add(word, pos, parse).map_err(|fault| fault.on(number))?;
        }
        let words = self.rows.len();
        let tree = growing.finish().map_err(|fault| fault.on(words))?;
        let tree = clean(tree).ok_or_else(|| Fault::OnlyTraces.on(1))?;
        match tree.leaves().len() {
            leaves if leaves == words => Ok(Some(tree)),
            leaves => {
                let (id, list, found) = (self.id.clone(), "tokens", words);
                Err(Fault::Lengths { id, list, found, leaves }.on(1).into())
            }
        }
    }

    fn propositions(&self) -> Result<Vec<Proposition>, RoleError> {
        let columns = self.rows.first().map_or(0, |row| row.arguments.len());
        for (number, row) in (1..).zip(&self.rows) {
            if row.arguments.len() != columns {
                let found = Row::COLUMNS + row.arguments.len();
                let (first, row) = (Row::COLUMNS + columns, excerpt(&row.to_string()));
                return Err(RoleFault::UnevenColumns { found, first, row }.on(number));
            }
        }
        let predicates = self.rows.iter().enumerate().filter(|(_, row)| row.is_predicate());
        let predicates: Vec<_> = predicates.collect();
        if predicates.len() != columns {
            let predicates = predicates.len();
            return Err(RoleFault::ColumnCount { columns, predicates }.on(1));
        }
        let propositions = predicates.into_iter().enumerate().map(|(column, (predicate, row))| {
            let bits = self.rows.iter().map(|row| row.arguments[column].as_str());
            let proposition = columns::proposition(predicate, &row.lemma, bits)?;
            Ok(Proposition { roleset: format!("{}.{}", row.lemma, row.frameset), ..proposition })
        });
        propositions.collect()
    }
}

/// The parse bits of a tree under a root `TOP`, one per word.
fn parse_bits(tree: &Tree) -> Result<Vec<String>, RoleFault> {
    let mut bits = Vec::new();
    let mut waiting = opening("TOP")?;
    match tree {
        Tree::Node { label, children } if label.is_empty() || label == "TOP" => {
            children.iter().try_for_each(|child| add_bits(child, 1, &mut waiting, &mut bits))?;
        }
        _ => add_bits(tree, 1, &mut waiting, &mut bits)?,
    }
    bits.last_mut().into_iter().for_each(|bit| bit.push(')'));
    Ok(bits)
}

/// Appends the parse bits of a tree inside `open` brackets; those in `waiting` are written before
/// its first word.
fn add_bits(
    tree: &Tree,
    open: usize,
    waiting: &mut String,
    bits: &mut Vec<String>,
) -> Result<(), RoleFault> {
    match tree {
        Tree::Leaf { .. } => bits.push(std::mem::take(waiting) + "*"),
        // The word's own bracket counts too, as it does when reading.
        Tree::Node { .. } if MOST_DEPTH <= open + 1 => return Err(Fault::TooDeep.into()),
        Tree::Node { label, children } => {
            waiting.push_str(&opening(label)?);
            children.iter().try_for_each(|child| add_bits(child, open + 1, waiting, bits))?;
            bits.last_mut().into_iter().for_each(|bit| bit.push(')'));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sentences;
    use super::*;
    use crate::roles::bio::{self, tests::sentence as arguments};

    fn over(words: usize, propositions: Vec<Proposition>) -> Sentence {
        let leaf = |i| Tree::Leaf { tag: "NN".to_owned(), word: format!("({i}") };
        let mut tree = leaf(0);
        for i in 1..words {
            tree = Tree::Node { label: format!("X{i}"), children: vec![tree, leaf(i)] };
        }
        let tokens = (0..words).map(|i| format!("({i}")).collect();
        let (id, genre, pos) = ("a/b/0/0".into(), "a".into(), vec!["NN".into(); words]);
        let (tree, is_conll2012) = (Some(tree), false);
        Sentence { id, genre, tokens, pos, tree, propositions, is_conll2012 }
    }

    fn proposition(predicate: usize, roleset: &str, tags: Vec<String>) -> Proposition {
        Proposition { predicate, lemma: "go".to_owned(), roleset: roleset.to_owned(), tags }
    }

    proptest! {
        #[test]
        fn written_sentences_read_back((arguments, len) in arguments(), two in any::<bool>()) {
            prop_assume!(0 < len);
            let tags = bio::tags(&arguments, len);
            let mut propositions = vec![proposition(0, "go.01", tags)];
            if two && 1 < len {
                propositions.push(proposition(len - 1, "go.XX", vec!["O".to_owned(); len]));
            }
            let sentence = over(len, propositions);
            let text = Table::new(&sentence, "a/b", "0").unwrap().to_string();
            let read = sentences(&text).next().unwrap().unwrap().item;
            prop_assert_eq!(&read, &sentence);
            let bare = Sentence { tree: None, ..sentence };
            let text = Table::new(&bare, "a/b", "0").unwrap().to_string();
            prop_assert_eq!(sentences(&text).next().unwrap().unwrap().item, bare);
        }
    }

    #[test]
    fn trees_too_deep_to_read_are_not_written() {
        let mut deepest = over(1, Vec::new());
        // A word, and `TOP`, which is added.
        for _ in 2..MOST_DEPTH {
            let children = deepest.tree.into_iter().collect();
            deepest.tree = Some(Tree::Node { label: "X".to_owned(), children });
        }
        let text = Table::new(&deepest, "a/b", "0").unwrap().to_string();
        assert_eq!(sentences(&text).next().unwrap().unwrap().item, deepest);
        let children = deepest.tree.into_iter().collect();
        let tree = Some(Tree::Node { label: "X".to_owned(), children });
        let deeper = Sentence { tree, ..deepest };
        assert_eq!(Table::new(&deeper, "a/b", "0"), Err(Fault::TooDeep.into()));
    }

    #[test]
    fn unrepresentable_sentences_are_rejected() {
        let tags = || vec!["O".to_owned(); 2];
        for (propositions, expected) in [
            (
                vec![proposition(1, "go.01", tags()), proposition(1, "go.02", tags())],
                "the word 1, counted from 0, is the predicate of several propositions",
            ),
            (
                vec![proposition(1, "", tags())],
                "\"\" cannot be written in a column: it is empty, a hyphen, or has blanks in it",
            ),
            (
                vec![proposition(1, "go.01", vec!["B-A*".to_owned(), "O".to_owned()])],
                "\"A*\" cannot be written in a column: it has brackets or a star in it",
            ),
            (
                vec![proposition(2, "go.01", tags())],
                "the predicate \"go\" is word 2, counted from 0, of only 2",
            ),
        ] {
            let error = Table::new(&over(2, propositions), "a/b", "0").unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let mut starred = over(2, Vec::new());
        let Some(Tree::Node { label, .. }) = &mut starred.tree else { panic!("two words") };
        "NP*".clone_into(label);
        let fault = RoleFault::Unbracketable { label: "NP*".to_owned() };
        assert_eq!(Table::new(&starred, "a/b", "0"), Err(fault));
    }
}
