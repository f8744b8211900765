//! Follows single predicates step by step: which arguments are not constituents, and how that
//! changes.

use std::ops::Range;

use cajole_core::{Config, Search, Step, Symbol, Trace};
use cajole_infer::Roles;
use cajole_infer::answer::{Answer, Status};
use cajole_infer::decoded::{Decoded, repair};
use cajole_report::{CaseStep, CaseStudy, Piece};
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::srl::instance::{Instance, Noise};
use cajole_tasks::srl::tagger::RoleTagger;
use cajole_tasks::srl::training::instance;
use cajole_tasks::{Silent, edit_distance};
use cajole_treebank::penn::parse_tree;
use cajole_treebank::roles::bio;
use cajole_treebank::roles::nodes::Reading;
use cajole_treebank::roles::sentence::{Proposition, Sentence};
use cajole_treebank::roles::show::Bracketing;

use super::methods::{Failures, settings};
use crate::{ExperimentError, NEAREST, choose};

/// Longer sentences make unreadable tables.
pub(super) const LONGEST: usize = 14;

/// The paper's example of a repair: a tree, the predicate, its lemma and its gold tags.
const EXAMPLE: (&str, usize, &str, &str) = (
    "(S (S (NP (PRP it)) (VP (VBZ is) (ADVP (RB really)) (PP (IN like) (NP (DT this))))) (, ,) (S (VP \
     (ADVP (RB just)) (VB look) (PP (IN at) (NP (DT the) (NN bus) (NNS signs))))) (. .))",
    1,
    "be",
    "B-ARG1 B-V B-ARGM-ADV B-ARG2 I-ARG2 O O O O O O O O",
);

/// The paper's example with words, and as an input of this tagger.
fn example(tagger: &RoleTagger, reading: Reading) -> Result<(Sentence, Instance), LoadError> {
    let (tree, predicate, lemma, tags) = EXAMPLE;
    let tree = parse_tree(tree).expect("the example is a tree");
    let (pos, tokens): (Vec<String>, Vec<String>) =
        tree.leaves().iter().map(|(tag, word)| ((*tag).to_owned(), (*word).to_owned())).unzip();
    let proposition = Proposition {
        predicate,
        lemma: lemma.to_owned(),
        roleset: String::new(),
        tags: tags.split(' ').map(str::to_owned).collect(),
    };
    let (id, genre) = ("the paper's example".to_owned(), String::new());
    let propositions = vec![proposition.clone()];
    let sentence =
        Sentence { id, genre, tokens, pos, tree: None, propositions, is_conll2012: false };
    let instance = instance(tagger, &sentence, &proposition)?;
    Ok((sentence, instance.within(&tree, reading, Noise::Free)))
}

/// The repair of the paper's example, or else of the nearest short failure that Algorithm 1 repairs
/// for the better; if there is none, by the best preset. With the constraints of the experiment's
/// first block.
///
/// # Errors
/// If a preset names a parameter that the network does not have, or the network cannot read the
/// paper's example.
pub(super) fn case_study(
    task: &Roles,
    reading: Reading,
    presets: [(&str, &Config); 2],
    failures: &[(&Sentence, &Instance, &Decoded)],
) -> Result<Option<CaseStudy>, ExperimentError> {
    let tagger = task.tagger();
    let (words, example) = example(tagger, reading)?;
    let example = [example];
    let of_example = Failures::find(task, &example, reading, &Silent)?;
    let distance = |s: &Sentence| edit_distance(&s.pos, &words.pos);
    let short = failures.iter().filter(|(s, ..)| s.tokens.len() <= LONGEST);
    let mut near: Vec<_> = short.map(|&(s, x, decoded)| (distance(s), s, x, decoded)).collect();
    near.sort_by_key(|(distance, ..)| *distance);
    for (name, preset) in presets {
        let settings = settings(task, Search::Gbi(Box::new(preset.clone())));
        let repaired = |sentence: &Sentence, x: &Instance, decoded: &Decoded| {
            let answer = repair(task, &settings, &[decoded], &Silent).ok()?.pop()?;
            let title = format!("A repair, {name} preset, step size {}", preset.schedule.step_size);
            let is_repaired = answer.status == Status::Satisfied;
            is_repaired.then(|| trace_of(title, tagger, &sentence.tokens, x, &answer))?
        };
        let own = of_example.cases.first();
        let own = own.and_then(|(x, decoded)| repaired(&words, x, decoded));
        let others = near.iter().take(NEAREST);
        let others =
            others.filter_map(|&(distance, s, x, of)| Some((distance, repaired(s, x, of)?)));
        if let Some(case) = choose(&words.tokens.join(" "), own, others) {
            return Ok(Some(case));
        }
    }
    Ok(None)
}

/// The trace of one predicate as a table: the decoded outputs, marking arguments that are not
/// constituents, and tag accuracy if the gold tags are known. Of repeated outputs, only the first
/// and the last are shown.
fn trace_of(
    title: String,
    tagger: &RoleTagger,
    tokens: &[String],
    x: &Instance,
    answer: &Answer,
) -> Option<CaseStudy> {
    let predicate = x.features.predicate;
    let gold = (!x.gold.is_empty()).then(|| bio::tags(&x.gold, tokens.len()));
    let trace = answer.trace.as_ref()?;
    let shown = trace.changes().map(|step| {
        let y = trace.output(step);
        let (arguments, wrong) = (tagger.vocabulary.arguments(y), wrong_spans(tagger, x, y));
        let shown = Bracketing { tokens, predicate, arguments: &arguments, wrong: &wrong };
        let pieces = shown.pieces();
        CaseStep {
            attempt: step.attempt,
            iteration: step.iteration,
            pieces: pieces.into_iter().map(|(text, wrong)| Piece { text, wrong }).collect(),
            g: step.g,
            log_prob: step.log_prob,
            distance: step.distance,
            accuracy: gold.as_ref().map_or(f64::NAN, |gold| 100.0 * agreement(tagger, y, gold)),
        }
    });
    let right = Bracketing { tokens, predicate, arguments: &x.gold, wrong: &[] };
    Some(CaseStudy {
        title,
        source: tokens.join(" "),
        target: gold.as_ref().map_or_else(String::new, |_| right.to_string()),
        steps: shown.collect(),
        note: describe(tagger, tokens, x, answer, trace),
    })
}

/// The faults of an output: one message per argument that is not a constituent.
fn faults_in_words(
    tagger: &RoleTagger,
    tokens: &[String],
    x: &Instance,
    y: &[Symbol],
) -> Vec<String> {
    let constraint = tagger.constraint();
    let faults = constraint.faults(x, y);
    let message = |fault| {
        format!("{}: \u{201c}{}\u{201d}", constraint.message(fault), tokens[fault.at()].join(" "))
    };
    faults.map(message).collect()
}

/// The spans of arguments that are not constituents.
fn wrong_spans(tagger: &RoleTagger, x: &Instance, y: &[Symbol]) -> Vec<Range<usize>> {
    tagger.constraint().faults(x, y).map(|fault| fault.at()).collect()
}

/// The faults at every step shown, and how the run ended.
fn describe(
    tagger: &RoleTagger,
    tokens: &[String],
    x: &Instance,
    answer: &Answer,
    trace: &Trace,
) -> String {
    if x.brackets.is_none() {
        return "There is no tree, so arguments may be any span.".to_owned();
    }
    let faults = |step: &Step| faults_in_words(tagger, tokens, x, trace.output(step));
    let mut steps: Vec<(&Step, Vec<String>)> =
        trace.changes().map(|step| (step, faults(step))).collect();
    steps.dedup_by(|after, before| after.1 == before.1); // report only changes
    let steps = steps.iter().filter(|(_, faults)| !faults.is_empty());
    let mut sentences: Vec<String> =
        steps.map(|(step, faults)| format!("{}: {}.", name(step), faults.join("; "))).collect();
    let steps = answer.steps.unwrap_or(0);
    let plural = if steps == 1 { "" } else { "s" };
    sentences.push(format!("After {steps} step{plural} every argument is a node of the tree."));
    sentences.join(" ")
}

fn name(step: &Step) -> String {
    match step.attempt {
        0 => format!("Step {}", step.iteration),
        attempt => format!("Step {}:{}", attempt + 1, step.iteration),
    }
}

/// The fraction of words with the correct tag.
fn agreement(tagger: &RoleTagger, y: &[Symbol], gold: &[String]) -> f64 {
    let name = |&symbol: &Symbol| tagger.vocabulary.tags.name(symbol);
    let same = y.iter().zip(gold).filter(|(y, gold)| name(y) == Some(gold)).count();
    same as f64 / gold.len().max(1) as f64
}
