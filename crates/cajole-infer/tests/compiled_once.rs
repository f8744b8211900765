//! Rules that come with lines are compiled once in a process. The count is of a whole process, so
//! this test has one of its own.

use std::thread;

use cajole_infer::engine::Engine;
use cajole_infer::line::Line;
use cajole_infer::task::Task;
use cajole_infer::{Registry, Settings};
use cajole_rules::Cache;

/// The records of a lot whose lines bring these rules, as JSON.
fn answer(network: &dyn Task, rules: &str) -> Vec<String> {
    let settings = Settings::of(network).by(Engine::network());
    let line = |number| {
        let line = format!(r#"{{"input": "a * b", "constraint": {rules}}}"#);
        Ok(Line::parse(number, line).unwrap().unwrap())
    };
    let lines = (1..4).map(line).collect();
    let records = network.answer(lines, None, &settings).unwrap();
    records.iter().map(|record| record.to_line(false)).collect()
}

#[test]
fn in_all_lots_of_all_threads() {
    const OK: &str = r#"{"must-have": ["a"]}"#;
    const WRONG: &str = r#"{"must-have": ["z"]}"#;
    let network = Registry::standard().open("expressions").unwrap();
    let before = Cache::shared().n_compiled();
    let first = (answer(&*network, OK), answer(&*network, WRONG));
    assert!(first.0.iter().all(|record| record.contains("\"status\":\"")), "{first:?}");
    assert!(first.1.iter().all(|record| record.contains("bad-line")), "{first:?}");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                assert_eq!((answer(&*network, OK), answer(&*network, WRONG)), first);
            });
        }
    });
    assert_eq!(Cache::shared().n_compiled() - before, 2);
    let settings = Settings::of(&*network).by(Engine::network());
    let line = format!(r#"{{"input": "a * b", "constraint": {OK}}}"#);
    let lines = [Line::parse(1, line).unwrap().unwrap()];
    let of = cajole_infer::compare::Options::new("their own", [Engine::network()]);
    network.compare(None, &settings, &of, &lines, &cajole_tasks::Silent).unwrap();
    assert_eq!(Cache::shared().n_compiled() - before, 2, "comparisons share them");
}
