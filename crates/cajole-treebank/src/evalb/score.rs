//! Per-sentence counts, and their sums.

use std::fmt;
use std::slice;

use serde::Serialize;

use super::brackets::{Bracket, Brackets};
use super::params::Params;
use crate::{Tree, percent};

/// Counts summed over sentences. Ratios are computed on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// All sentences.
    pub sentences: usize,
    /// Sentences whose words differ from gold. They are excluded from all counts below.
    pub errors: usize,
    /// Sentences without a parse. They are excluded too.
    pub skipped: usize,
    /// Brackets in both gold and test.
    pub matched: usize,
    /// Brackets in gold.
    pub gold: usize,
    /// Brackets in test.
    pub test: usize,
    /// Brackets in test that cross one in gold.
    pub crossing: usize,
    /// Words, without deleted ones.
    pub words: usize,
    /// Words with the correct tag.
    pub correct_tags: usize,
    /// Sentences whose brackets all match.
    pub complete: usize,
    /// Sentences without crossing brackets.
    pub no_crossing: usize,
    /// Sentences with at most two crossing brackets.
    pub two_or_less_crossing: usize,
}

impl Score {
    /// Sentences that count.
    pub fn valid(&self) -> usize {
        self.sentences - self.errors - self.skipped
    }

    /// The percentage of gold brackets that were found; 0 if gold has none.
    pub fn recall(&self) -> f64 {
        percent(self.matched, self.gold)
    }

    /// The percentage of test brackets that are correct; 0 if test has none.
    pub fn precision(&self) -> f64 {
        percent(self.matched, self.test)
    }

    /// The harmonic mean of precision and recall, in per cent. 0 if nothing matches, where evalb's
    /// table prints `nan`.
    pub fn f1(&self) -> f64 {
        let (recall, precision) = (self.recall(), self.precision());
        if self.matched == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
    }

    /// The percentage of valid sentences that match completely.
    pub fn complete_match(&self) -> f64 {
        percent(self.complete, self.valid())
    }

    /// Crossing brackets per valid sentence.
    pub fn average_crossing(&self) -> f64 {
        percent(self.crossing, self.valid()) / 100.0
    }

    /// The percentage of valid sentences without crossing brackets.
    pub fn no_crossing_rate(&self) -> f64 {
        percent(self.no_crossing, self.valid())
    }

    /// The percentage of valid sentences with at most two crossing brackets.
    pub fn two_or_less_crossing_rate(&self) -> f64 {
        percent(self.two_or_less_crossing, self.valid())
    }

    /// The percentage of words with the correct tag.
    pub fn tagging_accuracy(&self) -> f64 {
        percent(self.correct_tags, self.words)
    }
}

crate::summable!(Score {
    sentences,
    errors,
    skipped,
    matched,
    gold,
    test,
    crossing,
    words,
    correct_tags,
    complete,
    no_crossing,
    two_or_less_crossing,
});

/// Whether a sentence counts, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does.
    Valid,
    /// Gold and test have different numbers of words.
    LengthsDiffer {
        /// Words in gold, without deleted ones.
        gold: usize,
        /// Words in test.
        test: usize,
    },
    /// Gold and test have different words; this is the first difference.
    WordsDiffer {
        /// The word in gold.
        gold: String,
        /// The word in test.
        test: String,
    },
    /// One side is not a sequence of trees.
    Malformed {
        /// What is wrong, and where.
        reason: String,
    },
    /// Test has no words: the parser gave up.
    Skipped,
}

impl Status {
    /// The status as in evalb's table: 0 valid, 1 error, 2 skipped.
    pub fn code(&self) -> u8 {
        match self {
            Status::Valid => 0,
            Status::Skipped => 2,
            _ => 1,
        }
    }
}

/// evalb's wording of an error.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Valid => write!(f, "Valid"),
            Status::LengthsDiffer { gold, test } => write!(f, "Length unmatch ({gold}|{test})"),
            Status::WordsDiffer { gold, test } => write!(f, "Words unmatch ({gold}|{test})"),
            Status::Malformed { reason } => write!(f, "{reason}"),
            Status::Skipped => write!(f, "Skipped"),
        }
    }
}

/// The score of one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentenceScore {
    /// Words in gold, punctuation included.
    pub length: usize,
    /// Whether it counts.
    pub status: Status,
    /// Its counts; zero if it does not count.
    pub score: Score,
}

impl SentenceScore {
    /// A sentence that does not count.
    pub(super) fn left_out(length: usize, status: Status) -> Self {
        let (errors, skipped) = (usize::from(status.code() == 1), usize::from(status.code() == 2));
        let score = Score { sentences: 1, errors, skipped, ..Score::default() };
        SentenceScore { length, status, score }
    }
}

/// Compares a test tree with a gold tree.
///
/// Like evalb, this counts an unlabelled root as a bracket. Label it `TOP` to have it deleted.
pub fn score(gold: &Tree, test: &Tree, params: &Params) -> SentenceScore {
    score_forests(slice::from_ref(gold), slice::from_ref(test), params)
}

/// Compares sentences that need not be one tree each: a failed parse has none, a partial parse may
/// have several.
pub fn score_forests(gold: &[Tree], test: &[Tree], params: &Params) -> SentenceScore {
    let (gold, test) = Brackets::of_pair(gold, test, params);
    if let Some(status) = why_left_out(&gold, &test, params) {
        return SentenceScore::left_out(gold.length, status);
    }
    let matched = matches(&gold.brackets, &test.brackets, params);
    let crosses_gold = |t: &&Bracket<'_>| gold.brackets.iter().any(|g| g.crosses(t));
    let crossing = test.brackets.iter().filter(crosses_gold).count();
    let tags = gold.words.iter().zip(&test.words).filter(|(g, t)| params.same_label(g.0, t.0));
    let is_complete = matched == gold.brackets.len() && matched == test.brackets.len();
    let score = Score {
        sentences: 1,
        errors: 0,
        skipped: 0,
        matched,
        gold: gold.brackets.len(),
        test: test.brackets.len(),
        crossing,
        words: gold.words.len(),
        correct_tags: tags.count(),
        complete: usize::from(is_complete),
        no_crossing: usize::from(crossing == 0),
        two_or_less_crossing: usize::from(crossing <= 2),
    };
    SentenceScore { length: gold.length, status: Status::Valid, score }
}

fn why_left_out(gold: &Brackets<'_>, test: &Brackets<'_>, params: &Params) -> Option<Status> {
    let lengths = (gold.words.len(), test.words.len());
    match lengths {
        (_, 0) => return Some(Status::Skipped),
        (gold, test) if gold != test => return Some(Status::LengthsDiffer { gold, test }),
        _ => {}
    }
    let mut pairs = gold.words.iter().zip(&test.words);
    let (gold, test) = pairs.find(|(g, t)| !params.same_word(g.1, t.1))?;
    Some(Status::WordsDiffer { gold: gold.1.to_owned(), test: test.1.to_owned() })
}

/// How many brackets match. Each bracket matches at most once, so duplicates over the same span
/// count only as often as the other side has them.
fn matches(gold: &[Bracket<'_>], test: &[Bracket<'_>], params: &Params) -> usize {
    let mut is_free = vec![true; test.len()];
    let mut take = |g: &Bracket<'_>| {
        let same = |t: &Bracket<'_>| {
            (g.start, g.end) == (t.start, t.end)
                && (!params.labeled || params.same_label(g.label, t.label))
        };
        let found = (0..test.len()).find(|&i| is_free[i] && same(&test[i]));
        found.map(|i| is_free[i] = false)
    };
    gold.iter().filter_map(&mut take).count()
}

#[cfg(test)]
mod tests {
    use super::super::read::read_line;
    use super::*;

    fn of(gold: &str, test: &str, params: &Params) -> SentenceScore {
        score_forests(&read_line(gold).unwrap(), &read_line(test).unwrap(), params)
    }

    /// Checks matched, gold, test, crossing, words and correct tags.
    #[track_caller]
    fn check(gold: &str, test: &str, want: [usize; 6]) -> Score {
        let score = of(gold, test, &Params::collins()).score;
        let Score { matched, gold, test, crossing, words, correct_tags, .. } = score;
        assert_eq!([matched, gold, test, crossing, words, correct_tags], want);
        score
    }

    #[test]
    fn a_prepositional_phrase_attached_wrongly() {
        let gold = "(TOP (S (NP (PRP I)) (VP (VBP see) (NP (NP (NNS men)) (PP (IN in) (NP (NN fog))))) (. .)))";
        // The PP attaches to the verb: NP[2,5] is missing, everything else is there.
        let test = "(TOP (S (NP (PRP I)) (VP (VBP see) (NP (NNS men)) (PP (IN in) (NP (NNP fog)))) (. .)))";
        // Gold has S, NP, VP, NP, NP, PP, NP: 7. Test has S, NP, VP, NP, PP, NP: 6. All 6 match.
        // Five words without the full stop, four correct tags.
        let score = check(gold, test, [6, 7, 6, 0, 5, 4]);
        assert_eq!(score.recall(), 100.0 * 6.0 / 7.0);
        assert_eq!(score.precision(), 100.0);
        // 2 · 6/7 · 1 / (6/7 + 1) = 12/13.
        assert!((score.f1() - 100.0 * 12.0 / 13.0).abs() < 1e-9);
        assert_eq!(score.tagging_accuracy(), 80.0);
        assert_eq!((score.complete, score.no_crossing), (0, 1));
    }

    #[test]
    fn advp_equals_prt_and_function_tags_are_ignored() {
        let gold = "(S (NP-SBJ (NN a)) (VP=2 (VB b) (ADVP-TMP (RB c))))";
        let test = "(S (NP (NN a)) (VP (VB b) (PRT (RB c))))";
        assert_eq!(check(gold, test, [4, 4, 4, 0, 3, 3]).complete, 1);
    }

    #[test]
    fn the_attachment_of_punctuation_does_not_matter() {
        // The comma is in NP in gold and in S in test; without it, NP is [0,1] in both.
        check(
            "(S (NP (NN a) (, ,)) (VP (VB b)))",
            "(S (NP (NN a)) (, ,) (VP (VB b)))",
            [3, 3, 3, 0, 2, 2],
        );
    }

    #[test]
    fn duplicate_brackets_match_as_often_as_both_sides_have_them() {
        let (one, two) = ("(NP (NN a))", "(NP (NP (NN a)))");
        let three = "(NP (NP (NP (NN a))))";
        check(two, one, [1, 2, 1, 0, 1, 1]);
        check(two, two, [2, 2, 2, 0, 1, 1]);
        check(two, three, [2, 2, 3, 0, 1, 1]);
    }

    #[test]
    fn each_crossing_test_bracket_counts_once() {
        // Gold: S[0,5] A[0,2] B[2,5] C[3,5]. Test: S[0,5], X[1,4] crosses A, B and C, Y[1,3]
        // crosses A and B, Z[3,4] lies within.
        let gold = "(S (A (N a) (N b)) (B (N c) (C (N d) (N e))))";
        let test = "(S (N a) (X (Y (N b) (N c)) (Z (N d))) (N e))";
        let score = check(gold, test, [1, 4, 4, 2, 5, 5]);
        assert_eq!((score.no_crossing, score.two_or_less_crossing), (0, 1));
        assert_eq!(score.average_crossing(), 2.0);
    }

    #[test]
    fn unlabelled_scoring_compares_spans_only() {
        let params = Params { labeled: false, ..Params::collins() };
        let score = of("(S (NP (NN a)) (VP (VB b)))", "(X (Y (NN a)) (VB b))", &params).score;
        assert_eq!((score.matched, score.gold, score.test), (2, 3, 2));
    }

    #[test]
    fn different_words_are_errors_and_empty_parses_are_skipped() {
        let gold = "(S (NP (NN a)) (VP (VB b)) (. .))";
        let lengths = of(gold, "(S (NP (NN a)) (. .))", &Params::collins());
        assert_eq!(lengths.status, Status::LengthsDiffer { gold: 2, test: 1 });
        assert_eq!(lengths.status.to_string(), "Length unmatch (2|1)");
        let words = of(gold, "(S (NP (NN a)) (VP (VB c)) (. .))", &Params::collins());
        assert_eq!(words.status.to_string(), "Words unmatch (b|c)");
        for nothing in ["", "(S (. .))"] {
            assert_eq!(of(gold, nothing, &Params::collins()).status, Status::Skipped);
        }
        let valid = of(gold, gold, &Params::collins());
        assert_eq!(valid.length, 3, "with the full stop");

        let skipped = of(gold, "", &Params::collins());
        let sum: Score =
            [lengths, words, skipped, valid.clone()].into_iter().map(|s| s.score).sum();
        assert_eq!((sum.sentences, sum.errors, sum.skipped, sum.valid()), (4, 2, 1, 1));
        assert_eq!(Score { sentences: 1, errors: 0, skipped: 0, ..sum }, valid.score);
    }

    #[test]
    fn ratios_of_an_empty_score_are_zero() {
        let none = Score::default();
        assert_eq!((none.recall(), none.precision(), none.f1()), (0.0, 0.0, 0.0));
        assert_eq!((none.complete_match(), none.tagging_accuracy()), (0.0, 0.0));
        // A single word has no brackets, so the match is complete.
        assert_eq!(check("(TOP (NN a))", "(TOP (NN a))", [0, 0, 0, 0, 1, 1]).complete, 1);
    }
}
