//! Follows single sentences step by step, like the tables in the paper's appendix.

use cajole_core::{Search, Symbol, UnknownParameter};
use cajole_infer::Parsing;
use cajole_infer::answer::{Answer, Status};
use cajole_infer::decoded::repair;
use cajole_report::{CaseStep, CaseStudy, Piece};
use cajole_tasks::edit_distance;
use cajole_tasks::parsing::parser::Parser;
use cajole_tasks::{Silent, Watch};
use cajole_treebank::penn::parse_tree;
use cajole_treebank::{Sentence, Tree};

use super::config::ParsingConfig;
use super::methods::{Case, Failures, Method, settings};
use crate::{NEAREST, SHOWN, SideBySide, choose};

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
    task: &Parsing,
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
    let failures = Failures::find(task, config.beam(1), &short, watch)?;
    let distance = |tree: &Tree| edit_distance(&tags(tree), &example_tags);
    let mut near: Vec<(usize, &Case<'_>)> =
        failures.cases.iter().map(|case| (distance(case.gold), case)).collect();
    near.sort_by_key(|(distance, _)| *distance);
    let sentence = [Sentence { id: String::new(), genre: String::new(), tree: example }];
    let of_example = Failures::find(task, config.beam(1), &sentence, watch)?;
    let of_kind = config.presets(&task.parser().model.net);
    let (paper, best) = (of_kind.paper_by(step_size), of_kind.best.clone());
    let presets =
        [(format!("paper preset, step size {step_size}"), paper), ("best preset".to_owned(), best)];
    for (name, preset) in presets {
        let settings = settings(task, config.beam(1), Search::Gbi(Box::new(preset)));
        let repaired = |case: &Case<'_>| {
            let answer = repair(task, &settings, &[&case.decoded], &Silent).ok()?.pop()?;
            let title = format!("A repair, {name}");
            (answer.status == Status::Satisfied).then(|| trace_of(title, task, case, &answer))?
        };
        let own = of_example.cases.first().and_then(repaired);
        let others = near.iter().take(NEAREST);
        let others = others.filter_map(|(distance, case)| Some((*distance, repaired(case)?)));
        let words: Vec<&str> = sentence[0].tree.leaves().iter().map(|(_, word)| *word).collect();
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
    task: &Parsing,
    config: &ParsingConfig,
    step_size: f32,
    sentences: &[Sentence],
    watch: &dyn Watch,
) -> Result<Vec<SideBySide>, UnknownParameter> {
    let short = sentences.iter().filter(|s| s.tree.leaves().len() <= LONGEST);
    let short: Vec<Sentence> = short.cloned().collect();
    let failures = Failures::find(task, config.beam(1), &short, watch)?.truncated(SHOWN);
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
    let parser = task.parser();
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
fn trace_of(title: String, task: &Parsing, case: &Case<'_>, answer: &Answer) -> Option<CaseStudy> {
    let (parser, leaves) = (task.parser(), case.gold.leaves());
    let gold = parser.commands.encode(case.gold).ok();
    let trace = answer.trace.as_ref()?;
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
    Some(CaseStudy {
        title,
        source: words.join(" "),
        target: gold.as_ref().map_or_else(String::new, |y| parser.commands.text(y).to_string()),
        steps: shown.collect(),
        note: describe(parser, &leaves, case, answer),
    })
}

/// Why the first output is not a tree, and the tree that became of it.
fn describe(parser: &Parser, leaves: &[(&str, &str)], case: &Case<'_>, answer: &Answer) -> String {
    let faults = parser.constraint().faults(leaves.len(), &case.decoded.own.output);
    let faults: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let steps = answer.steps.unwrap_or(0);
    let plural = if steps == 1 { "" } else { "s" };
    let (tree, _) = parser.tree(&answer.output, leaves);
    format!("At first {}. After {steps} step{plural} a tree: {tree}", faults.join("; "))
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
