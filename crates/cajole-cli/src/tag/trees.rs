//! The trees whose nodes arguments have to be: the input's, a file's, or predicted ones.

use std::path::PathBuf;

use anyhow::{Context, bail};
use cajole_nn::decoders::Beam;
use cajole_tasks::parsing::{Parser, parser};
use cajole_tasks::srl::Query;
use cajole_tasks::treebank::{self, Tree};

use super::Asked;
use crate::args::Trees;

/// Width of the beam that predicts trees: that of `cajole parse`.
const BEAM: Beam = Beam { width: 5 };

/// Whose a predicted tree is.
pub(super) const PARSER: &str = "parser";

/// A tree, and whose it is.
type Given = (Tree, &'static str);

/// Where trees come from.
pub(super) struct Forest {
    which: Trees,
    file: Option<File>,
    /// Loaded when it is needed first.
    parser: Option<Parser>,
}

struct File {
    path: PathBuf,
    trees: Vec<Tree>,
    /// How many sentences there were.
    asked: usize,
}

impl Forest {
    /// What was asked for.
    pub(super) fn new(which: &Trees) -> anyhow::Result<Self> {
        let file = match which {
            Trees::File(path) => Some(File::read(path.clone())?),
            _ => None,
        };
        Ok(Forest { which: which.clone(), file, parser: None })
    }

    /// The tree of the next sentence, if it is given rather than predicted. A sentence that could
    /// not be read has one, too, in a file.
    pub(super) fn next(&mut self, query: Option<&Query>) -> anyhow::Result<Option<Given>> {
        let of_input = || query.and_then(|query| query.tree.clone()).map(|tree| (tree, "input"));
        match &self.which {
            Trees::Auto => Ok(of_input()),
            Trees::Input => Ok(Some(of_input().context("there is no \"tree\" in the input")?)),
            Trees::Parser | Trees::None => Ok(None),
            Trees::File(_) => {
                self.file.as_mut().map(|file| file.next(query)).transpose().map(Option::flatten)
            }
        }
    }

    /// Predicts trees for those that have none, if that was asked for. An output that is no tree is
    /// mended into one.
    pub(super) fn grow(&mut self, asked: &mut [Asked]) {
        if !matches!(self.which, Trees::Auto | Trees::Parser) {
            return;
        }
        let bare = asked.iter_mut().filter(|asked| asked.tree_of.is_none());
        let mut bare: Vec<&mut Asked> = bare.collect();
        if bare.is_empty() {
            return;
        }
        let parser = self.parser.get_or_insert_with(parser::built_in);
        let sentences: Vec<_> = bare.iter().map(|asked| asked.sentence.leaves()).collect();
        let trees = parser.trees(&BEAM, &sentences);
        for (asked, tree) in bare.iter_mut().zip(trees) {
            (asked.sentence.tree, asked.tree_of) = (Some(tree), Some(PARSER));
        }
    }

    /// Whether every tree had its sentence; to be asked in the end.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        match &self.file {
            Some(File { path, trees, asked }) if *asked < trees.len() => {
                bail!("{} has {} trees for {asked} sentences", path.display(), trees.len())
            }
            _ => Ok(()),
        }
    }
}

impl File {
    fn read(path: PathBuf) -> anyhow::Result<Self> {
        let corpus = treebank::read(&path)
            .with_context(|| format!("cannot read the trees in {}", path.display()))?;
        // Without it, every later sentence would have another's tree.
        if let Some(problem) = corpus.problems.first() {
            bail!("{problem}");
        }
        let trees = corpus.sentences.into_iter().map(|sentence| sentence.tree).collect();
        Ok(File { path, trees, asked: 0 })
    }

    fn next(&mut self, query: Option<&Query>) -> anyhow::Result<Option<Given>> {
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
            true => Ok(Some((tree, "file"))),
            false => bail!("tree {number} of {path} has {leaves} leaves for {tokens} tokens"),
        }
    }
}
