//! The trees whose nodes arguments must be: the input's, a file's, or predicted ones. Whatever
//! their source, they reach the network in lines.

use std::path::PathBuf;

use anyhow::{Context, bail};
use cajole_infer::engine::Engine;
use cajole_infer::fields::Fields;
use cajole_infer::infer::Tally;
use cajole_infer::line::LineError;
use cajole_infer::record::Record;
use cajole_infer::run::Each;
use cajole_infer::source::{Listed, Numbered};
use cajole_infer::{Opened, Settings};
use cajole_rules::RuleText;
use cajole_tasks::srl::Query;
use cajole_treebank::{Tree, penn};
use serde_json::{Value, json};

use super::Read;
use crate::Session;
use crate::asking;

/// The trees whose nodes arguments must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trees {
    Auto,
    Input,
    Parser,
    None,
    File(PathBuf),
}

impl From<&str> for Trees {
    fn from(text: &str) -> Self {
        match text {
            "auto" => Trees::Auto,
            "input" => Trees::Input,
            "parser" => Trees::Parser,
            "none" => Trees::None,
            path => Trees::File(path.into()),
        }
    }
}

/// A sentence with the tree for its arguments, if there is one.
pub(super) struct Sentence {
    pub(super) line: u64,
    text: Option<Result<String, LineError>>,
    pub(super) query: Option<Query>,
    pub(super) is_predicted: bool,
}

impl Sentence {
    /// The line for the network. It is taken once.
    pub(super) fn take_text(&mut self) -> Result<String, LineError> {
        self.text.take().unwrap_or_else(|| Ok(String::new()))
    }
}

/// Where trees come from.
pub(super) struct Forest<'s> {
    which: Trees,
    file: Option<File>,
    session: &'s Session,
    /// Opened on first use.
    parser: Option<Opened>,
}

struct File {
    path: PathBuf,
    trees: Vec<Tree>,
    /// How many sentences there were so far.
    asked: usize,
}

impl<'s> Forest<'s> {
    /// Opens the trees that `--trees` names.
    pub(super) fn new(which: &Trees, session: &'s Session) -> anyhow::Result<Self> {
        let file = match which {
            Trees::File(path) => Some(File::read(path.clone())?),
            _ => None,
        };
        Ok(Forest { which: which.clone(), file, session, parser: None })
    }

    /// A sentence with its tree, if that is given rather than predicted. In a file of trees, a
    /// sentence that could not be read has one, too.
    pub(super) fn next(&mut self, Read { line, text, query }: Read) -> Sentence {
        let of_file = self.file.as_mut().map(|file| file.next(query.as_ref()));
        let mut sentence = Sentence { line, text: Some(text), query, is_predicted: false };
        let Some(query) = &mut sentence.query else { return sentence };
        let has_tree = query.tree.is_some();
        match (&self.which, of_file) {
            (_, Some(Err(error))) => sentence.text = Some(Err(LineError::other(error))),
            (_, Some(Ok(tree))) => sentence.plant(tree, "file"),
            (Trees::Input, _) if !has_tree => {
                let error = LineError::other("there is no \"tree\" in the input");
                sentence.text = Some(Err(error));
            }
            (Trees::Auto, _) => sentence.is_predicted = !has_tree,
            (Trees::Parser, _) => sentence.is_predicted = true,
            (Trees::None, _) => sentence.plant(None, ""),
            _ => {}
        }
        sentence
    }

    /// Predicts the missing trees. An output that is not a tree is mended into one.
    pub(super) fn grow(&mut self, sentences: &mut [Sentence]) -> anyhow::Result<()> {
        let bare = sentences.iter().filter(|s| s.is_predicted);
        let lines = bare.filter_map(|s| -> Option<Numbered<LineError>> {
            let Query { tokens, pos, .. } = s.query.as_ref()?;
            let mut line = json!({ "tokens": tokens });
            if let Some(pos) = pos {
                line["pos"] = json!(pos);
            }
            Some((s.line, Ok(line.to_string())))
        });
        let lines: std::collections::VecDeque<_> = lines.collect();
        if lines.is_empty() {
            return Ok(());
        }
        let trees = self.predict(Listed { name: "sentences".to_owned(), lines })?;
        for sentence in sentences.iter_mut().filter(|s| s.is_predicted) {
            let found = trees.iter().find(|(line, _)| *line == sentence.line);
            // The tagger will complain about what the parser cannot read.
            if let Some((_, tree)) = found {
                sentence.plant(Some(tree.clone()), "parser");
            }
        }
        Ok(())
    }

    /// The parser's own trees, by the lines of their sentences.
    fn predict(&mut self, mut source: Listed) -> anyhow::Result<Vec<(u64, Tree)>> {
        let parser = match self.parser.take() {
            Some(parser) => parser,
            None => self.session.registry.open("parser")?,
        };
        let rules = RuleText::new("one tree", parser.usual_rules().unwrap_or(""));
        let rules = asking::compile(&rules, parser.vocabulary())?;
        let settings = Settings::of(&*parser).by(Engine::network());
        let mut trees = Vec::new();
        let mut put = |records: Vec<Record>| {
            for record in records {
                let answer = record.answers.as_ref().ok().and_then(|answers| answers.first());
                let tree = answer.and_then(|answer| answer.fields.get("tree")?.as_str());
                let tree = tree.and_then(|tree| penn::parse_tree(tree).ok());
                trees.extend(tree.map(|tree| (record.line, tree)));
            }
            Ok(())
        };
        let tally = Tally::default();
        let each = Each { source: &mut source, put: &mut put, tally: &tally, told: &|_| {} };
        parser.infer_each(Some(&rules), &settings, each)?;
        self.parser = Some(parser);
        Ok(trees)
    }

    /// An error unless every tree had its sentence; to be called at the end.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        match &self.file {
            Some(File { path, trees, asked }) if *asked < trees.len() => {
                bail!("{} has {} trees for {asked} sentences", path.display(), trees.len())
            }
            _ => Ok(()),
        }
    }
}

impl Sentence {
    /// Puts this tree, or none, into the line in place of what it has.
    fn plant(&mut self, tree: Option<Tree>, from: &str) {
        let (Some(query), Some(Ok(text))) = (&mut self.query, &self.text) else { return };
        // The line's other fields stay, such as its id.
        let mut line: Fields = serde_json::from_str(text).unwrap_or_default();
        let fields = &mut line.all;
        fields.remove("text");
        fields.remove("tree");
        fields.insert("tokens".to_owned(), json!(query.tokens));
        // The words keep their tags, whatever the tree's tags are.
        let pos = query.pos.clone();
        let pos = pos.unwrap_or_else(|| query.clone().sentence(Vec::new()).pos);
        fields.insert("pos".to_owned(), json!(pos));
        if let Some(tree) = &tree {
            fields.insert("tree".to_owned(), json!(tree.to_string()));
            fields.insert("tree_from".to_owned(), json!(from));
        }
        query.tree = tree;
        self.text = Some(Ok(json_of(&line)));
    }
}

/// Fields as a line.
fn json_of(fields: &Fields) -> String {
    serde_json::to_string(fields).expect("all keys are strings")
}

/// A sentence of a corpus as a line.
pub(super) fn line_of(query: &Query) -> String {
    let Query { id, tokens, pos, tree, predicates } = query;
    let srl = predicates.iter().flatten().map(|p| {
        let mut item = json!({"p": p.predicate, "lemma": p.lemma, "roleset": p.roleset});
        if !p.tags.is_empty() {
            item["bio"] = json!(p.tags.join(" "));
        }
        item
    });
    let srl: Vec<Value> = srl.collect();
    let fields = [
        ("id", id.as_ref().map(|id| json!(id))),
        ("tokens", Some(json!(tokens))),
        ("pos", pos.as_ref().map(|pos| json!(pos))),
        ("tree", tree.as_ref().map(|tree| json!(tree.to_string()))),
        ("srl", predicates.as_ref().map(|_| json!(srl))),
    ];
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(fields.collect()).to_string()
}

impl File {
    fn read(path: PathBuf) -> anyhow::Result<Self> {
        let corpus = cajole_treebank::read(&path)
            .with_context(|| format!("cannot read the trees in {}", path.display()))?;
        // Without it, every later sentence would have another's tree.
        if let Some(problem) = corpus.problems.first() {
            bail!("{problem}");
        }
        let trees = corpus.sentences.into_iter().map(|sentence| sentence.tree).collect();
        Ok(File { path, trees, asked: 0 })
    }

    fn next(&mut self, query: Option<&Query>) -> anyhow::Result<Option<Tree>> {
        let tree = self.trees.get(self.asked).cloned();
        self.asked += 1;
        let File { path, asked: number, trees } = self;
        let path = path.display();
        let Some(query) = query else { return Ok(None) };
        let Some(tree) = tree else {
            bail!("this is sentence {number}, and {path} has only {} trees", trees.len())
        };
        let (leaves, tokens) = (tree.leaves().len(), query.tokens.len());
        match leaves == tokens {
            true => Ok(Some(tree)),
            false => bail!("tree {number} of {path} has {leaves} leaves for {tokens} tokens"),
        }
    }
}
