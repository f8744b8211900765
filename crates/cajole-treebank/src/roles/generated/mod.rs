//! Generated sentences with semantic roles, so the SRL task runs and is tested without a download.
//!
//! The trees resemble [the generated treebank](crate::generated): the same grammar and lexicon,
//! with more relative clauses, locations, negations and verb classes (`grammar.txt`,
//! `lexicon.txt`). The grammar knows what it means by each phrase, so every verb can be given its
//! arguments: frames are in `frames.txt`, by verb class.
//!
//! On a small scale it has what makes SRL hard. Whether `with a wrench` or `in the yard` is an
//! argument or part of one depends on verb and noun, and sometimes only the tree tells. Subjects
//! can be far from their verbs. Some verbs (`arrive`, `go`) and all passives give the subject
//! another role; `open` does so only without an object. Nouns are arguments of the clauses that
//! modify them.
//!
//! Modals, `not` and an initial `but` are arguments but not phrases, so as in real data the roles
//! of some predicates disagree with the tree.

mod annotate;
mod frames;
mod phrase;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use super::sentence::Sentence;
use crate::generated::{Genre, Language};
use phrase::Phrase;

static LANGUAGE: LazyLock<Language> =
    LazyLock::new(|| Language::extended(include_str!("grammar.txt"), include_str!("lexicon.txt")));

/// Generates the first `n` sentences of a genre for a seed, with the roles of their verbs.
///
/// A sentence depends only on the seed, the genre and its index. Auxiliaries and modals are not
/// predicates. A roleset is a lemma with the verb class it is used as, such as `give.throw` in
/// `give the box away`.
///
/// ```
/// use cajole_treebank::roles::generated::sentences;
/// use cajole_treebank::generated::Genre;
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
        let crate::Sentence { id, genre, tree } = sentence;
        let tree = Some(tree);
        Sentence { id, genre, tokens, pos, tree, propositions, is_conll2012: false }
    });
    with_roles.collect()
}
