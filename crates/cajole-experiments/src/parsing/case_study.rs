//! Follows single sentences step by step, like the tables in the paper's appendix.

use cajole_core::{Gbi, Outcome, Symbol, UnknownParameter, Workspace};
use cajole_nn::models::Token;
use cajole_report::{CaseStep, CaseStudy, Piece};
use cajole_tasks::parsing::parser::Parser;
use cajole_treebank::shift_reduce::constraint::Tokens;
use cajole_treebank::{Sentence, Tree};

use super::config::ParsingConfig;
use crate::alone;

/// Longer sentences make unreadable tables.
const LONGEST: usize = 14;

/// The first short failure that Algorithm 1 turns into the gold tree, or else one that it turns
/// into any tree.
///
/// # Errors
/// If the preset names a parameter that the network does not have.
pub(super) fn case_study(
    parser: &Parser,
    config: &ParsingConfig,
    step_size: f32,
    sentences: &[Sentence],
) -> Result<Option<CaseStudy>, UnknownParameter> {
    let (model, constraint) = (&parser.model, parser.constraint());
    let gbi = Gbi::with(model, config.gbi.paper_by(step_size))?;
    let mut workspace = Workspace::new(model);
    let mut second_best = None;
    for sentence in sentences {
        let leaves = sentence.tree.leaves();
        if LONGEST < leaves.len() {
            continue;
        }
        let tokens: Vec<Token> = parser.lexicon.tokens(&leaves);
        let Some(outcome) = alone(&gbi, &tokens, &constraint, &mut workspace) else { continue };
        if outcome.g_before == 0.0 || !outcome.is_satisfied() {
            continue;
        }
        let title = format!("{}, paper preset, step size {step_size}", sentence.id);
        let case = trace_of(title, parser, Some(&sentence.tree), &leaves, &outcome);
        let (tree, _) = parser.tree(&outcome.output, &leaves);
        if tree == sentence.tree {
            return Ok(Some(case));
        }
        second_best.get_or_insert(case);
    }
    Ok(second_best)
}

/// The trace of one sentence as a table: the decoded outputs, with errors marked if the gold tree
/// is known. Of repeated outputs, only the first and the last are shown.
pub fn trace_of(
    title: String,
    parser: &Parser,
    gold: Option<&Tree>,
    leaves: &[(&str, &str)],
    outcome: &Outcome,
) -> CaseStudy {
    let gold = gold.and_then(|tree| parser.commands.encode(tree).ok());
    let trace = &outcome.trace;
    let shown = trace.changes().map(|step| {
        let y = trace.output(step);
        CaseStep {
            attempt: step.attempt,
            iteration: step.iteration,
            pieces: pieces(parser, y, gold.as_deref()),
            g: step.g,
            log_prob: step.log_prob,
            distance: step.distance,
            accuracy: gold.as_deref().map_or(f64::NAN, |gold| 100.0 * agreement(y, gold)),
        }
    });
    let words: Vec<&str> = leaves.iter().map(|(_, word)| *word).collect();
    CaseStudy {
        title,
        source: words.join(" "),
        target: gold.as_ref().map_or_else(String::new, |y| parser.commands.text(y).to_string()),
        steps: shown.collect(),
        note: describe(parser, leaves, outcome),
    }
}

/// Why the first output is not a tree, and how the run ended.
fn describe(parser: &Parser, leaves: &[(&str, &str)], outcome: &Outcome) -> String {
    let first = outcome.trace.steps().first().map(|step| outcome.trace.output(step));
    let n_tokens = parser.lexicon.tokens(leaves).n_tokens();
    let faults = parser.constraint().faults(n_tokens, first.unwrap_or_default());
    let faults: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let plural = if outcome.steps == 1 { "" } else { "s" };
    let verdict = match outcome.is_satisfied() {
        true => "a tree".to_owned(),
        false => format!("still no tree ({:?}); the least violating output is kept", outcome.stop),
    };
    let (tree, _) = parser.tree(&outcome.output, leaves);
    match faults.is_empty() {
        true => format!("Already a tree: {tree}"),
        false => format!(
            "At first {}. After {} step{plural} {verdict}: {tree}",
            faults.join("; "),
            outcome.steps
        ),
    }
}

/// The fraction of positions that agree, over the longer length.
fn agreement(y: &[Symbol], gold: &[Symbol]) -> f64 {
    let same = y.iter().zip(gold).filter(|(a, b)| a == b).count();
    same as f64 / y.len().max(gold.len()).max(1) as f64
}

/// The output in runs of correct and wrong positions.
fn pieces(parser: &Parser, y: &[Symbol], gold: Option<&[Symbol]>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (i, symbol) in y.iter().enumerate() {
        let wrong = gold.is_some_and(|gold| gold.get(i) != Some(symbol));
        let command = parser.commands.text(std::slice::from_ref(symbol)).to_string();
        let text = if i == 0 { command } else { format!(" {command}") };
        match pieces.last_mut() {
            Some(last) if last.wrong == wrong => last.text.push_str(&text),
            _ => pieces.push(Piece { text, wrong }),
        }
    }
    pieces
}
