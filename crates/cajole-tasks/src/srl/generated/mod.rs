//! Generated sentences with roles, so that the task runs and is tested without a download.
//!
//! The trees are like those of [the generated treebank](crate::treebank::generated): its grammar
//! and lexicon, with more relative clauses, places, negations and kinds of verbs (`grammar.txt`,
//! `lexicon.txt`). The grammar knows what it means by a phrase, so each verb can be given its
//! arguments: frames are in `frames.txt`, by the lexicon's classes of verbs.
//!
//! What makes roles hard is there on a small scale. Whether `with a wrench` or `in the yard` is an
//! argument or part of one depends on verb and noun, and at times only the tree knows; subjects
//! stand far from their verbs; some verbs (`arrive`, `go`) and all passive ones give them another
//! role, and `open` does so only without an object; nouns are arguments of the clauses that modify
//! them.
//!
//! Modals, `not` and a first `but` are arguments and no phrases, so that as in real data the roles
//! of some predicates disagree with the tree.

mod annotate;
mod frames;
mod phrase;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use super::sentence::Sentence;
use crate::treebank::generated::{Genre, Language};
use phrase::Phrase;

static LANGUAGE: LazyLock<Language> =
    LazyLock::new(|| Language::extended(include_str!("grammar.txt"), include_str!("lexicon.txt")));

/// The first `n` sentences of a genre under a seed, with the roles of their verbs.
///
/// A sentence depends on the seed, the genre and its own number only. Auxiliaries and modals are no predicates. A roleset is a lemma with the class of verbs it is
/// used as, `give.throw` in `give the box away`.
///
/// ```
/// use cajole_tasks::srl::generated::sentences;
/// use cajole_tasks::treebank::generated::Genre;
///
/// let news = sentences(Genre::News, 20, 1);
/// let proposition = &news[7].propositions[0];
/// assert_eq!(proposition.tags[proposition.predicate], "B-V");
/// ```
pub fn sentences(genre: Genre, n: usize, seed: u64) -> Vec<Sentence> {
    let with_roles = LANGUAGE.write(genre, n, seed).map(|(sentence, origins)| {
        let propositions = annotate::propositions(&Phrase::new(&sentence.tree, &origins));
        let leaves = sentence.tree.leaves().into_iter();
        let (pos, tokens) = leaves.map(|(tag, word)| (tag.to_owned(), word.to_owned())).unzip();
        let crate::treebank::Sentence { id, genre, tree } = sentence;
        Sentence { id, genre, tokens, pos, tree: Some(tree), propositions }
    });
    with_roles.collect()
}
