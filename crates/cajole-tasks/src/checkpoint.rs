//! A trained network as a folder: weights, architecture, vocabularies, model card.
//!
//! The networks of every task implement [`Checkpoint`]: they provide their vocabularies and how to
//! assemble the network from files. Saving, loading and built-in networks follow from that.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use cajole_files::limits::MOST_VOCABULARY_BYTES;
use cajole_files::text_of;
use cajole_files::{Folder, IoError};
use cajole_nn::checkpoint::{self, MODEL_FILE, Precision};
use cajole_nn::{Network, Trainable, Trained};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crate::load_error::LoadError;
use crate::pairs::symbols::UNKNOWN;

/// The contents of `config.json`, which also determine the model card.
pub trait Card: Serialize + DeserializeOwned {
    /// The value of the field `task`, which identifies the task of a folder.
    const TASK: &'static str;

    /// The model card in Markdown.
    fn to_markdown(&self) -> String;
}

/// A network with its vocabularies.
pub trait Checkpoint: Sized {
    /// The contents of its `config.json`.
    type Card: Card;

    /// The bare network.
    type Network: Network;

    /// The names of its vocabularies, and of whatever else [`Checkpoint::save`] writes besides weights
    /// and card.
    const VOCABULARIES: &'static [&'static str];

    /// The files of the built-in network, by name.
    const BUILT_IN: &'static [(&'static str, &'static [u8])];

    /// The network with its weights.
    fn trained(&self) -> &Trained<Self::Network>;

    /// Its vocabularies, as (file name, contents).
    fn vocabularies(&self) -> Vec<(&'static str, String)>;

    /// Assembles it from its card and files.
    ///
    /// # Errors
    /// If a file is missing, damaged, or for another architecture.
    fn assemble(card: &Self::Card, files: &Files<'_>) -> Result<Self, LoadError>;

    /// Writes any additional files.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn save_more(&self, _folder: &Folder) -> Result<(), LoadError> {
        Ok(())
    }

    /// Checks that a folder has room for the checkpoint, before any work is done for it.
    ///
    /// # Errors
    /// If it holds a file that would be replaced and may not be.
    fn claim(folder: &Folder) -> Result<(), LoadError> {
        let all = [MODEL_FILE, CONFIG_FILE, CARD_FILE];
        Ok(folder.claim(all.iter().chain(Self::VOCABULARIES).copied())?)
    }

    /// Writes a checkpoint folder.
    ///
    /// # Errors
    /// If a file cannot be written, or would replace one that may not be.
    fn save(
        &self,
        folder: &Folder,
        card: &Self::Card,
        precision: Precision,
    ) -> Result<(), LoadError> {
        self.save_more(folder)?;
        let (model, path) = (self.trained(), folder.join(MODEL_FILE));
        let weights = checkpoint::to_bytes(&path, model.net.layout(), model.weights(), precision)?;
        folder.put(MODEL_FILE, &weights)?;
        let config = serde_json::to_string_pretty(card).expect("a card always serialises") + "\n";
        let others = [(CONFIG_FILE, config), (CARD_FILE, card.to_markdown())];
        for (name, text) in self.vocabularies().iter().chain(&others) {
            folder.put(name, text.as_bytes())?;
        }
        Ok(())
    }

    /// Reads a checkpoint folder.
    ///
    /// # Errors
    /// If a file is missing, damaged, or belongs to another task.
    fn load(folder: &Path) -> Result<(Self, Self::Card), LoadError> {
        Files::Folder(folder).read()
    }

    /// The built-in network; see its model card under `models/`.
    fn built_in() -> Self {
        let (network, _) =
            Files::BuiltIn(Self::BUILT_IN).read().expect("built-in networks are tested");
        network
    }
}

const CONFIG_FILE: &str = "config.json";
const CARD_FILE: &str = "README.md";

/// The files of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub enum Files<'a> {
    /// Files in this folder.
    Folder(&'a Path),
    /// Built-in files, by name.
    BuiltIn(&'static [(&'static str, &'static [u8])]),
}

impl Files<'_> {
    /// The path of a file. Built-in files are in no folder; their path is only for messages.
    pub fn path(&self, name: &str) -> PathBuf {
        match self {
            Files::Folder(folder) => folder.join(name),
            Files::BuiltIn(_) => Path::new("(built in)").join(name),
        }
    }

    /// Reads a file as text.
    ///
    /// # Errors
    /// If it is missing or not UTF-8.
    pub fn text(&self, name: &str) -> Result<Cow<'static, str>, LoadError> {
        let text = match self {
            Files::Folder(folder) => {
                return Ok(text_of(&folder.join(name), MOST_VOCABULARY_BYTES)?.into());
            }
            Files::BuiltIn(files) => find(files, name).and_then(|bytes| {
                let text = str::from_utf8(bytes)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e));
                text.map(Cow::Borrowed)
            }),
        };
        Ok(text.map_err(IoError::at(&self.path(name)))?)
    }

    /// Reads a vocabulary, one entry per line: `expected` different ones, each of them of a `kind`.
    ///
    /// # Errors
    /// If the number is wrong, an entry is invalid or a duplicate, or the file is missing.
    pub fn entries(
        &self,
        name: &str,
        expected: usize,
        kind: Entries,
    ) -> Result<Vec<String>, LoadError> {
        let lines = self.list(name, kind)?;
        let (path, entries) = (self.path(name), lines.len());
        match entries == expected {
            true => Ok(lines),
            false => Err(LoadError::Vocabulary { path, entries, expected }),
        }
    }

    /// Reads a vocabulary of any size, whose entries are of a `kind`.
    ///
    /// # Errors
    /// If an entry is invalid or a duplicate, or the file is missing.
    pub fn list(&self, name: &str, kind: Entries) -> Result<Vec<String>, LoadError> {
        let lines: Vec<String> = self.text(name)?.lines().map(str::to_owned).collect();
        let mut known = HashMap::with_capacity(lines.len());
        for (line, entry) in (1..).zip(&lines) {
            let why = match known.insert(entry, line) {
                Some(first) => Some(format!("is also on line {first}")),
                None => kind.fault(entry).map(str::to_owned),
            };
            if let Some(why) = why {
                let (path, entry) = (self.path(name), entry.clone());
                return Err(LoadError::Entry { path, line, entry, why });
            }
        }
        Ok(lines)
    }

    /// How many of `n_symbols` a vocabulary names, if a network has `unnamed` others.
    ///
    /// # Errors
    /// If there are none.
    pub fn beyond(&self, n_symbols: usize, unnamed: usize) -> Result<usize, LoadError> {
        let path = self.path(CONFIG_FILE);
        match n_symbols.checked_sub(unnamed) {
            None | Some(0) => Err(LoadError::FewSymbols { path, n_symbols, least: unnamed + 1 }),
            Some(named) => Ok(named),
        }
    }

    /// Loads the weights of a network.
    ///
    /// # Errors
    /// If they are missing, damaged, or for another architecture.
    pub fn trained<N: Network>(&self, net: N) -> Result<Trained<N>, LoadError> {
        let path = self.path(MODEL_FILE);
        let weights = match self {
            Files::Folder(_) => checkpoint::load(&path, net.layout())?,
            Files::BuiltIn(files) => {
                let bytes = find(files, MODEL_FILE).map_err(IoError::at(&path))?;
                checkpoint::from_bytes(&path, bytes, net.layout())?
            }
        };
        Ok(Trained::new(net, weights))
    }

    /// The name of the checkpoint's task.
    fn task(&self) -> Result<String, LoadError> {
        #[derive(Deserialize)]
        struct Task {
            task: String,
        }
        Ok(self.config::<Task>()?.task)
    }

    fn config<C: DeserializeOwned>(&self) -> Result<C, LoadError> {
        let path = self.path(CONFIG_FILE);
        serde_json::from_str(&self.text(CONFIG_FILE)?)
            .map_err(|source| LoadError::Config { path, source })
    }

    fn read<C: Checkpoint>(&self) -> Result<(C, C::Card), LoadError> {
        // Check the task first: errors about another task's architecture would be confusing.
        let (task, expected) = (self.task()?, C::Card::TASK);
        if task != expected {
            return Err(LoadError::OtherTask { path: self.path(CONFIG_FILE), task, expected });
        }
        let card = self.config()?;
        Ok((C::assemble(&card, self)?, card))
    }
}

/// What the entries of a vocabulary are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Any text that is not empty.
    Texts,
    /// Symbols of text that blanks separate.
    Words,
    /// Labels of phrases, which are written in brackets.
    Labels,
    /// Single characters, and the symbol for unknown ones.
    Characters,
}

impl Entries {
    /// What is wrong with an entry, if anything.
    fn fault(self, entry: &str) -> Option<&'static str> {
        let has_blank = entry.contains(char::is_whitespace);
        match self {
            _ if entry.is_empty() => Some("is empty"),
            Entries::Words | Entries::Labels if has_blank => Some("contains a blank"),
            Entries::Labels if entry.contains(['(', ')']) => Some("contains a bracket"),
            Entries::Characters if 1 < entry.chars().count() && entry != UNKNOWN => {
                Some("is more than one character")
            }
            _ => None,
        }
    }
}

fn find(files: &[(&str, &'static [u8])], name: &str) -> io::Result<&'static [u8]> {
    let found = files.iter().find(|(other, _)| *other == name);
    found.map(|(_, bytes)| *bytes).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Formats a vocabulary as a file, one entry per line.
pub(crate) fn to_lines(entries: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    entries.into_iter().map(|entry| format!("{}\n", entry.as_ref())).collect()
}

/// Whether `folder` contains a finished checkpoint.
pub fn exists(folder: &Path) -> bool {
    folder.join(CONFIG_FILE).exists() && folder.join(MODEL_FILE).exists()
}

/// The task of the checkpoint in `folder`.
///
/// # Errors
/// If there is no checkpoint.
pub fn task_of(folder: &Path) -> Result<String, LoadError> {
    Files::Folder(folder).task()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{pairs, parsing, srl, transduction};

    #[test]
    fn built_in_networks_are_whole() {
        check_built_in::<transduction::Net>();
        check_built_in::<parsing::Parser>();
        check_built_in::<srl::RoleTagger>();
        check_built_in::<pairs::PairsModel>();
    }

    /// Checks that the built-in network survives saving and loading, and that its model card
    /// agrees.
    fn check_built_in<C: Checkpoint>() {
        let files = Files::BuiltIn(C::BUILT_IN);
        let (network, card): (C, C::Card) = files.read().unwrap();
        for (name, text) in network.vocabularies() {
            assert_eq!(files.text(name).unwrap(), text, "{name}");
        }
        let facts = card.to_markdown();
        let (_, facts) = facts.split_once("\n\n").unwrap();
        let words = files.text(CARD_FILE).unwrap();
        assert!(words.contains(facts.trim_end()), "the model card agrees with its settings");

        let folder = tempfile::tempdir().unwrap();
        network.save(&Folder::create(folder.path()).unwrap(), &card, Precision::F32).unwrap();
        assert!(exists(folder.path()));
        assert_eq!(task_of(folder.path()).unwrap(), C::Card::TASK);
        let (loaded, _) = C::load(folder.path()).unwrap();
        assert_eq!(loaded.trained().weights(), network.trained().weights());
        assert_eq!(loaded.vocabularies(), network.vocabularies());
    }

    /// Loads a built-in network with one file changed, and checks the error.
    #[track_caller]
    fn check_refused<C: Checkpoint>(file: &str, change: impl Fn(&str) -> String, expected: &str) {
        let (network, card): (C, C::Card) = Files::BuiltIn(C::BUILT_IN).read().unwrap();
        let folder = tempfile::tempdir().unwrap();
        network.save(&Folder::create(folder.path()).unwrap(), &card, Precision::F32).unwrap();
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        let changed = change(&text);
        assert_ne!(text, changed);
        fs::write(&path, changed).unwrap();
        let error = C::load(folder.path()).err().expect("it is refused").to_string();
        assert!(error.contains(file) && error.contains(expected), "{error}");
    }

    /// Replaces a line, counted from 1.
    fn with_line(number: usize, line: &'static str) -> impl Fn(&str) -> String {
        move |text| {
            let lines = (1..).zip(text.lines());
            to_lines(lines.map(|(i, old)| if i == number { line } else { old }))
        }
    }

    #[test]
    fn invalid_vocabularies_are_refused() {
        use parsing::Parser;
        let labels = "vocab.labels.txt";
        check_refused::<Parser>(
            labels,
            with_line(3, "("),
            ":3: the entry \"(\" contains a bracket",
        );
        check_refused::<Parser>(labels, with_line(2, ""), ":2: the entry \"\" is empty");
        check_refused::<Parser>(
            labels,
            with_line(2, "N P"),
            ":2: the entry \"N P\" contains a blank",
        );
        check_refused::<Parser>(
            labels,
            |text| format!("{text}NEW\n"),
            "30 entries, but the network",
        );
        let twice = |text: &str| {
            let first = text.lines().next().unwrap();
            to_lines([first, first].into_iter().chain(text.lines().skip(2)))
        };
        check_refused::<Parser>(labels, twice, ":2: the entry");
        check_refused::<Parser>("vocab.words.txt", twice, "is also on line 1");
        check_refused::<srl::RoleTagger>("vocab.predicates.txt", twice, "is also on line 1");
        check_refused::<srl::RoleTagger>("vocab.tags.txt", with_line(4, "X"), "tag 3 is \"X\"");
        let target = "vocab.target.txt";
        check_refused::<pairs::PairsModel>(target, with_line(1, "a b"), ":1: the entry \"a b\"");
        check_refused::<transduction::Net>(
            target,
            with_line(2, "q"),
            ":2: the entry \"q\" should be",
        );
        check_refused::<transduction::Net>("vocab.source.txt", |_| String::new(), "0 entries");
        let few = |text: &str| text.replace("\"output-symbols\": 32", "\"output-symbols\": 3");
        check_refused::<Parser>(CONFIG_FILE, few, "3 output symbols, of at least 4");
    }
}
