//! The table of `srl-eval.pl`, byte for byte: whatever parses its output can parse ours.

use std::fmt;

use super::evaluation::Evaluation;
use super::score::Counts;

const RULE: &str = "------------------------------------------------------------";

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evaluation { sentences, score, .. } = self;
        writeln!(f, "Number of Sentences    :      {sentences:6}")?;
        writeln!(f, "Number of Propositions :      {:6}", score.propositions)?;
        writeln!(f, "Percentage of perfect props : {:6.2}", score.perfect_rate())?;
        writeln!(f, "\n{:10}    corr.  excess  missed    prec.    rec.      F1", "")?;
        writeln!(f, "{RULE}")?;
        row(f, "Overall", &score.overall())?;
        writeln!(f, "----------")?;
        for (role, counts) in score.arguments() {
            row(f, role, counts)?;
        }
        writeln!(f, "{RULE}")?;
        if let Some((role, counts)) = score.predicate() {
            row(f, role, counts)?;
        }
        writeln!(f, "{RULE}")
    }
}

fn row(f: &mut fmt::Formatter<'_>, role: &str, counts: &Counts) -> fmt::Result {
    let Counts { correct, excess, missed } = counts;
    write!(f, "{role:>10}   {correct:6}  {excess:6}  {missed:6}   ")?;
    let (precision, recall, f1) = (counts.precision(), counts.recall(), counts.f1());
    writeln!(f, "{precision:6.2}  {recall:6.2}  {f1:6.2}")
}
