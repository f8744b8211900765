//! Follows single sentences step by step, like the tables in the paper's appendix.

use cajole_core::{Gbi, Outcome, Symbol, UnknownParameter, Workspace};
use cajole_nn::models::Token;
use cajole_report::{CaseStep, CaseStudy, Piece};
use cajole_tasks::Watch;
use cajole_tasks::edit_distance;
use cajole_tasks::parsing::parser::Parser;
use cajole_treebank::penn::parse_tree;
use cajole_treebank::shift_reduce::constraint::Tokens;
use cajole_treebank::{Sentence, Tree};

use super::config::ParsingConfig;
use super::methods::{Failures, Method};
use crate::{NEAREST, SHOWN, SideBySide, alone, choose};

/// Longer sentences make unreadable tables.
const LONGEST: usize = 14;

/// The paper's example of a repair.
const EXAMPLE: &str = "(S (`` ``) (RB So) (NP (PRP it)) (VP (VBZ 's) (NP (DT a) (ADJP (RB very) (JJ \
                       mixed)) (NN bag))) (. .) ('' ''))";

/// The repair of the paper's example, or else of the nearest short failure that Algorithm 1 repairs
/// for the better; if there is none, by the best preset.
///
/// # Errors
/// If a preset names a parameter that the network does not have.
pub(super) fn case_study(
    parser: &Parser,
    config: &ParsingConfig,
    step_size: f32,
    sentences: &[Sentence],
    watch: &dyn Watch,
) -> Result<Option<CaseStudy>, UnknownParameter> {
    let example = parse_tree(EXAMPLE).expect("the example is a tree");
    let tags = |tree: &Tree| -> Vec<String> {
        tree.leaves().iter().map(|(tag, _)| (*tag).to_owned()).collect()
    };
    let example_tags = tags(&example);
    let short = sentences.iter().filter(|s| s.tree.leaves().len() <= LONGEST);
    let short: Vec<Sentence> = short.cloned().collect();
    let failures = Failures::find(parser, config.beam(1), &short, watch);
    let distance = |tree: &Tree| edit_distance(&tags(tree), &example_tags);
    let mut near: Vec<(usize, &Tree)> =
        failures.cases.iter().map(|case| (distance(case.gold), case.gold)).collect();
    near.sort_by_key(|(distance, _)| *distance);
    let of_kind = config.presets(&parser.model.net);
    let (paper, best) = (of_kind.paper_by(step_size), of_kind.best.clone());
    let presets =
        [(format!("paper preset, step size {step_size}"), paper), ("best preset".to_owned(), best)];
    for (name, preset) in presets {
        let gbi = Gbi::with(&parser.model, preset)?;
        let mut workspace = Workspace::new(&parser.model);
        let mut repaired = |tree: &Tree| {
            let leaves = tree.leaves();
            let tokens: Vec<Token> = parser.lexicon.tokens(&leaves);
            let outcome = alone(&gbi, &tokens, &parser.constraint(), &mut workspace)?;
            let is_repaired = outcome.g_before != 0.0 && outcome.is_satisfied();
            let title = format!("A repair, {name}");
            is_repaired.then(|| trace_of(title, parser, Some(tree), &leaves, &outcome))
        };
        let own = repaired(&example);
        let others = near.iter().take(NEAREST);
        let others = others.filter_map(|(distance, tree)| Some((*distance, repaired(tree)?)));
        let words: Vec<&str> = example.leaves().iter().map(|(_, word)| *word).collect();
        if let Some(case) = choose(&words.join(" "), own, others) {
            return Ok(Some(case));
        }
    }
    Ok(None)
}

/// The first failures among short sentences, and what every method makes of them.
///
/// # Errors
/// If a preset names a parameter that the network does not have.
pub(super) fn side_by_side(
    parser: &Parser,
    config: &ParsingConfig,
    step_size: f32,
    sentences: &[Sentence],
    watch: &dyn Watch,
) -> Result<Vec<SideBySide>, UnknownParameter> {
    let short = sentences.iter().filter(|s| s.tree.leaves().len() <= LONGEST);
    let short: Vec<Sentence> = short.cloned().collect();
    let failures = Failures::find(parser, config.beam(1), &short, watch).truncated(SHOWN);
    let mut methods = vec![("network".to_owned(), failures.untouched())];
    for method in [
        Method::Constrained,
        Method::MaskedGreedy,
        Method::MaskedBeam,
        Method::Paper(step_size),
        Method::Small,
        Method::Best,
    ] {
        let repairs = failures.repair(method, config, watch)?;
        methods.push((method.name(&config.rivals), repairs));
    }
    let leaves = failures.cases.iter().map(|case| case.gold.leaves());
    let words =
        |leaves: Vec<(&str, &str)>| leaves.iter().map(|l| l.1).collect::<Vec<_>>().join(" ");
    let text = |y: &[Symbol]| parser.commands.text(y).to_string();
    let gold = failures.cases.iter().map(|case| parser.commands.encode(case.gold));
    let gold: Vec<String> = gold.map(|y| y.map_or_else(|_| String::new(), |y| text(&y))).collect();
    Ok(SideBySide::of(leaves.map(words).collect(), &gold, &methods, |_, y| text(y)))
}

/// The trace of one sentence as a table: the decoded outputs, with errors marked if the gold tree
/// is known. Of repeated outputs, only the first and the last are shown.
fn trace_of(
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
