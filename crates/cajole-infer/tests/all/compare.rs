//! A comparison says what `infer` would have written, engine by engine.

use std::sync::Arc;

use cajole_infer::compare::Options;
use cajole_infer::engine::Engine;
use cajole_infer::line::Line;
use cajole_infer::{Opened, Registry, Settings};
use cajole_rules::Rules;
use cajole_tasks::Silent;
use cajole_tasks::transduction::USUAL_RULES as COUNT;
use serde_json::{Value, json};

const ENGINES: [&str; 2] = ["gbi", "masked"];

/// One input under four rules; without a rule of its own, a line is under the usual ones.
fn engine(name: &str) -> Engine {
    name.parse().unwrap()
}

fn lines() -> Vec<Line> {
    let input = "azbzazbzazbzazbzazbzazbzazbz";
    let lines = [
        json!({"input": input, "constraint": {"arithmetic": "len(out) = 7"}}),
        json!({"input": input, "constraint": "arithmetic = 'len(out) = 5'"}),
        json!({"input": input}),
        json!({"input": input, "constraint": {"arithmetic": "len(out) = 8"}}),
        json!({"input": input, "constraint": {"arithmetic": "len(out) = 7"}}),
    ];
    let line = |(i, line): (u64, Value)| Line::parse(i, line.to_string()).unwrap().unwrap();
    (1..).zip(lines).map(line).collect()
}

/// What `infer` says of the failures: satisfied or not, and the output.
fn inferred(network: &Opened, rules: Option<&Arc<Rules>>, name: &str) -> Vec<String> {
    let settings = Settings::of(&**network).by(engine(name));
    let all = lines().into_iter().map(Ok).collect();
    let records = network.answer(all, rules, &settings).unwrap();
    let records = records.iter().map(|record| record.to_json(false));
    let failures = records.filter(|record| record["status"] != "bad-line");
    let said = |record: Value| {
        assert_ne!(record["g_before"], json!(0.0), "{record}");
        let sign = if record["status"] == "satisfied" { "✓" } else { "✗" };
        format!("{sign} {}", record["output"].as_str().unwrap())
    };
    failures.map(said).collect()
}

#[test]
fn every_line_is_compared_under_its_own_rules() {
    let network = Registry::standard().open("transducer").unwrap();
    let usual = Arc::new(Rules::parse("here", COUNT, None, network.vocabulary()).unwrap());
    for (rules, n) in [(Some(&usual), 5), (None, 4)] {
        let settings = Settings::of(&*network);
        let of = Options::new("here", ENGINES.map(engine)).shown(9);
        let (report, bad) = network.compare(rules, &settings, &of, &lines(), &Silent).unwrap();
        let bad: Vec<u64> = bad.iter().map(|(line, _)| *line).collect();
        assert_eq!(bad, if n == 4 { vec![3] } else { vec![] }, "a line without rules is bad");
        let table = report.tables.iter().find(|table| table.caption.contains("one by one"));
        let rows = &table.unwrap().rows;
        for (column, engine) in (2..).zip(ENGINES) {
            let compared: Vec<&str> = rows.iter().map(|row| &*row[column].text).collect();
            let inferred = inferred(&network, rules, engine);
            assert_eq!(compared, inferred, "{engine}");
            assert!(compared.len() == n && compared[0] == compared[n - 1]);
            assert!(compared[..n - 1].iter().all(|one| one.starts_with('✓')), "{compared:?}");
            assert!(compared[0] != compared[1] && compared[1] != compared[n - 2]);
        }
    }
}
