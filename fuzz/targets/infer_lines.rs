//! Lines as `cajole infer` reads them, with rules of their own, for every network that is built in.
#![no_main]

use std::sync::OnceLock;

use cajole_core::{Constraint, Symbol};
use cajole_infer::case::Case;
use cajole_infer::line::Line;
use cajole_infer::task::Task;
use cajole_infer::{Pairs, Parsing, Roles, Transduction};
use cajole_rules::{RuleText, Rules};
use cajole_tasks::Checkpoint;
use cajole_tasks::pairs::PairsModel;
use cajole_tasks::parsing::Parser;
use cajole_tasks::srl::RoleTagger;
use cajole_tasks::transduction::Net;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    static TASKS: OnceLock<(Transduction, Parsing, Roles, Pairs)> = OnceLock::new();
    let (transduction, parsing, roles, pairs) = TASKS.get_or_init(|| {
        (
            Transduction::new(Net::built_in()),
            Parsing::new(Parser::built_in()),
            Roles::new(RoleTagger::built_in()),
            Pairs::new(PairsModel::built_in()),
        )
    });
    for (number, text) in (1..).zip(text.lines()) {
        let Ok(Some(line)) = Line::parse(number, text.to_owned()) else { continue };
        check(transduction, &line);
        check(parsing, &line);
        check(roles, &line);
        check(pairs, &line);
    }
});

fn check(task: &dyn Task, line: &Line) {
    const ANYTHING: &str = "arithmetic = 'len(out) >= 0'";
    let vocabulary = task.vocabulary();
    let usual = task.usual_rules().unwrap_or(ANYTHING);
    let usual = Rules::parse("usual", usual, None, vocabulary).expect("they are tested");
    let own = line.constraint().map(|value| RuleText::of_json(value)?.compile(vocabulary));
    let rules = own.and_then(Result::ok).unwrap_or(usual);
    let cases = match task.cases(line, &rules) {
        Ok(cases) => cases,
        Err(error) => return drop(error.to_string()),
    };
    assert!(!task.is_one_a_line() || cases.len() <= 1, "{line:?}");
    for case in &cases {
        check_case(task, case, &rules);
    }
    let outputs: Vec<_> = cases.iter().map(|case| (case, known(case))).collect();
    let (_, score) = task.score(&outputs);
    // Without right outputs, the score is NaN.
    assert!(score.is_nan() || (0.0..=100.0 + 1e-6).contains(&score), "{line:?}: {score}");
}

fn check_case(task: &dyn Task, case: &Case, rules: &Rules) {
    let y = known(case);
    assert!(y.iter().all(|&symbol| (symbol as usize) < task.vocabulary().len()));
    let record = task.record(case, y);
    assert!(record.contains_key("output"), "{record:?}");
    assert_eq!(
        rules.check(&case.subject, y).is_satisfied(),
        rules.explain(&case.subject, y).is_empty()
    );
}

/// The right output, or nothing.
fn known(case: &Case) -> &[Symbol] {
    case.gold.as_deref().unwrap_or_default()
}
