//! CoNLL-2005 propositions, as `srl-eval.pl` reads them: one word per row, first the predicate's
//! lemma or `-`, then one column of arguments per predicate, in word order. Columns are separated
//! by blanks or tabs, sentences by blank lines.
//!
//! These files do not contain the words, and cannot represent two propositions of one word.

use cajole_files::{Located, excerpt};

use super::columns::{self, in_order, name};
use super::error::{RoleError, RoleFault};
use super::sentence::Proposition;
use crate::conll2012::bounded;

/// The byte order mark that some editors write.
const MARK: char = '\u{feff}';

/// The propositions of a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Props {
    /// The number of words in the sentence.
    pub words: usize,
    /// Sorted by predicate. Rolesets are empty, because the format has none.
    pub propositions: Vec<Proposition>,
}

/// Iterates over the sentences of a file. A malformed one yields an error and does not end the
/// iteration.
///
/// ```
/// use cajole_treebank::roles::props;
///
/// let text = "-\t(ARG0*)\nknow\t(V*)\n-\t*\n\n";
/// let sentence = props::sentences(text).next().unwrap().unwrap().item;
/// assert_eq!(sentence.propositions[0].lemma, "know");
/// assert_eq!(sentence.propositions[0].tags, ["B-ARG0", "B-V", "O"]);
/// assert_eq!(sentence.text().unwrap() + "\n", text);
/// ```
pub fn sentences(text: &str) -> impl Iterator<Item = Result<Located<Props>, RoleError>> {
    let is_row = |(_, row): &(usize, &str)| !row.trim_ascii().is_empty();
    let mut lines = (1..).zip(without_mark(text).lines());
    std::iter::from_fn(move || {
        let first = lines.find(is_row)?;
        // The terminating row is blank, so consuming it loses nothing.
        let rest = lines.by_ref().take_while(is_row).map(|(_, row)| row);
        let rows = match bounded(std::iter::once(first.1).chain(rest)) {
            Ok(rows) => rows,
            Err(fault) => return Some(Err(RoleFault::from(fault).on(first.0))),
        };
        let located = |RoleError { line: row, fault }| fault.on(first.0 + row - 1);
        Some(Props::read(&rows).map(|item| Located { line: first.0, item }).map_err(located))
    })
}

impl Props {
    /// An error's line is the row, from 1.
    fn read(rows: &[&str]) -> Result<Self, RoleError> {
        let cells: Vec<Vec<&str>> =
            rows.iter().map(|row| row.split_ascii_whitespace().collect()).collect();
        let first = cells.first().map_or(0, Vec::len);
        if let Some(at) = cells.iter().position(|cells| cells.len() != first) {
            let (found, row) = (cells[at].len(), excerpt(rows[at]));
            return Err(RoleFault::UnevenColumns { found, first, row }.on(at + 1));
        }
        let predicates = predicates(&cells);
        if predicates.len() + 1 != first {
            let (columns, predicates) = (first.saturating_sub(1), predicates.len());
            return Err(RoleFault::ColumnCount { columns, predicates }.on(1));
        }
        let propositions = (1..).zip(predicates).map(|(column, (predicate, lemma))| {
            columns::proposition(predicate, lemma, cells.iter().map(|cells| cells[column]))
        });
        Ok(Props { words: rows.len(), propositions: propositions.collect::<Result<_, _>>()? })
    }

    /// The rows of the sentence, with tabs between columns. The caller adds the blank line after
    /// them.
    ///
    /// If the rows begin with a byte order mark, a blank line comes first: at the start of a file,
    /// readers would take the mark for the file's own.
    ///
    /// # Errors
    /// If the format cannot represent a proposition, or it does not fit the words.
    pub fn text(&self) -> Result<String, RoleFault> {
        let mut rows = vec!["-".to_owned(); self.words];
        let ordered = in_order(&self.propositions)?;
        let mut all_bits = Vec::with_capacity(ordered.len());
        for proposition in ordered {
            all_bits.push(columns::bits(&proposition.arguments_over(self.words)?, self.words)?);
            rows[proposition.predicate] = name(&proposition.lemma)?;
        }
        for bits in all_bits {
            rows.iter_mut().zip(bits).for_each(|(row, bit)| {
                row.push('\t');
                row.push_str(&bit);
            });
        }
        if rows.first().is_some_and(|row| row.starts_with(MARK)) {
            rows.insert(0, String::new());
        }
        Ok(rows.into_iter().map(|row| row + "\n").collect())
    }
}

/// The predicates of a sentence and their lemmas, from the first column.
pub(super) fn predicates<'t>(cells: &[Vec<&'t str>]) -> Vec<(usize, &'t str)> {
    let lemmas = cells.iter().map(|cells| cells[0]).enumerate();
    lemmas.filter(|&(_, lemma)| lemma != "-").collect()
}

/// A file's text without its byte order mark.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::roles::bio::{self, tests::sentence};

    #[test]
    fn a_byte_order_mark_belongs_to_the_file_or_the_lemma() {
        let lemma = |text: &str| {
            let props = sentences(text).next().unwrap().unwrap().item;
            props.propositions[0].lemma.clone()
        };
        assert_eq!(lemma("\u{feff}go (V*)"), "go");
        let tags = vec!["B-V".to_owned()];
        let roleset = String::new();
        let marked = Proposition { predicate: 0, lemma: "\u{feff}go".to_owned(), roleset, tags };
        let props = Props { words: 1, propositions: vec![marked] };
        assert_eq!(lemma(&props.text().unwrap()), "\u{feff}go");
    }

    proptest! {
        #[test]
        fn written_props_read_back(
            (arguments, words) in sentence(),
            predicates in prop::collection::btree_set(0..20usize, 0..3),
        ) {
            prop_assume!(0 < words);
            let proposition = |predicate| Proposition {
                predicate,
                lemma: "go".to_owned(),
                roleset: String::new(),
                tags: bio::tags(&arguments, words),
            };
            let predicates = predicates.into_iter().filter(|&predicate| predicate < words);
            let props = Props { words, propositions: predicates.map(proposition).collect() };
            let text = format!("\n{}\n\n", props.text().unwrap());
            let read: Vec<_> = sentences(&text).map(|found| found.unwrap()).collect();
            prop_assert_eq!(read, [Located { line: 2, item: props }]);
        }

        #[test]
        fn garbage_does_not_panic(text in "([-a(*)]{0,4}[ \n\t]){0,20}", any in ".{0,40}") {
            prop_assert!(sentences(&text).count() <= text.len());
            prop_assert!(sentences(&any).count() <= any.len());
        }
    }

    /// Puts a malformed sentence between two good ones, which must survive.
    #[track_caller]
    fn check(malformed: &str, expected: &str) {
        let good = "go (V*)\n- *\n\n";
        let found: Vec<_> = sentences(&format!("{good}{malformed}\n\n\n{good}"))
            .map(|found| found.map(|found| found.item.words).map_err(|error| error.to_string()))
            .collect();
        assert_eq!(found, [Ok(2), Err(expected.to_owned()), Ok(2)]);
    }

    #[test]
    fn faults_report_their_line() {
        check(
            "go (V*)\n- * *",
            "line 5: 3 columns, where the first row of the sentence has 2, in \"- * *\"",
        );
        check("- *\n- *", "line 4: 1 columns of arguments for 0 predicates");
        check("go\ngo", "line 4: 0 columns of arguments for 2 predicates");
        let long = "-\n".repeat(100_001);
        check(long.trim_end(), "line 4: a sentence of more than 100000 words");
        check("go (V*)\n- (A*", "line 5: the argument \"A\" that begins here is not closed");
    }

    #[test]
    fn unrepresentable_props_are_rejected() {
        let go = Proposition {
            predicate: 0,
            lemma: "go".to_owned(),
            roleset: String::new(),
            tags: vec!["O".to_owned()],
        };
        let text = |propositions: Vec<_>| Props { words: 1, propositions }.text().unwrap_err();
        let twice = vec![go.clone(), go.clone()];
        assert_eq!(text(twice), RoleFault::SamePredicate { predicate: 0 });
        let nameless = vec![Proposition { lemma: "-".to_owned(), ..go.clone() }];
        assert_eq!(text(nameless), RoleFault::Unwritable { value: "-".to_owned() });
        for label in ["(", "A)", "A*"].map(str::to_owned) {
            let tagged = vec![Proposition { tags: vec![format!("B-{label}")], ..go.clone() }];
            assert_eq!(text(tagged), RoleFault::Unbracketable { label });
        }
    }
}
