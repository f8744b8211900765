//! A deadline is a line's own, whatever else is answered with it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cajole_core::{Schedule, Search, Symbol};
use cajole_infer::answer::{Answer, Status};
use cajole_infer::engine::Engine;
use cajole_infer::line::Line;
use cajole_infer::task::Task;
use cajole_infer::{Registry, Settings};
use cajole_rules::{Rules, Subject};
use serde_json::json;

/// Work that does not end by itself, with what moves in this preset.
fn engine(name: &str) -> Engine {
    name.parse().unwrap()
}

fn endless(network: &dyn Task, engine: Engine, moves: &[&str], deadline: Duration) -> Settings {
    let mut settings = Settings::of(network).by(engine);
    let config = &mut settings.config;
    config.moves = moves.iter().map(|&name| name.to_owned()).collect();
    config.schedule = Schedule { max_steps: usize::MAX, ..Schedule::unit(1e-6, 1.0, 1.0) };
    config.restarts.clear();
    config.sources.clear();
    settings.deadline = Some(deadline);
    settings.searches =
        vec![Search::Exact { limit: usize::MAX }, Search::Beam { from: 2, to: 1 << 20 }];
    settings
}

/// What is made of these lines under a rule that no output satisfies, and that no search can follow.
fn answers(network: &dyn Task, settings: &Settings, lines: &[String]) -> Vec<Answer> {
    let never = |_: &Subject, _: &[Symbol]| 1.0;
    let rules = Arc::new(Rules::of("never", never));
    let line = |(i, line): (u64, &String)| Line::parse(i, line.clone()).unwrap().unwrap();
    let lines = (1..).zip(lines).map(|of| Ok(line(of))).collect();
    let records = network.answer(lines, Some(&rules), settings).unwrap();
    let answers = records.into_iter().flat_map(|record| record.answers.unwrap());
    answers.map(|answered| answered.answer).collect()
}

#[test]
fn lines_that_wait_for_others_use_no_time() {
    let network = Registry::standard().open("transducer").unwrap();
    let deadline = Duration::from_millis(150);
    let lines = ["azbz", "bzaz", "azaz"].map(str::to_owned);
    // Where all weights move, inputs are repaired one after another.
    let settings = endless(&*network, Engine::gbi(), &[], deadline);
    for answer in answers(&*network, &settings, &lines) {
        assert_eq!(answer.status, Status::TimedOut);
        let trace = answer.trace.unwrap();
        assert!(2 < trace.steps().len(), "{} decodes", trace.steps().len());
        assert!(deadline / 2 < answer.elapsed, "{:?}", answer.elapsed);
    }
    // So they are by these searches.
    for name in ["exact", "beam"] {
        let settings = endless(&*network, engine(name), &[], deadline);
        let begun = Instant::now();
        let answers = answers(&*network, &settings, &lines);
        assert!(answers.iter().all(|answer| answer.status == Status::TimedOut), "{answers:?}");
        let passes: Vec<usize> = answers.iter().map(|answer| answer.passes).collect();
        assert!(passes.iter().all(|&n| 0 < n), "{name}: {passes:?}");
        let one_by_one = name == "exact";
        assert!(!one_by_one || 2 * deadline < begun.elapsed(), "{:?}", begun.elapsed());
    }
}

#[test]
fn the_inputs_of_a_line_use_its_time_and_no_more() {
    let network = Registry::standard().open("tagger").unwrap();
    let deadline = Duration::from_millis(800);
    let words = ["she", "said", "he", "saw", "that", "they", "ran"];
    let line = json!({"tokens": words, "predicates": [1, 3, 6]}).to_string();
    // One after another, and in step.
    for moves in [&[][..], &["@vectors"]] {
        let settings = endless(&*network, Engine::gbi(), moves, deadline);
        let begun = Instant::now();
        let answers = answers(&*network, &settings, std::slice::from_ref(&line));
        let elapsed = begun.elapsed();
        assert_eq!(answers.len(), 3);
        for answer in answers {
            assert_eq!(answer.status, Status::TimedOut, "{moves:?}");
            assert!(2 < answer.trace.unwrap().steps().len());
        }
        assert!(deadline * 2 / 3 < elapsed && elapsed < 2 * deadline, "{moves:?}: {elapsed:?}");
    }
}
