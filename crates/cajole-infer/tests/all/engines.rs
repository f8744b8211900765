//! Every engine on the built-in networks, checked by independent predicates and sums.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cajole_core::corpus::BATCH;
use cajole_core::decoders::Ranking;
use cajole_core::{Constraint, Search, Symbol};
use cajole_infer::answer::{Answer, Status};
use cajole_infer::case::Case;
use cajole_infer::driver::Driver;
use cajole_infer::engine::Engine;
use cajole_infer::input::Input;
use cajole_infer::line::Line;
use cajole_infer::lines::Answering;
use cajole_infer::solver::Network;
use cajole_infer::task::Task;
use cajole_infer::{Roles, Settings, Transduction};
use cajole_rules::Rules;
use cajole_tasks::Checkpoint;
use cajole_tasks::srl::RoleTagger;
use cajole_tasks::transduction::{Net, USUAL_RULES as COUNT};
use serde_json::json;

/// As `rules/transduction-full.toml` has it.
const FULL: &str = r#"[[all]]
name = "three a for each a"
arithmetic = 'count(out, "a") = 3 * count(in, "a")'
squared = true
divide-by = "lengths"

[[all]]
name = "target grammar"
pattern = "(aaa|zb)*"
weight = 0.1
divide-by = "output"

[[all]]
name = "length"
arithmetic = 'len(out) = 3 * count(in, "a") + 2 * count(in, "b")'
divide-by = "lengths"
"#;

/// All of them, whether or not they make a difference for a network.
const ENGINES: [&str; 7] = ["gbi", "beam", "masked", "astar", "exact", "sample", "auto"];

fn engine(name: &str) -> Engine {
    name.parse().unwrap()
}

/// Rules for the outputs of a task.
fn parsed(text: &str, folder: Option<&Path>, task: &dyn Task) -> Arc<Rules> {
    Arc::new(Rules::parse("here", text, folder, task.vocabulary()).unwrap())
}

fn transducer() -> Transduction {
    Transduction::new(Net::built_in())
}

/// The task's settings, with this engine.
fn settings(task: &dyn Task, name: &str) -> Settings {
    Settings::of(task).by(engine(name))
}

/// The answer to a line with one input.
fn answer(answering: &mut Answering<'_>, line: &str) -> Answer {
    let line = Line::parse(1, line.to_owned()).unwrap().unwrap();
    answering.answer(vec![Ok(line)]).remove(0).answers.unwrap().remove(0).answer
}

/// The network's own output, and whether it satisfies as far as the driver knows.
fn first(driver: &mut Driver<'_>, case: &Case, rules: &Rules) -> Answer {
    driver.own_outputs(&mut [Input::new(case, rules, 0)]).remove(0)
}

fn log_prob(driver: &mut Driver<'_>, case: &Case, y: &[Symbol]) -> f32 {
    driver.log_probs(&[(case, y)]).remove(0).unwrap()
}

/// Settings with other numbers of these searches.
fn with_searches(mut settings: Settings, searches: &[Search]) -> Settings {
    for search in searches {
        for own in settings.searches.iter_mut().filter(|own| own.is_like(search)) {
            own.clone_from(search);
        }
    }
    settings
}

/// Inputs of all lengths, most of them longer than what the network was trained on.
fn inputs(n: usize) -> Vec<String> {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    let mut pairs = |n: usize| -> String {
        (0..n).map(|_| if random() % 3 == 0 { "bz" } else { "az" }).collect()
    };
    (0..n).map(|i| pairs(1 + i % 14)).collect()
}

fn count(text: &str, letter: char) -> usize {
    text.chars().filter(|&c| c == letter).count()
}

/// `g` of the paper's rule, from the texts.
fn count_g(input: &str, output: &str) -> f32 {
    let off = (3 * count(input, 'a')).abs_diff(count(output, 'a')) as f32;
    off * off / (input.len() + output.len()) as f32
}

/// Whether an output obeys everything that is known about a transduction.
fn is_full(input: &str, output: &str) -> bool {
    let mut rest = output;
    while let Some(next) = rest.strip_prefix("aaa").or_else(|| rest.strip_prefix("zb")) {
        rest = next;
    }
    let length = 3 * count(input, 'a') + 2 * count(input, 'b');
    rest.is_empty() && count_g(input, output) == 0.0 && output.len() == length
}

fn cases(task: &dyn Task, rules: &Rules, line: &str) -> Vec<Case> {
    let line = Line::parse(1, line.to_owned()).unwrap().unwrap();
    task.cases(&line, rules).unwrap()
}

/// What holds for every answer, whatever the engine; `holds` is known independently.
fn check_answer(answer: &Answer, name: &str, holds: bool, g: f32) {
    let is_satisfied = answer.status == Status::Satisfied;
    assert_eq!(is_satisfied, holds && answer.g_after == 0.0, "{name}: {answer:?}");
    assert!((answer.g_after - g).abs() <= 1e-5 * g, "{name}: {answer:?} should cost {g}");
    assert!(answer.g_after <= answer.g_before, "{name}: {answer:?}");
    assert_eq!(answer.faults.is_empty(), is_satisfied, "{name}: {answer:?}");
    let told: f32 = answer.faults.iter().map(|fault| fault.cost).sum();
    assert!((told - answer.g_after).abs() <= 1e-5 * told, "{name}: {answer:?}");
    match answer.status {
        Status::Improved => assert!(0.0 < answer.g_after && answer.g_after < answer.g_before),
        Status::Unchanged => assert_eq!(answer.g_after, answer.g_before),
        Status::Satisfied => {}
        other => panic!("{name}: {other:?} without a deadline or a checker"),
    }
}

/// Runs every engine on every input; returns how many the network itself fails on.
fn check_engines(
    text: &str,
    holds: fn(&str, &str) -> bool,
    n: usize,
    searches: &[Search],
) -> usize {
    let task = transducer();
    let rules = parsed(text, None, &task);
    let before = task.fingerprint();
    let all = ENGINES.map(|engine| with_searches(settings(&task, engine), searches));
    let mut driver = Driver::new(&task, &all[0]).unwrap();
    let mut answering =
        all.each_ref().map(|s| Answering::new(&task, Some(rules.clone()), s).unwrap());
    let mut failures = 0;
    for input in inputs(n) {
        let case = &cases(&task, &rules, &input)[0];
        let first = first(&mut driver, case, &rules);
        let own = task.vocabulary().text(&first.output);
        let is_cut_off = first.g_before != 0.0 && holds(&input, &own);
        let is_failure = is_cut_off || !holds(&input, &own);
        failures += usize::from(is_failure);
        let mut probable = Vec::new();
        for (engine, answering) in ENGINES.into_iter().zip(&mut answering) {
            let answer = answer(answering, &input);
            let output = task.vocabulary().text(&answer.output);
            let name = format!("{engine} on {input} gives {output}");
            let is_cut = output == own && is_cut_off;
            let g = match is_cut && holds(&input, &output) {
                true => 1.0 / output.len() as f32,
                false => rules.check(&case.subject, &answer.output).total(),
            };
            check_answer(&answer, &name, holds(&input, &output), g);
            if !is_failure {
                assert_eq!((output, answer.passes), (own.clone(), 0), "{name}");
            } else if answer.status == Status::Satisfied {
                probable.push((engine, log_prob(&mut driver, case, &answer.output)));
            }
        }
        let of = |wanted: &str| probable.iter().find(|(e, _)| *e == wanted).map(|(_, p)| *p);
        let best = probable.iter().map(|(_, p)| *p).fold(f32::NEG_INFINITY, f32::max);
        for engine in ["exact", "auto"] {
            if let Some(p) = of(engine) {
                assert!(best - 1e-3 <= p, "{engine} on {input}: {probable:?}");
            }
        }
        assert_eq!(of("auto").is_some(), !probable.is_empty(), "{input}: {probable:?}");
    }
    assert_eq!(task.fingerprint(), before, "W is as it was");
    failures
}

#[test]
fn engines_obey_the_rule_of_the_paper() {
    let failures = check_engines(COUNT, |x, y| count_g(x, y) == 0.0, 42, &[]);
    assert!(0 < failures && failures < 42, "{failures}");
}

#[test]
fn engines_obey_all_that_is_known() {
    let failures = check_engines(FULL, is_full, 28, &[]);
    assert!(0 < failures && failures < 28, "{failures}");
}

#[test]
fn a_search_that_comes_to_its_limit_proves_nothing() {
    let short =
        [Search::Exact { limit: 8 }, Search::Astar { limit: 8 }, Search::Masked { width: 1 }];
    check_engines(COUNT, |x, y| count_g(x, y) == 0.0, 28, &short);
}

#[test]
fn the_distance_is_that_of_the_paper() {
    let task = transducer();
    let rules = parsed(COUNT, None, &task);
    for (input, output) in [("azbz", "aaa"), ("azbz", "aa"), ("az", ""), ("bz", "aaaazb")] {
        let case = &cases(&task, &rules, input)[0];
        let y = task.vocabulary().read(output).unwrap();
        let g = rules.check(&case.subject, &y).total();
        assert!((g - count_g(input, output)).abs() < 1e-6, "{input} to {output}: {g}");
    }
}

#[test]
fn who_runs_out_of_time_says_so_and_gives_the_best_there_is() {
    let task = transducer();
    let unlikely = "arithmetic = 'len(out) = 31 + 3 * len(in)'\nsquared = true";
    let rules = parsed(unlikely, None, &task);
    let all = ENGINES.map(|engine| {
        let mut settings = settings(&task, engine);
        settings.deadline = Some(Duration::ZERO);
        settings
    });
    let mut answering =
        all.each_ref().map(|s| Answering::new(&task, Some(rules.clone()), s).unwrap());
    for input in inputs(10) {
        for (engine, answering) in ENGINES.into_iter().zip(&mut answering) {
            let answer = answer(answering, &input);
            let length = (31 + 3 * input.len()).abs_diff(answer.output.len()) as f32;
            let name = engine;
            assert_eq!(answer.g_after, length * length, "{name}: {answer:?}");
            assert!(answer.g_after <= answer.g_before, "{name}: {answer:?}");
            let expected = if answer.g_after == 0.0 { Status::Satisfied } else { Status::TimedOut };
            assert_eq!(answer.status, expected, "{name}: {answer:?}");
            let is_beam = engine == "beam";
            assert!(!is_beam || answer.status == Status::TimedOut, "no beam is that wide at once");
        }
    }
}

#[test]
fn the_inputs_of_a_line_share_its_time() {
    let task = transducer();
    let rules = parsed("must-have = [\"a\"]", None, &task);
    let inputs = vec!["azbz"; 3 * BATCH];
    let cases: Vec<_> = inputs.iter().map(|x| cases(&task, &rules, x).remove(0)).collect();
    let n_late = |deadline: Duration, lines: &[usize]| {
        let mut settings = settings(&task, "gbi");
        settings.deadline = Some(deadline);
        let both = cases.iter().zip(lines);
        let mut inputs: Vec<_> = both.map(|(case, line)| Input::new(case, &rules, *line)).collect();
        let own = Driver::new(&task, &settings).unwrap().own_outputs(&mut inputs);
        own.into_iter().filter(|own| own.status == Status::TimedOut).count()
    };
    let (one, each) = (vec![0; 3 * BATCH], (0..3 * BATCH).collect::<Vec<_>>());
    let moment = Duration::from_nanos(1);
    assert_eq!(n_late(moment, &one), 2 * BATCH, "the first batch has used up all of it");
    assert_eq!(n_late(moment, &each), 0, "each has a moment of its own");
    assert_eq!(n_late(Duration::from_secs(3600), &one), 0);
}

/// No output satisfies this.
const IMPOSSIBLE: &str = "arithmetic = 'len(out) > 1000 and count(out, \"a\") < 0'";

#[test]
fn auto_ends_when_its_time_is_up() {
    let task = transducer();
    let rules = parsed(IMPOSSIBLE, None, &task);
    // A busy machine gets some time for work in progress.
    let deadline = Duration::from_secs(2);
    let endless = [Search::Exact { limit: usize::MAX }, Search::Beam { from: 2, to: 1 << 20 }];
    let mut settings = with_searches(settings(&task, "auto"), &endless);
    settings.deadline = Some(deadline);
    let mut answering = Answering::new(&task, Some(rules), &settings).unwrap();
    let started = Instant::now();
    let answer = answer(&mut answering, "azazbz");
    let elapsed = started.elapsed();
    assert_eq!(answer.status, Status::TimedOut);
    assert!(deadline <= elapsed && elapsed < 2 * deadline, "{elapsed:?}");
}

#[test]
fn auto_does_not_search_again_in_vain() {
    let task = transducer();
    let rules = parsed(IMPOSSIBLE, None, &task);
    let few = [Search::Exact { limit: 64 }, Search::Beam { from: 2, to: 8 }];
    let passes = |engine, has_sources: bool| {
        let mut settings = with_searches(settings(&task, engine), &few);
        settings.config.schedule.max_steps = 3;
        settings.config.restarts.clear();
        if !has_sources {
            settings.config.sources.clear();
        }
        let mut answering = Answering::new(&task, Some(rules.clone()), &settings).unwrap();
        answer(&mut answering, "azazbz").passes
    };
    let searches = ["masked", "exact", "beam"];
    let alone: usize = searches.into_iter().map(|engine| passes(engine, true)).sum();
    assert_eq!(passes("auto", true), alone + passes("gbi", false));
    assert!(passes("gbi", false) < passes("gbi", true), "sources search too");
}

#[test]
#[cfg(unix)]
fn sources_leave_time_for_steps() {
    let task = transducer();
    // A program that rejects everything, and no automaton says so.
    let script = "while read -r line; do echo '{\\\"loss\\\": 1}'; done";
    let text = format!("checker = {{ command = ['sh', '-c', \"{script}\"] }}");
    let here = Path::new(".");
    let rules = parsed(&text, Some(here), &task);
    let deadline = Duration::from_secs(2);
    let mut settings = settings(&task, "gbi");
    settings.deadline = Some(deadline);
    settings.config.sources = vec![Search::BlackBox { limit: usize::MAX }];
    settings.config.schedule.max_steps = usize::MAX;
    let mut answering = Answering::new(&task, Some(rules), &settings).unwrap();
    let answer = answer(&mut answering, "azazbz");
    assert_eq!(answer.status, Status::TimedOut);
    let trace = answer.trace.unwrap();
    assert!(2 < trace.steps().len(), "{} decodes", trace.steps().len());
    let searched = trace.steps()[1].elapsed;
    assert!(deadline / 3 < searched, "the search that does not end took {searched:?}");
}

#[test]
fn a_cancelled_input_keeps_the_best_so_far() {
    let task = transducer();
    let rules = parsed(IMPOSSIBLE, None, &task);
    let mut settings = settings(&task, "gbi");
    settings.config.sources.clear();
    settings.config.schedule.max_steps = usize::MAX;
    let mut answering = Answering::new(&task, Some(rules), &settings).unwrap();
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            settings.cancel.set();
        });
        answer(&mut answering, "azazbz")
    });
    assert_eq!(answer.status, Status::Cancelled);
    let trace = answer.trace.unwrap();
    assert!(1 < trace.steps().len(), "it was under way");
    assert!(answer.g_after <= answer.g_before && !answer.faults.is_empty());
}

/// The labelled spans of valid tags.
fn spans<'t>(tags: &[&'t str]) -> Vec<(&'t str, usize, usize)> {
    let mut spans: Vec<(&str, usize, usize)> = Vec::new();
    for (t, tag) in tags.iter().enumerate() {
        match (tag.split_once('-'), spans.last_mut()) {
            (Some(("I", _)), Some((_, _, end))) => *end = t + 1,
            (Some((_, role)), _) => spans.push((role, t, t + 1)),
            (None, _) => {}
        }
    }
    spans
}

/// Whether every `I-X` continues an `X`.
fn is_valid(tags: &[&str]) -> bool {
    let goes_on = |t: usize| 0 < t && tags[t - 1].get(1..) == tags[t].get(1..);
    (0..tags.len()).all(|t| !tags[t].starts_with("I-") || goes_on(t))
}

/// `log p` of each tag at each position, read off outputs that differ from one in one position.
fn scores(driver: &mut Driver<'_>, case: &Case, n: usize, k: usize) -> (f32, Vec<Vec<f32>>) {
    let base = vec![0 as Symbol; n];
    let p = log_prob(driver, case, &base);
    let mut with = |t: usize, symbol: usize| {
        let mut y = base.clone();
        y[t] = symbol as Symbol;
        log_prob(driver, case, &y) - p
    };
    (p, (0..n).map(|t| (0..k).map(|symbol| with(t, symbol)).collect()).collect())
}

#[test]
fn tags_that_obey_are_the_most_probable_of_all_that_do() {
    let task = Roles::new(RoleTagger::built_in());
    let names: Vec<&str> = task.vocabulary().names().iter().map(String::as_str).collect();
    let text = "[[all]]\nbio = true\n[[all]]\nunique-roles = ['ARG0', 'ARG1']\n\
                [[all]]\nspans-in-tree = 'phrasal'\nfree-roles = ['V']\n";
    let rules = parsed(text, None, &task);
    let all = ENGINES.map(|engine| settings(&task, engine));
    let mut driver = Driver::new(&task, &all[0]).unwrap();
    let mut answering =
        all.each_ref().map(|s| Answering::new(&task, Some(rules.clone()), s).unwrap());
    let mut failures = 0;
    for (tree, phrases) in [
        ("(S (NP (DT the) (NN dog)) (VP (VBD saw)))", vec![(0, 3), (0, 2), (2, 3)]),
        ("(S (X (DT the)) (Y (NN dog) (VBD saw)))", vec![(0, 3), (0, 1), (1, 3)]),
        ("(S (PRP she) (VP (VBD gave) (PRP him)))", vec![(0, 3), (1, 3)]),
        ("(S (X (PRP she) (VBD saw)) (NN dogs))", vec![(0, 3), (0, 2)]),
    ] {
        for predicate in 0..3 {
            let line = json!({"tree": tree, "predicates": [predicate]}).to_string();
            let case = &cases(&task, &rules, &line)[0];
            let (base, scores) = scores(&mut driver, case, 3, names.len());
            let holds = |tags: &[&str]| {
                let spans = spans(tags);
                let is_first = |(i, span): (usize, &(&str, usize, usize))| {
                    !["ARG0", "ARG1"].contains(&span.0)
                        || spans[..i].iter().all(|before| before.0 != span.0)
                };
                is_valid(tags)
                    && spans.iter().all(|s| s.0 == "V" || phrases.contains(&(s.1, s.2)))
                    && spans.iter().enumerate().all(is_first)
            };
            let mut best = f32::NEG_INFINITY;
            for code in 0..names.len().pow(3) {
                let y = [
                    code % names.len(),
                    code / names.len() % names.len(),
                    code / names.len().pow(2),
                ];
                let p = base + (0..3).map(|t| scores[t][y[t]]).sum::<f32>();
                if best < p && holds(&y.map(|s| names[s])) {
                    best = p;
                }
            }
            let first = first(&mut driver, case, &rules);
            let named =
                |y: &[Symbol]| -> Vec<&str> { y.iter().map(|&s| names[s as usize]).collect() };
            failures += usize::from(!holds(&named(&first.output)));
            for (engine, answering) in ENGINES.into_iter().zip(&mut answering) {
                let answer = answer(answering, &line);
                let tags = named(&answer.output);
                let name = format!("{engine} on {line}: {tags:?}");
                assert_eq!(answer.status == Status::Satisfied, holds(&tags), "{name}");
                let p = log_prob(&mut driver, case, &answer.output);
                assert!(p <= best + 1e-3 || !holds(&tags), "{name}: {p} beats {best}");
                if ["exact", "masked", "auto"].contains(&engine) {
                    assert!(best - 1e-3 <= p, "{name}: {p} is less than {best}");
                }
            }
        }
    }
    assert!(3 <= failures, "{failures}");
}

#[test]
fn all_sources_of_a_preset_that_fit_the_rules_are_asked() {
    let task = Roles::new(RoleTagger::built_in());
    let n_sources = |text: &str, sources: &[Search]| {
        let rules = parsed(text, None, &task);
        let fits = |search: &&Search| task.search(search, Ranking::Total, &rules).is_ok();
        sources.iter().filter(fits).count()
    };
    let (spans, masked) = (Search::Spans { repeated: 3.0 }, Search::Masked { width: 1 });
    let all = [spans, masked, Search::BlackBox { limit: 64 }];
    let only_spans = "spans-in-tree = 'phrasal'";
    let roles = "unique-roles = ['ARG0', 'ARG1']";
    assert_eq!((n_sources(only_spans, &all), n_sources(roles, &all)), (3, 2));
    assert_eq!((n_sources(only_spans, &all[..1]), n_sources(roles, &all[..1])), (1, 0));
}
