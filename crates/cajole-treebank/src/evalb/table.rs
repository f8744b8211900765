//! evalb's own table, byte for byte: whatever parses evalb's output can parse ours.

use std::fmt;

use super::evaluation::Evaluation;
use super::score::{Score, SentenceScore};

const HEAD: &str = "  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy";

const RULE: &str = "============================================================================";

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        writeln!(f, "{RULE}")?;
        // evalb stops before it prints the row of the error that is one too many.
        let n_rows = self.sentences.len() - usize::from(self.is_cut_off);
        for (id, sentence) in (1..).zip(&self.sentences[..n_rows]) {
            row(f, id, sentence)?;
        }
        // Partial totals would be mistaken for the whole file's.
        if self.is_cut_off {
            return Ok(());
        }
        writeln!(f, "{RULE}")?;
        totals(f, &self.all)?;
        writeln!(f, "=== Summary ===")?;
        writeln!(f, "\n-- All --")?;
        summary(f, &self.all)?;
        writeln!(f, "\n-- len<={} --", self.cutoff_length)?;
        summary(f, &self.short)
    }
}

fn row(f: &mut fmt::Formatter<'_>, id: usize, sentence: &SentenceScore) -> fmt::Result {
    let SentenceScore { length, status, score } = sentence;
    let Score { matched, gold, test, crossing, words, correct_tags, .. } = score;
    let (recall, precision) = (score.recall(), score.precision());
    let (status, accuracy) = (status.code(), score.tagging_accuracy());
    write!(f, "{id:4}  {length:3}    {status}  {recall:6.2} {precision:6.2}   {matched:3}")?;
    write!(f, "    {gold:3}  {test:3}    {crossing:3}")?;
    writeln!(f, "   {words:4}  {correct_tags:4}   {accuracy:6.2}")
}

fn totals(f: &mut fmt::Formatter<'_>, score: &Score) -> fmt::Result {
    let Score { matched, gold, test, crossing, words, correct_tags, .. } = score;
    let (recall, precision) = (score.recall(), score.precision());
    // Where a side has no brackets, evalb leaves out their columns.
    if 0 < *gold && 0 < *test {
        write!(f, "{:16}{recall:6.2} {precision:6.2} {matched:6} {gold:5} {test:5}", "")?;
        write!(f, "  {crossing:5}")?;
    }
    writeln!(f, "  {words:5} {correct_tags:5}   {:6.2}", score.tagging_accuracy())
}

fn summary(f: &mut fmt::Formatter<'_>, score: &Score) -> fmt::Result {
    for (name, count) in [
        ("Number of sentence", score.sentences),
        ("Number of Error sentence", score.errors),
        ("Number of Skip  sentence", score.skipped),
        ("Number of Valid sentence", score.valid()),
    ] {
        writeln!(f, "{name:25} = {count:6}")?;
    }
    let f1 = if score.matched == 0 { f64::NAN } else { score.f1() };
    for (name, ratio) in [
        ("Bracketing Recall", score.recall()),
        ("Bracketing Precision", score.precision()),
        ("Bracketing FMeasure", f1),
        ("Complete match", score.complete_match()),
        ("Average crossing", score.average_crossing()),
        ("No crossing", score.no_crossing_rate()),
        ("2 or less crossing", score.two_or_less_crossing_rate()),
        ("Tagging accuracy", score.tagging_accuracy()),
    ] {
        match ratio.is_nan() {
            true => writeln!(f, "{name:25} = {:>6}", "nan")?,
            false => writeln!(f, "{name:25} = {ratio:6.2}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Params, read_line};
    use super::*;

    #[test]
    fn totals_without_brackets_have_fewer_columns() {
        let trees = ["(NN a)", "(S (NN a))"].map(|line| read_line(line).unwrap().remove(0));
        let [word, phrase] = &trees;
        for (test, expected) in [
            (word, "\n      1     1   100.00\n=== Summary"),
            (
                phrase,
                "\n                100.00 100.00      1     1     1      0      1     1   100.00\n",
            ),
        ] {
            let table = Evaluation::of([(test, test)], &Params::collins()).to_string();
            assert!(table.contains(expected), "{table}");
        }
    }
}
